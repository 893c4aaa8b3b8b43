"""Edits of which nodes there are: `--add-node`, `--clone-node`, `--remove-node`. `lib/edit.py` describes a declaration.
A new node has no pods but those of DaemonSets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from ksched_cli.errors import Problem, UsageError
from ksched_cli.whatif.edits.lib.arguments import EditMistake, number_of_nodes, some_name, with_count
from ksched_cli.whatif.edits.lib.edit import Clash, Edit, EditSpec, NodeEdit

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


def _parse_add_node(text: str) -> AddNode:
    from ksched_cli.whatif.edits.lib.node_templates import read_template, split_count

    template, number = split_count(text)
    return AddNode(read_template(some_name(template)), number_of_nodes(number) if number else 1, text)


def _arguments_of_add_node(template: str | PathLike[str] | Mapping[str, Any] | Node, count: int = 1) -> Iterable[Edit]:
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


ADD_NODE = EditSpec(
    flag="add-node",
    order=10,
    metavar="TEMPLATE[=N]",
    help="Add nodes: a file with a Node, or words such as cpu=4,memory=16Gi,zone=a (also region, pods, name and "
    "other resources). With =N, add N numbered nodes.",
    parse=_parse_add_node,
    arguments=_arguments_of_add_node,
)


# Taints with this prefix describe the state of a node. A new node does not have them.
_STATE_PREFIX = "node.kubernetes.io/"


class CloneNode(Edit, Struct, frozen=True):
    """So many new and empty nodes of the same make as `node`."""

    node: str
    count: int = 1

    def __str__(self) -> str:
        return f"--clone-node {with_count(self.node, self.count)}"

    def apply(self, editor: Editor) -> None:
        """Create nodes of the same make in the state of a new node: empty, ready, and not cordoned."""
        from ksched_cli.api.core import NodeCondition, NodeStatus
        from ksched_cli.whatif.edits.lib.editor import copy_daemon_pods
        from ksched_cli.whatif.edits.lib.node_templates import renamed

        fresh = renamed(editor.node(self.node), self.node)
        fresh.spec.unschedulable = False
        fresh.spec.taints = tuple(each for each in fresh.spec.taints if not each.key.startswith(_STATE_PREFIX))
        fresh.status = NodeStatus(
            fresh.status.capacity,
            fresh.status.allocatable,
            (NodeCondition("Ready", "True"),),
            declared_features=fresh.status.declared_features,
        )
        names = editor.new_node_names(f"{self.node}-clone", self.count)
        for name in names:
            editor.api.update(renamed(fresh, name))
            _clone_belongings(editor, self.node, name)
        copy_daemon_pods(editor, self.node, names)


def _clone_belongings(editor: Editor, node: str, name: str) -> None:
    """Copy the CSI drivers and devices of the node. Local volumes stay where their data is."""
    from msgspec.structs import replace

    from ksched_cli.api.core import ObjectMeta
    from ksched_cli.api.dynamic_resources import ResourceSlice
    from ksched_cli.api.storage import CSINode
    from ksched_cli.sources.templates import copied, uid_of

    drivers = editor.store.get(CSINode, node)
    if drivers is not None:
        editor.api.create(replace(copied(drivers), metadata=ObjectMeta(name, uid=uid_of("CSINode", "", name))))
    for resources in [each for each in editor.store.of(ResourceSlice) if each.spec.node_name == node]:
        new = copied(resources)
        own = f"{new.metadata.name}-{name}"
        new.metadata = ObjectMeta(own, uid=uid_of("ResourceSlice", "", own))
        new.spec.node_name = name
        pool = new.spec.pool
        # Devices are known by their pool: drivers name it after the node.
        new.spec.pool = replace(pool, name=name if pool.name == node else f"{pool.name}-{name}")
        editor.api.create(new)


def _parse_clone_node(text: str) -> CloneNode:
    node, found, number = text.partition("=")
    return CloneNode(some_name(node), number_of_nodes(number) if found else 1)


def _arguments_of_clone_node(node: str, count: int = 1) -> Iterable[Edit]:
    """Add so many new and empty nodes of the same make as a node of the cluster."""
    if count < 1:
        raise UsageError(f"{count} nodes cannot be added")
    return [CloneNode(node, count)]


CLONE_NODE = EditSpec(
    flag="clone-node",
    order=20,
    metavar="NODE[=N]",
    help="Add empty nodes with the resources, labels and taints of NODE.",
    parse=_parse_clone_node,
    arguments=_arguments_of_clone_node,
)


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


REMOVE_NODE = RemoveNode.spec(
    30, "Remove a node. Controllers create new pods for its pods; pods without a controller are deleted for good."
)


SPECS = (ADD_NODE, CLONE_NODE, REMOVE_NODE)
