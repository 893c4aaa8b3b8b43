"""Why NodeResourcesFit rejects a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.quantity import largest_request
from ksched_cli.framework.reasons import FieldPath, Reason, ReasonCode, ReasonKind, ReasonTable, fixed_field
from ksched_cli.releases.changes import Rule

_INSUFFICIENT = ReasonCode(
    "KS101",
    "insufficient-resources",
    "the nodes do not have enough of a resource free",
    "The requests of the pod are more than what the pods that run there leave of the nodes' allocatable. Without them "
    "there would be room.",
    (
        "lower the request, or the number of replicas",
        "move or scale down what runs there, or add nodes",
        "give the pod a PriorityClass that may preempt",
    ),
)
_LARGER_THAN_NODE = ReasonCode(
    "KS102",
    "larger-than-node",
    "the pod requests more than a node has in all",
    "Even if they were empty the nodes would be too small, or they do not offer the resource at all.",
    ("lower the request", "add nodes of a larger type, or nodes that offer the resource"),
)
_TOO_MANY_PODS = ReasonCode(
    "KS103",
    "too-many-pods",
    "the nodes run as many pods as they may",
    "A node's allocatable has a number of pods (kubelet's maxPods), for pods of any size.",
    ("raise kubelet's maxPods if the network allows it", "add nodes"),
)
_FEATURE_OFF = ReasonCode(
    "KS120",
    "feature-off",
    "the pod uses a feature that is switched off",
    "This version of Kubernetes has the feature gate off, and the scheduler places no pod that relies on it.",
    ("switch the feature gate on, if the cluster has it on (--feature-gates)", "leave the field out"),
)


def _lacking_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    lacking = [reason.param("resource") for reason in reasons]
    return largest_request(pod, next((each for each in (*detail, *lacking) if each in lacking), ""))


class NodeResourcesFitReasons(ReasonTable, plugins="NodeResourcesFit"):
    too_many_pods = ReasonKind(
        Rule(
            "1.18",
            before="Insufficient pods",
            now="Too many pods",
            about="message",
            sentence="The reason is Too many pods; before, Insufficient pods.",
        ),
        _TOO_MANY_PODS,
        lacks="pods",
        problem="are full (pods)",
    )
    insufficient = ReasonKind(
        "Insufficient {resource}",
        _INSUFFICIENT,
        unresolvable_code=_LARGER_THAN_NODE,
        field=_lacking_field,
        lacks="{resource}",
        problem="lack {resource}",
    )
    sidecars_off = ReasonKind(
        "Pod has a restartable init container and the SidecarContainers feature is disabled",
        _FEATURE_OFF,
        field=fixed_field("spec", "initContainers"),
    )
