"""The scores of a template's feasible nodes, repaired for the nodes that have changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import ref

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.score_groups import GroupingPlugin, OneGroup, ScoreGroups
from ksched_cli.engine.score_table import FeasibleColumns, ScoreTable
from ksched_cli.engine.scores import FixedScores, Scores, handed_to
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import LASTING, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status

# The total of a node that is not feasible: below every sum of scores.
FLOOR = np.iinfo(np.int64).min // 2


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


@dataclass(frozen=True)
class Extremes:
    """Feasible rows with the least and the highest raw score, and these scores."""

    low_row: int
    high_row: int
    low: int
    high: int


@dataclass
class KeptColumn:
    """A plugin's scores over all nodes. `raw` is shared with other templates; `normalized` counts on feasible rows
    only."""

    plugin: ScorePlugin[Any]
    sign: Hashable
    raw: Int64Column
    normalized: Int64Column
    extremes: Extremes | None


class TemplateScores:
    """Two kinds of columns. A plugin that signs its raw score has a column over all nodes, feasible or not, which it
    shares with other templates; `base` is the weighted sum of these columns, repaired in place. The columns of the
    other plugins are over the feasible rows, and they are computed again for every pod unless `placements_version`
    shows that nothing has changed.
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
        self._kept: dict[str, KeptColumn] = {}
        self._loose: list[ScorePlugin[Any]] = []
        self._loose_columns: dict[str, tuple[Int64Column, Int64Column]] = {}
        self._scored = [each for each in profile.score if each.name not in self._state.skip_score]
        self._names = [each.name for each in self._scored]
        self._weights = {each.name: profile.weights[each.name] for each in self._scored}
        signed: list[tuple[ScorePlugin[Any], Any, Hashable]] = []
        for plugin in self._scored:
            handed = handed_to(plugin, self._state)
            sign = plugin.sign_score(handed, pod)
            if sign is None or plugin.name in self._versions:
                self._loose.append(plugin)
            else:
                signed.append((plugin, handed, sign))
        shared = scores.fixed_scores(signed, pod, self._nodes)
        for plugin, _, sign in signed:
            self._kept[plugin.name] = self._fresh(plugin, sign, pod, shared)
        self._fixed = [each for each in self._kept.values() if _is_fixed(each)]
        self._following = [each for each in self._kept.values() if not _is_fixed(each)]
        are_shared = shared is not None and all(each.plugin.name in shared.raw for each in self._fixed)
        # Not written to where other templates may have it.
        self._fixed_totals = shared.total if shared is not None and are_shared else self._weighted(self._fixed)
        self._base = self._fixed_totals + self._weighted(self._following)
        if self._feasible is not None:
            self._base[result.statuses.failed] = FLOOR
        # The columns of the last table, while a caller holds them.
        self._shown: ref[FeasibleColumns] | None = None

    # Columns over all nodes

    def _fresh(self, plugin: ScorePlugin[Any], sign: Hashable, pod: PodInfo, shared: FixedScores | None) -> KeptColumn:
        handed, nodes = handed_to(plugin, self._state), self._nodes
        if shared is not None and plugin.name in shared.raw:
            raw, normalized = shared.raw[plugin.name], shared.normalized[plugin.name]
            return KeptColumn(plugin, sign, raw, normalized, _extremes(plugin, nodes.take(raw), nodes.rows))
        raw = self._scores.signed_raw(plugin, handed, sign, pod)
        column = nodes.take(raw)
        normalized = self._scores.normalize(plugin, handed, pod, nodes, column)
        if not plugin.normalizes:
            normalized = raw
        elif self._feasible is None:
            normalized = normalized.copy()
        else:
            everywhere = np.zeros(len(raw), dtype=np.int64)
            everywhere[self._feasible] = normalized
            normalized = everywhere
        return KeptColumn(plugin, sign, raw, normalized, _extremes(plugin, column, nodes.rows))

    def _weighted(self, columns: Iterable[KeptColumn]) -> Int64Column:
        total = np.zeros(len(self._cluster.nodes), dtype=np.int64)
        for column in columns:
            weight = self._weights[column.plugin.name]
            total += column.normalized if weight == 1 else column.normalized * weight
        return total

    def repair(self, result: FilteredTemplate, pod: PodInfo) -> bool:
        """Bring the columns over all nodes up to date with the rows that were filtered again; False where all scores
        have to be computed again."""
        if not self._follows(result, pod):
            return False
        if not result.repaired:
            return True
        repaired = result.take()
        self._keep_shown()
        self._score_again(pod)
        statuses = result.statuses
        codes = statuses.codes.take(repaired)
        rows = repaired if not np.count_nonzero(codes) else repaired[codes == 0]
        moved = self._feasible is not result.feasible
        self._feasible, self._nodes = result.feasible, NodeRows(self._cluster, result.feasible)
        if moved and not self._normalized_again(pod, rows, statuses):
            return False
        totals, nodes = self._fixed_totals.take(rows), NodeRows(self._cluster, rows)
        for column in self._following:
            scores = self._normalized(column, pod, nodes, statuses)
            if scores is None:
                return False
            weight = self._weights[column.plugin.name]
            totals += scores if weight == 1 else scores * weight
        if len(rows) < len(repaired):
            self._base[repaired] = FLOOR
        self._base[rows] = totals
        return True

    def _score_again(self, pod: PodInfo) -> None:
        """The raw scores after placements, also of nodes that are not feasible."""
        for column in self._following:
            plugin, before = column.plugin, column.raw
            column.raw = self._scores.signed_raw(plugin, handed_to(plugin, self._state), column.sign, pod)
            if column.normalized is before:
                column.normalized = column.raw

    def _normalized(
        self, column: KeptColumn, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses
    ) -> Int64Column | None:
        """Normalized scores of the rows; None where the extremes have moved, so that all scores differ."""
        plugin, rows = column.plugin, nodes.rows
        if not plugin.normalizes:
            handed = handed_to(plugin, self._state)
            return self._scores.normalize(plugin, handed, pod, nodes, column.raw.take(rows))
        if not self._keeps_extremes(column, rows, statuses):
            return None
        normalized = column.normalized[rows] = self._between_extremes(column, pod, rows)
        return normalized

    def _keep_shown(self) -> None:
        """Give the holder of the last table columns of its own, which stay as they are."""
        if self._shown is None or self._shown() is None:
            return
        self._base = self._base.copy()
        for column in self._following:
            if column.normalized is not column.raw:
                column.normalized = column.normalized.copy()

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

    def _normalized_again(self, pod: PodInfo, rows: RowColumn, statuses: NodeStatuses) -> bool:
        """Normalize the fixed scores of rows that have become feasible; False where extremes have moved, so that all
        scores differ."""
        normalizing = [each for each in self._fixed if each.plugin.normalizes]
        if not all(self._keeps_extremes(each, rows, statuses) for each in normalizing):
            return False
        new = rows[self._base.take(rows) == FLOOR]
        if len(new) and normalizing:
            for column in normalizing:
                column.normalized = column.normalized.copy()
                column.normalized[new] = self._between_extremes(column, pod, new)
            self._fixed_totals = self._fixed_totals.copy()
            self._fixed_totals[new] = sum(
                column.normalized[new] * self._weights[column.plugin.name] for column in self._fixed
            )
        return True

    def _keeps_extremes(self, column: KeptColumn, rows: RowColumn, statuses: NodeStatuses) -> bool:
        """Whether the least and the highest score of the feasible nodes are as before. Other nodes may have them."""
        extremes = column.extremes
        if extremes is None:
            return False
        if _hold(extremes, column.raw, rows, statuses):
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
        if not all(self._follows_usage(each) for each in self._kept.values()):
            return None
        if not self._loose:
            return OneGroup(), 1
        plugin = self._loose[0]
        if len(self._loose) > 1 or not isinstance(plugin, GroupingPlugin):
            return None
        groups = plugin.score_groups(handed_to(plugin, self._state), pod, self._nodes.rows)
        return None if groups is None else (groups, self._weights[plugin.name])

    def _follows_usage(self, column: KeptColumn) -> bool:
        if _is_fixed(column):
            return column.extremes is not None or not column.plugin.normalizes
        return column.plugin.reads_usage_only and not column.plugin.normalizes

    def fixed_totals(self) -> Int64Column:
        """The weighted sum of the columns that pods on nodes do not change."""
        return self._fixed_totals

    def following_totals(self, pod: PodInfo) -> Int64Column:
        """The weighted sum of the other columns, as the usage of nodes is now."""
        # Not as all nodes: what plugins keep about those is for the usage that the journal lists.
        nodes = NodeRows(self._cluster, self._cluster.nodes.all_rows)
        total = np.zeros(len(nodes), dtype=np.int64)
        for column in self._following:
            plugin, handed = column.plugin, handed_to(column.plugin, self._state)
            raw = self._scores.raw(plugin, handed, pod, nodes)
            total += self._scores.normalize(plugin, handed, pod, nodes, raw) * self._weights[plugin.name]
        return total

    def nodes_at_extremes(self) -> list[set[int]]:
        """For each column that is normalized the feasible rows with the least score, and those with the highest."""
        found: list[set[int]] = []
        for column in self._kept.values():
            if column.extremes is not None:
                raw = self._nodes.take(column.raw)
                for extreme in (column.extremes.low, column.extremes.high):
                    found.append(set(self._nodes.rows[raw == extreme].tolist()))
        return found

    # The table

    def table(self, pod: PodInfo) -> ScoreTable:
        rows = self._feasible
        totals = self._base if rows is None else self._base[rows]
        raw: dict[str, Int64Column] = {}
        normalized: dict[str, Int64Column] = {}
        for plugin in self._loose:
            name = plugin.name
            raw[name], normalized[name] = self._loose_column(plugin, pod)
            weight = self._weights[name]
            totals = totals + (normalized[name] if weight == 1 else normalized[name] * weight)
        kept_raw = {name: column.raw for name, column in self._kept.items()}
        kept_normalized = {name: column.normalized for name, column in self._kept.items()}
        shown = FeasibleColumns(self._names, kept_raw, rows, raw)
        self._shown = ref(shown)
        return ScoreTable(
            self._nodes.rows,
            shown,
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


def _is_fixed(column: KeptColumn) -> bool:
    """Whether pods on a node never change the raw score."""
    return not column.plugin.follows_pods or column.sign == LASTING


def _extremes(plugin: ScorePlugin[Any], scores: Int64Column, rows: RowColumn) -> Extremes | None:
    if not plugin.normalizes_by_extremes:
        return None
    low, high = int(scores.argmin()), int(scores.argmax())
    return Extremes(int(rows[low]), int(rows[high]), int(scores[low]), int(scores[high]))


def _hold(extremes: Extremes, raw: Int64Column, rows: RowColumn, statuses: NodeStatuses) -> bool:
    """Whether the least and the highest score of the feasible nodes are the same as before."""
    low_row, high_row = extremes.low_row, extremes.high_row
    if statuses.codes[low_row] != 0 or statuses.codes[high_row] != 0:
        return False
    if (raw[low_row], raw[high_row]) != (extremes.low, extremes.high):
        return False
    if not len(rows):
        return True
    found = raw.take(rows)
    return bool(found[found.argmin()] >= extremes.low and found[found.argmax()] <= extremes.high)
