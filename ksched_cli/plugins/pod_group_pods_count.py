"""PodGroupPodsCount: the placement in which most pods of a group have a node is the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.cluster.pod_groups import GroupKey, PodGroups
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Placement, PlacementScorePlugin
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import Status, error
from ksched_cli.plugins.lib.spec import Spec


class PodGroupPodsCount(PlacementScorePlugin):
    name = "PodGroupPodsCount"
    since = "1.36"
    summary = "Prefers the placement in which most pods of the group have a node."

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = PodGroups(handle.cluster, handle.scheduler_names)

    def score_placement(self, key: GroupKey, placement: Placement, proposed: Sequence[PodInfo]) -> int:
        return len(self._groups.scheduled(key)) + len(proposed)

    def normalize_placements(self, scores: Sequence[int]) -> Sequence[int] | Status:
        most = max(scores, default=0)
        if most == 0:
            return error("no pods from pod group are assigned to any of the candidate placements")
        return [score * MAX_NODE_SCORE // most for score in scores]


SPEC = Spec(plugins=(PodGroupPodsCount,))
