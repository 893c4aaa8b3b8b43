"""Instance types as columns: which of them meet requirements, have room, and have an offering that can be bought.

Mirrors pkg/cloudprovider/types.go and `filterInstanceTypesByRequirements` of nodeclaim.go. A question that Go asks of
every type in turn is one row of booleans here, computed once for each distinct requirement.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ksched_cli.autoscale.instance_types.catalog import InstanceType, Offering
from ksched_cli.autoscale.karpenter.labels import CAPACITY_TYPE, RESERVED, Provider
from ksched_cli.autoscale.karpenter.requirements import ZONE, LabelRequirement, LabelRequirements
from ksched_cli.autoscale.karpenter.resources import Amounts, Columns, Vector, amounts_of, merged, subtracted

Mask = NDArray[np.bool_]
V = TypeVar("V", bound=Hashable)
_HUGEPAGES = "hugepages-"
_NO_PRICE = np.inf


def allocatable_of(each: InstanceType) -> Amounts:
    """InstanceType.Allocatable: capacity without overhead; hugepages are taken from the memory."""
    overhead = each.overhead
    lists = (overhead.kube_reserved, overhead.system_reserved, overhead.eviction_threshold)
    capacity = amounts_of(each.capacity)
    found = subtracted(capacity, merged(*map(amounts_of, lists)))
    for name, amount in capacity.items():
        if name.startswith(_HUGEPAGES) and "memory" in found:
            memory = found["memory"]
            found["memory"] = memory._replace(milli=max(memory.milli - amount.milli, 0))
    return found


class InstanceTypes:
    """The types of a catalog, each with a row."""

    def __init__(self, types: Sequence[InstanceType], provider: Provider, columns: Columns) -> None:
        self.names = [each.name for each in types]
        self.name_order = np.argsort(np.argsort(np.array(self.names, object)))
        self._well_known = provider.well_known
        self.reservation_label = provider.reservation_label
        self.capacity = _matrix([amounts_of(each.capacity) for each in types], columns)
        self.allocatable = _matrix([allocatable_of(each) for each in types], columns)
        # A type of which some amount is negative fits nothing (resources.Fits).
        self.allocatable[(self.allocatable < 0).any(axis=1)] = -1
        self._by_key = _requirements_by_key(types)
        pairs = [(row, each) for row, of in enumerate(types) for each in of.offerings]
        self.offering_type = np.array([row for row, _ in pairs], np.int64)
        self.offerings = [each for _, each in pairs]
        self.price = np.array([_NO_PRICE if each.price is None else each.price for each in self.offerings], float)
        self._available = np.array([each.available for each in self.offerings], bool)
        labels: list[tuple[str, Callable[[Offering], str]]] = [
            (ZONE, lambda each: each.zone),
            (CAPACITY_TYPE, lambda each: each.capacity_type),
        ]
        if self.reservation_label:
            labels.append((self.reservation_label, lambda each: each.reservation_id))
        self._offered = {key: _distinct([value(each) for each in self.offerings]) for key, value in labels}
        self.has_reserved = any(each.capacity_type == RESERVED for each in self.offerings)
        # Each is computed once for equal requirements.
        self._mask, self._offering_mask = cache(self._types_with), cache(self._offerings_with)
        self.compatible, self.usable = cache(self._compatible), cache(self._usable)
        self._offerings = cache(self._available_offerings)

    def __len__(self) -> int:
        return len(self.names)

    def _compatible(self, state: LabelRequirements) -> Mask:
        """Which types have requirements that intersect these."""
        found = np.ones(len(self), bool)
        for key, each in state.items():
            if key in self._by_key:
                found &= self._mask(each)
        return found

    def _types_with(self, requirement: LabelRequirement) -> Mask:
        of_type, distinct = self._by_key[requirement.key]
        allowed = np.array([each is None or not each.rejects(requirement) for each in distinct], bool)
        return allowed[of_type]

    def usable_offerings(self, state: LabelRequirements) -> Mask:
        """Which offerings are available and compatible with the requirements."""
        return self._offerings(state)[0]

    def offerings_of(self, state: LabelRequirements, row: int) -> list[Offering]:
        """The available offerings of the type in this row that are compatible with the requirements."""
        rows = np.flatnonzero(self.usable_offerings(state) & (self.offering_type == row))
        return [self.offerings[at] for at in rows]

    def capacity_types(self, state: LabelRequirements, types: Mask) -> set[str]:
        """The capacity types of all such offerings of these types."""
        of_offering, names = self._offered[CAPACITY_TYPE]
        found = of_offering[self.usable_offerings(state) & types[self.offering_type]]
        return {names[number] for number in np.flatnonzero(np.bincount(found, minlength=len(names)))}

    def offered(self, state: LabelRequirements) -> Mask:
        """Which types have such an offering."""
        return self._offerings(state)[1]

    def _available_offerings(self, state: LabelRequirements) -> tuple[Mask, Mask]:
        offerings = self._available.copy()
        for key, (of_offering, values) in self._offered.items():
            existing = state.get(key)
            if existing is not None:
                offerings &= self._offering_mask(existing)
            elif key not in self._well_known:
                offerings &= np.array([not value for value in values], bool)[of_offering]
        types = np.zeros(len(self), bool)
        types[self.offering_type[offerings]] = True
        return offerings, types

    def _offerings_with(self, requirement: LabelRequirement) -> Mask:
        of_offering, values = self._offered[requirement.key]
        given = [LabelRequirement.of(requirement.key, "In", (value,) if value else ()) for value in values]
        return np.array([not requirement.rejects(each) for each in given], bool)[of_offering]

    def _usable(self, state: LabelRequirements) -> Mask:
        """Which types meet the requirements and have an offering."""
        return self.compatible(state) & self.offered(state)

    def fits(self, requests: Vector) -> Mask:
        """Which types have room for the requests."""
        found: Mask = np.logical_and.reduce(self.allocatable >= requests, axis=1)
        return found

    def values(self, key: str, types: Iterable[int]) -> list[frozenset[str]]:
        """The values of a label for each of the types, none where a type has no requirement for it."""
        if key not in self._by_key:
            return [frozenset() for _ in types]
        of_type, distinct = self._by_key[key]
        listed = [frozenset[str]() if each is None else each.values for each in distinct]
        return [listed[of_type[row]] for row in types]

    def requirements_for(self, key: str) -> list[LabelRequirement | None]:
        """The distinct requirements of the types about a label, None where a type has none."""
        return self._by_key[key][1] if key in self._by_key else [None]

    def too_few_values(self, state: LabelRequirements, types: Mask) -> dict[str, int]:
        """SatisfiesMinValues: the labels of which the types have fewer values than required, with how many they have.
        No types at all have enough."""
        rows = np.flatnonzero(types).tolist()
        if not rows:
            return {}
        found = {}
        for key, each in state.items():
            if each.min_values is not None:
                count = len(frozenset().union(*self.values(key, rows)))
                if count < each.min_values:
                    found[key] = count
        return found

    def prices(self, state: LabelRequirements) -> NDArray[np.float64]:
        """For each type the price of its cheapest usable offering, infinite without one."""
        found = np.full(len(self), _NO_PRICE)
        usable = self.usable_offerings(state)
        np.minimum.at(found, self.offering_type[usable], self.price[usable])
        return found

    def by_price(self, state: LabelRequirements, types: Mask) -> list[int]:
        """OrderByPrice: the cheapest first, equal prices by name. Go leaves the order of equal prices open."""
        rows = np.flatnonzero(types)
        order = np.lexsort((self.name_order[rows], self.prices(state)[rows]))
        return [int(row) for row in rows[order]]


def _matrix(lists: Sequence[Amounts], columns: Columns) -> NDArray[np.int64]:
    return np.array([columns.vector(each) for each in lists], np.int64).reshape(len(lists), len(columns.names))


def _requirements_by_key(
    types: Sequence[InstanceType],
) -> dict[str, tuple[NDArray[np.int64], list[LabelRequirement | None]]]:
    """For each label the distinct requirements of all types, and which of them each type has."""
    keys = dict.fromkeys(key for each in types for key in each.requirements)
    found = {}
    for key in keys:
        of_values, given = _distinct(
            [frozenset(each.requirements[key]) if key in each.requirements else None for each in types]
        )
        distinct = [None if values is None else LabelRequirement.of(key, "In", values) for values in given]
        normalized = next(each.key for each in distinct if each is not None)
        found[normalized] = of_values, distinct
    return found


def _distinct(values: Sequence[V]) -> tuple[NDArray[np.int64], list[V]]:
    """The number of each value in the list of distinct values, and that list."""
    numbers: dict[V, int] = {}
    of = np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)
    return of, list(numbers)
