"""Names, labels and annotations (apimachinery's validation)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksched_cli.api.label_names import domain_problems, key_problems, value_problems
from ksched_cli.api.validation.fields import (
    FieldErrors,
    Path,
    invalid,
    invalid_all,
    object_at,
    required,
    text_at,
    too_long,
)

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_IS_LABEL = re.compile(_LABEL)
_PERCENT = re.compile("[0-9]+%", re.ASCII)
_LONGEST_LABEL, _LONGEST_PORT_NAME = 63, 15
_MOST_ANNOTATIONS = 256 * 1024

NameRule = Callable[[str], Sequence[str]]


def _pattern_error(text: str, pattern: str, *examples: str) -> str:
    """RegexError."""
    shown = " or ".join(f"'{each}', " for each in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


def dns_label(name: str) -> list[str]:
    """IsDNS1123Label."""
    found = [f"must be no more than {_LONGEST_LABEL} characters"] if len(name.encode()) > _LONGEST_LABEL else []
    if _IS_LABEL.fullmatch(name):
        return found
    if not domain_problems(name):
        return [*found, "must not contain dots"]
    text = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character"
    )
    return [*found, _pattern_error(text, _LABEL, "my-name", "123-abc")]


def port_name(name: str) -> list[str]:
    """IsValidPortName."""
    found = []
    if len(name) > _LONGEST_PORT_NAME:
        found.append(f"must be no more than {_LONGEST_PORT_NAME} characters")
    if not re.fullmatch("[-a-z0-9]+", name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name[:1] == "-" or name[-1:] == "-":
        found.append("must not begin or end with a hyphen")
    return found


def port_number(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]


def environment_name(name: str) -> list[str]:
    """IsRelaxedEnvVarName."""
    if all(" " <= each <= "~" and each != "=" for each in name):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def percent(text: str) -> list[str]:
    """IsValidPercent."""
    if _PERCENT.fullmatch(text):
        return []
    explained = "a valid percent string must be a numeric string followed by an ending '%'"
    return [_pattern_error(explained, "[0-9]+%", "1%", "93%")]


def label_name(key: str, path: Path) -> FieldErrors:
    """ValidateLabelName."""
    yield from invalid_all(path, key, key_problems(key))


def labels(found: Mapping[str, Any], path: Path) -> FieldErrors:
    """ValidateLabels. Unlike the API server's the path has the key."""
    for key, value in found.items():
        yield from invalid_all((*path, key), key, key_problems(key))
        if isinstance(value, str):
            yield from invalid_all((*path, key), value, value_problems(value))


def metadata(document: Mapping[str, Any], rule: NameRule, path: Path = ("metadata",)) -> FieldErrors:
    """ValidateObjectMeta."""
    found = object_at(document, "metadata")
    name, prefix = text_at(found, "name"), text_at(found, "generateName")
    if prefix:
        yield from invalid_all((*path, "generateName"), prefix, rule(_masked(prefix)))
    if name:
        yield from invalid_all((*path, "name"), name, rule(name))
    elif not prefix:
        yield required((*path, "name"), "name or generateName is required")
    namespace = text_at(found, "namespace")
    if namespace:
        yield from invalid_all((*path, "namespace"), namespace, dns_label(namespace))
    yield from template_metadata(found, path)


def template_metadata(found: Mapping[str, Any], path: Path) -> FieldErrors:
    """Labels and annotations."""
    yield from labels(object_at(found, "labels"), (*path, "labels"))
    annotations, size = object_at(found, "annotations"), 0
    for key, value in annotations.items():
        yield from invalid_all((*path, "annotations", key), key, key_problems(key.lower()))
        size += len(key.encode()) + len(str(value).encode())
    if size > _MOST_ANNOTATIONS:
        yield too_long((*path, "annotations"), _MOST_ANNOTATIONS)


def _masked(prefix: str) -> str:
    """maskTrailingDash: a prefix may end with a dash."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def int_or_percent(value: Any, field: str, path: Path) -> FieldErrors:
    """ValidatePositiveIntOrPercent."""
    found = value.get(field)
    if isinstance(found, str):
        yield from invalid_all((*path, field), found, percent(found))
    elif isinstance(found, int) and not isinstance(found, bool) and found < 0:
        yield invalid((*path, field), found, "must be greater than or equal to 0")


def at_most_100_percent(value: Any, field: str, path: Path) -> FieldErrors:
    """IsNotMoreThan100Percent."""
    found = value.get(field)
    if isinstance(found, str) and _PERCENT.fullmatch(found) and int(found[:-1]) > 100:
        yield invalid((*path, field), found, "must not be greater than 100%")


def amount_of(found: object) -> int | None:
    """getIntOrPercentValue; None where it is neither."""
    if isinstance(found, str) and _PERCENT.fullmatch(found):
        return int(found[:-1])
    return found if isinstance(found, int) and not isinstance(found, bool) else None
