"""Preemption: who would have to leave which node, and which node is the best choice (framework/preemption.Evaluator).

The search is the same for one node and for many: where every filter looks at one node alone, all candidates are tried
in one trial, their pods put back in rounds; otherwise each candidate has a trial of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ksched_cli.api.pod_facts import parse_time
from ksched_cli.api.policy import PodDisruptionBudget
from ksched_cli.api.selectors import Selector, SelectorError, compile_selector
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.diagnosis import Diagnosis, NodeStatuses
from ksched_cli.framework.handle import CycleHandle, Trial
from ksched_cli.framework.status import Code, Status, unresolvable

# Pods that have not started are the youngest; Go takes the current time for them.
_NOT_STARTED = float("inf")
# Added to every priority so that more victims never sum up to less (pickOneNodeForPreemption).
_PRIORITY_OFFSET = 2**31

NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")
NOT_HELPFUL = unresolvable("Preemption is not helpful for scheduling")

Eligible = Callable[[int], bool]


@dataclass(frozen=True)
class Candidate:
    """A node that the pod would fit on without the victims, the most important of them first."""

    row: int
    victims: tuple[int, ...]
    pdb_violations: int


@dataclass
class _Attempt:
    """One candidate node while its pods are being put back."""

    row: int
    violating: list[int]
    others: list[int]
    victims: list[int] = field(default_factory=list)
    pdb_violations: int = 0

    @property
    def queue(self) -> list[int]:
        """In the order of reprieve: first those whose eviction a disruption budget speaks against."""
        return [*self.violating, *self.others]

    def evict(self, turn: int, pod_row: int) -> None:
        self.victims.append(pod_row)
        if turn < len(self.violating):
            self.pdb_violations += 1


class Evaluator:
    """The dry run over candidate nodes, for one cluster."""

    def __init__(self, cluster: Cluster, eligible: Callable[[PodInfo, int], bool]) -> None:
        self._cluster = cluster
        self._eligible = eligible

    def find_candidates(
        self, cycle: CycleHandle, pod: PodInfo, *, one_by_one: bool = False
    ) -> tuple[list[Candidate], NodeStatuses]:
        """Evaluator.findCandidates and DryRunPreemption over all nodes that preemption can help."""
        rows = cycle.diagnosis.nodes.rows_with(Code.UNSCHEDULABLE)
        statuses = NodeStatuses(len(self._cluster.nodes))
        everywhere = np.ones(len(self._cluster.nodes), dtype=np.bool_)
        everywhere[rows] = False
        statuses.set_absent(everywhere, NOT_HELPFUL)
        candidates: list[Candidate] = []
        with cycle.trial() as probe:
            together = probe.row_scoped and not one_by_one
        for batch in [rows] if together else [rows[index : index + 1] for index in range(len(rows))]:
            if len(batch):
                with cycle.trial() as trial:
                    candidates.extend(self._dry_run(trial, pod, batch, statuses))
        return candidates, statuses

    def _dry_run(self, trial: Trial, pod: PodInfo, rows: RowColumn, statuses: NodeStatuses) -> list[Candidate]:
        """SelectVictimsOnNode on every row: clear it, see whether the pod fits, then put back who can stay."""
        cleared: list[tuple[int, list[int]]] = []
        for row in rows.tolist():
            removable = [other for other in self._cluster.pods_on(row) if self._eligible(pod, other)]
            if removable:
                cleared.append((row, removable))
            else:
                statuses.set(row, NO_VICTIMS)
        for _, removable in cleared:
            for other in removable:
                trial.remove(other)
        fitting = self._fitting(trial, [row for row, _ in cleared], statuses)
        attempts = [self._attempt(row, removable) for row, removable in cleared if row in fitting]
        self._reprieve(trial, attempts)
        return [self._candidate(attempt) for attempt in attempts if attempt.victims]

    def _fitting(self, trial: Trial, rows: Sequence[int], statuses: NodeStatuses | None = None) -> set[int]:
        """The rows that the pod fits on as the trial stands; the others' statuses are noted."""
        if not rows:
            return set()
        verdict = trial.filter(np.array(rows, dtype=np.int64))
        if statuses is not None:
            for index in np.nonzero(~verdict.passed)[0].tolist():
                statuses.set(rows[index], verdict.status(index))
        return {row for row, passed in zip(rows, verdict.passed.tolist(), strict=True) if passed}

    def _attempt(self, row: int, removable: Sequence[int]) -> _Attempt:
        ordered = by_importance(self._cluster, removable)
        violating, others = split_by_budgets(self._cluster, ordered)
        return _Attempt(row, violating, others)

    def _reprieve(self, trial: Trial, attempts: Sequence[_Attempt]) -> None:
        """Round by round the next pod of every node comes back, and leaves again where the pod would not fit."""
        for turn in range(max((len(attempt.queue) for attempt in attempts), default=0)):
            running = [attempt for attempt in attempts if turn < len(attempt.queue)]
            for attempt in running:
                trial.put_back(attempt.queue[turn])
            fitting = self._fitting(trial, [attempt.row for attempt in running])
            for attempt in running:
                if attempt.row not in fitting:
                    trial.remove(attempt.queue[turn])
                    attempt.evict(turn, attempt.queue[turn])

    def _candidate(self, attempt: _Attempt) -> Candidate:
        victims: Iterable[int] = attempt.victims
        if attempt.violating and attempt.others:
            victims = by_importance(self._cluster, attempt.victims)
        return Candidate(attempt.row, tuple(victims), attempt.pdb_violations)


def failure_message(statuses: NodeStatuses) -> str:
    """What is said of the nodes when none is a candidate."""
    return Diagnosis(statuses).message()


def start_time(cluster: Cluster, pod_row: int) -> float:
    stamp = cluster.pods.infos[pod_row].pod.status.start_time
    return parse_time(stamp) if stamp else _NOT_STARTED


def by_importance(cluster: Cluster, rows: Sequence[int]) -> list[int]:
    """util.MoreImportantPod: higher priority first, then the longer running.

    Pods that have not started compare as more important than each other whichever comes first, which makes Go's
    sort turn their order round.
    """

    def key(entry: tuple[int, int]) -> tuple[int, float, int]:
        index, row = entry
        started = start_time(cluster, row)
        return -int(cluster.pods.priority[row]), started, -index if started == _NOT_STARTED else index

    return [row for _, row in sorted(enumerate(rows), key=key)]


@dataclass
class _Budget:
    namespace: str
    selector: Selector
    disrupted: frozenset[str]
    allowed: int

    def covers(self, info: PodInfo) -> bool:
        return (
            self.namespace == info.namespace
            and not self.selector.everything
            and self.selector.matches(info.labels)
            and info.name not in self.disrupted
        )


def _budgets(cluster: Cluster) -> list[_Budget]:
    budgets = []
    for budget in cluster.catalog.all(PodDisruptionBudget):
        try:
            selector = compile_selector(budget.spec.selector)
        except SelectorError:
            continue
        status = budget.status
        budgets.append(
            _Budget(budget.metadata.namespace, selector, frozenset(status.disrupted_pods), status.disruptions_allowed)
        )
    return budgets


def split_by_budgets(cluster: Cluster, rows: Sequence[int]) -> tuple[list[int], list[int]]:
    """filterPodsWithPDBViolation: pods whose eviction goes beyond what a budget allows, and the others, in order."""
    budgets = _budgets(cluster)
    violating: list[int] = []
    others: list[int] = []
    for row in rows:
        info = cluster.pods.infos[row]
        violated = False
        for budget in budgets if info.labels else ():
            if budget.covers(info):
                budget.allowed -= 1
                violated |= budget.allowed < 0
        (violating if violated else others).append(row)
    return violating, others


def pick_one(cluster: Cluster, candidates: Sequence[Candidate]) -> Candidate:
    """pickOneNodeForPreemption. Where all criteria tie, Go takes any node; here it is the lowest name."""

    def rank(candidate: Candidate) -> tuple[int, int, int, int, float, int]:
        priorities = [int(cluster.pods.priority[row]) for row in candidate.victims]
        return (
            candidate.pdb_violations,
            priorities[0],
            sum(priority + _PRIORITY_OFFSET for priority in priorities),
            len(priorities),
            -_earliest_start(cluster, candidate.victims, max(priorities)),
            int(cluster.nodes.name_rank[candidate.row]),
        )

    return min(candidates, key=rank)


def _earliest_start(cluster: Cluster, victims: Iterable[int], priority: int) -> float:
    """GetEarliestPodStartTime: of the victims with the highest priority."""
    return min(start_time(cluster, row) for row in victims if cluster.pods.priority[row] == priority)


def terminating_by_preemption(cluster: Cluster, pod_row: int) -> bool:
    """podTerminatingByPreemption: evicted in this run, or marked so by a scheduler."""
    if pod_row in cluster.preempted:
        return True
    if not cluster.pods.terminating[pod_row]:
        return False
    for condition in cluster.pods.infos[pod_row].pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False


def blocked_by_terminating(cluster: Cluster, pod: PodInfo, node: str, status: Status, eligible: Eligible) -> bool:
    """Whether victims of an earlier preemption are still leaving the node that the pod waits for."""
    row = cluster.nodes.row_of.get(node)
    if row is None or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return False
    return any(eligible(other) and terminating_by_preemption(cluster, other) for other in cluster.pods_on(row))
