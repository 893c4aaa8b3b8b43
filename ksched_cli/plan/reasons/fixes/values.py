"""Changes, the fixes that they make, and what came of trying one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from ksched_cli.api.json_patch import Operation
from ksched_cli.sources.places import SourcePlace
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.world.results import FinalPod, WorldResult


class FixChange(Struct, frozen=True):
    """One thing that is done: to the pod, by a JSON patch, or to the cluster, by an edit. `kind` is the sort of
    thing it is, `cost` how large it is among its like and others, `command` how kubectl does it."""

    text: str
    kind: str
    cost: float
    patch: tuple[tuple[tuple[str, Any], ...], ...] = ()
    edit: Edit | None = None
    command: str = ""

    @property
    def operations(self) -> tuple[Operation, ...]:
        return tuple(dict(each) for each in self.patch)


def kubectl(*words: str) -> str:
    """The command as a shell takes it: a name may hold anything, and people copy commands."""
    return shlex.join(("kubectl", *words))


def patched(text: str, kind: str, cost: float, *operations: Operation, command: str = "") -> FixChange:
    """A change of the pod."""
    return FixChange(text, kind, cost, tuple(tuple(each.items()) for each in operations), None, command)


def edited(text: str, kind: str, cost: float, edit: Edit, command: str = "") -> FixChange:
    """A change of the cluster."""
    return FixChange(text, kind, cost, (), edit, command)


class Proposal(Struct, frozen=True):
    """Changes that together may make the pod fit."""

    changes: tuple[FixChange, ...]

    @property
    def cost(self) -> float:
        return sum(each.cost for each in self.changes)

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(sorted(each.kind for each in self.changes))

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All in order. Entries for a list that is not there yet become one list."""
        made: list[Operation] = []
        for operation in (each for change in self.changes for each in change.operations):
            before = next((each for each in made if each["path"] == operation["path"]), None)
            if before is not None and isinstance(operation.get("value"), list):
                made[made.index(before)] = {**before, "value": [*before["value"], *operation["value"]]}
            else:
                made.append(operation)
        return tuple(made)

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(each.edit for each in self.changes if each.edit is not None)


class ManifestChange(Struct, frozen=True):
    """One change of a manifest. `place` has the file, the line and the path of the field; a field that the manifest
    does not have yet has the line of the nearest field around it."""

    place: SourcePlace
    action: Literal["set", "append", "delete"]
    value: Any = None


class Fix(Struct, frozen=True):
    """A proposal that was tried and works: every pod of the workload has a node in the end, this one `node`. `victims`
    are pods that the workload preempts, `lost` those that no controller recreates, and `left_out` those that have no
    node then and had one before; `workloads` has their top owners by pod. `manifest` has the patch as changes of the
    manifest that the pod comes from."""

    text: str
    cost: float
    flags: tuple[str, ...]
    patch: tuple[Operation, ...]
    commands: tuple[str, ...]
    node: str
    victims: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    manifest: tuple[ManifestChange, ...] = ()
    workloads: Mapping[str, str] = field(default_factory=dict)


class Fixes(Struct, frozen=True):
    """The smallest first. `tried` proposals were run; `why_none` where nothing could be thought of; `note`: where the
    patches go; `on`: the node that the pod was to fit on, if it was one."""

    found: tuple[Fix, ...] = ()
    tried: int = 0
    why_none: str = ""
    note: str = ""
    on: str = ""


class TrialResult(Struct, frozen=True):
    """What the world came to. `own` are the pods of the workload that are there in the end, `survives`: the pod or one
    in its place is among them; `preempted` are the pods that left for one of them, and `accepts_node`: one of them was
    on the wanted node, or could have been."""

    world: WorldResult
    own: tuple[FinalPod, ...]
    survives: bool
    preempted: tuple[str, ...]
    accepts_node: bool

    @property
    def fits(self) -> bool:
        """Whether every pod of the workload has a node."""
        return self.world.settled and self.survives and all(pod.node for pod in self.own)
