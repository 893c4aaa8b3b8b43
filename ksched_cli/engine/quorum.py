"""The cycle of a pod group as it is with PlacementFeasible: it ends once the quorum is out of reach, and preemption is
for the group alone (schedule_one_podgroup.go).

No pod keeps its node before the group has its quorum. Then all are assumed there at once, and Permit and Bind follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.engine.cycle.runtime import Runtime
from ksched_cli.engine.faults import CycleError, plugin_faults
from ksched_cli.engine.gang import (
    UNSCHEDULABLE,
    GroupAttempt,
    GroupCycle,
    GroupDecision,
    MemberAttempt,
    reject,
)
from ksched_cli.framework.interfaces import PodGroupPostFilterResult
from ksched_cli.framework.status import SUCCESS, Code, Status


@runtime_checkable
class PlacementFeasible(Protocol):
    """Plugins that may end the cycle of a pod group early. There is no extension point for it in the configuration."""

    name: str

    def placement_feasible(self, key: GroupKey, scheduled: int, remaining: int) -> Status:
        """Called before the first pod of the group is tried and after each. Unschedulable: there is no use in going on;
        WAIT: the group needs more of its pods; success: it has enough."""


class QuorumCycle(GroupCycle):
    permits_in_trial = False

    def _run(self, group: GroupDecision, runtime: Runtime, rows: Sequence[int]) -> None:
        trial = self._try_group(group, runtime, rows)
        self._take_back(runtime, trial)
        group.result, group.message = trial.result, trial.message
        # Pods that were not tried have the message of the group without that of preemption.
        untried = self._untried(rows[len(trial.attempts) :], group.message)
        found = self._make_room(group, runtime, rows) if group.result == "unschedulable" else None
        group.decisions.extend(attempt.decision for attempt in trial.attempts)
        if group.result == "error":
            self._end_in_error(group, trial.attempts, rows)
            return
        group.decisions.extend(untried)
        for decision in group.decisions:
            decision.group_victims = group.victims
        placed = [attempt for attempt in trial.attempts if attempt.row is not None]
        if group.result == "scheduled":
            self._bind_all(runtime, placed)
            self._lose_nominations(attempt for attempt in trial.attempts if attempt.decision.row is None)
        elif found is not None:
            self._await_victims(group, trial, found)
        else:
            for attempt in placed:
                reject(attempt.decision, "unschedulable", f"{UNSCHEDULABLE}, {group.message}")
            self._lose_nominations(trial.attempts)

    def _make_room(
        self, group: GroupDecision, runtime: Runtime, rows: Sequence[int]
    ) -> PodGroupPostFilterResult | None:
        """RunPodGroupPostFilterPlugins and applyPodGroupPostFilterResult; None if it makes no room."""
        if not self._preempts or runtime.profile.pod_group_post_filter is None:
            return None
        found = self._find_victims(group.key, runtime, rows)
        if isinstance(found, Status) and found.code is Code.ERROR:
            group.result, group.message = "error", found.message
            return None
        group.message = f"{group.message}, {found.message}"
        if isinstance(found, Status):
            return None
        group.result, group.victims = "waiting", found.victims
        self._cluster.preempt(found.victims)
        return found

    def _await_victims(self, group: GroupDecision, trial: GroupAttempt, found: PodGroupPostFilterResult) -> None:
        """The group comes back when the victims are gone, each pod to the node that it is nominated to."""
        for attempt in trial.attempts:
            if attempt.row is not None:
                reject(attempt.decision, "unschedulable", group.message)
            elif found.nominations is not None:
                self._nominator.delete(attempt.decision.pod_row)
        self._nominate(group, found.nominations or {})

    def _lose_nominations(self, attempts: Iterable[MemberAttempt]) -> None:
        for attempt in attempts:
            self._nominator.delete(attempt.decision.pod_row)

    # Trials

    def _try_group(self, group: GroupDecision, runtime: Runtime, rows: Sequence[int]) -> GroupAttempt:
        """podGroupSchedulingAlgorithm, of which at least one pod has to come."""
        self._cycle.skips_post_filter = True
        try:
            trial = super()._try_group(group, runtime, rows)
        finally:
            self._cycle.skips_post_filter = False
        if trial.result == "scheduled" and not trial.proposed:
            trial.result, trial.message = "unschedulable", UNSCHEDULABLE
        return trial

    def _try_all(self, key: GroupKey, runtime: Runtime, rows: Sequence[int]) -> GroupAttempt:
        trial = GroupAttempt()
        judges = [plugin for plugin in runtime.profile.plugins if isinstance(plugin, PlacementFeasible)]
        scheduled, remaining = len(self._groups.scheduled(key)), len(rows)
        if _judge(trial, judges, runtime, key, scheduled, remaining):
            return trial
        for row in rows:
            attempt = self._try(runtime, row)
            trial.attempts.append(attempt)
            if attempt.decision.result == "error" and attempt.row is None:
                trial.result = "error"
                trial.message = f"failed to schedule other pod from a pod group: {attempt.decision.message}"
                break
            remaining -= 1
            scheduled += attempt.row is not None
            if _judge(trial, judges, runtime, key, scheduled, remaining):
                break
        return trial

    def _try(self, runtime: Runtime, row: int) -> MemberAttempt:
        attempt = super()._try(runtime, row)
        decision = attempt.decision
        if attempt.row is None and decision.result == "unschedulable" and not decision.message:
            assert decision.diagnosis is not None
            decision.message = decision.diagnosis.message()
        return attempt

    def _apply(self, runtime: Runtime, trial: GroupAttempt) -> None:
        """The group is assumed when its result is submitted."""

    # Binding

    def _bind_all(self, runtime: Runtime, placed: Sequence[MemberAttempt]) -> None:
        """prepareForBindingCycle and the binding cycles. Permit sees the group assumed as a whole: what it
        holds it lets go as soon as the last of the quorum comes."""
        for step in (self._assume, self._permit, self._bind):
            for attempt in placed:
                if attempt.row is None:
                    continue
                try:
                    step(runtime, attempt, attempt.row)
                except CycleError as problem:
                    attempt.row = None
                    self._cycle.give_up(attempt.decision, problem)


def _judge(
    trial: GroupAttempt,
    judges: Iterable[PlacementFeasible],
    runtime: Runtime,
    key: GroupKey,
    scheduled: int,
    remaining: int,
) -> bool:
    """RunPlacementFeasiblePlugins: whether it is of no use to go on."""
    status = SUCCESS
    for plugin in judges:
        with plugin_faults(plugin.name, "placementFeasible"):
            answer = plugin.placement_feasible(key, scheduled, remaining)
        if not answer.ok:
            status = answer
            if answer.code is not Code.WAIT:
                break
    if status.ok:
        trial.result, trial.message = "scheduled", ""
    elif status.code is Code.ERROR:
        trial.result, trial.message = "error", f"failed to evaluate placement feasibility: {status.message}"
    elif status.code is not Code.WAIT and trial.attempts:
        # The status of the plugin is that of the group, without errPodGroupUnschedulable.
        trial.result, trial.message = "unschedulable", status.message
        trial.refusal = status.message
    else:
        trial.result, trial.message = "unschedulable", f"{UNSCHEDULABLE}, {status.message}"
        trial.refusal = UNSCHEDULABLE
    return not status.ok and status.code is not Code.WAIT
