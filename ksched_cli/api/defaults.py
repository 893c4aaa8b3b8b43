"""The defaults that the newest API server applies before it stores an object (pkg/apis/*/defaults.go), for fields that
scheduling reads. The same defaults serve every minor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import (
    Container,
    Namespace,
    Node,
    Pod,
    PodSpec,
    Quantities,
    Volume,
)
from ksched_cli.api.pod_resources import container_requests, is_pod_level_resource
from ksched_cli.api.quantity import NANO, are_plain, nano_value
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass

DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_NAMESPACE = "default"
_GRACE_PERIOD = 30
_HUGEPAGES = "hugepages-"
_NANO_PER_MILLI = NANO // 1000
# The label of every namespace.
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_RBD_POOL = "rbd"
_FILESYSTEM = "Filesystem"


def default_pod(pod: Pod) -> None:
    """SetDefaults_Pod and SetDefaults_PodSpec, in place."""
    spec, metadata = pod.spec, pod.metadata
    metadata.namespace = metadata.namespace or DEFAULT_NAMESPACE
    for container in (*spec.containers, *spec.init_containers):
        limits, ports = container.resources.limits, container.ports
        # A limit without a request is a request too.
        for name in limits:
            container.resources.requests.setdefault(name, limits[name])
        if ports and any(not port.protocol for port in ports):
            container.ports = tuple(replace(port, protocol=port.protocol or "TCP") for port in ports)
    if spec.resources is not None:
        _default_pod_level(pod)
    spec.scheduler_name = spec.scheduler_name or DEFAULT_SCHEDULER
    spec.restart_policy = spec.restart_policy or "Always"
    if spec.termination_grace_period_seconds is None:
        spec.termination_grace_period_seconds = _GRACE_PERIOD
    if spec.host_network:
        for container in (*spec.containers, *spec.init_containers):
            container.ports = tuple(
                port if port.host_port else replace(port, host_port=port.container_port) for port in container.ports
            )
    if spec.volumes:
        spec.volumes = tuple(_name_rbd_pool(volume) for volume in spec.volumes)
    # Last, as in SetObjectDefaults_Pod: what was filled in above is rounded too.
    for quantities in _quantities_of(pod):
        if quantities and not are_plain(quantities.values()):
            _round_up_to_milli(quantities)


def _quantities_of(pod: Pod) -> list[Quantities]:
    """The quantities that scheduling reads. Every pod of a cluster comes here: a list takes less time than yielding."""
    spec, status = pod.spec, pod.status
    found = [spec.overhead, status.allocated_resources]
    for container in (*spec.containers, *spec.init_containers):
        resources = container.resources
        found += resources.requests, resources.limits
    if spec.resources is not None:
        found += spec.resources.requests, spec.resources.limits
    if status.resources is not None:
        found.append(status.resources.requests)
    for each in (*status.container_statuses, *status.init_container_statuses):
        found.append(each.allocated_resources)
        if each.resources is not None:
            found.append(each.resources.requests)
    return found


# ParseQuantity takes a larger amount for this one.
_MOST = 2**63 - 1


def _in_nano(amount: int) -> str:
    return f"{min(amount, _MOST * NANO)}n"


def _round_up_to_milli(quantities: Quantities) -> None:
    """SetDefaults_ResourceList: the API server stores no parts smaller than a thousandth."""
    for name, quantity in () if are_plain(quantities.values()) else quantities.items():
        nano = nano_value(quantity)
        if nano % _NANO_PER_MILLI:
            quantities[name] = f"{min(-(-nano // _NANO_PER_MILLI), _MOST * 1000)}m"


def _name_rbd_pool(volume: Volume) -> Volume:
    """The scheduler distinguishes images of different pools."""
    if volume.rbd is None or volume.rbd.pool:
        return volume
    return replace(volume, rbd=replace(volume.rbd, pool=_RBD_POOL))


def _default_pod_level(pod: Pod) -> None:
    """defaultHugePagePodLimits, then defaultPodRequests."""
    own = pod.spec.resources
    assert own is not None
    if own.limits or own.requests:
        for name, amount in _container_limits(pod).items():
            if name.startswith(_HUGEPAGES) and name not in own.requests:
                own.limits.setdefault(name, amount)
    if not own.limits:
        return
    for name, amount in container_requests(pod).items():
        # Huge pages are never overcommitted, so their requests follow the pod's limit.
        if name in ("cpu", "memory"):
            own.requests.setdefault(name, _in_nano(amount))
    for name, quantity in own.limits.items():
        if is_pod_level_resource(name):
            own.requests.setdefault(name, quantity)


def _container_limits(pod: Pod) -> Quantities:
    """AggregateContainerLimits. Limits add up as requests do, so the sum is taken over a pod that requests them."""
    asking = Pod(
        spec=PodSpec(
            containers=tuple(_asking_for_limits(each) for each in pod.spec.containers),
            init_containers=tuple(_asking_for_limits(each) for each in pod.spec.init_containers),
        )
    )
    return {name: _in_nano(amount) for name, amount in container_requests(asking).items()}


def _asking_for_limits(container: Container) -> Container:
    return replace(container, resources=replace(container.resources, requests=container.resources.limits))


def default_node(node: Node) -> None:
    """A node that reports no allocatable can give what it has."""
    if not node.status.allocatable and node.status.capacity:
        node.status.allocatable = dict(node.status.capacity)
    _round_up_to_milli(node.status.capacity)
    _round_up_to_milli(node.status.allocatable)


def default_namespace(namespace: Namespace) -> None:
    """SetDefaults_Namespace."""
    if namespace.metadata.name:
        namespace.metadata.labels[_NAMESPACE_NAME] = namespace.metadata.name


def default_volume(volume: PersistentVolume) -> None:
    """SetDefaults_PersistentVolume."""
    spec = volume.spec
    spec.persistent_volume_reclaim_policy = spec.persistent_volume_reclaim_policy or "Retain"
    spec.volume_mode = spec.volume_mode or _FILESYSTEM
    if not volume.status.phase:
        volume.status = replace(volume.status, phase="Pending")
    _round_up_to_milli(spec.capacity)


def default_claim(claim: PersistentVolumeClaim) -> None:
    """SetDefaults_PersistentVolumeClaim and SetDefaults_PersistentVolumeClaimSpec."""
    claim.status.phase = claim.status.phase or "Pending"
    claim.spec.volume_mode = claim.spec.volume_mode or _FILESYSTEM
    _round_up_to_milli(claim.spec.resources.requests)


def default_storage_class(storage_class: StorageClass) -> None:
    storage_class.volume_binding_mode = storage_class.volume_binding_mode or "Immediate"
    storage_class.reclaim_policy = storage_class.reclaim_policy or "Delete"


_DEFAULTS: Mapping[type, Callable[[Any], None]] = {
    Pod: default_pod,
    Node: default_node,
    Namespace: default_namespace,
    PersistentVolume: default_volume,
    PersistentVolumeClaim: default_claim,
    StorageClass: default_storage_class,
}


def fill_in(item: Any) -> None:
    """Apply the defaults of the object's kind, in place. A second call changes nothing."""
    if default := _DEFAULTS.get(type(item)):
        default(item)
