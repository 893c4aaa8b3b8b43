"""Rows for label selectors, node selectors, affinity, tolerations, taints and spread constraints (apimachinery's
metav1/validation and pkg/apis/core/validation)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.conversion import Path
from ksched_cli.api.core import TAINT_EFFECTS
from ksched_cli.api.label_names import domain_problems, value_problems
from ksched_cli.api.validation import checks
from ksched_cli.api.validation.checks import KEY, Needed, Rows
from ksched_cli.api.validation.errors import Errors, duplicate, forbidden, invalid, invalid_all, required, unsupported
from ksched_cli.api.validation.fields import each_at, items_at, number_at, object_at, text_at, texts_at

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_OPERATOR = "not a valid selector operator"


def _operands(found: Mapping[str, Any], path: Path) -> Errors:
    operator, values = text_at(found, "operator"), found.get("values")
    if operator in ("In", "NotIn") and not values:
        return [required((*path, "values"), "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in ("Exists", "DoesNotExist") and values:
        return [forbidden((*path, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    return ()


def _label_requirement(found: Mapping[str, Any], path: Path) -> Errors:
    """ValidateLabelSelectorRequirement."""
    yield from _operands(found, path)
    if text_at(found, "operator") not in _LABEL_OPERATORS:
        yield invalid((*path, "operator"), text_at(found, "operator"), _OPERATOR)


def _node_requirement(found: Mapping[str, Any], path: Path) -> Errors:
    """ValidateNodeSelectorRequirement."""
    operator = text_at(found, "operator")
    if operator in ("Gt", "Lt"):
        text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        return [required((*path, "values"), text)] if len(texts_at(found, "values")) != 1 else ()
    if operator in _LABEL_OPERATORS:
        return _operands(found, path)
    return [invalid((*path, "operator"), operator, _OPERATOR)]


def _node_term(term: Mapping[str, Any], path: Path) -> Errors:
    """ValidateNodeSelectorTerm."""
    for here, found in each_at(term, path, "matchExpressions"):
        yield from _node_requirement(found, here)
        yield from _KEY(found, here)
    for here, found in each_at(term, path, "matchFields"):
        if text_at(found, "operator") not in ("In", "NotIn"):
            yield invalid((*here, "operator"), text_at(found, "operator"), _OPERATOR)
        elif len(texts_at(found, "values")) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield required((*here, "values"), text)
        if text_at(found, "key") != "metadata.name":
            yield invalid((*here, "key"), text_at(found, "key"), "not a valid field selector key")
        else:
            yield from checks.each_item(checks.form(domain_problems))(texts_at(found, "values"), (*here, "values"))


def _required_terms(selector: Mapping[str, Any], path: Path) -> Errors:
    """ValidateNodeSelector. Only preferred terms may have any values."""
    for here, found in each_at(selector, path, "nodeSelectorTerms", "matchExpressions"):
        yield from _LABEL_VALUES(texts_at(found, "values"), (*here, "values"))


_LABEL_VALUES = checks.each_item(checks.form(value_problems))


def _label_keys(found: Mapping[str, Any], path: Path) -> Errors:
    """ValidateMatchLabelKeysAndMismatchLabelKeys."""
    selector = found.get("labelSelector")
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if found.get(field) and selector is None:
            yield forbidden((*path, field), "must not be specified when labelSelector is not set")
    keys = texts_at(found, "matchLabelKeys")
    named = set(object_at(selector, "matchLabels"))
    for _, requirement in items_at(selector, "matchExpressions"):
        key = text_at(requirement, "key")
        if key in keys and key in named:
            here = (*path, "matchLabelKeys", keys.index(key))
            yield invalid(here, key, "exists in both matchLabelKeys and labelSelector")
        named.add(key)
    for index, key in enumerate(keys):
        if key in texts_at(found, "mismatchLabelKeys"):
            yield invalid((*path, "matchLabelKeys", index), key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _toleration(found: Mapping[str, Any], path: Path) -> Errors:
    """ValidateTolerations."""
    key, operator, value, effect = (text_at(found, field) for field in ("key", "operator", "value", "effect"))
    if key:
        yield from KEY(key, (*path, "key"))
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid((*path, "operator"), operator, text)
    if number_at(found, "tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid((*path, "effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("", "Equal"):
        yield from invalid_all((*path, "operator"), value, value_problems(value))
    elif operator == "Exists" and value:
        yield invalid((*path, "operator"), value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        supported = ("Equal", "Exists", "Lt", "Gt")
        error, gate = unsupported((*path, "operator"), operator, supported), "TaintTolerationComparisonOperators"
        yield replace(error, gate=(gate, False), hint=f"{operator} needs the feature gate {gate}")
        number = value.removeprefix("-")
        is_whole = number.isascii() and number.isdigit() and (number == "0" or number[0] != "0")
        if not is_whole or not -(2**63) <= int(value) < 2**63:
            yield invalid((*path, "value"), value, "must be a valid decimal integer of 64 bits")
    elif operator != "Exists":
        yield unsupported((*path, "operator"), operator, ("Equal", "Exists"))
    if effect and effect not in TAINT_EFFECTS:
        yield unsupported((*path, "effect"), effect, TAINT_EFFECTS)


def _spread(found: Mapping[str, Any], path: Path) -> Errors:
    """validateTopologySpreadConstraints."""
    action, domains = text_at(found, "whenUnsatisfiable"), number_at(found, "minDomains")
    if domains is not None and action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid((*path, "minDomains"), domains, text)
    yield from _label_keys(found, path)


def repeated_spreads(found: list[Any], path: Path) -> Errors:
    """ValidateSpreadConstraintNotRepeat."""
    pairs = ((text_at(each, "topologyKey"), text_at(each, "whenUnsatisfiable")) for each in found)
    for index, pair in checks.repeated(pairs):
        yield duplicate((*path, index, "{topologyKey, whenUnsatisfiable}"), f"{{{', '.join(pair)}}}")


def _pod_terms(found: Mapping[str, Any], path: Path) -> Errors:
    """validatePodAffinityTerm; a topologyKey that is not written is no label name either."""
    if not text_at(found, "topologyKey"):
        yield required((*path, "topologyKey"), "can not be empty")
    yield from _label_keys(found, path)
    for index, name in enumerate(texts_at(found, "namespaces")):
        # The API server writes `namespace`.
        problems = (f"namespace {problem}" for problem in checks.dns_label(name))
        yield from invalid_all((*path, "namespaces", index), name, problems)


_POLICY = "*Honor|Ignore"
_POSITIVE = checks.no_less_than(1, "must be greater than zero")
_KEY = checks.always("key", "", KEY)
_WEIGHT = checks.always("weight", 0, checks.in_range(1, 100, "must be in the range 1-100"))


def _pod_networks(spec: Mapping[str, Any], path: Path) -> Errors:
    """What ValidateNode requires of podCIDRs. A `podCIDR` alone is the first of them."""
    first, found = text_at(spec, "podCIDR"), texts_at(spec, "podCIDRs")
    if first and not found:
        yield from checks.network(first, (*path, "podCIDRs", 0))
    if len(found) > 2 or (len(found) == 2 and len({":" in each for each in found}) == 1):
        yield invalid((*path, "podCIDRs"), found, "may specify no more than one CIDR for each IP family")


ROWS: Rows = {
    "LabelSelector": {"matchLabels": checks.labels},
    "LabelSelectorRequirement": {"": (_label_requirement, _KEY), "values": _LABEL_VALUES},
    "NodeSelector": {"": _required_terms, "nodeSelectorTerms": Needed("must have at least one node selector term")},
    "NodeSelectorTerm": {"": _node_term},
    "PreferredSchedulingTerm": {"": _WEIGHT},
    "WeightedPodAffinityTerm": {"": _WEIGHT, "podAffinityTerm": Needed("topologyKey can not be empty")},
    "PodAffinityTerm": {
        "": _pod_terms,
        "topologyKey": lambda key, path: KEY(key, path) if key else (),
        "matchLabelKeys mismatchLabelKeys": checks.each_item(KEY),
    },
    "Toleration": {"": _toleration},
    "TopologySpreadConstraint": {
        "": (
            checks.always("maxSkew", 0, _POSITIVE),
            checks.always("whenUnsatisfiable", "", checks.one_of("*DoNotSchedule|ScheduleAnyway")),
            _spread,
        ),
        "topologyKey": Needed("can not be empty"),
        "minDomains": _POSITIVE,
        "nodeAffinityPolicy nodeTaintsPolicy": _POLICY,
        "matchLabelKeys": checks.each_item(KEY),
    },
    "Taint": {"": _KEY, "value": checks.form(value_problems), "effect!": "|".join(TAINT_EFFECTS)},
    "NodeSpec": {
        "": _pod_networks,
        "taints": checks.unique("key", "effect"),
        "podCIDRs": checks.each_item(checks.network),
    },
}
