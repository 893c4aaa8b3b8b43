"""`simulate`: one scheduling cycle for each pending pod, with names in the results.

`place` runs the cycles and makes a `PodOutcome` of each decision. No controller runs: a storage pool loses the room of
the volumes that a placed pod would get (`shrink_pools`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import CSIStorageCapacity
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_groups import GroupKey, group_of
from ksched_cli.engine.decision import TIES_NAMED, Decision, ScoreTable
from ksched_cli.engine.pending import PendingQueue
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import PostFilterResult
from ksched_cli.plan.results.nodes import (
    Failure,
    FailureGroup,
    NodeDetail,
    NodeScores,
    Score,
    ScoredNode,
    TiedNames,
)
from ksched_cli.plan.results.outcomes import (
    Curve,
    GatedPod,
    GroupPreemption,
    IgnoredPod,
    PodGroupOutcome,
    PodOutcome,
    Preemption,
    Simulation,
)
from ksched_cli.plan.run.coverage import MissingKinds
from ksched_cli.progress import steps

if TYPE_CHECKING:
    from ksched_cli.plan.curve import CurveRecorder


def shrink_pools(cluster: Cluster, decision: Decision) -> None:
    """The volumes that are made for a placed pod take the room of the storage pools of its node."""
    if decision.row is None or not decision.pod.pod.spec.volumes or not cluster.catalog.all(CSIStorageCapacity):
        return
    # Imported here: most clusters publish no storage capacity.
    from ksched_cli.controlplane.controllers.claims import provisioned_on

    for made in list(provisioned_on(decision.pod.pod, cluster.nodes.objects[decision.row], cluster.catalog)):
        if made.pool is not None:
            cluster.catalog.put(made.pool)


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
    victims = scheduler.cluster.pods.names_of(decided.victims) if decided else ()
    return PodGroupOutcome(
        pod_group=str(key),
        result=decided.result if decided else "gated",
        min_count=gang.min_count if gang else 0,
        pods=len(scheduler.groups.members(key)),
        placed=len(scheduler.groups.scheduled(key)),
        message=decided.message if decided else held_back,
        placement=decided.placement if decided else "",
        preemption=GroupPreemption(victims) if victims else None,
    )


TOP_NODES = 3
EXAMPLES = 3
_NO_SCORES: Mapping[str, Score] = {}


class PlacementRun(Struct):
    """The pods of a queue before their cycles. To read `outcomes` runs the cycles; `pod_groups` and `curves` are for
    after that. `pods`: how many pods the queue has. `seconds`: the time of the cycles without that of the reader."""

    outcomes: Iterator[PodOutcome]
    gated: tuple[GatedPod, ...]
    ignored: tuple[IgnoredPod, ...]
    pod_groups: Callable[[], tuple[PodGroupOutcome, ...]]
    pods: int = 0
    seconds: float = 0.0
    was_interrupted: bool = False
    curves: Callable[[], tuple[Curve, ...]] = tuple

    def until_interrupted(self) -> Iterator[PodOutcome]:
        """The outcomes. An interrupt ends them."""
        try:
            yield from self.outcomes
        except KeyboardInterrupt:
            self.was_interrupted = True


class SimulationStream:
    """The outcomes of a run, each computed when it is read. What has been read is not kept."""

    def __init__(
        self, run: PlacementRun, finish: Callable[[tuple[PodOutcome, ...]], Simulation], *, stop_on_interrupt: bool
    ) -> None:
        """`finish` makes the result of the outcomes without a node and of those that preempt. With `stop_on_interrupt`
        an interrupt ends the outcomes."""
        self._outcomes = run.until_interrupted() if stop_on_interrupt else run.outcomes
        self._finish = finish
        self._kept: list[PodOutcome] = []
        self.pods = 0
        # The length of the document, for its writers.
        self.characters = 0

    def __iter__(self) -> Iterator[PodOutcome]:
        for outcome in self._outcomes:
            yield outcome
            self.pods += 1
            if not outcome.node or outcome.preemption:
                self._kept.append(outcome if outcome.detail is None else replace(outcome, detail=None))

    def finish(self) -> Simulation:
        """The result once all outcomes are read. Its own outcomes are those without a node and those that preempt."""
        return self._finish(tuple(self._kept))


class OutputOptions(Struct, frozen=True):
    """What is reported of the decisions: every node or a summary, how many of the best, of which pods, and what was not
    read that could change them. `brief_above`: of more pods than so many only what a line of a table shows. `curve`:
    the resources whose curves are recorded."""

    detail: bool = False
    top: int = TOP_NODES
    wanted: Callable[[Pod], bool] = lambda pod: True
    missing_kinds: MissingKinds | None = None
    brief_above: int | None = None
    curve: tuple[str, ...] = ()

    def is_brief(self, pods: Iterable[Pod]) -> bool:
        """Whether these are more pods to report than `brief_above`."""
        return self.brief_above is not None and any(
            islice((each for each in pods if self.wanted(each)), self.brief_above, None)
        )

    def without_detail(self) -> OutputOptions:
        return OutputOptions(wanted=self.wanted)


_SUMMED_UP = OutputOptions()


def place(
    scheduler: Scheduler, output: OutputOptions = _SUMMED_UP, made: Collection[str] = frozenset()
) -> PlacementRun:
    """Every pending pod through one scheduling cycle, also those that are not reported. `made` are the keys of the pods
    that the run has created: a provisioner makes their volumes. kube-scheduler alone makes none for other pods."""
    started = time.perf_counter()
    queue = scheduler.enqueue()
    recorder = None
    if output.curve:
        # Imported here: few runs record curves.
        from ksched_cli.plan.curve import CurveRecorder

        recorder = CurveRecorder(scheduler, queue, output.curve)
    seconds = time.perf_counter() - started
    infos = scheduler.cluster.pods.infos
    wanted = {row: infos[row] for row in (*queue.gated, *queue.ignored) if output.wanted(infos[row].pod)}
    gated = [
        GatedPod(wanted[row].key, status.plugin, status.texts) for row, status in queue.gated.items() if row in wanted
    ]
    ignored = [
        IgnoredPod(wanted[row].key, wanted[row].pod.spec.scheduler_name) for row in queue.ignored if row in wanted
    ]
    run = PlacementRun(
        iter(()),
        tuple(sorted(gated, key=lambda each: each.pod)),
        tuple(sorted(ignored, key=lambda each: each.pod)),
        lambda: pod_group_outcomes(scheduler, queue),
        len(queue.active),
        seconds,
    )
    if recorder is not None:
        run.curves = recorder.curves
    run.outcomes = _outcomes(run, scheduler, queue, output, made, recorder)
    return run


def _outcomes(
    run: PlacementRun,
    scheduler: Scheduler,
    queue: PendingQueue,
    output: OutputOptions,
    made: Collection[str],
    recorder: CurveRecorder | None,
) -> Iterator[PodOutcome]:
    started = time.perf_counter()
    # The last outcome, and its decision, or the one that its decision repeats.
    outcome: PodOutcome | None = None
    first: Decision | None = None
    brief = output.is_brief([scheduler.cluster.pods.infos[row].pod for row in queue.active])
    for decision in steps(scheduler.run(queue), "pods had their cycle", len(queue.active)):
        if made and decision.row is not None and decision.pod.key in made:
            shrink_pools(scheduler.cluster, decision)
        if recorder is not None:
            recorder(decision)
        if not output.wanted(decision.pod.pod):
            continue
        if outcome is not None and decision.repeats is not None and decision.repeats is first:
            outcome = replace(outcome, pod=decision.pod.key)
        else:
            outcome = outcome_of(decision, scheduler.cluster, output, brief=brief)
            first = decision.repeats or decision
        run.seconds += time.perf_counter() - started
        yield outcome
        started = time.perf_counter()
    run.seconds += time.perf_counter() - started


def outcome_of(
    decision: Decision, cluster: Cluster, output: OutputOptions = _SUMMED_UP, *, brief: bool = False
) -> PodOutcome:
    """The decision with names in place of rows, summed up unless the detail is wanted. `brief`: with the total of the
    best node and the first ties only."""
    missing = output.missing_kinds.about(decision) if output.missing_kinds else ()
    names = cluster.nodes.names
    diagnosis = decision.diagnosis
    pre_filter = diagnosis.pre_filter if diagnosis else None
    return PodOutcome(
        pod=decision.pod.key,
        result=decision.result,
        node="" if decision.row is None else names[decision.row],
        ties=_tied_names(names, decision.ties, brief=brief),
        tied=len(decision.ties),
        total_nodes=diagnosis.total_nodes if diagnosis else len(cluster.nodes),
        feasible_nodes=len(decision.feasible),
        pre_filter=Failure.of(pre_filter) if pre_filter else None,
        failures=_groups(decision, cluster),
        top=_best(decision, names) if brief else _top(decision, cluster, output.top),
        message=decision.message,
        preemption=_preemption(decision.preemption, cluster) if decision.preemption is not None else None,
        nominated_node=decision.nominated_node,
        unschedulable_plugins=_sorted(diagnosis.unschedulable_plugins) if diagnosis else (),
        scheduler=decision.pod.pod.spec.scheduler_name,
        pod_group=str(group_of(decision.pod) or ""),
        group_victims=cluster.pods.names_of(decision.group_victims) if decision.group_victims else (),
        detail=_detail(decision, cluster) if output.detail else None,
        missing=missing,
    )


def _tied_names(names: Sequence[str], rows: RowColumn, *, brief: bool) -> Sequence[str]:
    """The names of tied nodes; of a brief result the first only."""
    if not len(rows) or brief:
        return tuple(map(names.__getitem__, rows[:TIES_NAMED].tolist()))
    return TiedNames(names, rows)


@cache
def _sorted(plugins: frozenset[str]) -> tuple[str, ...]:
    """One tuple for all outcomes with these plugins."""
    return tuple(sorted(plugins))


def _preemption(done: PostFilterResult, cluster: Cluster) -> Preemption:
    return Preemption(done.nominated_node, cluster.pods.names_of(done.victims), done.pdb_violations)


def _groups(decision: Decision, cluster: Cluster) -> tuple[FailureGroup, ...]:
    """The failures of nodes, those of most nodes first."""
    diagnosis = decision.diagnosis
    if diagnosis is None or diagnosis.pre_filter is not None:
        return ()
    nodes = diagnosis.nodes
    return nodes.once("failures", lambda: _failures(nodes, cluster))


def _failures(nodes: NodeStatuses, cluster: Cluster) -> tuple[FailureGroup, ...]:
    groups = [
        FailureGroup(
            status.plugin,
            status.code.go_name,
            status.texts,
            len(rows),
            _first_names(rows, cluster),
            tuple([reason.problem for reason in status.reasons]),
        )
        for status, rows in nodes.groups()
    ]
    return tuple(sorted(groups, key=lambda group: (-group.nodes, group.plugin, group.reasons)))


def _first_names(rows: RowColumn, cluster: Cluster) -> tuple[str, ...]:
    """The first of the names of these rows, which ascend."""
    nodes = cluster.nodes
    if nodes.rows_follow_names:
        return tuple(map(nodes.names.__getitem__, rows[:EXAMPLES].tolist()))
    ranks, names = nodes.name_rank.take(rows), []
    for _ in range(min(EXAMPLES, len(rows))):
        first = ranks.argmin()
        names.append(nodes.names[rows[first]])
        ranks[first] = len(nodes)
    return tuple(names)


def _top(decision: Decision, cluster: Cluster, count: int) -> tuple[ScoredNode, ...]:
    """The best nodes by total, equals by name."""
    table = decision.scores
    if table is None:
        return ()
    if count <= len(decision.ties):
        best = decision.ties[:count]
        whole = len(table.rows) == len(cluster.nodes)
        indexes = best if whole else table.indexes_of(best)
        return _scored(table, cluster, indexes)
    if count < len(table.totals):
        least = np.partition(table.totals, -count)[-count]
        contenders = np.nonzero(table.totals >= least)[0]
    else:
        contenders = np.arange(len(table.totals))
    ranks = cluster.nodes.name_rank[table.rows[contenders]]
    order = contenders[np.lexsort((ranks, -table.totals[contenders]))[:count]]
    return _scored(table, cluster, order)


def _best(decision: Decision, names: Sequence[str]) -> tuple[ScoredNode, ...]:
    """The best node with its total alone."""
    table = decision.scores
    if table is None or not len(decision.ties):
        return ()
    return (ScoredNode(names[decision.ties[0]], table.totals.item(table.totals.argmax()), _NO_SCORES),)


def _scored(table: ScoreTable, cluster: Cluster, indexes: RowColumn) -> tuple[ScoredNode, ...]:
    plugins, names = table.plugins, cluster.nodes.names
    rows, totals = table.rows.take(indexes).tolist(), table.totals.take(indexes).tolist()
    return tuple(
        [
            ScoredNode(names[row], total, NodeScores(plugins, *scores))
            for row, total, scores in zip(rows, totals, table.scores_of(indexes), strict=True)
        ]
    )


def _detail(decision: Decision, cluster: Cluster) -> NodeDetail:
    failures: list[tuple[Failure, RowColumn]] = []
    unknown: dict[str, Failure] = {}
    diagnosis = decision.diagnosis
    if diagnosis is not None and diagnosis.pre_filter is None:
        failures = [(Failure.of(status), rows) for status, rows in diagnosis.nodes.groups()]
        unknown = {name: Failure.of(status) for name, status in diagnosis.nodes.unknown_nodes.items()}
    return NodeDetail(cluster.nodes, decision.feasible, failures, unknown, decision.scores)
