"""Runs a profile's PreScore and Score plugins (RunPreScorePlugins, RunScorePlugins)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.node_memory import NodeMemory
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.faults import Calling, CycleError, PluginFault
from ksched_cli.engine.following_scores import FollowingScores
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.reuse import ScoreMemory, shared
from ksched_cli.engine.score_table import FeasibleColumns, ScoreTable
from ksched_cli.engine.wording import error_of
from ksched_cli.framework.interfaces import LASTING, PreScorePlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE, MIN_NODE_SCORE
from ksched_cli.framework.status import Status

# A plugin with the state that it scores by, and the signature of its raw scores; None if it does not sign them.
Scored = tuple[ScorePlugin[Any], Any, Hashable | None]


class FixedColumn(NamedTuple):
    """The scores of one plugin. `extremes` is None where it does not normalize, or all nodes score alike."""

    raw: Int64Column
    normalized: Int64Column
    extremes: tuple[int, int] | None


class FixedScores(NamedTuple):
    """Scores of all nodes that placements do not change, by plugin, and their weighted sum. `extremes` are the least
    and the highest raw score of each plugin that normalizes scores which are not all alike."""

    raw: dict[str, Int64Column]
    normalized: dict[str, Int64Column]
    total: Int64Column
    extremes: dict[str, tuple[int, int]]

    def hold_for(self, nodes: NodeRows) -> bool:
        """Whether these nodes have the same scores if no others are feasible."""
        if nodes.whole:
            return True
        for name, extremes in self.extremes.items():
            here = nodes.take(self.raw[name])
            if (here.min(), here.max()) != extremes:
                return False
        return True


class Scores:
    """The PreScore and Score plugins of a profile. Caches across cycles never change a result."""

    def __init__(self, profile: Profile, cluster: Cluster, calling: Calling) -> None:
        self._profile = profile
        self._cluster = cluster
        self._calling = calling
        self._known = ScoreMemory(cluster)
        self._known_columns: NodeMemory[FixedColumn] = NodeMemory(cluster)
        self._known_fixed: NodeMemory[FixedScores] = NodeMemory(cluster)
        self._known_following: NodeMemory[FollowingScores] = NodeMemory(cluster)

    def prepare(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> None:
        """RunPreScorePlugins."""
        for plugin in self._profile.pre_score:
            answer = self.prepare_one(plugin, state, pod, nodes)
            if not isinstance(answer, Status):
                state.score_states[plugin.name] = answer
            else:
                state.skip_score.add(plugin.name)

    def prepare_one(
        self, plugin: PreScorePlugin[Any, Any], state: CycleState, pod: PodInfo, nodes: NodeRows
    ) -> Any | Status:
        """The plugin's state, or SKIP."""
        with self._calling(plugin.name, "preScore"):
            answer = plugin.pre_score(state.filter_states.get(plugin.name), pod, nodes)
        if isinstance(answer, Status) and not answer.skipped:
            raise CycleError(error_of("preScore", plugin.name, pod.name, answer.message, self._cluster.release))
        return answer

    def run(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> ScoreTable:
        """RunScorePlugins: raw, normalised, weighted, and the sum."""
        reuse = self._cluster.reuse and not nodes.bare
        scored: list[Scored] = []
        for plugin in self._profile.score:
            if plugin.name not in state.skip_score:
                handed = handed_to(plugin, state)
                scored.append((plugin, handed, plugin.sign_score(handed, pod) if reuse else None))
        fixed = self.fixed_scores(scored, pod, nodes)
        following = self.following_scores([each for each in scored if is_following(each)], pod)
        # Columns over all nodes, and columns over these nodes.
        raw_everywhere, normalized_everywhere = (fixed.raw, fixed.normalized) if fixed else ({}, {})
        totals = fixed.total if fixed else np.zeros(len(self._cluster.nodes), dtype=np.int64)
        if following is not None:
            raw_everywhere, normalized_everywhere = map(following.lend, (raw_everywhere, normalized_everywhere))
            totals = totals + following.total
        totals = nodes.take(totals)
        raw: dict[str, Int64Column] = {}
        normalized: dict[str, Int64Column] = {}
        for each in scored:
            plugin, handed, sign = each
            name = plugin.name
            if name in raw_everywhere:
                continue
            if sign is None or is_following(each):
                raw[name] = self.raw(plugin, handed, pod, nodes)
            else:
                raw[name] = nodes.take(self.signed_raw(plugin, handed, sign, pod))
            normalized[name] = self.normalize(plugin, handed, pod, nodes, raw[name])
            totals = totals + self._times_weight(name, normalized[name])
        names, rows = [plugin.name for plugin, _, _ in scored], None if nodes.whole else nodes.rows
        return ScoreTable(
            nodes.rows,
            FeasibleColumns(names, raw_everywhere, rows, raw),
            FeasibleColumns(names, normalized_everywhere, rows, normalized),
            FeasibleColumns(names, normalized_everywhere, rows, normalized, self._profile.weights),
            totals,
        )

    def fixed_scores(self, scored: Sequence[Scored], pod: PodInfo, nodes: NodeRows) -> FixedScores | None:
        """The scores that placements do not change; None where these nodes have others than in a run over all nodes."""
        fixed = [each for each in scored if each[2] is not None and _is_fixed_by(each[0], each[2])]
        if not fixed:
            return None
        key = tuple([(plugin.name, sign) for plugin, _, sign in fixed])
        try:
            known = self._known_fixed.recall(key, lambda: self._make_fixed(fixed, pod))
        except CycleError:
            # A node that is not feasible may be to blame.
            return None
        return known if known.hold_for(nodes) else None

    def _make_fixed(self, fixed: Sequence[Scored], pod: PodInfo) -> FixedScores:
        everywhere = NodeRows(self._cluster)
        made = FixedScores({}, {}, np.zeros(len(everywhere), dtype=np.int64), {})
        for plugin, handed, sign in fixed:
            name = plugin.name
            column = self._known_columns.recall(
                (name, sign), partial(self._fixed_column, plugin, handed, sign, pod, everywhere)
            )
            made.raw[name], made.normalized[name] = column.raw, column.normalized
            np.add(made.total, self._times_weight(name, column.normalized), out=made.total)
            if column.extremes is not None:
                made.extremes[name] = column.extremes
        shared(made.total)
        return made

    def _fixed_column(
        self, plugin: ScorePlugin[Any], handed: Any, sign: Hashable, pod: PodInfo, everywhere: NodeRows
    ) -> FixedColumn:
        raw = self.signed_raw(plugin, handed, sign, pod)
        normalized = shared(self.normalize(plugin, handed, pod, everywhere, raw))
        low, high = int(raw.min()), int(raw.max())
        return FixedColumn(raw, normalized, (low, high) if plugin.normalizes and low != high else None)

    def following_scores(self, following: Sequence[Scored], pod: PodInfo) -> FollowingScores | None:
        """The scores of plugins that `is_following` accepts; None if there are no such plugins, or if one fails."""
        if not following:
            return None
        key = tuple([(plugin.name, sign) for plugin, _, sign in following])

        def afresh() -> FollowingScores:
            return FollowingScores(*self._score_following(following, pod, NodeRows(self._cluster)))

        def renew(known: FollowingScores, rows: RowColumn) -> FollowingScores:
            known.write(rows, *self._score_following(following, pod, NodeRows(self._cluster, rows)))
            return known

        try:
            return self._known_following.recall(key, afresh, renew)
        except CycleError:
            # A node that is not feasible may be to blame.
            return None

    def _score_following(
        self, following: Sequence[Scored], pod: PodInfo, nodes: NodeRows
    ) -> tuple[dict[str, Int64Column], Int64Column]:
        """The scores of these nodes by plugin, and their weighted sum."""
        raw: dict[str, Int64Column] = {}
        weighted: list[Int64Column] = []
        for plugin, handed, _ in following:
            scores = self.raw(plugin, handed, pod, nodes)
            self._check_range(plugin.name, pod, scores, nodes)
            weighted.append(self._times_weight(plugin.name, scores))
            # A plugin may keep what it has returned.
            raw[plugin.name] = scores if scores.flags.writeable and scores.base is None else scores.copy()
        first, *others = weighted
        return raw, sum(others, first) if others else first.copy()

    def _times_weight(self, plugin: str, scores: Int64Column) -> Int64Column:
        weight = self._profile.weights[plugin]
        return scores if weight == 1 else scores * weight

    def signed_raw(self, plugin: ScorePlugin[Any], handed: Any, sign: Hashable, pod: PodInfo) -> Int64Column:
        """Raw scores of all nodes."""
        return self._known.recall(
            plugin.name,
            sign,
            lambda rows: self.raw(plugin, handed, pod, rows),
            follows_pods=plugin.follows_pods and sign != LASTING,
        )

    def raw(self, plugin: ScorePlugin[Any], handed: Any, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        with self._calling(plugin.name, "score"):
            raw = plugin.score(handed, pod, nodes)
        if isinstance(raw, Status):
            raise CycleError(error_of("score", plugin.name, pod.name, raw.message, self._cluster.release))
        if raw.shape != (len(nodes),):
            raise PluginFault(plugin.name, "score", f"scores of shape {raw.shape} for {len(nodes)} nodes")
        return raw

    def normalize(
        self, plugin: ScorePlugin[Any], handed: Any, pod: PodInfo, nodes: NodeRows, raw: Int64Column
    ) -> Int64Column:
        """Scores in the range that a weight multiplies."""
        scores = raw
        if plugin.normalizes:
            with self._calling(plugin.name, "normalizeScore"):
                scores = plugin.normalize(handed, pod, nodes, raw)
        self._check_range(plugin.name, pod, scores, nodes)
        return scores

    def _check_range(self, plugin: str, pod: PodInfo, scores: Int64Column, nodes: NodeRows) -> None:
        if len(scores) == 1 and MIN_NODE_SCORE <= scores.item() <= MAX_NODE_SCORE:
            return
        # As unsigned numbers, negative ones are the largest: one look for both ends.
        farthest = scores.view(np.uint64).argmax() if len(scores) else 0
        if len(scores) and not MIN_NODE_SCORE <= scores.item(farthest) <= MAX_NODE_SCORE:
            outside = np.nonzero((scores > MAX_NODE_SCORE) | (scores < MIN_NODE_SCORE))[0]
            text = (
                f"returns an invalid score {scores[outside[0]]}, it should in the range of [{MIN_NODE_SCORE}, "
                f"{MAX_NODE_SCORE}] after normalizing (node {nodes.names[outside[0]]})"
            )
            raise CycleError(error_of("range", plugin, pod.name, text, self._cluster.release))


def handed_to(plugin: ScorePlugin[Any], state: CycleState) -> Any:
    """A plugin that has a PreScore scores by what that found, None where the profile leaves its PreScore out, unless it
    scores by what PreFilter found."""
    by_pre_score = _has_pre_score(type(plugin)) and not plugin.scores_by_filter_state
    states = state.score_states if by_pre_score else state.filter_states
    return states.get(plugin.name)


@cache
def _has_pre_score(plugin: type[ScorePlugin[Any]]) -> bool:
    return issubclass(plugin, PreScorePlugin)


def is_following(scored: Scored) -> bool:
    """Whether the scores of a node stay the same until pods come to it or leave it, for all pods that sign alike."""
    plugin, _, sign = scored
    return sign is not None and plugin.follows_pods and sign != LASTING and not plugin.normalizes


def _is_fixed_by(plugin: ScorePlugin[Any], sign: Hashable) -> bool:
    """Whether the normalized scores of all nodes stay the same while node objects do, for all pods that sign alike."""
    lasts = not plugin.follows_pods or sign == LASTING
    return lasts and (plugin.normalizes_by_extremes or not plugin.normalizes)
