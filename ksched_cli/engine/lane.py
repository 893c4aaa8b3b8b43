"""What a cycle found for a pod template, repaired for the next pod of that template.

Most pods of a cluster are copies of a few. A pod whose template has had a cycle before gets the statuses of that cycle,
brought up to date for the nodes that have changed since: those in the cluster's journal, and those that a plugin names
whose verdict depends on other pods. `Cluster.reuse` switches this off, and every result stays the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from itertools import takewhile
from typing import Any

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, RowColumn, equal, joined_rows, rows_in_any
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.copies import PodCopies
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.filters import Filters
from ksched_cli.engine.lane_scores import TemplateScores
from ksched_cli.engine.nominated_filters import NominatedFilters
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.pod_run import PodRun
from ksched_cli.engine.pre_filters import PreFilters
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.score_groups import GroupingPlugin
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.engine.scores import Scores
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import LASTING, Plugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.rows import NodeRows

# How much memory the results of all templates may take together, and how much one takes per node.
_BYTES = 96 * 2**20
_BYTES_PER_NODE = 32
# After so many results in a row that no later pod had a use for, only results of templates with copies are kept.
_UNUSED = 4
# So many rows are sorted one by one.
_FEW = 50


def most_templates(nodes: int) -> int:
    """How many templates have a result that is kept."""
    return max(_BYTES // (_BYTES_PER_NODE * max(nodes, 1)), 2)


class TemplateResult(Struct):
    """`feasible` is None for all nodes. `closed` are nodes that a filter rejects which only the node object decides;
    None for no node; `open_state` leaves these filters out. `repaired` are the rows that were filtered again since
    nodes were scored. `binds_alike`: whether plugins from Reserve on do nothing for copies, once one was bound."""

    state: CycleState
    position: int
    versions: dict[str, Hashable]
    statuses: NodeStatuses
    feasible: RowColumn | None
    closed: BoolColumn | None
    open_state: CycleState
    scores: TemplateScores | None = None
    repaired: list[RowColumn] = field(default_factory=list)
    binds_alike: bool | None = None

    def note(self, rows: RowColumn) -> None:
        """Remember which rows were filtered again."""
        if self.scores is None:
            return
        self.repaired.append(rows)
        if sum(map(len, self.repaired)) > len(self.statuses):
            self.repaired[:] = [rows_in_any(len(self.statuses), self.repaired)]

    def take(self) -> RowColumn:
        """The rows that were filtered again; they are forgotten here."""
        rows = joined_rows(len(self.statuses), self.repaired)
        self.repaired.clear()
        return rows


class TemplateLane:
    """The results of the templates that were used last."""

    def __init__(
        self,
        profile: Profile,
        cluster: Cluster,
        nominator: NominatedPods,
        pre_filters: PreFilters,
        filters: Filters,
        nominated: NominatedFilters,
        scores: Scores,
    ) -> None:
        self._profile = profile
        self._cluster = cluster
        self._nominator = nominator
        self._pre_filters = pre_filters
        self._filters = filters
        self._nominated = nominated
        self._scores = scores
        plugins = (*profile.pre_filter, *profile.filter, *profile.pre_score, *profile.score)
        self._plugins: dict[str, Plugin] = {plugin.name: plugin for plugin in plugins}
        # What else a copy of a pod could fare differently with.
        self._around: tuple[Plugin, ...] = (*profile.pre_enqueue, *profile.after_scoring)
        self._unused = 0
        self._copies = PodCopies(cluster)
        # Plugins that never return a version are not called for each pod.
        self._is_open = not profile.checks_all_filters and all(
            plugin.lasting or type(plugin).placements_version is not Plugin.placements_version
            for plugin in self._plugins.values()
        )

    def keep(
        self, pod: PodInfo, state: CycleState, statuses: NodeStatuses, feasible: RowColumn
    ) -> TemplateResult | None:
        """Remember what a cycle has found, right after its filters have run over all nodes. None if it is not kept."""
        if not self._is_open or not self._may_return(pod, feasible):
            return None
        versions: dict[str, Hashable] = {}
        for name, plugin in self._plugins.items():
            if plugin.lasting:
                continue
            version = plugin.placements_version(pod)
            if version is None:
                return None
            if version != LASTING:
                versions[name] = version
        cluster = self._cluster
        kept = CycleState(dict(state.filter_states), {}, set(state.skip_filter), set())
        results = self._results
        result = results[self._key(pod)] = TemplateResult(
            kept,
            len(cluster.journal),
            versions,
            statuses.copy(),
            None if len(feasible) == len(cluster.nodes) else feasible,
            self._closed(kept, statuses),
            self._filters.open_state(kept),
        )
        while len(results) > most_templates(len(cluster.nodes)):
            results.popitem(last=False)
        return result

    def _may_return(self, pod: PodInfo, feasible: RowColumn) -> bool:
        """Whether a pod of the template is likely to have another cycle. Where every pod has a template of its own,
        results would be kept in vain. A pod that no node fits is tried again."""
        if not len(feasible):
            return True
        self._unused += 1
        return self._unused <= _UNUSED or self._copies.has_copies(pod)

    @property
    def _results(self) -> OrderedDict[tuple[int, bytes], TemplateResult]:
        return self._cluster.derived(self, OrderedDict)

    def _key(self, pod: PodInfo) -> tuple[int, bytes]:
        """API objects and the template."""
        return self._cluster.catalog.version, pod.template

    def _closed(self, state: CycleState, statuses: NodeStatuses) -> BoolColumn | None:
        filters = self._filters.in_force(state).plugins
        fixed = {plugin.name for plugin in takewhile(lambda each: not each.follows_pods, filters)}
        if fixed.isdisjoint(statuses.unschedulable_plugins()):
            return None
        by_kind = np.array([each.plugin in fixed for each in statuses.kinds.values], dtype=np.bool_)
        closed: BoolColumn = statuses.failed & by_kind.take(statuses.kind_ids)
        return closed

    def find(self, pod: PodInfo) -> TemplateResult | None:
        """The result for the pod's template as of now; None where the cycle has to run in full. A result about which a
        plugin fails is dropped, so that the plugin fails again in that cycle."""
        results, key = self._results, self._key(pod)
        result = results.pop(key, None)
        if result is None or (self._nominator.nodes() and not self._filters.in_force(result.state).row_scoped):
            return None
        rows = self._changed_rows(result, pod, self._touched_rows(result))
        if rows is None:
            return None
        if len(rows):
            self._filter_again(result, pod, rows)
        result.position = len(self._cluster.journal)
        results[key] = result
        self._unused = 0
        return result

    def score(self, result: TemplateResult, pod: PodInfo) -> ScoreTable:
        """The scores of the feasible nodes."""
        scores, result.scores = result.scores, None
        if scores is None or not scores.repair(result, pod):
            result.repaired.clear()
            scores = TemplateScores(self._profile, self._cluster, self._scores, result, pod)
        table = scores.table(pod)
        result.scores = scores
        return table

    def run_of_copies(self, pod_row: int) -> PodRun | None:
        """Where the next pods go if they are copies of this pod, which has just had its cycle; None where each needs a
        cycle of its own."""
        pod = self._cluster.pods.infos[pod_row]
        before = self._results.get(self._key(pod))
        known = dict(before.versions) if before is not None else {}
        result = self.find(pod)
        if result is None or self._nominator.nodes() or pod.host_ports:
            return None
        in_force = self._filters.in_force(result.state).plugins
        # Placing the pod has changed nothing that plugins count: placing its copies will not either. A plugin that
        # counts them by group may do so for scores alone.
        changed = {name for name, version in result.versions.items() if version != known.get(name)}
        if not all(isinstance(self._plugins[name], GroupingPlugin) for name in changed):
            return None
        if any(plugin.name in changed for plugin in in_force):
            return None
        if not all(plugin.placements_version(pod) == LASTING for plugin in self._around):
            return None
        if not all(plugin.reads_usage_only for plugin in in_force if plugin.follows_pods and plugin.scope == "row"):
            return None
        feasible = len(result.statuses) if result.feasible is None else len(result.feasible)
        if feasible < 2:
            return None
        self.score(result, pod)
        groups = None if result.scores is None else result.scores.score_groups(pod)
        if result.scores is None or groups is None:
            return None
        return PodRun(self._cluster, self._filters, result.state, result.scores, pod_row, *groups)

    def _touched_rows(self, result: TemplateResult) -> RowColumn:
        """The rows that placements have changed since the result was brought up to date."""
        touched = self._cluster.journal[result.position :]
        if len(touched) > _FEW:
            return rows_in_any(len(self._cluster.nodes), (np.array(touched, dtype=np.int64),))
        return np.array(sorted(set(touched)), dtype=np.int64)

    def _changed_rows(self, result: TemplateResult, pod: PodInfo, rows: RowColumn) -> RowColumn | None:
        """Rows to filter again, those that were touched among them; None where PreFilter now returns something of
        another kind."""
        for name, version in result.versions.items():
            plugin = self._plugins[name]
            now = plugin.placements_version(pod)
            if now == version:
                continue
            if now is None or now == LASTING:
                return None
            result.versions[name] = now
            changed = self._pre_filter_again(result, plugin, pod)
            if changed is None:
                return None
            if len(changed):
                rows = rows_in_any(len(self._cluster.nodes), (rows, changed))
        return rows

    def _pre_filter_again(self, result: TemplateResult, plugin: Plugin, pod: PodInfo) -> RowColumn | None:
        state, name = result.state, plugin.name
        unchanged = np.empty(0, dtype=np.int64)
        if not isinstance(plugin, PreFilterPlugin) or plugin not in self._profile.pre_filter:
            return unchanged
        answer = self._pre_filters.call(plugin, pod)
        skipped = name in state.skip_filter
        if not isinstance(answer, PreFilterResult):
            return unchanged if answer.skipped and skipped and name not in state.filter_states else None
        if answer.node_names is not None or answer.skip != skipped or name not in state.filter_states:
            return None
        before, state.filter_states[name] = state.filter_states[name], answer.state
        if skipped:
            return unchanged
        return self._rows_that_differ(plugin, pod, before, answer.state)

    def _rows_that_differ(self, plugin: Plugin, pod: PodInfo, before: Any, now: Any) -> RowColumn:
        found = None
        for each in self._profile.filter:
            if each is plugin:
                found = each.changed_rows(pod, before, now)
        return self._cluster.nodes.all_rows if found is None else found

    def _filter_again(self, result: TemplateResult, pod: PodInfo, rows: RowColumn) -> None:
        statuses = result.statuses
        if result.closed is not None:
            rows = rows[~result.closed[rows]]
            if not len(rows):
                return
        before, nodes = statuses.codes.take(rows), NodeRows(self._cluster, rows)
        # Statuses that come out as they were leave what was summed up of them.
        found = NodeStatuses(len(statuses)) if np.count_nonzero(before) else statuses
        if self._nominator.nodes():
            self._nominated.run_again(result.open_state, pod, nodes, found)
        else:
            self._filters.run(result.open_state, pod, nodes, found)
        if found is not statuses:
            statuses.follow(found, rows)
        result.note(rows)
        if not equal(before == 0, statuses.codes.take(rows) == 0):
            feasible = (statuses.codes == 0).nonzero()[0]
            result.feasible = None if len(feasible) == len(statuses) else feasible
