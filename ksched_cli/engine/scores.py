"""Runs a profile's PreScore and Score plugins (RunPreScorePlugins, RunScorePlugins)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.node_memory import NodeMemory
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.faults import Calling, CycleError, PluginFault
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.reuse import ScoreMemory, shared
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.engine.wording import error_of
from ksched_cli.framework.interfaces import LASTING, PreScorePlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE, MIN_NODE_SCORE
from ksched_cli.framework.status import Status

_NOTHING: Int64Column = np.empty(0, dtype=np.int64)


class ScoreColumns(NamedTuple):
    """The scores of nodes by plugin."""

    raw: dict[str, Int64Column]
    normalized: dict[str, Int64Column]
    weighted: dict[str, Int64Column]


class Scores:
    """The PreScore and Score plugins of a profile. Caches across cycles never change a result."""

    def __init__(self, profile: Profile, cluster: Cluster, calling: Calling) -> None:
        self._profile = profile
        self._cluster = cluster
        self._calling = calling
        self._known = ScoreMemory(cluster)
        self._known_fixed: NodeMemory[tuple[ScoreColumns, Int64Column]] = NodeMemory(cluster)

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
        columns = ScoreColumns({}, {}, {})
        reuse = self._cluster.reuse and not nodes.bare
        fixed: list[tuple[ScorePlugin[Any], Any, Hashable]] = []
        others: list[tuple[ScorePlugin[Any], Any, Hashable | None]] = []
        for plugin in self._profile.score:
            if plugin.name in state.skip_score:
                continue
            handed = handed_to(plugin, state)
            sign = plugin.sign_score(handed, pod) if reuse else None
            # Tables list the plugins in the order of the profile.
            columns.raw[plugin.name] = _NOTHING
            if nodes.whole and sign is not None and _is_fixed_by(plugin, sign):
                fixed.append((plugin, handed, sign))
            else:
                others.append((plugin, handed, sign))
        totals = self._add_fixed(columns, fixed, pod) if fixed else np.zeros(len(nodes), dtype=np.int64)
        for plugin, handed, sign in others:
            if sign is None:
                raw = self.raw(plugin, handed, pod, nodes)
            else:
                raw = nodes.take(self.signed_raw(plugin, handed, sign, pod))
            np.add(totals, self._add(columns, plugin, handed, pod, nodes, raw), out=totals)
        return ScoreTable(nodes.rows, columns.raw, columns.normalized, columns.weighted, totals)

    def _add(
        self,
        columns: ScoreColumns,
        plugin: ScorePlugin[Any],
        handed: Any,
        pod: PodInfo,
        nodes: NodeRows,
        raw: Int64Column,
    ) -> Int64Column:
        """Put the plugin's scores into the columns; what they add to the totals."""
        name = plugin.name
        columns.raw[name] = raw
        normalized = columns.normalized[name] = self.normalize(plugin, handed, pod, nodes, raw)
        weighted = columns.weighted[name] = self._times_weight(name, normalized)
        return weighted

    def _add_fixed(
        self, columns: ScoreColumns, fixed: Sequence[tuple[ScorePlugin[Any], Any, Hashable]], pod: PodInfo
    ) -> Int64Column:
        """Put the scores that placements do not change into the columns, where all nodes are feasible; their sum."""

        def make() -> tuple[ScoreColumns, Int64Column]:
            made, total = ScoreColumns({}, {}, {}), np.zeros(len(self._cluster.nodes), dtype=np.int64)
            for plugin, handed, sign in fixed:
                raw = self.signed_raw(plugin, handed, sign, pod)
                total += self._add(made, plugin, handed, pod, NodeRows(self._cluster), raw)
            for column in (*made.normalized.values(), *made.weighted.values()):
                shared(column)
            return made, total

        key = tuple((plugin.name, sign) for plugin, _, sign in fixed)
        known, total = self._known_fixed.recall(key, make)
        columns.raw.update(known.raw)
        columns.normalized.update(known.normalized)
        columns.weighted.update(known.weighted)
        return total.copy()

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


def _is_fixed_by(plugin: ScorePlugin[Any], sign: Hashable) -> bool:
    """Whether the normalized scores of all nodes stay the same while node objects do, for all pods that sign alike."""
    pure = plugin.normalizes_by_extremes or not plugin.normalizes
    return pure and (not plugin.follows_pods or sign == LASTING)
