"""SelectVictimsOnNode, on one node or on many at once; what the dry runs came to, node by node, and the choice among
the nodes (pickOneNodeForPreemption).

Pods whose PodDisruptionBudget an eviction would violate are put back first (filterPodsWithPDBViolation). The rules
list what changed between minors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain

import numpy as np
from msgspec import Struct

from ksched_cli.api.selectors import Selector, selector_of_controller
from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, FloatColumn, Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pods import NOT_STARTED
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.handle import Candidate, Trial
from ksched_cli.framework.status import Status, error, unresolvable
from ksched_cli.plugins.lib.unstable_sort import MAX_INSERTION, sort_slice
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import LEFT_OUT_NODES_ARE_SKIPPED, MIXED_VICTIMS_ARE_SORTED
from ksched_cli.releases.plugin_names import VOLUME_RESTRICTIONS


class DefaultPreemptionRules(ReleaseRules, plugins="DefaultPreemption"):
    skips_nodes_left_out = Rule(
        LEFT_OUT_NODES_ARE_SKIPPED,
        "preemption",
        "Nodes that PreFilter left out are not tried; before, evicting pods there was tried too.",
    )
    budgets_have_a_gate = Rule(
        "1.17",
        "preemption",
        "The gate PodDisruptionBudget can switch disruption budgets off; before, they always counted.",
    ).then(
        "1.21",
        "preemption",
        "Disruption budgets always count; before, the gate PodDisruptionBudget could switch them off.",
        now=False,
    )
    failed_pods_lose_nomination = Rule(
        "1.23",
        "preemption",
        "A pod whose cycle fails is no longer nominated; before, it lost its node only where no eviction could help.",
    )
    explains_failure = Rule("1.19", described_by="DefaultPreemption")
    hopeless_node_ends_waiting = Rule(
        "1.19",
        "preemption",
        "A pod may preempt on another node once evictions on its nominated node cannot help, and a node where no pod "
        "would be evicted is no candidate; before, the pod waited for that node, and such a node was the best.",
    )
    search_ends_early = Rule(
        "1.20",
        "preemption",
        "The search ends at as many candidates as the arguments say, and there is preemption under a Policy; before, "
        "all nodes were tried, and there was none.",
    )
    needs_victims = Rule("1.19", described_by="DefaultPreemption")
    sorts_mixed_victims = Rule(
        MIXED_VICTIMS_ARE_SORTED,
        "preemption",
        "Where only some victims violate a budget, they are sorted by importance once more, so that a node is ranked "
        "by its most important victim; before, by the first that violates.",
    )
    counting_of_evictions = Rule(
        "1.18",
        "preemption",
        "The status of a budget limits the evictions; before, a budget that allowed one allowed all.",
        before="allow any",
        now="up to the first",
    ).then(
        "1.19",
        "preemption",
        "A victim counts for each budget that covers it, but not for those that know of its eviction; before, "
        "it counted up to the first budget that it violates, known or not.",
        now="all",
    )
    reports_its_node = Rule(
        "1.37",
        "message",
        "The message of a pod that preempts names its node and the number of victims; before, it did not.",
    )
    groups_keep_places = Rule(
        "1.37",
        "preemption",
        "A pod group looks for places once, with all weaker pods gone, so that as many of its pods as possible fit, "
        "and weaker pods stay that leave it its places; before, it looked for places again with each that stayed.",
    )
    groups_are_nominated = Rule(
        "1.37",
        "preemption",
        "All pods of a group that preempts are nominated to the places that it found; before, those alone that fit "
        "while its victims were there.",
    )
    groups_preempt_once = Rule(
        "1.37",
        "preemption",
        "A pod group evicts no more pods while victims of preemption leave nodes that its pods are nominated to; "
        "before, it could evict others.",
    )
    constrained_groups_preempt = Rule(
        "1.37", "preemption", "Pod groups with topology constraints preempt, too; before, they did not."
    )
    reports_preemption_of_groups = Rule(
        "1.37",
        "message",
        'Messages about preemption for a pod group begin with "pod group preemption:"; before, they did not.',
    )
    notes = (
        Rule(
            "1.37",
            "configuration preemption",
            "Preemption of pod groups is an extension point (podGroupPostFilter), at which a profile can disable it; "
            "before, it was a part of the cycle.",
        ),
        Rule("1.32", "queue", "Holds a pod back while its victims are being evicted; before, it waited in the queue."),
        Rule(
            "NonPreemptingPriority",
            "fields",
            "preemptionPolicy Never counts; without the gate, such pods preempt, too.",
        ),
        Rule(
            "PodDisruptionConditions",
            "preemption",
            "A pod waits on its nominated node for victims of preemption alone; without the gate, for every weaker "
            "pod there that is being deleted.",
        ),
        Rule("PodDisruptionBudget", "preemption", "Disruption budgets count; without the gate, there are none."),
        Rule(
            "WorkloadAwarePreemption",
            "preemption",
            "Victims are chosen for a pod group as a whole, and a group may be one victim; without the gate, each pod "
            "of a group preempts by itself.",
        ),
        Rule(
            "SchedulerAsyncPreemption",
            "queue",
            "Victims are evicted in the background; without the gate, in the cycle.",
        ),
    )


class PreemptionBudgets:
    """The budgets of a cluster; where they are not `heeded` there are none. Which of them cover a pod is computed once
    for every set of labels."""

    def __init__(self, cluster: Cluster, *, heeded: bool = True) -> None:
        self._cluster = cluster
        self._heeded = heeded
        self._version = -1
        self._selectors: list[tuple[str, Selector]] = []
        self._allowed: list[int] = []
        self._disrupted: list[frozenset[str]] = []
        self._covering: dict[tuple[int, int], tuple[int, ...]] = {}
        self._counting = DefaultPreemptionRules.of(cluster.release).counting_of_evictions

    def violating(self, pod_rows: RowColumn, owner: RowColumn) -> BoolColumn:
        """Whose eviction goes beyond what a budget allows, when those before it of the same owner leave as well."""
        self._read()
        violating = np.zeros(len(pod_rows), dtype=np.bool_)
        if not self._allowed:
            return violating
        left, whose = self._allowed.copy(), -1
        for index, (pod_row, node) in enumerate(zip(pod_rows.tolist(), owner.tolist(), strict=True)):
            if node != whose:
                left, whose = self._allowed.copy(), node
            violating[index] = self._counted(pod_row, left)
        return violating

    def _counted(self, pod_row: int, left: list[int]) -> bool:
        """Whether the pod's eviction violates a budget. What it uses of the budgets is taken from `left`."""
        violates = False
        for budget in self._covering_pod(pod_row):
            if self._counting == "all":
                left[budget] -= 1
                violates |= left[budget] < 0
            elif left[budget] <= 0:
                return True
            elif self._counting == "up to the first":
                left[budget] -= 1
        return violates

    def violating_units(self, units: Iterable[Sequence[int]]) -> list[bool]:
        """The same for units of pods that leave together. A pod counts up to the first budget that it violates, and a
        unit up to its first such pod (filterVictimsWithPDBViolation)."""
        self._read()
        left = self._allowed.copy()

        def violates(pod_row: int) -> bool:
            for budget in self._covering_pod(pod_row):
                left[budget] -= 1
                if left[budget] < 0:
                    return True
            return False

        return [any(map(violates, unit)) for unit in units]

    def _read(self) -> None:
        catalog = self._cluster.catalog
        if self._version == catalog.version:
            return
        self._version = catalog.version
        self._selectors, self._allowed, self._disrupted, self._covering = [], [], [], {}
        listed = catalog.all(PodDisruptionBudget) if self._heeded else ()
        # kube-scheduler takes them in the order of a map, which counts where a pod violates one of several.
        for budget in sorted(listed, key=lambda each: (each.metadata.namespace, each.metadata.name)):
            selector = selector_of_controller(budget.spec.selector)
            if not selector.everything:
                self._selectors.append((budget.metadata.namespace, selector))
                self._allowed.append(budget.status.disruptions_allowed)
                self._disrupted.append(frozenset(budget.status.disrupted_pods))

    def _covering_pod(self, pod_row: int) -> tuple[int, ...]:
        """Budgets that count the pod: those that list it as disrupted do not count it twice."""
        pods = self._cluster.pods
        key = int(pods.namespace[pod_row]), int(pods.label_set[pod_row])
        covering = self._covering.get(key)
        if covering is None:
            info = pods.infos[pod_row]
            covering = self._covering[key] = tuple(
                index
                for index, (namespace, selector) in enumerate(self._selectors if info.labels else ())
                if namespace == info.namespace and selector.matches(info.labels)
            )
        if self._counting != "all":
            return covering
        name = pods.infos[pod_row].name
        return tuple(budget for budget in covering if name not in self._disrupted[budget])


# Added to every priority so that more victims never sum up to less.
PRIORITY_OFFSET = 2**31

# A row with the figures that it is chosen by, less is better. The last three are the rank of the name, the list of
# its victims, and the row.
_Standing = tuple[float, ...]


class Outcomes:
    """One entry per node: not tried, a candidate with the figures it is chosen by, or the status that rules it out."""

    def __init__(self, size: int) -> None:
        self.tried: BoolColumn = np.zeros(size, dtype=np.bool_)
        self.helps: BoolColumn = np.zeros(size, dtype=np.bool_)
        self.pdb_violations: Int64Column = np.zeros(size, dtype=np.int64)
        self.highest: Int64Column = np.zeros(size, dtype=np.int64)
        self.priorities: Int64Column = np.zeros(size, dtype=np.int64)
        self.count: Int64Column = np.zeros(size, dtype=np.int64)
        self.earliest: FloatColumn = np.zeros(size)
        self._list_of: RowColumn = np.zeros(size, dtype=np.int64)
        self._start: RowColumn = np.zeros(size, dtype=np.int64)
        self._lists: list[RowColumn] = []
        # From the second choice on: a heap of rows, some of which have changed since, and the rows to add to it.
        self._queue: list[_Standing] | None = None
        self._to_add: list[RowColumn] = []
        self.statuses = NodeStatuses(size)
        # The message about these nodes when none of them helped, until one of them is tried once more.
        self.words: tuple[RowColumn, tuple[str, str]] | None = None

    def forget(self, rows: list[int]) -> None:
        if rows:
            self.words = None
        self.tried[rows] = False
        self.helps[rows] = False

    def untried(self, rows: RowColumn) -> RowColumn:
        """Those of the rows that have no outcome. They ascend."""
        if len(rows) == len(self.tried):
            return (~self.tried).nonzero()[0]
        return rows[~self.tried[rows]]

    def list_victims(self, rows: RowColumn, victims: RowColumn, starts: RowColumn) -> None:
        """Stores the victims of all these rows in one list, and where those of each row start."""
        self._list_of[rows] = len(self._lists)
        self._start[rows] = starts
        self._lists.append(victims)
        self._to_add.append(rows)

    def fail(self, rows: RowColumn, status: Status) -> None:
        if not len(rows):
            return
        self.tried[rows] = True
        for row in rows.tolist():
            self.statuses.set(row, status)

    def fail_as(self, rows: RowColumn, statuses: NodeStatuses) -> None:
        if len(rows):
            self.tried[rows] = True
            self.statuses.take_over(statuses, rows)

    def put(self, candidate: Candidate, priorities: Int64Column, started: FloatColumn) -> None:
        """Stores a candidate that an extender returned, with the figures of its victims."""
        row = candidate.row
        if not candidate.victims:
            self.put_empty(row)
            return
        self.tried[row] = self.helps[row] = True
        self.pdb_violations[row] = candidate.pdb_violations
        self.highest[row] = priorities[0]
        self.priorities[row] = (priorities + PRIORITY_OFFSET).sum()
        self.count[row] = len(priorities)
        self.earliest[row] = started[priorities == priorities.max()].min()
        self.list_victims(np.array([row]), np.array(candidate.victims, dtype=np.int64), np.zeros(1, dtype=np.int64))

    def put_empty(self, row: int) -> None:
        """Stores a candidate without victims, which is better than any other."""
        self.tried[row] = self.helps[row] = True
        self.pdb_violations[row] = self.count[row] = self.priorities[row] = 0
        self.highest[row] = np.iinfo(np.int64).min
        self.list_victims(np.array([row]), np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64))

    def candidate(self, row: int) -> Candidate:
        start = self._start[row]
        victims = self._lists[self._list_of[row]][start : start + self.count[row]]
        return Candidate(row, tuple(victims.tolist()), int(self.pdb_violations[row]))

    def best(self, rows: RowColumn, name_rank: RowColumn) -> Candidate:
        """pickOneNodeForPreemption. Where all criteria tie Go takes any node, and here it is the lowest name."""
        if self._queue is not None and len(rows) == np.count_nonzero(self.helps):
            return self.candidate(self._best_of_all(self._queue, name_rank))
        self._queue = self._queue or []
        for column in (self.pdb_violations, self.highest, self.priorities, self.count):
            rows = _least(rows, column.take(rows))
        rows = _least(rows, -self.earliest.take(rows))
        return self.candidate(int(rows[name_rank.take(rows).argmin()]))

    def _best_of_all(self, queue: list[_Standing], name_rank: RowColumn) -> int:
        """The best of all rows that help. Few have changed since the last choice."""
        if self._to_add:
            rows = np.concatenate(self._to_add)
            self._to_add.clear()
            if len(rows) > len(queue):
                queue += self._standings(rows, name_rank)
                heapify(queue)
            else:
                for standing in self._standings(rows, name_rank):
                    heappush(queue, standing)
        while not self._holds(queue[0]):
            heappop(queue)
        return int(queue[0][-1])

    def _holds(self, standing: _Standing) -> bool:
        """Whether the row still helps, with the same victims."""
        row, victims = int(standing[-1]), standing[-2]
        return self.helps.item(row) and self._list_of.item(row) == victims

    def _standings(self, rows: RowColumn, name_rank: RowColumn) -> list[_Standing]:
        figures = (self.pdb_violations, self.highest, self.priorities, self.count, -self.earliest, name_rank)
        columns = [each.take(rows).tolist() for each in (*figures, self._list_of)]
        return list(zip(*columns, rows.tolist(), strict=True))

    def ranked(self, rows: RowColumn, name_rank: RowColumn) -> list[int]:
        """The rows from the best to the worst."""
        return [int(standing[-1]) for standing in sorted(self._standings(rows, name_rank))]


def _least(rows: RowColumn, figures: Int64Column | FloatColumn) -> RowColumn:
    """The rows with the least figure."""
    least = figures[figures.argmin()]
    return rows if least == figures[figures.argmax()] else rows.compress(figures == least)


NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")
NO_STATE = error(
    f'running RemovePod on PreFilter plugin "{VOLUME_RESTRICTIONS}": '
    'cannot read "PreFilterVolumeRestrictions" from cycleState'
)

# Which of the pods (rows) the preemptor may evict (isPreemptionAllowed).
Allowed = Callable[[PodInfo, RowColumn], BoolColumn]


def first_of_each(owner: RowColumn) -> RowColumn:
    """Where the entries of each owner begin. Owners come in ascending order."""
    begins = np.ones(len(owner), dtype=np.bool_)
    np.not_equal(owner[1:], owner[:-1], out=begins[1:])
    return np.nonzero(begins)[0]


class Importance:
    """util.MoreImportantPod: higher priority first, then the longer running."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def order(self, pod_rows: RowColumn, owner: RowColumn) -> RowColumn:
        """Indexes that sort the pods of each owner by importance. Owners come in ascending order."""
        if 0 < len(pod_rows) <= MAX_INSERTION and owner[0] == owner[-1]:
            return np.array(self.sort(pod_rows), dtype=np.int64)
        priority, started = self._cluster.pods.priority[pod_rows], self._cluster.pods.started(pod_rows)
        order = np.lexsort((started, -priority, owner))
        for members in _unsettled(order, priority, started, owner):
            order[members] = members[self.sort(pod_rows[members])]
        return order

    def sort(self, pod_rows: RowColumn) -> list[int]:
        """Indexes in the order in which sort.Slice leaves the pods. Of two pods that have not started each is more
        important than the other: Go reads the clock for one after the other."""
        priorities: list[int] = (-self._cluster.pods.priority[pod_rows]).tolist()
        started: list[float] = self._cluster.pods.started(pod_rows).tolist()
        keys = list(zip(priorities, started, strict=True))
        if len(keys) <= MAX_INSERTION and started.count(NOT_STARTED) < 2:
            # An insertion sort keeps the order of pods that tie.
            return sorted(range(len(keys)), key=keys.__getitem__)

        def more_important(left: int, right: int) -> bool:
            if keys[left] == keys[right]:
                return keys[left][1] == NOT_STARTED
            return keys[left] < keys[right]

        return sort_slice(range(len(keys)), more_important)


def _unsettled(order: RowColumn, priority: RowColumn, started: FloatColumn, owner: RowColumn) -> Iterator[RowColumn]:
    """The members of the owners whose pods tie, where Go's sort does not keep their order."""
    ahead, behind = order[:-1], order[1:]
    ties = (owner[ahead] == owner[behind]) & (priority[ahead] == priority[behind]) & (started[ahead] == started[behind])
    at = np.nonzero(ties)[0]
    if not len(at):
        return
    starts = first_of_each(owner)
    ends = np.append(starts[1:], len(owner))
    group = np.searchsorted(starts, at, side="right") - 1
    odd = (ends[group] - starts[group] > MAX_INSERTION) | (started[ahead[at]] == NOT_STARTED)
    for each in sorted(set(group[odd].tolist())):
        yield np.arange(starts[each], ends[each])


class _Removed(Struct):
    """Pods that were taken off nodes, sorted by node and importance. `owner` indexes the node rows of the dry run."""

    pods: RowColumn
    owner: RowColumn
    violating: BoolColumn
    victim: BoolColumn


class DryRun:
    """SelectVictimsOnNode for the nodes of one cluster."""

    def __init__(self, cluster: Cluster, allowed: Allowed, *, heeds_budgets: bool) -> None:
        self._cluster = cluster
        self._allowed = allowed
        self._importance = Importance(cluster)
        self._budgets = PreemptionBudgets(cluster, heeded=heeds_budgets)
        # Else a node that takes the pod as it is, maybe one that an extender left out, is the best there can be.
        self._needs_victims = DefaultPreemptionRules.of(cluster.release).needs_victims

    def can_share(self, trial: Trial, info: PodInfo, rows: RowColumn) -> BoolColumn:
        """Nodes that can be cleared in one trial, because their pods affect no other node."""
        if trial.row_scoped:
            return np.ones(len(rows), dtype=np.bool_)
        pods, owner = self._removable(info, rows)
        local = np.fromiter(map(trial.stays_local, pods.tolist()), dtype=np.bool_, count=len(pods))
        apart: BoolColumn = np.bincount(owner[~local], minlength=len(rows)) == 0
        return apart

    def run(self, trial: Trial, info: PodInfo, rows: RowColumn, outcomes: Outcomes) -> None:
        """Clears the nodes, tests where the pod fits, and puts pods back that can stay. Writes one outcome per row."""
        pods, owner = self._removable(info, rows)
        tried = np.bincount(owner, minlength=len(rows)) > 0
        if self._needs_victims:
            if np.count_nonzero(tried) < len(rows):
                outcomes.fail(rows[~tried], NO_VICTIMS)
            if not len(pods):
                return
        else:
            tried[:] = True
        trial.remove(pods)
        verdict = trial.filter(rows[tried])
        fits = tried.copy()
        fits[tried] = verdict.passed
        if np.count_nonzero(verdict.codes):
            statuses = NodeStatuses(len(self._cluster.nodes))
            statuses.record("", rows[tried], verdict)
            outcomes.fail_as(rows[tried & ~fits], statuses)
            stays = fits[owner]
            pods, owner = pods[stays], owner[stays]
        pods = pods[self._importance.order(pods, owner)]
        violating = self._budgets.violating(pods, owner)
        # Pods that a budget protects are put back first.
        in_turn = np.argsort(~violating, kind="stable")
        victim = np.empty(len(pods), dtype=np.bool_)
        victim[in_turn] = ~trial.put_back(pods[in_turn])
        self._conclude(rows, fits.nonzero()[0], _Removed(pods, owner, violating, victim), outcomes)

    def fail_without_states(self, info: PodInfo, rows: RowColumn, outcomes: Outcomes) -> None:
        """Nodes without a pod to evict have no victims; on the others the first removal ends in an error."""
        owner = self._removable(info, rows)[1]
        has_any = np.bincount(owner, minlength=len(rows)) > 0
        outcomes.fail(rows[~has_any], NO_VICTIMS)
        outcomes.fail(rows[has_any], NO_STATE)

    def _removable(self, info: PodInfo, rows: RowColumn) -> tuple[RowColumn, RowColumn]:
        on = self._cluster.usage.pods
        if len(rows) == 1:
            pods = np.array([*on[rows.item(0)]], dtype=np.int64)
            pods = pods[self._allowed(info, pods)]
            return pods, np.zeros(len(pods), dtype=np.int64)
        counts = [len(on[row]) for row in rows.tolist()]
        pods = np.fromiter(chain.from_iterable(on[row] for row in rows.tolist()), dtype=np.int64, count=sum(counts))
        owner = np.repeat(np.arange(len(rows)), counts)
        allowed = self._allowed(info, pods)
        return pods[allowed], owner[allowed]

    def _conclude(self, rows: RowColumn, fitting: RowColumn, removed: _Removed, outcomes: Outcomes) -> None:
        victims, owner = removed.pods[removed.victim], removed.owner[removed.victim]
        starts = first_of_each(owner)
        found = owner[starts]
        for index in sorted({*fitting.tolist()}.difference(found.tolist())) if len(found) < len(fitting) else ():
            if not self._needs_victims:
                outcomes.put_empty(int(rows[index]))
                continue
            node = self._cluster.nodes.names[rows[index]]
            outcomes.fail(rows[[index]], error(f'expected at least one victim pod on node "{node}"'))
        if not len(victims):
            return
        in_order, pods = victims, self._cluster.pods
        if np.count_nonzero(removed.violating):
            in_order = self._in_order(victims, owner, removed)
        if len(found) == 1:
            violations = int(np.count_nonzero(removed.violating[removed.victim]))
            candidate = Candidate(int(rows[found[0]]), tuple(in_order.tolist()), violations)
            outcomes.put(candidate, pods.priority[in_order], pods.started(in_order))
            return
        where, sizes = rows[found], np.bincount(owner)[found]
        priority, started = pods.priority[victims], pods.started(victims)
        highest = np.maximum.reduceat(priority, starts)
        outcomes.tried[where] = outcomes.helps[where] = True
        outcomes.pdb_violations[where] = np.add.reduceat(removed.violating[removed.victim].astype(np.int64), starts)
        # That of the first victim, which up to 1.31 need not be the highest.
        outcomes.highest[where] = pods.priority[in_order[starts]]
        outcomes.priorities[where] = np.add.reduceat(priority + PRIORITY_OFFSET, starts)
        outcomes.count[where] = sizes
        oldest = np.where(priority == np.repeat(highest, sizes), started, np.inf)
        outcomes.earliest[where] = np.minimum.reduceat(oldest, starts)
        outcomes.list_victims(where, in_order, starts)

    def _in_order(self, victims: RowColumn, owner: RowColumn, removed: _Removed) -> RowColumn:
        """By importance, as they come. Where some of a node's pods violate a budget and others do not, the violating
        ones come first, and since 1.32 the victims are sorted once more from there."""
        mixed = np.intersect1d(removed.owner[removed.violating], removed.owner[~removed.violating])
        ordered, violating = victims.copy(), removed.violating[removed.victim]
        for each in mixed.tolist():
            members = np.nonzero(owner == each)[0]
            first = members[np.argsort(~violating[members], kind="stable")]
            if DefaultPreemptionRules.of(self._cluster.release).sorts_mixed_victims:
                first = first[self._importance.sort(victims[first])]
            ordered[members] = victims[first]
        return ordered
