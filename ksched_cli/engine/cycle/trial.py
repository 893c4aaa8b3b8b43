"""What-if inside a cycle: pods leave, the filters run, everything is put back (preemption's dry run)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from types import TracebackType

import numpy as np

from ksched_cli.cluster.cache import Sandbox, UsageSandbox
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle.runtime import CycleState, Runtime, is_fixed, reads_usage_only
from ksched_cli.engine.faults import CycleError, PluginFault
from ksched_cli.framework.depends import ANYWHERE
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import ReservePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import error
from ksched_cli.framework.verdict import Verdict

# No pod.
_NOTHING = -1
# A single pod that stays away.
_NOT_BACK: BoolColumn = np.zeros(1, dtype=np.bool_)


class CycleTrial:
    """Works on the cache itself and on copies of the plugins' states; leaving the block restores the cache."""

    def __init__(self, runtime: Runtime, state: CycleState, pod: PodInfo) -> None:
        self._runtime = runtime
        self._cluster = runtime.cluster
        self._state = runtime.clone(state)
        self._pod = pod
        self._filters = runtime.in_force(self._state)
        self._followed = bool(runtime.followers(state))
        # What the filters depend on decides which nodes can be tried together, and what has to be changed for a try.
        depends = runtime.depends_of(state, pod)
        self.row_scoped, usage_only, settled = True, not self._followed, []
        self._signatures: list[Hashable] | None = []
        for plugin in self._filters:
            found = depends[plugin.name]
            if found is None or found.on == ANYWHERE:
                self.row_scoped = usage_only = False
                self._signatures = None
                settled.append(plugin)
                continue
            fixed = is_fixed(found)
            if not fixed:
                settled.append(plugin)
                usage_only &= reads_usage_only(found)
            # What a plugin reserves may change a verdict while the node does not.
            if found.signature is None or (not fixed and isinstance(plugin, ReservePlugin)):
                self._signatures = None
            elif self._signatures is not None:
                self._signatures += (plugin.name, found.signature)
        self._settled = tuple(settled)
        self._sandbox = UsageSandbox(runtime.cluster) if usage_only else Sandbox(runtime.cluster)
        self._known_unnoticed: dict[int, bool] = {}
        self._passed_once: set[int] = set()
        self._invited: set[int] = set()
        self._guests: dict[int, list[int]] = {}
        # What was refused last on each node, as the columns see it, if nothing has changed there since.
        self._refused: RowColumn = np.full(len(self._cluster.nodes), _NOTHING, dtype=np.int64)

    def __enter__(self) -> CycleTrial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sandbox.__exit__(kind, value, trace)

    def stays_local(self, pod_row: int) -> bool:
        followers = {plugin.name: plugin for plugin in self._runtime.followers(self._state)}
        for plugin in self._filters:
            depends = self._runtime.depends_of(self._state, self._pod)[plugin.name]
            if depends is not None and depends.on != ANYWHERE:
                continue
            follower, state = followers.get(plugin.name), self._state.filter_states.get(plugin.name)
            if follower is None or follower.concerns(state, self._pod, pod_row):
                return False
        return True

    @property
    def signature(self) -> Hashable | None:
        return None if self._signatures is None else tuple(self._signatures)

    def remove(self, pod_rows: RowColumn) -> None:
        self._refused[:] = _NOTHING
        self._remove(pod_rows)

    def put_back(self, pod_rows: RowColumn) -> BoolColumn:
        """A pod of the same kind as the one refused last on its node is refused without a try."""
        homes, kinds = self._sandbox.homes(pod_rows), self._sandbox.kinds(pod_rows)
        if len(homes) == 1 and self._refused.item(homes.item(0)) == kinds.item(0):
            return _NOT_BACK
        back: BoolColumn = self._refused[homes] != kinds
        tried = pod_rows[back]
        if len(tried):
            there = homes[back]
            self._put_back(tried, there)
            fits = self.fits(there)
            if np.count_nonzero(fits) < len(fits):
                self._remove(tried[~fits])
            back[back] = fits
            self._refused[homes] = np.where(back, _NOTHING, kinds)
        return back

    def _remove(self, pod_rows: RowColumn) -> None:
        """Plugins that follow the moves see the columns as they are after each."""
        if not self._followed or all(map(self._unnoticed, pod_rows.tolist())):
            self._sandbox.remove(pod_rows)
            return
        for index, pod_row in enumerate(pod_rows.tolist()):
            (node_row,) = self._sandbox.remove(pod_rows[index : index + 1]).tolist()
            self._runtime.remove_pod(self._state, self._pod, pod_row, node_row)

    def _put_back(self, pod_rows: RowColumn, node_rows: RowColumn) -> None:
        if not self._followed or all(map(self._unnoticed, pod_rows.tolist())):
            self._sandbox.put_back(pod_rows, node_rows)
            return
        for index, (pod_row, node_row) in enumerate(zip(pod_rows.tolist(), node_rows.tolist(), strict=True)):
            self._sandbox.put_back(pod_rows[index : index + 1], node_rows[index : index + 1])
            self._runtime.add_pod(self._state, self._pod, pod_row, node_row)

    def _unnoticed(self, pod_row: int) -> bool:
        known = self._known_unnoticed.get(pod_row)
        if known is None:
            known = self._known_unnoticed[pod_row] = self._runtime.unnoticed(self._state, self._pod, pod_row)
        return known

    def filter(self, rows: RowColumn) -> Verdict:
        """A filter that fails on a node spoils that node only, and not the cycle."""
        try:
            return self._filter(rows)
        except PluginFault:
            raise
        except CycleError as problem:
            if len(rows) == 1:
                return Verdict.from_statuses([error(str(problem))])
        return Verdict.from_statuses([self.filter(rows[at : at + 1]).status(0) for at in range(len(rows))])

    def _filter(self, rows: RowColumn) -> Verdict:
        statuses = NodeStatuses(len(self._cluster.nodes))
        passed = self._run(rows, statuses)
        self._passed_once.update(passed.rows.tolist())
        return Verdict(statuses.codes[rows], statuses.kind_ids[rows], [each.reasons for each in statuses.kinds.values])

    def fits(self, rows: RowColumn) -> BoolColumn:
        """Which of the rows `filter` would pass, without the reasons of the others."""
        try:
            passed = self._run(rows, None)
        except CycleError:
            return self.filter(rows).passed
        if len(passed) == len(rows):
            return np.ones(len(rows), dtype=np.bool_)
        there = np.zeros(len(self._cluster.nodes), dtype=np.bool_)
        there[passed.rows] = True
        fitting: BoolColumn = there[rows]
        return fitting

    def _run(self, rows: RowColumn, statuses: NodeStatuses | None) -> NodeRows:
        """RunFilterPluginsWithNominatedPods. The statuses are those of rows that do not pass, if needed."""
        runtime, state = self._runtime, self._state
        nodes = NodeRows(self._cluster, np.asarray(rows, dtype=np.int64))
        if self._followed or not self.row_scoped:
            return runtime.run_filter_with_nominated(self._filters, state, self._pod, nodes, statuses)
        self._invite(nodes)
        # Where all filters passed once, filters that ignore pods on the node need not run again.
        filters = self._settled if self._passed_once.issuperset(rows.tolist()) else self._filters
        passed = runtime.run_filter(filters, state, self._pod, nodes, statuses)
        beside = [row for row in passed.rows.tolist() if row in self._guests] if self._guests else []
        if not beside:
            return passed
        guests, where = self._guests_of(beside)
        self._sandbox.remove(guests)
        try:
            alone = NodeRows(self._cluster, np.array(beside, dtype=np.int64))
            alone = runtime.run_filter(self._settled, state, self._pod, alone, statuses)
        finally:
            self._sandbox.add(guests, where)
        refused = set(beside).difference(alone.rows.tolist())
        if not refused:
            return passed
        return passed.select(np.array([row not in refused for row in passed.rows.tolist()], dtype=np.bool_))

    def _invite(self, nodes: NodeRows) -> None:
        """Pods that are nominated to these nodes come there for the rest of the trial: they are filtered again and
        again, and stay where they are while others go and come back."""
        new = [row for row in nodes.rows.tolist() if row not in self._invited]
        if not new:
            return
        self._invited.update(new)
        rivals = self._runtime.rivals(self._pod, NodeRows(self._cluster, np.array(new, dtype=np.int64)))
        if rivals:
            self._guests.update(rivals)
            self._sandbox.add(*self._guests_of(rivals))

    def _guests_of(self, rows: Iterable[int]) -> tuple[RowColumn, RowColumn]:
        """The nominated pods on these nodes, and where each of them is."""
        come = [(guest, row) for row in rows for guest in self._guests[row]]
        return (
            np.array([guest for guest, _ in come], dtype=np.int64),
            np.array([row for _, row in come], dtype=np.int64),
        )
