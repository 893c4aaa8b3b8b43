"""Scenario files: whatever is in one, it is understood or told, and never anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ksched_cli.errors import InputError, Problem
from ksched_cli.whatif.edits.lib.edit import Reference, edit_specs
from ksched_cli.whatif.edits.node_fields import Cordon
from ksched_cli.whatif.scenario import On, Scenario, Schedulable, load_scenario, schema
from tests.lanes import examples

TEXTS = [
    "",
    "on",
    "node-1",
    "deployment/web",
    "pod/a/b*",
    "n=k:NoSchedule",
    "n=k=v",
    "deploy/web=3",
    "x=",
    "/",
    "true",
    "-",
]
EXPECTED = ["schedulable", "unschedulable", "on", "notOn", "spread", "of", "topologyKey", "maxSkew", "noPreemption", "survives", "node", "zone", "bogus"]  # fmt: skip
KEYS = ["name", "apply", *(spec.key for spec in edit_specs()), "expect", *EXPECTED]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(TEXTS),
)
values = st.recursive(scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)), max_leaves=12)  # fmt: skip
expects = st.dictionaries(st.sampled_from(EXPECTED), values, max_size=4)
steps = st.one_of(
    values, st.fixed_dictionaries({"expect": expects}), st.dictionaries(st.sampled_from(KEYS), values, max_size=5)
)
documents = st.one_of(values, st.fixed_dictionaries({"apiVersion": st.just("ksched/v1"), "kind": st.just("Scenario"), "steps": st.lists(steps, max_size=3)}))  # fmt: skip


@settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(documents)
def test_any_document_is_understood_or_told(tmp_path: Path, document: Any) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(json.dumps(document))
    problems: list[Problem]
    try:
        scenario, problems = load_scenario(str(file))
    except InputError as mistake:
        scenario, problems = None, list(mistake.problems)
    assert isinstance(scenario, Scenario) or problems
    assert all(problem.source == str(file) and (problem.line or scenario is None) for problem in problems)


def load(tmp_path: Path, text: str) -> tuple[Scenario, list[str]]:
    file = tmp_path / "s.yaml"
    file.write_text("apiVersion: ksched/v1\nkind: Scenario\nsteps:\n" + text)
    scenario, problems = load_scenario(str(file))
    return scenario, [f"{problem.line}: {problem.path}: {problem.message}" for problem in problems]


def test_a_bare_on_is_the_field_and_keeps_its_line(tmp_path: Path) -> None:
    """YAML as Kubernetes reads it takes it for true."""
    scenario, problems = load(tmp_path, "- expect:\n    schedulable: yes\n    on:\n      pod/p: [a, b]\n      pod: c\n")
    every, on = scenario.steps[0].expectations
    assert isinstance(every, Schedulable)
    assert isinstance(on, On)
    assert (on.target.name, on.nodes, on.place.line) == ("p", ("a", "b"), 7)
    assert problems == ["8: steps[0].expect.on.pod: 'pod' does not say what"]


def test_edits_are_made_in_the_order_of_a_command_line(tmp_path: Path) -> None:
    scenario, problems = load(tmp_path, "- {scale: rs/a=1, cordon: [x, w], cloneNode: z}\n- cordon: x\n")
    assert problems == []
    assert [str(each.edit) for each in scenario.steps[0].edits] == ["--clone-node z", "--cordon x", "--cordon w", "--scale replicaset/a=1"]  # fmt: skip
    assert [(each.place.line, each.place.path) for each in scenario.steps[0].edits][1:3] == [(4, "steps[0].cordon[0]"), (4, "steps[0].cordon[1]")]  # fmt: skip
    assert [step.name for step in scenario.steps] == ["step 1", "step 2"]
    assert scenario.steps[1].edits[0].edit == Cordon("x")


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param("- drain: ''", ["4: steps[0].drain: there is no name"], id="no name"),
        pytest.param("- expect: {}", ["4: steps[0].expect: nothing is expected"], id="no expectation"),
        pytest.param("- expect: {survives: {}}", ["4: steps[0].expect: nothing is expected"], id="an empty expectation"),
        pytest.param("- expect: {on: {pod/p: []}}", ["4: steps[0].expect.on[pod/p]: no node is named"], id="no nodes"),
        pytest.param("- expect: {on: {pod/p: [], pod/q: []}}", ["4: steps[0].expect.on[pod/p]: no node is named", "4: steps[0].expect.on[pod/q]: no node is named"], id="no nodes of two pods"),
        pytest.param("- expect: {on: {pod/p: [a], pod/q: [a, 3]}}", ["4: steps[0].expect.on[pod/q][1]: expected a string, got a whole number"], id="the second of two"),
        pytest.param("-", ["4: steps[0]: expected an object, got null"], id="nothing"),
        pytest.param("- expect:", [], id="nothing expected"),
        pytest.param("- expect: {survives: {node: 1.5}}", ["4: steps[0].expect.survives.node: expected a whole number, got a number"], id="half a node"),
    ],
)  # fmt: skip
def test_odd_steps(step: str, expected: list[str], tmp_path: Path) -> None:
    assert load(tmp_path, step)[1] == expected


def test_a_reference_is_written_as_it_is_read() -> None:
    from ksched_cli.whatif.edits.lib.targets import reference

    for text in ("deployment/web", "statefulset/shop/db", "pod/shop/web-*"):
        parsed = reference(text)
        assert isinstance(parsed, Reference)
        assert str(parsed) == text


def test_the_schema_asks_for_what_a_scenario_has() -> None:
    found = schema()
    assert found["required"] == ["apiVersion", "kind", "steps"]
    assert (found["properties"]["apiVersion"], found["properties"]["kind"]) == (
        {"const": "ksched/v1"},
        {"const": "Scenario"},
    )
    assert found["properties"]["steps"]["minItems"] == 1
    assert found["$defs"]["SpreadDocument"]["required"] == ["of"]
    assert found["$defs"]["SpreadDocument"]["properties"]["maxSkew"]["minimum"] == 0
    survives = found["$defs"]["ExpectDocument"]["properties"]["survives"]
    assert survives["additionalProperties"] == {"type": "integer", "minimum": 1}
