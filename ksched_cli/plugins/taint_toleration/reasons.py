"""Why TaintToleration rejects a node."""

from __future__ import annotations

from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable, fixed_field
from ksched_cli.releases.changes import Rule
from ksched_cli.releases.minors import TAINTS_ARE_NOT_NAMED

_UNTOLERATED = ReasonCode(
    "KS107",
    "untolerated-taint",
    "the nodes have a taint that the pod does not tolerate",
    "A NoSchedule or NoExecute taint keeps every pod away that has no toleration for it.",
    ("add a toleration for the taint, if the pod belongs there", "remove the taint", "add nodes without it"),
)


class TaintTolerationReasons(ReasonTable, plugins="TaintToleration"):
    # Where the text names the taint, kube-scheduler counts the nodes of each taint.
    untolerated = ReasonKind(
        Rule(
            "1.18",
            before="node(s) had taints that the pod didn't tolerate",
            now="node(s) had taint {{{key}: {value}}}, that the pod didn't tolerate",
            about="message",
            sentence="The reason names the taint; before, it did not.",
        )
        .then(
            "1.24",
            now="node(s) had untolerated taint {{{key}: {value}}}",
            about="message",
            sentence="The reason has the words untolerated taint; before, that the pod didn't tolerate.",
        )
        .then(
            TAINTS_ARE_NOT_NAMED,
            now="node(s) had untolerated taint(s)",
            about="message",
            sentence="The reason does not name the taint; before, it did.",
        ),
        _UNTOLERATED,
        field=fixed_field("spec", "tolerations"),
    )
