"""Resource pools as a node sees them (structured/internal: GatherPools)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from ksched_cli.api.dynamic_resources import CounterSet, Device, ResourceSlice, ResourceSliceSpec
from ksched_cli.api.selectors import SelectorError
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn
from ksched_cli.plugins.lib.devices.claims import DeviceID, PoolID
from ksched_cli.plugins.lib.devices.errors import AllocationError


class Pool(Struct, frozen=True, eq=False):
    """One driver's pool. `slices` are those for the node; `others` matter only for the counters they use up."""

    driver: str
    name: str
    slices: tuple[ResourceSlice, ...] = ()
    others: tuple[ResourceSlice, ...] = ()
    counter_sets: Mapping[str, CounterSet] = field(default_factory=dict)
    incomplete: bool = False
    invalid: str = ""

    @property
    def usable(self) -> bool:
        return not (self.incomplete or self.invalid)

    @property
    def device_ids(self) -> list[DeviceID]:
        return [(self.driver, self.name, device.name) for home in self.slices for device in home.spec.devices]

    @property
    def full_name(self) -> str:
        return f"{self.driver}/{self.name}"


class PoolIndex:
    """Every slice, sorted out by the nodes that it is for. Nodes with the same slices share the same pools."""

    def __init__(self, cluster: Cluster, slices: Iterable[ResourceSlice], *, partitionable: bool) -> None:
        self._cluster = cluster
        self._partitionable = partitionable
        self.slices = sorted(slices, key=lambda each: each.metadata.name)
        self._by_pool: dict[PoolID, list[ResourceSlice]] = {}
        self._local: dict[str, list[int]] = {}
        self._shared: list[int] = []
        self._masks: dict[int, BoolColumn | AllocationError] = {}
        self._device_masks: dict[int, BoolColumn] = {}
        self._rows: dict[int, tuple[Pool, ...]] = {}
        self._built: dict[tuple[int, ...], tuple[Pool, ...]] = {}
        self._personal: set[int] = set()
        for at, each in enumerate(self.slices):
            self._by_pool.setdefault(_pool_id(each), []).append(each)
            if not partitionable and (each.spec.per_device_node_selection is not None or each.spec.shared_counters):
                continue
            if each.spec.node_name and not each.spec.shared_counters:
                self._local.setdefault(each.spec.node_name, []).append(at)
            else:
                self._shared.append(at)

    def pools_of(self, row: int) -> tuple[Pool, ...]:
        """The pools of the node by driver and name, those with binding conditions last."""
        found = self._rows.get(row)
        if found is None:
            relevant = [*self._local.get(self._cluster.nodes.names[row], ())]
            relevant += [at for at in self._shared if self._reaches(at)[row]]
            key = tuple(relevant)
            found = self._built.get(key)
            if found is None:
                found = self._built[key] = self._gather([self.slices[at] for at in key])
                if any(home.spec.per_device_node_selection for pool in found for home in pool.slices):
                    self._personal.add(id(found))
            self._rows[row] = found
        return found

    def is_personal(self, pools: tuple[Pool, ...]) -> bool:
        """Whether devices of the pools select their nodes one by one (perDeviceNodeSelection)."""
        return id(pools) in self._personal

    def device_reaches(self, device: Device, row: int) -> bool:
        """Per-device node selection (NodeMatches)."""
        mask = self._device_masks.get(id(device))
        if mask is None:
            mask = self._matching(device)
            self._device_masks[id(device)] = mask
        return bool(mask[row])

    # Which nodes a slice is for

    def _reaches(self, at: int) -> BoolColumn:
        mask = self._masks.get(at)
        if mask is None:
            try:
                mask = self._slice_mask(self.slices[at])
            except AllocationError as problem:
                mask = problem
            self._masks[at] = mask
        if isinstance(mask, AllocationError):
            raise mask
        return mask

    def _slice_mask(self, each: ResourceSlice) -> BoolColumn:
        spec = each.spec
        size = len(self._cluster.nodes)
        if spec.shared_counters:
            return np.ones(size, dtype=np.bool_)
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            return self._mask_or_error(each, "", spec)
        mask = np.zeros(size, dtype=np.bool_)
        if spec.per_device_node_selection:
            for device in spec.devices:
                mask |= self._mask_or_error(each, f"device {device.name} in ", device)
        return mask

    def _mask_or_error(self, each: ResourceSlice, what: str, place: Device | ResourceSliceSpec) -> BoolColumn:
        try:
            return self._matching(place)
        except SelectorError as problem:
            raise AllocationError(
                "gather pool information: failed to perform node selection for "
                f"{what}slice {each.metadata.name}: failed to parse node selector: {problem}"
            ) from None

    def _matching(self, place: Device | ResourceSliceSpec) -> BoolColumn:
        """NodeMatches over all nodes."""
        mask, selector = np.zeros(len(self._cluster.nodes), dtype=np.bool_), place.node_selector
        if place.node_name:
            row = self._cluster.nodes.row_of.get(place.node_name)
            if row is not None:
                mask[row] = True
        elif place.all_nodes:
            mask[:] = True
        elif selector is not None:
            self._cluster.selection.check(selector.node_selector_terms)
            return self._cluster.selection.terms_mask(selector.node_selector_terms)
        return mask

    # Pools of the slices that one node sees

    def _gather(self, relevant: Sequence[ResourceSlice]) -> tuple[Pool, ...]:
        current: dict[PoolID, list[ResourceSlice]] = {}
        for each in relevant:
            newest = current.get(_pool_id(each))
            if newest is None or each.spec.pool.generation > newest[0].spec.pool.generation:
                current[_pool_id(each)] = [each]
            elif each.spec.pool.generation == newest[0].spec.pool.generation:
                newest.append(each)
        pools = [pool for pool in map(self._pool, current.values()) if pool is not None]
        return tuple(sorted(pools, key=lambda pool: (_waits_for_binding(pool), pool.driver, pool.name)))

    def _pool(self, slices: list[ResourceSlice]) -> Pool | None:
        """None for a pool that is about to be replaced by a newer generation."""
        driver, name = _pool_id(slices[0])
        expected, generation = slices[0].spec.pool.resource_slice_count, slices[0].spec.pool.generation
        if len(slices) == expected:
            return self._complete_pool(slices, slices)
        everywhere = self._by_pool[driver, name]
        if any(each.spec.pool.generation > generation for each in everywhere):
            return None
        everywhere = [each for each in everywhere if each.spec.pool.generation == generation]
        if len(everywhere) != expected:
            return Pool(driver, name, incomplete=True)
        return self._complete_pool(slices, everywhere)

    def _complete_pool(self, slices: list[ResourceSlice], everywhere: list[ResourceSlice]) -> Pool:
        driver, name = _pool_id(slices[0])
        with_counters = [each for each in slices if each.spec.shared_counters]
        with_devices = tuple(each for each in slices if not each.spec.shared_counters)
        problem = _duplicate_device(with_devices)
        if problem or not self._partitionable:
            return Pool(driver, name, () if problem else with_devices, invalid=problem)
        counter_sets, problem = _counter_sets(with_counters)
        seen = {each.metadata.name for each in slices}
        others = tuple(each for each in everywhere if each.metadata.name not in seen)
        problem = problem or _unknown_counter(counter_sets, [*slices, *others])
        if problem:
            return Pool(driver, name, invalid=problem)
        return Pool(driver, name, with_devices, others, counter_sets)


def _pool_id(each: ResourceSlice) -> PoolID:
    return each.spec.driver, each.spec.pool.name


def _waits_for_binding(pool: Pool) -> bool:
    return any(device.binding_conditions for each in pool.slices for device in each.spec.devices)


def _duplicate_device(slices: Iterable[ResourceSlice]) -> str:
    names: set[str] = set()
    for each in slices:
        for device in each.spec.devices:
            if device.name in names:
                return f"duplicate device name {device.name}"
            names.add(device.name)
    return ""


def _counter_sets(slices: Iterable[ResourceSlice]) -> tuple[dict[str, CounterSet], str]:
    found: dict[str, CounterSet] = {}
    for each in slices:
        for counter_set in each.spec.shared_counters:
            if counter_set.name in found:
                return {}, f"duplicate counter set name {counter_set.name}"
            found[counter_set.name] = counter_set
    return found, ""


def _unknown_counter(counter_sets: Mapping[str, CounterSet], slices: Iterable[ResourceSlice]) -> str:
    for each in slices:
        for device in each.spec.devices:
            for consumption in device.consumes_counters:
                counter_set = counter_sets.get(consumption.counter_set)
                if counter_set is None:
                    return f"counter set {consumption.counter_set} not found"
                for name in consumption.counters:
                    if name not in counter_set.counters:
                        return f"counter {name} not found in counter set {counter_set.name}"
    return ""
