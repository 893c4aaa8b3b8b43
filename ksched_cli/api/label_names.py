"""The rules for keys and values of labels, and Kubernetes' messages about violations (validate/content). The parser of
edits imports it when a command starts, so it imports no objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

# The beta labels of nodes, and those that took their place.
STABLE_LABELS: Mapping[str, str] = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}

_NAME_PATTERN = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_PATTERN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN_PATTERN = rf"{_LABEL_PATTERN}(\.{_LABEL_PATTERN})*"
_NAME = re.compile(_NAME_PATTERN, re.ASCII)
_DOMAIN = re.compile(_DOMAIN_PATTERN, re.ASCII)
_MAX_NAME, _MAX_DOMAIN = 63, 253

_CONSIST = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_FORM = f"{_CONSIST} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PATTERN}')"
_VALUE_FORM = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '({_NAME_PATTERN})?')"
)
_DOMAIN_FORM = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_DOMAIN_PATTERN}')"
)


@lru_cache(maxsize=16384)
def is_label_key(key: str) -> bool:
    """validation.IsQualifiedName: an optional domain and a name of at most 63 characters."""
    return not key_problems(key)


@lru_cache(maxsize=16384)
def is_label_value(value: str) -> bool:
    """validation.IsValidLabelValue."""
    return not value_problems(value)


def key_problems(key: str) -> list[str]:
    """IsLabelKey."""
    if key.count("/") > 1:
        return [
            f"a valid label key {_NAME_FORM} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    domain, slash, name = key.rpartition("/")
    found = [f"prefix part {each}" for each in domain_problems(domain)] if slash else []
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > _MAX_NAME:
        found.append(f"name part must be no more than {_MAX_NAME} bytes")
    if _NAME.fullmatch(name) is None:
        found.append(f"name part {_NAME_FORM}")
    return found


def domain_problems(domain: str) -> list[str]:
    """IsDNS1123Subdomain."""
    if not domain:
        return ["must be non-empty"]
    found = [f"must be no more than {_MAX_DOMAIN} bytes"] if len(domain) > _MAX_DOMAIN else []
    return found if _DOMAIN.fullmatch(domain) else [*found, _DOMAIN_FORM]


def value_problems(value: str) -> list[str]:
    """IsLabelValue."""
    found = [f"must be no more than {_MAX_NAME} bytes"] if len(value) > _MAX_NAME else []
    return found if not value or _NAME.fullmatch(value) else [*found, _VALUE_FORM]
