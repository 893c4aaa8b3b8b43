"""One scheduling cycle for a whole pod group (schedule_one_podgroup.go): its pods are tried one after the other, each
with those before it assumed, and then all that found a node are bound, or every one is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ksched_cli.engine.binding import bind, permit, reserve, unreserve
from ksched_cli.engine.cycle import Cycle
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.runtime import CycleState, Runtime
from ksched_cli.framework.pod_groups import GroupKey
from ksched_cli.framework.status import Code, Status

UNSCHEDULABLE = "pod group is unschedulable"
WAITING = "pod group is waiting for preemption to complete"

GroupResult = Literal["scheduled", "unschedulable", "waiting", "error"]


@dataclass
class GroupDecision:
    """What became of the group; `message` is that of its PodGroupScheduled condition."""

    key: GroupKey
    result: GroupResult = "unschedulable"
    message: str = UNSCHEDULABLE
    decisions: list[Decision] = field(default_factory=list)


@dataclass
class _Attempt:
    """One pod's part of the cycle. `row` is the node it is assumed on, and `permit` what Permit said of it there;
    a pod that preempts is assumed on the node it is nominated to."""

    decision: Decision
    nominated_before: str
    state: CycleState = field(default_factory=CycleState)
    row: int | None = None
    permit: Status | None = None

    @property
    def preempts(self) -> bool:
        return bool(self.decision.nominated_node)


class GroupCycle:
    """Runs the cycles of groups on the cluster of the cycle it is made from."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._cluster = cycle.cluster
        self._nominator = cycle.nominator

    def schedule(self, key: GroupKey, runtimes: Sequence[Runtime], rows: Sequence[int]) -> GroupDecision:
        """The group's one cycle; `runtimes` are those of the profiles that its pods name, row by row."""
        group = GroupDecision(key)
        infos = self._cluster.pods.infos
        names = list(dict.fromkeys(infos[row].pod.spec.scheduler_name for row in rows))
        if len(names) > 1:
            self._fail(group, rows, _two_schedulers(names[0], names[1]))
            return group
        tried: list[int] = []
        for row in rows:
            if infos[row].pod.metadata.deletion_timestamp is not None:
                group.decisions.append(Decision(row, infos[row], "skipped"))
            else:
                tried.append(row)
        if tried:
            # The highest priority first, and pods of one priority in the order of the queue.
            tried.sort(key=lambda row: -infos[row].priority)
            self._run(group, runtimes[0], tried)
        return group

    def _run(self, group: GroupDecision, runtime: Runtime, rows: Sequence[int]) -> None:
        """podGroupSchedulingDefaultAlgorithm and submitPodGroupAlgorithmResult."""
        attempts = self._try_all(group, runtime, rows)
        group.decisions.extend(attempt.decision for attempt in attempts)
        for attempt in reversed(attempts):
            if attempt.row is not None and (group.result != "scheduled" or attempt.preempts):
                self._revert(runtime, attempt)
        if group.result == "error":
            for attempt in attempts:
                if attempt.decision.result != "error" or attempt.permit is not None:
                    _reject(attempt.decision, "error", group.message)
                    self._nominator.delete(attempt.decision.pod_row)
            self._fail(group, rows[len(attempts) :], group.message)
            return
        for attempt in attempts:
            if attempt.permit is not None:
                self._submit(group, runtime, attempt, attempt.permit)

    def _try_all(self, group: GroupDecision, runtime: Runtime, rows: Sequence[int]) -> list[_Attempt]:
        attempts: list[_Attempt] = []
        preempts = False
        for row in rows:
            attempt = self._try(runtime, row)
            attempts.append(attempt)
            if attempt.permit is None:
                if attempt.decision.result == "unschedulable":
                    # The group may do without it.
                    continue
                group.result = "error"
                group.message = f"failed to schedule other pod from a pod group: {attempt.decision.message}"
                break
            preempts = preempts or attempt.preempts
            if attempt.permit.ok and preempts:
                group.result, group.message = "waiting", f"{UNSCHEDULABLE}, {WAITING}"
            elif attempt.permit.ok:
                group.result, group.message = "scheduled", ""
        return attempts

    def _try(self, runtime: Runtime, row: int) -> _Attempt:
        """podGroupPodSchedulingAlgorithm."""
        decision = Decision(row, self._cluster.pods.infos[row], "error")
        attempt = _Attempt(decision, self._nominator.node_of(row))
        try:
            self._cycle.choose(runtime, attempt.state, decision)
            target = decision.row
            if target is None:
                target = self._cluster.nodes.row_of.get(decision.nominated_node)
            if target is not None:
                self._assume(runtime, attempt, target)
        except CycleError as problem:
            self._cycle.give_up(decision, problem)
        return attempt

    def _assume(self, runtime: Runtime, attempt: _Attempt, row: int) -> None:
        decision = attempt.decision
        self._cluster.place(decision.pod_row, row)
        refusal = reserve(runtime, attempt.state, decision.pod, row)
        if refusal is None:
            self._nominator.delete(decision.pod_row)
            answer = permit(runtime, attempt.state, decision.pod, row)
            if answer.ok or answer.code is Code.WAIT:
                attempt.row, attempt.permit = row, answer
                return
            unreserve(runtime, attempt.state, decision.pod, row)
            refusal = answer
        self._cluster.displace(decision.pod_row)
        decision.nominated_node = ""
        self._cycle.refuse(decision, row, refusal)

    def _revert(self, runtime: Runtime, attempt: _Attempt) -> None:
        """unreserveAndForget; a nomination from before the cycle is in force again."""
        assert attempt.row is not None
        pod_row = attempt.decision.pod_row
        unreserve(runtime, attempt.state, attempt.decision.pod, attempt.row)
        self._cluster.displace(pod_row)
        if attempt.nominated_before:
            self._nominator.add(pod_row, attempt.nominated_before)

    def _submit(self, group: GroupDecision, runtime: Runtime, attempt: _Attempt, permitted: Status) -> None:
        decision = attempt.decision
        assert attempt.row is not None
        if group.result == "scheduled" and not attempt.preempts:
            self._bind(runtime, attempt, attempt.row)
        elif group.result == "waiting":
            self._await(decision, attempt, group.message)
        else:
            # Victims of a pod that preempted on the way are gone all the same.
            _reject(decision, "unschedulable", ", ".join((UNSCHEDULABLE, ", ".join(permitted.reasons))))
            self._nominator.delete(decision.pod_row)

    def _bind(self, runtime: Runtime, attempt: _Attempt, row: int) -> None:
        decision = attempt.decision
        try:
            refusal = bind(runtime, attempt.state, decision.pod, row, permitted=True)
            if refusal is None:
                decision.result = "scheduled"
                return
            self._cluster.displace(decision.pod_row)
            self._cycle.refuse(decision, row, refusal)
        except CycleError as problem:
            self._cycle.give_up(decision, problem)

    def _await(self, decision: Decision, attempt: _Attempt, message: str) -> None:
        """The group comes back when the victims are gone, each pod to where it was tried."""
        assert attempt.row is not None
        node = self._cluster.nodes.names[attempt.row]
        if not attempt.preempts:
            _reject(decision, "unschedulable", message)
            decision.nominated_node = node
        self._nominator.add(decision.pod_row, node)

    def _fail(self, group: GroupDecision, rows: Sequence[int], message: str) -> None:
        """The group is in error, and these of its pods with it."""
        group.result, group.message = "error", message
        for row in rows:
            group.decisions.append(Decision(row, self._cluster.pods.infos[row], "error", message=message))
            self._nominator.delete(row)


def _reject(decision: Decision, result: Literal["unschedulable", "error"], message: str) -> None:
    """Not for anything that a plugin found: no plugin is to blame."""
    decision.result, decision.row, decision.message, decision.nominated_node = result, None, message, ""
    if decision.diagnosis is not None:
        decision.diagnosis.unschedulable_plugins = set()


def _two_schedulers(one: str, other: str) -> str:
    return f'all pods in a single pod group should have the same .spec.schedulerName set, got: "{one}" and "{other}"'
