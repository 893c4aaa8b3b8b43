"""The algebra of node requirements: a closed set of values for one label, and a set of such sets.

Mirrors requirement.go and requirements.go. A `LabelRequirement` is a set of label values: some
values, or all values but some (`complement`), within inclusive bounds. `Gt` and `Lt` become the bounds `gte` and `lte`.
Everything else of the provisioner is built on intersection, `has` and `is_compatible`. Unlike Go's, both types never
change: an operation returns a new value, so that equal requirements can be shared and compared by identity.

Where Go ranges over a map, the order here is that of the keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import NodeSelectorRequirement
from ksched_cli.api.label_names import STABLE_LABELS

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
MAX_INT64: Final = 2**63 - 1
# Requirement.String names so many values.
_SHOWN_VALUES = 5
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NO_VALUES: frozenset[str] = frozenset()


def integer(text: str) -> int | None:
    """strconv.Atoi, None for its errors."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number <= MAX_INT64 else None


class LabelRequirement(Struct, frozen=True, cache_hash=True, gc=False):
    """The allowed values of one label (scheduling.LabelRequirement)."""

    key: str
    values: frozenset[str] = _NO_VALUES
    complement: bool = False
    gte: int | None = None
    lte: int | None = None
    min_values: int | None = None

    @classmethod
    def of(cls, key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None) -> LabelRequirement:
        """NewRequirementWithFlexibility: the requirement of a selector's key, operator and values."""
        key = STABLE_LABELS.get(key, key)
        given = tuple(values)
        if operator == "In":
            return cls(key, frozenset(given), min_values=min_values)
        if operator == "DoesNotExist":
            return cls(key, min_values=min_values)
        if operator == "NotIn":
            return cls(key, frozenset(given), True, min_values=min_values)
        if operator in ("Gt", "Lt", "Gte", "Lte"):
            bound = integer(given[0]) or 0 if given else 0
            if operator == "Gt" and bound == MAX_INT64:
                return cls(key)
            if operator in ("Gt", "Gte"):
                return cls(key, complement=True, gte=bound + (operator == "Gt"), min_values=min_values)
            return cls(key, complement=True, lte=bound - (operator == "Lt"), min_values=min_values)
        return cls(key, complement=True, min_values=min_values)

    @property
    def operator(self) -> str:
        """Requirement.Operator: bounds count as Exists."""
        if self.complement:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    @property
    def is_negative(self) -> bool:
        """Whether the operator is NotIn or DoesNotExist: a node without the label satisfies it."""
        return self.complement == bool(self.values)

    def has(self, value: str) -> bool:
        return (value in self.values) != self.complement and _within(value, self.gte, self.lte)

    def intersection(self, other: LabelRequirement) -> LabelRequirement:
        """The values that both allow, with the larger `min_values`."""
        gte, lte = _largest(self.gte, other.gte), _smallest(self.lte, other.lte)
        min_values = _largest(self.min_values, other.min_values)
        if gte is not None and lte is not None and gte > lte:
            return LabelRequirement(self.key, min_values=min_values)
        if self.complement:
            values = self.values | other.values if other.complement else other.values - self.values
        else:
            values = self.values - other.values if other.complement else self.values & other.values
        if gte is not None or lte is not None:
            values = frozenset(value for value in values if _within(value, gte, lte))
        if self.complement and other.complement:
            return LabelRequirement(self.key, values, True, gte, lte, min_values)
        return LabelRequirement(self.key, values, min_values=min_values)

    def has_intersection(self, other: LabelRequirement) -> bool:
        """Whether any value is allowed by both. Two complements always have one."""
        gte, lte = _largest(self.gte, other.gte), _smallest(self.lte, other.lte)
        if gte is not None and lte is not None and gte > lte:
            return False
        if self.complement and other.complement:
            return True
        if self.complement:
            values = other.values - self.values
        else:
            values = self.values - other.values if other.complement else self.values & other.values
        return any(_within(value, gte, lte) for value in values)

    def rejects(self, incoming: LabelRequirement) -> bool:
        """Whether an incoming requirement contradicts this one (the body of Requirements.Intersects). Two requirements
        that are both NotIn or DoesNotExist never do."""
        return not self.has_intersection(incoming) and not (incoming.is_negative and self.is_negative)

    def selectors(self) -> list[dict[str, object]]:
        """NodeSelectorRequirement: the operators and values as they are sent, two entries for two bounds."""
        if self.gte is not None or self.lte is not None:
            bounds = (("Gte", self.gte), ("Lte", self.lte))
            found: list[dict[str, object]] = [
                {"operator": operator, "values": [str(bound)]} for operator, bound in bounds if bound is not None
            ]
        else:
            found = [{"operator": self.operator, "values": sorted(self.values)}]
            if not self.values:
                del found[0]["values"]
        if self.min_values is not None:
            found = [{**each, "minValues": self.min_values} for each in found]
        return found

    def __str__(self) -> str:
        text = f"{self.key} {self.operator}"
        if self.values:
            shown = sorted(self.values)
            if len(shown) > _SHOWN_VALUES:
                shown = [*shown[:_SHOWN_VALUES], f"and {len(shown) - _SHOWN_VALUES} others"]
            text += f" [{' '.join(shown)}]"
        text += f" >={self.gte}" if self.gte is not None else ""
        text += f" <={self.lte}" if self.lte is not None else ""
        return text + (f" minValues {self.min_values}" if self.min_values is not None else "")


def _within(value: str, gte: int | None, lte: int | None) -> bool:
    """withinBounds: with bounds only integers are valid."""
    if gte is None and lte is None:
        return True
    number = integer(value)
    return number is not None and (gte is None or number >= gte) and (lte is None or number <= lte)


def _largest(first: int | None, second: int | None) -> int | None:
    if first is None or second is None:
        return second if first is None else first
    return max(first, second)


def _smallest(first: int | None, second: int | None) -> int | None:
    if first is None or second is None:
        return second if first is None else first
    return min(first, second)


class LabelRequirements(Mapping[str, LabelRequirement]):
    """One requirement for each label key (scheduling.LabelRequirements). Equal sets have one hash."""

    __slots__ = ("_by_key", "_has_min_values", "_hash", "number")

    def __init__(self, requirements: Iterable[LabelRequirement] = ()) -> None:
        """The intersection of requirements of one key, as `Add` makes it."""
        self._by_key: dict[str, LabelRequirement] = {}
        # The number in a `States` table, -1 before.
        self.number = -1
        self._hash: int | None = None
        self._has_min_values: bool | None = None
        for each in requirements:
            existing = self._by_key.get(each.key)
            self._by_key[each.key] = each if existing is None else each.intersection(existing)

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> LabelRequirements:
        """NewLabelRequirements."""
        return cls(LabelRequirement.of(key, "In", (value,)) for key, value in labels.items())

    @classmethod
    def of_selectors(cls, selectors: Iterable[NodeSelectorRequirement]) -> LabelRequirements:
        """NewNodeSelectorRequirements."""
        return cls(LabelRequirement.of(each.key, each.operator, each.values) for each in selectors)

    def __getitem__(self, key: str) -> LabelRequirement:
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._by_key.values()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, LabelRequirements) and self._by_key == other._by_key)

    def allowed(self, key: str) -> LabelRequirement:
        """Requirements.Get: any value where nothing is required."""
        return self._by_key.get(key) or LabelRequirement(key, complement=True)

    def added(self, incoming: LabelRequirements) -> LabelRequirements:
        """Requirements.Add: all of both, intersected."""
        return LabelRequirements((*self._by_key.values(), *incoming._by_key.values())) if incoming else self

    def without(self, key: str) -> LabelRequirements:
        return LabelRequirements(each for each in self._by_key.values() if each.key != key) if key in self else self

    def with_min_values(self, least: Mapping[str, int]) -> LabelRequirements:
        """The same with other `min_values` for some keys."""
        return LabelRequirements(
            replace(each, min_values=least[each.key]) if each.key in least else each for each in self.values()
        )

    def undefined(self, incoming: LabelRequirements, allow_undefined: frozenset[str] = frozenset()) -> str | None:
        """The first key that is required, and is neither known here nor allowed to be undefined."""
        for key in sorted(incoming):
            if key not in self and key not in allow_undefined and not incoming[key].is_negative:
                return key
        return None

    def contradictions(self, incoming: LabelRequirements) -> Iterator[LabelRequirement]:
        """The incoming requirements that this set rejects (Requirements.Intersects), by key."""
        by_key, others = self._by_key, incoming._by_key
        for key in by_key if len(by_key) < len(others) else others:
            if key in by_key and key in others and by_key[key].rejects(others[key]):
                yield others[key]

    def is_compatible(self, incoming: LabelRequirements, allow_undefined: frozenset[str] = frozenset()) -> bool:
        """Requirements.IsCompatible: a key that is only required there must be negative or allowed to be undefined."""
        for key, each in incoming._by_key.items():
            existing = self._by_key.get(key)
            if existing is None:
                if not each.is_negative and key not in allow_undefined:
                    return False
            elif existing.rejects(each):
                return False
        return True

    @property
    def has_min_values(self) -> bool:
        if self._has_min_values is None:
            self._has_min_values = any(each.min_values is not None for each in self._by_key.values())
        return self._has_min_values

    def __str__(self) -> str:
        return ", ".join(sorted(str(each) for key, each in self._by_key.items() if key != HOSTNAME))

    def __repr__(self) -> str:
        return f"<LabelRequirements {self}>"


class States:
    """The distinct requirements of one run, each with a number, and what becomes of them when others are added.

    Thousands of open claims have few distinct requirements, so each combination is computed once."""

    def __init__(self, well_known: frozenset[str]) -> None:
        self._well_known = well_known
        self._numbers: dict[LabelRequirements, LabelRequirements] = {}
        self._states: list[LabelRequirements] = []
        self._added: dict[tuple[LabelRequirements, LabelRequirements, bool], LabelRequirements | None] = {}

    def __len__(self) -> int:
        return len(self._states)

    def __getitem__(self, number: int) -> LabelRequirements:
        return self._states[number]

    def numbered(self, requirements: LabelRequirements) -> LabelRequirements:
        """The one object for all equal requirements, with its number."""
        found = self._numbers.get(requirements)
        if found is None:
            requirements.number = len(self._states)
            self._states.append(requirements)
            found = self._numbers[requirements] = requirements
        return found

    def added(self, state: LabelRequirements, incoming: LabelRequirements, *, strict: bool) -> LabelRequirements | None:
        """The state with the incoming requirements added, None if they are not compatible. `strict`: a well-known label
        that the state does not define is missing, as on an existing node."""
        key = (state, incoming, strict)
        if key not in self._added:
            allowed = frozenset[str]() if strict else self._well_known
            fits = state.is_compatible(incoming, allowed)
            self._added[key] = self.numbered(state.added(incoming)) if fits else None
        return self._added[key]
