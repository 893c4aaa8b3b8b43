"""`--label NODE=KEY=VALUE` and `--label NODE=KEY-`: set a label of a node, or remove it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ksched_cli.whatif.edits.lib.arguments import check_key, check_value, node_and_rest
from ksched_cli.whatif.edits.lib.edit import EditSpec, NodeEdit
from ksched_cli.whatif.edits.lib.mistake import EditMistake

if TYPE_CHECKING:
    from ksched_cli.whatif.edits.lib.editor import Editor


@dataclass(frozen=True)
class SetLabel(NodeEdit):
    key: str
    value: str

    flag: ClassVar[str] = "label"

    @property
    def sets(self) -> Hashable:
        return "label", self.key

    def __str__(self) -> str:
        return f"--{self.flag} {self.node}={self.key}={self.value}"

    def apply(self, editor: Editor) -> None:
        node = editor.node(self.node)
        editor.relabel(node, {**node.metadata.labels, self.key: self.value})


@dataclass(frozen=True)
class RemoveLabel(NodeEdit):
    key: str

    flag: ClassVar[str] = "label"

    @property
    def sets(self) -> Hashable:
        return "label", self.key

    def __str__(self) -> str:
        return f"--{self.flag} {self.node}={self.key}-"

    def apply(self, editor: Editor) -> None:
        node = editor.node(self.node)
        if self.key not in node.metadata.labels:
            there = ", ".join(sorted(node.metadata.labels))
            hint = f"it has {there}" if there else "it has none"
            raise EditMistake(f"node {self.node} has no label {self.key}", hint)
        editor.relabel(node, {key: value for key, value in node.metadata.labels.items() if key != self.key})


def _parse(text: str) -> SetLabel | RemoveLabel:
    node, rest = node_and_rest(text, "NODE=KEY=VALUE, or NODE=KEY- to remove it")
    key, found, value = rest.partition("=")
    if not found and key.endswith("-"):
        check_key(key[:-1])
        return RemoveLabel(node, key[:-1])
    if not found:
        raise EditMistake(f"label {key} has no value", f"write {node}={key}=VALUE, or {node}={key}- to remove it")
    check_key(key)
    check_value(value)
    return SetLabel(node, key, value)


def _arguments(node: str, key: str, value: str | None) -> Iterable[str]:
    """Set the label to this value; None removes it."""
    return [f"{node}={key}-" if value is None else f"{node}={key}={value}"]


SPEC = EditSpec(
    flag=SetLabel.flag,
    order=60,
    metavar="NODE=KEY=VALUE",
    help="Label a node; NODE=KEY- removes the label.",
    parse=_parse,
    arguments=_arguments,
)
