"""PlacementGenerate and PlacementScore: where a pod group is tried, and which of these places is the best."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle.runtime import Runtime
from ksched_cli.engine.reasons import EngineReasons
from ksched_cli.framework.interfaces import Placement
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import Status, error, unschedulable


def generate(runtime: Runtime, key: GroupKey, nodes: RowColumn) -> Sequence[Placement] | Status:
    """RunPlacementGeneratePlugins: only the first plugin runs; without one the group may go anywhere."""
    if not runtime.profile.placement_generate:
        return [Placement("", nodes)]
    plugin = runtime.profile.placement_generate[0]
    with runtime.calling(plugin.name, "placementGenerate"):
        placements = plugin.generate_placements(key, nodes)
    if isinstance(placements, Status) or placements:
        return placements
    return unschedulable(EngineReasons.no_placements())


def best_of(runtime: Runtime, key: GroupKey, candidates: Sequence[tuple[Placement, Sequence[PodInfo]]]) -> int | Status:
    """findBestPlacement: the index of the placement with the highest total; of equals the first, where Go draws.

    A candidate comes with the pods of the group that found a node there."""
    totals = [0] * len(candidates)
    for plugin in runtime.profile.placement_score:
        with runtime.calling(plugin.name, "placementScore"):
            scores = plugin.normalize_placements([plugin.score_placement(key, *each) for each in candidates])
        if isinstance(scores, Status):
            text = "running NormalizePlacementScore on PlacementScore plugins"
            return error(f'{text}: plugin "{plugin.name}" failed with: {scores.message}')
        for index, score in enumerate(scores):
            if not 0 <= score <= MAX_NODE_SCORE:
                return error(
                    "applying score defaultWeights on PlacementScore plugins: "
                    f'plugin "{plugin.name}" returns an invalid score {score}, '
                    f"it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
                )
            totals[index] += score * runtime.profile.placement_weights[plugin.name]
    return totals.index(max(totals))
