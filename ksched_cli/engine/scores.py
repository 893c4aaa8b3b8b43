"""Runs a profile's PreScore and Score plugins (RunPreScorePlugins, RunScorePlugins)."""

from __future__ import annotations

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
from ksched_cli.framework.interfaces import PreScorePlugin, ScorePlugin
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
            with self._calling(plugin.name, "preScore"):
                answer = plugin.pre_score(state.filter_states.get(plugin.name), pod, nodes)
            if not isinstance(answer, Status):
                state.score_states[plugin.name] = answer
            elif answer.skipped:
                state.skip_score.add(plugin.name)
            else:
                raise CycleError(error_of("preScore", plugin.name, pod.name, answer.message, self._cluster.release))

    def run(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> ScoreTable:
        """RunScorePlugins: raw, normalised, weighted, and the sum."""
        table = ScoreTable(nodes.rows, {}, {}, {}, np.zeros(len(nodes), dtype=np.int64))
        for plugin in self._profile.score:
            name = plugin.name
            if name in state.skip_score:
                continue
            # A plugin that has a PreScore scores by what that found; None where the profile leaves its PreScore out.
            states = state.score_states if isinstance(plugin, PreScorePlugin) else state.filter_states
            handed = states.get(name)
            with self._calling(name, "score"):
                raw = self._raw_score(plugin, handed, pod, nodes)
            if isinstance(raw, Status):
                raise CycleError(error_of("score", name, pod.name, raw.message, self._cluster.release))
            if raw.shape != (len(nodes),):
                raise PluginFault(name, "score", f"scores of shape {raw.shape} for {len(nodes)} nodes")
            with self._calling(name, "normalizeScore"):
                normalized = plugin.normalize(handed, pod, nodes, raw) if plugin.normalizes else raw
            self._check_range(name, pod, normalized, nodes)
            weight = self._profile.weights[name]
            weighted = normalized if weight == 1 else normalized * weight
            table.raw[name], table.normalized[name], table.weighted[name] = raw, normalized, weighted
            np.add(table.totals, weighted, out=table.totals)
        return table

    def _raw_score(self, plugin: ScorePlugin[Any], handed: Any, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        sign = plugin.sign_score(handed, pod) if self._cluster.reuse and not nodes.bare else None
        if sign is None:
            return plugin.score(handed, pod, nodes)
        known = self._known.recall(
            plugin.name, sign, lambda rows: plugin.score(handed, pod, rows), follows_pods=plugin.follows_pods
        )
        return known if isinstance(known, Status) else nodes.take(known)

    def _check_range(self, plugin: str, pod: PodInfo, scores: Int64Column, nodes: NodeRows) -> None:
        # As unsigned numbers, negative ones are the largest: one look for both ends.
        if len(scores) and scores.view(np.uint64).max() > MAX_NODE_SCORE:
            outside = np.nonzero((scores > MAX_NODE_SCORE) | (scores < MIN_NODE_SCORE))[0]
            text = (
                f"returns an invalid score {scores[outside[0]]}, it should in the range of [{MIN_NODE_SCORE}, "
                f"{MAX_NODE_SCORE}] after normalizing (node {nodes.names[outside[0]]})"
            )
            raise CycleError(error_of("range", plugin, pod.name, text, self._cluster.release))
