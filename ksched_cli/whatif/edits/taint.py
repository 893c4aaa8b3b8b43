"""`--taint NODE=KEY[=VALUE]:EFFECT` and `--taint NODE=KEY[:EFFECT]-`: set a taint of a node, or remove it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ksched_cli.whatif.edits.lib.arguments import check_key, check_value, node_and_rest
from ksched_cli.whatif.edits.lib.edit import EditSpec, NodeEdit
from ksched_cli.whatif.edits.lib.mistake import EditMistake
from ksched_cli.whatif.edits.lib.taints import without_taint

if TYPE_CHECKING:
    from ksched_cli.api.core import Taint
    from ksched_cli.whatif.edits.lib.editor import Editor

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_FORM = "NODE=KEY[=VALUE]:EFFECT"


@dataclass(frozen=True)
class SetTaint(NodeEdit):
    """Set a taint. It replaces a taint of the same key and effect."""

    taint: Taint

    flag: ClassVar[str] = "taint"

    @property
    def sets(self) -> Hashable:
        return "taint", self.taint.key, self.taint.effect

    def __str__(self) -> str:
        value = f"={self.taint.value}" if self.taint.value else ""
        return f"--{self.flag} {self.node}={self.taint.key}{value}:{self.taint.effect}"

    def apply(self, editor: Editor) -> None:
        node = editor.node(self.node)
        others = without_taint(node.spec.taints, self.taint.key, self.taint.effect)
        editor.respec(node, taints=(*others, self.taint))


@dataclass(frozen=True)
class RemoveTaint(NodeEdit):
    """Remove a taint. Without an effect: all taints of the key."""

    key: str
    effect: str = ""

    flag: ClassVar[str] = "taint"

    @property
    def sets(self) -> Hashable:
        return "taint", self.key, self.effect

    def __str__(self) -> str:
        return f"--{self.flag} {self.node}={self.key}{f':{self.effect}' if self.effect else ''}-"

    def apply(self, editor: Editor) -> None:
        node = editor.node(self.node)
        left = without_taint(node.spec.taints, self.key, self.effect)
        if left == node.spec.taints:
            there = ", ".join(f"{each.key}:{each.effect}" for each in node.spec.taints)
            raise EditMistake(f"node {self.node} has no such taint", f"it has {there}" if there else "it has none")
        editor.respec(node, taints=left)


def _parse(text: str) -> SetTaint | RemoveTaint:
    from ksched_cli.api.core import Taint

    node, rest = node_and_rest(text, f"{_FORM}, or NODE=KEY[:EFFECT]- to remove it")
    if rest.endswith("-"):
        key, _, effect = rest[:-1].partition(":")
        key = key.partition("=")[0]
        check_key(key)
        if effect:
            _check_effect(effect)
        return RemoveTaint(node, key, effect)
    pair, found, effect = rest.rpartition(":")
    if not found:
        raise EditMistake("there is no effect", f"write {_FORM}, such as {node}={rest}:NoSchedule")
    key, _, value = pair.partition("=")
    check_key(key)
    check_value(value)
    _check_effect(effect)
    return SetTaint(node, Taint(key, value, effect))


def _check_effect(effect: str) -> None:
    if effect not in _EFFECTS:
        raise EditMistake(f"there is no effect {effect}", f"use one of {', '.join(_EFFECTS)}")


def _arguments(node: str, taint: str) -> Iterable[str]:
    """`KEY[=VALUE]:EFFECT` sets a taint, `KEY[:EFFECT]-` removes it."""
    return [f"{node}={taint}"]


SPEC = EditSpec(
    flag=SetTaint.flag,
    order=70,
    metavar=_FORM,
    help="Taint a node; NODE=KEY- and NODE=KEY:EFFECT- remove taints. NoExecute evicts pods that do not tolerate it.",
    parse=_parse,
    arguments=_arguments,
)
