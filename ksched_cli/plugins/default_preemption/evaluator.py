"""The search for candidates among all nodes that preemption can help (framework/preemption.Evaluator).

Nodes whose pods matter to them alone are all tried in one trial, their pods put back in rounds; each of the others has
a trial of its own. An outcome holds for pods of the same priority and signature until something on the node changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from functools import lru_cache

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.diagnosis import Diagnosis, NodeStatuses
from ksched_cli.framework.handle import Candidate, CycleHandle, Nominator
from ksched_cli.framework.status import Code, unresolvable
from ksched_cli.plugins.default_preemption.dry_run import Allowed, DryRun
from ksched_cli.plugins.default_preemption.outcomes import Outcomes
from ksched_cli.plugins.default_preemption.rules import DefaultPreemptionRules

NOT_HELPFUL = unresolvable("Preemption is not helpful for scheduling")

# How many kinds of pods are remembered; each takes some columns over all nodes.
_KINDS = 16

_Key = tuple[int, Hashable]


class _Remembered(Struct):
    """The outcomes of a kind of pod, with the version of the catalog and the position in the journal."""

    outcomes: Outcomes
    catalog: int
    journal: int = 0


class PreemptionSearch(Struct):
    """The nodes that preemption could help (`potential`), and of these the candidates."""

    potential: RowColumn
    outcomes: Outcomes

    def _statuses(self) -> NodeStatuses:
        """Statuses of the nodes that are no candidates. Nodes that were not tried have the common status."""
        statuses = NodeStatuses(len(self.outcomes.tried))
        statuses.set_absent(np.ones(len(statuses), dtype=np.bool_), NOT_HELPFUL)
        statuses.take_over(self.outcomes.statuses, self.potential[~self.outcomes.helps[self.potential]])
        return statuses

    @property
    def candidates(self) -> RowColumn:
        rows: RowColumn = self.potential[self.outcomes.helps[self.potential]]
        return rows

    def candidate(self, row: int) -> Candidate:
        return self.outcomes.candidate(row)

    def failure(self) -> str:
        """The message about the nodes when none is a candidate (FitError.Error)."""
        return self._words[1]

    def errors(self) -> str:
        """The errors of the dry run, each text once (utilerrors.NewAggregate)."""
        return self._words[0]

    @property
    def _words(self) -> tuple[str, str]:
        """Errors and failure message, kept for a kind of pod until its nodes change."""
        known = self.outcomes.words
        same = known is not None and (known[0] is self.potential or len(known[0]) == len(self.potential) == 0)
        if known is None or not same:
            statuses = self._statuses()
            rows = statuses.rows_with(Code.ERROR).tolist()
            texts = list(dict.fromkeys(statuses.status(row).message for row in rows))
            errors = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""
            known = self.outcomes.words = (self.potential, (errors, Diagnosis(statuses).message()))
        return known[1]


class Evaluator:
    """The search for one cluster and one rule of which pods may be evicted."""

    def __init__(self, cluster: Cluster, nominator: Nominator, allowed: Allowed, *, heeds_budgets: bool = True) -> None:
        self._cluster = cluster
        self._nominator = nominator
        self._dry_run = DryRun(cluster, allowed, heeds_budgets=heeds_budgets)

    def find_candidates(self, cycle: CycleHandle, pod: PodInfo, *, afresh: bool = False) -> PreemptionSearch:
        """findCandidates and DryRunPreemption. `afresh` tries node by node and remembers nothing."""
        found = cycle.diagnosis
        if found.pre_filter is not None and not found.nodes.absent.any():
            # In some patches no node has the status of PreFilter.
            return self._tried_without_states(pod)
        potential = self._potential(found.nodes)
        if not len(potential):
            return PreemptionSearch(potential, _none_tried(len(found.nodes)))
        with cycle.trial() as trial:
            outcomes = self._known(pod, None if afresh else trial.signature)
            todo = potential[~outcomes.tried[potential]]
            together = np.zeros(len(todo), dtype=np.bool_) if afresh else self._dry_run.can_share(trial, pod, todo)
            if np.count_nonzero(together):
                self._dry_run.run(trial, pod, todo[together], outcomes)
        for row in todo[~together].reshape(-1, 1):
            with cycle.trial() as trial:
                self._dry_run.run(trial, pod, row, outcomes)
        return PreemptionSearch(potential, outcomes)

    def _tried_without_states(self, pod: PodInfo) -> PreemptionSearch:
        """The dry run where PreFilter rejected the pod, so that plugins have no state to take a pod's removal from."""
        rows = np.arange(len(self._cluster.nodes))
        outcomes = Outcomes(len(rows))
        self._dry_run.fail_without_states(pod, rows, outcomes)
        return PreemptionSearch(rows, outcomes)

    def _potential(self, statuses: NodeStatuses) -> RowColumn:
        """nodesWherePreemptionMightHelp. Nodes that PreFilter left out count unless the minor skips them."""
        if DefaultPreemptionRules.of(self._cluster.release).skips_nodes_left_out:
            return statuses.rows_with(Code.UNSCHEDULABLE)
        hopeless = statuses.rows_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        return statuses.once("helpable", lambda: np.setdiff1d(np.arange(len(statuses)), hopeless))

    def best_of(self, candidates: Mapping[int, Candidate]) -> Candidate:
        """SelectCandidate among candidates whose victims extenders may have changed."""
        cluster = self._cluster
        outcomes = Outcomes(len(cluster.nodes))
        for candidate in candidates.values():
            victims = np.array(candidate.victims, dtype=np.int64)
            outcomes.put(candidate, cluster.pods.priority[victims], cluster.pods.started(victims))
        return outcomes.best(np.array(sorted(candidates), dtype=np.int64), cluster.nodes.name_rank)

    def _known(self, pod: PodInfo, signature: Hashable | None) -> Outcomes:
        """Outcomes of earlier pods of the kind that still hold; none for a nominated pod, which filters count."""
        cluster = self._cluster
        size = len(cluster.nodes)
        if signature is None or self._nominator.node_of(cluster.pods.row_of[pod.uid]):
            return Outcomes(size)
        key = (pod.priority, signature)
        remembered: OrderedDict[_Key, _Remembered] = cluster.derived(self, OrderedDict)
        kept = remembered.pop(key, None)
        if kept is None or kept.catalog != cluster.catalog.version:
            kept = _Remembered(Outcomes(size), cluster.catalog.version)
        else:
            kept.outcomes.forget(list(set(cluster.journal[kept.journal :])))
        kept.journal = len(cluster.journal)
        remembered[key] = kept
        if len(remembered) > _KINDS:
            remembered.popitem(last=False)
        return kept.outcomes


@lru_cache(maxsize=16)
def _none_tried(size: int) -> Outcomes:
    """The outcomes where preemption helps none of so many nodes: all such pods share them, and nothing changes them."""
    return Outcomes(size)
