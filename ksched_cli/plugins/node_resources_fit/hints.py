"""When there may be enough resources for a pod that lacked them (NodeResourcesFit's queueing hints)."""

from __future__ import annotations

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.dynamic_resources import DeviceClass
from ksched_cli.api.pod_facts import is_same_pod
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import ResourceIndex, is_scalar
from ksched_cli.plugins.lib.devices.extended import IMPLICIT_PREFIX, ExtendedResourceIndex


class AskedOfNode:
    """A pod's requests, compared with the allocatable of nodes."""

    def __init__(self, pod: PodInfo, resources: ResourceIndex, extended: ExtendedResourceIndex) -> None:
        self._requests = [(resources.names[row], amount) for row, amount in pod.incoming_requests]
        self._extended = extended

    def fits(self, node: Node) -> bool:
        """isFit."""
        return _allocatable(node, "pods") >= 1 and all(
            amount <= _allocatable(node, name) or self._left_to_devices(node, name) for name, amount in self._requests
        )

    def more_than(self, old: Node, new: Node) -> bool:
        """haveAnyRequestedResourcesIncreased."""
        names = [name for name, _ in self._requests]
        return any(_allocatable(new, name) > _allocatable(old, name) for name in ("pods", *names)) or any(
            self._left_to_devices(new, name) for name in names
        )

    def _left_to_devices(self, node: Node, name: str) -> bool:
        return is_scalar(name) and not _allocatable(node, name) and self._extended.backs(name)


def _allocatable(node: Node, name: str) -> int:
    quantity = node.status.allocatable.get(name, 0)
    return milli_value(quantity) if name == "cpu" else value(quantity)


def scale_down_may_help(pod: Pod, old: Pod, new: Pod) -> bool:
    """isSchedulableAfterPodScaleDown: the pod itself wants less, or a placed pod wants less of what the pod wants."""
    if is_same_pod(new, pod):
        return True
    if not new.spec.node_name:
        return False
    wanted, before, after = (requests_of(each, use_status=True) for each in (pod, old, new))
    counted = (name for name, amount in wanted.items() if amount and (name in _NATIVE or is_scalar(name)))
    return any(before.get(name, 0) > after.get(name, 0) for name in counted)


_NATIVE = ("cpu", "memory", "ephemeral-storage")


def class_may_help(pod: Pod, old: DeviceClass | None, new: DeviceClass) -> bool:
    """isSchedulableAfterDeviceClassEvent: the class provides a resource that the pod requests."""
    named = new.spec.extended_resource_name
    if old is not None and (old.spec.extended_resource_name or "") == (named or ""):
        return False
    wanted = requests_of(pod, use_status=False)
    implicit = IMPLICIT_PREFIX + new.metadata.name
    return (old is None and implicit in wanted) or named in wanted
