"""What a 1.36 API server fills in before it stores an object, as far as scheduling reads it."""

from __future__ import annotations

from msgspec.structs import replace

from ksched_cli.api.core import Container, ContainerPort, Node, Pod, PodSpec, Quantities
from ksched_cli.api.resources import container_requests, is_pod_level_resource
from ksched_cli.api.storage import StorageClass

DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_NAMESPACE = "default"
_GRACE_PERIOD = 30
_HUGEPAGES = "hugepages-"


def default_pod(pod: Pod) -> None:
    """SetDefaults_Pod and SetDefaults_PodSpec, in place."""
    spec = pod.spec
    pod.metadata.namespace = pod.metadata.namespace or DEFAULT_NAMESPACE
    for container in (*spec.containers, *spec.init_containers):
        _fill_requests(container.resources.requests, container.resources.limits)
        if any(not port.protocol for port in container.ports):
            container.ports = tuple(replace(port, protocol=port.protocol or "TCP") for port in container.ports)
    if spec.resources is not None:
        _default_pod_level(pod)
    default_pod_spec(spec)
    if spec.host_network:
        for container in (*spec.containers, *spec.init_containers):
            _publish_ports(container)


def default_pod_spec(spec: PodSpec) -> None:
    """What also holds for the pods that a template is to become."""
    spec.scheduler_name = spec.scheduler_name or DEFAULT_SCHEDULER
    spec.restart_policy = spec.restart_policy or "Always"
    if spec.termination_grace_period_seconds is None:
        spec.termination_grace_period_seconds = _GRACE_PERIOD


def _fill_requests(requests: Quantities, limits: Quantities) -> None:
    """A limit without a request is a request too."""
    for name, quantity in limits.items():
        requests.setdefault(name, quantity)


def _publish_ports(container: Container) -> None:
    """On the host's network every container port is a host port."""
    container.ports = tuple(_published(port) for port in container.ports)


def _published(port: ContainerPort) -> ContainerPort:
    return port if port.host_port else replace(port, host_port=port.container_port)


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
            own.requests.setdefault(name, f"{amount}n")
    for name, quantity in own.limits.items():
        if is_pod_level_resource(name):
            own.requests.setdefault(name, quantity)


def _container_limits(pod: Pod) -> Quantities:
    """AggregateContainerLimits. Limits add up as requests do, so the sum is taken over a pod that asks for them."""
    asking = Pod(
        spec=PodSpec(
            containers=tuple(_asking_for_limits(each) for each in pod.spec.containers),
            init_containers=tuple(_asking_for_limits(each) for each in pod.spec.init_containers),
        )
    )
    return {name: f"{amount}n" for name, amount in container_requests(asking).items()}


def _asking_for_limits(container: Container) -> Container:
    return replace(container, resources=replace(container.resources, requests=container.resources.limits))


def default_node(node: Node) -> None:
    """A node that reports no allocatable can give what it has."""
    if not node.status.allocatable and node.status.capacity:
        node.status.allocatable = dict(node.status.capacity)


def default_storage_class(storage_class: StorageClass) -> None:
    storage_class.volume_binding_mode = storage_class.volume_binding_mode or "Immediate"
    storage_class.reclaim_policy = storage_class.reclaim_policy or "Delete"
