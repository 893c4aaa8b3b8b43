"""The run up to a pod's cycle, in whatever cluster."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.engine.decision import Decision
from ksched_cli.engine.queueing.pending import PendingQueue, let_in
from ksched_cli.engine.scheduler import Scheduler, Turn
from ksched_cli.plan.explain.results import QueuePlace
from ksched_cli.plan.explain.subject import Subject


def decide(scheduler: Scheduler, subject: Subject) -> Decision | None:
    """The pod's cycle after all those before it. None if the pod does not reach the queue, or is gone."""
    pod_row = scheduler.cluster.pods.row_of.get(subject.uid)
    queue = scheduler.enqueue([pod_row] if subject.runs_on and pod_row is not None else None)
    if pod_row is None or pod_row not in queue.active:
        return None
    taken = scheduler.take(run_up_to(scheduler, queue, pod_row).turn)
    return next(each for each in taken if each.pod_row == pod_row)


@dataclass
class Approach:
    """The turn that the pod has a part in, and where in the queue that is."""

    turn: Turn
    place: QueuePlace


def run_up_to(scheduler: Scheduler, queue: PendingQueue, pod_row: int) -> Approach:
    """A pod that is held back has the turn that it would have if it were let in."""
    if pod_row in queue.gated:
        let_in(queue, pod_row, scheduler.cluster, scheduler.runtimes)
    before, turn = scheduler.run_up_to(queue, pod_row)
    placed = sum(each.row is not None for each in before)
    position = len(before) + 1 + turn.rows.index(pod_row)
    return Approach(turn, QueuePlace(position, len(queue.active), placed))


def row_of(subject: Subject, scheduler: Scheduler) -> int:
    return scheduler.cluster.pods.row_of[subject.uid]
