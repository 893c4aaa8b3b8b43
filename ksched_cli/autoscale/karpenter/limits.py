"""What the limits of NodePools leave (remainingResources of scheduler.go).

Karpenter counts pessimistically: a new claim takes as much as the largest of its instance types has, and gives nothing
back when it loses types. No type has a capacity of `nodes`, so that limit only shows when it is used up before.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ksched_cli.api.karpenter import NodePool
from ksched_cli.autoscale.karpenter.instance_types import InstanceTypes, Mask
from ksched_cli.autoscale.karpenter.resources import Amounts, Columns, ResourceAmount, amounts_of, subtracted

NODES = "nodes"


class PoolLimits:
    def __init__(self, pools: list[NodePool], types: InstanceTypes, columns: Columns) -> None:
        self._types, self._columns = types, columns
        self._left = {pool.metadata.name: amounts_of(pool.spec.limits or {}) for pool in pools}
        self._masks: dict[str, Mask] = {}

    def left(self, pool: str) -> Amounts:
        return self._left[pool]

    def take_node(self, pool: str, capacity: Mapping[str, ResourceAmount]) -> None:
        """A node of the pool that exists."""
        if pool in self._left:
            self._left[pool] = subtracted(self._left[pool], {**capacity, NODES: ResourceAmount(1000)})
            self._masks.pop(pool, None)

    def are_nodes_used_up(self, pool: str) -> bool:
        left = self._left[pool].get(NODES)
        return left is not None and left.milli == 0

    def within(self, pool: str) -> Mask | None:
        """filterByRemainingResources: the types whose capacity is within what is left, None without limits."""
        left = self._left[pool]
        if not left:
            return None
        found = self._masks.get(pool)
        if found is None:
            most = self._columns.vector(left, missing=2**62)
            found = np.logical_and.reduce(self._types.capacity <= most, axis=1)
            if any(each.milli < 0 for each in left.values()):
                # Even a type that has nothing of the resource has more than is left.
                found[:] = False
            self._masks[pool] = found
        return found

    def take_claim(self, pool: str, types: Mask) -> None:
        """subtractMax: a new claim that may become any of these types."""
        left = self._left[pool]
        if left and types.any():
            largest = self._types.capacity[types].max(axis=0)
            names = self._columns.names
            self._left[pool] = subtracted(
                left, {name: ResourceAmount(int(most)) for name, most in zip(names, largest, strict=True)}
            )
            self._masks.pop(pool, None)
