"""NodePreferAvoidPods: nodes whose annotation names a controller get its pods last. Removed in 1.23."""

from __future__ import annotations

import numpy as np

from ksched_cli.api.avoided_pods import AVOID_PODS_ANNOTATION, avoided_controllers
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.releases.changes import Note, ReleaseRules
from ksched_cli.releases.plugin_names import (
    NODE_LABEL,
    NODE_RESOURCES_LEAST_ALLOCATED,
    NODE_RESOURCES_MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    SERVICE_AFFINITY,
)

_KINDS = ("ReplicationController", "ReplicaSet")


class NodePreferAvoidPodsRules(ReleaseRules, plugins="NodePreferAvoidPods"):
    notes = (
        Note(
            "1.22",
            "score",
            "No default plugin any more; before, nodes could ask in an annotation to be spared the pods of a "
            "controller.",
        ),
        Note(
            "1.23",
            "filter score",
            "The plugin is gone; before, a configuration could enable it.",
            plugins=(
                f"NodePreferAvoidPods {NODE_LABEL} {SERVICE_AFFINITY} {NODE_RESOURCES_LEAST_ALLOCATED} "
                f"{NODE_RESOURCES_MOST_ALLOCATED} {REQUESTED_TO_CAPACITY_RATIO}"
            ),
        ),
    )


class NodePreferAvoidPods(ScorePlugin[None]):
    name = "NodePreferAvoidPods"
    column = "Avoid"
    lasting = True
    until = "1.22"
    follows_pods = False
    summary = "Keeps the pods of a controller away from nodes whose annotation names the controller."

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        """Its weight is far above all others, so that a node with the annotation comes last."""
        scores = np.full(len(nodes), self.handle.release.max_node_score, dtype=np.int64)
        owner = next((each for each in pod.pod.metadata.owner_references if each.controller), None)
        if owner is None or owner.kind not in _KINDS:
            return scores
        for index, row in enumerate(nodes.rows.tolist()):
            annotation = nodes.cluster.nodes.objects[row].metadata.annotations.get(AVOID_PODS_ANNOTATION)
            avoided = avoided_controllers(annotation) if annotation else ()
            if any((each.kind, each.uid) == (owner.kind, owner.uid) for each in avoided):
                scores[index] = 0
        return scores
