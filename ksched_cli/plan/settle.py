"""Go on until nothing moves: victims leave, their controllers make new pods, nominated pods land, backoff passes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Literal

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.resource import ResourceClaim, ResourceClaimTemplate
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.cluster.pods import NOWHERE
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.loop import SchedulingLoop, Step
from ksched_cli.engine.queue import Queue
from ksched_cli.engine.queueing.queued_pod import QueuedPod
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.events import (
    ASSIGNED_POD,
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD,
    UNSCHEDULED_POD_DELETE,
    ClusterEvent,
)
from ksched_cli.framework.status import Code, Status
from ksched_cli.plan.groups import pod_group_outcomes
from ksched_cli.plan.oscillation import Oscillation
from ksched_cli.plan.place import Telling, outcome_of
from ksched_cli.plan.results import GatedPod, PodGroupOutcome, PodOutcome
from ksched_cli.plan.returning import comes_back, successor
from ksched_cli.plan.settlement import Ending, FinalPod, Happening, Settlement
from ksched_cli.sources.controllers.claims import ephemeral_claims, templated_claims

# terminationGracePeriodSeconds where a pod does not say.
_GRACE = 30.0
_IS_LEAVING = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Limits:
    """In virtual seconds and in cycles."""

    max_time: float = 3600.0
    max_cycles: int = 100_000


@dataclass(frozen=True)
class TimedEvent:
    """Something that happens to the cluster while it settles."""

    at: float
    action: Literal["add", "update", "delete"]
    item: Any


def settle(
    scheduler: Scheduler,
    limits: Limits = Limits(),
    telling: Telling | None = None,
    events: Sequence[TimedEvent] = (),
) -> Settlement:
    """Schedule every pending pod, and go on with what follows from it until nothing moves or a limit is reached."""
    run = Settling(scheduler, telling or Telling())
    for event in events:
        run.at(event.at, partial(getattr(run.loop.handlers, event.action), event.item))
    return run.result(run.to_the_end(limits))


class Settling:
    """The world around the scheduler: kubelets that end pods, controllers that replace them, and somebody who takes
    everything down."""

    def __init__(self, scheduler: Scheduler, telling: Telling) -> None:
        self._telling = telling
        self._timeline: list[Happening] = []
        self._outcomes: dict[int, PodOutcome] = {}
        self._preempting: list[PodOutcome] = []
        self._lately: set[int] = set()
        self._attempts: dict[int, int] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._turn = count()
        self._leaves: dict[int, float] = {}
        self._origin: dict[int, str] = {}
        self._replaces: dict[int, str] = {}
        self._returned = 0
        self._cycles = 0
        self._scheduler, self._cluster = scheduler, scheduler.cluster
        self._oscillation = Oscillation()
        # The loop tells of the first pods while it is being made.
        self._now: Callable[[], float] = lambda: 0.0
        self.loop = SchedulingLoop(scheduler, moved=self._moved, heard=self._heard, decided=self._decided)
        self._now = lambda: self.loop.clock.now
        infos = self._cluster.pods.infos
        self._youngest = max((info.created for info in infos), default=0.0)
        for row, info in enumerate(infos):
            if self._cluster.pods.terminating[row] and row not in self._cluster.pods.gone:
                self._will_leave(row, _grace(info.pod) if info.pod.spec.node_name else 0.0)

    # What is heard of the scheduler

    def _note(self, event: str, row: int, **more: Any) -> None:
        info = self._cluster.pods.infos[row]
        if self._telling.wanted(info.pod):
            self._timeline.append(Happening(self._now(), event, info.key, **more))

    def _moved(self, pod: QueuedPod, queue: str, event: str) -> None:
        self._origin.setdefault(pod.row, pod.info.key)
        self._note(event, pod.row, queue=queue, message=pod.gating_message)

    def _heard(self, event: ClusterEvent, name: str) -> None:
        if event.resource not in (ASSIGNED_POD, UNSCHEDULED_POD):
            self._timeline.append(Happening(self._now(), event.label, message=f"{event.resource} {name}"))

    def _decided(self, decision: Decision) -> None:
        cluster, row = self._cluster, decision.pod_row
        self._cycles += 1
        self._attempts[row] = self._attempts.get(row, 0) + 1
        node = "" if decision.row is None else cluster.nodes.names[decision.row]
        self._note(
            "Cycle", row, decision=decision.result, node=node or decision.nominated_node, message=decision.message
        )
        if self._telling.wanted(decision.pod.pod):
            told = self._telling
            outcome = outcome_of(decision, cluster, detail=told.detail, top=told.top, doubts=told.doubts)
            self._outcomes[row] = outcome
            self._lately.add(row)
            if outcome.preemption:
                self._preempting.append(outcome)

    # What happens around it

    def at(self, moment: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (moment, next(self._turn), action))

    def _evict(self, step: Step) -> None:
        """Victims are told to leave; a controller that does not wait for that makes another pod now."""
        for decision in step.decisions:
            done = decision.preemption
            for row in done.victims if done else ():
                info = self._cluster.pods.infos[row]
                if row not in self._cluster.preempted or row in self._leaves:
                    continue
                node = self._cluster.nodes.names[self._cluster.pods.node_row[row]]
                self._origin.setdefault(row, info.key)
                self._note("Preempted", row, node=node, message=f"makes room for {decision.pod.key}")
                stamp = info.pod.metadata.deletion_timestamp or _IS_LEAVING
                metadata = replace(info.pod.metadata, deletion_timestamp=stamp)
                self.loop.handlers.update(replace(info.pod, metadata=metadata))
                self._will_leave(row, _grace(info.pod))
                if comes_back(info.pod) == "at once":
                    self._come_back(row)

    def _will_leave(self, row: int, grace: float) -> None:
        self._leaves[row] = self._now() + grace
        self._origin.setdefault(row, self._cluster.pods.infos[row].key)
        self.at(self._leaves[row], lambda: self._leave(row))

    def _leave(self, row: int) -> None:
        """The kubelet is done with the pod."""
        if row in self._cluster.pods.gone:
            return
        pod = self._cluster.pods.infos[row].pod
        event = ASSIGNED_POD_DELETE if pod.spec.node_name else UNSCHEDULED_POD_DELETE
        self._note(event.label, row, node=pod.spec.node_name)
        self.loop.handlers.delete(pod)
        self._release_claims(pod)
        if row in self._cluster.pods.gone and comes_back(pod) == "once it is gone":
            self._come_back(row)

    def _release_claims(self, pod: Pod) -> None:
        """The garbage collector and the resource claim controller: what was made for the pod goes with it, and what
        nobody uses any more is free."""
        catalog, namespace = self._cluster.catalog, pod.metadata.namespace
        for made in [*catalog.in_namespace(PersistentVolumeClaim, namespace)]:
            if _belongs_to(made.metadata, pod):
                self.loop.handlers.delete(made)
        for claim in [*catalog.in_namespace(ResourceClaim, namespace)]:
            if _belongs_to(claim.metadata, pod):
                self.loop.handlers.delete(claim)
                continue
            left = tuple(each for each in claim.status.reserved_for if each.uid != pod.metadata.uid)
            if len(left) < len(claim.status.reserved_for):
                allocation = claim.status.allocation if left else None
                status = replace(claim.status, reserved_for=left, allocation=allocation)
                self.loop.handlers.update(replace(claim, status=status))

    def _come_back(self, row: int) -> None:
        old = self._cluster.pods.infos[row]
        self._returned += 1
        made = successor(old.pod, self._returned, self._youngest + 1 + self._now())
        new = len(self._cluster.pods)
        self._origin[new], self._replaces[new] = self._origin.get(row, old.key), old.key
        self.loop.handlers.add(made)
        self._make_claims(made)

    def _make_claims(self, pod: Pod) -> None:
        """The controllers for the claims of ephemeral volumes and from templates."""
        twin = replace(pod, status=replace(pod.status))
        templates = {
            (each.metadata.namespace, each.metadata.name): each
            for each in self._cluster.catalog.all(ResourceClaimTemplate)
        }
        for claim in [*ephemeral_claims(twin), *templated_claims(twin, templates)]:
            self.loop.handlers.add(claim)
        if twin != pod:
            self.loop.handlers.update(twin)

    # To the end

    def to_the_end(self, limits: Limits) -> Ending:
        while True:
            if self._cycles >= limits.max_cycles:
                return "max-cycles"
            step = self.loop.step()
            if step is not None:
                self._evict(step)
                continue
            if self._oscillation.notice(self._now(), self._places()):
                return "oscillation"
            moment = self._next_moment()
            if moment is None:
                return "settled"
            if moment > limits.max_time:
                return "max-time"
            self.loop.advance_to(moment, self._run_timers)

    def _run_timers(self) -> None:
        while self._timers and self._timers[0][0] <= self._now():
            heapq.heappop(self._timers)[2]()

    def _next_moment(self) -> float | None:
        moments = [moment for moment in (self.loop.next_moment(),) if moment is not None]
        return min([*moments, *(timer[0] for timer in self._timers[:1])], default=None)

    def _places(self) -> dict[str, str]:
        """Where every pod that moves is, under the name that it or its first forerunner had."""
        cluster, now = self._cluster, self._now()
        places: dict[str, str] = {}
        for row, name in self._origin.items():
            if row in cluster.pods.gone:
                continue
            node = int(cluster.pods.node_row[row])
            where = cluster.nodes.names[node] if node != NOWHERE else self._queue_of(row)
            if row in self._leaves:
                where += f" until {self._leaves[row] - now}"
            held = self.loop.waiting.get(cluster.pods.infos[row].uid)
            if held is not None:
                where += f" waits {held.deadline - now}"
            nominated = self._scheduler.nominator.node_of(row)
            places[name] = f"{places.get(name, '')} {where} {nominated}"
        return places

    def _queue_of(self, row: int) -> str:
        found = self.loop.queue.find(row)
        return found[0] if found else ""

    # Steps of a scenario

    def begin_step(self, name: str) -> None:
        """From here on is another part of the timeline."""
        self._timeline.append(Happening(self._now(), "Step", message=name))
        self._lately, self._preempting = set(), []

    @property
    def preempting(self) -> tuple[PodOutcome, ...]:
        """Every cycle of this step that preempted."""
        return tuple(self._preempting)

    def tried(self) -> dict[str, PodOutcome]:
        """The last cycle of each pod that was tried in this step, or has no place yet."""
        gone = self._cluster.pods.gone
        return {
            outcome.pod: outcome
            for row, outcome in self._outcomes.items()
            if row not in gone and (row in self._lately or not outcome.node)
        }

    def gated(self) -> tuple[GatedPod, ...]:
        held = (pod for pod in self.loop.queue if pod.gated)
        return tuple(GatedPod(pod.info.key, pod.gating_plugin, (pod.gating_message,)) for pod in held)

    # The result

    def result(self, ending: Ending) -> Settlement:
        infos = self._cluster.pods.infos
        final = [self._final(row) for row in sorted(self._origin) if self._telling.wanted(infos[row].pod)]
        oscillating = ending == "oscillation"
        return Settlement(
            tuple(self._timeline),
            tuple(sorted(final, key=lambda pod: pod.pod)),
            tuple(self._outcomes.values()),
            ending,
            self._now(),
            self._cycles,
            self._oscillation.pods if oscillating else (),
            self._oscillation.period if oscillating else 0.0,
            tuple(dict.fromkeys(self.loop.hints.faults)),
            self._groups(),
        )

    def _groups(self) -> tuple[PodGroupOutcome, ...]:
        held_back = {
            pod.row: Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (pod.gating_message,), pod.gating_plugin)
            for pod in self.loop.queue
            if pod.gated
        }
        return pod_group_outcomes(self._scheduler, Queue(gated=held_back))

    def _final(self, row: int) -> FinalPod:
        cluster, info = self._cluster, self._cluster.pods.infos[row]
        found = self.loop.queue.find(row)
        outcome = self._outcomes.get(row)
        node = int(cluster.pods.node_row[row])
        state, message = self._state(row, found[1] if found else None, outcome)
        return FinalPod(
            info.key,
            state,
            cluster.nodes.names[node] if node != NOWHERE else "",
            found[0] if found else "",
            self._attempts.get(row, 0),
            self._scheduler.nominator.node_of(row) if node == NOWHERE else "",
            self._replaces.get(row, ""),
            message,
            outcome.unschedulable_plugins if outcome is not None and state in ("unschedulable", "nominated") else (),
            found[1].gating_plugin if found else "",
        )

    def _state(self, row: int, queued: QueuedPod | None, outcome: PodOutcome | None) -> tuple[str, str]:
        """In a word, and why."""
        cluster = self._cluster
        if row in cluster.pods.gone:
            return "gone", ""
        if row in self._leaves:
            return "leaving", ""
        if queued is not None and queued.gated:
            return "gated", queued.gating_message
        message = outcome.message if outcome else ""
        if self.loop.waiting.get(cluster.pods.infos[row].uid) is not None:
            return "waiting", message
        if cluster.pods.node_row[row] != NOWHERE:
            return "scheduled", ""
        if outcome is None:
            return "pending", ""
        return ("nominated" if self._scheduler.nominator.node_of(row) else outcome.result), message


def _belongs_to(metadata: ObjectMeta, pod: Pod) -> bool:
    return any(owner.controller and owner.uid == pod.metadata.uid for owner in metadata.owner_references)


def _grace(pod: Pod) -> float:
    seconds = pod.spec.termination_grace_period_seconds
    return _GRACE if seconds is None else float(seconds)
