"""Runs a profile's PreScore and Score plugins (RunPreScorePlugins, RunScorePlugins)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.faults import Calling, CycleError, PluginFault
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.reuse import ScoreMemory
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.engine.wording import error_of
from ksched_cli.framework.interfaces import LASTING, PreScorePlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE, MIN_NODE_SCORE
from ksched_cli.framework.status import Status


class Scores:
    """The PreScore and Score plugins of a profile. Caches across cycles never change a result."""

    def __init__(self, profile: Profile, cluster: Cluster, calling: Calling) -> None:
        self._profile = profile
        self._cluster = cluster
        self._calling = calling
        self._known = ScoreMemory(cluster)

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
        raw: dict[str, Int64Column] = {}
        normalized: dict[str, Int64Column] = {}
        weighted: dict[str, Int64Column] = {}
        totals = np.zeros(len(nodes), dtype=np.int64)
        for plugin in self._profile.score:
            name = plugin.name
            if name in state.skip_score:
                continue
            handed = handed_to(plugin, state)
            sign = plugin.sign_score(handed, pod) if self._cluster.reuse and not nodes.bare else None
            if sign is None:
                raw[name] = self.raw(plugin, handed, pod, nodes)
            else:
                raw[name] = nodes.take(self.signed_raw(plugin, handed, sign, pod))
            normalized[name] = self.normalize(plugin, handed, pod, nodes, raw[name])
            weight = self._profile.weights[name]
            weighted[name] = normalized[name] if weight == 1 else normalized[name] * weight
            np.add(totals, weighted[name], out=totals)
        return ScoreTable(nodes.rows, raw, normalized, weighted, totals)

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
        if len(scores) and scores.view(np.uint64).max() > MAX_NODE_SCORE:
            outside = np.nonzero((scores > MAX_NODE_SCORE) | (scores < MIN_NODE_SCORE))[0]
            text = (
                f"returns an invalid score {scores[outside[0]]}, it should in the range of [{MIN_NODE_SCORE}, "
                f"{MAX_NODE_SCORE}] after normalizing (node {nodes.names[outside[0]]})"
            )
            raise CycleError(error_of("range", plugin, pod.name, text, self._cluster.release))


def handed_to(plugin: ScorePlugin[Any], state: CycleState) -> Any:
    """A plugin that has a PreScore scores by what that found; None where the profile leaves its PreScore out."""
    states = state.score_states if isinstance(plugin, PreScorePlugin) else state.filter_states
    return states.get(plugin.name)
