"""Why NodeAffinity rejects a pod or a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.framework.reasons import FieldPath, Reason, ReasonCode, ReasonKind, ReasonTable, fixed_field
from ksched_cli.releases.changes import Rule
from ksched_cli.releases.plugin_names import INTER_POD_AFFINITY, NODE_NAME

REQUIRED: FieldPath = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")

_NODE_SELECTOR = ReasonCode(
    "KS104",
    "node-selector",
    "no node has the labels that the pod requires",
    "nodeSelector and the required terms of nodeAffinity have to match the labels of the node. All labels of "
    "nodeSelector have to match, and one of the terms.",
    ("correct the label or its value", "label a node so that it matches", "make the term a preferred one"),
)
_ENFORCED = ReasonCode(
    "KS105",
    "enforced-node-affinity",
    "the scheduler's configuration keeps the pod off the node",
    "The profile's NodeAffinityArgs have an addedAffinity that every pod of the profile must match.",
    ("use another profile (spec.schedulerName)", "label the nodes", "change addedAffinity"),
)
_CONFLICTING = ReasonCode(
    "KS106",
    "conflicting-affinity",
    "the required node affinity contradicts itself",
    "The terms name nodes (matchFields metadata.name) of which none can match all of them.",
    ("leave one of the names out",),
)


def _unmet_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The first label that the node lacks, else the terms."""
    unmet = [each["key"] for each in detail.get("nodeSelector", ())]
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if unmet or (pod.spec.node_selector and required is None):
        return ("spec", "nodeSelector", *unmet[:1])
    terms = (*REQUIRED, "nodeSelectorTerms")
    return (*terms, 0) if required is not None and len(required.node_selector_terms) == 1 else terms


class NodeAffinityReasons(ReasonTable, plugins="NodeAffinity"):
    unmatched = ReasonKind(
        Rule(
            "1.20",
            before="node(s) didn't match node selector",
            now="node(s) didn't match Pod's node affinity",
            about="message",
            sentence="The reason of node selectors names node affinity; before, affinity was called a selector.",
        ).then(
            "1.21",
            now="node(s) didn't match Pod's node affinity/selector",
            about="message",
            sentence=(
                "Node selectors are spoken of beside node affinity, and node names as such; before, node affinity "
                "alone, and host names."
            ),
            plugins=f"NodeAffinity {NODE_NAME} {INTER_POD_AFFINITY}",
        ),
        _NODE_SELECTOR,
        field=_unmet_field,
    )
    unmatched_profile = ReasonKind("node(s) didn't match scheduler-enforced node affinity", _ENFORCED)
    conflicting = ReasonKind("pod affinity terms conflict", _CONFLICTING, field=fixed_field(*REQUIRED))
