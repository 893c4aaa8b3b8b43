"""`--taint NODE=KEY[=VALUE]:EFFECT` and `--taint NODE=KEY[:EFFECT]-`: set a taint of a node, or remove it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, ClassVar

from ksched_cli.whatif.edits.lib.arguments import EditMistake, check_key, check_value, node_and_rest
from ksched_cli.whatif.edits.lib.edit import EditSpec, NodeEdit

if TYPE_CHECKING:
    from ksched_cli.api.core import Taint
    from ksched_cli.whatif.edits.lib.editor import Editor

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


def _parse(text: str) -> TaintNode:
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


def _arguments(node: str, taint: str) -> Iterable[str]:
    """`KEY[=VALUE]:EFFECT` sets a taint, `KEY[:EFFECT]-` removes it."""
    return [f"{node}={taint}"]


SPEC = EditSpec(
    flag=TaintNode.flag,
    order=70,
    metavar=_FORM,
    help="Taint a node; NODE=KEY- and NODE=KEY:EFFECT- remove taints. NoExecute evicts pods that do not tolerate it.",
    parse=_parse,
    arguments=_arguments,
)
