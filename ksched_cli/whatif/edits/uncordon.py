"""`--uncordon NODE`: mark a node schedulable, as kubectl uncordon does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ksched_cli.whatif.edits.cordon import UNSCHEDULABLE, Cordon
from ksched_cli.whatif.edits.lib.edit import GIVE_ONE, Clash, Edit, NodeEdit

if TYPE_CHECKING:
    from ksched_cli.whatif.edits.lib.editor import Editor


class Uncordon(NodeEdit, frozen=True):
    flag: ClassVar[str] = "uncordon"

    def rules_out(self, other: Edit) -> Clash | None:
        """A cordon, and a drain, which cordons."""
        return (f"node {self.node} is uncordoned by --{self.flag}", GIVE_ONE) if isinstance(other, Cordon) else None

    def apply(self, editor: Editor) -> None:
        node = editor.node(self.node)
        editor.respec(node, unschedulable=False, taints=editor.taints_without(node, UNSCHEDULABLE, "NoSchedule"))


SPEC = Uncordon.spec(40, "Mark a node schedulable.")
