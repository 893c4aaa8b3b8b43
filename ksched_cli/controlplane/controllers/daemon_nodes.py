"""What a DaemonSet has on each node: looked at again only where something has changed."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct, field

from ksched_cli.api.core import Node, Pod, PodSpec
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.cluster.undo import LoggedDict, LoggedIndex
from ksched_cli.controlplane.controllers.daemon_pods import node_of, should_run
from ksched_cli.controlplane.controllers.revisions import RevisionHistory
from ksched_cli.controlplane.pods import is_available, is_ready, ready_since
from ksched_cli.controlplane.store import Identity, Store, identity_of

_SENDS_AWAY = ("NoExecute",)


class DaemonAction(Enum):
    """What there may be to do on a node. Each comes with the pods that it is about."""

    MISSING = "a pod is to be created"
    WRONG = "pods are to be deleted"
    UPDATE = "an available pod of an old revision, on a node where the set should run"
    REPLACE = "an unavailable pod of an old revision, there too"
    OVER = "an old pod that is not needed any more"
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
        name = node_of(pod)
        if name:
            self._pods.put(name, identity_of(pod), None)
            self._changed[name] = None

    def node_changed(self, name: str) -> None:
        self._changed[name] = None

    def look(self, now: float) -> float | None:
        """Look at all nodes that have changed. Returns when the next pod becomes available by the passing of time."""
        self._undo.keep(self._due)
        self._undo.keep(self._sums)
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
            _note(view, DaemonAction.OVER, () if view.unsettled else old)
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
    strategy = item.spec.update_strategy
    rolling = strategy.rolling_update if strategy is not None and strategy.type != "OnDelete" else None
    return rolling is not None and rolling.max_surge not in (None, 0, "0%")


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
