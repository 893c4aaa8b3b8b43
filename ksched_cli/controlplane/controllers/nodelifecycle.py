"""The controllers of nodes: a node's state becomes taints (pkg/controller/nodelifecycle), and NoExecute taints with
tolerationSeconds evict pods (pkg/controller/tainteviction). No node fails in the course of a run: conditions are those
of the input, of edits and of new nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, PodCondition, Taint
from ksched_cli.api.object_facts import is_ready, parse_time
from ksched_cli.api.selectors import tolerates
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller, Timer, WorkQueue

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
_NO_SCHEDULE = "NoSchedule"


class NodeLifecycleController(Controller):
    """Turns the conditions of a node and its cordon into taints. Keys are identities of nodes whose conditions or
    cordon have changed. The rate limit of NoExecute taints (one node in ten seconds and zone) is not modelled."""

    informers = (Node,)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        return (identity_of(new),) if new is not None and (old is None or _state(old) != _state(new)) else ()

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


_NO_EXECUTE = "NoExecute"
# Mirror pods come back at once: the kubelet of their node runs them whatever the API server holds.
_MIRROR = "kubernetes.io/config.mirror"
_NOT_TOLERATED = -1.0
WHY = "evicted by a NoExecute taint"


class _Eviction(Struct, frozen=True):
    """A pod that is to be evicted. `started`: the toleration counts from there."""

    started: float
    timer: Timer


class TaintEvictionController(Controller):
    """Deletes pods that do not tolerate a NoExecute taint of their node, when their tolerationSeconds are over. Keys
    are identities of nodes whose NoExecute taints have changed, and of pods that were bound to such nodes."""

    informers = (Node, Pod)
    pod_changes = frozenset(("created", "spec", "other", "deleted"))

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        self._evictions: dict[Identity, _Eviction] = LoggedDict(api.undo)
        # Since when the controller has seen the NoExecute taints of each node that has or had some (taintedNodes).
        tainted = [node for node in self.store.of(Node) if no_execute(node)]
        seen = {node.metadata.name: min(_tainted_since(node), api.now()) for node in tainted}
        self.tainted: dict[str, float] = LoggedDict(api.undo, seen)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        item = old if new is None else new
        if isinstance(item, Node):
            return self._node_changed(old, new)
        if new is None:
            self._cancel(identity_of(old))
        elif new.spec.node_name in self.tainted and (old is None or _is_elsewhere(old, new)):
            return (identity_of(new),)
        return ()

    def _node_changed(self, old: Any, new: Any) -> Iterable[Identity]:
        if new is None:
            return ()
        taints = no_execute(new)
        if taints == (no_execute(old) if old is not None else ()):
            return ()
        if taints:
            self.tainted[new.metadata.name] = self.api.now()
        return (identity_of(new),)

    def reconcile(self, key: Identity) -> None:
        if key[0] == "Node":
            self._sync_node(key[2])
            return
        pod = self.store.get(Pod, key[2], key[1])
        node = self.store.get(Node, pod.spec.node_name) if pod is not None else None
        if pod is not None and node is not None:
            self._process(pod, no_execute(node), self.api.now())

    def _sync_node(self, name: str) -> None:
        """handleNodeUpdate."""
        node = self.store.get(Node, name)
        if node is None:
            return
        taints, now = no_execute(node), self.api.now()
        pods = list(self.store.pods_on(name))
        for pod in self.api.deletion_order(pods) if taints else pods:
            if taints:
                self._process(pod, taints, max(self.tainted.get(name, now), _created(pod)))
            else:
                self._cancel(identity_of(pod))

    def _process(self, pod: Pod, taints: Sequence[Taint], started: float) -> None:
        """processPodOnNode: evict the pod at once, after the shortest toleration, or not at all. The toleration counts
        from `started`."""
        if _MIRROR in pod.metadata.annotations:
            return
        key, now = identity_of(pod), self.api.now()
        seconds = toleration_seconds(pod, taints)
        if seconds is None:
            self._cancel(key)
            return
        scheduled = self._evictions.get(key)
        if scheduled is not None and scheduled.started < now and seconds != _NOT_TOLERATED:
            # What was scheduled earlier stays, even where less is tolerated now.
            return
        self._cancel(key)
        left = started + seconds - now
        if left <= 0:
            self.api.delete(pod, why=WHY, disrupts=True)
            return
        timer = self.queue.at(self.queue.clock.now + left, lambda: self._evict(key))
        self._evictions[key] = _Eviction(started, timer)

    def _evict(self, key: Identity) -> None:
        """The pod is there: where it is deleted earlier, its timer is cancelled."""
        del self._evictions[key]
        self.api.delete(self.store.get(Pod, key[2], key[1]), why=WHY, disrupts=True)

    def _cancel(self, key: Identity) -> None:
        eviction = self._evictions.pop(key, None)
        if eviction is not None:
            self.queue.cancel(eviction.timer)


def _tainted_since(node: Node) -> float:
    """When the node of an input got its NoExecute taints: when its condition Ready became what it is, for the taints
    that this controller adds a moment later (timeAdded); for others, which have no time, when the run begins."""
    if all(taint.key in (_NOT_READY, _UNREACHABLE) for taint in no_execute(node)):
        for each in node.status.conditions:
            if each.type == "Ready" and each.status != "True" and each.last_transition_time:
                return parse_time(each.last_transition_time)
    return math.inf


def _created(pod: Pod) -> float:
    """A pod tolerates no taint before it exists."""
    stamp = pod.metadata.creation_timestamp
    return parse_time(stamp) if stamp else 0.0


def no_execute(node: Node) -> tuple[Taint, ...]:
    """getNoExecuteTaints."""
    return tuple(taint for taint in node.spec.taints if taint.effect == _NO_EXECUTE)


def toleration_seconds(pod: Pod, taints: Iterable[Taint]) -> float | None:
    """getMinTolerationTime of the tolerations that match: None if they are for ever, below zero if a taint has none."""
    used = []
    for taint in taints:
        # GetMatchingTolerations: of each taint the first that tolerates it.
        found = next((each for each in pod.spec.tolerations if tolerates(each, taint)), None)
        if found is None:
            return _NOT_TOLERATED
        used.append(found)
    seconds = [each.toleration_seconds for each in used if each.toleration_seconds is not None]
    return max(float(min(seconds)), 0.0) if seconds else None


def _is_elsewhere(old: Pod, new: Pod) -> bool:
    return old.spec.node_name != new.spec.node_name or old.spec.tolerations != new.spec.tolerations
