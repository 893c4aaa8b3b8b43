"""A scenario: the types of its file, its JSON Schema, reading, and a validation run.

Reading is strict and reports every mistake at once, with line and path. The validation run applies the changes of all
steps and finds their mistakes before the first step runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from msgspec import Meta, Struct, defstruct

from ksched_cli.api.conversion import path_text, problems_in, type_name
from ksched_cli.api.core import Node
from ksched_cli.api.label_names import is_label_key
from ksched_cli.api.yaml_reader import Document
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.errors import InputError, Problem, UsageError, counted
from ksched_cli.sources.decoding import API_VERSION
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.own_documents import components_of, expected_kind, json_schema, read_one_document
from ksched_cli.sources.read_options import ManifestReading
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.apply import attempt_edits, edit_clashes
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Edit, Reference, edit_specs
from ksched_cli.whatif.edits.lib.editor import name_hint
from ksched_cli.whatif.edits.lib.targets import pods_meant, reference
from ksched_cli.whatif.manifests import apply_manifests


class ScenarioPlace(Struct, frozen=True):
    """Where something stands in the file."""

    line: int
    path: str


class Schedulable(Struct, frozen=True):
    """Every pod that was pending has a node, or every pod of the target; or none of them has."""

    place: ScenarioPlace
    target: Reference | None = None
    wanted: bool = True

    def __str__(self) -> str:
        word = "schedulable" if self.wanted else "unschedulable"
        return f"{word}: {self.target or 'every pod'}"


class On(Struct, frozen=True):
    """All pods of the target are on these nodes, or none of them is."""

    place: ScenarioPlace
    target: Reference
    nodes: tuple[str, ...]
    wanted: bool = True

    def __str__(self) -> str:
        return f"{'on' if self.wanted else 'not on'} {', '.join(self.nodes)}: {self.target}"


class Spread(Struct, frozen=True):
    """The numbers of the target's pods in the domains of a label differ by so much at most."""

    place: ScenarioPlace
    target: Reference
    topology_key: str
    max_skew: int

    def __str__(self) -> str:
        return f"spread over {self.topology_key} within {self.max_skew}: {self.target}"


class NoPreemption(Struct, frozen=True):
    place: ScenarioPlace

    def __str__(self) -> str:
        return "no preemption"


class Survives(Struct, frozen=True):
    """Whichever so many nodes, or domains of a label, are lost: all pods that controllers make anew find a node."""

    place: ScenarioPlace
    what: str
    count: int

    def __str__(self) -> str:
        return f"survives the loss of any {counted(self.count, self.what)}"


Expectation: TypeAlias = Schedulable | On | Spread | NoPreemption | Survives


class PlacedEdit(Struct, frozen=True):
    place: ScenarioPlace
    edit: Edit


class ScenarioStep(Struct, frozen=True):
    name: str
    place: ScenarioPlace
    manifests: tuple[str, ...]
    edits: tuple[PlacedEdit, ...]
    expectations: tuple[Expectation, ...]


class Scenario(Struct, frozen=True):
    name: str
    source: str
    steps: tuple[ScenarioStep, ...]


TOPOLOGY = {
    "node": "kubernetes.io/hostname",
    "zone": "topology.kubernetes.io/zone",
    "region": "topology.kubernetes.io/region",
}


KIND = "Scenario"

Texts = str | tuple[str, ...]
_TARGETS = "KIND/NAME or KIND/NAMESPACE/NAME of a workload, pod or namespace; * in a pod's name stands for anything"


def _like(flag: str) -> Meta:
    return Meta(description=f"One or several, each written as behind --{flag}.")


class SpreadDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Pods over the domains of a label."""

    of: Annotated[str, Meta(description=f"Whose pods: {_TARGETS}.")] = ""
    topology_key: Annotated[str, Meta(description="A label of nodes; also node, zone or region.")] = "zone"
    max_skew: Annotated[int, Meta(description="By how much their numbers may differ.")] = 1


class ExpectDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """What has to hold once the pods of a step have been placed."""

    schedulable: Annotated[
        bool | Texts | None,
        Meta(description=f"true: every pending pod finds a node; or whose pods do: {_TARGETS}."),
    ] = None
    unschedulable: Annotated[Texts, Meta(description="Whose pods find none.")] = ()
    on: Annotated[
        dict[str, Texts],
        Meta(description="Whose pods are all on one of these nodes; * in a node's name stands for anything."),
    ] = {}
    not_on: Annotated[dict[str, Texts], Meta(description="Whose pods are on none of these nodes.")] = {}
    spread: Annotated[SpreadDocument | tuple[SpreadDocument, ...], Meta(description="How evenly pods are spread.")] = ()
    no_preemption: Annotated[bool, Meta(description="true: no pod was preempted in this step.")] = False
    survives: Annotated[
        dict[str, int],
        Meta(
            description="node, zone, region or a label, and how many of them may be lost at once: "
            "all pods of controllers find a node again, whichever are lost."
        ),
    ] = {}


class StepFields(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """What a step has beside its edits."""

    name: Annotated[str, Meta(description="What the step is about, for the report.")] = ""
    apply: Annotated[Texts, Meta(description="Manifests to apply: files and directories beside the scenario.")] = ()
    expect: ExpectDocument = ExpectDocument()


if TYPE_CHECKING:
    StepDocument: TypeAlias = StepFields
else:
    # One more field for each declared edit.
    StepDocument = defstruct(
        "StepDocument",
        [(spec.field, Annotated[Texts, _like(spec.flag)], ()) for spec in edit_specs()],
        bases=(StepFields,),
        namespace={
            "__doc__": "Manifests first, then edits in the order in which a command line's are made; then pods are "
            "placed."
        },
        module=__name__,
        rename="camel",
        frozen=True,
        forbid_unknown_fields=True,
    )


class ScenarioMetadata(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""


class ScenarioDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Steps, run one after the other: what one has placed is there in the next."""

    api_version: str = ""
    kind: str = ""
    metadata: ScenarioMetadata = ScenarioMetadata()
    steps: tuple[StepDocument, ...] = ()


_BOUNDS = {"maxSkew": {"minimum": 0}}


def schema() -> dict[str, Any]:
    document, definitions = components_of(ScenarioDocument, lambda name, field: {**field, **_BOUNDS.get(name, {})})
    document["properties"] = {
        **document["properties"],
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": KIND},
        "steps": {**document["properties"]["steps"], "minItems": 1},
    }
    document["required"] = ["apiVersion", "kind", "steps"]
    definitions["SpreadDocument"]["required"] = ["of"]
    survives = definitions["ExpectDocument"]["properties"]["survives"]
    survives["additionalProperties"] = {"type": "integer", "minimum": 1}
    return json_schema(document, definitions, "A scenario of ksched")


S = TypeVar("S", bound=Struct)
T = TypeVar("T")
_Steps = tuple[str | int, ...]


def load_scenario(path: str) -> tuple[Scenario, list[Problem]]:
    """The readable part of the scenario, and all mistakes of the file. Raises InputError if nothing can be read."""
    reader = ScenarioReader(with_on(read_one_document(path, expected_kind(KIND))), path)
    return reader.read(), sorted(reader.problems, key=lambda problem: problem.line or 0)


def with_on(document: Document) -> Document:
    """YAML as Kubernetes reads it takes a bare `on` for true. In `expect`, of the file or of a step, it is the field of
    that name."""
    steps = document.value.get("steps")
    for part in (document.value, *(steps if isinstance(steps, list) else ())):
        expect = part.get("expect") if isinstance(part, dict) else None
        if isinstance(expect, dict) and "true" in expect and "on" not in expect:
            expect["on"] = expect.pop("true")
    return replace(document, lines={_with_on_in_path(path): line for path, line in document.lines.items()})


def _with_on_in_path(path: _Steps) -> _Steps:
    at = path.index("expect") + 1 if "expect" in path else len(path)
    return (*path[:at], "on", *path[at + 1 :]) if path[at : at + 1] == ("true",) else path


class ScenarioReader:
    """Reads the parts of a scenario. `problems` has what is wrong with those that were read."""

    def __init__(self, document: Document, source: str) -> None:
        self._document = document
        self._source = source
        self.problems: list[Problem] = []

    def read(self) -> Scenario:
        value = self._document.value
        for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
            if (found := value.get(field)) != wanted:
                self._complain(f"expected {wanted}, got {'none' if found is None else found}", (field,))
        outer = self._decode({key: each for key, each in value.items() if key != "steps"}, ScenarioDocument, ())
        name = outer.metadata.name if outer else ""
        return Scenario(name or Path(self._source).stem, self._source, tuple(self._steps(value.get("steps"))))

    def _steps(self, value: Any) -> Iterator[ScenarioStep]:
        """Each by itself, so that one that is hopeless does not hide what is wrong with the others."""
        if not isinstance(value, list) or not value:
            text = "there are no steps" if not value else f"expected a list, got {type_name(value)}"
            self._complain(text, ("steps",))
            return
        for index, each in enumerate(value):
            step = self._decode(each, StepDocument, ("steps", index))
            if step is not None:
                yield self._step(step, index)

    def _decode(self, value: Any, struct: type[S], at: _Steps) -> S | None:
        typed: S | None
        typed, mistakes = problems_in(value, struct)
        for steps, text in mistakes:
            if at or steps not in (("apiVersion",), ("kind",)):
                self._complain(text, (*at, *steps))
        return typed

    def _complain(self, message: str, steps: Sequence[str | int], hint: str = "") -> None:
        place = self._place(tuple(steps))
        self.problems.append(Problem(message, self._source, place.line, place.path, hint))

    def _place(self, steps: _Steps) -> ScenarioPlace:
        return ScenarioPlace(self._document.line_of(steps), path_text(steps))

    def _step(self, step: StepDocument, index: int) -> ScenarioStep:
        at: _Steps = ("steps", index)
        edits = tuple(self._edits(step, at))
        for edit, text, hint in edit_clashes([each.edit for each in edits]):
            place = next(each.place for each in edits if each.edit == edit)
            self.problems.append(Problem(text, self._source, place.line, place.path, hint))
        expectations = self.expectations(step.expect, (*at, "expect"))
        manifests = tuple(self._manifests(step.apply, (*at, "apply")))
        return ScenarioStep(step.name or f"step {index + 1}", self._place(at), manifests, edits, expectations)

    def _manifests(self, paths: Texts, at: _Steps) -> Iterator[str]:
        for path, steps in _each(paths, at):
            if path == "-" or "://" in path:
                self._complain(f"{path} cannot be read here", steps, "give a file or a directory")
            else:
                yield str(Path(self._source).parent / path)

    def _edits(self, step: StepDocument, at: _Steps) -> Iterator[PlacedEdit]:
        for spec in edit_specs():
            texts: Texts = getattr(step, spec.field)
            for text, steps in _each(texts, (*at, spec.key)):
                try:
                    yield PlacedEdit(self._place(steps), spec.parse(text))
                except EditMistake as mistake:
                    self._complain(str(mistake), steps, mistake.hint)
                except InputError as mistake:
                    for problem in mistake.problems:
                        self._complain(str(problem), steps)

    def expectations(self, expect: ExpectDocument, at: _Steps) -> tuple[Expectation, ...]:
        """The expectations that stand at this path. It is a mistake to state none: they would always hold."""
        found, path = tuple(self._expectations(expect, at)), self._place(at).path
        is_read = not any(problem.path.startswith(path) for problem in self.problems)
        if not found and is_read and self._value_at(at) is not None:
            self._complain("nothing is expected", at, "leave expect out, or write what has to hold: schedulable: true")
        return found

    def _value_at(self, at: _Steps) -> Any:
        """The value at this path as it is written. None if the last field is not there."""
        *above, field = at
        value = self._document.value
        for step in above:
            value = value[step]
        return value.get(field)

    def _expectations(self, expect: ExpectDocument, at: _Steps) -> Iterator[Expectation]:
        if isinstance(expect.schedulable, bool):
            yield Schedulable(self._place((*at, "schedulable")), None, expect.schedulable)
        for target, where in self._targets(expect.schedulable or (), (*at, "schedulable")):
            yield Schedulable(where, target)
        for target, where in self._targets(expect.unschedulable, (*at, "unschedulable")):
            yield Schedulable(where, target, wanted=False)
        for wanted, field, places in ((True, "on", expect.on), (False, "notOn", expect.not_on)):
            for text, nodes in places.items():
                if not nodes:
                    self._complain("no node is named", (*at, field, text))
                    continue
                for target, where in self._targets(text, (*at, field, text)):
                    yield On(where, target, (nodes,) if isinstance(nodes, str) else nodes, wanted)
        yield from self._spreads(expect.spread, (*at, "spread"))
        if expect.no_preemption:
            yield NoPreemption(self._place((*at, "noPreemption")))
        for what, count in expect.survives.items():
            steps = (*at, "survives", what)
            if count < 1:
                self._complain(f"{count} is not a number of losses: 1 at least", steps)
            elif self._is_topology(what, steps):
                yield Survives(self._place(steps), what, count)

    def _spreads(self, spread: SpreadDocument | tuple[SpreadDocument, ...], at: _Steps) -> Iterator[Expectation]:
        for each, steps in _each(spread, at):
            key = TOPOLOGY.get(each.topology_key, each.topology_key)
            if not each.of:
                self._complain("the workload of the pods is missing", (*steps, "of"), "write of: KIND/NAME")
            if each.max_skew < 0:
                self._complain(f"{each.max_skew} is negative", (*steps, "maxSkew"))
            if self._is_topology(each.topology_key, (*steps, "topologyKey")):
                for target, _ in self._targets(each.of, (*steps, "of")) if each.of else ():
                    yield Spread(self._place(steps), target, key, each.max_skew)

    def _is_topology(self, key: str, steps: _Steps) -> bool:
        good = key in TOPOLOGY or is_label_key(key)
        if not good:
            self._complain(f"{key!r} cannot be a label's key", steps, f"or one of {', '.join(TOPOLOGY)}")
        return good

    def _targets(self, texts: bool | Texts, at: _Steps) -> Iterator[tuple[Reference, ScenarioPlace]]:
        for text, steps in () if isinstance(texts, bool) else _each(texts, at):
            try:
                yield reference(text), self._place(steps)
            except EditMistake as mistake:
                self._complain(str(mistake), steps, mistake.hint)


def _each(values: T | tuple[T, ...], at: _Steps) -> Iterator[tuple[T, _Steps]]:
    """One value, or several of a list, with where each of them is."""
    if isinstance(values, tuple):
        yield from ((value, (*at, index)) for index, value in enumerate(values))
    else:
        yield values, at


def validate_scenario(path: str) -> str:
    """The name of the scenario. InputError with all mistakes of the file."""
    scenario, problems = load_scenario(path)
    if problems:
        raise InputError(problems)
    return scenario.name


class StepChanges(Changes, frozen=True):
    """Called with a control plane, they are made there. Mistakes have the line of the scenario file `source`."""

    source: str = ""
    placed: tuple[PlacedEdit, ...] = ()

    def __call__(self, plane: ControlPlane) -> None:
        problems = self.attempt(plane)
        if problems:
            raise UsageError(problems)

    def attempt(self, plane: ControlPlane) -> list[Problem]:
        """Make what can be made. Returns what cannot."""
        problems: list[Problem] = []
        try:
            apply_manifests(plane, self.manifests)
        except InputError as mistake:
            problems += mistake.problems
        for edit, why in attempt_edits(plane, self.edits, self.namespace):
            place = next(each.place for each in self.placed if each.edit is edit)
            problems.append(Problem(str(why), self.source, place.line, place.path, why.hint))
        return problems


def read_step(source: str, step: ScenarioStep, reading: ManifestReading) -> tuple[StepChanges, list[Problem]]:
    """The changes of the step, with its manifests read, and what is wrong with the manifests."""
    manifests, problems = Loaded(), list[Problem]()
    try:
        manifests = load_manifests(step.manifests, None, reading) if step.manifests else manifests
    except InputError as mistake:
        problems += mistake.problems
    edits = tuple(each.edit for each in step.edits)
    return StepChanges(manifests, edits, (), reading.namespace, source=source, placed=step.edits), problems


# Each of them is a run of its own.
MAX_CASES = 2000


def validation_run(
    scenario: Scenario, loaded: Loaded, changes: Changes, reading: ManifestReading
) -> tuple[list[StepChanges], list[Problem]]:
    """The changes of each step, and what cannot be done or means nothing. `changes` are made before the first step;
    `reading` are the options for the manifests of the steps."""
    plane = ControlPlane(Store(loaded), places_everything=True)
    changes(plane)
    plane.run()
    steps, problems = [], list[Problem]()
    for step in scenario.steps:
        made, found = read_step(scenario.source, step, reading)
        problems += [*found, *made.attempt(plane)]
        plane.run()
        steps.append(made)
        problems += [
            Problem(str(mistake), scenario.source, place.line, place.path, mistake.hint)
            for place, mistake in _meaningless(step, plane.store.as_loaded(), reading.namespace)
        ]
    return steps, problems


def _meaningless(step: ScenarioStep, loaded: Loaded, namespace: str) -> Iterator[tuple[ScenarioPlace, EditMistake]]:
    nodes = loaded.of(Node)
    names = [node.metadata.name for node in nodes]
    for each in step.expectations:
        if isinstance(each, Schedulable | On | Spread) and each.target is not None:
            try:
                pods_meant(loaded, each.target, namespace)
            except EditMistake as mistake:
                yield each.place, mistake
        if isinstance(each, On):
            for pattern in each.nodes:
                if not any(fnmatchcase(name, pattern) for name in names):
                    yield each.place, EditMistake(f'there is no node "{pattern}"', name_hint(pattern, names))
        key = each.topology_key if isinstance(each, Spread) else ""
        if isinstance(each, Survives) and each.what != "node":
            key = TOPOLOGY.get(each.what, each.what)
        if key and not any(key in node.metadata.labels for node in nodes):
            yield each.place, EditMistake(f"no node has the label {key}", "topology goes by labels of nodes")
        elif isinstance(each, Survives):
            yield from _too_many_cases(each, len({node.metadata.labels.get(key) for node in nodes} if key else nodes))


def _too_many_cases(wanted: Survives, choices: int) -> Iterator[tuple[ScenarioPlace, EditMistake]]:
    cases = comb(choices, wanted.count)
    if cases > MAX_CASES:
        text = f"any {wanted.count} of {choices} are {cases} cases, and no more than {MAX_CASES} are tried"
        yield wanted.place, EditMistake(text, "lose fewer at once, or domains such as zones")
