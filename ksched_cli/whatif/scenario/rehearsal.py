"""A scenario in a control plane without a scheduler: every name that means nothing is found before the run."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from math import comb

from ksched_cli.api.core import Node
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.errors import Problem
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.editor import name_hint
from ksched_cli.whatif.edits.lib.targets import pods_meant
from ksched_cli.whatif.scenario import model
from ksched_cli.whatif.scenario.changes import StepChanges, read_step

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
