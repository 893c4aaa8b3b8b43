"""A scenario against a cluster without scheduling anything: every name that means nothing is found before the run."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from math import comb

from ksched_cli.api.core import Node
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.edits.apply import Edited, attempt
from ksched_cli.sources.edits.editor import nearest
from ksched_cli.sources.edits.targets import pods_meant
from ksched_cli.sources.edits.values import EditMistake
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.manifests import apply as apply_manifests
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.scenario.model import TOPOLOGY, On, Place, Scenario, Schedulable, Spread, Step, Survives

# Each of them is a run of its own.
MAX_CASES = 2000


def rehearse(scenario: Scenario, loaded: Loaded, namespace: str = "") -> list[Problem]:
    """What cannot be done, or means nothing, step by step."""
    problems: list[Problem] = []
    for step in scenario.steps:
        edited, found = take_step(scenario.source, step, loaded, namespace)
        loaded = edited.loaded
        problems += found
        problems += [
            Problem(str(mistake), scenario.source, place.line, place.path, mistake.hint)
            for place, mistake in _meaningless(step, loaded, namespace)
        ]
    return problems


def take_step(source: str, step: Step, loaded: Loaded, namespace: str = "") -> tuple[Edited, list[Problem]]:
    """The cluster with the step's manifests and edits, and what cannot be done."""
    problems: list[Problem] = []
    loaded, refused = loaded.copied(), []
    for path in step.manifests:
        try:
            refused += apply_manifests(loaded, load_manifests([path], None, namespace or loaded.namespace))
        except InputError as mistake:
            problems += mistake.problems
    edited, mistakes = attempt(loaded, [each.edit for each in step.edits], namespace)
    for edit, why in mistakes:
        place = next(each.place for each in step.edits if each.edit is edit)
        problems.append(Problem(str(why), source, place.line, place.path, why.hint))
    return Edited(edited.loaded, (*refused, *edited.refused)), problems


def _meaningless(step: Step, loaded: Loaded, namespace: str) -> Iterator[tuple[Place, EditMistake]]:
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
                    yield each.place, EditMistake(f'there is no node "{pattern}"', nearest(pattern, names))
        key = each.topology_key if isinstance(each, Spread) else ""
        if isinstance(each, Survives) and each.what != "node":
            key = TOPOLOGY.get(each.what, each.what)
        if key and not any(key in node.metadata.labels for node in nodes):
            yield each.place, EditMistake(f"no node has the label {key}", "topology goes by labels of nodes")
        elif isinstance(each, Survives):
            yield from _too_many_cases(each, len({node.metadata.labels.get(key) for node in nodes} if key else nodes))


def _too_many_cases(wanted: Survives, choices: int) -> Iterator[tuple[Place, EditMistake]]:
    cases = comb(choices, wanted.count)
    if cases > MAX_CASES:
        text = f"any {wanted.count} of {choices} are {cases} cases, and no more than {MAX_CASES} are tried"
        yield wanted.place, EditMistake(text, "lose fewer at once, or domains such as zones")
