"""Extended resources that devices stand behind (extendeddynamicresources.go, extendedresourcecache).

The filter for resources leaves such a resource to the plugin for devices on nodes that do not announce the resource.
Both plugins use this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ksched_cli.api.core import Container, Pod
from ksched_cli.api.dynamic_resources import DeviceClass, DeviceRequest, ExactDeviceRequest, ResourceClaim
from ksched_cli.api.meta import ObjectMeta, OwnerReference
from ksched_cli.api.pod_facts import parse_time
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.resources import is_extended, is_scalar
from ksched_cli.plugins.lib.devices.requests import EXACT_COUNT

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
        if claim.metadata.annotations.get(ANNOTATION) == "true" and any(
            owner.controller and owner.name == pod.metadata.name and owner.uid == pod.metadata.uid
            for owner in claim.metadata.owner_references
        ):
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
    passing = {at for at in range(init_containers) if containers[at].restart_policy != "Always"}
    lasting: dict[int, DeviceRequest] = {}
    for at, container in enumerate(containers):
        if at not in passing:
            request = _request(at, container, resource, class_name, 0)
            if request is not None:
                lasting[at] = request
    largest: DeviceRequest | None = None
    for at in sorted(passing):
        reusable = sum(_count(request) for later, request in lasting.items() if later >= at)
        request = _request(at, containers[at], resource, class_name, reusable)
        if request is not None and (largest is None or _count(largest) < _count(request)):
            largest = request
    return [*([largest] if largest else []), *lasting.values()]


def _request(at: int, container: Container, resource: str, class_name: str, reusable: int) -> DeviceRequest | None:
    amount = parse_quantity(container.resources.requests.get(resource, 0))
    if amount.denominator != 1 or amount == 0 or reusable >= amount:
        return None
    position = sorted(container.resources.requests).index(resource)
    exactly = ExactDeviceRequest(
        device_class_name=class_name, allocation_mode=EXACT_COUNT, count=int(amount) - reusable
    )
    return DeviceRequest(f"container-{at}-request-{position}", exactly)


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly else 0


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
