"""Label selectors and node selector terms, compiled to values that can be compared and remembered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ksched_cli.api.affinity import NodeSelectorTerm
from ksched_cli.api.meta import LabelSelector

_NODE_NAME = "metadata.name"
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")


class SelectorError(ValueError):
    """A selector that Kubernetes cannot compile."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """labels.Requirement: a condition on the value of one label, None where there is no such label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, value: str | None) -> bool:
        return _HOLDS[self.operator](value, self.values)


def _compare(value: str | None, values: tuple[str, ...], larger: bool) -> bool:
    """Gt and Lt read both sides as 64-bit integers, and do not hold where one is not."""
    actual, limit = _int64(value or ""), _int64(values[0])
    if actual is None or limit is None:
        return False
    return actual > limit if larger else actual < limit


def _int64(text: str) -> int | None:
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


_HOLDS: Mapping[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, values: value is not None,
    "DoesNotExist": lambda value, values: value is None,
    "Gt": lambda value, values: _compare(value, values, larger=True),
    "Lt": lambda value, values: _compare(value, values, larger=False),
}


def make_requirement(key: str, operator: str, values: tuple[str, ...], supported: tuple[str, ...]) -> Requirement:
    """labels.NewRequirement with its checks on the number and form of the values."""
    if operator not in supported:
        raise SelectorError(f"{key}: {operator!r} is not an operator here, use one of {', '.join(supported)}")
    if operator in ("In", "NotIn") and not values:
        raise SelectorError(f"{key}: operator {operator} needs values")
    if operator in ("Exists", "DoesNotExist") and values:
        raise SelectorError(f"{key}: operator {operator} takes no values")
    if operator in ("Gt", "Lt") and (len(values) != 1 or _int64(values[0]) is None):
        raise SelectorError(f"{key}: operator {operator} takes one whole number")
    return Requirement(key, operator, values)


def checked(requirement: Requirement) -> Requirement:
    """What labels.NewRequirement says of the key and values themselves."""
    if not is_label_key(requirement.key):
        raise SelectorError(f"{requirement.key!r} cannot be a label's key")
    for value in requirement.values:
        if not is_label_value(value):
            raise SelectorError(f"{requirement.key}: {value!r} cannot be a label's value")
    return requirement


@lru_cache(maxsize=16384)
def is_label_key(key: str) -> bool:
    """validation.IsQualifiedName: an optional domain and a name of at most 63 characters."""
    domain, slash, name = key.rpartition("/")
    if slash and (not domain or len(domain) > 253 or _DOMAIN.fullmatch(domain) is None):
        return False
    return len(name) <= 63 and _NAME.fullmatch(name) is not None


@lru_cache(maxsize=16384)
def is_label_value(value: str) -> bool:
    """validation.IsValidLabelValue."""
    return not value or (len(value) <= 63 and _NAME.fullmatch(value) is not None)


@dataclass(frozen=True, slots=True)
class Selector:
    """labels.Selector: all requirements must hold. `nothing` is the selector that was never given."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        return not self.nothing and all(each.holds(labels.get(each.key)) for each in self.requirements)

    @property
    def everything(self) -> bool:
        return not self.nothing and not self.requirements


NOTHING = Selector(nothing=True)
EVERYTHING = Selector()


def compile_selector(selector: LabelSelector | None) -> Selector:
    """metav1.LabelSelectorAsSelector: none matches nothing, an empty one matches everything."""
    if selector is None:
        return NOTHING
    requirements = [checked(each) for each in _equalities(selector.match_labels)]
    requirements += [
        checked(make_requirement(each.key, each.operator, each.values, LABEL_OPERATORS))
        for each in selector.match_expressions
    ]
    return Selector(tuple(sorted(requirements, key=lambda each: each.key)))


def selector_from_map(labels: Mapping[str, str]) -> Selector:
    """labels.SelectorFromSet, which checks neither keys nor values."""
    return Selector(tuple(sorted(_equalities(labels), key=lambda each: each.key)))


def _equalities(labels: Mapping[str, str]) -> list[Requirement]:
    return [Requirement(key, "In", (value,)) for key, value in labels.items()]


@dataclass(frozen=True, slots=True)
class CompiledTerm:
    """A node selector term: conditions on labels, and on the node's name."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches_node(self, labels: Mapping[str, str], name: str) -> bool:
        return all(each.holds(labels.get(each.key)) for each in self.labels) and all(
            holds_for_name(each, name) for each in self.fields
        )


def holds_for_name(field: Requirement, name: str) -> bool:
    """metadata.name is the only field a node offers; any other is an empty string."""
    return field.holds(name if field.key == _NODE_NAME else "")


def compile_node_selector_term(term: NodeSelectorTerm) -> CompiledTerm | None:
    """None for an empty term, which matches no node (nodeaffinity.newNodeSelectorTerm)."""
    if not term.match_expressions and not term.match_fields:
        return None
    return _compile_term(
        tuple((each.key, each.operator, each.values) for each in term.match_expressions),
        tuple((each.key, each.operator, each.values) for each in term.match_fields),
    )


_Raw = tuple[tuple[str, str, tuple[str, ...]], ...]


@lru_cache(maxsize=16384)
def _compile_term(expressions: _Raw, fields: _Raw) -> CompiledTerm:
    for key, operator, values in fields:
        if operator in FIELD_OPERATORS and len(values) != 1:
            raise SelectorError(f"{key}: a field takes exactly one value")
    return CompiledTerm(
        tuple(
            checked(make_requirement(key, operator, values, NODE_OPERATORS)) for key, operator, values in expressions
        ),
        tuple(make_requirement(key, operator, values, FIELD_OPERATORS) for key, operator, values in fields),
    )
