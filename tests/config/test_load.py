from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.config.load import configuration_schema, load_config
from ksched_cli.config.model import SchedulerConfiguration, expand_profile
from ksched_cli.config.plugin_args import NodeResourcesFitArgs
from ksched_cli.config.view import configuration_document
from ksched_cli.errors import ConfigError, UsageError
from ksched_cli.plan.run.loaded_input import plugin_points
from ksched_cli.releases.minors import release
from ksched_cli.wiring import make_registry

FIXTURES = Path(__file__).parents[2] / "fixtures" / "conformance"
RELEASE = release("1.36")
GATES = RELEASE.gates()
POINTS = plugin_points(make_registry(), RELEASE)
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def load(document: Any) -> SchedulerConfiguration:
    text = document if isinstance(document, str) else json.dumps({**HEAD, **document})
    return load_config(text, "c.yaml", RELEASE, GATES, POINTS)


def profile(**fields: Any) -> dict[str, Any]:
    return {"profiles": [{"schedulerName": "default-scheduler", **fields}]}


def expanded(document: Any) -> Any:
    return expand_profile(load(document).profiles[0], RELEASE, GATES, POINTS)


def mistakes(document: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(document)
    return [str(problem) for problem in caught.value.problems]


INVALID = sorted((FIXTURES / "invalid-config-1.36").iterdir())
# kube-scheduler's words hold the paths: dotted, with an index here and there.
PATHS = re.compile(
    r"(?:^|[ \[,])((?:[a-zA-Z]+(?:\[\d+\])*\.)*[a-zA-Z]+(?:\[\d+\])*): "
    r"(?:Invalid|Duplicate|Required|Unsupported|Forbidden)"
)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in INVALID])
def test_refused_as_kube_scheduler_does_and_at_the_same_path(case: Path) -> None:
    said = json.loads((case / "expected.json").read_text()).get("invalidConfig")
    text = (case / "config.yaml").read_text()
    if said is None:
        load(text)
        return
    with pytest.raises(ConfigError) as caught:
        load(text)
    found = {problem.path for problem in caught.value.problems}
    for path in PATHS.findall(said):
        assert any(each == path or each.endswith(f".args.{path}") for each in found), (path, found)


def test_all_the_invalid_ones_are_there() -> None:
    assert len(INVALID) == 37


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.parent.name) for case in sorted(FIXTURES.glob("1.36/*/config.yaml"))]
)
def test_recorded_configurations_load(case: Path) -> None:
    assert load(case.read_text()).profiles


@pytest.mark.parametrize(("kind", "named"), [("Pod", "Pod"), ("", "none"), (None, "none")])
def test_another_kind(kind: str | None, named: str) -> None:
    assert mistakes({"kind": kind}) == [f"c.yaml:1: kind: expected kind KubeSchedulerConfiguration, got {named}"]


def test_the_schema_needs_what_tells_a_configuration() -> None:
    schema = configuration_schema(RELEASE)
    assert schema["required"] == ["apiVersion", "kind"]
    assert schema["properties"]["kind"] == {"const": "KubeSchedulerConfiguration"}


def test_an_empty_configuration_is_the_default_one() -> None:
    assert load({}) == SchedulerConfiguration()


def test_default_plugins_and_weights() -> None:
    resolved = expanded({})
    assert resolved.points["queueSort"] == ("PrioritySort",)
    assert resolved.points["bind"] == ("DefaultBinder",)
    assert resolved.points["filter"][:6] == (
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
    )
    assert resolved.points["postFilter"] == ("DynamicResources", "DefaultPreemption")
    weights = resolved.score_weights
    assert (weights["TaintToleration"], weights["NodeAffinity"], weights["NodeResourcesFit"]) == (3, 2, 1)
    assert (weights["DynamicResources"], weights["ImageLocality"]) == (2, 1)


@pytest.mark.parametrize(
    ("plugins", "point", "expected"),
    [
        pytest.param(
            {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality", "weight": 7}]}},
            "score",
            ("ImageLocality",),
            id="only one scorer",
        ),
        pytest.param(
            {
                "multiPoint": {
                    "disabled": [{"name": "*"}],
                    "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}],
                }
            },
            "filter",
            (),
            id="nothing but the needed ones",
        ),
        pytest.param(
            {"preScore": {"enabled": [{"name": "NodeResourcesFit"}, {"name": "TaintToleration"}]}},
            "preScore",
            ("NodeResourcesFit", "TaintToleration", "NodeAffinity"),
            id="explicit ones first, in their order",
        ),
        pytest.param(
            {"filter": {"disabled": [{"name": "NodeName"}]}},
            "filter",
            ("NodeUnschedulable", "TaintToleration", "NodeAffinity"),
            id="one left out at one point",
        ),
    ],
)
def test_multi_point_expansion(plugins: Any, point: str, expected: tuple[str, ...]) -> None:
    found = expanded(profile(plugins=plugins)).points[point]
    assert found[: len(expected)] == expected if expected else found == ()


def test_the_weight_at_the_point_wins() -> None:
    plugins = {
        "multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 5}]},
        "score": {"enabled": [{"name": "TaintToleration", "weight": 9}]},
    }
    weights = expanded(profile(plugins=plugins)).score_weights
    assert (weights["ImageLocality"], weights["TaintToleration"]) == (5, 9)


def test_arguments_are_defaulted() -> None:
    config = {
        "name": "NodeResourcesFit",
        "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}},
    }
    args = load(profile(pluginConfig=[config])).profiles[0].args["NodeResourcesFit"]
    assert isinstance(args, NodeResourcesFitArgs)
    assert [(each.name, each.weight) for each in args.scoring_strategy.resources] == [("cpu", 1)]


def test_all_mistakes_of_a_file_at_once_with_their_lines() -> None:
    text = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: -1
percentageOfNodesToScore: 101
profiles:
- schedulerName: a
  plugins:
    filter:
      enabled:
      - name: Nope
- schedulerName: a
  pluginConfig:
  - name: InterPodAffinity
    args:
      hardPodAffinityWeight: 200
"""
    found = mistakes(text)
    assert sorted(each.split(":")[1] for each in found) == ["10", "11", "15", "3", "4"]
    assert any("profiles[0].plugins.filter.enabled[0]" in each and "Nope" in each for each in found)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param("", "c.yaml: empty; expected one KubeSchedulerConfiguration", id="empty"),
        pytest.param("a: 1\n---\nb: 2\n", "c.yaml: 2 documents in one file", id="two documents"),
        pytest.param("- a\n", "c.yaml:1: expected a KubeSchedulerConfiguration", id="a list"),
        pytest.param({"profilez": []}, "c.yaml:1: profilez: no such field", id="unknown field"),
        pytest.param({"parallelism": "x"}, "c.yaml:1: parallelism: expected a whole number, got a string", id="type"),
        pytest.param(
            {"parallelism": None, "podMaxBackoffSeconds": 0},
            "podMaxBackoffSeconds: 0 is less than",
            id="null is absent",
        ),
        pytest.param({"apiVersion": 1}, "does not read apiVersion 1", id="a version that is no text"),
        pytest.param({"apiVersion": None}, "does not read apiVersion none", id="a version that is null"),
    ],
)
def test_mistakes(document: Any, expected: str) -> None:
    assert expected in mistakes(document)[0]


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        pytest.param("Nope=true", "no feature gate Nope", id="unknown"),
        pytest.param("DynamicResourceAllocation=false", "locked to true", id="locked"),
        pytest.param("PodLevelResources", "Name=true or Name=false", id="no value"),
        pytest.param("PodLevelResources=yes", "Name=true or Name=false", id="another value"),
    ],
)
def test_feature_gates_that_cannot_be_set(overrides: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        RELEASE.gates(overrides)


def test_feature_gates_that_can_be_set() -> None:
    gates = RELEASE.gates(
        "TaintTolerationComparisonOperators=true, PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false"
    )
    assert gates.enabled("TaintTolerationComparisonOperators")
    assert not gates.enabled("PodLevelResources")
    assert not gates.enabled("SomethingElse")


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        pytest.param({}, {"extenders": None, "percentage": None}, id="neither"),
        pytest.param(
            {"extenders": [{"urlPrefix": "http://e", "filterVerb": "f", "httpTimeout": "5s"}]},
            {"extenders": ["http://e"], "percentage": None},
            id="an extender",
        ),
        pytest.param(
            {"profiles": [{"percentageOfNodesToScore": 7}]},
            {"extenders": None, "percentage": 7},
            id="nodes of a profile",
        ),
        pytest.param(
            {"profiles": [{"percentageOfNodesToScore": 0}]}, {"extenders": None, "percentage": 0}, id="0 is a number"
        ),
    ],
)
def test_what_view_prints_of_extenders_and_profiles(fields: dict[str, Any], found: dict[str, Any]) -> None:
    made = load(fields)
    document = configuration_document(made, RELEASE, GATES)
    extenders = document.get("extenders")
    assert (None if extenders is None else [each["urlPrefix"] for each in extenders]) == found["extenders"]
    assert document["profiles"][0].get("percentageOfNodesToScore") == found["percentage"]
    again = load(json.dumps(document))
    assert (again.extenders, again.profiles[0].percentage_of_nodes_to_score) == (
        made.extenders,
        made.profiles[0].percentage_of_nodes_to_score,
    )
