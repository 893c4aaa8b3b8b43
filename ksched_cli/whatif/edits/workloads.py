"""Edits of workloads and other objects: `--scale`, `--hpa`, `--delete`. `lib/edit.py` describes a declaration. The
controllers create and delete the pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ksched_cli.whatif.edits.lib.arguments import EditMistake, whole_number
from ksched_cli.whatif.edits.lib.edit import WHOLE, Edit, EditSpec, ObjectEdit, Reference

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ksched_cli.api.workloads import ReplicaSet
    from ksched_cli.controlplane.store import Identity
    from ksched_cli.whatif.edits.lib.editor import Editor


_MAX_REPLICAS = 1_000_000


class Scale(ObjectEdit, frozen=True):
    replicas: int

    def __str__(self) -> str:
        return f"--scale {self.target}={self.replicas}"

    def apply(self, editor: Editor) -> None:
        """Set the number of replicas. The controller of the workload creates or deletes pods."""
        from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet

        scaled = (Deployment, ReplicaSet, StatefulSet, ReplicationController)
        if self.target.kind not in scaled:
            names = ", ".join(kind.__name__ for kind in scaled)
            raise EditMistake(f"a {self.target.kind.__name__} has no replicas", f"{names} can be scaled")
        _set_replicas(editor, _scaled(editor, self.target), self.replicas)


def _set_replicas(editor: Editor, item: Any, replicas: int) -> None:
    """Set the number, and let the controllers look in any case: an input may lack pods of the workload."""
    from msgspec.structs import replace

    from ksched_cli.api.workloads import ReplicaSet

    item = editor.api.update(replace(item, spec=replace(item.spec, replicas=replicas)))
    editor.plane.mark_as_set(item)
    for each in (item, *editor.store.owned(item, ReplicaSet)):
        editor.api.touch(each)


def _scaled(editor: Editor, target: Reference) -> Any:
    """The object to scale. An input without Deployments has their ReplicaSets: then it is the largest of those, and the
    newest of equal ones."""
    from ksched_cli.api.workloads import Deployment, ReplicaSet, wanted_replicas
    from ksched_cli.controlplane.store import owner_identity
    from ksched_cli.whatif.edits.lib.targets import find, matching

    if target.kind is Deployment and not matching(editor.store, target, editor.namespace):
        sets = [each for each in editor.store.of(ReplicaSet) if _is_owned(each, target)]
        if len({each.metadata.namespace for each in sets}) == 1:
            return max(sets, key=lambda each: (wanted_replicas(each), each.metadata.creation_timestamp or ""))
    item = find(editor.store, target, editor.namespace)
    owner = owner_identity(item)
    if owner is not None and _exists(editor, owner):
        text = f"it belongs to {owner[0]} {owner[2]}, which would undo it"
        raise EditMistake(text, f"scale {owner[0].lower()}/{owner[1]}/{owner[2]}")
    if item.spec.template is None:
        raise EditMistake(f"{target} has no pod template in the input")
    return item


def _exists(editor: Editor, identity: Identity) -> bool:
    from ksched_cli.api.decode import KINDS

    kind = next((kind for kind in KINDS.values() if kind.__name__ == identity[0]), None)
    return kind is not None and editor.store.get(kind, identity[2], identity[1]) is not None


def _is_owned(item: ReplicaSet, target: Reference) -> bool:
    from ksched_cli.controlplane.store import owner_identity

    owner = owner_identity(item)
    return (
        owner is not None
        and (owner[0], owner[2]) == (target.kind.__name__, target.name)
        and target.namespace in ("", item.metadata.namespace)
        and item.spec.template is not None
    )


def _parse_scale(text: str) -> Scale:
    from ksched_cli.whatif.edits.lib.targets import reference

    target, found, number = text.rpartition("=")
    if not found:
        raise EditMistake("there is no number", f"write {text if '/' in text else 'KIND/NAME'}=N")
    return Scale(reference(target), whole_number(number, 0, _MAX_REPLICAS, "replicas"))


def _arguments_of_scale(workload: str, replicas: int) -> Iterable[str]:
    """Set the number of replicas of a workload, `KIND/NAME` or `KIND/NAMESPACE/NAME`."""
    return [f"{workload}={replicas}"]


SCALE = EditSpec(
    flag="scale",
    order=100,
    metavar="KIND/NAME=N",
    help="Scale a Deployment, ReplicaSet, StatefulSet or ReplicationController of the input: new pods "
    "are pending, and the controller chooses the pods to delete. Write KIND/NAMESPACE/NAME for a name in several "
    "namespaces.",
    parse=_parse_scale,
    arguments=_arguments_of_scale,
)


_BOUNDS = ("min", "max")


class AtBound(Edit, Struct, frozen=True):
    bound: str

    @property
    def subject(self) -> Hashable:
        return AtBound

    @property
    def sets(self) -> Hashable:
        return WHOLE

    def __str__(self) -> str:
        return f"--hpa {self.bound}"

    def apply(self, editor: Editor) -> None:
        """Set the replicas, as the HorizontalPodAutoscaler controller does at this bound. A workload with 0 replicas
        stays: its HorizontalPodAutoscaler is disabled."""
        from ksched_cli.api.workloads import wanted_replicas

        autoscalers = editor.store.autoscalers
        if not autoscalers:
            raise EditMistake("the input has no autoscaler", "dump horizontalpodautoscalers and scaledobjects too")
        for key, each in list(autoscalers.items()):
            number = each.least if self.bound == "min" else each.most
            item = editor.plane.controllers.autoscalers.target(key)
            if item is None or item.spec.template is None:
                editor.api.warnings.append(f"{each.label} scales {key[0]} {key[1]}/{key[2]}, which is not in the input")
            elif wanted_replicas(item) or each.is_keda:
                _set_replicas(editor, item, number)


def _parse_hpa(text: str) -> AtBound:
    if text not in _BOUNDS:
        raise EditMistake(f"{text!r} is no bound", "write min or max")
    return AtBound(text)


def _arguments_of_hpa(bound: str) -> Iterable[str]:
    """Put every workload with a HorizontalPodAutoscaler or a KEDA ScaledObject at its bound, `min` or `max`."""
    return [bound]


HPA = EditSpec(
    flag="hpa",
    order=95,
    metavar="min|max",
    help="Put every workload with a HorizontalPodAutoscaler or a KEDA ScaledObject at this bound of it.",
    parse=_parse_hpa,
    arguments=_arguments_of_hpa,
)


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


def _parse_delete(text: str) -> Delete:
    from ksched_cli.whatif.edits.lib.targets import reference

    return Delete(reference(text))


def _arguments_of_delete(*objects: str) -> Iterable[str]:
    """Delete these objects, `KIND/NAME` or `KIND/NAMESPACE/NAME`, with the objects that belong to them."""
    return objects


DELETE = EditSpec(
    flag="delete",
    order=90,
    metavar="KIND/NAME",
    help="Delete an object and the objects that belong to it. The controller of a deleted pod creates a new pod.",
    parse=_parse_delete,
    arguments=_arguments_of_delete,
)


SPECS = (SCALE, HPA, DELETE)
