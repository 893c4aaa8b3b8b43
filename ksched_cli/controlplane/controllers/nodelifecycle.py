"""The node lifecycle controller (pkg/controller/nodelifecycle): a node's state becomes taints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, PodCondition, Taint
from ksched_cli.controlplane.pods import is_ready
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller

_NOT_READY, _UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
# nodeConditionToTaintKeyStatusMap.
_KEYS: Mapping[tuple[str, str], str] = {
    ("Ready", "False"): _NOT_READY,
    ("Ready", "Unknown"): _UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OWN_KEYS = {*_KEYS.values(), _UNSCHEDULABLE}
_NO_SCHEDULE, _NO_EXECUTE = "NoSchedule", "NoExecute"


class NodeLifecycleController(Controller):
    """Keys are identities of nodes that have changed in what becomes a taint. The rate limit of NoExecute taints (one
    node in ten seconds and zone) is not modelled."""

    informers = (Node,)

    def concerned(self, old: Any, new: Any) -> Iterable[Identity]:
        if isinstance(new, Node) and (old is None or _state(old) != _state(new)):
            return (identity_of(new),)
        return ()

    def reconcile(self, key: Identity) -> None:
        node = self.store.get(Node, key[2])
        if node is None:
            return
        wanted = _wanted_taints(node)
        reports = any(each.type == "Ready" for each in node.status.conditions)
        kept = tuple(taint for taint in node.spec.taints if taint in wanted or not _is_own(taint, reports))
        taints = (*kept, *(taint for taint in wanted if taint not in kept))
        if taints != node.spec.taints:
            self.api.replace(node, replace(node, spec=replace(node.spec, taints=taints)))
        if any(each.type == "Ready" and each.status != "True" for each in node.status.conditions):
            self._mark_pods_not_ready(key[2])

    def _mark_pods_not_ready(self, node: str) -> None:
        """MarkPodsNotReady."""
        since = self.api.timestamp()
        for pod in self.store.pods_on(node):
            if is_ready(pod):
                self.api.update(_not_ready(pod, since))


def _state(node: Node) -> tuple[object, ...]:
    return node.spec.unschedulable, node.status.conditions


def _wanted_taints(node: Node) -> list[Taint]:
    """doNoScheduleTaintingPass and processTaintBaseEviction."""
    found = [_KEYS.get((each.type, each.status)) for each in node.status.conditions]
    keys = [key for key in found if key is not None]
    taints = [Taint(key=key, effect=_NO_SCHEDULE) for key in keys]
    if node.spec.unschedulable:
        taints.append(Taint(key=_UNSCHEDULABLE, effect=_NO_SCHEDULE))
    return [*taints, *(Taint(key=key, effect=_NO_EXECUTE) for key in keys if key in (_NOT_READY, _UNREACHABLE))]


def _is_own(taint: Taint, reports_ready: bool) -> bool:
    """Whether this controller takes the taint away when its cause is gone. NoExecute taints follow the condition Ready;
    without that condition they stay."""
    if taint.effect == _NO_EXECUTE:
        return reports_ready and taint.key in (_NOT_READY, _UNREACHABLE)
    return taint.effect == _NO_SCHEDULE and taint.key in _OWN_KEYS


def _not_ready(pod: Pod, since: str) -> Pod:
    others = tuple(each for each in pod.status.conditions if each.type != "Ready")
    conditions = (*others, PodCondition("Ready", "False", last_transition_time=since))
    return replace(pod, status=replace(pod.status, conditions=conditions))
