"""What is done to nodes themselves."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ksched_cli.api.core import Node, NodeCondition, NodeStatus, Taint
from ksched_cli.api.dynamic_resources import ResourceSlice
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.storage import CSINode, VolumeAttachment
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied
from ksched_cli.whatif.edits.editor import Editor
from ksched_cli.whatif.edits.evictions import copy_daemon_pods, evict_for_drain, warn_of_losses
from ksched_cli.whatif.edits.values import (
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
    taken = editor.store.get(Node, name) is not None
    names = editor.new_node_names(name, edit.count) if edit.count > 1 or taken else [name]
    for each in names:
        editor.api.update(_renamed(edit.template, each))


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
        editor.api.update(_renamed(fresh, name))
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


def remove_node(editor: Editor, edit: RemoveNode) -> None:
    """The node and what belongs to it. The pod garbage collector deletes its pods."""
    node = editor.node(edit.node)
    warn_of_losses(editor, editor.store.pods_on(edit.node), f"node {edit.node} is removed")
    editor.api.delete(node)
    drivers = editor.store.get(CSINode, edit.node)
    attachments = [each for each in editor.store.of(VolumeAttachment) if each.spec.node_name == edit.node]
    slices = [each for each in editor.store.of(ResourceSlice) if each.spec.node_name == edit.node]
    for each in (*([drivers] if drivers is not None else []), *attachments, *slices):
        editor.api.delete(each)


def cordon(editor: Editor, edit: Cordon | Drain) -> None:
    """As kubectl cordon, with the taint that the node lifecycle controller adds."""
    node = editor.node(edit.node)
    taints = (*_without(node.spec.taints, _UNSCHEDULABLE.key, _UNSCHEDULABLE.effect), _UNSCHEDULABLE)
    editor.api.update(replace(node, spec=replace(node.spec, unschedulable=True, taints=taints)))


def uncordon(editor: Editor, edit: Uncordon) -> None:
    node = editor.node(edit.node)
    taints = _without(node.spec.taints, _UNSCHEDULABLE.key, _UNSCHEDULABLE.effect)
    editor.api.update(replace(node, spec=replace(node.spec, unschedulable=False, taints=taints)))


def drain(editor: Editor, edit: Drain) -> None:
    cordon(editor, edit)
    evict_for_drain(editor, edit.node)


def set_taint(editor: Editor, edit: SetTaint) -> None:
    node = editor.node(edit.node)
    taints = (*_without(node.spec.taints, edit.taint.key, edit.taint.effect), edit.taint)
    editor.api.update(replace(node, spec=replace(node.spec, taints=taints)))


def remove_taint(editor: Editor, edit: RemoveTaint) -> None:
    node = editor.node(edit.node)
    left = _without(node.spec.taints, edit.key, edit.effect)
    if left == node.spec.taints:
        there = ", ".join(f"{each.key}:{each.effect}" for each in node.spec.taints)
        raise EditMistake(f"node {edit.node} has no such taint", f"it has {there}" if there else "it has none")
    editor.api.update(replace(node, spec=replace(node.spec, taints=left)))


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
