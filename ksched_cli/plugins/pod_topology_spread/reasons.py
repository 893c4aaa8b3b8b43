"""Why PodTopologySpread rejects a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.framework.reasons import FieldPath, Reason, ReasonCode, ReasonKind, ReasonTable

_SKEWED = ReasonCode(
    "KS111",
    "topology-spread",
    "the pods would be spread too unevenly",
    "One more pod in any domain that has room would be more than maxSkew above the domain with the fewest.",
    ("raise maxSkew", "whenUnsatisfiable: ScheduleAnyway", "make room in the domain with the fewest pods"),
)
_KEY_MISSING = ReasonCode(
    "KS112",
    "topology-key-missing",
    "the nodes lack the label that pods are spread by",
    "A node without the topologyKey of a DoNotSchedule constraint takes none of the pods.",
    ("correct the topologyKey", "label the nodes", "whenUnsatisfiable: ScheduleAnyway"),
)


def _skew_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The constraint that one more pod would break on the node."""
    broken = {(each["topologyKey"], each.get("maxSkew")) for each in detail.get("constraints", ())}
    for index, constraint in enumerate(pod.spec.topology_spread_constraints):
        hard = constraint.when_unsatisfiable != "ScheduleAnyway"
        if hard and (not broken or (constraint.topology_key, constraint.max_skew) in broken):
            return ("spec", "topologySpreadConstraints", index, "maxSkew")
    return ("spec", "topologySpreadConstraints")


def _key_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The first hard constraint whose label the node lacks, else the first hard one."""
    missing = {each["topologyKey"] for each in detail.get("constraints", ()) if each["domain"] is None}
    hard = [
        (index, each.topology_key)
        for index, each in enumerate(pod.spec.topology_spread_constraints)
        if each.when_unsatisfiable != "ScheduleAnyway"
    ]
    chosen = next((index for index, key in hard if key in missing), hard[0][0] if hard else None)
    path: FieldPath = ("spec", "topologySpreadConstraints")
    return path if chosen is None else (*path, chosen, "topologyKey")


class PodTopologySpreadReasons(ReasonTable, plugins="PodTopologySpread"):
    label_missing = ReasonKind(
        "node(s) didn't match pod topology spread constraints (missing required label)", _KEY_MISSING, field=_key_field
    )
    skewed = ReasonKind("node(s) didn't match pod topology spread constraints", _SKEWED, field=_skew_field)
