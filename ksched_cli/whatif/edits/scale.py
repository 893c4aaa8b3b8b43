"""`--scale KIND/NAME=N`: set the number of replicas of a workload."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ksched_cli.whatif.edits.lib.arguments import EditMistake, whole_number
from ksched_cli.whatif.edits.lib.edit import EditSpec, ObjectEdit, Reference

if TYPE_CHECKING:
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
        from msgspec.structs import replace

        from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet

        scaled = (Deployment, ReplicaSet, StatefulSet, ReplicationController)
        if self.target.kind not in scaled:
            names = ", ".join(kind.__name__ for kind in scaled)
            raise EditMistake(f"a {self.target.kind.__name__} has no replicas", f"{names} can be scaled")
        item = _scaled(editor, self.target)
        item = editor.api.update(replace(item, spec=replace(item.spec, replicas=self.replicas)))
        editor.plane.mark_as_set(item)
        # An input may have fewer pods than the workload wants.
        for each in (item, *editor.store.owned(item, ReplicaSet)):
            editor.api.touch(each)


def _scaled(editor: Editor, target: Reference) -> Any:
    """The object to scale. An input without Deployments has their ReplicaSets: then it is the newest of those."""
    from ksched_cli.api.workloads import Deployment, ReplicaSet
    from ksched_cli.controlplane.store import owner_identity
    from ksched_cli.whatif.edits.lib.targets import find, matching

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


def _parse(text: str) -> Scale:
    from ksched_cli.whatif.edits.lib.targets import reference

    target, found, number = text.rpartition("=")
    if not found:
        raise EditMistake("there is no number", f"write {text if '/' in text else 'KIND/NAME'}=N")
    return Scale(reference(target), whole_number(number, 0, _MAX_REPLICAS, "replicas"))


def _arguments(workload: str, replicas: int) -> Iterable[str]:
    """Set the number of replicas of a workload, `KIND/NAME` or `KIND/NAMESPACE/NAME`."""
    return [f"{workload}={replicas}"]


SPEC = EditSpec(
    flag="scale",
    order=100,
    metavar="KIND/NAME=N",
    help="Scale a Deployment, ReplicaSet, StatefulSet or ReplicationController of the input: new pods "
    "are pending, and the controller chooses the pods to delete. Write KIND/NAMESPACE/NAME for a name in several "
    "namespaces.",
    parse=_parse,
    arguments=_arguments,
)
