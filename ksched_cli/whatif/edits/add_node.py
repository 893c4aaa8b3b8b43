"""`--add-node TEMPLATE[=N]`: add nodes like a template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ksched_cli.errors import Problem, UsageError
from ksched_cli.whatif.edits.lib.arguments import EditMistake, number_of_nodes, some_name, with_count
from ksched_cli.whatif.edits.lib.edit import Edit, EditSpec

if TYPE_CHECKING:
    from ksched_cli.api.core import Node
    from ksched_cli.whatif.edits.lib.editor import Editor


class AddNode(Edit, Struct, frozen=True):
    """So many nodes like the template, which is a Node as `kubectl get` shows it; `text` is how it was given."""

    template: Node
    count: int = 1
    text: str = ""

    def __eq__(self, other: object) -> bool:
        """Edits are equal however they were given."""
        return isinstance(other, AddNode) and (self.template, self.count) == (other.template, other.count)

    def __hash__(self) -> int:
        return hash((self.template, self.count))

    def __str__(self) -> str:
        return f"--add-node {self.text or with_count(self.template.metadata.name, self.count)}"

    def apply(self, editor: Editor) -> None:
        """Create the template under its own name, or numbered where there is more than one or the name is taken."""
        from ksched_cli.api.core import Node
        from ksched_cli.whatif.edits.lib.node_templates import renamed

        name = self.template.metadata.name
        taken = editor.store.get(Node, name) is not None
        names = editor.new_node_names(name, self.count) if self.count > 1 or taken else [name]
        for each in names:
            editor.api.update(renamed(self.template, each))


def _parse(text: str) -> AddNode:
    from ksched_cli.whatif.edits.lib.node_templates import read_template, split_count

    template, number = split_count(text)
    return AddNode(read_template(some_name(template)), number_of_nodes(number) if number else 1, text)


def _arguments(template: str | PathLike[str] | Mapping[str, Any] | Node, count: int = 1) -> Iterable[Edit]:
    """Add so many nodes like the template: a file, a document, a Node, or words such as `cpu=4,memory=16Gi,zone=a`."""
    if count < 1:
        raise UsageError(f"{count} nodes cannot be added")
    return [AddNode(_node_like(template), count)]


def _node_like(template: str | PathLike[str] | Mapping[str, Any] | Node) -> Node:
    from ksched_cli.api.core import Node
    from ksched_cli.sources.dump import load_dump
    from ksched_cli.whatif.edits.lib.node_templates import read_template

    if isinstance(template, str | PathLike):
        try:
            return read_template(str(template))
        except EditMistake as mistake:
            raise UsageError(Problem(str(mistake), str(template), hint=mistake.hint)) from None
    nodes = load_dump((), objects=(template,)).of(Node)
    if len(nodes) != 1:
        raise UsageError("a template for nodes is one Node")
    return nodes[0]


SPEC = EditSpec(
    flag="add-node",
    order=10,
    metavar="TEMPLATE[=N]",
    help="Add nodes: a file with a Node, or words such as cpu=4,memory=16Gi,zone=a (also region, pods, name and "
    "other resources). With =N, add N numbered nodes.",
    parse=_parse,
    arguments=_arguments,
)
