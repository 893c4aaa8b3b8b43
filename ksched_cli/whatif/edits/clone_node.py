"""`--clone-node NODE[=N]`: add empty nodes like a node of the cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from ksched_cli.errors import UsageError
from ksched_cli.whatif.edits.lib.arguments import number_of_nodes, some_name, with_count
from ksched_cli.whatif.edits.lib.edit import Edit, EditSpec

if TYPE_CHECKING:
    from ksched_cli.whatif.edits.lib.editor import Editor

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


def _parse(text: str) -> CloneNode:
    node, found, number = text.partition("=")
    return CloneNode(some_name(node), number_of_nodes(number) if found else 1)


def _arguments(node: str, count: int = 1) -> Iterable[Edit]:
    """Add so many new and empty nodes of the same make as a node of the cluster."""
    if count < 1:
        raise UsageError(f"{count} nodes cannot be added")
    return [CloneNode(node, count)]


SPEC = EditSpec(
    flag="clone-node",
    order=20,
    metavar="NODE[=N]",
    help="Add empty nodes with the resources, labels and taints of NODE.",
    parse=_parse,
    arguments=_arguments,
)
