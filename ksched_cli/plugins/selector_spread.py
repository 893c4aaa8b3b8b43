"""SelectorSpread: spreads the pods of a service or controller over hosts and zones
(selectorspread/selector_spread.go). Up to 1.18 it has another name; topology spread constraints took its place in 1.20,
and 1.29 does not have it."""

from __future__ import annotations

import numpy as np

from ksched_cli.api.selectors import EVERYTHING, Selector
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import PreScorePlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status, error
from ksched_cli.plugins.lib.resource_scoring import spared_share
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.lib.topology_spread import default_selector
from ksched_cli.releases.changes import ReleaseRules, Rule

_ZONE_WEIGHT = 2.0 / 3.0


class SelectorSpreadRules(ReleaseRules, plugins="SelectorSpread"):
    leaves_constraints_alone = Rule(
        "1.18", "score", "Pods with topology spread constraints score 0; before, the constraints made no difference."
    )
    notes = (
        Rule(
            "1.17",
            "score",
            "Nodes score 0 to 100, and their zone is that of topology.kubernetes.io/zone, too; before, 0 to 10, and "
            "that of the beta label alone.",
        ),
        Rule(
            "1.24",
            "score",
            "No default plugin any more; before, it was one where the gate DefaultPodTopologySpread was off.",
        ),
        Rule("1.29", "score", "The plugin is gone; before, a configuration could enable it."),
    )


class SelectorSpread(PreScorePlugin[None, Selector], ScorePlugin[Selector]):
    name = "SelectorSpread"
    column = "Selector"
    since = "1.19"
    until = "1.28"
    summary = "Prefers hosts and zones with fewer pods of the same service or controller."

    def _leaves_alone(self, info: PodInfo) -> bool:
        rules = SelectorSpreadRules.of(self.handle.release)
        return rules.leaves_constraints_alone and bool(info.pod.spec.topology_spread_constraints)

    def pre_score(self, state: None, info: PodInfo, nodes: NodeRows) -> Selector:
        # A pod with constraints of its own is left to them.
        if self._leaves_alone(info):
            return EVERYTHING
        return default_selector(info.pod, self.handle.cluster.catalog, self.handle.release)

    def score(self, state: Selector | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """The number of matching pods on the node."""
        if self._leaves_alone(info):
            return np.zeros(len(nodes), dtype=np.int64)
        if state is None:
            return error(f'reading "PreScore{self.name}" from cycleState: not found')
        if state.everything:
            return np.zeros(len(nodes), dtype=np.int64)
        return nodes.take(self.handle.cluster.counts.current(info.namespace, state).per_node)

    def normalize(self, state: Selector, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        """Fewer matching pods score higher. The zone makes up two thirds of the score."""
        if self._leaves_alone(info):
            return scores
        best = float(self.handle.release.max_node_score)
        zones, most = nodes.take(nodes.cluster.nodes.zones), int(scores.max(initial=0))
        has_zone = zones >= 0
        by_node = spared_share(most, scores, best)
        if not has_zone.any():
            return by_node.astype(np.int64)
        in_zone = np.bincount(zones[has_zone], weights=scores[has_zone]).astype(np.int64)
        by_zone = spared_share(int(in_zone.max()), in_zone, best)
        blended = by_node * (1.0 - _ZONE_WEIGHT) + _ZONE_WEIGHT * by_zone[zones]
        return np.where(has_zone, blended, by_node).astype(np.int64)


SPEC = Spec(plugins=(SelectorSpread,))
