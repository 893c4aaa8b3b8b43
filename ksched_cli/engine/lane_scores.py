"""The scores of a template's feasible nodes, repaired for the nodes that have changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.score_groups import GroupingPlugin, OneGroup, ScoreGroups
from ksched_cli.engine.score_table import FeasibleColumns, ScoreTable
from ksched_cli.engine.scores import FixedScores, Scored, Scores, handed_to, is_following
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import LASTING, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status

_NO_ROWS: RowColumn = np.empty(0, dtype=np.int64)


class FilteredTemplate(Protocol):
    """What the filters found for one template (TemplateResult)."""

    @property
    def state(self) -> CycleState: ...

    @property
    def versions(self) -> dict[str, Hashable]: ...

    @property
    def statuses(self) -> NodeStatuses: ...

    @property
    def feasible(self) -> RowColumn | None: ...

    @property
    def repaired(self) -> list[RowColumn]: ...

    def take(self) -> RowColumn: ...


class Extremes(Struct, frozen=True):
    """Feasible rows with the least and the highest raw score, and these scores."""

    low_row: int
    high_row: int
    low: int
    high: int


class KeptColumn(Struct):
    """A plugin's scores over all nodes, which pods on nodes do not change. `raw` is shared with other templates;
    `normalized` counts on feasible rows only."""

    plugin: ScorePlugin[Any]
    raw: Int64Column
    normalized: Int64Column
    extremes: Extremes | None


class TemplateScores:
    """Three kinds of columns. Plugins whose scores stay while node objects do have columns over all nodes, which are
    kept here with their weighted sum. Plugins whose score of a node follows the pods on that node have columns over all
    nodes that all templates share (Scores.following_scores). The columns of the other plugins are over the feasible
    rows, and they are computed again for every pod unless `placements_version` shows that nothing has changed.
    """

    def __init__(
        self, profile: Profile, cluster: Cluster, scores: Scores, result: FilteredTemplate, pod: PodInfo
    ) -> None:
        self._profile = profile
        self._cluster = cluster
        self._scores = scores
        self._versions = dict(result.versions)
        self._feasible = result.feasible
        self._nodes = NodeRows(self._cluster, result.feasible)
        self._state = CycleState(result.state.filter_states, {}, result.state.skip_filter, set())
        scores.prepare(self._state, pod, self._nodes)
        self._loose: list[ScorePlugin[Any]] = []
        self._loose_columns: dict[str, tuple[Int64Column, Int64Column]] = {}
        self._scored = [each for each in profile.score if each.name not in self._state.skip_score]
        self._names = [each.name for each in self._scored]
        self._weights = {each.name: profile.weights[each.name] for each in self._scored}
        fixed: list[Scored] = []
        self._following: list[Scored] = []
        for plugin in self._scored:
            handed = handed_to(plugin, self._state)
            sign = None if plugin.name in self._versions else plugin.sign_score(handed, pod)
            scored = plugin, handed, sign
            if is_following(scored):
                self._following.append(scored)
            elif sign is None or (plugin.follows_pods and sign != LASTING):
                self._loose.append(plugin)
            else:
                fixed.append(scored)
        self._following_scores = scores.following_scores(self._following, pod)
        if self._following and self._following_scores is None:
            # A node that is not feasible may be to blame.
            self._loose = [each for each in self._scored if each.name not in {plugin.name for plugin, _, _ in fixed}]
            self._following = []
        shared = scores.fixed_scores(fixed, pod, self._nodes)
        self._fixed = [self._fresh(plugin, handed, sign, pod, shared) for plugin, handed, sign in fixed]
        self._fixed_columns = self._columns_by_name()
        are_shared = shared is not None and all(each.plugin.name in shared.raw for each in self._fixed)
        # Not written to where other templates may have it.
        self._fixed_totals = shared.total if shared is not None and are_shared else self._weighted(self._fixed)

    # Columns over all nodes

    def _fresh(
        self, plugin: ScorePlugin[Any], handed: Any, sign: Hashable, pod: PodInfo, shared: FixedScores | None
    ) -> KeptColumn:
        nodes = self._nodes
        if shared is not None and plugin.name in shared.raw:
            raw, normalized = shared.raw[plugin.name], shared.normalized[plugin.name]
            return KeptColumn(plugin, raw, normalized, _extremes(plugin, nodes.take(raw), nodes.rows))
        raw = self._scores.signed_raw(plugin, handed, sign, pod)
        column = nodes.take(raw)
        normalized = self._scores.normalize(plugin, handed, pod, nodes, column)
        if not plugin.normalizes:
            normalized = raw
        elif self._feasible is not None:
            everywhere = np.zeros(len(raw), dtype=np.int64)
            everywhere[self._feasible] = normalized
            normalized = everywhere
        return KeptColumn(plugin, raw, normalized, _extremes(plugin, column, nodes.rows))

    def _columns_by_name(self) -> tuple[dict[str, Int64Column], dict[str, Int64Column]]:
        """The raw and the normalized scores of plugins whose scores pods do not change. Not to be written to."""
        raw = {each.plugin.name: each.raw for each in self._fixed}
        return raw, {each.plugin.name: each.normalized for each in self._fixed}

    def _weighted(self, columns: Iterable[KeptColumn]) -> Int64Column:
        total = np.zeros(len(self._cluster.nodes), dtype=np.int64)
        for column in columns:
            weight = self._weights[column.plugin.name]
            total += column.normalized if weight == 1 else column.normalized * weight
        return total

    def repair(self, result: FilteredTemplate, pod: PodInfo) -> bool:
        """Bring the kept columns up to date with the rows that were filtered again; False where all scores have to be
        computed again."""
        if not self._follows(result, pod):
            return False
        self._following_scores = self._scores.following_scores(self._following, pod)
        if self._following and self._following_scores is None:
            return False
        before, self._feasible = self._feasible, result.feasible
        if before is self._feasible:
            result.repaired.clear()
            return True
        self._nodes = NodeRows(self._cluster, self._feasible)
        return self._normalized_again(pod, _new_among(result.take(), before, result.statuses), result.statuses)

    def _follows(self, result: FilteredTemplate, pod: PodInfo) -> bool:
        """Run PreScore again where other pods or the feasible nodes decide what it returns."""
        same_nodes = result.feasible is self._feasible
        for name, version in result.versions.items():
            if same_nodes and version == self._versions[name]:
                continue
            self._versions[name] = version
            self._loose_columns.pop(name, None)
            if not self._pre_score_again(name, result, pod):
                return False
        return True

    def _pre_score_again(self, name: str, result: FilteredTemplate, pod: PodInfo) -> bool:
        plugin = next((each for each in self._profile.pre_score if each.name == name), None)
        if plugin is None:
            return True
        nodes = NodeRows(self._cluster, result.feasible)
        answer = self._scores.prepare_one(plugin, self._state, pod, nodes)
        skipped = name in self._state.skip_score
        if isinstance(answer, Status):
            return answer.skipped and skipped
        self._state.score_states[name] = answer
        return not skipped

    def _normalized_again(self, pod: PodInfo, new: RowColumn, statuses: NodeStatuses) -> bool:
        """Normalize the scores of rows that have become feasible; False where extremes have moved, so that all scores
        differ."""
        normalizing = [each for each in self._fixed if each.plugin.normalizes]
        if not all(self._keeps_extremes(each, new, statuses) for each in normalizing):
            return False
        if len(new) and normalizing:
            for column in normalizing:
                column.normalized = column.normalized.copy()
                column.normalized[new] = self._between_extremes(column, pod, new)
            self._fixed_columns = self._columns_by_name()
            self._fixed_totals = self._fixed_totals.copy()
            self._fixed_totals[new] = sum(
                column.normalized[new] * self._weights[column.plugin.name] for column in self._fixed
            )
        return True

    def _keeps_extremes(self, column: KeptColumn, new: RowColumn, statuses: NodeStatuses) -> bool:
        """Whether the least and the highest score of the feasible nodes are as before. Other nodes may have them."""
        extremes = column.extremes
        if extremes is None:
            return False
        if _hold(extremes, column.raw, new, statuses):
            return True
        found = _extremes(column.plugin, self._nodes.take(column.raw), self._nodes.rows)
        if found is None or (found.low, found.high) != (extremes.low, extremes.high):
            return False
        column.extremes = found
        return True

    def _between_extremes(self, column: KeptColumn, pod: PodInfo, rows: RowColumn) -> Int64Column:
        extremes = column.extremes
        assert extremes is not None
        nodes = NodeRows(self._cluster, np.append(rows, (extremes.low_row, extremes.high_row)))
        handed = handed_to(column.plugin, self._state)
        return self._scores.normalize(column.plugin, handed, pod, nodes, column.raw[nodes.rows])[:-2]

    # A run of identical pods

    def score_groups(self, pod: PodInfo) -> tuple[ScoreGroups, int] | None:
        """Groups of nodes to which the columns that follow pods on other nodes give equal scores, and the weight of
        these scores. None where a column does not follow from requests and the number of pods on each node."""
        if not all(each.extremes is not None or not each.plugin.normalizes for each in self._fixed):
            return None
        if not all(plugin.reads_usage_only for plugin, _, _ in self._following):
            return None
        if not self._loose:
            return OneGroup(), 1
        plugin = self._loose[0]
        if len(self._loose) > 1 or not isinstance(plugin, GroupingPlugin):
            return None
        groups = plugin.score_groups(handed_to(plugin, self._state), pod, self._nodes.rows)
        return None if groups is None else (groups, self._weights[plugin.name])

    def fixed_totals(self) -> Int64Column:
        """The weighted sum of the columns that pods on nodes do not change."""
        return self._fixed_totals

    def following_totals(self, pod: PodInfo) -> Int64Column:
        """The weighted sum of the other columns, as the usage of nodes is now."""
        # Not as all nodes: what plugins keep about those is for the usage that the journal lists.
        nodes = NodeRows(self._cluster, self._cluster.nodes.all_rows)
        total = np.zeros(len(nodes), dtype=np.int64)
        for plugin, handed, _ in self._following:
            raw = self._scores.raw(plugin, handed, pod, nodes)
            total += self._scores.normalize(plugin, handed, pod, nodes, raw) * self._weights[plugin.name]
        return total

    def nodes_at_extremes(self) -> list[set[int]]:
        """For each column that is normalized the feasible rows with the least score, and those with the highest."""
        found: list[set[int]] = []
        for column in self._fixed:
            if column.extremes is not None:
                raw = self._nodes.take(column.raw)
                for extreme in (column.extremes.low, column.extremes.high):
                    found.append(set(self._nodes.rows[raw == extreme].tolist()))
        return found

    # The table

    def table(self, pod: PodInfo) -> ScoreTable:
        rows, following = self._feasible, self._following_scores
        totals = self._fixed_totals if following is None else self._fixed_totals + following.total
        totals = self._nodes.take(totals)
        raw: dict[str, Int64Column] = {}
        normalized: dict[str, Int64Column] = {}
        for plugin in self._loose:
            name = plugin.name
            raw[name], normalized[name] = self._loose_column(plugin, pod)
            weight = self._weights[name]
            totals = totals + (normalized[name] if weight == 1 else normalized[name] * weight)
        kept_raw, kept_normalized = self._fixed_columns
        if following is not None:
            kept_raw, kept_normalized = following.lend(kept_raw), following.lend(kept_normalized)
        return ScoreTable(
            self._nodes.rows,
            FeasibleColumns(self._names, kept_raw, rows, raw),
            FeasibleColumns(self._names, kept_normalized, rows, normalized),
            FeasibleColumns(self._names, kept_normalized, rows, normalized, self._weights),
            totals,
        )

    def _loose_column(self, plugin: ScorePlugin[Any], pod: PodInfo) -> tuple[Int64Column, Int64Column]:
        known = self._loose_columns.get(plugin.name)
        if known is None:
            handed = handed_to(plugin, self._state)
            raw = self._scores.raw(plugin, handed, pod, self._nodes)
            known = raw, self._scores.normalize(plugin, handed, pod, self._nodes, raw)
            if plugin.name in self._versions:
                self._loose_columns[plugin.name] = known
        return known


def _new_among(rows: RowColumn, before: RowColumn | None, statuses: NodeStatuses) -> RowColumn:
    """Of these rows those that are feasible now, and were not before. `before` is None for all nodes."""
    feasible: RowColumn = rows[statuses.codes.take(rows) == 0]
    if before is None or not len(feasible):
        return _NO_ROWS
    if not len(before):
        return feasible
    new: RowColumn = feasible[before.take(before.searchsorted(feasible), mode="clip") != feasible]
    return new


def _extremes(plugin: ScorePlugin[Any], scores: Int64Column, rows: RowColumn) -> Extremes | None:
    if not plugin.normalizes_by_extremes:
        return None
    low, high = int(scores.argmin()), int(scores.argmax())
    return Extremes(int(rows[low]), int(rows[high]), int(scores[low]), int(scores[high]))


def _hold(extremes: Extremes, raw: Int64Column, rows: RowColumn, statuses: NodeStatuses) -> bool:
    """Whether the least and the highest score of the feasible nodes are the same as before. `rows` are new ones."""
    if statuses.codes.item(extremes.low_row) or statuses.codes.item(extremes.high_row):
        return False
    if not len(rows):
        return True
    found = raw.take(rows)
    return bool(found[found.argmin()] >= extremes.low and found[found.argmax()] <= extremes.high)
