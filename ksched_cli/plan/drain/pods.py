"""The pods of a drain: where they would be without it, and what became of them.

`PendingPods` places the pending pods before any pod is evicted. `ChangesAnyway` has the pods that change without the
drain too, so that only its own effects count. `DrainReader` reads from the world what became of evicted and preempted
pods. `UnplacedReasons` keeps why a pod has no node, in kube-scheduler's words and without what preemption adds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct, field

from ksched_cli.api.core import Pod, controller_of
from ksched_cli.api.object_facts import is_terminal, pod_key, uid_of_pod
from ksched_cli.cluster.undo import LoggedDict, LoggedIndex, LoggedSet, UndoLog
from ksched_cli.controlplane.store import owner_identity
from ksched_cli.engine.decision import Decision
from ksched_cli.plan.drain.results import NOT_WAITED_FOR, DrainFilterResult, Evicted, NodeDrain, PodFate, Remark
from ksched_cli.world.recorder import PreemptedPod
from ksched_cli.world.results import Limits
from ksched_cli.world.world import World


class UnplacedReasons:
    """Called with each decision of a world; `of` has the reason of the last one of each pod, by uid."""

    def __init__(self, undo: UndoLog) -> None:
        self.of: dict[str, str] = LoggedDict(undo)

    def __call__(self, decision: Decision) -> None:
        if decision.row is None:
            diagnosis, filters = decision.diagnosis, ""
            if diagnosis is not None and decision.result != "error" and not len(decision.feasible):
                filters = diagnosis.filter_message()
            self.of[decision.pod.uid] = filters or decision.message


_NO_UIDS: frozenset[str] = frozenset()


class ChangesAnyway(Struct, frozen=True):
    """Uids of the pods that change without the drain or the failure too, such as pending pods, by the state in which
    they end: `placed` have a node, `unplaced` have none, `preempted` are preempted. A pod that controllers recreate
    counts under its first predecessor."""

    placed: frozenset[str] = _NO_UIDS
    unplaced: frozenset[str] = _NO_UIDS
    preempted: frozenset[str] = _NO_UIDS


NOTHING_MOVES = ChangesAnyway()


def changes_anyway(world: World) -> ChangesAnyway:
    """The pods that have changed in a world that has come to rest."""
    with_node = {uid: has_node(world, pod) for uid, pod in moved_predecessors(world)}
    return ChangesAnyway(
        frozenset(uid for uid, found in with_node.items() if found),
        frozenset(uid for uid, found in with_node.items() if not found),
        frozenset(uid_of_pod(each.pod) for each in world.recorder.preempted),
    )


def moved_predecessors(world: World) -> Iterator[tuple[str, Pod]]:
    """The pods to which something happened, with their uids. A chain of recreated pods is its first pod."""
    replaced, seen = world.api.successors.replaced, set[str]()
    for uid in world.recorder.moved_uids():
        life = world.recorder.lives.get(uid)
        pod = life.pod if life is not None else _tried(world, uid)
        while pod is not None and (before := replaced.get(pod.metadata.uid)) is not None and before is not pod:
            pod = before
        if pod is not None and (first := uid_of_pod(pod)) not in seen:
            seen.add(first)
            yield first, pod


def _tried(world: World, uid: str) -> Pod | None:
    """A pod that had a cycle, and was neither created nor bound."""
    row = world.cluster.pods.row_of.get(uid)
    return None if row is None else world.cluster.pods.infos[row].pod


def last_version(world: World, pod: Pod) -> Pod | None:
    """The pod that has the place of this pod now: itself, or its last successor. None if there is none."""
    return world.plane.store.same_pod(world.api.successors.last_of(pod) or pod)


def has_node(world: World, pod: Pod) -> bool:
    current = last_version(world, pod)
    return current is not None and bool(world.recorder.node_of(current))


# kubectl drain waits without end (--timeout=0). The cycles until rest are limited against what never rests.
MOST_CYCLES = 100_000


def run_until_rest(world: World) -> None:
    """Go on until nothing moves."""
    world.run(Limits(math.inf, world.cycles + MOST_CYCLES))


class PendingPods:
    """The pods that have no node before the drain. They get their nodes at once, before any pod is evicted. A trial
    checks only the pending pods that it moves."""

    def __init__(self, world: World) -> None:
        self._world, self._store = world, world.plane.store
        self._waiting = {uid_of_pod(pod.info.pod): pod.info.pod for pod in world.loop.queue if not pod.gated}
        self._placed: LoggedSet[str] = LoggedSet(world.undo)
        self._on: LoggedIndex[str, str, None] = LoggedIndex(world.undo)

    @property
    def pods(self) -> int:
        return len(self._waiting)

    @property
    def placed(self) -> int:
        return len(self._placed)

    def place(self) -> None:
        """Give each of the pods its cycle."""
        world = self._world
        world.run(Limits(world.clock.now))
        for uid in world.recorder.moved_uids():
            if uid in self._waiting:
                self._note(uid)

    def changes_anyway(self, at_rest: Callable[[], None] = lambda: None) -> ChangesAnyway:
        """Where the pods come to rest as the cluster is now, and where those do that a NoExecute taint evicts anyway.
        Everything is rolled back once `at_rest` has looked."""
        world = self._world
        if not self._waiting and not world.plane.controllers.taint_evictions.tainted:
            return NOTHING_MOVES
        with world.trial():
            self.place()
            run_until_rest(world)
            at_rest()
            return changes_anyway(world)

    def _note(self, uid: str) -> None:
        pod = self._store.same_pod(self._waiting[uid])
        node = self._world.recorder.node_of(pod) if pod is not None else ""
        if node:
            self._placed.add(uid)
            self._on.put(node, uid, None)
        else:
            self._placed.discard(uid)

    def leave(self, nodes: Sequence[str]) -> None:
        """Pods that took a place on one of these nodes wait for a node again."""
        names = frozenset(nodes)
        for uid in [uid for node in nodes for uid in self._on.get(node, ())]:
            pod = self._waiting[uid]
            current = self._store.same_pod(pod)
            if current is not None and current.spec.node_name in names:
                self._world.requeue(pod)


_WAIT = ("waits", "wait")
_NOT_RECREATED = "no controller recreates it"
_PREEMPTED = "preempted by other pods, not evicted"
_NO_KUBELET = "it stays Terminating: the kubelet of its node does not report (Ready is Unknown)"
_TOO_LATE = "the --timeout was over before a budget allowed the eviction"


class NodeDrainPlan(Struct):
    """The pods of one node, grouped by what kubectl drain does with them. `left` are those that are not evicted yet,
    `skipped` those that terminate for so long that kubectl does not wait for them."""

    name: str
    evict: list[Pod] = field(default_factory=list)
    stay: list[tuple[Pod, str]] = field(default_factory=list)
    refused: list[tuple[Pod, str]] = field(default_factory=list)
    left: list[Pod] = field(default_factory=list)
    skipped: list[Pod] = field(default_factory=list)
    # Whether kubectl gave up before all of them had left.
    timed_out: bool = False
    _warnings: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, pod: Pod, filtered: DrainFilterResult) -> None:
        if filtered.verdict == "refuse":
            self.refused.append((pod, filtered.message))
            return
        if filtered.verdict == "stay":
            self.stay.append((pod, filtered.message))
        else:
            self.evict.append(pod)
        if filtered.warns:
            self._warnings[filtered.message].append(pod_key(pod))

    def stays(self) -> list[PodFate]:
        return [PodFate(pod_key(pod), "stays", why=why) for pod, why in self.stay]

    def remarks(self) -> tuple[Remark, ...]:
        return tuple(Remark(message, tuple(pods)) for message, pods in self._warnings.items())

    def refusal(self) -> NodeDrain:
        """kubectl evicts nothing of a node with a pod that it refuses."""
        by_message: dict[str, list[str]] = {}
        for pod, message in self.refused:
            by_message.setdefault(message, []).append(pod_key(pod))
        refusals = tuple(Remark(message, tuple(pods)) for message, pods in by_message.items())
        refused = [PodFate(pod_key(pod), "refused", why=message) for pod, message in self.refused]
        waits = [PodFate(pod_key(pod), "waits") for pod in self.evict]
        return NodeDrain(
            node=self.name,
            drained=False,
            rounds=0,
            refusals=refusals,
            warnings=self.remarks(),
            pods=(*refused, *waits, *self.stays()),
        )


class DrainReader:
    """Reads what became of evicted and preempted pods from a world that is at rest. The result of a node leaves out
    pods that are preempted with the drain or without it (`preempted`)."""

    def __init__(self, world: World, reasons: UnplacedReasons, preempted: Collection[str]) -> None:
        self._world, self._reasons = world, reasons
        self._store, self._api = world.plane.store, world.api
        self._preempted = {uid_of_pod(each.pod) for each in world.recorder.preempted}.union(preempted)

    def node_drain(self, node: NodeDrainPlan) -> NodeDrain:
        if node.refused:
            return node.refusal()
        granted = self._world.plane.drainer.granted
        left, preempted = {uid_of_pod(pod) for pod in node.left}, self._preempted
        gone = {uid: pod for pod in node.evict if (uid := uid_of_pod(pod)) not in left and uid not in preempted}
        moments = sorted({granted[uid] for uid in gone if uid in granted})
        rounds = {moment: number for number, moment in enumerate(moments, 1)}
        # A pod that something else has deleted in the meantime left in no round.
        skipped = {uid_of_pod(pod) for pod in node.skipped}
        fates = [
            self._fate(pod, rounds[granted[uid]] if uid in granted else 0, uid in skipped) for uid, pod in gone.items()
        ]
        fates.sort(key=lambda fate: fate.round)
        stuck = [PodFate(pod_key(pod), "stuck", why=self._refusal(pod) or _TOO_LATE) for pod in node.left]
        pods = (*fates, *stuck, *node.stays())
        remarks = node.remarks()
        if lost := tuple(pod_key(pod) for pod in node.evict if uid_of_pod(pod) in preempted):
            remarks = (*remarks, Remark(_PREEMPTED, lost))
        if skipped:
            remarks = (*remarks, Remark(NOT_WAITED_FOR, tuple(map(pod_key, node.skipped))))
        return NodeDrain(
            node=node.name,
            drained=not node.timed_out and all(fate.fate != "stuck" for fate in pods),
            rounds=len(rounds),
            timed_out=node.timed_out,
            refusals=(),
            warnings=remarks,
            pods=pods,
        )

    def evicted(self, each: PreemptedPod) -> Evicted:
        new = self._successor(each.pod)
        successor, to = (pod_key(new), self._world.recorder.node_of(new)) if new is not None else ("", "")
        return Evicted(pod_key(each.pod), each.pod.spec.node_name, each.by, successor, to)

    def waits(self, pod: Pod) -> PodFate | None:
        """That the pod, or the pod in its place, has no node. None if it has one, or if it is deleted."""
        current = last_version(self._world, pod)
        if current is None or not self._world.recorder.final_of(current).unplaced:
            return None
        successor = pod_key(current) if uid_of_pod(current) != uid_of_pod(pod) else ""
        return PodFate(pod_key(pod), "unplaced", 0, successor, why=self._why_unplaced(current))

    def _fate(self, pod: Pod, number: int, is_skipped: bool) -> PodFate:
        new, old = self._successor(pod), self._store.same_pod(pod)
        if is_skipped and new is None and pod.metadata.deletion_timestamp:
            return PodFate(pod_key(pod), "stays", why=NOT_WAITED_FOR)
        if is_skipped and new is None and controller_of(pod.metadata) is not None:
            # Such as a StatefulSet, whose pod comes back under its name once it is gone.
            return PodFate(pod_key(pod), "unplaced", number, why=_NO_KUBELET)
        ends = old is not None and old.metadata.deletion_timestamp and not is_skipped
        if old is not None and ends and not self._world.plane.kubelets.has_kubelet(old):
            successor, to = (pod_key(new), self._world.recorder.node_of(new)) if new is not None else ("", "")
            return PodFate(pod_key(pod), "stuck", number, successor, to, why=_NO_KUBELET)
        if new is None:
            owner = owner_identity(pod)
            refused = self._api.refusals.get(owner) if owner is not None else None
            for each in refused.values() if refused is not None else ():
                return PodFate(pod_key(pod), "unplaced", number, why=each.message)
            why = _why_gone(pod)
            return PodFate(pod_key(pod), "gone", number, why=why, lost=why == _NOT_RECREATED)
        node = self._world.recorder.node_of(new)
        if node:
            return PodFate(pod_key(pod), "moves", number, pod_key(new), node)
        return PodFate(pod_key(pod), "unplaced", number, pod_key(new), why=self._why_unplaced(new))

    def _why_unplaced(self, pod: Pod) -> str:
        return self._reasons.of.get(uid_of_pod(pod)) or self._world.recorder.final_of(pod).message

    def _successor(self, pod: Pod) -> Pod | None:
        """The pod that has this one's place in the end. None if no controller has made one that remains."""
        new = self._api.successors.last_of(pod)
        return self._store.same_pod(new) if new is not None else None

    def _refusal(self, pod: Pod) -> str:
        """Why the eviction API keeps the pod, and which pods of its budget have no node."""
        text, covering = self._api.budgets.refusal(pod), self._api.budgets.covering(pod)
        if len(covering) > 1:
            return text
        covered = [each for item in covering for each in self._api.budgets.covered(item)]
        waiting = sorted(pod_key(each) for each in covered if not each.spec.node_name)
        return f"{text}: {', '.join(waiting)} {_WAIT[len(waiting) > 1]} for a place" if waiting else text


def _why_gone(pod: Pod) -> str:
    if is_terminal(pod):
        return "it is finished"
    if pod.metadata.deletion_timestamp is not None:
        return "it is being deleted already"
    return _NOT_RECREATED
