"""A scenario file, decoded strictly; every mistake in it at once, with line and path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from ksched_cli.api.conversion import path_text, problems_in, type_name
from ksched_cli.api.label_names import is_label_key
from ksched_cli.api.yaml_reader import Document
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.own_documents import API_VERSION, expected_kind, read_one_document
from ksched_cli.whatif.edits.lib.apply import edit_clashes
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.lib.registry import edit_specs
from ksched_cli.whatif.edits.lib.targets import reference
from ksched_cli.whatif.scenario import model
from ksched_cli.whatif.scenario.document import (
    KIND,
    ExpectDocument,
    ScenarioDocument,
    SpreadDocument,
    StepDocument,
    Texts,
)

S = TypeVar("S", bound=Struct)
T = TypeVar("T")
_Steps = tuple[str | int, ...]


def load_scenario(path: str) -> tuple[model.Scenario, list[Problem]]:
    """The readable part of the scenario, and all mistakes of the file. Raises InputError if nothing can be read."""
    reader = ScenarioReader(_with_on(read_one_document(path, expected_kind(KIND))), path)
    return reader.read(), sorted(reader.problems, key=lambda problem: problem.line or 0)


def _with_on(document: Document) -> Document:
    """YAML as Kubernetes reads it takes a bare `on` for true. In `expect` it is the field of that name."""
    steps = document.value.get("steps")
    for step in steps if isinstance(steps, list) else ():
        expect = step.get("expect") if isinstance(step, dict) else None
        if isinstance(expect, dict) and "true" in expect and "on" not in expect:
            expect["on"] = expect.pop("true")
    lines = {
        (*path[:3], "on", *path[4:]) if path[2:4] == ("expect", "true") else path: line
        for path, line in document.lines.items()
    }
    return replace(document, lines=lines)


class ScenarioReader:
    """Reads the parts of a scenario. `problems` has what is wrong with those that were read."""

    def __init__(self, document: Document, source: str) -> None:
        self._document = document
        self._source = source
        self.problems: list[Problem] = []

    def read(self) -> model.Scenario:
        value = self._document.value
        for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
            if (found := value.get(field)) != wanted:
                self._complain(f"expected {wanted}, got {'none' if found is None else found}", (field,))
        outer = self._decode({key: each for key, each in value.items() if key != "steps"}, ScenarioDocument, ())
        name = outer.metadata.name if outer else ""
        return model.Scenario(name or Path(self._source).stem, self._source, tuple(self._steps(value.get("steps"))))

    def _steps(self, value: Any) -> Iterator[model.ScenarioStep]:
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

    def _place(self, steps: _Steps) -> model.ScenarioPlace:
        return model.ScenarioPlace(self._document.line_of(steps), path_text(steps))

    def _step(self, step: StepDocument, index: int) -> model.ScenarioStep:
        at: _Steps = ("steps", index)
        edits = tuple(self._edits(step, at))
        for edit, text, hint in edit_clashes([each.edit for each in edits]):
            place = next(each.place for each in edits if each.edit == edit)
            self.problems.append(Problem(text, self._source, place.line, place.path, hint))
        expectations = self.expectations(step.expect, (*at, "expect"))
        manifests = tuple(self._manifests(step.apply, (*at, "apply")))
        return model.ScenarioStep(step.name or f"step {index + 1}", self._place(at), manifests, edits, expectations)

    def _manifests(self, paths: Texts, at: _Steps) -> Iterator[str]:
        for path, steps in _each(paths, at):
            if path == "-" or "://" in path:
                self._complain(f"{path} cannot be read here", steps, "give a file or a directory")
            else:
                yield str(Path(self._source).parent / path)

    def _edits(self, step: StepDocument, at: _Steps) -> Iterator[model.PlacedEdit]:
        for spec in edit_specs():
            texts: Texts = getattr(step, spec.field)
            for text, steps in _each(texts, (*at, spec.key)):
                try:
                    yield model.PlacedEdit(self._place(steps), spec.parse(text))
                except EditMistake as mistake:
                    self._complain(str(mistake), steps, mistake.hint)
                except InputError as mistake:
                    for problem in mistake.problems:
                        self._complain(str(problem), steps)

    def expectations(self, expect: ExpectDocument, at: _Steps) -> tuple[model.Expectation, ...]:
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

    def _expectations(self, expect: ExpectDocument, at: _Steps) -> Iterator[model.Expectation]:
        if isinstance(expect.schedulable, bool):
            yield model.Schedulable(self._place((*at, "schedulable")), None, expect.schedulable)
        for target, where in self._targets(expect.schedulable or (), (*at, "schedulable")):
            yield model.Schedulable(where, target)
        for target, where in self._targets(expect.unschedulable, (*at, "unschedulable")):
            yield model.Schedulable(where, target, wanted=False)
        for wanted, field, places in ((True, "on", expect.on), (False, "notOn", expect.not_on)):
            for text, nodes in places.items():
                if not nodes:
                    self._complain("no node is named", (*at, field, text))
                    continue
                for target, where in self._targets(text, (*at, field, text)):
                    yield model.On(where, target, (nodes,) if isinstance(nodes, str) else nodes, wanted)
        yield from self._spreads(expect.spread, (*at, "spread"))
        if expect.no_preemption:
            yield model.NoPreemption(self._place((*at, "noPreemption")))
        for what, count in expect.survives.items():
            steps = (*at, "survives", what)
            if count < 1:
                self._complain(f"{count} is not a number of losses: 1 at least", steps)
            elif self._is_topology(what, steps):
                yield model.Survives(self._place(steps), what, count)

    def _spreads(self, spread: SpreadDocument | tuple[SpreadDocument, ...], at: _Steps) -> Iterator[model.Expectation]:
        for each, steps in _each(spread, at):
            key = model.TOPOLOGY.get(each.topology_key, each.topology_key)
            if not each.of:
                self._complain("the workload of the pods is missing", (*steps, "of"), "write of: KIND/NAME")
            if each.max_skew < 0:
                self._complain(f"{each.max_skew} is negative", (*steps, "maxSkew"))
            if self._is_topology(each.topology_key, (*steps, "topologyKey")):
                for target, _ in self._targets(each.of, (*steps, "of")) if each.of else ():
                    yield model.Spread(self._place(steps), target, key, each.max_skew)

    def _is_topology(self, key: str, steps: _Steps) -> bool:
        good = key in model.TOPOLOGY or is_label_key(key)
        if not good:
            self._complain(f"{key!r} cannot be a label's key", steps, f"or one of {', '.join(model.TOPOLOGY)}")
        return good

    def _targets(self, texts: bool | Texts, at: _Steps) -> Iterator[tuple[Reference, model.ScenarioPlace]]:
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
