"""resource.k8s.io/v1: claims, classes and slices of dynamic resource allocation, with the fields that scheduling reads;
documents of older versions are converted. Also who owns and who uses a ResourceClaim (component `resourceclaim`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.core import KubernetesObject, NodeSelector, Pod, Toleration, controller_of


class CELDeviceSelector(Struct, rename="camel", frozen=True, gc=False):
    expression: str = ""


class DeviceSelector(Struct, rename="camel", frozen=True, gc=False):
    cel: CELDeviceSelector | None = None


class DeviceToleration(Toleration, frozen=True):
    """A toleration of taints of devices."""


class CapacityRequirements(Struct, rename="camel", gc=False):
    requests: dict[str, str | int | float] = {}


class ExactDeviceRequest(Struct, rename="camel", gc=False):
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(Struct, rename="camel", gc=False):
    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Struct, rename="camel", gc=False):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Struct, rename="camel", frozen=True, gc=False):
    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Struct, rename="camel", gc=False):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()


class ResourceClaimSpec(Struct, rename="camel", gc=False):
    devices: DeviceClaim = field(default_factory=DeviceClaim)


class DeviceRequestAllocationResult(Struct, rename="camel", gc=False):
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: dict[str, str | int | float] = {}
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()


class DeviceAllocationResult(Struct, rename="camel", gc=False):
    results: tuple[DeviceRequestAllocationResult, ...] = ()


class AllocationResult(Struct, rename="camel", gc=False):
    devices: DeviceAllocationResult = field(default_factory=DeviceAllocationResult)
    node_selector: NodeSelector | None = None


class ResourceClaimConsumerReference(Struct, rename="camel", frozen=True, gc=False):
    resource: str = ""
    name: str = ""
    uid: str = ""
    api_group: str = ""


class DeviceCondition(Struct, rename="camel", frozen=True, gc=False):
    type: str = ""
    status: str = ""


class AllocatedDeviceStatus(Struct, rename="camel", gc=False):
    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(Struct, rename="camel", gc=False):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(KubernetesObject):
    spec: ResourceClaimSpec = field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = field(default_factory=ResourceClaimStatus)


class ResourceClaimTemplateSpec(KubernetesObject):
    spec: ResourceClaimSpec = field(default_factory=ResourceClaimSpec)


class ResourceClaimTemplate(KubernetesObject):
    spec: ResourceClaimTemplateSpec = field(default_factory=ResourceClaimTemplateSpec)


class DeviceClassSpec(Struct, rename="camel", gc=False):
    selectors: tuple[DeviceSelector, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(KubernetesObject):
    spec: DeviceClassSpec = field(default_factory=DeviceClassSpec)


class ResourcePool(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class DeviceCapacity(Struct, rename="camel", gc=False):
    value: str | int | float = "0"
    request_policy: dict[str, Any] | None = None


class Counter(Struct, rename="camel", frozen=True, gc=False):
    value: str | int | float = "0"


class CounterSet(Struct, rename="camel", gc=False):
    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(Struct, rename="camel", gc=False):
    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceAttribute(Struct, rename={"int_value": "int", "bool_value": "bool"}, frozen=True, gc=False):
    int_value: int | None = None
    bool_value: bool | None = None
    string: str | None = None
    version: str | None = None
    ints: tuple[int, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


class DeviceTaint(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeAllocatableResourceMapping(Struct, rename="camel", frozen=True, gc=False):
    """The API server stores a multiplier of 1 where there is none (SetDefaults_Device)."""

    capacity_key: str | None = None
    allocation_multiplier: str | int | float = "1"


class Device(Struct, rename="camel", gc=False):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = {}


class ResourceSliceSpec(Struct, rename="camel", gc=False):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(KubernetesObject):
    spec: ResourceSliceSpec = field(default_factory=ResourceSliceSpec)


class DeviceTaintSelector(Struct, frozen=True, gc=False):
    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct, rename="camel", frozen=True, gc=False):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(KubernetesObject):
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()


_SCHEDULING = "scheduling.k8s.io"
_POD_GROUPS = "podgroups"


def is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    """metav1.IsControlledBy."""
    controller = controller_of(claim.metadata)
    return controller is not None and controller.uid == pod.metadata.uid


def is_controlled_by_group(claim: ResourceClaim, group: str) -> bool:
    """isForPodGroupByPod: the controller is the pod group of this name."""
    controller = controller_of(claim.metadata)
    return (
        controller is not None
        and (controller.kind, controller.name) == ("PodGroup", group)
        and controller.api_version.startswith(f"{_SCHEDULING}/")
    )


def is_reserved_for(claim: ResourceClaim, pod: Pod, group: str = "") -> bool:
    """resourceclaim.IsReservedForPod; with the gate DRAWorkloadResourceClaims also for the `group` of the pod."""
    return any(
        consumer.uid == pod.metadata.uid or (bool(group) and is_group_consumer(consumer, group))
        for consumer in claim.status.reserved_for
    )


def is_group_consumer(consumer: ResourceClaimConsumerReference, group: str) -> bool:
    return (consumer.api_group, consumer.resource, consumer.name) == (_SCHEDULING, _POD_GROUPS, group)


def with_allocation(claim: ResourceClaim, allocation: AllocationResult | None) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, allocation=allocation))


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, allocation=None, reserved_for=(), devices=()))


def consumer_pod(pod: Pod) -> ResourceClaimConsumerReference:
    return ResourceClaimConsumerReference("pods", pod.metadata.name, pod.metadata.uid)


def consumer_group(name: str, uid: str) -> ResourceClaimConsumerReference:
    return ResourceClaimConsumerReference(_POD_GROUPS, name, uid, _SCHEDULING)


def reserved(claim: ResourceClaim, consumer: ResourceClaimConsumerReference) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, reserved_for=(*claim.status.reserved_for, consumer)))


def unreserved(claim: ResourceClaim, uid: str) -> ResourceClaim:
    left = tuple(each for each in claim.status.reserved_for if each.uid != uid)
    return replace(claim, status=replace(claim.status, reserved_for=left))


# Older versions


OLDER_VERSIONS = ("resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3")
_OF_REQUEST = {"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"}


def as_v1(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """A document of an older version in the form of v1 (pkg/apis/resource/v1beta1/conversion.go): what a device has in
    `basic` and a request has by itself moves. v1alpha3 writes a capacity as a plain quantity. A value of a wrong type
    stays as it is, and decoding finds it."""
    spec = document.get("spec")
    if not isinstance(spec, dict):
        return document
    if kind == "ResourceSlice":
        spec = {**spec, "devices": _each(spec.get("devices"), _device)}
    elif kind == "ResourceClaim":
        spec = _claim_spec(spec)
    elif kind == "ResourceClaimTemplate":
        inner = spec.get("spec")
        spec = {**spec, "spec": _claim_spec(inner) if isinstance(inner, dict) else inner}
    return {**document, "apiVersion": "resource.k8s.io/v1", "spec": spec}


def _each(found: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    return [change(each) if isinstance(each, dict) else each for each in found] if isinstance(found, list) else found


def _device(device: dict[str, Any]) -> dict[str, Any]:
    basic = device.get("basic")
    if not isinstance(basic, dict):
        return device
    found = {**{key: each for key, each in device.items() if key != "basic"}, **basic}
    if isinstance(capacity := found.get("capacity"), dict):
        found["capacity"] = {key: each if isinstance(each, dict) else {"value": each} for key, each in capacity.items()}
    return found


def _claim_spec(spec: dict[str, Any]) -> dict[str, Any]:
    devices = spec.get("devices")
    if not isinstance(devices, dict):
        return spec
    return {**spec, "devices": {**devices, "requests": _each(devices.get("requests"), _request)}}


def _request(request: dict[str, Any]) -> dict[str, Any]:
    exactly = {key: each for key, each in request.items() if key in _OF_REQUEST}
    if not exactly:
        return request
    return {**{key: each for key, each in request.items() if key not in _OF_REQUEST}, "exactly": exactly}
