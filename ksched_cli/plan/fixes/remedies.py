"""What could be done about each plugin's rejection of one node. Nothing here is sure to work: all of it is tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.api.json_patch import Operation, add
from ksched_cli.plan.explain.results import Rejection
from ksched_cli.plan.fixes.occupants import Occupants
from ksched_cli.plan.fixes.values import FixChange, edited, kubectl, patched
from ksched_cli.whatif.edits.label import LabelNode
from ksched_cli.whatif.edits.taint import TaintNode
from ksched_cli.whatif.edits.uncordon import Uncordon

_OF_A_STATE = "node.kubernetes.io/"


def remedies(rejection: Rejection, place: RejectingNode) -> list[tuple[FixChange, ...]]:
    """Ways to do away with the rejection, each of one or more changes; none where nothing is known."""
    ways = rejection.guide.remedies(rejection.detail, place) if rejection.detail else ()
    return [tuple(way) for way in ways if way]


class RejectingNode:
    """The pod, the node that rejects it, and the changes to both (RejectedPod)."""

    def __init__(self, pod: Pod, node: Node, *, cordoned: bool, occupants: Occupants) -> None:
        self.pod, self.node, self.cordoned = pod, node, cordoned
        self._name, self._occupants = node.metadata.name, occupants

    def patch(self, text: str, kind: str, cost: float, *operations: Operation) -> FixChange:
        return patched(text, kind, cost, *operations)

    def uncordon(self) -> FixChange:
        return edited(f"uncordon {self._name}", "uncordon", 1, Uncordon(self._name), kubectl("uncordon", self._name))

    def untaint(self, taint: Taint) -> FixChange:
        command = kubectl("taint", "nodes", self._name, f"{taint.key}:{taint.effect}-")
        text = f"take taint {taint} off {self._name}"
        return edited(text, "untaint", 2, TaintNode(self._name, taint, removes=True), command)

    def tolerate(self, taint: Taint) -> FixChange:
        toleration = {"key": taint.key, "operator": "Equal" if taint.value else "Exists", "effect": taint.effect}
        if taint.value:
            toleration["value"] = taint.value
        # What the node controller taints is not meant to be used.
        cost = 4 if taint.key.startswith(_OF_A_STATE) else 1
        kind = "toleration of a state" if cost > 1 else "toleration"
        return patched(
            f"tolerate taint {taint}", kind, cost, add_to(toleration, self.pod.spec.tolerations, "tolerations")
        )

    def label(self, key: str, value: str) -> FixChange:
        return label_node(self._name, key, value)

    def remove(self, pods: set[str]) -> Sequence[FixChange]:
        change = self._occupants.remove(*pods) if len(pods) == 1 else None
        return [] if change is None else [change]

    def make_room(self, short: Mapping[str, int]) -> Sequence[FixChange]:
        return self._occupants.lightest(self._name, short)


def add_to(item: Mapping[str, Any], present: Sequence[Any], name: str) -> Operation:
    """One more entry of a list of the pod's spec, which is there if it has entries."""
    return add(dict(item), "spec", name, "-") if present else add([dict(item)], "spec", name)


def label_node(node: str, key: str, value: str) -> FixChange:
    command = kubectl("label", "nodes", node, f"{key}={value}", "--overwrite")
    return edited(f"label {node} {key}={value}", "label", 2, LabelNode(node, key, value), command)
