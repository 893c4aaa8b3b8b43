"""What is done to nodes themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from ksched_cli.api.core import Node, NodeCondition, NodeStatus, Taint
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.resource import ResourceSlice
from ksched_cli.api.storage import CSINode, VolumeAttachment
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied
from ksched_cli.sources.edits.daemons import copy_daemon_pods
from ksched_cli.sources.edits.editor import Editor
from ksched_cli.sources.edits.evictions import evict_by_taint, evict_for_drain, leave_with_nodes
from ksched_cli.sources.edits.values import (
    AddNode,
    CloneNode,
    Cordon,
    Drain,
    EditMistake,
    RemoveLabel,
    RemoveNode,
    RemoveTaint,
    SetLabel,
    SetTaint,
    Uncordon,
)

HOSTNAME = "kubernetes.io/hostname"
# What a node has because of the state it is in, and a new one has not.
_OF_A_STATE = "node.kubernetes.io/"
_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def add_node(editor: Editor, edit: AddNode) -> None:
    """The template under its own name, or numbered where there is more than one or the name is taken."""
    name = edit.template.metadata.name
    taken = editor.loaded.named(Node, name) is not None
    names = editor.new_node_names(name, edit.count) if edit.count > 1 or taken else [name]
    for each in names:
        editor.change_node(_renamed(edit.template, each))


def clone_node(editor: Editor, edit: CloneNode) -> None:
    """Nodes of the same make, as they are when they are new: empty, ready, and not cordoned."""
    node = editor.node(edit.node)
    fresh = _renamed(node, node.metadata.name)
    fresh.spec.unschedulable = False
    fresh.spec.taints = tuple(each for each in fresh.spec.taints if not each.key.startswith(_OF_A_STATE))
    fresh.status = NodeStatus(
        fresh.status.capacity,
        fresh.status.allocatable,
        (NodeCondition("Ready", "True"),),
        declared_features=fresh.status.declared_features,
    )
    names = editor.new_node_names(f"{edit.node}-clone", edit.count)
    for name in names:
        editor.change_node(_renamed(fresh, name))
        _clone_what_belongs_to_it(editor, edit.node, name)
    copy_daemon_pods(editor, edit.node, names)


def _renamed(node: Node, name: str) -> Node:
    """A copy with an identity of its own."""
    new = copied(node)
    labels = {**new.metadata.labels, HOSTNAME: name}
    new.metadata = ObjectMeta(name, labels=labels, annotations=new.metadata.annotations, uid=uid_of("Node", "", name))
    new.spec.provider_id = ""
    return new


def _clone_what_belongs_to_it(editor: Editor, node: str, name: str) -> None:
    """Its CSI drivers and devices. Local volumes stay where their data is."""
    drivers = editor.loaded.named(CSINode, node)
    if drivers is not None:
        editor.loaded.put(replace(copied(drivers), metadata=ObjectMeta(name, uid=uid_of("CSINode", "", name))))
    for resources in [each for each in editor.loaded.of(ResourceSlice) if each.spec.node_name == node]:
        new = copied(resources)
        own = f"{new.metadata.name}-{name}"
        new.metadata = ObjectMeta(own, uid=uid_of("ResourceSlice", "", own))
        new.spec.node_name = name
        pool = new.spec.pool
        # Devices are known by their pool: drivers name it after the node.
        new.spec.pool = replace(pool, name=name if pool.name == node else f"{pool.name}-{name}")
        editor.loaded.put(new)


def remove_node(editor: Editor, edit: RemoveNode) -> None:
    editor.node(edit.node)
    remove_nodes(editor, {edit.node})


def remove_nodes(editor: Editor, names: Collection[str]) -> None:
    """Nodes and what belongs to them; their pods go, and controllers make new ones."""
    leave_with_nodes(editor, names)
    loaded = editor.loaded
    for name in names:
        editor.changed_nodes.pop(name, None)
    loaded.discard(Node, lambda item: item.metadata.name in names)
    loaded.discard(CSINode, lambda item: item.metadata.name in names)
    loaded.discard(VolumeAttachment, lambda item: item.spec.node_name in names)
    loaded.discard(ResourceSlice, lambda item: item.spec.node_name in names)


def cordon(editor: Editor, edit: Cordon | Drain) -> None:
    """As kubectl cordon, with the taint that the node lifecycle controller adds."""
    node = editor.node(edit.node)
    taints = (*_without(node.spec.taints, _UNSCHEDULABLE.key, _UNSCHEDULABLE.effect), _UNSCHEDULABLE)
    editor.change_node(replace(node, spec=replace(node.spec, unschedulable=True, taints=taints)))


def uncordon(editor: Editor, edit: Uncordon) -> None:
    node = editor.node(edit.node)
    taints = _without(node.spec.taints, _UNSCHEDULABLE.key, _UNSCHEDULABLE.effect)
    editor.change_node(replace(node, spec=replace(node.spec, unschedulable=False, taints=taints)))


def drain(editor: Editor, edit: Drain) -> None:
    cordon(editor, edit)
    evict_for_drain(editor, edit.node)


def set_taint(editor: Editor, edit: SetTaint) -> None:
    node = editor.node(edit.node)
    taints = (*_without(node.spec.taints, edit.taint.key, edit.taint.effect), edit.taint)
    editor.change_node(replace(node, spec=replace(node.spec, taints=taints)))
    if edit.taint.effect == "NoExecute":
        evict_by_taint(editor, edit.node, taints)


def remove_taint(editor: Editor, edit: RemoveTaint) -> None:
    node = editor.node(edit.node)
    left = _without(node.spec.taints, edit.key, edit.effect)
    if left == node.spec.taints:
        there = ", ".join(f"{each.key}:{each.effect}" for each in node.spec.taints)
        raise EditMistake(f"node {edit.node} has no such taint", f"it has {there}" if there else "it has none")
    editor.change_node(replace(node, spec=replace(node.spec, taints=left)))


def _without(taints: Iterable[Taint], key: str, effect: str) -> tuple[Taint, ...]:
    return tuple(each for each in taints if each.key != key or effect not in ("", each.effect))


def set_label(editor: Editor, edit: SetLabel) -> None:
    node = editor.node(edit.node)
    editor.relabel(node, {**node.metadata.labels, edit.key: edit.value})


def remove_label(editor: Editor, edit: RemoveLabel) -> None:
    node = editor.node(edit.node)
    if edit.key not in node.metadata.labels:
        there = ", ".join(sorted(node.metadata.labels))
        raise EditMistake(f"node {edit.node} has no label {edit.key}", f"it has {there}" if there else "it has none")
    editor.relabel(node, {key: value for key, value in node.metadata.labels.items() if key != edit.key})
