"""The changes of a scenario's steps, and a rehearsal that finds every mistake of all steps before
the first one runs."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from math import comb

from ksched_cli.api.core import Node
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.read_options import ManifestReading
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.apply import attempt_edits
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.editor import name_hint
from ksched_cli.whatif.edits.lib.targets import pods_meant
from ksched_cli.whatif.manifests import apply_manifests
from ksched_cli.whatif.scenario import model
from ksched_cli.whatif.scenario.model import PlacedEdit, ScenarioStep


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


def read_step(source: str, step: ScenarioStep, namespace: str) -> tuple[StepChanges, list[Problem]]:
    """The changes of the step, with its manifests read, and what is wrong with the manifests."""
    manifests, problems = Loaded(), list[Problem]()
    try:
        manifests = load_manifests(step.manifests, None, ManifestReading(namespace)) if step.manifests else manifests
    except InputError as mistake:
        problems += mistake.problems
    edits = tuple(each.edit for each in step.edits)
    return StepChanges(manifests, edits, (), namespace, source=source, placed=step.edits), problems


# Each of them is a run of its own.
MAX_CASES = 2000


def rehearse(
    scenario: model.Scenario, loaded: Loaded, changes: Changes, namespace: str = ""
) -> tuple[list[StepChanges], list[Problem]]:
    """The changes of each step, and what cannot be done or means nothing. `changes` are made before the first step."""
    plane = ControlPlane(Store(loaded), places_everything=True)
    changes(plane)
    plane.run()
    steps, problems = [], list[Problem]()
    for step in scenario.steps:
        made, found = read_step(scenario.source, step, namespace)
        problems += [*found, *made.attempt(plane)]
        plane.run()
        steps.append(made)
        problems += [
            Problem(str(mistake), scenario.source, place.line, place.path, mistake.hint)
            for place, mistake in _meaningless(step, plane.store.as_loaded(), namespace)
        ]
    return steps, problems


def _meaningless(
    step: model.ScenarioStep, loaded: Loaded, namespace: str
) -> Iterator[tuple[model.ScenarioPlace, EditMistake]]:
    nodes = loaded.of(Node)
    names = [node.metadata.name for node in nodes]
    for each in step.expectations:
        if isinstance(each, model.Schedulable | model.On | model.Spread) and each.target is not None:
            try:
                pods_meant(loaded, each.target, namespace)
            except EditMistake as mistake:
                yield each.place, mistake
        if isinstance(each, model.On):
            for pattern in each.nodes:
                if not any(fnmatchcase(name, pattern) for name in names):
                    yield each.place, EditMistake(f'there is no node "{pattern}"', name_hint(pattern, names))
        key = each.topology_key if isinstance(each, model.Spread) else ""
        if isinstance(each, model.Survives) and each.what != "node":
            key = model.TOPOLOGY.get(each.what, each.what)
        if key and not any(key in node.metadata.labels for node in nodes):
            yield each.place, EditMistake(f"no node has the label {key}", "topology goes by labels of nodes")
        elif isinstance(each, model.Survives):
            yield from _too_many_cases(each, len({node.metadata.labels.get(key) for node in nodes} if key else nodes))


def _too_many_cases(wanted: model.Survives, choices: int) -> Iterator[tuple[model.ScenarioPlace, EditMistake]]:
    cases = comb(choices, wanted.count)
    if cases > MAX_CASES:
        text = f"any {wanted.count} of {choices} are {cases} cases, and no more than {MAX_CASES} are tried"
        yield wanted.place, EditMistake(text, "lose fewer at once, or domains such as zones")
