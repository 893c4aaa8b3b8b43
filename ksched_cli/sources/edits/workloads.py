"""Workloads that become larger, smaller, or go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Node, Pod
from ksched_cli.api.kinds import CLUSTER_SCOPED
from ksched_cli.api.selectors import Selector, compile_selector, selector_from_map
from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.sources.arrivals import date, let_in, unpack
from ksched_cli.sources.controllers.deletion_order import pods_to_delete
from ksched_cli.sources.controllers.existing import Existing, active, controller_of
from ksched_cli.sources.controllers.expand import expand
from ksched_cli.sources.edits.editor import Editor
from ksched_cli.sources.edits.evictions import evict, forget
from ksched_cli.sources.edits.targets import find, matching
from ksched_cli.sources.edits.values import Delete, EditMistake, Reference, Scale

_SCALED = (Deployment, ReplicaSet, StatefulSet, ReplicationController)


def scale(editor: Editor, edit: Scale) -> None:
    """The number of replicas, and the pods that the controller then makes or deletes."""
    if edit.target.kind not in _SCALED:
        names = ", ".join(kind.__name__ for kind in _SCALED)
        raise EditMistake(f"a {edit.target.kind.__name__} has no replicas", f"{names} can be scaled")
    item = _with_replicas(editor, _scaled(editor, edit.target), edit.replicas)
    if isinstance(item, Deployment) and (only := _only_active_set(editor, item)) is not None:
        item = _with_replicas(editor, only, edit.replicas)
    existing = editor.existing()
    forget(editor, list(_too_many(item, existing)))
    pods = unpack(editor.loaded, expand(item, existing))
    date(pods, editor.loaded.of(Pod))
    editor.refused += let_in(editor.loaded, pods)


def _with_replicas(editor: Editor, item: Any, replicas: int) -> Any:
    item = replace(item, spec=replace(item.spec, replicas=replicas))
    editor.loaded.put(item)
    return item


def _only_active_set(editor: Editor, item: Deployment) -> ReplicaSet | None:
    """FindActiveOrLatest: outside of a rollout a deployment scales the replica set that it has, whatever the template.
    Within one the new set takes what is added, and the pods of all sets are looked at where some have to go."""
    target = Reference(Deployment, item.metadata.name, item.metadata.namespace)
    sets = [each for each in editor.loaded.of(ReplicaSet) if each.spec.replicas != 0 and _is_owned(each, target)]
    return sets[0] if len(sets) == 1 else None


def _scaled(editor: Editor, target: Reference) -> Any:
    """What is scaled. A dump without deployments has their replica sets: then it is the newest of those."""
    if target.kind is Deployment and not matching(editor.loaded, target, editor.namespace):
        sets = [each for each in editor.loaded.of(ReplicaSet) if _is_owned(each, target)]
        if len({each.metadata.namespace for each in sets}) == 1:
            return max(sets, key=lambda each: (each.spec.replicas or 0, each.metadata.creation_timestamp or ""))
    item = find(editor.loaded, target, editor.namespace)
    owner = controller_of(item.metadata)
    if owner is not None and _exists(editor, owner.kind, item.metadata.namespace, owner.name):
        text = f"it belongs to {owner.kind} {owner.name}, which would undo it"
        raise EditMistake(text, f"scale {owner.kind.lower()}/{item.metadata.namespace}/{owner.name}")
    if item.spec.template is None:
        raise EditMistake(f"{target} has no pod template in the input")
    return item


def _too_many(item: Any, existing: Existing) -> Iterable[Pod]:
    wanted = item.spec.replicas
    if isinstance(item, StatefulSet):
        start = item.spec.ordinals.start if item.spec.ordinals else 0
        kept = {f"{item.metadata.name}-{ordinal}" for ordinal in range(start, start + wanted)}
        owned = existing.pods_of("StatefulSet", item.metadata, compile_selector(item.spec.selector))
        return [pod for pod in owned if pod.metadata.name not in kept]
    pods, related = _replicas(item, existing)
    return pods_to_delete(pods, related, max(len(pods) - wanted, 0))


def _replicas(item: Any, existing: Existing) -> tuple[list[Pod], list[Pod]]:
    """Active pods of the workload, and those of all replica sets beside it."""
    selector = _selector(item)
    if isinstance(item, Deployment):
        pods = active(existing.deployment_pods(item.metadata, selector))
        return pods, pods
    pods = active(existing.pods_of(type(item).__name__, item.metadata, selector))
    owner = controller_of(item.metadata)
    if owner is None:
        return pods, pods
    deployment = replace(item.metadata, name=owner.name)
    related = [
        pod
        for each in existing.replica_sets_of(deployment)
        for pod in active(existing.pods_of("ReplicaSet", each.metadata, _selector(each)))
    ]
    return pods, related


def _selector(item: Any) -> Selector:
    if isinstance(item, ReplicationController):
        template = item.spec.template
        return selector_from_map(item.spec.selector or (template.metadata.labels if template else {}))
    return compile_selector(item.spec.selector)


def delete(editor: Editor, edit: Delete) -> None:
    """As kubectl delete with its usual cascade. What a controller owns comes back: its pods as new pending ones."""
    target = edit.target
    if target.kind is Node:
        raise EditMistake("a node is not deleted this way", f"use --remove-node {target.name}")
    if target.kind is Namespace:
        _delete_namespace(editor, target)
        return
    item = find(editor.loaded, target, editor.namespace)
    if isinstance(item, Pod):
        evict(editor, [item])
        return
    owner = controller_of(item.metadata)
    pods = [each for each in _dependents(editor, item) if isinstance(each, Pod)]
    if owner is not None and _exists(editor, owner.kind, item.metadata.namespace, owner.name):
        evict(editor, pods)
        return
    editor.remove([item, *(each for each in _dependents(editor, item) if not isinstance(each, Pod))])
    forget(editor, pods)


def _delete_namespace(editor: Editor, target: Reference) -> None:
    namespace = find(editor.loaded, target, editor.namespace)
    inside = [
        item
        for kind, items in editor.loaded.objects.items()
        if kind not in CLUSTER_SCOPED
        for item in items
        if item.metadata.namespace == target.name
    ]
    editor.remove([namespace, *inside])


def _dependents(editor: Editor, owner: Any) -> list[Any]:
    """Everything that belongs to it, directly or by way of another."""
    kind, metadata = type(owner).__name__, owner.metadata
    found: list[Any] = []
    for items in list(editor.loaded.objects.values()):
        for item in items:
            reference = controller_of(item.metadata)
            if (
                reference is not None
                and (reference.kind, reference.name) == (kind, metadata.name)
                and item.metadata.namespace == metadata.namespace
            ):
                found += [item, *(_dependents(editor, item) if not isinstance(item, Pod) else ())]
    return found


def _exists(editor: Editor, kind: str, namespace: str, name: str) -> bool:
    return any(
        each.__name__ == kind and editor.loaded.named(each, name, namespace) is not None
        for each in editor.loaded.objects
    )


def _is_owned(item: ReplicaSet, target: Reference) -> bool:
    owner = controller_of(item.metadata)
    return (
        owner is not None
        and (owner.kind, owner.name) == (target.kind.__name__, target.name)
        and target.namespace in ("", item.metadata.namespace)
        and item.spec.template is not None
    )
