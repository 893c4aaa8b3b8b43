"""One pod's claims on node after node, for the plugin's Filter: each distinct search runs once.

Around the search: the devices that were picked become the claim's new status, claims that the pods of a group share are
reserved for the PodGroup (gate DRAWorkloadResourceClaims), and devices may take of the node's own cpu and memory
(nodeallocatabledynamicresources.go, gate DRANodeAllocatableResources).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import (
    NodeAllocatableResourceClaimStatus,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
)
from ksched_cli.api.dynamic_resources import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceClass,
    DeviceRequest,
    DeviceRequestAllocationResult,
    NodeAllocatableResourceMapping,
    ResourceClaim,
    ResourceClaimConsumerReference,
    consumer_group,
    consumer_pod,
    is_controlled_by_group,
    is_reserved_for,
    unreserved,
)
from ksched_cli.api.pod_resources import requests_of, requests_over_pod_level
from ksched_cli.api.quantity import parse_quantity, quantity_of, value
from ksched_cli.api.workloads import PodGroup, PodGroupResourceClaim
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.pod_groups import GroupKey, PodGroups
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.status import Code, Status, error, unresolvable
from ksched_cli.plugins.lib.devices.claims import (
    AllocationError,
    AllocationTimeout,
    ClaimError,
    ClaimTracker,
    DeviceReasons,
    ExtendedResourceIndex,
    NodeAllocationFailed,
    Pick,
    claim_name,
    lacking,
    views_of,
)
from ksched_cli.plugins.lib.devices.inventory import Inventory, Pool, PoolIndex
from ksched_cli.plugins.lib.spec import shortage

if TYPE_CHECKING:
    from ksched_cli.plugins.lib.devices.allocator import Picks, Shortfall

# resourceapi.FirstAvailableDeviceRequestMaxSize
MAX_ALTERNATIVES = 8


def allocation_of(picks: Sequence[Pick], claim: ResourceClaim, node: str) -> AllocationResult:
    results = tuple(_result(pick, f"{claim.metadata.uid}-{at}") for at, pick in enumerate(picks))
    return AllocationResult(DeviceAllocationResult(results), node_selector(picks, claim, node))


def _result(pick: Pick, share: str) -> DeviceRequestAllocationResult:
    shared = pick.consumed is not None
    return DeviceRequestAllocationResult(
        request=pick.request.full_name,
        driver=pick.slice.spec.driver,
        pool=pick.slice.spec.pool.name,
        device=pick.device.name,
        admin_access=True if pick.request.admin else None,
        tolerations=pick.request.tolerations,
        share_id=share if shared else None,
        consumed_capacity={name: quantity_of(amount) for name, amount in (pick.consumed or {}).items()},
        binding_conditions=pick.device.binding_conditions,
        binding_failure_conditions=pick.device.binding_failure_conditions,
    )


def node_selector(picks: Iterable[Pick], claim: ResourceClaim, node: str) -> NodeSelector | None:
    """createNodeSelector: where the devices can be used; None for everywhere."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for pick in picks:
        where = pick.device if pick.slice.spec.per_device_node_selection else pick.slice.spec
        if where.node_name is not None or pick.device.binds_to_node:
            only = NodeSelectorRequirement("metadata.name", "In", (node,))
            return NodeSelector((NodeSelectorTerm(match_fields=(only,)),))
        terms = where.node_selector.node_selector_terms if where.node_selector is not None else ()
        if len(terms) > 1:
            raise AllocationError(
                f"create NodeSelector for claim {claim.metadata.name}: "
                f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            )
        for term in terms:
            _add_new(term.match_fields, fields)
            _add_new(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


def _add_new(wanted: Iterable[NodeSelectorRequirement], into: list[NodeSelectorRequirement]) -> None:
    for each in wanted:
        if not any(_same(each, other) for other in into):
            into.append(each)


def _same(left: NodeSelectorRequirement, right: NodeSelectorRequirement) -> bool:
    return (left.key, left.operator, set(left.values)) == (right.key, right.operator, set(right.values))


def alternatives_score(claim: ResourceClaim, granted: Iterable[str]) -> int:
    """computeScore for one claim: 8 for a first choice, 7 for a second, and so on. `granted` are the names of the
    requests that got devices, alternatives as request/alternative."""
    names = set(granted)
    return sum(
        MAX_ALTERNATIVES - at
        for request in claim.spec.devices.requests
        for at, alternative in enumerate(request.first_available)
        if request.exactly is None and f"{request.name}/{alternative.name}" in names
    )


def binding_failed(claim: ResourceClaim) -> bool:
    """isClaimReadyForBinding's error: a driver reports that a device cannot be bound. No timeout is modelled."""
    results = claim.status.allocation.devices.results if claim.status.allocation else ()
    for result in results:
        if not result.binding_conditions:
            continue
        conditions = _conditions_of(claim, result)
        if conditions is None:
            return False
        if any(conditions.get(each) == "True" for each in result.binding_failure_conditions):
            return True
        if any(conditions.get(each) != "True" for each in result.binding_conditions):
            return False
    return False


def _conditions_of(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> dict[str, str] | None:
    for device in claim.status.devices:
        if (device.driver, device.pool, device.device) == (result.driver, result.pool, result.device):
            return {condition.type: condition.status for condition in device.conditions}
    return None


ClaimStatuses = tuple[NodeAllocatableResourceClaimStatus, ...]

_ALWAYS_COUNTED = ("cpu", "memory", "ephemeral-storage")
_HUGEPAGES = "hugepages-"


class TakenDevice(NamedTuple):
    """A device of an allocation. `consumed` is None where the device is not shared."""

    pool: str
    name: str
    consumed: Mapping[str, Fraction] | None


# The claims that a pod's cycle allocates, by key, each with its devices.
TakenDevices = Mapping[str, tuple[ResourceClaim, Sequence[TakenDevice]]]


def picked(picks: Iterable[Pick]) -> list[TakenDevice]:
    return [TakenDevice(each.slice.spec.pool.name, each.device.name, each.consumed) for each in picks]


def held(claim: ResourceClaim) -> list[TakenDevice]:
    """The devices of an allocated claim."""
    results = claim.status.allocation.devices.results if claim.status.allocation else ()
    return [
        TakenDevice(
            each.pool,
            each.device,
            None
            if each.share_id is None
            else {name: parse_quantity(amount) for name, amount in each.consumed_capacity.items()},
        )
        for each in results
    ]


class NodeResources:
    """Counts devices that stand for resources of the node, and checks that the node has as much free."""

    def __init__(self, cluster: Cluster, inventory: Inventory) -> None:
        self._cluster = cluster
        self._inventory = inventory
        self._indexed: PoolIndex | None = None
        self._devices: dict[tuple[str, str], Device] = {}

    def sharing_refusal(self, claim: ResourceClaim, info: PodInfo, row: int) -> Status | None:
        """validateNodeAllocatableDRAClaimSharing: an allocated claim may count for one pod of the node."""
        name = claim.metadata.name
        infos = self._cluster.pods.infos
        users = {
            other_info.uid
            for other_info in (infos[other] for other in self._cluster.usage.pods[row])
            if other_info.namespace == info.namespace
            and any(
                each.resource_claim_name == name
                for each in other_info.pod.status.node_allocatable_resource_claim_statuses
            )
        }
        if len(users) > 1:
            return unresolvable(DeviceReasons.used_by_several(claim=name))
        return unresolvable(DeviceReasons.used_by_other(claim=name)) if users - {info.uid} else None

    def check(self, pod: Pod, taken: TakenDevices, row: int) -> ClaimStatuses | Status:
        """calculateAndCheckNodeAllocatableResources: the entries for the pod's status, or why the node is refused."""
        claimed = self._claimed(pod, taken)
        if claimed is None:
            return ()
        if isinstance(claimed, Status):
            return claimed
        lacking = self._lacking(claimed, row)
        if not lacking:
            return claimed.status.node_allocatable_resource_claim_statuses
        hopeless = any(each["asked"] > each["allocatable"] for each in lacking.values())
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
        return Status(code, tuple(DeviceReasons.node_lacks(resource=name) for name in lacking))

    def _claimed(self, pod: Pod, taken: TakenDevices) -> Pod | Status | None:
        """getPodNodeAllocatableResourceFootprint: the pod with the entries in its status; None where none of the
        devices stands for resources of the node."""
        mapped = {key: each for key, each in taken.items() if any(map(self._is_mapped, each[1]))}
        if not mapped:
            return None
        try:
            statuses = self._statuses(pod, mapped)
        except AllocationError as problem:
            return error(str(problem))
        for each in statuses:
            if not each.containers:
                return unresolvable(DeviceReasons.in_no_container(claim=each.resource_claim_name))
        claimed = replace(pod, status=replace(pod.status, node_allocatable_resource_claim_statuses=statuses))
        # Go checks the resources in the order of a map.
        for name in requests_over_pod_level(claimed):
            return unresolvable(DeviceReasons.over_pod_level(resource=name))
        return claimed

    def shortages(self, pod: Pod, taken: TakenDevices, row: int) -> dict[str, dict[str, Any]]:
        """The figures behind a refusal of `check` for what the node lacks; none where it refuses for another reason."""
        claimed = self._claimed(pod, taken)
        return self._lacking(claimed, row) if isinstance(claimed, Pod) else {}

    def _lacking(self, claimed: Pod, row: int) -> dict[str, dict[str, Any]]:
        """nodeFitsResources: of each resource that is short how much is requested, used and there. Huge pages come by
        name, which Go has in the order of a map."""
        demand = requests_of(claimed, use_status=False, with_claims=True)
        names = [name for name in _ALWAYS_COUNTED if demand.get(name, 0) > 0]
        names += sorted(name for name in demand if name.startswith(_HUGEPAGES))
        short: dict[str, dict[str, Any]] = {}
        for name in names:
            resource, requested = self._cluster.resources.find(name), demand[name]
            there = used = 0
            if resource is not None and resource < len(self._cluster.usage.requested):
                there = int(self._cluster.nodes.allocatable[resource, row])
                used = int(self._cluster.usage.requested[resource, row])
            if requested > there - used:
                short[name] = shortage(requested, used, there)
        return short

    def _is_mapped(self, taken: TakenDevice) -> bool:
        device = self._device(taken)
        return device is not None and bool(device.node_allocatable_resource_mappings)

    def _device(self, taken: TakenDevice) -> Device | None:
        """getDeviceFromManager, which ignores the driver. Of several slices with such a device the first by name counts
        here, and any in Go."""
        pools = self._inventory.pools()
        if self._indexed is not pools:
            self._indexed, self._devices = pools, {}
            for home in pools.slices:
                for device in home.spec.devices:
                    self._devices.setdefault((home.spec.pool.name, device.name), device)
        return self._devices.get((taken.pool, taken.name))

    def _statuses(self, pod: Pod, mapped: TakenDevices) -> ClaimStatuses:
        """buildNodeAllocatableDRAInfo: one entry per claim, by name."""
        amounts = {
            key: self._amounts(f"{pod.metadata.namespace}/{claim.metadata.name}", devices)
            for key, (claim, devices) in mapped.items()
        }
        users: dict[str, list[str]] = {key: [] for key, found in amounts.items() if found}
        keys = {
            reference.name: f"{pod.metadata.namespace}/{claim_name(pod, reference)[0]}"
            for reference in pod.spec.resource_claims
        }
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            for each in container.resources.claims:
                users.get(keys.get(each.name, ""), []).append(container.name)
        entries = (
            NodeAllocatableResourceClaimStatus(
                mapped[key][0].metadata.name,
                tuple(containers),
                {name: quantity_of(amount) for name, amount in amounts[key].items()},
            )
            for key, containers in users.items()
        )
        return tuple(sorted(entries, key=lambda entry: entry.resource_claim_name))

    def _amounts(self, claim: str, devices: Sequence[TakenDevice]) -> dict[str, Fraction]:
        total: dict[str, Fraction] = {}
        for taken in devices:
            where = f"claim {claim}, device {taken.name}"
            device = self._device(taken)
            if device is None:
                raise AllocationError(f"{where}: device {taken.name} not found in pool {taken.pool}")
            for name, mapping in sorted(device.node_allocatable_resource_mappings.items()):
                amount = _amount(mapping, taken, f"{where}: ", name)
                if amount is not None:
                    total[name] = total.get(name, Fraction(0)) + amount
        return total


def _amount(mapping: NodeAllocatableResourceMapping, taken: TakenDevice, where: str, resource: str) -> Fraction | None:
    """What the device takes of the resource; None where the allocation consumes nothing of the mapped capacity."""
    multiplier = parse_quantity(mapping.allocation_multiplier)
    if not mapping.capacity_key:
        return multiplier
    if taken.consumed is None:
        raise AllocationError(
            f"{where}ConsumedCapacity is nil, but Capacity key '{mapping.capacity_key}' is set in "
            f"NodeAllocatableResourceMappings for resource {resource}"
        )
    consumed = taken.consumed.get(mapping.capacity_key)
    return None if consumed is None else consumed * multiplier


class GroupClaims:
    """The bindings of one cluster; where it is not `enabled`, every claim is reserved for the pod."""

    def __init__(self, catalog: Catalog, *, enabled: bool) -> None:
        self._catalog = catalog
        self._enabled = enabled

    def group_of(self, pod: Pod) -> str:
        """The name of the pod group whose claims the pod may use, or an empty string."""
        named = pod.spec.scheduling_group if self._enabled else None
        return (named.pod_group_name or "") if named else ""

    def check(self, pod: Pod) -> None:
        """podResourceClaimBindings: ClaimError if the group of a pod with claims does not exist."""
        if pod.spec.resource_claims:
            self._get(pod)

    def _get(self, pod: Pod) -> PodGroup | None:
        name = self.group_of(pod)
        if not name:
            return None
        group = self._catalog.get(PodGroup, name, pod.metadata.namespace)
        if group is None:
            raise ClaimError(DeviceReasons.group_missing(group=name))
        return group

    def consumer(self, pod: Pod, claim: ResourceClaim) -> ResourceClaimConsumerReference:
        """resourceclaim.BindTo: the group if it lists the claim exactly as the pod does, else the pod."""
        group = self._get(pod)
        for reference in pod.spec.resource_claims if group else ():
            same = PodGroupResourceClaim(
                reference.name, reference.resource_claim_name, reference.resource_claim_template_name
            )
            if group and same in group.spec.resource_claims and claim_name(pod, reference)[0] == claim.metadata.name:
                return consumer_group(group.metadata.name, group.metadata.uid)
        return consumer_pod(pod)

    def unreserve(self, pod: Pod, members: PodGroups) -> bool:
        """unreservePodGroupClaims: whether a claim of a group without a pod on a node was taken from the group."""
        name = self.group_of(pod)
        if not name or members.bound(GroupKey(pod.metadata.namespace, name)):
            return False
        for claim, uid in self._claims_of_group(pod):
            if claim.status.allocation is not None and is_reserved_for(claim, pod, name):
                self._catalog.put(unreserved(claim, uid))
                return True
        return False

    def _claims_of_group(self, pod: Pod) -> Iterator[tuple[ResourceClaim, str]]:
        """The claims of the pod's group that exist, each with the uid of the group."""
        group = self._get(pod)
        if group is None:
            return
        made = {each.name: each.resource_claim_name for each in group.status.resource_claim_statuses}
        for reference in group.spec.resource_claims:
            name = reference.resource_claim_name or made.get(reference.name)
            claim = self._catalog.get(ResourceClaim, name, group.metadata.namespace) if name else None
            if claim is None:
                continue
            if reference.resource_claim_name is not None or is_controlled_by_group(claim, group.metadata.name):
                yield claim, group.metadata.uid


CANNOT_ALLOCATE = unresolvable(DeviceReasons.cannot_allocate())


class NodeAllocation(Struct, frozen=True, eq=False):
    """nodeAllocation: one entry of `picks` per claim that has no allocation yet."""

    picks: Picks
    extended_requests: tuple[DeviceRequest, ...]


class _Question(Struct, frozen=True, eq=False):
    """The claims to allocate on nodes that lack the same extended resources."""

    claims: Sequence[ResourceClaim]
    extended_requests: tuple[DeviceRequest, ...]
    known: dict[int, tuple[int, NodeAllocation | Status]]


class ExtendedWish(Struct, frozen=True, eq=False):
    """The pod's device-backed resources, and the claim that stands for them."""

    index: ExtendedResourceIndex
    pod: Pod
    amounts: Mapping[str, int]
    claim: ResourceClaim


class ClaimMemory:
    """Results of earlier attempts for claims with equal specs, until claims, classes or pools change."""

    def __init__(self, inventory: Inventory, tracker: ClaimTracker) -> None:
        self.inventory = inventory
        self.tracker = tracker
        self._epoch = -1
        # Held on to, so that no other class comes to have the same id.
        self._classes: dict[int, DeviceClass | None] = {}
        self._pools: PoolIndex | None = None
        self._answers: dict[tuple[Any, ...], dict[int, tuple[int, NodeAllocation | Status]]] = {}

    def of(self, claims: Sequence[ResourceClaim]) -> dict[int, tuple[int, NodeAllocation | Status]]:
        """Known results for the claims, each with the value of `taken_from` at that time."""
        self.tracker.allocated()
        if self._epoch != self.tracker.epoch or self._pools is not self.inventory.pools():
            self._answers.clear()
            self._epoch, self._pools = self.tracker.epoch, self.inventory.pools()
        wording = msgspec.json.encode([claim.spec for claim in claims])
        names = {name for claim in claims for name in _class_names(claim)}
        classes = [self.inventory.device_class(name) for name in sorted(names)]
        self._classes.update((id(each), each) for each in classes)
        return self._answers.setdefault((wording, *map(id, classes)), {})

    def taken_from(self, pools: tuple[Pool, ...]) -> int:
        """A number that grows with every device that is taken from the pools."""
        return sum(self.tracker.changes_in(pool.driver, pool.name) for pool in pools)


def _class_names(claim: ResourceClaim) -> Iterator[str]:
    for request in claim.spec.devices.requests:
        for view in views_of(request):
            yield view.device_class_name


class NodeSearch:
    """`claims` are all of the pod's, the one for extended resources included."""

    def __init__(
        self,
        cluster: Cluster,
        memory: ClaimMemory,
        claims: tuple[ResourceClaim, ...],
        wish: ExtendedWish | None,
        timeout: float,
    ) -> None:
        # Few clusters have claims.
        from ksched_cli.plugins.lib.devices.allocator import Allocator

        self._cluster = cluster
        self._memory = memory
        self._allocator = Allocator(memory.inventory, memory.tracker.allocated())
        self._to_allocate = [claim for claim in claims if claim.status.allocation is None]
        self._only_extended = len(claims) == 1
        self._wish = wish
        self._timeout = timeout
        self._questions: dict[frozenset[str], _Question] = {}

    def of(self, row: int) -> NodeAllocation | Status | None:
        """The devices on the node, the status that rejects it, or None where nothing has to be allocated."""
        missing = self.missing(row)
        if not isinstance(missing, frozenset):
            return missing
        if not self._to_allocate:
            return None
        question = self._questions.get(missing)
        if question is None:
            question = self._questions[missing] = self._question(missing)
        return self._answer(row, question)

    def shortfalls(self, row: int) -> list[Shortfall] | None:
        """Which requests the node cannot meet by themselves; None where it does not lack devices, or where a selector
        fails that kube-scheduler did not come to."""
        missing = self.missing(row)
        if not isinstance(missing, frozenset) or self.of(row) is not CANNOT_ALLOCATE:
            return None
        try:
            return self._allocator.shortfalls(row, self._questions[missing].claims)
        except AllocationError:
            return None

    def missing(self, row: int) -> frozenset[str] | Status | None:
        """filterExtendedResources: the extended resources that devices of the node have to provide; a status where
        nothing provides them, None where the node provides all and the pod has no claims of its own."""
        if self._wish is None:
            return frozenset()
        if self._wish.claim.spec.devices.requests:
            return unresolvable(DeviceReasons.cannot_schedule_extended())
        wanted, allocatable = self._wish.amounts, self._cluster.nodes.objects[row].status.allocatable
        announced = {name: value(allocatable[name]) for name in wanted if name in allocatable}
        found = lacking(wanted, announced, self._wish.index)
        if found is None:
            return unresolvable(DeviceReasons.cannot_fit())
        return None if not found and self._only_extended else frozenset(found)

    def _question(self, missing: frozenset[str]) -> _Question:
        if self._wish is None:
            return _Question(self._to_allocate, (), self._memory.of(self._to_allocate))
        requests = self._wish.index.requests(self._wish.pod, missing)
        claims = [_with_requests(each, requests) if each is self._wish.claim else each for each in self._to_allocate]
        return _Question(claims, requests, self._memory.of(claims))

    def _answer(self, row: int, question: _Question) -> NodeAllocation | Status:
        """The result for the node. Nodes with the same pools share it, unless devices select their nodes."""
        index = self._allocator.inventory.pools()
        try:
            pools = index.pools_of(row)
        except AllocationError as problem:
            return error(str(problem))
        key = -1 - row if index.is_personal(pools) else id(pools)
        taken = self._memory.taken_from(pools)
        known = question.known.get(key)
        if known is not None and known[0] == taken:
            return known[1]
        answer = self._allocate(row, question)
        if not (isinstance(answer, Status) and answer.code is Code.ERROR):
            question.known[key] = taken, answer
        return answer

    def _allocate(self, row: int, question: _Question) -> NodeAllocation | Status:
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else math.inf
        try:
            picks = self._allocator.allocate(row, question.claims, deadline)
            for claim, picked in zip(question.claims, picks or (), strict=False):
                node_selector(picked, claim, "")
        except AllocationError as problem:
            return error(str(problem))
        except NodeAllocationFailed as problem:
            return unresolvable(DeviceReasons.failed_on_node(problem=problem))
        except AllocationTimeout:
            return error(f"node {self._cluster.nodes.names[row]}: timed out trying to allocate devices")
        return CANNOT_ALLOCATE if picks is None else NodeAllocation(picks, question.extended_requests)


def _with_requests(claim: ResourceClaim, requests: tuple[DeviceRequest, ...]) -> ResourceClaim:
    return replace(claim, spec=replace(claim.spec, devices=replace(claim.spec.devices, requests=requests)))


def instantiated(claim: ResourceClaim, requests: tuple[DeviceRequest, ...]) -> ResourceClaim:
    """The claim for extended resources as it would be created."""
    name = f"{claim.metadata.generate_name}ksched"
    metadata = replace(claim.metadata, name=name, uid=f"{claim.metadata.namespace}/{name}")
    return replace(_with_requests(claim, requests), metadata=metadata)
