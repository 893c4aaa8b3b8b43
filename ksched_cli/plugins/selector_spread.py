"""SelectorSpread: spreads the pods of a service or controller over hosts and zones. PodTopologySpread took its place in
1.20, and the gate DefaultPodTopologySpread could bring it back; it went away with 1.29."""

from __future__ import annotations

import numpy as np

from ksched_cli.api.selectors import EVERYTHING, Selector
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.node_tree import zone_key
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import PreScorePlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status, error
from ksched_cli.framework.topology_spread import default_selector

_ZONE_WEIGHT = 2.0 / 3.0


class SelectorSpread(PreScorePlugin[None, Selector], ScorePlugin[Selector]):
    name = "SelectorSpread"
    until = "1.28"
    summary = "Prefers hosts and zones with fewer pods of the same service or controller."
    normalizes = True

    def pre_score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Selector:
        # A pod with constraints of its own is left to them.
        if pod.pod.spec.topology_spread_constraints:
            return EVERYTHING
        return default_selector(pod.pod, self.handle.cluster.catalog, self.handle.release)

    def score(self, state: Selector | None, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """How many pods of the kind are there."""
        if pod.pod.spec.topology_spread_constraints:
            return np.zeros(len(nodes), dtype=np.int64)
        if state is None:
            return error('reading "PreScoreSelectorSpread" from cycleState: not found')
        if state.everything:
            return np.zeros(len(nodes), dtype=np.int64)
        return nodes.take(self.handle.cluster.counts.per_node(pod.namespace, state))

    def normalize(self, state: Selector, pod: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        """Fewer is better; where nodes have a zone it makes up two thirds of the score."""
        if pod.pod.spec.topology_spread_constraints:
            return scores
        objects = nodes.cluster.nodes.objects
        zones = [zone_key(objects[row].metadata.labels, self.handle.release) for row in nodes.rows.tolist()]
        by_zone: dict[tuple[str, str], int] = {}
        for zone, count in zip(zones, scores.tolist(), strict=True):
            if any(zone):
                by_zone[zone] = by_zone.get(zone, 0) + count
        best = self.handle.release.max_node_score
        highest, fullest = int(scores.max(initial=0)), max(by_zone.values(), default=0)
        result = [
            int(_blend(_spared(highest, count, best), _spared(fullest, by_zone[zone], best) if any(zone) else None))
            for zone, count in zip(zones, scores.tolist(), strict=True)
        ]
        return np.array(result, dtype=np.int64)


def _spared(most: int, count: int, best: int) -> float:
    """The best score where nothing is, 0 where most is."""
    return best * ((most - count) / most) if most > 0 else float(best)


def _blend(node: float, zone: float | None) -> float:
    return node if zone is None else node * (1.0 - _ZONE_WEIGHT) + _ZONE_WEIGHT * zone
