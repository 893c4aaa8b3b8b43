"""`--label NODE=KEY=VALUE` and `--label NODE=KEY-`: set a label of a node, or remove it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, ClassVar

from ksched_cli.whatif.edits.lib.arguments import EditMistake, check_key, check_value, node_and_rest
from ksched_cli.whatif.edits.lib.edit import EditSpec, NodeEdit

if TYPE_CHECKING:
    from ksched_cli.whatif.edits.lib.editor import Editor


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


def _parse(text: str) -> LabelNode:
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


def _arguments(node: str, key: str, value: str | None) -> Iterable[str]:
    """Set the label to this value; None removes it."""
    return [f"{node}={key}-" if value is None else f"{node}={key}={value}"]


SPEC = EditSpec(
    flag=LabelNode.flag,
    order=60,
    metavar="NODE=KEY=VALUE",
    help="Label a node; NODE=KEY- removes the label.",
    parse=_parse,
    arguments=_arguments,
)
