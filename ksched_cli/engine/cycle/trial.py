"""What-if inside a cycle: pods leave, the filters run, everything is put back (preemption's dry run,
RunFilterPluginsWithNominatedPods). It changes the cache only; a trial of a whole world is `World.trial`."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from ksched_cli.cluster.cache import Sandbox, UsageSandbox
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle.runtime import CycleState, Runtime
from ksched_cli.engine.faults import CycleError, PluginFault
from ksched_cli.framework.depends import ANYWHERE
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import FilterPlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import error
from ksched_cli.framework.verdict import Verdict


class CycleTrial:
    """Works on the cache itself and on copies of the plugins' states; leaving the block restores the cache. `statuses`
    are those that the cycle found: filters before the one that rejected a node need not run there again if only the
    node object matters to them."""

    def __init__(
        self, runtime: Runtime, state: CycleState, info: PodInfo, statuses: NodeStatuses | None = None
    ) -> None:
        self._runtime = runtime
        self._cluster = runtime.cluster
        self._filters = runtime.in_force(state)
        self._rules = rules = runtime.trial_rules(state, info)
        self._state = runtime.clone(state)
        self._pod = info
        self._statuses = None if runtime.profile.checks_all_filters else statuses
        self.row_scoped, self.signature = rules.row_scoped, rules.signature
        self._sandbox = UsageSandbox(runtime.cluster) if rules.usage_only else Sandbox(runtime.cluster)
        self._irrelevant: dict[int, bool] = {}
        self._passed_once: set[int] = set()
        self._nominated_added: set[int] = set()
        # By node, the nominated pods that came there, and the node for each of them.
        self._nominated_pods: dict[int, tuple[RowColumn, RowColumn]] = {}

    def __enter__(self) -> CycleTrial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sandbox.__exit__(kind, value, trace)

    def stays_local(self, pod_row: int) -> bool:
        followers = {plugin.name: plugin for plugin in self._rules.followers}
        depends = self._runtime.depends_of(self._state, self._pod)
        for plugin in self._filters:
            found = depends[plugin.name]
            if found is not None and found.on != ANYWHERE:
                continue
            follower, state = followers.get(plugin.name), self._state.filter_states.get(plugin.name)
            if follower is None or follower.concerns(state, self._pod, pod_row):
                return False
        return True

    def remove(self, pod_rows: RowColumn) -> None:
        self._move(pod_rows, self._sandbox.homes(pod_rows), -1)

    def put_back(self, pod_rows: RowColumn) -> BoolColumn:
        """Of pods of one kind that follow each other on a node, those behind the first that is refused are refused
        without a try."""
        homes, kinds = self._sandbox.homes(pod_rows), self._sandbox.kinds(pod_rows)
        back: BoolColumn = np.zeros(len(pod_rows), dtype=np.bool_)
        if len(homes) and np.count_nonzero(homes != homes[0]):
            refused: RowColumn = np.full(len(self._cluster.nodes), -1, dtype=np.int64)
            for turn in _turns(homes):
                tried = turn[refused[homes[turn]] != kinds[turn]]
                if len(tried):
                    back[tried] = self._stay(pod_rows[tried], homes[tried])
                    refused[homes[tried]] = np.where(back[tried], -1, kinds[tried])
            return back
        last = -1
        for index, kind in enumerate(kinds.tolist()):
            if kind != last:
                one = slice(index, index + 1)
                back[one] = fits = self._stay(pod_rows[one], homes[one])
                last = -1 if fits.item(0) else kind
        return back

    def _stay(self, pod_rows: RowColumn, homes: RowColumn) -> BoolColumn:
        """Put back the pods, one of each node, and take those off again where the cycle's pod does not fit then."""
        self._move(pod_rows, homes, 1)
        fits = self.fits(homes)
        if np.count_nonzero(fits) < len(fits):
            self._move(pod_rows[~fits], homes[~fits], -1)
        return fits

    def _move(self, pod_rows: RowColumn, node_rows: RowColumn, sign: int) -> None:
        """Plugins that follow the moves see the columns as they are after each."""
        if not self._rules.followers or all(map(self._is_irrelevant, pod_rows.tolist())):
            self._sandbox.move(pod_rows, node_rows, sign)
            return
        follow = self._runtime.add_pod if sign > 0 else self._runtime.remove_pod
        for index, (pod_row, node_row) in enumerate(zip(pod_rows.tolist(), node_rows.tolist(), strict=True)):
            self._sandbox.move(pod_rows[index : index + 1], node_rows[index : index + 1], sign)
            follow(self._state, self._pod, pod_row, node_row)

    def _is_irrelevant(self, pod_row: int) -> bool:
        known = self._irrelevant.get(pod_row)
        if known is None:
            known = self._irrelevant[pod_row] = self._runtime.is_irrelevant(self._state, self._pod, pod_row)
        return known

    def filter(self, rows: RowColumn) -> Verdict:
        """A filter that fails on a node spoils that node only, and not the cycle."""
        statuses = NodeStatuses(len(self._cluster.nodes.objects))
        try:
            passed = self._run(rows, statuses).rows
        except PluginFault:
            raise
        except CycleError as problem:
            if len(rows) == 1:
                return Verdict.from_statuses([error(str(problem))])
            return Verdict.from_statuses([self.filter(rows[at : at + 1]).status(0) for at in range(len(rows))])
        self._passed_once.update(passed.tolist())
        if len(passed) == len(rows):
            return Verdict.passing(len(rows))
        return Verdict(statuses.codes[rows], statuses.kind_ids[rows], [each.reasons for each in statuses.kinds.values])

    def fits(self, rows: RowColumn) -> BoolColumn:
        """Which of the rows `filter` would pass, without the reasons of the others."""
        try:
            passed = self._run(rows, None).rows
        except CycleError:
            return self.filter(rows).passed
        if len(passed) == len(rows):
            return np.ones(len(rows), dtype=np.bool_)
        there = np.zeros(len(self._cluster.nodes.objects), dtype=np.bool_)
        there[passed] = True
        fitting: BoolColumn = there[rows]
        return fitting

    def _run(self, rows: RowColumn, statuses: NodeStatuses | None) -> NodeRows:
        """RunFilterPluginsWithNominatedPods. The statuses are those of rows that do not pass, if needed."""
        runtime, state, rules = self._runtime, self._state, self._rules
        nodes = NodeRows(self._cluster, np.asarray(rows, dtype=np.int64))
        if rules.followers or not rules.row_scoped:
            return runtime.run_filter_with_nominated(self._filters, state, self._pod, nodes, statuses)
        listed = nodes.rows.tolist()
        if runtime.nominator.nodes():
            self._add_nominated([row for row in listed if row not in self._nominated_added])
        # Where all filters passed once, filters that ignore pods on the node need not run again.
        filters = rules.pod_dependent if self._passed_once.issuperset(listed) else self._undecided(nodes.rows)
        passed = runtime.run_filter(filters, state, self._pod, nodes, statuses)
        beside = [row for row in passed.rows.tolist() if row in self._nominated_pods] if self._nominated_pods else []
        if not beside:
            return passed
        nominated, where = self._nominated_on(beside)
        self._sandbox.move(nominated, where, -1)
        try:
            alone = NodeRows(self._cluster, np.array(beside, dtype=np.int64))
            alone = runtime.run_filter(rules.pod_dependent, state, self._pod, alone, statuses)
        finally:
            self._sandbox.move(nominated, where, 1)
        if len(alone.rows) == len(beside):
            return passed
        refused = set(beside).difference(alone.rows.tolist())
        return passed.select(np.array([row not in refused for row in passed.rows.tolist()], dtype=np.bool_))

    def _undecided(self, rows: RowColumn) -> Sequence[FilterPlugin[Any]]:
        """The filters that may reject these rows."""
        statuses, filters, names = self._statuses, self._filters, self._rules.names
        if statuses is None or np.count_nonzero(statuses.codes.take(rows)) < len(rows):
            return filters
        if np.count_nonzero(statuses.absent.take(rows)):
            return filters
        rejected_by = {statuses.kinds.values[kind].plugin for kind in set(statuses.kind_ids.take(rows).tolist())}
        if not rejected_by.issubset(names):
            # Others than filters reject nodes, too, before or after all of them.
            return filters
        first = min(map(names.index, rejected_by), default=0)
        return [plugin for at, plugin in enumerate(filters) if at >= first or plugin in self._rules.pod_dependent]

    def _add_nominated(self, new: Sequence[int]) -> None:
        """Pods that are nominated to these nodes come there for the rest of the trial: they are filtered again and
        again, and stay where they are while others go and come back."""
        if not new:
            return
        self._nominated_added.update(new)
        nominated = self._runtime.nominated_beside(self._pod, NodeRows(self._cluster, np.array(new, dtype=np.int64)))
        for row, others in nominated.items():
            self._nominated_pods[row] = np.array(others, dtype=np.int64), np.full(len(others), row)
        if nominated:
            self._sandbox.move(*self._nominated_on(list(nominated)), 1)

    def _nominated_on(self, rows: Sequence[int]) -> tuple[RowColumn, RowColumn]:
        if len(rows) == 1:
            return self._nominated_pods[rows[0]]
        nominated, where = zip(*[self._nominated_pods[row] for row in rows], strict=True)
        return np.concatenate(nominated), np.concatenate(where)


def _turns(homes: RowColumn) -> list[RowColumn]:
    """Indexes of pods on these nodes, one of each node in a turn, the pods of a node in their order."""
    order = np.argsort(homes, kind="stable")
    nodes = homes[order]
    starts = np.append(0, np.flatnonzero(nodes[1:] != nodes[:-1]) + 1)
    turn = np.arange(len(nodes)) - np.repeat(starts, np.diff(np.append(starts, len(nodes))))
    return np.split(order[np.argsort(turn, kind="stable")], np.cumsum(np.bincount(turn))[:-1])
