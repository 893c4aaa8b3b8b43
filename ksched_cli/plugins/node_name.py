"""NodeName: rejects all nodes but the one that spec.nodeName names (nodename/node_name.go). A node that the input does
not have is no node of that name: every node is rejected then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import Detail, FilterPlugin
from ksched_cli.framework.reasons import (
    Figures,
    Reason,
    ReasonCode,
    ReasonKind,
    ReasonTable,
    RejectionGuide,
    fixed_field,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import Rule

_OTHER_NODE = ReasonCode(
    "KS109",
    "node-name",
    "the pod names another node",
    "spec.nodeName leaves one node only.",
    ("leave nodeName out and use nodeSelector",),
)


class NodeNameReasons(ReasonTable, plugins="NodeName"):
    other_node = ReasonKind(
        Rule(
            "1.21",
            before="node(s) didn't match the requested hostname",
            now="node(s) didn't match the requested node name",
            described_by="NodeName",
        ),
        _OTHER_NODE,
        field=fixed_field("spec", "nodeName"),
        problem="are not the node that it names",
    )


class NodeNameGuide(RejectionGuide):
    def describe(self, figures: Figures) -> str:
        return f"the pod names node {figures['requested']}"

    def is_other_kind_of_node(self, reasons: Sequence[Reason], *, unresolvable: bool) -> bool:
        return True


class NodeName(FilterPlugin[None]):
    name = "NodeName"
    summary = "Rejects every node but the one that spec.nodeName names."
    events = (ClusterEvent("Node", Action.ADD),)

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        wanted = info.pod.spec.node_name
        if not wanted:
            return Verdict.passing(len(nodes))
        others = nodes.rows != nodes.cluster.nodes.row_of.get(wanted, -1)
        return Verdict.rejecting(np.asarray(others), unresolvable(NodeNameReasons.of(self.handle.release).other_node()))

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", info.pod.spec.node_name)

    def explain(self, state: None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        return {"requested": info.pod.spec.node_name}


SPEC = Spec(plugins=(NodeName,), reasons=(NodeNameReasons,), guide=NodeNameGuide())
