"""The scores of all nodes for the pods of one template, from columns of raw scores that templates share.

There are three kinds of score plugins. Where only the node object matters, a column is computed once for each
signature. Where the pods on the node matter, the columns are repaired at the rows of the journal, and so is their
weighted sum. All other plugins score the feasible nodes again, unless the version of what they depend on is the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle.runtime import CycleState, Runtime, Scores, is_fixed
from ksched_cli.engine.decision import ScoreTable
from ksched_cli.engine.faults import CycleError
from ksched_cli.framework.depends import ANYWHERE, Depends
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows

# Above this share of touched nodes, reading all nodes is less work than choosing the touched ones.
_AFRESH_SHARE = 8
# So many columns of each kind are kept, and sums of the pods that sign alike.
_KEPT, _SUMS = 64, 8

Scorer = ScorePlugin[Any]
H = TypeVar("H", bound=Hashable)
K = TypeVar("K")


class FixedColumn(Struct, frozen=True):
    """Raw scores of all nodes for which only the node object matters, with the least and the highest score and a row
    of each."""

    raw: Int64Column
    low: int
    high: int
    low_row: int
    high_row: int


Extremes = tuple[tuple[int, int], ...]


class FixedScores(Struct, frozen=True):
    """Of the plugins that depend on the node object only: what PreScore returned, their columns, the extremes of all
    nodes, and sums by the extremes of the feasible nodes. They hold for all pods that sign alike for these plugins."""

    states: dict[str, Any]
    skipped: frozenset[str]
    columns: list[tuple[Scorer, Hashable, FixedColumn]]
    extremes: Extremes
    sums: dict[Extremes, Scores]


class FollowingSum(Struct):
    """Raw scores of all nodes that follow the pods on each node, by plugin, and the weighted sum of those that are not
    normalized. Raw columns are copied before a repair: earlier decisions still use the old arrays."""

    raw: dict[str, Int64Column]
    total: Int64Column
    position: int


class SharedColumns:
    """The columns that the rankings of all templates of a runtime share, for one structure of the cluster."""

    def __init__(self, runtime: Runtime, cluster: Cluster) -> None:
        self.runtime = runtime
        self.cluster = cluster
        self.everywhere = NodeRows(cluster)
        self._fixed: OrderedDict[Hashable, FixedColumn] = OrderedDict()
        self._normalized: OrderedDict[Hashable, Int64Column] = OrderedDict()
        self._following: OrderedDict[Hashable, FollowingSum] = OrderedDict()

    def fixed(self, plugin: Scorer, signature: Hashable, state: CycleState, info: PodInfo) -> FixedColumn:
        key = self.cluster.catalog.version, plugin.name, signature
        found = self._fixed.get(key)
        if found is None:
            scores = self.runtime.run_score((plugin,), state, info, self.everywhere, normalizes=False)
            raw = scores.raw[plugin.name]
            low, high = int(raw.argmin()), int(raw.argmax())
            found = keep_latest(self._fixed, key, FixedColumn(raw, raw.item(low), raw.item(high), low, high), _KEPT)
        return found

    def sum_of_fixed(
        self,
        fixed: list[tuple[Scorer, Hashable, FixedColumn]],
        extremes: Extremes,
        state: CycleState,
        info: PodInfo,
    ) -> Scores:
        """The weighted sum where feasible nodes have these least and highest raw scores."""
        version, runtime = self.cluster.catalog.version, self.runtime
        made = Scores({}, {}, np.zeros(len(self.everywhere), dtype=np.int64))
        for (plugin, signature, column), (low, high) in zip(fixed, extremes, strict=True):
            name = plugin.name
            key = version, name, signature, low, high
            normalized = self._normalized.get(key) if name in runtime.normalizing else column.raw
            if normalized is None:
                raw = column.raw.copy()
                if (low, high) != (column.low, column.high):
                    # Nodes beyond the extremes are not feasible: with them out of the way, the others score the same.
                    raw = raw.clip(low, high)
                scores = runtime.run_score((plugin,), state, info, self.everywhere, {name: raw})
                normalized = keep_latest(self._normalized, key, scores.normalized[name], _KEPT)
            made.raw[name], made.normalized[name] = column.raw, normalized
            made.total += normalized * runtime.profile.weights[name]
        return made

    def following(
        self, plugins: tuple[Scorer, ...], signatures: Hashable, state: CycleState, info: PodInfo, *, is_kept: bool
    ) -> FollowingSum:
        """The sum as of now. Where it is not kept, it is computed for this pod."""
        journal, everywhere = self.cluster.journal, self.everywhere
        key = self.cluster.catalog.version, plugins, signatures
        found = self._following.pop(key, None) if is_kept else None
        touched = journal[found.position :] if found is not None else ()
        if found is None or len(touched) * _AFRESH_SHARE > len(everywhere.rows):
            scores = self.runtime.run_score(plugins, state, info, everywhere, normalizes=False)
            # The sum of one plugin is its column.
            found = FollowingSum(scores.raw, scores.total.copy(), len(journal))
        elif touched:
            rows = np.array(sorted(set(touched)) if len(touched) > 1 else touched, dtype=np.int64)
            scores = self.runtime.run_score(plugins, state, info, NodeRows(self.cluster, rows), normalizes=False)
            for name, column in found.raw.items():
                found.raw[name] = repaired = column.copy()
                repaired[rows] = scores.raw[name]
            found.total[rows] = scores.total
            found.position = len(journal)
        return keep_latest(self._following, key, found, _KEPT) if is_kept else found


def keep_latest(kept: OrderedDict[H, K], key: H, value: K, most: int) -> K:
    """Keep the value among the latest of its kind, and return it."""
    kept[key] = value
    if len(kept) > most:
        kept.popitem(last=False)
    return value


class Loose(Struct):
    """A plugin that scores the feasible nodes for each pod, or for each version of what it depends on."""

    plugin: Scorer
    depends: Depends | None
    version: Hashable = None
    scores: Scores | None = None


class Ranking:
    """The scores of the feasible nodes (`rows`, None for all) of one template."""

    def __init__(
        self,
        columns: SharedColumns,
        state: CycleState,
        info: PodInfo,
        depends: dict[str, Depends | None],
        rows: RowColumn | None,
        fixed: FixedScores | None,
        *,
        is_kept: bool,
    ) -> None:
        """`fixed`: those of pods that sign alike, if they are known."""
        self._columns = columns
        self._runtime = runtime = columns.runtime
        self._is_kept = is_kept
        self._rows = rows
        self._nodes = columns.everywhere if rows is None else NodeRows(columns.cluster, rows)
        self._depends = depends
        # What later pods that sign alike may start from.
        self.fixed_scores = fixed
        states, skipped = (dict(fixed.states), set(fixed.skipped)) if fixed is not None else ({}, set[str]())
        self._state = CycleState(state.filter_states, states, state.skip_filter, skipped)
        # It has run for all pods that sign alike where only the node object matters.
        known = states.keys() | skipped
        missing = [each for each in runtime.profile.pre_score if each.name not in known]
        runtime.run_pre_score(missing, self._state, info, self._nodes)
        self._fixed: list[tuple[Scorer, Hashable, FixedColumn]] = list(fixed.columns) if fixed is not None else []
        following: list[Scorer] = []
        self._names: list[str] = []
        self._signatures: tuple[Hashable, ...]
        self._renormalizing: tuple[Scorer, ...]
        self._loose: list[Loose] = []
        # Skipped plugins that may score the next pod.
        self._resting: list[Loose] = []
        for scorer in runtime.profile.score:
            name = scorer.name
            of_plugin = depends[name]
            if of_plugin is None or of_plugin.signature is None or of_plugin.on == ANYWHERE:
                loose = Loose(scorer, of_plugin, _version(of_plugin))
                (self._resting if name in skipped else self._loose).append(loose)
            elif of_plugin.on != "node":
                if name not in skipped:
                    following.append(scorer)
            elif fixed is None and name not in skipped:
                self._add_fixed(scorer, of_plugin.signature, info)
            if name not in skipped:
                self._names.append(name)
        self._follow(following)
        if fixed is None:
            self._note_fixed()
        self._extremes = fixed.extremes if fixed is not None and rows is None else self._extremes_of_fixed(None)
        self.fixed_sum = self._sum_of_fixed(info)

    def _add_fixed(self, plugin: Scorer, signature: Hashable, info: PodInfo) -> None:
        try:
            self._fixed.append((plugin, signature, self._columns.fixed(plugin, signature, self._state, info)))
        except CycleError:
            # A node that is not feasible may be to blame.
            self._loose.append(Loose(plugin, None))

    def _follow(self, plugins: Sequence[Scorer]) -> None:
        """Note which plugins have columns that follow the pods on each node, and which of them normalize."""
        self._following, self._signatures, self._renormalizing = tuple(plugins), (), ()
        for plugin in plugins:
            depends = self._depends[plugin.name]
            self._signatures += (depends.signature if depends is not None else None,)
            if plugin.name in self._runtime.normalizing:
                self._renormalizing += (plugin,)

    def _note_fixed(self) -> None:
        """Note the scores that later pods with the same signatures start from, unless a plugin has failed."""
        fixed = {name for name, each in self._depends.items() if is_fixed(each)}
        states, skipped = self._state.score_states, self._state.skip_score
        if any(loose.plugin.name in fixed for loose in self._loose):
            return
        self.fixed_scores = FixedScores(
            {name: each for name, each in states.items() if name in fixed},
            frozenset(skipped & fixed),
            list(self._fixed),
            tuple([(column.low, column.high) for _, _, column in self._fixed]),
            {},
        )

    def _extremes_of_fixed(self, statuses: NodeStatuses | None) -> tuple[tuple[int, int], ...]:
        """The least and the highest raw score of the feasible nodes by plugin, of those that normalize."""
        found: list[tuple[int, int]] = []
        for plugin, _, column in self._fixed:
            low, high = column.low, column.high
            if self._rows is not None and low != high and plugin.name in self._runtime.normalizing:
                codes = None if statuses is None else statuses.codes
                if codes is None or codes.item(column.low_row) or codes.item(column.high_row):
                    here = column.raw.take(self._rows)
                    low, high = here.item(here.argmin()), here.item(here.argmax())
            found.append((low, high))
        return tuple(found)

    def _sum_of_fixed(self, info: PodInfo) -> Scores:
        sums = self.fixed_scores.sums if self.fixed_scores is not None else {}
        found = sums.get(self._extremes)
        if found is not None:
            return found
        try:
            made = sums[self._extremes] = self._columns.sum_of_fixed(self._fixed, self._extremes, self._state, info)
            if len(sums) > _SUMS:
                del sums[next(iter(sums))]
            return made
        except CycleError:
            # A node that is not feasible may be to blame.
            self._loose += [Loose(plugin, None) for plugin, _, _ in self._fixed]
            self._fixed, self._extremes, self.fixed_scores = [], (), None
            return self._columns.sum_of_fixed([], (), self._state, info)

    def repair(
        self,
        state: CycleState,
        info: PodInfo,
        rows: RowColumn | None,
        statuses: NodeStatuses,
        versions: Mapping[str, Hashable],
    ) -> bool:
        """Bring the ranking up to date; False where it has to be made anew. `versions` are those that are known."""
        is_same = rows is self._rows
        if not is_same:
            self._rows = rows
            self._nodes = self._columns.everywhere if rows is None else NodeRows(self._columns.cluster, rows)
            extremes = self._extremes_of_fixed(statuses)
            if extremes != self._extremes:
                self._extremes = extremes
                self.fixed_sum = self._sum_of_fixed(info)
        self._state.filter_states = state.filter_states
        for loose in (*self._loose, *self._resting):
            version = versions.get(loose.plugin.name) or _version(loose.depends)
            if is_same and version is not None and version == loose.version:
                continue
            loose.version, loose.scores = version, None
            plugin = self._runtime.pre_scores.get(loose.plugin.name)
            if plugin is not None:
                skipped = plugin.name in self._state.skip_score
                self._runtime.run_pre_score((plugin,), self._state, info, self._nodes)
                if skipped != (plugin.name in self._state.skip_score):
                    return False
        return True

    @property
    def is_local(self) -> bool:
        """Whether the totals of two nodes with pods of the template change only with the pods on each of the two, as
        long as `fixed_sum` is the same."""
        return not self._loose and not self._renormalizing

    def table(self, info: PodInfo) -> ScoreTable:
        runtime, nodes, state, total = self._runtime, self._nodes, self._state, self.fixed_sum.total
        # In the order of the profile.
        raw: dict[str, Int64Column] = dict.fromkeys(self._names, total)
        raw.update(self.fixed_sum.raw)
        normalized = {**raw, **self.fixed_sum.normalized}
        parts: list[Scores] = []
        if self._following:
            try:
                following = self._columns.following(
                    self._following, self._signatures, state, info, is_kept=self._is_kept
                )
            except CycleError:
                # A node that is not feasible may be to blame.
                self._loose += [Loose(plugin, None) for plugin in self._following]
                self._follow(())
            else:
                total = total + following.total
                raw.update(following.raw)
                normalized.update(following.raw)
                if self._renormalizing:
                    known = {each.name: nodes.take(raw[each.name]).copy() for each in self._renormalizing}
                    parts.append(runtime.run_score(self._renormalizing, state, info, nodes, known))
        for loose in self._loose:
            if loose.scores is None:
                loose.scores = runtime.run_score((loose.plugin,), state, info, nodes)
            parts.append(loose.scores)
        totals = nodes.take(total)
        for scores in parts:
            raw.update(scores.raw)
            normalized.update(scores.normalized)
            totals = totals + scores.total
        return ScoreTable(nodes.rows, raw, normalized, runtime.profile.weights, totals)


def _version(depends: Depends | None) -> Hashable:
    """None where the plugin has to be asked for every pod."""
    if depends is None or depends.version is None or depends.signature is None:
        return None
    return depends.version()
