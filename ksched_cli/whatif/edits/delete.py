"""`--delete KIND/NAME`: delete an object, as kubectl delete does with its default cascade."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import EditSpec, ObjectEdit

if TYPE_CHECKING:
    from ksched_cli.whatif.edits.lib.editor import Editor


class Delete(ObjectEdit, frozen=True):
    def __str__(self) -> str:
        return f"--delete {self.target}"

    def apply(self, editor: Editor) -> None:
        """Delete the object. The garbage collector deletes what belongs to it."""
        from ksched_cli.api.core import Node
        from ksched_cli.whatif.edits.lib.targets import find

        if self.target.kind is Node:
            raise EditMistake("a node is not deleted this way", f"use --remove-node {self.target.name}")
        editor.api.delete(find(editor.store, self.target, editor.namespace), why="deleted by the edit")


def _parse(text: str) -> Delete:
    from ksched_cli.whatif.edits.lib.targets import reference

    return Delete(reference(text))


def _arguments(*objects: str) -> Iterable[str]:
    """Delete these objects, `KIND/NAME` or `KIND/NAMESPACE/NAME`, with the objects that belong to them."""
    return objects


SPEC = EditSpec(
    flag="delete",
    order=90,
    metavar="KIND/NAME",
    help="Delete an object and the objects that belong to it. The controller of a deleted pod creates a new pod.",
    parse=_parse,
    arguments=_arguments,
)
