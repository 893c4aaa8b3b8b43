"""Label selectors and node selectors, tolerations, spread constraints: what decides where a pod goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.api.affinity import WHEN_UNSATISFIABLE
from ksched_cli.api.core import TAINT_EFFECTS
from ksched_cli.api.label_names import key_problems, value_problems
from ksched_cli.api.validation.fields import (
    FieldErrors,
    Path,
    duplicate,
    forbidden,
    invalid,
    invalid_all,
    items_at,
    number_at,
    object_at,
    one_of,
    required,
    text_at,
    texts_at,
    unsupported,
)
from ksched_cli.api.validation.names import dns_label, label_name, labels

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_POLICIES = ("Honor", "Ignore")


def label_selector(selector: Mapping[str, Any], path: Path) -> FieldErrors:
    """ValidateLabelSelector."""
    yield from labels(object_at(selector, "matchLabels"), (*path, "matchLabels"))
    for index, each in items_at(selector, "matchExpressions"):
        here = (*path, "matchExpressions", index)
        yield from _operands(each, here)
        if text_at(each, "operator") not in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield invalid((*here, "operator"), text_at(each, "operator"), "not a valid selector operator")
        yield from label_name(text_at(each, "key"), (*here, "key"))
        yield from _label_values(each, here)


def _operands(requirement: Mapping[str, Any], path: Path) -> FieldErrors:
    operator, values = text_at(requirement, "operator"), texts_at(requirement, "values")
    if operator in ("In", "NotIn") and not values:
        yield required((*path, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield forbidden((*path, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


def _label_values(requirement: Mapping[str, Any], path: Path) -> FieldErrors:
    for index, value in enumerate(texts_at(requirement, "values")):
        yield from invalid_all((*path, "values", index), value, value_problems(value))


def _node_requirement(each: Mapping[str, Any], path: Path, *, strict: bool) -> FieldErrors:
    """ValidateNodeSelectorRequirement. Preferred terms may have any values."""
    operator = text_at(each, "operator")
    if operator in ("Gt", "Lt"):
        if len(texts_at(each, "values")) != 1:
            yield required((*path, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif operator in ("In", "NotIn", "Exists", "DoesNotExist"):
        yield from _operands(each, path)
    else:
        yield invalid((*path, "operator"), operator, "not a valid selector operator")
    yield from label_name(text_at(each, "key"), (*path, "key"))
    if strict:
        yield from _label_values(each, path)


def _node_term(term: Mapping[str, Any], path: Path, *, strict: bool) -> FieldErrors:
    """ValidateNodeSelectorTerm."""
    for index, each in items_at(term, "matchExpressions"):
        yield from _node_requirement(each, (*path, "matchExpressions", index), strict=strict)
    for index, each in items_at(term, "matchFields"):
        here = (*path, "matchFields", index)
        if text_at(each, "operator") not in ("In", "NotIn"):
            yield invalid((*here, "operator"), text_at(each, "operator"), "not a valid selector operator")
        elif len(texts_at(each, "values")) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield required((*here, "values"), text)
        if text_at(each, "key") != "metadata.name":
            yield invalid((*here, "key"), text_at(each, "key"), "not a valid field selector key")


def node_selector(selector: Mapping[str, Any], path: Path) -> FieldErrors:
    """ValidateNodeSelector."""
    terms = items_at(selector, "nodeSelectorTerms")
    if not terms:
        yield required((*path, "nodeSelectorTerms"), "must have at least one node selector term")
    for index, term in terms:
        yield from _node_term(term, (*path, "nodeSelectorTerms", index), strict=True)


def affinity(found: Mapping[str, Any], path: Path) -> FieldErrors:
    """validateAffinity."""
    node = object_at(found, "nodeAffinity")
    if isinstance(node.get(_REQUIRED), dict):
        yield from node_selector(node[_REQUIRED], (*path, "nodeAffinity", _REQUIRED))
    for index, each in items_at(node, _PREFERRED):
        here = (*path, "nodeAffinity", _PREFERRED, index)
        yield from _weight(each, here)
        yield from _node_term(object_at(each, "preference"), (*here, "preference"), strict=False)
    for name in ("podAffinity", "podAntiAffinity"):
        for index, each in items_at(object_at(found, name), _REQUIRED):
            yield from _pod_term(each, (*path, name, _REQUIRED, index))
        for index, each in items_at(object_at(found, name), _PREFERRED):
            here = (*path, name, _PREFERRED, index)
            yield from _weight(each, here)
            yield from _pod_term(object_at(each, "podAffinityTerm"), (*here, "podAffinityTerm"))


def _weight(term: Mapping[str, Any], path: Path) -> FieldErrors:
    weight = number_at(term, "weight") or 0
    if not 1 <= weight <= 100:
        yield invalid((*path, "weight"), weight, "must be in the range 1-100")


def _pod_term(term: Mapping[str, Any], path: Path) -> FieldErrors:
    """validatePodAffinityTerm."""
    for field in ("labelSelector", "namespaceSelector"):
        yield from label_selector(object_at(term, field), (*path, field))
    for index, name in enumerate(texts_at(term, "namespaces")):
        yield from invalid_all((*path, "namespaces", index), name, dns_label(name))
    key = text_at(term, "topologyKey")
    if not key:
        yield required((*path, "topologyKey"), "can not be empty")
    else:
        yield from label_name(key, (*path, "topologyKey"))


def tolerations(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    """ValidateTolerations."""
    for index, each in items_at(spec, "tolerations"):
        here = (*path, "tolerations", index)
        key, operator, value = (text_at(each, field) for field in ("key", "operator", "value"))
        if key:
            yield from label_name(key, (*here, "key"))
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid((*here, "operator"), operator, text)
        if number_at(each, "tolerationSeconds") is not None and text_at(each, "effect") != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid((*here, "effect"), text_at(each, "effect"), text)
        if operator in ("", "Equal"):
            yield from invalid_all((*here, "operator"), value, value_problems(value))
        elif operator == "Exists" and value:
            yield invalid((*here, "operator"), value, "value must be empty when `operator` is 'Exists'")
        elif operator not in ("Exists", "Lt", "Gt"):
            yield unsupported((*here, "operator"), operator, ("Equal", "Exists"))
        yield from one_of(each, "effect", here, TAINT_EFFECTS)


def spread_constraints(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    """validateTopologySpreadConstraints."""
    seen = set()
    for index, each in items_at(spec, "topologySpreadConstraints"):
        here = (*path, "topologySpreadConstraints", index)
        skew, action, key = (
            number_at(each, "maxSkew") or 0,
            text_at(each, "whenUnsatisfiable"),
            text_at(each, "topologyKey"),
        )
        if skew <= 0:
            yield invalid((*here, "maxSkew"), skew, "must be greater than zero")
        if not key:
            yield required((*here, "topologyKey"), "can not be empty")
        if action not in WHEN_UNSATISFIABLE:
            yield unsupported((*here, "whenUnsatisfiable"), action, WHEN_UNSATISFIABLE)
        if (key, action) in seen:
            yield duplicate((*here, "{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}")
        seen.add((key, action))
        domains = number_at(each, "minDomains")
        if domains is not None and domains <= 0:
            yield invalid((*here, "minDomains"), domains, "must be greater than zero")
        if domains is not None and action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid((*here, "minDomains"), domains, text)
        yield from one_of(each, "nodeAffinityPolicy", here, _POLICIES)
        yield from one_of(each, "nodeTaintsPolicy", here, _POLICIES)
        yield from label_selector(object_at(each, "labelSelector"), (*here, "labelSelector"))


def taints(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    """validateNodeTaints."""
    seen = set()
    for index, each in items_at(spec, "taints"):
        here = (*path, "taints", index)
        key, effect = text_at(each, "key"), text_at(each, "effect")
        yield from invalid_all((*here, "key"), key, key_problems(key))
        yield from invalid_all((*here, "value"), text_at(each, "value"), value_problems(text_at(each, "value")))
        if not effect:
            yield required((*here, "effect"))
        yield from one_of(each, "effect", here, TAINT_EFFECTS)
        if (key, effect) in seen:
            yield duplicate(here, {"key": key, "effect": effect})
        seen.add((key, effect))
