"""Changes of objects, the fixes that they make, and the result of a trial of one.

`AdvisedChange` is one entry of `changes` in the document of `explain`, `FixChange` one thing that a person would do.
Nothing is applied here: `workload.py` writes a change of the pod into the workload that makes the pod, `search.py` runs
it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from ksched_cli.api.json_patch import Operation
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.world.results import FinalPod, WorldResult


class AdvisedChange(Struct, frozen=True):
    """One change of one object of the cluster. `content` is the object that is created."""

    op: Literal["patch", "scale", "create", "delete"]
    kind: str
    namespace: str
    name: str
    patch: tuple[Operation, ...] = ()
    replicas: int = 0
    content: Mapping[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """As `changes` of `explain -o json` has it."""
        if self.op == "create":
            return {"op": "create", "object": self.content}
        target = {"kind": self.kind, "namespace": self.namespace, "name": self.name}
        found: dict[str, Any] = {"op": self.op, "target": {key: text for key, text in target.items() if text}}
        if self.op == "patch":
            found["patch"] = list(self.patch)
        if self.op == "scale":
            found["replicas"] = self.replicas
        return found


def kubectl(*words: str, namespace: str = "") -> str:
    """The command as a shell takes it. Names are quoted where a shell needs it."""
    return shlex.join(("kubectl", *(("-n", namespace) if namespace else ()), *words))


def patch_command(change: AdvisedChange, *, recreates: bool = False) -> str:
    """`kubectl patch`. `recreates` is for a field that cannot be changed: the object is deleted and created again."""
    what = f"{change.kind.lower()}/{change.name}"
    patch = ("--type=json", "-p", json.dumps(list(change.patch)))
    if not recreates:
        return kubectl("patch", what, *patch, namespace=change.namespace)
    shown = kubectl("patch", what, *patch, "--dry-run=client", "-o", "json", namespace=change.namespace)
    return f"{shown} | kubectl replace --force -f -"


# Maps whose values are texts of users: an empty text is a value there.
_TEXTS = ("labels", "annotations", "nodeSelector", "matchLabels", "parameters")


def without_empty(value: Any) -> Any:
    """The document as a manifest or a stored object has it, without the fields that are empty."""
    if isinstance(value, dict):
        kept = {key: each if key in _TEXTS else without_empty(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each is not None and each not in ("", {}, [], ())}
    return [without_empty(each) for each in value] if isinstance(value, list | tuple) else value


def create_command(content: Mapping[str, Any]) -> str:
    """`kubectl create` of an object that stands in the command."""
    return f"echo {shlex.quote(json.dumps(content))} | kubectl create -f -"


class FixChange(Struct, frozen=True):
    """One thing that is done: to the pod, by a JSON patch, or to other objects. `kind` is the sort of thing, `cost` its
    rank among others. `edits` are what a trial applies, `changes` the same as changes of objects, `commands` how
    kubectl does it. The objects that a new node consists of are known after the edit only."""

    text: str
    kind: str
    cost: float
    operations: tuple[Operation, ...] = ()
    edits: tuple[Edit, ...] = ()
    changes: tuple[AdvisedChange, ...] = ()
    commands: tuple[str, ...] = ()
    new_nodes: ProposedCount | None = None


class ProposedCount(Struct, frozen=True):
    """How many new nodes a change makes. Another change with `fewer` of them is tried before; `with_count` makes the
    change with any number."""

    count: int
    fewer: int
    with_count: Callable[[int], FixChange]


def patched(text: str, kind: str, cost: float, *operations: Operation) -> FixChange:
    """A change of the pod."""
    return FixChange(text, kind, cost, operations)


def edited(text: str, kind: str, cost: float, edit: Edit, *changes: AdvisedChange, command: str = "") -> FixChange:
    """A change of the cluster."""
    return FixChange(text, kind, cost, (), (edit,), changes, (command,) if command else ())


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
        return tuple(edit for each in self.changes for edit in each.edits)

    @property
    def new_nodes(self) -> ProposedCount | None:
        return next((each.new_nodes for each in self.changes if each.new_nodes is not None), None)

    def with_new_nodes(self, count: int) -> Proposal:
        """The same changes with another number of new nodes."""
        changed = (each.new_nodes.with_count(count) if each.new_nodes is not None else each for each in self.changes)
        return Proposal(tuple(changed))


class ManifestChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change of a manifest. A field that the manifest does not have yet has the line of the nearest field around
    it."""

    file: str
    line: int | None = None
    field: str
    action: Literal["set", "append", "delete"]
    value: Any = None

    def __str__(self) -> str:
        """`web.yaml:18: spec.template.spec.priorityClassName: high`."""
        where = f"{self.file}:{self.line}" if self.line is not None else self.file
        if self.action == "delete":
            return f"{where}: delete {self.field}"
        value = self.value if isinstance(self.value, str) else json.dumps(self.value)
        return f"{where}: {self.field}: {'add ' if self.action == 'append' else ''}{value}"


class Promise(Struct, frozen=True):
    """How many pods of the workload have a node after the fix, from a run of the whole workload."""

    pods: int
    of: int


class Fix(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A proposal that was tried and works: more pods of the workload have a node in the end, this one `node`. The same
    change is there as `changes` of objects, as `commands` for a shell, as `flags` of ksched, as a JSON `patch` of the
    pod, and as changes of the `manifest` that the pod comes from. `promise` is what a run of the whole workload gave.
    `victims` are pods that the workload preempts, `lost` those that no controller recreates, and `left_out` those that
    have no node then and had one before; `workloads` has their top owners by pod. `note`: the tool that manages the
    workload, such as Helm."""

    text: str
    cost: float
    flags: tuple[str, ...] = ()
    patch: tuple[Operation, ...] = ()
    commands: tuple[str, ...] = ()
    changes: tuple[Mapping[str, Any], ...] = ()
    promise: Promise
    note: str = ""
    node: str
    victims: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    manifest: tuple[ManifestChange, ...] = ()
    workloads: Mapping[str, str] = field(default_factory=dict)


class Fixes(Struct, frozen=True):
    """The smallest first. `tried` proposals were run; `why_none` where nothing could be thought of; `note`: what was
    not tried and why; `on`: the node that the pod was to fit on, if it was one."""

    found: tuple[Fix, ...] = ()
    tried: int = 0
    why_none: str = ""
    note: str = ""
    on: str = ""


class TrialResult(Struct, frozen=True):
    """What the world came to. `own` are the pods of the workload that are there in the end, `survives`: the pod or one
    in its place is among them; `preempted` are the pods that left for one of them, and `accepts_node`: one of them was
    on the wanted node, or could have been. `created` are the objects of new nodes."""

    world: WorldResult
    own: tuple[FinalPod, ...]
    survives: bool
    preempted: tuple[str, ...]
    accepts_node: bool
    created: tuple[AdvisedChange, ...] = ()

    @property
    def placed(self) -> int:
        return sum(bool(pod.node) for pod in self.own)

    @property
    def fits(self) -> bool:
        """Whether every pod of the workload has a node."""
        return self.world.settled and self.survives and all(pod.node for pod in self.own)
