"""SelectVictimsOnNode, on one node or on many at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.handle import Trial
from ksched_cli.framework.status import error, unresolvable
from ksched_cli.plugins.default_preemption.budgets import PreemptionBudgets
from ksched_cli.plugins.default_preemption.importance import Importance, first_of_each
from ksched_cli.plugins.default_preemption.outcomes import PRIORITY_OFFSET, Outcomes
from ksched_cli.plugins.default_preemption.rules import DefaultPreemptionRules
from ksched_cli.releases.plugin_names import VOLUME_RESTRICTIONS

NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")
NO_STATE = error(
    f'running RemovePod on PreFilter plugin "{VOLUME_RESTRICTIONS}": '
    'cannot read "PreFilterVolumeRestrictions" from cycleState'
)

# Which of the pods (rows) the preemptor may evict (isPreemptionAllowed).
Allowed = Callable[[PodInfo, RowColumn], BoolColumn]


@dataclass
class _Removed:
    """Pods that were taken off nodes, sorted by node and importance. `owner` indexes the node rows of the dry run."""

    pods: RowColumn
    owner: RowColumn
    violating: BoolColumn
    victim: BoolColumn = field(init=False)

    def __post_init__(self) -> None:
        self.victim = np.zeros(len(self.pods), dtype=np.bool_)

    def turns(self) -> list[RowColumn]:
        """Indexes in the order of reprieve: pods that a budget protects first, and one pod of each node per turn."""
        if self.owner[0] == self.owner[-1]:
            return list(np.argsort(~self.violating, kind="stable").reshape(-1, 1))
        order = np.lexsort((np.arange(len(self.pods)), ~self.violating, self.owner))
        owner = self.owner[order]
        starts = first_of_each(owner)
        sizes = np.diff(np.append(starts, len(owner)))
        turn = np.arange(len(owner)) - np.repeat(starts, sizes)
        by_turn = np.argsort(turn, kind="stable")
        return np.split(order[by_turn], np.cumsum(np.bincount(turn))[:-1])


class DryRun:
    """SelectVictimsOnNode for the nodes of one cluster."""

    def __init__(self, cluster: Cluster, allowed: Allowed, *, heeds_budgets: bool = True) -> None:
        self._cluster = cluster
        self._allowed = allowed
        self._importance = Importance(cluster)
        self._budgets = PreemptionBudgets(cluster, heeded=heeds_budgets)
        # Else a node that takes the pod as it is, maybe one that an extender left out, is the best there can be.
        self._needs_victims = DefaultPreemptionRules.of(cluster.release).needs_victims

    def can_share(self, trial: Trial, pod: PodInfo, rows: RowColumn) -> BoolColumn:
        """Nodes that can be cleared in one trial, because their pods affect no other node."""
        if trial.row_scoped:
            return np.ones(len(rows), dtype=np.bool_)
        pods, owner = self._removable(pod, rows)
        local = np.fromiter(map(trial.stays_local, pods.tolist()), dtype=np.bool_, count=len(pods))
        apart: BoolColumn = np.bincount(owner[~local], minlength=len(rows)) == 0
        return apart

    def run(self, trial: Trial, pod: PodInfo, rows: RowColumn, outcomes: Outcomes) -> None:
        """Clears the nodes, tests where the pod fits, and puts pods back that can stay. Writes one outcome per row."""
        pods, owner = self._removable(pod, rows)
        has_any = np.bincount(owner, minlength=len(rows)) > 0
        if self._needs_victims:
            outcomes.fail(rows[~has_any], NO_VICTIMS)
            if not len(pods):
                return
        else:
            has_any[:] = True
        trial.remove(pods)
        fits = self._fitting(trial, rows, has_any, outcomes)
        stays = fits[owner]
        removed = self._by_importance(pods[stays], owner[stays])
        self._reprieve(trial, removed)
        self._conclude(rows, np.nonzero(fits)[0], removed, outcomes)

    def fail_without_states(self, pod: PodInfo, rows: RowColumn, outcomes: Outcomes) -> None:
        """Nodes without a pod to evict have no victims; on the others the first removal ends in an error."""
        owner = self._removable(pod, rows)[1]
        has_any = np.bincount(owner, minlength=len(rows)) > 0
        outcomes.fail(rows[~has_any], NO_VICTIMS)
        outcomes.fail(rows[has_any], NO_STATE)

    def _removable(self, pod: PodInfo, rows: RowColumn) -> tuple[RowColumn, RowColumn]:
        on = self._cluster.usage.pods
        counts = [len(on[row]) for row in rows.tolist()]
        pods = np.fromiter(chain.from_iterable(on[row] for row in rows.tolist()), dtype=np.int64, count=sum(counts))
        owner = np.repeat(np.arange(len(rows)), counts)
        allowed = self._allowed(pod, pods)
        return pods[allowed], owner[allowed]

    def _fitting(self, trial: Trial, rows: RowColumn, cleared: BoolColumn, outcomes: Outcomes) -> BoolColumn:
        """Cleared nodes that take the pod. The statuses of the others go to the outcomes."""
        verdict = trial.filter(rows[cleared])
        fits = np.zeros(len(rows), dtype=np.bool_)
        fits[cleared] = verdict.passed
        if np.count_nonzero(verdict.codes):
            statuses = NodeStatuses(len(self._cluster.nodes))
            statuses.record("", rows[cleared], verdict)
            outcomes.fail_as(rows[cleared & ~fits], statuses)
        return fits

    def _by_importance(self, pods: RowColumn, owner: RowColumn) -> _Removed:
        pods = pods[self._importance.order(pods, owner)]
        return _Removed(pods, owner, self._budgets.violating(pods, owner))

    def _reprieve(self, trial: Trial, removed: _Removed) -> None:
        """Puts the next pod of every node back, turn by turn, where the preemptor still fits."""
        if not len(removed.pods):
            return
        for turn in removed.turns():
            removed.victim[turn] = ~trial.put_back(removed.pods[turn])

    def _conclude(self, rows: RowColumn, fitting: RowColumn, removed: _Removed, outcomes: Outcomes) -> None:
        victims, owner = removed.pods[removed.victim], removed.owner[removed.victim]
        starts = first_of_each(owner)
        found = owner[starts]
        for index in sorted({*fitting.tolist()} - {*found.tolist()}):
            if not self._needs_victims:
                outcomes.put_empty(int(rows[index]))
                continue
            node = self._cluster.nodes.names[rows[index]]
            outcomes.fail(rows[index : index + 1], error(f'expected at least one victim pod on node "{node}"'))
        if not len(victims):
            return
        where, sizes = rows[found], np.bincount(owner)[found]
        priority, started = self._cluster.pods.priority[victims], self._cluster.pods.started(victims)
        highest = np.maximum.reduceat(priority, starts)
        outcomes.tried[where] = outcomes.helps[where] = True
        outcomes.pdb_violations[where] = np.add.reduceat(removed.violating[removed.victim].astype(np.int64), starts)
        in_order = self._in_order(victims, owner, removed)
        # That of the first victim, which up to 1.31 need not be the highest.
        outcomes.highest[where] = self._cluster.pods.priority[in_order[starts]]
        outcomes.priorities[where] = np.add.reduceat(priority + PRIORITY_OFFSET, starts)
        outcomes.count[where] = sizes
        oldest = np.where(priority == np.repeat(highest, sizes), started, np.inf)
        outcomes.earliest[where] = np.minimum.reduceat(oldest, starts)
        outcomes.list_victims(where, in_order, starts)

    def _in_order(self, victims: RowColumn, owner: RowColumn, removed: _Removed) -> RowColumn:
        """By importance, as they come. Where some of a node's pods violate a budget and others do not, the violating
        ones come first, and since 1.32 the victims are sorted once more from there."""
        if not np.count_nonzero(removed.violating):
            return victims
        mixed = np.intersect1d(removed.owner[removed.violating], removed.owner[~removed.violating])
        ordered, violating = victims.copy(), removed.violating[removed.victim]
        for each in mixed.tolist():
            members = np.nonzero(owner == each)[0]
            first = members[np.argsort(~violating[members], kind="stable")]
            if DefaultPreemptionRules.of(self._cluster.release).sorts_mixed_victims:
                first = first[self._importance.sort(victims[first])]
            ordered[members] = victims[first]
        return ordered
