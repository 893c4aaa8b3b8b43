"""Workloads that become larger, smaller, or go."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Node
from ksched_cli.api.kinds import KINDS
from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.controlplane.store import Identity, owner_identity
from ksched_cli.whatif.edits.editor import Editor
from ksched_cli.whatif.edits.targets import find, matching
from ksched_cli.whatif.edits.values import Delete, EditMistake, Reference, Scale

_SCALED = (Deployment, ReplicaSet, StatefulSet, ReplicationController)
_KIND_OF = {kind.__name__: kind for kind in KINDS.values()}


def scale(editor: Editor, edit: Scale) -> None:
    """The number of replicas; its controller creates or deletes pods."""
    if edit.target.kind not in _SCALED:
        names = ", ".join(kind.__name__ for kind in _SCALED)
        raise EditMistake(f"a {edit.target.kind.__name__} has no replicas", f"{names} can be scaled")
    item = _scaled(editor, edit.target)
    item = editor.api.update(replace(item, spec=replace(item.spec, replicas=edit.replicas)))
    editor.plane.mark_as_set(item)
    # An input may have fewer pods than the workload wants.
    for each in (item, *editor.store.owned(item, ReplicaSet)):
        editor.api.touch(each)


def _scaled(editor: Editor, target: Reference) -> Any:
    """The object to scale. A dump without Deployments has their ReplicaSets: then it is the newest of those."""
    if target.kind is Deployment and not matching(editor.store, target, editor.namespace):
        sets = [each for each in editor.store.of(ReplicaSet) if _is_owned(each, target)]
        if len({each.metadata.namespace for each in sets}) == 1:
            return max(sets, key=lambda each: (each.spec.replicas or 0, each.metadata.creation_timestamp or ""))
    item = find(editor.store, target, editor.namespace)
    owner = owner_identity(item)
    if owner is not None and _exists(editor, owner):
        text = f"it belongs to {owner[0]} {owner[2]}, which would undo it"
        raise EditMistake(text, f"scale {owner[0].lower()}/{owner[1]}/{owner[2]}")
    if item.spec.template is None:
        raise EditMistake(f"{target} has no pod template in the input")
    return item


def delete(editor: Editor, edit: Delete) -> None:
    """As kubectl delete with its usual cascade: the garbage collector deletes what belongs to the object."""
    if edit.target.kind is Node:
        raise EditMistake("a node is not deleted this way", f"use --remove-node {edit.target.name}")
    editor.api.delete(find(editor.store, edit.target, editor.namespace), why="deleted by the edit")


def _exists(editor: Editor, identity: Identity) -> bool:
    kind = _KIND_OF.get(identity[0])
    return kind is not None and editor.store.get(kind, identity[2], identity[1]) is not None


def _is_owned(item: ReplicaSet, target: Reference) -> bool:
    owner = owner_identity(item)
    return (
        owner is not None
        and (owner[0], owner[2]) == (target.kind.__name__, target.name)
        and target.namespace in ("", item.metadata.namespace)
        and item.spec.template is not None
    )
