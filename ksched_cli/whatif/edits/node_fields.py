"""Edits of a node's fields as kubectl makes them: `--uncordon`, `--cordon`, `--drain`, `--label`, `--taint`.
`lib/edit.py` describes a declaration. The command `ksched drain` has its own steps in `plan/drain/`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from ksched_cli.whatif.edits.lib.arguments import EditMistake, check_key, check_value, node_and_rest
from ksched_cli.whatif.edits.lib.edit import GIVE_ONE, Clash, Edit, EditSpec, NodeEdit

if TYPE_CHECKING:
    from ksched_cli.api.core import Taint
    from ksched_cli.whatif.edits.lib.editor import Editor


class Uncordon(NodeEdit, frozen=True):
    flag: ClassVar[str] = "uncordon"

    def rules_out(self, other: Edit) -> Clash | None:
        """A cordon, and a drain, which cordons."""
        return (f"node {self.node} is uncordoned by --{self.flag}", GIVE_ONE) if isinstance(other, Cordon) else None

    def apply(self, editor: Editor) -> None:
        node = editor.node(self.node)
        editor.respec(node, unschedulable=False, taints=editor.taints_without(node, UNSCHEDULABLE, "NoSchedule"))


UNCORDON = Uncordon.spec(40, "Mark a node schedulable.")


# The taint that the node lifecycle controller adds to a cordoned node.
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


class Cordon(NodeEdit, frozen=True):
    flag: ClassVar[str] = "cordon"

    def apply(self, editor: Editor) -> None:
        """Set the field, and the taint that the node lifecycle controller adds."""
        node, taint = editor.node(self.node), _taint()
        taints = (*editor.taints_without(node, taint.key, taint.effect), taint)
        editor.respec(node, unschedulable=True, taints=taints)


@cache
def _taint() -> Taint:
    from ksched_cli.api.core import Taint

    return Taint(UNSCHEDULABLE, "", "NoSchedule")


CORDON = Cordon.spec(50, "Mark a node unschedulable.")


class Drain(Cordon, frozen=True):
    flag: ClassVar[str] = "drain"
    hint_when_removed: ClassVar[str] = "removing it evicts its pods: leave the drain out"

    def apply(self, editor: Editor) -> None:
        from ksched_cli.whatif.edits.lib.editor import evict_for_drain

        super().apply(editor)
        evict_for_drain(editor, self.node)


DRAIN = Drain.spec(
    80,
    "Cordon a node and evict its pods, as kubectl drain --ignore-daemonsets --force --delete-emptydir-data does: "
    "pods of DaemonSets and mirror pods stay. A PodDisruptionBudget can refuse an eviction.",
)


class LabelNode(NodeEdit, frozen=True):
    """Set a label; without a value, remove it."""

    key: str
    value: str | None

    flag: ClassVar[str] = "label"

    @property
    def sets(self) -> Hashable:
        return "label", self.key

    def __str__(self) -> str:
        return f"--{self.flag} {self.node}={self.key}{'-' if self.value is None else f'={self.value}'}"

    def apply(self, editor: Editor) -> None:
        node = editor.node(self.node)
        labels = dict(node.metadata.labels)
        if self.value is not None:
            labels[self.key] = self.value
        elif labels.pop(self.key, None) is None:
            there = ", ".join(sorted(labels))
            raise EditMistake(f"node {self.node} has no label {self.key}", f"it has {there or 'none'}")
        editor.relabel(node, labels)


def _parse_label(text: str) -> LabelNode:
    node, rest = node_and_rest(text, "NODE=KEY=VALUE, or NODE=KEY- to remove it")
    key, found, value = rest.partition("=")
    if not found and key.endswith("-"):
        check_key(key[:-1])
        return LabelNode(node, key[:-1], None)
    if not found:
        raise EditMistake(f"label {key} has no value", f"write {node}={key}=VALUE, or {node}={key}- to remove it")
    check_key(key)
    check_value(value)
    return LabelNode(node, key, value)


def _arguments_of_label(node: str, key: str, value: str | None) -> Iterable[str]:
    """Set the label to this value; None removes it."""
    return [f"{node}={key}-" if value is None else f"{node}={key}={value}"]


LABEL = EditSpec(
    flag=LabelNode.flag,
    order=60,
    metavar="NODE=KEY=VALUE",
    help="Label a node; NODE=KEY- removes the label.",
    parse=_parse_label,
    arguments=_arguments_of_label,
)


_FORM = "NODE=KEY[=VALUE]:EFFECT"


class TaintNode(NodeEdit, frozen=True):
    """Set a taint, which replaces a taint of the same key and effect. `removes`: remove the taint of this key and
    effect; without an effect, all taints of the key."""

    taint: Taint
    removes: bool = False

    flag: ClassVar[str] = "taint"

    @property
    def sets(self) -> Hashable:
        return "taint", self.taint.key, self.taint.effect

    def __str__(self) -> str:
        removed = f"{self.taint.key}{f':{self.taint.effect}' if self.taint.effect else ''}-"
        return f"--{self.flag} {self.node}={removed if self.removes else self.taint}"

    def apply(self, editor: Editor) -> None:
        node = editor.node(self.node)
        others = editor.taints_without(node, self.taint.key, self.taint.effect)
        if self.removes and others == node.spec.taints:
            there = ", ".join(f"{each.key}:{each.effect}" for each in others)
            raise EditMistake(f"node {self.node} has no such taint", f"it has {there or 'none'}")
        editor.respec(node, taints=others if self.removes else (*others, self.taint))


def _parse_taint(text: str) -> TaintNode:
    from ksched_cli.api.core import Taint

    node, rest = node_and_rest(text, f"{_FORM}, or NODE=KEY[:EFFECT]- to remove it")
    if rest.endswith("-"):
        key, _, effect = rest[:-1].partition(":")
        key = key.partition("=")[0]
        check_key(key)
        if effect:
            _check_effect(effect)
        return TaintNode(node, Taint(key, "", effect), removes=True)
    pair, found, effect = rest.rpartition(":")
    if not found:
        raise EditMistake("there is no effect", f"write {_FORM}, such as {node}={rest}:NoSchedule")
    key, _, value = pair.partition("=")
    check_key(key)
    check_value(value)
    _check_effect(effect)
    return TaintNode(node, Taint(key, value, effect))


def _check_effect(effect: str) -> None:
    from ksched_cli.api.core import TAINT_EFFECTS

    if effect not in TAINT_EFFECTS:
        raise EditMistake(f"there is no effect {effect}", f"use one of {', '.join(TAINT_EFFECTS)}")


def _arguments_of_taint(node: str, taint: str) -> Iterable[str]:
    """`KEY[=VALUE]:EFFECT` sets a taint, `KEY[:EFFECT]-` removes it."""
    return [f"{node}={taint}"]


TAINT = EditSpec(
    flag=TaintNode.flag,
    order=70,
    metavar=_FORM,
    help="Taint a node; NODE=KEY- and NODE=KEY:EFFECT- remove taints. NoExecute evicts pods that do not tolerate it.",
    parse=_parse_taint,
    arguments=_arguments_of_taint,
)


SPECS = (UNCORDON, CORDON, DRAIN, LABEL, TAINT)
