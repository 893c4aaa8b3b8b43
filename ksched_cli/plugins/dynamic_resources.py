"""DynamicResources: whether and which devices a node has for the pod's resource claims (dynamicresources.go).

PreFilter checks the claims and what their requests ask for, Filter searches devices on each node, Reserve and
PreBind write the allocation into the claims. The search is in `lib/devices/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.dynamic_resources import (
    AllocationResult,
    DeviceRequest,
    ResourceClaim,
    deallocated,
    is_reserved_for,
    reserved,
    unreserved,
    with_allocation,
)
from ksched_cli.api.object_facts import is_same_pod
from ksched_cli.api.quantity import amount_text
from ksched_cli.api.selectors import SelectorError
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.cluster.pod_groups import PodGroups
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.model import seconds
from ksched_cli.config.plugin_args import DynamicResourcesArgs
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import CycleHandle, Handle
from ksched_cli.framework.interfaces import (
    Detail,
    FilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    ScorePlugin,
)
from ksched_cli.framework.reasons import Figures, RejectionGuide
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import default_normalize_score
from ksched_cli.framework.status import SKIP, SUCCESS, Code, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.devices.claims import (
    IN_MEMORY_NAME,
    ClaimError,
    ClaimTracker,
    DeviceReasons,
    ExtendedResourceIndex,
    key_of,
    pod_claims,
    special_claim,
)
from ksched_cli.plugins.lib.devices.inventory import Features, Inventory
from ksched_cli.plugins.lib.devices.node_search import (
    ClaimMemory,
    ClaimStatuses,
    ExtendedWish,
    GroupClaims,
    NodeAllocation,
    NodeResources,
    NodeSearch,
    TakenDevices,
    allocation_of,
    alternatives_score,
    binding_failed,
    held,
    instantiated,
    picked,
)
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import ALLOCATED_CLAIMS_ARE_SCORED
from ksched_cli.releases.plugin_names import NODE_RESOURCES_BALANCED_ALLOCATION, NODE_RESOURCES_FIT, SCHEDULING_GATES

# Gates that are about filter, queue and score.
_GATES = {
    "DRAAdminAccess": "Requests with adminAccess are allowed; without the gate, they are not.",
    "DRAConsumableCapacity": (
        "Devices can be shared by claims up to their capacity; without the gate, a device is for one claim."
    ),
    "DRADeviceBindingConditions": (
        "Devices that have to be made ready first are waited for, and those that failed are left out; without the "
        "gate, they are like the others."
    ),
    "DRADeviceTaintRules": "The taints of DeviceTaintRules count; without the gate, those that drivers publish alone.",
    "DRADeviceTaints": "Tainted devices want a toleration; without the gate, they are free.",
    "DRAFractionalCapacityRange": (
        "Ranges of capacity requests are counted in thousandths; without the gate, in whole units, rounded up."
    ),
    "DRAListTypeAttributes": (
        "Constraints compare attributes that are lists, and up to 1.36 selectors read them; without the gate, such a "
        "device satisfies no constraint."
    ),
    "DRAPartitionableDevices": (
        "Devices share counters, so that parts of one device can be given out; without the gate, such devices are "
        "passed over."
    ),
    "DRAPrioritizedList": (
        "Requests may list alternatives (firstAvailable); without the gate, such a claim cannot be allocated."
    ),
}
_WITH_RESOURCES = f"DynamicResources {NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}"


class DynamicResourcesRules(ReleaseRules, plugins="DynamicResources"):
    scores_allocated_claims = Rule(
        ALLOCATED_CLAIMS_ARE_SCORED,
        "score",
        "Nodes are scored for a pod that has allocated claims beside new ones; before, from 1.35 on, the cycle ended "
        "in an error.",
    )
    notes = (
        Rule(
            "1.26",
            "filter queue",
            "There is such a plugin, which is enabled where its gate is on; before, there was none.",
            plugins=f"DynamicResources {SCHEDULING_GATES}",
        ),
        Rule(
            "1.35",
            "score weight",
            "Scores, with weight 2, how early in its list (firstAvailable) the alternative stands that a node has "
            "devices for; before, it did not score.",
        ),
        Rule(
            "DRAExtendedResource",
            "filter queue score",
            "Devices stand in for extended resources that their class names; without the gate, a node has to announce "
            "those itself.",
            plugins=_WITH_RESOURCES,
        ),
        Rule(
            "DRANodeAllocatableResources",
            "filter preemption score",
            "Devices can stand for cpu, memory and other resources of their node: the amounts of a new claim are "
            "added to the pod's requests, have to fit, and count on the node from then on; without the gate, they do "
            "not.",
            plugins=_WITH_RESOURCES,
        ),
        Rule(
            "DRASchedulerFilterTimeout",
            "filter",
            "The search for devices has a time limit; without the gate, it has none.",
        ),
        Rule(
            "DRAWorkloadResourceClaims",
            "filter preemption",
            "A claim may belong to a pod group and be reserved for all its pods; without the gate, a claim that was "
            "made for a group is no claim of its pods.",
        ),
        Rule(
            "DynamicResourceAllocation",
            "filter preemption queue score",
            "Resource claims count: a pod goes where there are devices for it, and waits for claims that do not "
            "exist; without the gate, claims are passed over.",
        ),
        *(Rule(gate, "filter queue score", sentence) for gate, sentence in _GATES.items()),
    )


class ClaimState(Struct, eq=False):
    """stateData. `claims` are the pod's own, then the one for its extended resources if it needs one."""

    claims: tuple[ResourceClaim, ...] = ()
    extended: ResourceClaim | None = None
    # Per claim the nodes where its allocation can be used; None where it is not bound to any.
    available: tuple[BoolColumn | None, ...] = ()
    search: NodeSearch | None = None
    unavailable: set[int] = field(default_factory=set)
    allocations: dict[int, NodeAllocation] = field(default_factory=dict)
    # Per node what the pod's status would list of the node's own resources.
    node_claims: dict[int, ClaimStatuses] = field(default_factory=dict)
    # What Reserve has put in place of which claim; None where there was none before.
    pending: list[tuple[ResourceClaim, ResourceClaim | None]] = field(default_factory=list)
    created: ResourceClaim | None = None
    # Claims whose devices another pod of the group has taken in the same cycle. kube-scheduler does not check whether
    # the node reaches these devices.
    pending_elsewhere: set[str] = field(default_factory=set)

    @property
    def to_allocate(self) -> list[ResourceClaim]:
        return [claim for claim in self.claims if claim.status.allocation is None]

    def unavailable_at(self, row: int, *, checks_binding: bool) -> list[int]:
        """Indexes of the claims whose devices the node does not reach, or that could not be bound."""
        return [
            at
            for at, (claim, mask) in enumerate(zip(self.claims, self.available, strict=True))
            if (mask is not None and not mask[row])
            or (
                checks_binding
                and claim.status.allocation is not None
                and key_of(claim) not in self.pending_elsewhere
                and binding_failed(claim)
            )
        ]

    def in_order_of_go(self, made: Sequence[AllocationResult]) -> list[AllocationResult]:
        """The allocations as Reserve of kube-scheduler gives them to the claims of `to_allocate`. It puts those that
        pods of the group share behind the new ones and counts through all claims, so claims may swap allocations."""
        waiting = [
            claim for claim in self.claims if claim in self.to_allocate or key_of(claim) in self.pending_elsewhere
        ]
        shared = [claim.status.allocation for claim in waiting if claim.status.allocation is not None]
        given = zip(waiting, [*made, *shared], strict=True)
        return [allocation for claim, allocation in given if claim.status.allocation is None]

    def taken(self, found: NodeAllocation | None) -> TakenDevices:
        """The devices that the cycle gives to claims of the pod, with those that pods of the group share."""
        waiting = [claim for claim in self.to_allocate if found is not None]
        devices = {
            key_of(claim): (claim, picked(picks))
            for claim, picks in zip(waiting, found.picks if found else (), strict=True)
        }
        shared = [claim for claim in self.claims if key_of(claim) in self.pending_elsewhere]
        return {**devices, **{key_of(claim): (claim, held(claim)) for claim in shared}}

    def score_of(self, allocation: NodeAllocation) -> int:
        """computeScore."""
        total, found = 0, iter(allocation.picks)
        for claim in self.claims:
            if claim.status.allocation is not None:
                granted = [result.request for result in claim.status.allocation.devices.results]
            else:
                granted = [pick.request.full_name for pick in next(found, ())]
            total += alternatives_score(claim, granted)
        return total


def check_requests(claim: ResourceClaim, inventory: Inventory) -> Status | None:
    """What is wrong with the first bad request, or None."""
    refusals = (_check_request(claim, request, inventory) for request in claim.spec.devices.requests)
    return next((refusal for refusal in refusals if refusal is not None), None)


def _check_request(claim: ResourceClaim, request: DeviceRequest, inventory: Inventory) -> Status | None:
    if request.exactly is not None:
        return _check_class(request.exactly.device_class_name, request.name, inventory)
    where = {"namespace": claim.metadata.namespace, "claim": claim.metadata.name, "request": request.name}
    if not request.first_available:
        return unresolvable(DeviceReasons.unknown_request(**where))
    if not inventory.features.prioritized_list:
        return unresolvable(DeviceReasons.subrequests_off(**where))
    refusals = (
        _check_class(each.device_class_name, f"{request.name}/{each.name}", inventory)
        for each in request.first_available
    )
    return next((refusal for refusal in refusals if refusal is not None), None)


def _check_class(name: str, request: str, inventory: Inventory) -> Status | None:
    """validateDeviceClass."""
    if not name:
        return error(f"request {request}: unsupported request type")
    if inventory.device_class(name) is None:
        return unresolvable(DeviceReasons.class_missing(request=request, name=name))
    return None


class DevicesGuide(RejectionGuide):
    def describe(self, figures: Figures) -> str:
        claims, lacking = ", ".join(figures["claims"]), figures.get("lacking", {})
        if lacking:
            return f"{claims}: {'; '.join(_short(name, each) for name, each in lacking.items())}"
        free = f"{figures['free']} of {figures['devices']} devices free"
        if "deviceRequests" not in figures:
            return f"{claims}: {free}, none that fits"
        if not figures["deviceRequests"]:
            names = figures["deviceConstraints"]
            kept = f" with the constraint on {', '.join(names)}" if names else ""
            return f"{claims}: {free}, enough for each request, but not for all together{kept}"
        return "; ".join(map(_shortfall, figures["deviceRequests"]))

    describe_briefly = describe

    def shortage(self, figures: Figures) -> float:
        """The share of the wanted devices that cannot be had, and 1 more for each request that no empty node meets."""
        found = figures.get("deviceRequests", ())
        missing = (1 - each["fitting"] / each["wanted"] + (not _would_be_enough(each)) for each in found)
        return sum(missing, 0.0) if found else 1.0

    def ends_on_empty_node(self, figures: Figures) -> bool:
        lacking = figures.get("lacking", {}).values()
        # By request: whether one of its alternatives would have enough devices if no other pod had any.
        enough: dict[tuple[str, str], bool] = {}
        for each in figures.get("deviceRequests", ()):
            request = each["claim"], each["request"].partition("/")[0]
            enough[request] = enough.get(request, False) or _would_be_enough(each)
        return all(each["asked"] <= each["allocatable"] for each in lacking) and all(enough.values())


def _would_be_enough(figures: Any) -> bool:
    """Whether the node has enough devices for the request, those that other claims hold among them."""
    return bool(figures["wanted"] <= figures["fitting"] + figures["inUse"] + figures["capacity"])


def _short(name: str, figures: Any) -> str:
    needed, free = amount_text(name, figures["asked"]), amount_text(name, figures["free"])
    return f"the pod with its claims needs {name} {needed}, {free} free"


def _shortfall(figures: Any) -> str:
    """`request gpu of claim default/big needs 2 devices of class gpu, 1 of 4 fits (2 do not match X, 1 is in use)`."""
    wanted, found, whole = figures["wanted"], figures["fitting"], figures["devices"]
    text = f"request {figures['request']} of claim {figures['claim']} needs {wanted} device{'s' if wanted > 1 else ''}"
    text += f" of class {figures['deviceClass']}, "
    if not whole:
        return f"{text}the node has none"
    why = [
        f"{count} {'does' if count == 1 else 'do'} not match {expression}"
        for expression, count in figures["mismatches"].items()
    ]
    others = (figures["inUse"], "in use"), (figures["tainted"], "tainted"), (figures["capacity"], "too full")
    why += [f"{count} {'is' if count == 1 else 'are'} {what}" for count, what in others if count]
    text += f"{found} of {whole} fit{'s' if found == 1 else ''}"
    return f"{text} ({', '.join(why)})" if why else text


NOT_FOUND = "not found"
FILTER_TIMEOUT = "10s"


_NO_CLAIMS = PreFilterResult(ClaimState(), skip=True)

_NOTHING_TO_DEALLOCATE = unschedulable("no new claims to deallocate")


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin[ClaimState],
    FilterPlugin[ClaimState],
    PostFilterPlugin[ClaimState],
    ScorePlugin[ClaimState],
    ReservePlugin[ClaimState],
    PreBindPlugin[ClaimState],
):
    name = "DynamicResources"
    column = "Devices"
    since = "1.26"
    summary = "Allocates the devices that a pod's resource claims ask for."
    args: DynamicResourcesArgs
    points_since = (("score", "1.35"),)
    events = (
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE),
        ClusterEvent("ResourceClaim", Action.ADD | Action.UPDATE),
        ClusterEvent("Pod", Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM),
        ClusterEvent("DeviceClass", Action.ADD | Action.UPDATE),
        ClusterEvent("ResourceSlice", Action.ADD | Action.UPDATE),
    )

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        gates, catalog = handle.gates, handle.cluster.catalog
        self._enabled = gates.enabled("DynamicResourceAllocation")
        self._features = Features.of(gates)
        self._inventory = Inventory(handle.cluster, self._features)
        self._extended = ExtendedResourceIndex(catalog, enabled=gates.enabled("DRAExtendedResource"))
        self._tracker = ClaimTracker(catalog, shareable=self._features.consumable)
        self._members = PodGroups(handle.cluster, handle.scheduler_names)
        self._groups = GroupClaims(catalog, enabled=gates.enabled("DRAWorkloadResourceClaims"))
        # Claims that a pod group's cycle has allocated so far (podGroupStateData.pendingAllocations).
        self._shares_in_flight = gates.enabled("GenericWorkload")
        self._in_flight: set[str] = set()
        self._memory = ClaimMemory(self._inventory, self._tracker)
        counts = gates.enabled("DRANodeAllocatableResources")
        self._node_resources = NodeResources(handle.cluster, self._inventory) if counts else None
        timed = gates.enabled("DRASchedulerFilterTimeout")
        self._filter_timeout = seconds((args and args.filter_timeout) or FILTER_TIMEOUT) if timed else 0.0
        # The pod that PreFilter has turned away itself; for PostFilter that is a pod without claims.
        self._turned_away: PodInfo | None = None

    def events_to_register(self) -> Sequence[ClusterEvent]:
        return self.events if self._enabled else ()

    def depends(self, info: PodInfo) -> Depends:
        claims = self._enabled and (info.pod.spec.resource_claims or self._extended.wanted_by(info.pod))
        return Depends("pods on the node") if claims else NOTHING

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        if event.resource == "ResourceClaim":
            return self._claim_may_help(info.pod, old, new)
        if event.resource == "Pod":
            return is_same_pod(new, info.pod) and not isinstance(self._claims_or_refusal(new), Status)
        return True

    def _claim_may_help(self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim) -> bool:
        """isSchedulableAfterClaimChange: devices were freed, or a claim of the pod was created or changed."""
        claims = self._claims_or_refusal(pod)
        if isinstance(claims, Status):
            return False
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return True
        mine = any(key_of(claim) == key_of(new) for claim in claims)
        return mine and (old is None or old.status != new.status)

    def pre_enqueue(self, info: PodInfo) -> Status:
        claims = self._claims_or_refusal(info.pod) if self._enabled and info.pod.spec.resource_claims else []
        return claims if isinstance(claims, Status) else SUCCESS

    def _claims_or_refusal(self, pod: Pod, *, bound: bool = False) -> list[ResourceClaim] | Status:
        """The claims of the pod, or why one cannot be used. With `bound` the pod's group has to exist, too."""
        try:
            claims = pod_claims(pod, self.handle.cluster.catalog, self._groups.group_of(pod))
            if bound:
                self._groups.check(pod)
        except ClaimError as problem:
            return unresolvable(problem.reason)
        return claims

    # PreFilter

    def pre_filter(self, info: PodInfo) -> PreFilterResult[ClaimState] | Status:
        if not self._enabled:
            return SKIP
        answer = self._look_at_claims(info.pod)
        self._turned_away = info if isinstance(answer, Status) else None
        return answer

    def _look_at_claims(self, pod: Pod) -> PreFilterResult[ClaimState] | Status:
        wanted = self._extended.wanted_by(pod)
        if not pod.spec.resource_claims and not wanted:
            return _NO_CLAIMS
        claims = self._claims_or_refusal(pod, bound=True)
        if isinstance(claims, Status):
            return claims
        extended = special_claim(pod, self.handle.cluster.catalog) if wanted else None
        if extended is not None:
            claims.append(extended)
        if not claims:
            return _NO_CLAIMS
        state = ClaimState(tuple(claims), extended)
        refusal = self._check(state)
        if refusal is not None:
            return refusal
        if state.to_allocate or extended is not None:
            wish = ExtendedWish(self._extended, pod, wanted, extended) if extended is not None else None
            state.search = NodeSearch(self.handle.cluster, self._memory, state.claims, wish, self._filter_timeout)
        return PreFilterResult(state)

    def _check(self, state: ClaimState) -> Status | None:
        """Notes which nodes reach allocated claims, and returns what is wrong with the requests of the others."""
        available: list[BoolColumn | None] = []
        for claim in state.claims:
            mask: BoolColumn | None = None
            if key_of(claim) in self._in_flight:
                state.pending_elsewhere.add(key_of(claim))
            elif claim.status.allocation is not None:
                selector = claim.status.allocation.node_selector
                try:
                    self.handle.cluster.selection.check(selector.node_selector_terms if selector else ())
                except SelectorError as problem:
                    return error(str(problem))
                if selector is not None:
                    mask = self.handle.cluster.selection.terms_mask(selector.node_selector_terms)
            elif claim is not state.extended:
                refusal = check_requests(claim, self._inventory)
                if refusal is not None:
                    return refusal
            available.append(mask)
        state.available = tuple(available)
        return None

    # Filter

    def filter(self, state: ClaimState | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        if not self._enabled:
            return Verdict.passing(len(nodes))
        if state is None:
            return Verdict.of_all(len(nodes), error(NOT_FOUND))
        if not state.claims:
            return Verdict.passing(len(nodes))
        statuses: list[Status] = []
        for row in nodes.rows.tolist():
            statuses.append(self._filter_one(state, info, row))
            if statuses[-1].code is Code.ERROR:
                # The attempt is over; to search on could take up to the timeout on every node.
                break
        return Verdict.from_statuses(statuses + statuses[-1:] * (len(nodes) - len(statuses)))

    def _filter_one(self, state: ClaimState, info: PodInfo, row: int) -> Status:
        if self._node_resources is not None and (refusal := self._sharing_refusal(state, info, row)):
            return refusal
        found = state.search.of(row) if state.search is not None else None
        if isinstance(found, Status):
            return found
        counted: ClaimStatuses = ()
        if self._node_resources is not None and (taken := state.taken(found)):
            checked = self._node_resources.check(info.pod, taken, row)
            if isinstance(checked, Status):
                return checked
            counted = checked
        unavailable = state.unavailable_at(row, checks_binding=self._features.binding_conditions)
        if unavailable:
            state.unavailable.update(unavailable)
            return unresolvable(DeviceReasons.elsewhere())
        if found is not None:
            state.allocations[row] = found
        if counted:
            state.node_claims[row] = counted
        return SUCCESS

    def _sharing_refusal(self, state: ClaimState, info: PodInfo, row: int) -> Status | None:
        """Of a node where another pod counts for one of the allocated claims, unless extended resources refuse it."""
        assert self._node_resources is not None
        if state.search is not None and not isinstance(state.search.missing(row), frozenset):
            return None
        for claim, mask in zip(state.claims, state.available, strict=True):
            reached = mask is None or mask[row]
            if claim.status.allocation is None or key_of(claim) in state.pending_elsewhere or not reached:
                continue
            refusal = self._node_resources.sharing_refusal(claim, info, row)
            if refusal is not None:
                return refusal
        return None

    def explain(self, state: ClaimState | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The pod's claims, of the node's devices how many are free, the requests that it cannot meet, and what the
        node itself lacks for the claims."""
        if state is None or not state.claims:
            return {}
        row = int(nodes.rows[index])
        devices = [each for pool in self._inventory.pools().pools_of(row) for each in pool.device_ids]
        free = sum(device not in self._tracker.allocated().devices for device in devices)
        found = {"claims": [key_of(claim) for claim in state.claims], "devices": len(devices), "free": free}
        short = state.search.shortfalls(row) if state.search is not None else None
        if short is not None:
            constraints = [each for claim in state.to_allocate for each in claim.spec.devices.constraints]
            kept = (each.match_attribute or each.distinct_attribute for each in constraints)
            return {**found, "deviceRequests": to_builtins(short), "deviceConstraints": [each for each in kept if each]}
        if self._node_resources is None:
            return found
        given = state.search.of(row) if state.search is not None else None
        if isinstance(given, Status):
            return found
        # There are devices: it is something else that is missing.
        lacking = self._node_resources.shortages(info.pod, state.taken(given), row)
        return {**found, "lacking": lacking} if lacking else {}

    # PostFilter

    def post_filter(
        self, state: ClaimState | None, info: PodInfo, cycle: CycleHandle
    ) -> tuple[PostFilterResult | None, Status]:
        """Deallocates a claim whose devices the tried nodes do not reach."""
        if not self._enabled:
            return None, unschedulable("plugin disabled")
        turned_away, self._turned_away = self._turned_away is info, None
        if state is None and not turned_away:
            # Go keeps its state under a key; another plugin's final rejection means it was never written.
            return None, error(NOT_FOUND)
        if state is None or not state.claims:
            return None, _NOTHING_TO_DEALLOCATE
        return None, self._deallocate(state, info.pod)

    def _deallocate(self, state: ClaimState, pod: Pod) -> Status:
        """Of several claims kube-scheduler deallocates any; here it is the first."""
        catalog = self.handle.cluster.catalog
        for at in sorted(state.unavailable):
            claim = state.claims[at]
            others = any(each.uid != pod.metadata.uid for each in claim.status.reserved_for)
            if claim is not state.extended and not others:
                catalog.put(deallocated(claim))
                return unschedulable("deallocation of ResourceClaim completed")
        if state.extended is not None and state.extended.metadata.name != IN_MEMORY_NAME:
            catalog.remove(state.extended)
            return unschedulable("deletion of ResourceClaim completed")
        if self._groups.unreserve(pod, self._members):
            return unresolvable("ResourceClaim unreserved for PodGroup")
        return unschedulable("still not schedulable")

    # Score

    def score(self, state: ClaimState | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """computeScore: a node scores more the earlier its alternatives stand in their lists."""
        scores = np.zeros(len(nodes), dtype=np.int64)
        if self._enabled and state is not None and (problem := self._uncounted(state)):
            return problem
        if not self._enabled or not self._features.prioritized_list:
            return scores
        if state is None:
            return error(NOT_FOUND)
        if not any(request.first_available for claim in state.claims for request in claim.spec.devices.requests):
            return scores
        for index, row in enumerate(nodes.rows.tolist()):
            allocation = state.allocations.get(row)
            if allocation is not None:
                scores[index] = state.score_of(allocation)
        return scores

    def _uncounted(self, state: ClaimState) -> Status | None:
        """The error of computeScore in patches that look for an allocated claim among the new allocations."""
        if not state.allocations or DynamicResourcesRules.of(self.handle.release).scores_allocated_claims:
            return None
        count = min(len(each.picks) for each in state.allocations.values()) + len(state.pending_elsewhere)
        too_few = error(f"number of allocations {count} is smaller than number of claims")
        return too_few if count < len(state.claims) else None

    def normalize(self, state: ClaimState | None, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        return default_normalize_score(scores, reverse=False) if self._enabled else scores

    # Reserve and PreBind

    def reserve(self, state: ClaimState | None, info: PodInfo, row: int) -> Status:
        """Takes the devices, so that later pods do not get them."""
        if not self._enabled:
            return SUCCESS
        if state is None:
            return error(NOT_FOUND)
        self._count_on_node(info, state.node_claims.get(row, ()))
        claims = state.to_allocate
        if not claims or state.search is None:
            return SUCCESS
        allocation = state.allocations.get(row)
        if allocation is None or not allocation.picks:
            if all(claim is state.extended for claim in claims):
                return SUCCESS
            return error("claim allocation not found for node")
        node = self.handle.cluster.nodes.names[row]
        real = [instantiated(each, allocation.extended_requests) if each is state.extended else each for each in claims]
        made = [allocation_of(picks, each, node) for each, picks in zip(real, allocation.picks, strict=True)]
        for claim, each, given in zip(claims, real, state.in_order_of_go(made), strict=True):
            taken = with_allocation(each, given)
            self._tracker.allocate(taken)
            if self._shares_in_flight and info.pod.spec.scheduling_group is not None:
                self._in_flight.add(key_of(taken))
            state.pending.append((taken, claim if each is claim else None))
            if each is not claim:
                state.created = taken
        return SUCCESS

    def _count_on_node(self, info: PodInfo, statuses: ClaimStatuses) -> None:
        """Scheduler.assume: the cache counts the pod with these entries in its status, whatever it had before."""
        cluster = self.handle.cluster
        pod_row = cluster.pods.row_of.get(info.uid) if self._node_resources is not None else None
        if pod_row is None:
            return
        current = cluster.pods.infos[pod_row].pod
        if current.status.node_allocatable_resource_claim_statuses != statuses:
            status = replace(current.status, node_allocatable_resource_claim_statuses=statuses)
            cluster.update_pod(pod_row, replace(current, status=status))

    def unreserve(self, state: ClaimState | None, info: PodInfo, row: int) -> None:
        """Takes back what Reserve took. An allocation that PreBind made stays, without the pod as its consumer."""
        if not self._enabled or state is None:
            return
        self._count_on_node(
            info, () if row in state.node_claims else info.pod.status.node_allocatable_resource_claim_statuses
        )
        catalog = self.handle.cluster.catalog
        for _, original in state.pending:
            if original is not None:
                catalog.put(original)
        self._land(state)
        if state.created is not None:
            catalog.remove(state.created)
        for claim in self._current(state):
            if is_reserved_for(claim, info.pod):
                catalog.put(unreserved(claim, info.pod.metadata.uid))

    def pre_bind(self, state: ClaimState | None, info: PodInfo, row: int) -> Status:
        """Adds the pod to the consumers of its claims. Binding conditions are not waited for."""
        if not self._enabled:
            return SUCCESS
        if state is None:
            return error(NOT_FOUND)
        for claim in self._current(state):
            if not is_reserved_for(claim, info.pod, self._groups.group_of(info.pod)):
                self._tracker.put(reserved(claim, self._groups.consumer(info.pod, claim)))
        self._land(state)
        return SUCCESS

    def _land(self, state: ClaimState) -> None:
        """Forgets what Reserve took, which is bound now or given back."""
        self._in_flight.difference_update(key_of(claim) for claim, _ in state.pending)
        state.pending.clear()

    def _current(self, state: ClaimState) -> list[ResourceClaim]:
        """The pod's claims as they are now, with the one that Reserve made."""
        catalog = self.handle.cluster.catalog
        known = [*state.claims, *([state.created] if state.created else [])]
        found = (catalog.get(ResourceClaim, each.metadata.name, each.metadata.namespace) for each in known)
        return [claim for claim in found if claim is not None]


SPEC = Spec(plugins=(DynamicResources,), reasons=(DeviceReasons,), guide=DevicesGuide())
