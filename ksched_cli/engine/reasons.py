"""Why the scheduler itself finds no place for a pod, apart from the reasons of plugins."""

from __future__ import annotations

from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable

_NO_NODES = ReasonCode(
    "KS118",
    "no-nodes",
    "the cluster has no nodes",
    "There is not a single Node in the input.",
    ("add nodes to the dump",),
)
_CONFLICTING = ReasonCode(
    "KS119",
    "conflicting-restrictions",
    "no node meets all that the pod requires",
    "Several plugins each leave some nodes, and none is left by all of them: for example a volume that is on one node "
    "and a node affinity for another.",
    ("loosen one of them",),
)
_GROUP = ReasonCode(
    "KS152",
    "pod-group-unschedulable",
    "the pod group as a whole has no place",
    "Fewer of its pods found a node than the gang needs, or no placement has room for it.",
    ("lower minCount", "make room"),
)


class EngineReasons(ReasonTable):
    no_nodes = ReasonKind("no nodes available to schedule pods", _NO_NODES)
    # PreFilter plugins that narrowed the nodes down: one that left none, several that left none in common, and those
    # that left out one node.
    left_no_node = ReasonKind("node(s) didn't satisfy plugin {plugins}", _CONFLICTING)
    left_none_in_common = ReasonKind("node(s) didn't satisfy plugin(s) [{plugins}] simultaneously", _CONFLICTING)
    left_out = ReasonKind("node(s) didn't satisfy plugin(s) [{plugins}]", _CONFLICTING)
    filtered_out = ReasonKind("node is filtered out by the prefilter result", _CONFLICTING)
    group_unplaced = ReasonKind("{message}", _GROUP)
    no_group_preemption = ReasonKind(
        "default preemption plugin is not registered, workload aware preemption is disabled", _GROUP
    )
    no_placements = ReasonKind("no feasible placements found", _GROUP)
