"""One scheduling cycle for a whole pod group (schedule_one_podgroup.go): its pods are tried one after the other,
each with those before it assumed, and then all that found a node are bound, or every one is taken back.

PlacementGenerate and PlacementScore choose the nodes that a group is tried on. `CacheGroupTrial` is the dry run of
workload-aware preemption.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_groups import GroupKey, PodGroups
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle.runtime import CycleState, Runtime
from ksched_cli.engine.cycle.schedule_one import Cycle, bind, permit, reserve, unreserve
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.faults import CycleError, EngineReasons, plugin_faults
from ksched_cli.framework.interfaces import Placement, PodGroupPostFilterResult
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import Code, Status, error, unschedulable
from ksched_cli.releases.engine_rules import EngineRules


def generate(runtime: Runtime, key: GroupKey, nodes: RowColumn) -> Sequence[Placement] | Status:
    """RunPlacementGeneratePlugins: only the first plugin runs; without one the group may go anywhere."""
    if not runtime.profile.placement_generate:
        return [Placement("", nodes)]
    plugin = runtime.profile.placement_generate[0]
    with plugin_faults(plugin.name, "placementGenerate"):
        placements = plugin.generate_placements(key, nodes)
    if isinstance(placements, Status) or placements:
        return placements
    return unschedulable(EngineReasons.no_placements())


def best_of(runtime: Runtime, key: GroupKey, candidates: Sequence[tuple[Placement, Sequence[PodInfo]]]) -> int | Status:
    """findBestPlacement: the index of the placement with the highest total; of equals the first, where Go draws.

    A candidate comes with the pods of the group that found a node there."""
    totals = [0] * len(candidates)
    for plugin in runtime.profile.placement_score:
        with plugin_faults(plugin.name, "placementScore"):
            scores = plugin.normalize_placements([plugin.score_placement(key, *each) for each in candidates])
        if isinstance(scores, Status):
            text = "running NormalizePlacementScore on PlacementScore plugins"
            return error(f'{text}: plugin "{plugin.name}" failed with: {scores.message}')
        for index, score in enumerate(scores):
            if not 0 <= score <= MAX_NODE_SCORE:
                return error(
                    "applying score defaultWeights on PlacementScore plugins: "
                    f'plugin "{plugin.name}" returns an invalid score {score}, '
                    f"it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
                )
            totals[index] += score * runtime.profile.placement_weights[plugin.name]
    return totals.index(max(totals))


class CacheGroupTrial(Struct):
    """GroupTrial on the cache itself. Its maker restores the cache with the undo log of the cluster."""

    cluster: Cluster
    schedule: Callable[[], Mapping[int, int] | Status]
    fit: Callable[[Mapping[int, int]], bool]
    home: dict[int, int] = field(default_factory=dict)

    def remove(self, pod_rows: Sequence[int]) -> None:
        for pod_row in pod_rows:
            self.home[pod_row] = self.cluster.displace(pod_row)

    def put_back(self, pod_rows: Sequence[int]) -> None:
        for pod_row in pod_rows:
            self.cluster.place(pod_row, self.home[pod_row])


_PREEMPTS = "PreemptLowerPriority"
UNSCHEDULABLE = "pod group is unschedulable"
WAITING = "pod group is waiting for preemption to complete"

GroupResult = Literal["scheduled", "unschedulable", "waiting", "error"]


class GroupDecision(Struct):
    """The result of the group; `message` is that of its PodGroupScheduled condition."""

    key: GroupKey
    result: GroupResult = "unschedulable"
    message: str = UNSCHEDULABLE
    decisions: list[Decision] = field(default_factory=list)
    placement: str = ""
    victims: tuple[int, ...] = ()


class MemberAttempt(Struct):
    """One pod's part of the cycle. `row` is the node it was assumed on, and `permit` the result of Permit there;
    a pod that preempts is assumed on the node it is nominated to. `assumed` as long as that was not taken back."""

    decision: Decision
    nominated_before: str
    state: CycleState = field(default_factory=CycleState)
    row: int | None = None
    permit: Status | None = None
    assumed: bool = False

    @property
    def preempts(self) -> bool:
        return bool(self.decision.nominated_node)


class GroupAttempt(Struct):
    """The result of one attempt with all pods (podGroupAlgorithmResult). `refusal` is why a placement is not available
    (AsError of its status)."""

    attempts: list[MemberAttempt] = field(default_factory=list)
    result: GroupResult = "unschedulable"
    message: str = UNSCHEDULABLE
    refusal: str = UNSCHEDULABLE

    @property
    def proposed(self) -> list[PodInfo]:
        return [attempt.decision.pod for attempt in self.attempts if attempt.row is not None]


class GroupCycle:
    """Runs the cycles of groups on the cluster of the cycle it is made from."""

    # Whether Permit is called for each pod of a trial, when the pods after it have not been tried.
    permits_in_trial = True

    def __init__(
        self,
        cycle: Cycle,
        groups: PodGroups,
        *,
        placements: bool,
        preempts: bool,
    ) -> None:
        """`placements` with the gate TopologyAwareWorkloadScheduling, `preempts` with WorkloadAwarePreemption."""
        self._cycle = cycle
        self._placements = placements
        self._preempts = preempts
        self._cluster = cycle.cluster
        self._nominator = cycle.nominator
        self._groups = groups

    def schedule(self, key: GroupKey, runtimes: Sequence[Runtime], rows: Sequence[int]) -> GroupDecision:
        """The group's one cycle; `runtimes` are those of the profiles that its pods name, row by row."""
        group = GroupDecision(key)
        infos = self._cluster.pods.infos
        # The highest priority first, and pods of one priority in the order of their first attempts.
        rows = sorted(rows, key=lambda row: -infos[row].priority)
        problem = self._disagreement(key, rows)
        if problem:
            self._fail(group, rows, problem)
            return group
        tried: list[int] = []
        for row in rows:
            if infos[row].pod.metadata.deletion_timestamp is not None:
                group.decisions.append(Decision(row, infos[row], "skipped"))
            else:
                tried.append(row)
        if tried:
            self._run(group, runtimes[0], tried)
        return group

    def _disagreement(self, key: GroupKey, rows: Sequence[int]) -> str:
        """validatePodGroup: why the pods cannot be scheduled together, or an empty string."""
        infos, priority = self._cluster.pods.infos, None
        pods = [infos[row] for row in rows]
        if EngineRules.of(self._cluster.release).group_pods_agree:
            group = self._groups.get(key)
            priority = (group.spec.priority or 0) if group is not None else 0
            pods += [infos[row] for row in self._groups.scheduled(key)]
        return next(filter(None, (_disagreement(info, pods[0], priority) for info in pods)), "")

    def _run(self, group: GroupDecision, runtime: Runtime, rows: Sequence[int]) -> None:
        """podGroupCycle and submitPodGroupAlgorithmResult."""
        trial = self._try_group(group, runtime, rows)
        nominations = None
        if self._preempts and trial.result in ("unschedulable", "waiting"):
            self._take_back(runtime, trial)
            nominations = self._preempt(group, runtime, rows, trial)
        attempts, group.result, group.message = trial.attempts, trial.result, trial.message
        for attempt in reversed(attempts):
            if attempt.assumed and (group.result != "scheduled" or attempt.preempts):
                self._revert(runtime, attempt)
        group.decisions.extend(attempt.decision for attempt in attempts)
        if group.result == "error":
            self._end_in_error(group, attempts, rows)
            return
        group.decisions.extend(self._untried(rows[len(attempts) :], group.message))
        for decision in group.decisions:
            decision.group_victims = group.victims
        for attempt in attempts:
            if attempt.permit is not None:
                self._submit(group, runtime, attempt, attempt.permit)
        if nominations is not None:
            self._nominate(group, nominations)

    def _try_group(self, group: GroupDecision, runtime: Runtime, rows: Sequence[int]) -> GroupAttempt:
        """podGroupSchedulingAlgorithm."""
        return (
            self._try_placements(group, runtime, rows) if self._placements else self._try_all(group.key, runtime, rows)
        )

    def _preempt(
        self, group: GroupDecision, runtime: Runtime, rows: Sequence[int], trial: GroupAttempt
    ) -> Mapping[int, int] | None:
        """runWorkloadAwarePreemption: the group waits for its victims, or the message contains why there are none.
        Returns where its pods are to be nominated."""
        found = self._find_victims(group.key, runtime, rows)
        if isinstance(found, Status):
            failed = found.code is Code.ERROR
            trial.result = "error" if failed else trial.result
            trial.message = found.message if failed else f"{trial.message}, {found.message}"
            return None
        trial.result, group.victims = "waiting", found.victims
        self._cluster.preempt(found.victims)
        return found.nominations

    def _nominate(self, group: GroupDecision, nominations: Mapping[int, int]) -> None:
        """Nominate pods of the group to these nodes; the others stay nominated as they are."""
        for decision in group.decisions:
            row = nominations.get(decision.pod_row)
            if row is not None:
                self._nominator.add(decision.pod_row, self._cluster.nodes.names[row])
            decision.nominated_node = self._nominator.node_of(decision.pod_row)

    def _find_victims(self, key: GroupKey, runtime: Runtime, rows: Sequence[int]) -> PodGroupPostFilterResult | Status:
        plugin = runtime.profile.pod_group_post_filter
        if plugin is None:
            return unschedulable(EngineReasons.no_group_preemption())
        infos = self._cluster.pods.infos
        with self._cluster.undo.trial():
            trial = CacheGroupTrial(
                self._cluster,
                lambda: self._try_once_more(key, runtime, rows),
                lambda places: self._fit_at(runtime, places),
            )
            with plugin_faults(plugin.name, "podGroupPostFilter"):
                return plugin.pod_group_post_filter(key, [infos[row] for row in rows], trial)

    def _try_once_more(self, key: GroupKey, runtime: Runtime, rows: Sequence[int]) -> Mapping[int, int] | Status:
        """The places of the group as the cache is now, or why it finds none; its pods are taken back."""
        self._cycle.skips_post_filter = True
        try:
            trial = self._try_group(GroupDecision(key), runtime, rows)
        finally:
            self._cycle.skips_post_filter = False
        self._take_back(runtime, trial)
        if trial.result == "scheduled":
            return {each.decision.pod_row: each.row for each in trial.attempts if each.row is not None}
        reason = EngineReasons.group_unplaced(message=trial.message)
        return error(trial.message) if trial.result == "error" else unschedulable(reason)

    def _fit_at(self, runtime: Runtime, places: Mapping[int, int]) -> bool:
        """Whether the pods pass the filters at these places, each with those before it assumed; they are taken back."""
        trial = GroupAttempt()
        self._cycle.skips_post_filter = True
        with self._cycle.dry():
            try:
                for pod_row, row in places.items():
                    self._cycle.placement = np.array([row], dtype=np.int64)
                    trial.attempts.append(self._try(runtime, pod_row))
                    if trial.attempts[-1].row is None:
                        return False
                return True
            finally:
                self._cycle.placement, self._cycle.skips_post_filter = None, False
                self._take_back(runtime, trial)

    def _take_back(self, runtime: Runtime, trial: GroupAttempt) -> None:
        for attempt in reversed(trial.attempts):
            if attempt.assumed:
                self._revert(runtime, attempt)

    def _try_placements(self, group: GroupDecision, runtime: Runtime, rows: Sequence[int]) -> GroupAttempt:
        """podGroupSchedulingPlacementAlgorithm; the trial that is chosen is in force again."""
        placements = generate(runtime, group.key, self._cluster.nodes.all_rows)
        if isinstance(placements, Status):
            return GroupAttempt([], "error" if placements.code is Code.ERROR else "unschedulable", placements.message)
        trials: list[GroupAttempt] = []
        for placement in placements:
            trial = self._try_placement(group.key, placement, runtime, rows)
            if trial.result == "error":
                return trial
            trials.append(trial)
        good = [index for index, trial in enumerate(trials) if trial.result != "unschedulable"]
        if not good:
            first = trials[0]
            first.message = f"0/{len(trials)} placements are available, first placement status: {first.refusal}"
            return first
        best = good[0]
        if len(good) > 1:
            choice = best_of(runtime, group.key, [(placements[index], trials[index].proposed) for index in good])
            if isinstance(choice, Status):
                return GroupAttempt([], "error", choice.message)
            best = good[choice]
        group.placement = placements[best].name
        if trials[best].result == "scheduled":
            self._apply(runtime, trials[best])
        return trials[best]

    def _try_placement(
        self, key: GroupKey, placement: Placement, runtime: Runtime, rows: Sequence[int]
    ) -> GroupAttempt:
        whole = len(placement.rows) == len(self._cluster.nodes)
        self._cycle.placement = None if whole else placement.rows
        try:
            trial = self._try_all(key, runtime, rows)
        finally:
            self._cycle.placement = None
        self._take_back(runtime, trial)
        return trial

    def _apply(self, runtime: Runtime, trial: GroupAttempt) -> None:
        """prepareForBindingCycle for the pods of the placement that was chosen."""
        for attempt in trial.attempts:
            if attempt.row is None or attempt.preempts:
                continue
            try:
                self._assume(runtime, attempt, attempt.row)
            except CycleError as problem:
                attempt.row = attempt.permit = None
                self._cycle.give_up(attempt.decision, problem)

    def _try_all(self, key: GroupKey, runtime: Runtime, rows: Sequence[int]) -> GroupAttempt:
        """podGroupSchedulingDefaultAlgorithm."""
        trial = GroupAttempt()
        preempts = False
        for row in rows:
            attempt = self._try(runtime, row)
            trial.attempts.append(attempt)
            if attempt.permit is None:
                if attempt.decision.result == "unschedulable":
                    # The group may do without it.
                    continue
                trial.result = "error"
                trial.message = f"failed to schedule other pod from a pod group: {attempt.decision.message}"
                break
            preempts = preempts or attempt.preempts
            if attempt.permit.ok and preempts:
                trial.result, trial.message = "waiting", f"{UNSCHEDULABLE}, {WAITING}"
            elif attempt.permit.ok:
                trial.result, trial.message = "scheduled", ""
        return trial

    def _try(self, runtime: Runtime, row: int) -> MemberAttempt:
        """podGroupPodSchedulingAlgorithm."""
        decision = Decision(row, self._cluster.pods.infos[row], "error")
        attempt = MemberAttempt(decision, self._nominator.node_of(row))
        try:
            self._cycle.choose(runtime, attempt.state, decision)
            target = decision.row
            if target is None:
                target = self._cluster.nodes.row_of.get(decision.nominated_node)
            if target is not None:
                self._assume(runtime, attempt, target)
                if self.permits_in_trial and attempt.row is not None:
                    self._permit(runtime, attempt, target)
        except CycleError as problem:
            attempt.row, attempt.assumed = None, False
            self._cycle.give_up(decision, problem)
        return attempt

    def _assume(self, runtime: Runtime, attempt: MemberAttempt, row: int) -> None:
        """assumeAndReserve."""
        decision = attempt.decision
        self._cluster.place(decision.pod_row, row)
        refusal = reserve(runtime, attempt.state, decision.pod, row)
        if refusal is not None:
            self._refuse(attempt, row, refusal)
            return
        self._nominator.delete(decision.pod_row)
        attempt.row, attempt.assumed = row, True

    def _permit(self, runtime: Runtime, attempt: MemberAttempt, row: int) -> None:
        answer = permit(runtime, attempt.state, attempt.decision.pod, row)
        if answer.refused:
            self._refuse(attempt, row, answer.status)
        else:
            attempt.permit = answer.status

    def _refuse(self, attempt: MemberAttempt, row: int, refusal: Status) -> None:
        """The pod does not go to this node, and a node that preemption chose for it is not kept either."""
        attempt.row, attempt.permit, attempt.assumed = None, None, False
        self._cluster.displace(attempt.decision.pod_row)
        attempt.decision.nominated_node = ""
        self._cycle.refuse(attempt.decision, row, refusal)

    def _revert(self, runtime: Runtime, attempt: MemberAttempt) -> None:
        """unreserveAndForget; a nomination from before the cycle is in force again."""
        assert attempt.row is not None
        pod_row = attempt.decision.pod_row
        unreserve(runtime, attempt.state, attempt.decision.pod, attempt.row)
        self._cluster.displace(pod_row)
        attempt.assumed = False
        if attempt.nominated_before:
            self._nominator.add(pod_row, attempt.nominated_before)

    def _submit(self, group: GroupDecision, runtime: Runtime, attempt: MemberAttempt, permitted: Status) -> None:
        decision = attempt.decision
        assert attempt.row is not None
        if group.result == "scheduled" and not attempt.preempts:
            self._bind(runtime, attempt, attempt.row)
        elif group.result == "waiting":
            self._await(decision, attempt, group.message)
        else:
            # Victims of a pod that preempted on the way are gone all the same.
            reject(decision, "unschedulable", ", ".join((UNSCHEDULABLE, permitted.message)))
            self._nominator.delete(decision.pod_row)

    def _bind(self, runtime: Runtime, attempt: MemberAttempt, row: int) -> None:
        decision = attempt.decision
        try:
            refusal = bind(runtime, attempt.state, decision.pod, row)
            if refusal is None:
                decision.result = "scheduled"
                return
            self._cluster.displace(decision.pod_row)
            self._cycle.refuse(decision, row, refusal)
        except CycleError as problem:
            self._cycle.give_up(decision, problem)

    def _await(self, decision: Decision, attempt: MemberAttempt, message: str) -> None:
        """The group comes back when the victims are gone, each pod to where it was tried."""
        assert attempt.row is not None
        node = self._cluster.nodes.names[attempt.row]
        if not attempt.preempts:
            reject(decision, "unschedulable", message)
            decision.nominated_node = node
        self._nominator.add(decision.pod_row, node)

    def _end_in_error(self, group: GroupDecision, attempts: Sequence[MemberAttempt], rows: Sequence[int]) -> None:
        """All pods of the group are in error; those that failed by themselves keep their message."""
        for attempt in attempts:
            if attempt.decision.result != "error" or attempt.row is not None:
                reject(attempt.decision, "error", group.message)
            self._nominator.delete(attempt.decision.pod_row)
        self._fail(group, rows[len(attempts) :], group.message)

    def _untried(self, rows: Sequence[int], message: str) -> list[Decision]:
        """The decisions about pods whose turn did not come, or that there was no place to try on."""
        decisions = [Decision(row, self._cluster.pods.infos[row], "unschedulable") for row in rows]
        for decision in decisions:
            reject(decision, "unschedulable", message)
        return decisions

    def _fail(self, group: GroupDecision, rows: Sequence[int], message: str) -> None:
        """The group is in error, and these of its pods with it."""
        group.result, group.message = "error", message
        for row in rows:
            group.decisions.append(Decision(row, self._cluster.pods.infos[row], "error", message=message))
            self._nominator.delete(row)


def reject(decision: Decision, result: Literal["unschedulable", "error"], message: str) -> None:
    """End the cycle of a pod for a reason of its group: no plugin is listed as the cause."""
    decision.result, decision.row, decision.message, decision.nominated_node = result, None, message, ""
    decision.reason = EngineReasons.group_unplaced(message=message)
    if decision.diagnosis is not None:
        decision.diagnosis.blamed, decision.diagnosis.blames_nodes = frozenset(), False


_SAME = "all pods in a single pod group should have the same"


def _disagreement(info: PodInfo, first: PodInfo, priority: int | None) -> str:
    """What the pod has otherwise than the first pod of its group, or than the group, or an empty string. Where the
    group has no `priority`, its pods have to agree in their scheduler alone."""
    name, other = info.pod.spec.scheduler_name, first.pod.spec.scheduler_name
    if name != other:
        return f'{_SAME} .spec.schedulerName set, got: "{name}" and "{other}"'
    if priority is None:
        return ""
    if info.priority != priority:
        return f"{_SAME} priority as the pod group's priority, got {info.priority} and {priority}"
    policy, wanted = (each.pod.spec.preemption_policy or _PREEMPTS for each in (info, first))
    return f"{_SAME} preemption policy, got {policy} and {wanted}" if policy != wanted else ""
