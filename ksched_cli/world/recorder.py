"""The timeline of a world, and the place of every pod in the end. It watches the API server and the scheduler and
changes neither; only what is asked for (`keeps_timeline`) is kept event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_terminal, pod_key, uid_of_pod
from ksched_cli.api.workloads import PodDisruptionBudgetStatus
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.cluster.undo import Logged, LoggedDict, LoggedList, LoggedSet, UndoLog
from ksched_cli.controlplane.budgets import needs_no_budget
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Identity, identity_of, workload_name
from ksched_cli.controlplane.successors import replaced_key
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.hints import QueuedPod, VirtualClock
from ksched_cli.engine.loop import SchedulingLoop
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.events import ASSIGNED_POD_DELETE, UNSCHEDULED_POD_DELETE
from ksched_cli.world.results import FinalPod, FinalPods, StoredPods, TimelineEvent, UnmovedPods


class RecordedWorld(Protocol):
    """What the recorder reads of a world (World)."""

    undo: UndoLog
    plane: ControlPlane
    clock: VirtualClock
    cluster: Cluster
    loop: SchedulingLoop
    scheduler: Scheduler
    wanted: Callable[[Pod], bool]

    def name_of(self, event: str) -> str: ...


class PodLife(Struct, frozen=True):
    """When a pod was created, got its node and was removed, in virtual seconds; None for what the run did not see."""

    pod: Pod
    created: float | None = None
    bound: float | None = None
    removed: float | None = None


class _LastCycle(Struct, frozen=True):
    """The last cycle of a pod, without its arrays, and how many cycles it had."""

    attempts: int
    result: str
    message: str
    unschedulable_plugins: tuple[str, ...]


class PreemptedPod(Struct, frozen=True):
    """A pod as it was when the scheduler preempted it, the key of the pod that it makes room for, and the
    PodDisruptionBudgets that did not allow it, as `namespace/name`."""

    pod: Pod
    by: str
    budgets: tuple[str, ...] = ()


class Recorder(Logged):
    """Records a world. The key of a pod is its uid, because a later pod may have the same name."""

    def __init__(self, world: RecordedWorld, *, keeps_timeline: bool = True) -> None:
        self.undo = undo = world.undo
        self._keeps_timeline = keeps_timeline
        self._world = world
        self._store, self._api = world.plane.store, world.plane.api
        self.timeline: list[TimelineEvent] = LoggedList(undo)
        # Whether a pod was tried twice or went. Without that no state of the pods has come again.
        self.has_repeats = False
        # When something was last noted.
        self.last_moment = 0.0
        # By uid, of the pods that were created, bound or removed in the run.
        self.lives: dict[str, PodLife] = LoggedDict(undo)
        self.preempted: list[PreemptedPod] = LoggedList(undo)
        self._preemptors: dict[str, str] = LoggedDict(undo)
        # Each budget's status when one of its pods was last preempted, and how many it lost in that status.
        self._budget_uses: dict[Identity, tuple[PodDisruptionBudgetStatus, int]] = LoggedDict(undo)
        # Pods to which something happened in the run of the world, and those of which `places` is made, by uid.
        self._moved: dict[str, Identity] = LoggedDict(undo)
        self._stirring: dict[str, Identity] = LoggedDict(undo)
        self._last_cycles: dict[str, _LastCycle] = LoggedDict(undo)
        self._gone: list[FinalPod] = LoggedList(undo)
        # Pods that the pod garbage collector has marked as failed before it deletes them.
        self._failed: set[str] = LoggedSet(undo)
        self._had_node: set[str] = set()
        self._lacked_node: dict[str, Identity] = {}
        for pod in self._store.of(Pod):
            if pod.spec.node_name:
                self._had_node.add(uid_of_pod(pod))
            else:
                self._lacked_node[uid_of_pod(pod)] = identity_of(pod)
            if pod.metadata.deletion_timestamp is not None and not is_terminal(pod):
                self._mark(pod)

    # Listening

    def note(self, event: str, **more: Any) -> None:
        self.last_moment = self._world.clock.now
        if self._keeps_timeline:
            self.timeline.append(TimelineEvent(round(self.last_moment, 6), event, **more))

    def note_pod(self, event: str, pod: Pod, **more: Any) -> None:
        self._mark(pod)
        if self._keeps_timeline and self._world.wanted(pod):
            self.note(event, pod=pod_key(pod), **more)
        elif self.last_moment != self._world.clock.now:
            self.last_moment = self._world.clock.now

    def _mark(self, pod: Pod) -> None:
        uid = uid_of_pod(pod)
        if uid not in self._stirring:
            self._moved[uid] = self._stirring[uid] = identity_of(pod)

    def note_preempted(self, pod: Pod, by: str) -> None:
        self.preempted.append(PreemptedPod(pod, by, self._broken_budgets(pod)))
        self._preemptors.setdefault(uid_of_pod(pod), by)
        self.note_pod("Preempted", pod, node=pod.spec.node_name, message=f"makes room for {by}")

    def _broken_budgets(self, pod: Pod) -> tuple[str, ...]:
        """The budgets of the pod that allow no more disruptions. Their status may not count the victims before yet."""
        broken = []
        for item in () if needs_no_budget(pod) else self._api.budgets.covering(pod):
            status, uses = self._budget_uses.get(identity_of(item), (item.status, 0))
            uses = uses + 1 if status is item.status else 1
            self._budget_uses[identity_of(item)] = item.status, uses
            if uses > item.status.disruptions_allowed:
                broken.append(f"{item.metadata.namespace}/{item.metadata.name}")
        return tuple(broken)

    def queued(self, pod: QueuedPod, queue: str, event: str) -> None:
        self.note_pod(event, pod.info.pod, queue=queue, message=pod.gating_message)

    def decided(self, decision: Decision) -> None:
        uid, result, message = decision.pod.uid, decision.result, decision.message
        before = self._last_cycles.get(uid)
        if before is not None and not self.has_repeats:
            self.has_repeats = True
        diagnosis = decision.diagnosis if decision.row is None else None
        plugins = diagnosis.unschedulable_plugins if diagnosis is not None else ()
        attempts = 1 if before is None else before.attempts + 1
        self._last_cycles[uid] = _LastCycle(attempts, result, message, tuple(sorted(plugins)))
        node = "" if decision.row is None else self._world.cluster.nodes.names[decision.row]
        node = node or decision.nominated_node
        self.note_pod("Cycle", decision.pod.pod, decision=result, node=node, message=message)

    def changed(self, old: Any, new: Any) -> None:
        """A watch, called before that of the scheduler: pods that come, get a node, start terminating, and go."""
        if old is new or not isinstance(old if new is None else new, Pod):
            return
        if new is None:
            self._follow(old, removed=self._world.clock.now)
            if not self._is_over(old):
                self._note_removal(old)
            return
        if new.spec.node_name and (old is None or not old.spec.node_name):
            self._follow(new, bound=self._world.clock.now)
        if old is None:
            self._follow(new, created=self._world.clock.now)
        elif new.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None:
            if not self._is_over(old):
                self.has_repeats = True
                self._mark(new)
        elif new.status.phase == "Failed" and not self._is_over(old):
            self._failed.add(uid_of_pod(new))

    def _is_over(self, pod: Pod) -> bool:
        """Whether the pod has finished, and not because its node is gone."""
        return is_terminal(pod) and uid_of_pod(pod) not in self._failed

    def _follow(self, pod: Pod, **moment: float) -> None:
        uid = uid_of_pod(pod)
        before = self.lives.get(uid)
        self.lives[uid] = PodLife(pod, **moment) if before is None else replace(before, pod=pod, **moment)

    def _note_removal(self, pod: Pod) -> None:
        self.has_repeats = True
        event = ASSIGNED_POD_DELETE if pod.spec.node_name else UNSCHEDULED_POD_DELETE
        self.note_pod(self._world.name_of(event.label), pod, node=pod.spec.node_name)
        uid = uid_of_pod(pod)
        self._stirring.pop(uid)
        self._gone.append(self._gone_pod(pod, uid))

    def _gone_pod(self, pod: Pod, uid: str) -> FinalPod:
        return FinalPod(
            pod_key(pod),
            workload_name(self._store, pod),
            "gone",
            attempts=self._attempts_of(uid),
            replaces=replaced_key(self._api.successors, pod),
            why=self._api.reasons.get(uid, ""),
            preempted_by=self._preemptors.get(uid, ""),
        )

    def _attempts_of(self, uid: str) -> int:
        last = self._last_cycles.get(uid)
        return 0 if last is None else last.attempts

    # States

    def begin_run(self) -> None:
        """Leave pods out of `places` from here on until something happens to them, except those with a deadline: their
        place changes as time goes on."""
        timed = (each for each in self._stirring.items() if self._has_deadline(*each))
        self._stirring = LoggedDict(self.undo, timed)

    def _has_deadline(self, uid: str, identity: Identity) -> bool:
        pod = self._current(uid, identity)
        if pod is None:
            return False
        return pod.metadata.deletion_timestamp is not None or self._world.loop.waiting.get(uid) is not None

    def _queued(self, pod: Pod, uid: str) -> tuple[str, QueuedPod] | None:
        """The queue in which the pod waits. A pod that has a node waits in none."""
        row = None if pod.spec.node_name else self._world.cluster.pods.row_of.get(uid)
        return None if row is None else self._world.loop.queue.find(row)

    def _current(self, uid: str, identity: Identity) -> Pod | None:
        """The stored version of this very pod, not of a later one with its name. None if it is gone or finished."""
        pod = self._store.pod(identity)
        return pod if pod is not None and uid_of_pod(pod) == uid and not is_terminal(pod) else None

    def places(self) -> dict[str, str]:
        """Where every pod that moves is, under the name that it or its first predecessor had."""
        places: dict[str, list[str]] = {}
        for uid, identity in self._stirring.items():
            pod = self._current(uid, identity)
            if pod is not None:
                places.setdefault(self._first_predecessor(pod), []).append(self._place(pod, uid))
        return {name: " ".join(sorted(found)) if len(found) > 1 else found[0] for name, found in places.items()}

    def _first_predecessor(self, pod: Pod) -> str:
        replaced = self._api.successors.replaced
        while (before := replaced.get(pod.metadata.uid)) is not None and before is not pod:
            pod = before
        return pod_key(pod)

    def _place(self, pod: Pod, uid: str) -> str:
        world, now = self._world, self._world.clock.now
        place = pod.spec.node_name or self._place_without_node(pod, uid)
        if uid in world.plane.kubelets.ends:
            place += f" until {world.plane.kubelets.ends[uid] - now}"
        held = world.loop.waiting.get(uid)
        if held is not None:
            place += f" waits {held.deadline - now}"
        return place

    def _place_without_node(self, pod: Pod, uid: str) -> str:
        """The queue in which the pod waits, and the node that it is nominated to."""
        found, row = self._queued(pod, uid), self._world.cluster.pods.row_of.get(uid)
        nominated = self._world.scheduler.nominator.node_of(row) if row is not None else ""
        return f"{found[0] if found else ''} {nominated}"

    # The end

    def final(self, *, moved_only: bool) -> FinalPods:
        """Every pod of the cluster, finished ones excepted, or those only to which something happened; and the pods
        that have gone."""
        touched = self._moved if moved_only else self._touched()
        there = [pod for pod in self._still_there(touched) if not self._is_unmoved(pod)]
        others = [*self._gone, *map(self.final_of, filter(self._world.wanted, there))]
        return FinalPods.of(others, UnmovedPods() if moved_only else self._unmoved(there))

    def _touched(self) -> dict[str, Identity]:
        """By uid, the pods to which something may have happened, and those that had no node: all other pods are
        unmoved."""
        touched = {**self._lacked_node, **self._moved}
        touched.update((uid, identity_of(life.pod)) for uid, life in self.lives.items())
        touched.update((each.info.uid, identity_of(each.info.pod)) for each in self._world.loop.queue)
        return touched

    def _unmoved(self, others: Iterable[Pod]) -> UnmovedPods:
        """The wanted pods but these. They are read later, as they are now."""
        return StoredPods.all_but(map(identity_of, others), self._store.kept(), self._world.wanted)

    def _is_unmoved(self, pod: Pod) -> bool:
        """Whether the pod had its node before the run, and nothing has happened to it."""
        uid = uid_of_pod(pod)
        return bool(pod.spec.node_name) and uid not in self._moved and uid in self._had_node

    def moved_uids(self) -> list[str]:
        """The pods to which something happened."""
        return list(self._moved)

    def _still_there(self, pods: Mapping[str, Identity]) -> Iterator[Pod]:
        for uid, identity in pods.items():
            pod = self._current(uid, identity)
            if pod is not None:
                yield pod

    def final_of(self, pod: Pod) -> FinalPod:
        """Where one pod is now."""
        if self._is_unmoved(pod):
            name = workload_name(self._store, pod)
            return FinalPod(pod_key(pod), name, "running", pod.spec.node_name, moved=False)
        uid = uid_of_pod(pod)
        row, found = self._world.cluster.pods.row_of.get(uid), self._queued(pod, uid)
        last = self._last_cycles.get(uid)
        nominated = self._world.scheduler.nominator.node_of(row) if row is not None else ""
        state, message = self._state(pod, uid, found[1] if found else None, nominated)
        failed = last is not None and state in ("unschedulable", "nominated")
        return FinalPod(
            pod_key(pod),
            workload_name(self._store, pod),
            state,
            self.node_of(pod),
            found[0] if found else "",
            self._attempts_of(uid),
            "" if pod.spec.node_name else nominated,
            replaced_key(self._api.successors, pod),
            message,
            last.unschedulable_plugins if last is not None and failed else (),
            found[1].gating_plugin if found else "",
            moved=uid in self._moved,
        )

    def node_of(self, pod: Pod) -> str:
        """The node of the pod. Of a pod that a Permit plugin holds no other object has it yet."""
        row = None if pod.spec.node_name else self._world.cluster.pods.row_of.get(uid_of_pod(pod))
        cluster = self._world.cluster
        node = NOWHERE if row is None else cluster.pods.node_of(row)
        return pod.spec.node_name if node == NOWHERE else cluster.nodes.names[node]

    def _state(self, pod: Pod, uid: str, queued: QueuedPod | None, nominated: str) -> tuple[str, str]:
        """In a word, and why."""
        last = self._last_cycles.get(uid)
        message = last.message if last else ""
        if pod.metadata.deletion_timestamp is not None:
            return "leaving", ""
        if queued is not None and queued.gated:
            return "gated", queued.gating_message
        if self._world.loop.waiting.get(uid) is not None:
            return "waiting", message
        if pod.spec.node_name:
            return ("running" if uid in self._had_node else "scheduled"), ""
        if pod.spec.scheduler_name not in self._world.scheduler.runtimes:
            return "ignored", f'no profile is named "{pod.spec.scheduler_name}"'
        if last is None:
            return "pending", ""
        return ("nominated" if nominated else last.result), message
