"""`--cordon NODE`: mark a node unschedulable, as kubectl cordon does."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar

from ksched_cli.whatif.edits.lib.edit import NodeEdit

if TYPE_CHECKING:
    from ksched_cli.api.core import Taint
    from ksched_cli.whatif.edits.lib.editor import Editor

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


SPEC = Cordon.spec(50, "Mark a node unschedulable.")
