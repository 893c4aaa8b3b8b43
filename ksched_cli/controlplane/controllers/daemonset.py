"""The DaemonSet controller (pkg/controller/daemon): what a DaemonSet has on each node, and its rollouts. A node is
looked at again only where something has changed."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct, field

from ksched_cli.api.core import Node, Pod, PodSpec
from ksched_cli.api.object_facts import is_available, is_ready, is_terminal, ready_since
from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.workloads import DaemonSet, RollingUpdate, scaled_value
from ksched_cli.cluster.undo import LoggedDict, LoggedIndex
from ksched_cli.controlplane.api_server import ApiServer, Refusal
from ksched_cli.controlplane.controllers.daemon_pods import (
    bound_to,
    daemon_node_of,
    daemon_spec,
    daemon_tolerations,
    should_run,
)
from ksched_cli.controlplane.controllers.revisions import REVISION_LABEL, RevisionHistory
from ksched_cli.controlplane.controllers.statefulset import ON_DELETE, strategy_of
from ksched_cli.controlplane.store import Identity, Store, identity_of, owner_identity
from ksched_cli.controlplane.work import Controller, WorkQueue
from ksched_cli.sources.templates import owner_reference, stamp

_SENDS_AWAY = ("NoExecute",)


class DaemonAction(Enum):
    """What there may be to do on a node. Each comes with the pods that it is about."""

    MISSING = "a pod is to be created"
    WRONG = "pods are to be deleted"
    UPDATE = "an available pod of an old revision, on a node where the set should run"
    REPLACE = "an unavailable pod of an old revision, there too"
    OVER = "an unavailable old pod on a node where the set should not run"
    ELSEWHERE = "an available old pod on a node where the set should not run"


class DaemonStatus(Struct, frozen=True):
    """DaemonSetStatus."""

    desired: int
    current: int
    misscheduled: int
    ready: int
    available: int
    updated: int


class NodeView(Struct):
    """One node. `unsettled` counts against maxUnavailable, or with surge against maxSurge; `serves`: 1 if the pod
    of the node is available, the old one first."""

    found: dict[DaemonAction, tuple[Pod, ...]] = field(default_factory=dict)
    status: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    unsettled: int = 0
    serves: int = 0
    # When a pod that is ready becomes available.
    due: float | None = None


class DaemonNodes:
    """The views of all nodes for one DaemonSet with one spec, and their sums."""

    def __init__(
        self, store: Store, item: DaemonSet, spec: PodSpec, history: RevisionHistory, pods: Iterable[Pod]
    ) -> None:
        """`spec` is that of the pods, with the tolerations that the controller adds."""
        self._store, self._item, self._spec, self._history = store, item, spec, history
        self._revision = history.update_revision(item).name
        self._selector = selector_of_controller(item.spec.selector)
        self._least = item.spec.min_ready_seconds
        self._surges = allows_surge(item)
        self._undo = store.undo
        self._pods: LoggedIndex[str, Identity, None] = LoggedIndex(store.undo)
        self._verdicts: dict[str, tuple[Node, bool, bool]] = {}
        self._views: dict[str, NodeView] = LoggedDict(store.undo)
        self._due: list[tuple[float, str]] = []
        self._sums = [0] * 8
        self.found: dict[DaemonAction, dict[str, tuple[Pod, ...]]] = {
            what: LoggedDict(store.undo) for what in DaemonAction
        }
        # Nodes to look at again: a dict is an ordered set.
        names = dict.fromkeys(sorted(node.metadata.name for node in store.of(Node)))
        self._changed: dict[str, None] = LoggedDict(store.undo, names)
        for pod in pods:
            self.pod_changed(pod)

    def is_of(self, item: DaemonSet) -> bool:
        return self._item.spec is item.spec

    def is_updated(self, pod: Pod) -> bool:
        return self._history.revision_of(pod) == self._revision

    # What has changed

    def pod_changed(self, pod: Pod) -> None:
        name = daemon_node_of(pod)
        if name:
            self._pods.put(name, identity_of(pod), None)
            self._changed[name] = None

    def node_changed(self, name: str) -> None:
        self._changed[name] = None

    def look(self, now: float) -> float | None:
        """Look at all nodes that have changed. Returns when the next pod becomes available by the passing of time."""
        self._undo.save_copy(self._due)
        self._undo.save_copy(self._sums)
        while self._due and self._due[0][0] <= now:
            self._changed[heapq.heappop(self._due)[1]] = None
        changed = list(self._changed)
        self._changed.clear()
        for name in changed:
            old, new = self._views.get(name, NodeView()), self._look_at(name, now)
            for what in old.found:
                del self.found[what][name]
            for what, pods in new.found.items():
                self.found[what][name] = pods
            for at, (before, after) in enumerate(zip(_numbers(old), _numbers(new), strict=True)):
                self._sums[at] += after - before
            self._views[name] = new
            if new.due is not None:
                heapq.heappush(self._due, (new.due, name))
        return self._due[0][0] if self._due else None

    # What there is

    @property
    def status(self) -> DaemonStatus:
        return DaemonStatus(*self._sums[:6])

    @property
    def unsettled(self) -> int:
        return self._sums[6]

    @property
    def serving(self) -> int:
        return self._sums[7]

    def verdict(self, node: Node) -> tuple[bool, bool]:
        """NodeShouldRunDaemonPod: whether a pod should run there, and whether one that runs there may go on. A taint
        that only keeps pods from coming does not send them away."""
        known = self._verdicts.get(node.metadata.name)
        if known is None or known[0] is not node:
            runs = should_run(self._spec, node)
            known = self._verdicts[node.metadata.name] = node, runs, runs or should_run(self._spec, node, _SENDS_AWAY)
        return known[1], known[2]

    def _look_at(self, name: str, now: float) -> NodeView:
        node = self._store.get(Node, name)
        pods = self._current_pods(name)
        view = NodeView()
        runs, goes_on = self.verdict(node) if node is not None else (False, False)
        if node is None:
            # getUnscheduledPodsWithoutNode
            _note(view, DaemonAction.WRONG, [pod for pod in _staying(pods) if not pod.spec.node_name])
        else:
            self._manage(view, pods, runs, goes_on, now)
            self._count(view, pods, runs, now)
        if pods or runs:
            self._roll(view, pods, runs, now)
        if self._least:
            moments = (ready_since(pod) + self._least for pod in pods if is_ready(pod))
            view.due = min((moment for moment in moments if moment > now), default=None)
        return view

    def _current_pods(self, name: str) -> list[Pod]:
        """getNodesToDaemonPods, of one node."""
        pods = []
        for identity in list(self._pods.get(name, ())):
            pod = self._store.get(Pod, identity[2], identity[1])
            if pod is None or not self._selector.matches(pod.metadata.labels):
                self._pods.drop(name, identity)
            elif not (is_terminal(pod) and pod.metadata.deletion_timestamp):
                pods.append(pod)
        return pods

    def _manage(self, view: NodeView, pods: Sequence[Pod], runs: bool, goes_on: bool, now: float) -> None:
        """podsShouldBeOnNode."""
        if not pods:
            if runs:
                view.found[DaemonAction.MISSING] = ()
        elif goes_on:
            _note(view, DaemonAction.WRONG, self._surplus(pods, now))
            if runs and self._surges and all(map(is_terminal, _staying(pods))):
                view.found[DaemonAction.MISSING] = ()
        else:
            _note(view, DaemonAction.WRONG, _staying(pods))

    def _surplus(self, pods: Iterable[Pod], now: float) -> list[Pod]:
        """Finished pods, and all but the oldest. With surge one pod of the new revision may wait beside a ready one of
        an old revision."""
        staying = _staying(pods)
        wrong = [pod for pod in staying if is_terminal(pod)]
        working = sorted((pod for pod in staying if not is_terminal(pod)), key=_by_age)
        if not self._surges or len(working) <= 1:
            return [*wrong, *working[1:]]
        new = [pod for pod in working if self.is_updated(pod)]
        old = [pod for pod in working if not self.is_updated(pod)]
        wrong += [*new[1:], *old[1:]]
        if new and old and (not is_ready(old[0]) or self._is_available(new[0], now)):
            wrong.append(old[0])
        return wrong

    def _roll(self, view: NodeView, pods: Iterable[Pod], runs: bool, now: float) -> None:
        """What rollingUpdate counts, of one node (findUpdatedPodsOnNode)."""
        new = [pod for pod in _staying(pods) if self.is_updated(pod)]
        old = [pod for pod in _staying(pods) if not self.is_updated(pod)]
        if len(new) > 1 or len(old) > 1:
            view.unsettled = 1
        elif self._surges:
            self._roll_by_surge(view, new, old, runs, now)
        elif len(new) == len(old):
            view.unsettled = 1
        elif new:
            view.unsettled = not self._is_available(new[0], now)
        else:
            view.unsettled = not self._is_available(old[0], now)
            _note(view, DaemonAction.REPLACE if view.unsettled else DaemonAction.UPDATE, old)

    def _roll_by_surge(self, view: NodeView, new: Sequence[Pod], old: Sequence[Pod], runs: bool, now: float) -> None:
        serves = any(self._is_available(pod, now) for pod in (old or new))
        view.serves = serves
        if old and new:
            view.unsettled = not self._is_available(new[0], now)
        elif old and runs:
            _note(view, DaemonAction.UPDATE if serves else DaemonAction.REPLACE, old)
        elif old:
            _note(view, DaemonAction.ELSEWHERE if serves else DaemonAction.OVER, old)

    def _count(self, view: NodeView, pods: Sequence[Pod], runs: bool, now: float) -> None:
        """updateDaemonSetStatus: the oldest pod counts."""
        if not runs:
            view.status = (0, 0, bool(pods), 0, 0, 0)
        elif pods:
            oldest = min(pods, key=_by_age)
            view.status = (1, 1, 0, is_ready(oldest), self._is_available(oldest, now), self.is_updated(oldest))
        else:
            view.status = (1, 0, 0, 0, 0, 0)

    def _is_available(self, pod: Pod, now: float) -> bool:
        return is_available(pod, self._least, now)


def allows_surge(item: DaemonSet) -> bool:
    return strategy_of(item) != ON_DELETE and _rolling(item).max_surge not in (None, 0, "0%")


def _staying(pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.metadata.deletion_timestamp is None]


def _note(view: NodeView, what: DaemonAction, pods: Iterable[Pod]) -> None:
    found = tuple(pods)
    if found:
        view.found[what] = found


def _numbers(view: NodeView) -> tuple[int, ...]:
    return *view.status, view.unsettled, view.serves


def _by_age(pod: Pod) -> tuple[Any, ...]:
    """podByCreationTimestampAndPhase."""
    return not pod.spec.node_name, pod.metadata.creation_timestamp or "", pod.metadata.name


# BurstReplicas: no more pods are created or deleted in one reconcile.
_BURST = 250
# A draw among very many nodes has only so many more options than are taken.
_MORE_OPTIONS = 16


class DaemonSetController(Controller):
    """Keeps one pod of each DaemonSet on each node that should run one, and replaces the pods of old revisions. Keys
    are identities of DaemonSets, and of nodes that have changed."""

    informers = (DaemonSet, Pod, Node)
    serves = (DaemonSet,)

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        self.history = RevisionHistory(self.store, DaemonSet, lambda item, digest: digest)
        self._nodes: dict[Identity, DaemonNodes] = LoggedDict(api.undo)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        item = old if new is None else new
        if isinstance(item, DaemonSet):
            return (identity_of(item),)
        if isinstance(item, Pod):
            return self._owners(item)
        if old is None or new is None or _has_changed(old, new):
            for nodes in self._nodes.values():
                nodes.node_changed(item.metadata.name)
            return () if new is None else (identity_of(new),)
        return ()

    def _owners(self, pod: Pod) -> Iterator[Identity]:
        """The set that controls the pod; for a pod without a controller, the sets that would adopt it."""
        owner = owner_identity(pod)
        owners = self.adopters(pod) if owner is None else [owner] if owner[0] == "DaemonSet" else []
        for identity in owners:
            nodes = self._nodes.get(identity)
            if nodes is not None:
                nodes.pod_changed(pod)
            yield identity

    def adopters(self, pod: Pod) -> list[Identity]:
        """The sets that would adopt a pod without a controller."""
        found = (each for each in self.store.of(DaemonSet) if each.metadata.namespace == pod.metadata.namespace)
        return [identity_of(each) for each in found if _selects(each, pod)]

    def reconcile(self, key: Identity) -> None:
        if key[0] == "Node":
            self._sync_node(key[2])
            return
        item = self.store.get(DaemonSet, key[2], key[1])
        if item is None or item.metadata.deletion_timestamp is not None or item.spec.template is None:
            return
        if not selector_of_controller(item.spec.selector).matches(item.spec.template.metadata.labels):
            # The API server accepts no such set. It would create pods without end, for it would find none of them.
            return
        nodes = self._nodes_of(item)
        self._look(item, nodes)
        try:
            # What has been created or deleted is seen in the next reconcile (SatisfiedExpectations).
            if not self._manage(item, nodes) and strategy_of(item) != ON_DELETE:
                self._roll(item, nodes)
        finally:
            self._look(item, nodes)
            self.api.statuses.set(item, nodes.status)

    def prepare(self) -> None:
        """Look at all nodes before a mark, so that trials look only at those that they change."""
        for item in self.store.of(DaemonSet):
            if item.spec.template is not None:
                self._nodes_of(item).look(self.api.now())

    def _look(self, item: DaemonSet, nodes: DaemonNodes) -> None:
        due = nodes.look(self.api.now())
        if due is not None:
            self.queue.add_after(self, identity_of(item), due - self.api.now())

    def _sync_node(self, name: str) -> None:
        """syncNodeUpdate: which DaemonSets have something to do on the node."""
        node = self.store.get(Node, name)
        if node is None:
            return
        served = {owner_identity(pod) for pod in self.store.pods_on(name)}
        for item in self.store.of(DaemonSet):
            if item.spec.template is None:
                continue
            runs, goes_on = self._nodes_of(item).verdict(node)
            has_pod = identity_of(item) in served
            status = self.api.statuses.get(item)
            wrong = has_pod and isinstance(status, DaemonStatus) and status.misscheduled > 0
            if (runs and not has_pod) or (has_pod and not goes_on) or wrong:
                self.queue.add(self, identity_of(item))

    def _nodes_of(self, item: DaemonSet) -> DaemonNodes:
        identity = identity_of(item)
        known = self._nodes.get(identity)
        if known is None or not known.is_of(item):
            nodes = DaemonNodes(self.store, item, daemon_spec(item), self.history, self.claimed(item))
            known = self._nodes[identity] = nodes
        return known

    def claimed(self, item: DaemonSet) -> list[Pod]:
        """getDaemonPods: its own, and those without a controller that it adopts."""
        selector = selector_of_controller(item.spec.selector)
        own = [pod for pod in self.store.pods_of(item) if selector.matches(pod.metadata.labels)]
        orphans = (pod for pod in self.store.orphans(item.metadata.namespace) if not pod.metadata.deletion_timestamp)
        return [*own, *(pod for pod in orphans if selector.matches(pod.metadata.labels))]

    def status(self, item: DaemonSet) -> DaemonStatus:
        """DaemonSetStatus as of now."""
        nodes = self._nodes_of(item)
        self._look(item, nodes)
        return nodes.status

    # manage

    def _manage(self, item: DaemonSet, nodes: DaemonNodes) -> bool:
        """Create and delete pods so that the right nodes have one. Returns whether there was something to do."""
        missing, wrong = nodes.found[DaemonAction.MISSING], nodes.found[DaemonAction.WRONG]
        if not missing and not wrong:
            return False
        self._sync_nodes(item, sorted(missing), _pods(wrong))
        return True

    # rollingUpdate

    def _roll(self, item: DaemonSet, nodes: DaemonNodes) -> None:
        """Without surge, old pods are deleted: those that are unavailable, and as many others as may be unavailable.
        With surge, new pods come beside old ones, which go when the new ones are available."""
        desired = nodes.status.desired
        replaced, updated = nodes.found[DaemonAction.REPLACE], nodes.found[DaemonAction.UPDATE]
        surge, unavailable = surge_and_unavailable(item, desired)
        if not surge:
            chosen = self._some(item, updated, unavailable - nodes.unsettled)
            self._sync_nodes(item, (), [*_pods(replaced), *(pod for name in chosen for pod in updated[name])])
            return
        elsewhere = nodes.found[DaemonAction.ELSEWHERE]
        spare = self._some(item, elsewhere, nodes.serving - desired)
        allowed = [*sorted(replaced), *self._some(item, updated, surge - nodes.unsettled)]
        leaving = [*_pods(nodes.found[DaemonAction.OVER]), *(pod for name in spare for pod in elsewhere[name])]
        self._sync_nodes(item, allowed, leaving)

    def _some(self, item: DaemonSet, found: Mapping[str, object], count: int) -> list[str]:
        """So many of the nodes. Go takes them in the order of a map: which ones is a draw."""
        if count <= 0 or not found:
            return []
        if count >= len(found):
            return sorted(found)
        options = [(name, name) for name in heapq.nsmallest(count + _MORE_OPTIONS, found)]
        return self.api.draws.take("nodes of a rollout", "/".join(identity_of(item)), options, count)

    # syncNodes

    def _sync_nodes(self, item: DaemonSet, missing: Iterable[str], wrong: Iterable[Pod]) -> None:
        for pod in list(wrong)[:_BURST]:
            self.api.delete(pod, why=f"DaemonSet {item.metadata.name} does not want the pod any more")
        self._create_on(item, list(missing)[:_BURST])

    def _create_on(self, item: DaemonSet, names: list[str]) -> None:
        """Go takes the nodes in the order of a map. Which one is first matters if not all pods are created."""
        draws, subject = self.api.draws, "/".join(identity_of(item))
        options, others = names[:_MORE_OPTIONS], names[_MORE_OPTIONS:]
        ordered = draws.in_order("first nodes", subject, options)
        created: list[str] = []
        try:
            for name in (*ordered, *others):
                self._create(item, name)
                created.append(name)
        except Refusal:
            if len(options) > 1 and len(created) < len(options):
                draws.note("first nodes", subject, options, created)
            raise

    def _create(self, item: DaemonSet, node: str) -> None:
        metadata, template = item.metadata, item.spec.template
        assert template is not None
        name = self.api.successors.new_name(f"{metadata.name}-", metadata.namespace, identity_of(item), node)
        pod = stamp(template, metadata.namespace, name, owner_reference("DaemonSet", "apps/v1", metadata))
        pod.metadata.labels[REVISION_LABEL] = self.history.update_revision(item).name
        pod.spec.tolerations = daemon_tolerations(pod.spec)
        pod.spec.affinity = bound_to(pod.spec.affinity, node)
        self.api.create_for(item, pod)


def _has_changed(old: Node, new: Node) -> bool:
    """shouldIgnoreNodeUpdate, the other way round."""
    return old.metadata.labels != new.metadata.labels or old.spec.taints != new.spec.taints


def _selects(item: DaemonSet, pod: Pod) -> bool:
    return selector_of_controller(item.spec.selector).matches(pod.metadata.labels)


def _pods(found: Mapping[str, tuple[Pod, ...]]) -> list[Pod]:
    return [pod for name in sorted(found) for pod in found[name]]


def _rolling(item: DaemonSet) -> RollingUpdate:
    strategy = item.spec.update_strategy
    return (strategy.rolling_update if strategy is not None else None) or RollingUpdate()


def surge_and_unavailable(item: DaemonSet, desired: int) -> tuple[int, int]:
    """updatedDesiredNodeCounts: where neither is allowed, one pod at a time may be unavailable. SetDefaults_DaemonSet:
    one pod may be unavailable."""
    rolling = _rolling(item)
    surge = scaled_value(rolling.max_surge, desired, up=True) if allows_surge(item) else 0
    unavailable = scaled_value(1 if rolling.max_unavailable is None else rolling.max_unavailable, desired, up=True)
    return surge, unavailable if surge or unavailable else 1
