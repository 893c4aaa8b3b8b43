"""The run up to a pod's cycle, in whatever cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ksched_cli.engine.decision import Decision
from ksched_cli.engine.queue import Queue, let_in
from ksched_cli.engine.scheduler import Scheduler, Turn
from ksched_cli.plan.explain.results import QueuePlace
from ksched_cli.plan.explain.subject import Subject


@dataclass
class Trial:
    """The pod's cycle after all those before it. `rest` are the turns that have not been taken yet."""

    decision: Decision
    before: list[Decision]
    rest: Iterator[Turn]

    def unplaced(self, scheduler: Scheduler) -> set[str]:
        """Pods of the whole queue that find no place, once all turns are taken."""
        decisions = [*self.before, *(each for turn in self.rest for each in scheduler.take(turn))]
        return {each.pod.key for each in decisions if each.row is None and not each.nominated_node}


def decide(scheduler: Scheduler, subject: Subject) -> Trial | None:
    """None if the pod is not let into the queue, or is not there any more."""
    pod_row = scheduler.cluster.pods.row_of.get(subject.uid)
    queue = scheduler.enqueue([pod_row] if subject.runs_on and pod_row is not None else None)
    if pod_row is None or pod_row not in queue.active:
        return None
    approach = run_up_to(scheduler, queue, pod_row)
    taken = scheduler.take(approach.turn)
    decision = next(each for each in taken if each.pod_row == pod_row)
    return Trial(decision, [*approach.before, *(each for each in taken if each is not decision)], approach.rest)


@dataclass
class Approach:
    """The cycles before the one that the pod has a part in, that one's turn, and those after it."""

    turn: Turn
    before: list[Decision]
    rest: Iterator[Turn]
    place: QueuePlace


def run_up_to(scheduler: Scheduler, queue: Queue, pod_row: int) -> Approach:
    """A pod that is held back has the turn that it would have if it were let in."""
    if pod_row in queue.gated:
        let_in(queue, pod_row, scheduler.cluster, scheduler.runtimes)
    before: list[Decision] = []
    turns = scheduler.turns(queue)
    for turn in turns:
        if pod_row in turn.rows:
            placed = sum(each.row is not None for each in before)
            position = len(before) + 1 + turn.rows.index(pod_row)
            return Approach(turn, before, turns, QueuePlace(position, len(queue.active), placed))
        before += scheduler.take(turn)
    raise AssertionError("the pod is in the queue")


def row_of(subject: Subject, scheduler: Scheduler) -> int:
    return scheduler.cluster.pods.row_of[subject.uid]
