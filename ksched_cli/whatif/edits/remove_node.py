"""`--remove-node NODE`: delete a node with the objects that belong to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ksched_cli.whatif.edits.lib.edit import Clash, Edit, NodeEdit

if TYPE_CHECKING:
    from ksched_cli.whatif.edits.lib.editor import Editor


class RemoveNode(NodeEdit, frozen=True):
    flag: ClassVar[str] = "remove-node"

    def rules_out(self, other: Edit) -> Clash | None:
        """Every other edit of the node."""
        if not isinstance(other, NodeEdit) or isinstance(other, RemoveNode):
            return None
        return f"node {self.node} is removed by --{self.flag}", other.hint_when_removed

    def apply(self, editor: Editor) -> None:
        """Delete the node and what belongs to it. The pod garbage collector deletes its pods."""
        from ksched_cli.api.dynamic_resources import ResourceSlice
        from ksched_cli.api.storage import CSINode, VolumeAttachment
        from ksched_cli.whatif.edits.lib.editor import warn_of_losses

        node = editor.node(self.node)
        warn_of_losses(editor, editor.store.pods_on(self.node), f"node {self.node} is removed")
        editor.api.delete(node)
        drivers = editor.store.get(CSINode, self.node)
        attachments = [each for each in editor.store.of(VolumeAttachment) if each.spec.node_name == self.node]
        slices = [each for each in editor.store.of(ResourceSlice) if each.spec.node_name == self.node]
        for each in (*([drivers] if drivers is not None else []), *attachments, *slices):
            editor.api.delete(each)


SPEC = RemoveNode.spec(
    30, "Remove a node. Controllers create new pods for its pods; pods without a controller are deleted for good."
)
