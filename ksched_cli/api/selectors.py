"""Label selectors, node selector terms and tolerations: what selects what.

Selectors are compiled to values that can be compared and cached. Mirrors apimachinery's labels (selector.go, and
`labels.Parse` for the text behind -l), component-helpers' nodeaffinity for the required affinity of a pod, and
corev1helpers.FindMatchingUntoleratedTaint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import force_setattr

from ksched_cli.api.core import (
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    NodeSelectorTerm,
    PodSpec,
    Taint,
    Toleration,
)
from ksched_cli.api.label_names import is_label_key, is_label_value, key_problems, value_problems
from ksched_cli.api.quantity import MOST_DIGITS
from ksched_cli.errors import UsageError, aggregated

_NODE_NAME = "metadata.name"
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")


class SelectorError(ValueError):
    """A selector that Kubernetes cannot compile: what is wrong, and where in the selector, in Kubernetes' words."""

    def __init__(self, *problems: tuple[str, str]) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return aggregated(f"{path}: {text}" if path else text for path, text in self.problems)

    def under(self, path: str) -> SelectorError:
        """The same within something larger."""
        return SelectorError(*((f"{path}.{inner}" if inner else path, text) for inner, text in self.problems))


class Requirement(Struct, frozen=True, cache_hash=True):
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
    if len(text) > MOST_DIGITS or _INTEGER.fullmatch(text) is None:
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
    problems = _operator_problems(operator, values, supported)
    if problems:
        raise SelectorError(*problems)
    return Requirement(key, operator, values)


def checked_requirement(key: str, operator: str, values: tuple[str, ...], supported: tuple[str, ...]) -> Requirement:
    """All that labels.NewRequirement checks, the key and the values themselves too."""
    found = "; ".join(key_problems(key)) if not is_label_key(key) else ""
    problems = [("key", _invalid(key, found))] if found else []
    operator_problems = _operator_problems(operator, values, supported)
    if operator not in supported:
        raise SelectorError(*operator_problems)
    problems += operator_problems
    for index, value in enumerate(values):
        if not is_label_value(value):
            problems.append((f"values[{index}][{key}]", _invalid(value, "; ".join(value_problems(value)))))
    if problems:
        raise SelectorError(*problems)
    return Requirement(key, operator, values)


def _operator_problems(operator: str, values: tuple[str, ...], supported: tuple[str, ...]) -> list[tuple[str, str]]:
    if operator not in supported:
        if supported is LABEL_OPERATORS:
            return [("", f"{_quoted(operator)} is not a valid label selector operator")]
        known = ", ".join(map(_quoted, supported))
        return [("operator", f"Unsupported value: {_quoted(operator)}: supported values: {known}")]
    if operator in ("In", "NotIn") and not values:
        return [("values", "Invalid value: null: for 'in', 'notin' operators, values set can't be empty")]
    if operator in ("Exists", "DoesNotExist") and values:
        return [("values", _invalid(values, "values set must be empty for exists and does not exist"))]
    if operator not in ("Gt", "Lt"):
        return []
    one = "for 'Gt', 'Lt' operators, exactly one value is required"
    whole = "for 'Gt', 'Lt' operators, the value must be an integer"
    problems = [("values", _invalid(values, one))] if len(values) != 1 else []
    return problems + [
        (f"values[{index}]", _invalid(value, whole)) for index, value in enumerate(values) if _int64(value) is None
    ]


def _invalid(value: str | tuple[str, ...], why: str) -> str:
    shown = _quoted(value) if isinstance(value, str) else _listed(value)
    return f"Invalid value: {shown}: {why}"


def _listed(values: tuple[str, ...]) -> str:
    return f"[{','.join(map(_quoted, values))}]" if values else "null"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


class Selector(Struct, frozen=True, cache_hash=True):
    """labels.Selector: all requirements must hold. `nothing` is the selector that was never given."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False
    # The wanted labels, where every requirement is "key equals value": most selectors of controllers.
    _wanted: frozenset[tuple[str, str]] | None = None

    def __post_init__(self) -> None:
        exact = all(each.operator == "In" and len(each.values) == 1 for each in self.requirements)
        wanted = frozenset((each.key, each.values[0]) for each in self.requirements) if exact else None
        force_setattr(self, "_wanted", None if self.nothing else wanted)

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self._wanted is not None:
            return self._wanted <= labels.items()
        return not self.nothing and all(each.holds(labels.get(each.key)) for each in self.requirements)

    @property
    def everything(self) -> bool:
        return not self.nothing and not self.requirements


NOTHING = Selector(nothing=True)
EVERYTHING = Selector()


def selector_of_controller(selector: LabelSelector | None) -> Selector:
    """Like compile_selector. A selector that cannot be read matches nothing: its controller does nothing."""
    try:
        return compile_selector(selector)
    except SelectorError:
        return NOTHING


def compile_selector(selector: LabelSelector | None) -> Selector:
    """metav1.LabelSelectorAsSelector: none matches nothing, an empty one matches everything."""
    if selector is None:
        return NOTHING
    return _compiled(tuple(selector.match_labels.items()), selector.match_expressions)


@lru_cache(maxsize=1024)
def _compiled(labels: tuple[tuple[str, str], ...], expressions: tuple[LabelSelectorRequirement, ...]) -> Selector:
    """Controllers compile the selectors of their workloads for each change of a pod."""
    given: list[Requirement | LabelSelectorRequirement] = [*_equalities(dict(labels)), *expressions]
    requirements = [checked_requirement(each.key, each.operator, each.values, LABEL_OPERATORS) for each in given]
    return Selector(tuple(sorted(requirements, key=lambda each: each.key)))


def selector_from_map(labels: Mapping[str, str]) -> Selector:
    """labels.SelectorFromSet, which checks neither keys nor values."""
    return Selector(tuple(sorted(_equalities(labels), key=lambda each: each.key)))


def _equalities(labels: Mapping[str, str]) -> list[Requirement]:
    return [Requirement(key, "In", (value,)) for key, value in labels.items()]


class CompiledTerm(Struct, frozen=True, cache_hash=True):
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


_RawRequirement = tuple[str, str, tuple[str, ...]]
_Raw = tuple[_RawRequirement, ...]


@lru_cache(maxsize=16384)
def _compile_term(expressions: _Raw, fields: _Raw) -> CompiledTerm:
    problems: list[tuple[str, str]] = []

    def compiled(of: _Raw, name: str, make: Callable[[_RawRequirement], Requirement]) -> tuple[Requirement, ...]:
        found = []
        for index, each in enumerate(of):
            try:
                found.append(make(each))
            except SelectorError as problem:
                problems.extend(problem.under(f"{name}[{index}]").problems)
        return tuple(found)

    labels = compiled(expressions, "matchExpressions", lambda each: checked_requirement(*each, NODE_OPERATORS))
    term = CompiledTerm(labels, compiled(fields, "matchFields", _field_requirement))
    if problems:
        raise SelectorError(*problems)
    return term


def _field_requirement(raw: _RawRequirement) -> Requirement:
    key, operator, values = raw
    if operator in FIELD_OPERATORS and len(values) != 1:
        raise SelectorError(("values", _invalid(values, "must have one element")))
    return make_requirement(key, operator, values, FIELD_OPERATORS)


_SET = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(r"([^=!<>\s]+)\s*(==|=|!=)\s*([^=!<>\s]*)")
_EXISTS = re.compile(r"(!?)\s*([^=!<>\s,()]+)")
# Commas part requirements, but for those inside brackets.
_COMMA = re.compile(r",(?![^(]*\))")


def parse_query(text: str) -> Selector:
    """labels.Parse. Raises SelectorError with the part that cannot be read."""
    if not text.strip():
        return Selector()
    return Selector(tuple(_requirement(part.strip()) for part in _COMMA.split(text)))


def read_query(text: str, option: str = "-l") -> Selector:
    """The label selector of an option. UsageError names the option."""
    try:
        return parse_query(text)
    except SelectorError as mistake:
        raise UsageError(f"{option} {text}: {mistake}") from None


def _requirement(part: str) -> Requirement:
    if found := _SET.fullmatch(part):
        key, word, values = found.groups()
        operator = "In" if word == "in" else "NotIn"
        return checked_requirement(key, operator, tuple(map(str.strip, values.split(","))), LABEL_OPERATORS)
    if found := _EQUAL.fullmatch(part):
        key, sign, value = found.groups()
        return checked_requirement(key, "NotIn" if sign == "!=" else "In", (value,), LABEL_OPERATORS)
    if found := _EXISTS.fullmatch(part):
        negated, key = found.groups()
        return checked_requirement(key, "DoesNotExist" if negated else "Exists", (), LABEL_OPERATORS)
    text = f"{part!r} is no condition on a label; write key=value, key!=value, key in (a,b), key or !key"
    raise SelectorError(("", text))


class RequiredNodeAffinity(Struct, frozen=True):
    """The labels and names of nodes that a pod requires (nodeaffinity.GetRequiredNodeAffinity)."""

    node_selector: tuple[tuple[str, str], ...]
    terms: tuple[NodeSelectorTerm, ...] | None

    @classmethod
    def of(cls, spec: PodSpec) -> RequiredNodeAffinity:
        affinity = spec.affinity.node_affinity if spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        return cls(tuple(spec.node_selector.items()), required.node_selector_terms if required else None)

    def selects(self, node: Node) -> bool:
        """RequiredNodeAffinity.Match; SelectorError as in any_term_selects."""
        labels = node.metadata.labels
        if any(labels.get(key) != value for key, value in self.node_selector):
            return False
        return self.terms is None or any_term_selects(self.terms, node)


def any_term_selects(terms: Iterable[NodeSelectorTerm], node: Node) -> bool:
    """SelectorError where none does, and one of them might if it could be compiled."""
    broken: SelectorError | None = None
    for term in terms:
        try:
            compiled = compile_node_selector_term(term)
        except SelectorError as problem:
            broken = broken or problem
            continue
        if compiled is not None and compiled.matches_node(node.metadata.labels, node.metadata.name):
            return True
    if broken is not None:
        raise broken
    return False


# content.IsDecimalInteger: as a person writes it, so no leading zeros, no plus sign and no minus zero.
_DECIMAL = re.compile(r"0|-?[1-9]\d*", re.ASCII)


def tolerates(toleration: Toleration, taint: Taint, *, comparison: bool = False) -> bool:
    """Toleration.ToleratesTaint; `comparison` is the gate for the operators Lt and Gt."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt":
            return comparison and _compares(toleration, taint)
        case _:
            return False


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """The taint's value against the toleration's, both whole numbers of 64 bits."""
    if not (_is_int64(toleration.value) and _is_int64(taint.value)):
        return False
    limit, actual = int(toleration.value), int(taint.value)
    return actual < limit if toleration.operator == "Lt" else actual > limit


def _is_int64(text: str) -> bool:
    return len(text) <= MOST_DIGITS and _DECIMAL.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def find_untolerated(
    taints: Iterable[Taint],
    tolerations: Collection[Toleration],
    effects: Collection[str],
    *,
    comparison: bool = False,
) -> Taint | None:
    """FindMatchingUntoleratedTaint: the first taint of those effects that nothing tolerates."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(each, taint, comparison=comparison) for each in tolerations):
            return taint
    return None
