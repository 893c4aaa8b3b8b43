"""What there is to allocate: pools by node (structured/internal: GatherPools), their taints and shared counters,
device classes, and which device each selector fits.

`DeviceTotals` counts the devices behind an extended resource on each node, for scores (calculateDRAResourceTotals).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.dynamic_resources import (
    CounterSet,
    Device,
    DeviceClass,
    DeviceSelector,
    DeviceTaint,
    DeviceTaintRule,
    DeviceToleration,
    ResourceSlice,
    ResourceSliceSpec,
)
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.api.selectors import SelectorError
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.framework.handle import Handle
from ksched_cli.plugins.lib.cel.values import CelCompileError, CelError, NoSuchKeyError
from ksched_cli.plugins.lib.devices.claims import (
    AllocatedState,
    AllocationError,
    ClaimTracker,
    DeviceID,
    DeviceRules,
    ExtendedResourceIndex,
    PoolID,
    device_id,
)
from ksched_cli.releases.gates import FeatureGates


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
        self._masks: dict[int, BoolColumn] = {}
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
            mask = self._masks[at] = self._slice_mask(self.slices[at])
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


# Other effects keep no pod away.
_PREVENTING = frozenset({"NoSchedule", "NoExecute"})


def taint_prevents_allocation(taints: Iterable[DeviceTaint], tolerations: Iterable[DeviceToleration]) -> bool:
    return any(
        taint.effect in _PREVENTING and not any(tolerates_device_taint(toleration, taint) for toleration in tolerations)
        for taint in taints
    )


def tolerates_device_taint(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """An empty effect or key stands for all, an empty operator for Equal."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def with_taint_rules(resource_slice: ResourceSlice, rules: Sequence[DeviceTaintRule]) -> ResourceSlice:
    """The slice with the taints that DeviceTaintRules add to its devices (Tracker.applyPatches). A rule without a
    selector selects every device, as in kube-scheduler."""
    spec, added = resource_slice.spec, [rule.spec for rule in rules if _covers(rule, resource_slice)]
    if not added:
        return resource_slice
    devices = []
    for device in spec.devices:
        names = ((each.taint, each.device_selector.device if each.device_selector else None) for each in added)
        taints = tuple(taint for taint, name in names if name in (None, device.name))
        devices.append(replace(device, taints=(*device.taints, *taints)) if taints else device)
    return replace(resource_slice, spec=replace(spec, devices=tuple(devices)))


def _covers(rule: DeviceTaintRule, resource_slice: ResourceSlice) -> bool:
    selector, spec = rule.spec.device_selector, resource_slice.spec
    if selector is None:
        return True
    return selector.driver in (None, spec.driver) and selector.pool in (None, spec.pool.name)


CounterKey = tuple[str, str]
Counters = dict[CounterKey, Fraction]


class AvailableCounters:
    """What allocated devices leave of each pool's counters, for one pod's cycle. Up to 1.36 the name of the pool alone
    is the key."""

    def __init__(self, allocated: AllocatedState, rules: DeviceRules) -> None:
        self._allocated = allocated
        self._rules = rules
        self._pools: dict[str, Counters] = {}

    def key_of(self, pool: Pool) -> str:
        return pool.full_name if self._rules.pools_are_known_by_driver else pool.name

    def of(self, pool: Pool) -> Counters:
        key = self.key_of(pool)
        found = self._pools.get(key)
        if found is None:
            found = self._pools[key] = self._remaining(pool)
        return found

    def _remaining(self, pool: Pool) -> Counters:
        remaining: Counters = {
            (counter_set.name, name): parse_quantity(counter.value)
            for counter_set in pool.counter_sets.values()
            for name, counter in counter_set.counters.items()
        }
        for home in (*pool.slices, *pool.others):
            for device in home.spec.devices:
                if device.consumes_counters and self._holds(device_id(home, device)):
                    for key, amount in consumption_of(device):
                        if key in remaining:
                            remaining[key] -= amount
        return remaining

    def _holds(self, device: DeviceID) -> bool:
        """Whether the device has taken its counters."""
        if self._rules.held_shares_take_counters:
            return self._allocated.is_allocated(device)
        return device in self._allocated.devices


class ConsumedCounters:
    """Counters that the devices of the tried solution consume."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._pools: dict[str, Counters] = {}

    def take(self, pool: Pool, device: Device) -> bool:
        """checkAvailableCounters: False, and nothing taken, where any counter of the pool would be overdrawn."""
        available = self._available.of(pool)
        consumed = self._add(pool, device, 1)
        if any(limit < consumed.get(key, 0) for key, limit in available.items()):
            self.give_back(pool, device)
            return False
        return True

    def give_back(self, pool: Pool, device: Device) -> None:
        self._add(pool, device, -1)

    def _add(self, pool: Pool, device: Device, sign: int) -> Counters:
        consumed = self._pools.setdefault(self._available.key_of(pool), {})
        for key, amount in consumption_of(device):
            consumed[key] = consumed.get(key, Fraction(0)) + sign * amount
        return consumed


def consumption_of(device: Device) -> list[tuple[CounterKey, Fraction]]:
    return [
        ((consumption.counter_set, name), parse_quantity(counter.value))
        for consumption in device.consumes_counters
        for name, counter in consumption.counters.items()
    ]


_NO_SUCH_KEY_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() "
    "for optional fields"
)


class Features(Struct, frozen=True):
    """structured.Features (AllocatorFeatures)."""

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable: bool = True
    taints: bool = True
    binding_conditions: bool = True
    consumable: bool = True
    list_attributes: bool = False
    taint_rules: bool = False
    fractional_ranges: bool = False

    @classmethod
    def of(cls, gates: FeatureGates) -> Features:
        return cls(
            gates.enabled("DRAAdminAccess"),
            gates.enabled("DRAPrioritizedList"),
            gates.enabled("DRAPartitionableDevices"),
            gates.enabled("DRADeviceTaints"),
            gates.enabled("DRADeviceBindingConditions") and gates.enabled("DRAResourceClaimDeviceStatus"),
            gates.enabled("DRAConsumableCapacity"),
            gates.enabled("DRAListTypeAttributes"),
            gates.enabled("DRADeviceTaintRules"),
            gates.enabled("DRAFractionalCapacityRange"),
        )


class Inventory:
    """Pools, classes and matches of selectors, computed again when a slice or a node changes."""

    def __init__(self, cluster: Cluster, features: Features) -> None:
        self._cluster = cluster
        self.features = features
        self.rules = DeviceRules.of(cluster.release)
        self._stamp: tuple[int, int] = (-1, -1)
        self._read: list[ResourceSlice | DeviceTaintRule] = []
        self._pools: PoolIndex | None = None
        self._matches: dict[tuple[str, int], bool | CelError] = {}

    def pools(self) -> PoolIndex:
        """The pools of all nodes. They are gathered again when slices, rules of taints or nodes have changed."""
        stamp = (self._cluster.catalog.version, self._cluster.structure)
        if self._pools is None or stamp != self._stamp:
            slices = list(self._cluster.catalog.all(ResourceSlice))
            rules = list(self._cluster.catalog.all(DeviceTaintRule)) if self.features.taint_rules else []
            read: list[ResourceSlice | DeviceTaintRule] = [*slices, *rules]
            if self._pools is None or stamp[1] != self._stamp[1] or not _same_objects(read, self._read):
                self._read, self._matches = read, {}
                tainted = [with_taint_rules(each, rules) for each in slices]
                self._pools = PoolIndex(self._cluster, tainted, partitionable=self.features.partitionable)
            self._stamp = stamp
        return self._pools

    def device_class(self, name: str) -> DeviceClass | None:
        return self._cluster.catalog.get(DeviceClass, name)

    def selected(self, selectors: Iterable[DeviceSelector], home: ResourceSlice, device: Device, whose: str) -> bool:
        """selectorsMatch: whether the device fits all of them; AllocationError where one cannot be evaluated."""
        for position, selector in enumerate(selectors):
            expression = selector.cel.expression if selector.cel else ""
            try:
                matches = self._match(expression, home.spec.driver, device)
            except CelCompileError as problem:
                raise AllocationError(f"{whose}: selector #{position}: CEL compile error: {problem}") from None
            except CelError as problem:
                raise AllocationError(
                    f"{whose}: selector #{position}{self._runtime_error(home, device, problem)}"
                ) from None
            if not matches:
                return False
        return True

    def _runtime_error(self, home: ResourceSlice, device: Device, problem: CelError) -> str:
        """The end of the message about a selector that failed on this device (EnhanceRuntimeError)."""
        if not self.rules.errors_name_the_device:
            return f": CEL runtime error: {problem}"
        hint = _NO_SUCH_KEY_HINT if isinstance(problem, NoSuchKeyError) else ""
        return f" on device {'/'.join(device_id(home, device))}: CEL runtime error: {problem}{hint}"

    def _match(self, expression: str, driver: str, device: Device) -> bool:
        """Whether the device matches, computed once per expression and device."""
        key = (expression, id(device))
        found = self._matches.get(key)
        if found is None:
            # Only clusters with devices need CEL.
            from ksched_cli.plugins.lib.cel.expression import compile_cel_selector

            selector = compile_cel_selector(
                expression,
                shareable=self.features.consumable,
                lists=self.features.list_attributes or self.rules.selectors_see_lists,
            )
            try:
                found = selector.matches(driver, device)
            except CelError as problem:
                found = problem
            self._matches[key] = found
        if isinstance(found, CelError):
            raise found
        return found


def _same_objects(left: Sequence[object], right: Sequence[object]) -> bool:
    return len(left) == len(right) and all(one is other for one, other in zip(left, right, strict=True))


class DeviceTotals:
    """Counts the devices of all slices. Scores ignore pools and generations."""

    def __init__(self, handle: Handle) -> None:
        gates = handle.gates
        self._cluster = handle.cluster
        self._shareable = gates.enabled("DRAConsumableCapacity")
        sees_lists = DeviceRules.of(handle.release).selectors_see_lists
        self._lists = gates.enabled("DRAListTypeAttributes") or sees_lists
        self._tracker = ClaimTracker(handle.cluster.catalog, shareable=self._shareable)
        self._index = ExtendedResourceIndex(handle.cluster.catalog, enabled=gates.enabled("DRAExtendedResource"))

    def backs(self, resource: str) -> bool:
        """Whether devices may stand behind the resource."""
        return self._index.backs(resource)

    def of(self, resource: str) -> tuple[Int64Column, Int64Column] | None:
        """Devices, and devices in use, per node; None where no class stands behind the resource."""
        backing = self._index.class_of(resource)
        if backing is None:
            return None
        size = len(self._cluster.nodes)
        there, used = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        unknown = np.zeros(size, dtype=np.bool_)
        taken = self._tracker.allocated()
        for home in self._cluster.catalog.all(ResourceSlice):
            for device, reach in self._devices(home):
                matches = self._matches(backing, home, device)
                if matches is None:
                    unknown |= reach
                elif matches:
                    there += reach
                    used += reach & taken.is_allocated(device_id(home, device))
        # A node with a device for which the class fails counts as one without devices.
        return np.where(unknown, 0, there), np.where(unknown, 0, used)

    def _devices(self, home: ResourceSlice) -> Iterator[tuple[Device, BoolColumn]]:
        spec = home.spec
        reach = None if spec.per_device_node_selection else self._reach(spec)
        for device in spec.devices:
            yield device, self._reach(device) if reach is None else reach

    def _reach(self, place: Device | ResourceSliceSpec) -> BoolColumn:
        if place.node_selector is not None:
            return self._cluster.selection.terms_mask(place.node_selector.node_selector_terms)
        mask = np.full(len(self._cluster.nodes), bool(place.all_nodes), dtype=np.bool_)
        row = self._cluster.nodes.row_of.get(place.node_name or "")
        if row is not None:
            mask[row] = True
        return mask

    def _matches(self, backing: DeviceClass, home: ResourceSlice, device: Device) -> bool | None:
        """deviceMatchesClass, which ignores whether a device can be shared; None where a selector fails."""
        # Only clusters with devices need CEL.
        from ksched_cli.plugins.lib.cel.expression import compile_cel_selector

        anonymous = replace(device, allow_multiple_allocations=None)
        try:
            return all(
                compile_cel_selector(selector.cel.expression, shareable=self._shareable, lists=self._lists).matches(
                    home.spec.driver, anonymous
                )
                for selector in backing.spec.selectors
                if selector.cel is not None
            )
        except (CelCompileError, CelError):
            return None
