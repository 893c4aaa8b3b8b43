"""The outcomes of pod groups that had pods to place."""

from __future__ import annotations

from ksched_cli.cluster.pod_groups import GroupKey, group_of
from ksched_cli.engine.queueing.pending import PendingQueue
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.results import PodGroupOutcome


def pod_group_outcomes(scheduler: Scheduler, queue: PendingQueue) -> tuple[PodGroupOutcome, ...]:
    """The outcomes by name; none if the gate for pod groups is off."""
    if not scheduler.schedules_groups:
        return ()
    infos = scheduler.cluster.pods.infos
    reasons: dict[GroupKey, str] = {}
    for row, status in queue.gated.items():
        key = group_of(infos[row])
        if key is not None:
            reasons.setdefault(key, status.message)
    keys = sorted({*reasons, *scheduler.group_decisions})
    return tuple(_outcome(scheduler, key, reasons.get(key, "")) for key in keys)


def _outcome(scheduler: Scheduler, key: GroupKey, held_back: str) -> PodGroupOutcome:
    group = scheduler.groups.get(key)
    gang = group.spec.scheduling_policy.gang if group else None
    decided = scheduler.group_decisions.get(key)
    return PodGroupOutcome(
        str(key),
        decided.result if decided else "gated",
        gang.min_count if gang else 0,
        len(scheduler.groups.members(key)),
        len(scheduler.groups.scheduled(key)),
        decided.message if decided else held_back,
        decided.placement if decided else "",
        scheduler.cluster.pods.names_of(decided.victims) if decided else (),
    )
