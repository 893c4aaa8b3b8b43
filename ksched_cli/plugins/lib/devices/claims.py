"""A pod's claims, what they request, and which devices are taken by whom (resourceclaim, allocateddevices.go,
requestAccessor); the reasons and the rules of minors that device plugins share.

Extended resources that devices stand behind (extendeddynamicresources.go) are at the end: the filter for resources
leaves such a resource to the plugin for devices on nodes that do not announce the resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct, field

from ksched_cli.api.core import Container, ObjectMeta, OwnerReference, Pod, PodResourceClaim
from ksched_cli.api.dynamic_resources import (
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceSlice,
    is_controlled_by,
    is_controlled_by_group,
)
from ksched_cli.api.object_facts import parse_time
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.pod_info import is_extended, is_scalar
from ksched_cli.framework.reasons import FieldPath, Reason, ReasonCode, ReasonKind, ReasonTable, fixed_field
from ksched_cli.plugins.lib.spec import ReasonError
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import HELD_SHARES_TAKE_COUNTERS, REFUSED_DEVICES_ARE_FORGOTTEN
from ksched_cli.releases.plugin_names import DYNAMIC_RESOURCES


class AllocationError(Exception):
    """Something is wrong with a claim, a class or a slice; looking at other nodes would not help."""


class NodeAllocationFailed(Exception):
    """The allocation failed on this node only; other nodes may do (structured.ErrFailedAllocationOnNode)."""


class AllocationTimeout(Exception):
    """The search took longer than the plugin's filterTimeout."""


class DeviceRules(ReleaseRules, plugins=DYNAMIC_RESOURCES):
    refused_devices_are_forgotten = Rule(
        REFUSED_DEVICES_ARE_FORGOTTEN,
        "filter",
        "A device that is refused, or given back in the search, takes no counters and no part in constraints any more; "
        "before, what it had taken could stay taken, so that a later device of the node was refused.",
    )
    held_shares_take_counters = Rule(
        HELD_SHARES_TAKE_COUNTERS,
        "filter",
        "A device that claims share takes its counters while they hold it; before, in the cycle of the first claim "
        "alone, so that partitions that exclude each other could be given out.",
    )
    pools_are_known_by_driver = Rule(
        "1.37",
        "filter",
        "Shared counters belong to the pool of one driver; before, pools of one name on a node shared them, whatever "
        "their drivers were.",
    )
    shares_hold_counters = Rule(
        "1.37",
        "filter",
        "A device that is shared already, even without capacity in use, does not take its counters once more; before, "
        "it did if its claims had no consumed capacity.",
    )
    all_includes_full_devices = Rule(
        "1.37",
        "filter",
        "A request for all devices fails if one of them has too little capacity left; before, it got the others.",
    )
    capacity_is_counted_exactly = Rule(
        "1.37",
        "filter message",
        "A capacity request that is negative, or that cannot be counted in the range of a device's policy, ends the "
        "cycle with an error; before, it was rounded, and could take less than it asked for.",
    )
    every_device_is_distinct = Rule(
        "1.37",
        "filter",
        "distinctAttribute compares a device with each device of a request; before, with the last one of each request.",
    )
    common_values_come_back = Rule(
        "1.37",
        "filter",
        "With the gate DRAListTypeAttributes, values that a device ruled out for matchAttribute can be chosen when "
        "the device is given back; before, they stayed ruled out.",
    )
    selectors_see_lists = Rule(
        "1.37",
        "filter",
        "Selectors read attributes that are lists; before, the gate DRAListTypeAttributes had to be on, and such an "
        "attribute ended the cycle with an error.",
    )
    errors_name_the_device = Rule(
        "1.37",
        "message",
        "If a selector fails, the message names the device, and for a missing attribute it has a hint about "
        "orValue() and has(); before, it had neither.",
    )


EXACT_COUNT, ALL = "ExactCount", "All"


class RequestView(Struct, frozen=True, eq=False):
    """`parent` is the request's name where this is one of its alternatives, else empty."""

    name: str
    parent: str
    device_class_name: str
    mode: str
    count: int
    admin_access: bool | None
    selectors: tuple[DeviceSelector, ...]
    tolerations: tuple[DeviceToleration, ...]
    has_capacity: bool
    capacity: Mapping[str, Fraction]

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def admin(self) -> bool:
        return bool(self.admin_access)


def views_of(request: DeviceRequest) -> tuple[RequestView, ...]:
    """The exact request, or its alternatives in order of preference."""
    if request.first_available:
        return tuple(_view(each, each.name, request.name, None) for each in request.first_available)
    exactly = request.exactly or ExactDeviceRequest()
    return (_view(exactly, request.name, "", exactly.admin_access),)


def _view(
    request: ExactDeviceRequest | DeviceSubRequest, name: str, parent: str, admin_access: bool | None
) -> RequestView:
    """The API server fills in an omitted mode with ExactCount and an omitted count with 1; All has no count."""
    capacity = request.capacity.requests if request.capacity else {}
    return RequestView(
        name,
        parent,
        request.device_class_name,
        request.allocation_mode or EXACT_COUNT,
        request.count or 1,
        admin_access,
        request.selectors,
        request.tolerations,
        request.capacity is not None,
        {key: parse_quantity(amount) for key, amount in capacity.items()},
    )


class Pick(Struct, frozen=True, eq=False):
    """A device chosen for a request. `charged`: it took its shared counters; `was_shared`: this search had given out
    another share of it already."""

    request: RequestView
    device: Device
    slice: ResourceSlice
    consumed: Mapping[str, Fraction] | None
    charged: bool
    was_shared: bool


def device_id(home: ResourceSlice, device: Device) -> DeviceID:
    return home.spec.driver, home.spec.pool.name, device.name


_TAKEN = ReasonCode(
    "KS141",
    "devices-taken",
    "the nodes lack the devices that the pod claims",
    "No choice of free devices satisfies all claims of the pod with their selectors and constraints.",
    ("ask for fewer devices or loosen the selector", "free devices, or add nodes that have them"),
)
_CLASS_MISSING = ReasonCode(
    "KS142",
    "device-class-missing",
    "a device class does not exist",
    "A request of a claim names a DeviceClass that is not in the input.",
    ("add the DeviceClass", "correct deviceClassName"),
)
_CLAIM_MISSING = ReasonCode(
    "KS143",
    "resource-claim-missing",
    "a resource claim does not exist",
    "The pod refers to a ResourceClaim that is not there, or whose ResourceClaimTemplate is not.",
    ("add the ResourceClaim or the template", "correct its name"),
)
_ELSEWHERE = ReasonCode(
    "KS144",
    "devices-elsewhere",
    "the claim's devices are on other nodes",
    "The claim was allocated before, and its devices can be used only where they are.",
    ("let the pod go there", "use a claim of its own"),
)
_INVALID = ReasonCode(
    "KS145",
    "resource-claim-invalid",
    "a resource claim cannot be used",
    "It is being deleted, belongs to another pod, is used on the node by another pod although its devices stand for "
    "the node's own cpu or memory, or has a kind of request that is unknown or switched off.",
    ("correct the claim", "see which feature gates it needs"),
)
_NODE_LACKS = ReasonCode(
    "KS146",
    "claims-exceed-node",
    "the pod and its claims need more than is free",
    "Devices of the claims stand for cpu, memory or other resources of the node (nodeAllocatableResourceMappings). "
    "They are added to the requests of the pod, and the sum has to fit.",
    ("ask for fewer devices or lower the requests of the pod", "move or scale down what runs there, or add nodes"),
)


def _field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The claim that the reason names, else the first."""
    if not pod.spec.resource_claims:
        return ("spec", "containers")
    named = {reason.param("claim") for reason in reasons} - {""}
    claims = [each.resource_claim_name for each in pod.spec.resource_claims]
    return ("spec", "resourceClaims", next((at for at, claim in enumerate(claims) if claim in named), 0))


class DeviceReasons(ReasonTable):
    field = _field
    cannot_allocate = ReasonKind("cannot allocate all claims", _TAKEN)
    cannot_schedule_extended = ReasonKind("cannot schedule extended resource claim", _TAKEN)
    cannot_fit = ReasonKind("cannot fit resource", _TAKEN)
    class_missing = ReasonKind("request {request}: device class {name} does not exist", _CLASS_MISSING)
    claim_missing = ReasonKind('could not find ResourceClaim "{namespace}/{claim}"', _CLAIM_MISSING)
    not_created = ReasonKind('pod "{pod}": ResourceClaim not created yet', _CLAIM_MISSING)
    elsewhere = ReasonKind(
        "resourceclaim not available on the node", _ELSEWHERE, problem="do not reach the devices of its claim"
    )
    being_deleted = ReasonKind('resourceclaim "{claim}" is being deleted', _INVALID)
    of_other_pod = ReasonKind(
        "ResourceClaim {namespace}/{claim} was not created for Pod {namespace}/{pod} (Pod is not owner)", _INVALID
    )
    of_other_group = ReasonKind(
        "ResourceClaim {namespace}/{claim} was not created for Pod {namespace}/{pod} "
        "(neither Pod nor PodGroup {group} is the owner)",
        _INVALID,
    )
    group_missing = ReasonKind('podgroup.scheduling.k8s.io "{group}" not found', _INVALID)
    without_fields = ReasonKind(
        'pod "{pod}", spec.resourceClaim "{reference}": none of the supported fields are set', _INVALID
    )
    unknown_request = ReasonKind(
        "resource claim {namespace}/{claim}, request {request}: unknown request type", _INVALID
    )
    subrequests_off = ReasonKind(
        "resource claim {namespace}/{claim}, request {request}: has subrequests, but the DRAPrioritizedList feature is "
        "disabled",
        _INVALID,
    )
    used_by_other = ReasonKind("node allocatable resource claim {claim} is already used by another pod", _INVALID)
    used_by_several = ReasonKind("node allocatable resource claim {claim} shared by multiple pods", _INVALID)
    in_no_container = ReasonKind(
        "claim {claim}: node-allocatable resource claim not referenced by any container within the pod", _INVALID
    )
    over_pod_level = ReasonKind(
        "pod level request for {resource} is insufficient to cover the aggregated container and node-allocatable DRA "
        "requests",
        _NODE_LACKS,
        field=fixed_field("spec", "resources"),
    )
    node_lacks = ReasonKind("Insufficient {resource}", _NODE_LACKS, lacks="{resource}", problem="lack {resource}")
    failed_on_node = ReasonKind("{problem}", _INVALID)


DeviceID = tuple[str, str, str]
PoolID = tuple[str, str]
Capacity = dict[str, Fraction]


class ClaimError(ReasonError):
    """A claim that cannot be used."""


def claim_name(pod: Pod, reference: PodResourceClaim) -> tuple[str | None, bool]:
    """resourceclaim.Name: the claim's name, None if none was made on purpose; and whether its owner must be checked."""
    if reference.resource_claim_name is not None:
        return reference.resource_claim_name, False
    where = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if reference.resource_claim_template_name is None:
        raise ClaimError(DeviceReasons.without_fields(pod=where, reference=reference.name))
    for status in pod.status.resource_claim_statuses:
        if status.name == reference.name:
            return status.resource_claim_name, True
    raise ClaimError(DeviceReasons.not_created(pod=where))


def pod_claims(pod: Pod, catalog: Catalog, group: str) -> list[ResourceClaim]:
    """foreachPodResourceClaim: every claim that the pod refers to; ClaimError for the first that cannot be used. A
    claim that was made for the pod `group` is one that was made for the pod."""
    found: list[ResourceClaim] = []
    namespace = pod.metadata.namespace
    for reference in pod.spec.resource_claims:
        name, owned = claim_name(pod, reference)
        if name is None:
            continue
        claim = catalog.get(ResourceClaim, name, namespace)
        if claim is None:
            raise ClaimError(DeviceReasons.claim_missing(namespace=namespace, claim=name))
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimError(DeviceReasons.being_deleted(claim=name))
        if owned and not is_controlled_by(claim, pod):
            parts = {"namespace": namespace, "claim": name, "pod": pod.metadata.name}
            if not group:
                raise ClaimError(DeviceReasons.of_other_pod(**parts))
            if not is_controlled_by_group(claim, group):
                raise ClaimError(DeviceReasons.of_other_group(**parts, group=group))
        found.append(claim)
    return found


def key_of(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


class AllocatedState(Struct):
    """structured.AllocatedState: exclusive devices, and the shares and capacity taken of shared devices."""

    devices: set[DeviceID] = field(default_factory=set)
    shares: set[DeviceID] = field(default_factory=set)
    capacity: dict[DeviceID, Capacity] = field(default_factory=dict)

    def is_allocated(self, device: DeviceID) -> bool:
        """IsDeviceAllocated."""
        return device in self.devices or device in self.shares or device in self.capacity

    def add(self, results: Iterable[DeviceRequestAllocationResult], *, shareable: bool) -> None:
        """foreachAllocatedDevice: admin access takes nothing."""
        for result in results:
            if result.admin_access:
                continue
            device = (result.driver, result.pool, result.device)
            if not (shareable and result.share_id is not None):
                self.devices.add(device)
                continue
            self.shares.add(device)
            if result.consumed_capacity:
                consumed = {name: parse_quantity(amount) for name, amount in result.consumed_capacity.items()}
                add_capacity(self.capacity.setdefault(device, {}), consumed)


def add_capacity(total: Capacity, more: Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


class ClaimTracker:
    """What all claims of the cluster have taken. The catalog holds the claims; changes made here are followed without
    counting everything again."""

    def __init__(self, catalog: Catalog, *, shareable: bool) -> None:
        self._catalog = catalog
        self._shareable = shareable
        self._version = -1
        self._state = AllocatedState()
        self._counted: dict[int, ResourceClaim] = {}
        self._changes: dict[PoolID, int] = {}
        self.epoch = 0

    def allocated(self) -> AllocatedState:
        """The state of all claims now. Callers do not change it."""
        if self._version != self._catalog.version:
            claims = {id(claim): claim for claim in self._catalog.all(ResourceClaim) if claim.status.allocation}
            if claims.keys() != self._counted.keys():
                self._count(claims)
            self._version = self._catalog.version
        return self._state

    def _count(self, claims: dict[int, ResourceClaim]) -> None:
        self._state, self._counted = AllocatedState(), claims
        for claim in claims.values():
            self._add(claim)
        self.epoch += 1

    def _add(self, claim: ResourceClaim) -> None:
        results = claim.status.allocation.devices.results if claim.status.allocation else ()
        self._state.add(results, shareable=self._shareable)
        for pool in {(result.driver, result.pool) for result in results}:
            self._changes[pool] = self._changes.get(pool, 0) + 1

    def changes_in(self, driver: str, pool: str) -> int:
        """How often devices of the pool were taken within this epoch; it ends when everything is counted anew."""
        return self._changes.get((driver, pool), 0)

    def allocate(self, claim: ResourceClaim) -> None:
        """Stores a claim that has just been allocated."""
        if self.put(claim):
            self._add(claim)

    def put(self, claim: ResourceClaim) -> bool:
        """Stores a claim whose allocation does not change; returns whether the state was up to date."""
        current = self._version == self._catalog.version
        before = self._catalog.get(ResourceClaim, claim.metadata.name, claim.metadata.namespace)
        self._catalog.put(claim)
        if current:
            self._counted.pop(id(before), None)
            self._counted[id(claim)] = claim
            self._version = self._catalog.version
        return current


IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
IN_MEMORY_NAME = "<extended-resources>"


def may_be_device_backed(name: str) -> bool:
    """schedutil.IsDRAExtendedResourceName."""
    return is_extended(name) or name.startswith(IMPLICIT_PREFIX)


class ExtendedResourceIndex:
    """Which class stands behind a resource name. Follows the catalog; empty while DRAExtendedResource is off."""

    def __init__(self, catalog: Catalog, *, enabled: bool) -> None:
        self._catalog = catalog
        self._enabled = enabled
        self._version = -1
        self._classes: dict[str, DeviceClass] = {}

    def class_of(self, resource: str) -> DeviceClass | None:
        """GetDeviceClass."""
        if self._enabled and self._version != self._catalog.version:
            self._classes = _by_resource(self._catalog.all(DeviceClass))
            self._version = self._catalog.version
        return self._classes.get(resource)

    def backs(self, resource: str) -> bool:
        """shouldDelegateResourceToDRA, for nodes whose allocatable of the resource is 0."""
        return self.class_of(resource) is not None

    def wanted_by(self, pod: Pod) -> dict[str, int]:
        """The pod's extended resources if a class stands behind any of them, else nothing."""
        if not self._enabled or next(iter(self._catalog.all(DeviceClass)), None) is None:
            return {}
        amounts = {
            name: amount
            for name, amount in requests_of(pod, use_status=False).items()
            if amount and is_scalar(name) and may_be_device_backed(name)
        }
        return amounts if any(map(self.backs, amounts)) else {}

    def requests(self, pod: Pod, resources: Iterable[str]) -> tuple[DeviceRequest, ...]:
        """createRequestsAndMappings: what the pod's containers need of these resources, as device requests."""
        containers = (*pod.spec.init_containers, *pod.spec.containers)
        found: list[DeviceRequest] = []
        for resource in sorted(resources):
            backing = self.class_of(resource)
            if backing is not None:
                found += _requests(containers, len(pod.spec.init_containers), resource, backing.metadata.name)
        return tuple(sorted(found, key=lambda request: request.name))


def _by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """Of two classes for one resource the newer counts, of two of an age the one whose name comes first."""
    found: dict[str, DeviceClass] = {}
    for each in sorted(classes, key=lambda each: (-_created(each), each.metadata.name)):
        found[IMPLICIT_PREFIX + each.metadata.name] = each
        if each.spec.extended_resource_name is not None:
            found.setdefault(each.spec.extended_resource_name, each)
    return found


def _created(each: DeviceClass) -> float:
    stamp = each.metadata.creation_timestamp
    return parse_time(stamp) if stamp else 0.0


def special_claim(pod: Pod, catalog: Catalog) -> ResourceClaim:
    """The claim that stands for all of a pod's device-backed resources: the one that an earlier attempt left behind,
    or a new one, which has no requests before it is known for which node."""
    for claim in catalog.in_namespace(ResourceClaim, pod.metadata.namespace):
        if claim.metadata.annotations.get(ANNOTATION) == "true" and is_controlled_by(claim, pod):
            return claim
    metadata = ObjectMeta(
        name=IN_MEMORY_NAME,
        namespace=pod.metadata.namespace,
        generate_name=f"{pod.metadata.name}-extended-resources-",
        annotations={ANNOTATION: "true"},
        owner_references=(OwnerReference("Pod", pod.metadata.name, "v1", pod.metadata.uid, True),),
    )
    return ResourceClaim(metadata)


def _requests(
    containers: Sequence[Container], init_containers: int, resource: str, class_name: str
) -> list[DeviceRequest]:
    """Init containers are over when the others start: they reuse what those after them get, and one request for the
    most that any of them needs on top serves all."""
    needed = [_count(container, resource) for container in containers]
    passing = [at for at in range(init_containers) if containers[at].restart_policy != "Always"]
    counts = {at: count for at, count in enumerate(needed) if at not in passing}
    extra = {at: needed[at] - sum(count for later, count in counts.items() if later > at) for at in passing}
    if extra:
        largest = max(extra, key=extra.__getitem__)
        counts[largest] = extra[largest]
    return [_request(at, containers[at], resource, class_name, count) for at, count in counts.items() if count > 0]


def _count(container: Container, resource: str) -> int:
    amount = parse_quantity(container.resources.requests.get(resource, 0))
    return int(amount) if amount.denominator == 1 else 0


def _request(at: int, container: Container, resource: str, class_name: str, count: int) -> DeviceRequest:
    position = sorted(container.resources.requests).index(resource)
    exactly = ExactDeviceRequest(device_class_name=class_name, allocation_mode=EXACT_COUNT, count=count)
    return DeviceRequest(f"container-{at}-request-{position}", exactly)


def lacking(wanted: Mapping[str, int], announced: Mapping[str, int], index: ExtendedResourceIndex) -> set[str] | None:
    """filterExtendedResources on one node: what devices have to provide; None where nothing can. `announced` is the
    node's own allocatable of every resource that it names."""
    missing: set[str] = set()
    for name in wanted:
        if index.backs(name) and not announced.get(name):
            missing.add(name)
        elif name not in announced:
            return None
    return missing
