"""The search for devices on one node (structured/internal/incubating: Allocator).

Depth first over claims, requests and devices; the first solution is taken. What is counted, and what stays counted
after a refusal, follows kube-scheduler: the order decides who gets which device.
"""

from __future__ import annotations

import math
import sys
import time
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct, field

from ksched_cli.api.dynamic_resources import (
    Device,
    DeviceAttribute,
    DeviceClass,
    DeviceConstraint,
    ResourceClaim,
    ResourceSlice,
)
from ksched_cli.plugins.lib.devices.capacity import Counting, UncountableCapacity, consumed_capacity, fits
from ksched_cli.plugins.lib.devices.claims import (
    ALL,
    EXACT_COUNT,
    AllocatedState,
    AllocationError,
    AllocationTimeout,
    Capacity,
    DeviceID,
    DeviceRules,
    NodeAllocationFailed,
    Pick,
    RequestView,
    add_capacity,
    device_id,
    key_of,
    views_of,
)
from ksched_cli.plugins.lib.devices.inventory import (
    AvailableCounters,
    ConsumedCounters,
    Inventory,
    Pool,
    taint_prevents_allocation,
)

_Values = frozenset[tuple[str, object]]


def constraint_of(constraint: DeviceConstraint, rules: DeviceRules, *, lists: bool = False) -> ClaimConstraint | None:
    """The constraint; None for an unknown kind. With `lists` (DRAListTypeAttributes) attributes are sets of values."""
    if constraint.match_attribute is not None:
        if not lists:
            return MatchAttribute(constraint.requests, constraint.match_attribute)
        return MatchAnyOf(constraint.requests, constraint.match_attribute, returns=rules.common_values_come_back)
    if constraint.distinct_attribute is not None:
        clash = _share_a_value if lists else _clash
        kind = DistinctDevices if rules.every_device_is_distinct else DistinctAttribute
        return kind(constraint.requests, constraint.distinct_attribute, clash)
    return None


def look_up(device: Device, driver: str, attribute: str) -> DeviceAttribute | None:
    """lookupAttribute: by its full name, or by its identifier where the domain is the driver."""
    found = device.attributes.get(attribute)
    if found is not None:
        return found
    domain, slash, identifier = attribute.partition("/")
    return device.attributes.get(identifier) if slash and domain == driver else None


class ClaimConstraint:
    """A constraint on one attribute of a claim's devices. Without request names it is for all requests."""

    def __init__(self, requests: Collection[str], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute
        self._devices = 0

    def add(self, request: RequestView, device: Device, driver: str) -> bool:
        """Refuses the device or counts it in; `remove` takes back an `add` that succeeded."""
        if not self._concerns(request):
            return True
        found = look_up(device, driver, self._attribute)
        if found is None or not self._take(request, found):
            return False
        self._devices += 1
        return True

    def remove(self, request: RequestView) -> None:
        if self._concerns(request):
            self._forget(request)
            self._devices -= 1

    def _concerns(self, request: RequestView) -> bool:
        if not self._requests:
            return True
        if not request.parent:
            return request.name in self._requests
        return request.parent in self._requests or request.full_name in self._requests

    @abstractmethod
    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        """Whether the attribute of one more device satisfies the constraint."""

    def _forget(self, request: RequestView) -> None:
        """Forget what `_take` noted of the request."""


class MatchAttribute(ClaimConstraint):
    """All devices have the attribute, with one value."""

    _value: DeviceAttribute | None = None

    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        if self._devices == 0:
            self._value = found
        return self._devices == 0 or (self._value is not None and same_value(found, self._value))


class MatchAnyOf(ClaimConstraint):
    """All devices have the attribute, with at least one value that they share. Without `returns` (up to 1.36), values
    that a device has ruled out stay ruled out when it is given back, until no device is left."""

    def __init__(self, requests: Collection[str], attribute: str, *, returns: bool) -> None:
        super().__init__(requests, attribute)
        self._returns = returns
        # What the devices up to each one share.
        self._common: list[_Values] = []

    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        values = _values(found)
        if self._devices and values is not None:
            values &= self._common[-1]
        if not values:
            return False
        self._common.append(values)
        return True

    def _forget(self, request: RequestView) -> None:
        if self._returns:
            self._common.pop()


class DistinctAttribute(ClaimConstraint):
    """All devices have the attribute, each with a value of its own. As in kube-scheduler, a device is compared with
    the last one of each request."""

    def __init__(
        self, requests: Collection[str], attribute: str, clash: Callable[[DeviceAttribute, DeviceAttribute], bool]
    ) -> None:
        super().__init__(requests, attribute)
        self._clash = clash
        self._values: dict[str, DeviceAttribute] = {}

    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        if self._devices and any(self._clash(found, other) for other in self._values.values()):
            return False
        self._values[request.parent or request.name] = found
        return True

    def _forget(self, request: RequestView) -> None:
        self._values.pop(request.parent or request.name, None)


class DistinctDevices(DistinctAttribute):
    """DistinctAttribute, but each device is compared with all others."""

    def __init__(
        self, requests: Collection[str], attribute: str, clash: Callable[[DeviceAttribute, DeviceAttribute], bool]
    ) -> None:
        super().__init__(requests, attribute, clash)
        self._taken: list[DeviceAttribute] = []

    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        if any(self._clash(found, other) for other in self._taken):
            return False
        self._taken.append(found)
        return True

    def _forget(self, request: RequestView) -> None:
        self._taken.pop()


def _typed(attribute: DeviceAttribute) -> tuple[str, object] | None:
    if attribute.string is not None:
        return "string", attribute.string
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    if attribute.version is not None:
        return "version", attribute.version
    return None


def same_value(left: DeviceAttribute, right: DeviceAttribute) -> bool:
    """Whether the values are equal. Versions are compared as texts."""
    value = _typed(left)
    return value is not None and value == _typed(right)


def _clash(found: DeviceAttribute, other: DeviceAttribute) -> bool:
    """Whether the values are equal, or one has an unknown type."""
    return _typed(found) is None or same_value(found, other)


def _values(attribute: DeviceAttribute) -> _Values | None:
    """attributeAsSet: a single value is a list of one; None where there is no value at all."""
    lists = {"int": attribute.ints, "bool": attribute.bools, "string": attribute.strings, "version": attribute.versions}
    for kind, values in lists.items():
        if values:
            return frozenset((kind, value) for value in values)
    single = _typed(attribute)
    return None if single is None else frozenset({single})


def _share_a_value(found: DeviceAttribute, other: DeviceAttribute) -> bool:
    values, others = _values(found), _values(other)
    return values is None or (others is not None and bool(values & others))


MAX_RESULTS = 32
_STEPS_PER_LOOK_AT_THE_CLOCK = 512
_FRAMES_PER_DEVICE = 4

Picks = tuple[tuple[Pick, ...], ...]
Location = tuple[int, int, int]
_START: Location = (0, 0, 0)


class _TooManyResults(Exception):
    """errAllocationResultMaxSizeExceeded: a claim would get more devices than its limit."""


class _Candidate(Struct, eq=False):
    device: Device
    slice: ResourceSlice
    pool: Pool
    id: DeviceID


class _RequestData(Struct, eq=False):
    request: RequestView
    device_class: DeviceClass
    wanted: int = 0
    everything: list[_Candidate] = field(default_factory=list)


class Shortfall(Struct, frozen=True, rename="camel"):
    """A request that the node cannot meet. `devices` are those of its class; of these `fitting` could be had, and the
    others miss a selector (`mismatches`, by its expression), are `in_use`, are `tainted`, or lack `capacity`."""

    claim: str
    request: str
    device_class: str
    wanted: int
    fitting: int
    devices: int
    mismatches: Mapping[str, int]
    in_use: int
    tainted: int
    capacity: int


class Allocator:
    """Allocates devices for one pod. `allocated` are the devices of other claims."""

    def __init__(self, inventory: Inventory, allocated: AllocatedState) -> None:
        self.inventory = inventory
        self.allocated = allocated
        self.available_counters = AvailableCounters(allocated, inventory.rules)

    def allocate(self, row: int, claims: Sequence[ResourceClaim], deadline: float = math.inf) -> Picks | None:
        """The devices for each claim, or None where the node does not have them."""
        return _Search(self, row, claims, deadline).run()

    def shortfalls(self, row: int, claims: Sequence[ResourceClaim]) -> list[Shortfall]:
        """The requests for which the node has too few devices, even if the other requests get none."""
        return _Search(self, row, claims, math.inf).shortfalls()


class _Search:
    """One Allocate call."""

    def __init__(self, allocator: Allocator, row: int, claims: Sequence[ResourceClaim], deadline: float) -> None:
        self.inventory = allocator.inventory
        self.features = allocator.inventory.features
        self.rules = allocator.inventory.rules
        self.counting = Counting.of(self.rules, fractional=self.features.fractional_ranges)
        self.allocated = allocator.allocated
        self.row = row
        self.claims = claims
        self.pools = allocator.inventory.pools().pools_of(row)
        self.deadline = deadline
        self.counters = ConsumedCounters(allocator.available_counters)
        self.requests: dict[tuple[int, int], list[_RequestData]] = {}
        self.constraints: list[list[ClaimConstraint]] = []
        self.selectable: dict[tuple[int, int], bool] = {}
        self.allocating: defaultdict[DeviceID, set[int]] = defaultdict(set)
        self.allocating_capacity: dict[DeviceID, Capacity] = {}
        self.picks: list[list[Pick]] = [[] for _ in claims]
        self.steps = 0

    def run(self) -> Picks | None:
        wanted = sum(self._prepare(at, claim) for at, claim in enumerate(self.claims))
        _allow_frames(_FRAMES_PER_DEVICE * (wanted + MAX_RESULTS * len(self.claims)) + 200)
        if self._next_request(0, 0):
            return tuple(map(tuple, self.picks))
        if any(pool.invalid for pool in self.pools):
            raise NodeAllocationFailed("invalid resource pools were encountered")
        return None

    def shortfalls(self) -> list[Shortfall]:
        """Of alternatives all are short, or none is."""
        for at, claim in enumerate(self.claims):
            self._prepare(at, claim)
        found: list[Shortfall] = []
        for (claim_at, _), alternatives in self.requests.items():
            short = [self._shortfall(claim_at, data) for data in alternatives]
            if all(each.fitting < each.wanted for each in short):
                found += short
        return found

    def _shortfall(self, claim_at: int, data: _RequestData) -> Shortfall:
        """Counts each device of the class at the first thing that it lacks."""
        request, named = data.request, data.device_class
        counts, mismatches = Counter[str](), Counter[str]()
        slices = [each for pool in self.pools if pool.usable for each in pool.slices]
        for home, device in [(each, device) for each in slices for device in each.spec.devices]:
            if not self.inventory.selected(named.spec.selectors, home, device, f"class {named.metadata.name}"):
                continue
            counts["devices"] += 1
            missed = [each for each in request.selectors if not self.inventory.selected([each], home, device, "")]
            if missed:
                mismatches.update(each.cel.expression for each in missed if each.cel is not None)
            elif self._is_selectable(claim_at, data, home, device):
                counts[self._first_lack(claim_at, data, home, device)] += 1
        return Shortfall(
            key_of(self.claims[claim_at]),
            request.full_name,
            named.metadata.name,
            # A request for all devices wants one at least.
            max(data.wanted, 1),
            counts["fitting"],
            counts["devices"],
            dict(mismatches),
            counts["in_use"],
            counts["tainted"],
            counts["capacity"],
        )

    def _first_lack(self, claim_at: int, data: _RequestData, home: ResourceSlice, device: Device) -> str:
        if not data.request.admin and self._in_use(device_id(home, device)):
            return "in_use"
        if self.features.taints and taint_prevents_allocation(device.taints, data.request.tolerations):
            return "tainted"
        return "fitting" if self._has_capacity(claim_at, data, home, device) else "capacity"

    # Validation

    def _prepare(self, claim_at: int, claim: ResourceClaim) -> int:
        """Validates the claim and returns the least number of devices that it needs."""
        least = 0
        for request_at, request in enumerate(claim.spec.devices.requests):
            views = views_of(request)
            self._check_features(claim, request.name, views)
            data = [self._request_data(claim_at, view) for view in views]
            self.requests[claim_at, request_at] = data
            least += min(each.wanted for each in data)
        if least > MAX_RESULTS:
            raise AllocationError(
                f"claim {key_of(claim)}: number of requested devices {least} exceeds the claim limit of {MAX_RESULTS}"
            )
        constraints: list[ClaimConstraint] = []
        for at, each in enumerate(claim.spec.devices.constraints):
            constraint = constraint_of(each, self.rules, lists=self.features.list_attributes)
            if constraint is None:
                raise AllocationError(
                    f"claim {key_of(claim)}, constraint #{at}: empty constraint (unsupported constraint type?)"
                )
            constraints.append(constraint)
        self.constraints.append(constraints)
        return least

    def _check_features(self, claim: ResourceClaim, name: str, views: Sequence[RequestView]) -> None:
        if not self.features.prioritized_list and views[0].parent:
            raise AllocationError(
                f"claim {key_of(claim)}, request {name}: has subrequests, "
                "but the DRAPrioritizedList feature is disabled"
            )
        for view in views:
            if not self.features.consumable and view.has_capacity:
                what = "subrequest" if view.parent else "request"
                raise AllocationError(
                    f"claim {key_of(claim)}, {what} {view.name}: has capacity requests, "
                    "but the DRAConsumableCapacity feature is disabled"
                )

    def _request_data(self, claim_at: int, view: RequestView) -> _RequestData:
        """validateDeviceRequest."""
        whose = f"claim {key_of(self.claims[claim_at])}, request {view.name}"
        for at, selector in enumerate(view.selectors):
            if selector.cel is None:
                raise AllocationError(f"{whose}, selector #{at}: CEL expression empty (unsupported selector type?)")
        if not self.features.admin_access and view.admin_access is not None:
            raise AllocationError(f"{whose}: admin access is requested, but the feature is disabled")
        if not view.device_class_name:
            raise AllocationError(f"{whose}: missing device class name (unsupported request type?)")
        device_class = self.inventory.device_class(view.device_class_name)
        if device_class is None:
            name = view.device_class_name
            raise AllocationError(
                f'{whose}: could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
            )
        data = _RequestData(view, device_class)
        if view.mode == EXACT_COUNT:
            data.wanted = view.count
        elif view.mode == ALL:
            data.everything = self._everything(claim_at, data, whose)
            data.wanted = len(data.everything)
        else:
            raise AllocationError(f"{whose}: unsupported count mode {view.mode}")
        return data

    def _everything(self, claim_at: int, data: _RequestData, whose: str) -> list[_Candidate]:
        """The devices that a request for all devices selects, in use or not."""
        found: list[_Candidate] = []
        for pool in self.pools:
            if not pool.usable:
                state = "invalid" if pool.invalid else "being updated"
                raise AllocationError(
                    f"{whose}: asks for all devices, but resource pool {pool.full_name} is currently {state}"
                )
            for home in pool.slices:
                for device in home.spec.devices:
                    if self._selects_all(claim_at, data, home, device):
                        found.append(_Candidate(device, home, pool, device_id(home, device)))
        return found

    def _selects_all(self, claim_at: int, data: _RequestData, home: ResourceSlice, device: Device) -> bool:
        """Whether a request for all devices is about this one. Since 1.37 a device without capacity left counts, and
        is refused when it is taken."""
        if not self._is_selectable(claim_at, data, home, device):
            return False
        if not self.rules.all_includes_full_devices:
            return self._has_capacity(claim_at, data, home, device)
        if not self.features.consumable:
            return True
        try:
            return fits(device, data.request.capacity, counting=self.counting)
        except UncountableCapacity as problem:
            raise self._capacity_error(claim_at, data, device.name, problem) from None

    # The search

    def _next_request(self, claim_at: int, request_at: int) -> bool:
        """allocateOne between requests: continues with the next request or claim, or ends the search."""
        self._step()
        if claim_at >= len(self.claims):
            return True
        data = self.requests.get((claim_at, request_at))
        if data is None:
            return self._next_request(claim_at + 1, 0)
        if not data[0].request.parent:
            return self._next_device(claim_at, request_at, data[0], 0, _START)
        return self._first_alternative(claim_at, request_at, data)

    def _first_alternative(self, claim_at: int, request_at: int, alternatives: Sequence[_RequestData]) -> bool:
        """Tries the alternatives of a request in order. _TooManyResults if all of them are too large."""
        all_too_large = True
        for data in alternatives:
            try:
                if self._next_device(claim_at, request_at, data, 0, _START):
                    return True
            except _TooManyResults:
                continue
            all_too_large = False
        if all_too_large:
            raise _TooManyResults
        return False

    def _next_device(self, claim_at: int, request_at: int, data: _RequestData, count: int, start: Location) -> bool:
        """allocateOne within a request of which `count` devices are picked."""
        self._step()
        if data.request.mode == ALL and not data.everything:
            return False
        if count >= data.wanted:
            return self._next_request(claim_at, request_at + 1)
        if len(self.picks[claim_at]) + data.wanted - count > MAX_RESULTS:
            raise _TooManyResults
        if data.request.mode == ALL:
            candidate = data.everything[count]
            return self._try(claim_at, request_at, data, count, candidate, _START)
        return self._try_each(claim_at, request_at, data, count, start)

    def _try_each(self, claim_at: int, request_at: int, data: _RequestData, count: int, start: Location) -> bool:
        """Tries devices from `start` on, so that no set of devices is tried in several orders."""
        for pool_at in range(start[0], len(self.pools)):
            pool = self.pools[pool_at]
            if not pool.usable:
                continue
            same_pool = pool_at == start[0]
            for slice_at in range(start[1] if same_pool else 0, len(pool.slices)):
                home = pool.slices[slice_at]
                first = start[2] if same_pool and slice_at == start[1] else 0
                for device_at in range(first, len(home.spec.devices)):
                    device = home.spec.devices[device_at]
                    candidate = _Candidate(device, home, pool, (pool.driver, pool.name, device.name))
                    if not self._is_candidate(claim_at, data, candidate):
                        continue
                    following = (pool_at, slice_at, device_at + 1)
                    if self._try(claim_at, request_at, data, count, candidate, following):
                        return True
        return False

    def _is_candidate(self, claim_at: int, data: _RequestData, candidate: _Candidate) -> bool:
        taken = self._is_taken(claim_at, data.request, candidate.id)
        return not taken and self._suits(claim_at, data, candidate.slice, candidate.device)

    def _try(
        self,
        claim_at: int,
        request_at: int,
        data: _RequestData,
        count: int,
        candidate: _Candidate,
        following: Location,
    ) -> bool:
        """Takes the device and continues; gives it back where no solution follows."""
        if not self._take(claim_at, data, candidate):
            return False
        try:
            done = self._next_device(claim_at, request_at, data, count + 1, following)
        except _TooManyResults:
            self._give_back(claim_at, data, candidate)
            raise
        if not done:
            self._give_back(claim_at, data, candidate)
        return done

    def _step(self) -> None:
        self.steps += 1
        if self.steps % _STEPS_PER_LOOK_AT_THE_CLOCK == 0 and time.monotonic() > self.deadline:
            raise AllocationTimeout

    # One device

    def _suits(self, claim_at: int, data: _RequestData, home: ResourceSlice, device: Device) -> bool:
        return self._is_selectable(claim_at, data, home, device) and self._has_capacity(claim_at, data, home, device)

    def _is_selectable(self, claim_at: int, data: _RequestData, home: ResourceSlice, device: Device) -> bool:
        if not self.features.binding_conditions and device.binding_conditions:
            return False
        key = (id(data.request), id(device))
        found = self.selectable.get(key)
        if found is None:
            found = self.selectable[key] = self._selects(claim_at, data, home, device)
        return found

    def _selects(self, claim_at: int, data: _RequestData, home: ResourceSlice, device: Device) -> bool:
        named, whose = data.device_class, f"claim {key_of(self.claims[claim_at])}"
        return (
            self.inventory.selected(named.spec.selectors, home, device, f"class {named.metadata.name}")
            and self.inventory.selected(data.request.selectors, home, device, whose)
            and (not home.spec.per_device_node_selection or self.inventory.pools().device_reaches(device, self.row))
        )

    def _has_capacity(self, claim_at: int, data: _RequestData, home: ResourceSlice, device: Device) -> bool:
        if not self.features.consumable:
            return True
        device_key = device_id(home, device)
        allocated = self.allocated.capacity.get(device_key, {})
        allocating = self.allocating_capacity.get(device_key, {})
        try:
            return fits(device, data.request.capacity, allocated, allocating, counting=self.counting)
        except UncountableCapacity as problem:
            raise self._capacity_error(claim_at, data, "/".join(device_key), problem) from None

    def _capacity_error(
        self, claim_at: int, data: _RequestData, device: str, problem: UncountableCapacity
    ) -> AllocationError:
        whose = f"claim {key_of(self.claims[claim_at])}, request {data.request.name}"
        return AllocationError(f"{whose}: checking capacity for device {device}: {problem}")

    def _in_use(self, device: DeviceID) -> bool:
        return device in self.allocated.devices or bool(self.allocating.get(device))

    def _is_taken(self, claim_at: int, request: RequestView, device: DeviceID) -> bool:
        """With admin access a claim may have the devices of others, but none of them twice."""
        return claim_at in self.allocating.get(device, ()) if request.admin else self._in_use(device)

    def _take(self, claim_at: int, data: _RequestData, candidate: _Candidate) -> bool:
        """allocateDevice, in its order: before 1.36.3 a refusal takes back only a part of what was taken."""
        request, device = data.request, candidate.device
        shared = self.features.consumable and bool(device.allow_multiple_allocations)
        if self._is_taken(claim_at, request, candidate.id):
            return False
        if device.consumes_counters and not self.features.partitionable:
            return False
        charged = self._needs_counters(candidate, shared)
        if charged and not self.counters.take(candidate.pool, device):
            return False
        if self.features.taints and taint_prevents_allocation(device.taints, request.tolerations):
            return self._refuse(candidate, charged)
        if not self._add_to_constraints(claim_at, request, candidate):
            return self._refuse(candidate, charged)
        if not self._has_capacity(claim_at, data, candidate.slice, device):
            if self.rules.refused_devices_are_forgotten:
                self._remove_from_constraints(claim_at, request)
            return self._refuse(candidate, charged)
        consumed, was_shared = None, candidate.id in self.allocating_capacity
        if not shared:
            self.allocating[candidate.id].add(claim_at)
        else:
            consumed = consumed_capacity(device, request.capacity, counting=self.counting)
            add_capacity(self.allocating_capacity.setdefault(candidate.id, {}), consumed)
        self.picks[claim_at].append(Pick(request, device, candidate.slice, consumed, charged, was_shared))
        return True

    def _needs_counters(self, candidate: _Candidate, shared: bool) -> bool:
        """Whether the device takes shared counters: not if another share of the device took them."""
        if not candidate.device.consumes_counters:
            return False
        if not shared:
            return True
        persisted = candidate.id in self.allocated.capacity
        if self.rules.shares_hold_counters:
            persisted = persisted or candidate.id in self.allocated.shares
        return not persisted and candidate.id not in self.allocating_capacity

    def _refuse(self, candidate: _Candidate, charged: bool) -> bool:
        """Refuse a device that has taken its counters. Before 1.36.3 they stay taken."""
        if charged and self.rules.refused_devices_are_forgotten:
            self.counters.give_back(candidate.pool, candidate.device)
        return False

    def _add_to_constraints(self, claim_at: int, request: RequestView, candidate: _Candidate) -> bool:
        constraints, driver = self.constraints[claim_at], candidate.id[0]
        for at, constraint in enumerate(constraints):
            if constraint.add(request, candidate.device, driver):
                continue
            if request.mode == ALL:
                raise AllocationError(
                    f"claim {key_of(self.claims[claim_at])}, request {request.name}: cannot add device "
                    f"{'/'.join(candidate.id)} because a claim constraint would not be satisfied"
                )
            for earlier in constraints[:at]:
                earlier.remove(request)
            return False
        return True

    def _remove_from_constraints(self, claim_at: int, request: RequestView) -> None:
        for constraint in self.constraints[claim_at]:
            constraint.remove(request)

    def _give_back(self, claim_at: int, data: _RequestData, candidate: _Candidate) -> None:
        self._remove_from_constraints(claim_at, data.request)
        self.allocating[candidate.id].discard(claim_at)
        pick = self.picks[claim_at].pop()
        if pick.consumed is not None:
            self._give_back_capacity(candidate.id, pick)
        if pick.charged and (pick.consumed is None or self.rules.refused_devices_are_forgotten):
            self.counters.give_back(candidate.pool, candidate.device)

    def _give_back_capacity(self, device: DeviceID, pick: Pick) -> None:
        """Gives capacity back. A device without capacity in use is no longer in use, unless this search gave out
        another share of it; before 1.36.3 that share was forgotten, too."""
        taken = self.allocating_capacity[device]
        add_capacity(taken, {name: -amount for name, amount in (pick.consumed or {}).items()})
        if self.rules.refused_devices_are_forgotten:
            if not any(taken.values()) and not pick.was_shared:
                del self.allocating_capacity[device]
        elif pick.consumed and not any(taken.values()):
            del self.allocating_capacity[device]


def _allow_frames(frames: int) -> None:
    """Raises Python's recursion limit, since the search nests once or more per device."""
    if sys.getrecursionlimit() < frames + 1000:
        sys.setrecursionlimit(frames + 1000)
