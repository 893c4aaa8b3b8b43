"""NodeName: pods that name their node."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import Detail, FilterPlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.changes import Change, ReleaseRules

_MISMATCH = unresolvable("node(s) didn't match the requested node name")
_MISMATCH_1_20 = unresolvable("node(s) didn't match the requested hostname")


class NodeNameRules(ReleaseRules, plugins="NodeName"):
    reason_says_node_name = Change("1.21", before=False, now=True, told_by="NodeName")


class NodeName(FilterPlugin[None]):
    name = "NodeName"
    lasting = True
    follows_pods = False
    summary = "Rejects every node but the one that spec.nodeName names."
    events = (ClusterEvent("Node", Action.ADD),)

    def filter(self, state: None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        wanted = pod.pod.spec.node_name
        if not wanted:
            return Verdict.passing(len(nodes))
        others = nodes.rows != nodes.cluster.nodes.row_of.get(wanted, -1)
        mismatch = _MISMATCH if NodeNameRules.of(self.handle.release).reason_says_node_name else _MISMATCH_1_20
        return Verdict.rejecting(np.asarray(others), mismatch)

    def sign(self, pod: PodInfo) -> Hashable:
        return pod.pod.spec.node_name

    def explain(self, state: None, pod: PodInfo, nodes: NodeRows, index: int) -> Detail:
        return {"requested": pod.pod.spec.node_name}


PLUGINS = (NodeName,)
