"""How many nodes may still use each capacity reservation (reservationmanager.go).

A claim reserves every reservation that its node could be launched with, and gives back those that it can no longer use.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ksched_cli.autoscale.karpenter.instance_types import InstanceTypes, Mask
from ksched_cli.autoscale.karpenter.labels import RESERVED
from ksched_cli.autoscale.karpenter.requirements import LabelRequirements

NONE: frozenset[str] = frozenset()


class Reservations:
    def __init__(self, types: InstanceTypes, *, enabled: bool) -> None:
        """`enabled`: the feature gate ReservedCapacity."""
        self._types = types
        self._is_reserved = np.array([each.capacity_type == RESERVED for each in types.offerings], bool)
        self.any = enabled and types.has_reserved
        self._left: dict[str, int] = {}
        for each in types.offerings:
            if each.capacity_type == RESERVED:
                # Of several counts the smallest is true.
                known = self._left.get(each.reservation_id, each.reservation_capacity)
                self._left[each.reservation_id] = min(known, each.reservation_capacity)

    def available(self, state: LabelRequirements, types: Mask, held: frozenset[str]) -> tuple[bool, frozenset[str]]:
        """Whether the types have reserved offerings that meet the requirements, and the reservations among these that a
        claim that holds `held` can have (offeringsToReserve)."""
        compatible = self._types.usable_offerings(state) & self._is_reserved & types[self._types.offering_type]
        names = {self._types.offerings[at].reservation_id for at in np.flatnonzero(compatible)}
        return bool(names), frozenset(name for name in names if name in held or self._left[name] > 0)

    def change(self, held: frozenset[str], wanted: frozenset[str]) -> None:
        """A claim holds other reservations."""
        self._add(wanted - held, -1)
        self._add(held - wanted, 1)

    def _add(self, names: Iterable[str], more: int) -> None:
        for name in names:
            self._left[name] += more
