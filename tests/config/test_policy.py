"""Policy files in 1.21: predicates and priorities become plugins of the framework."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksched_cli.config.load import load_config
from ksched_cli.config.model import ResolvedProfile, SchedulerConfiguration, expand_profile
from ksched_cli.config.plugin_args import (
    InterPodAffinityArgs,
    NodeLabelArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioArgs,
    ResourceSpec,
    ServiceAffinityArgs,
    UtilizationShapePoint,
)
from ksched_cli.errors import ConfigError
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.config.test_minors import points, resolved
from tests.harness import make_scheduler, placed

HEAD = {"kind": "Policy", "apiVersion": "v1"}


def load(document: dict[str, Any], minor: str = "1.21", gates: str = "") -> SchedulerConfiguration:
    release = RELEASES[minor]
    return load_config(json.dumps(document), "policy.cfg", release, release.gates(gates), points(release))


def profile(minor: str = "1.21", gates: str = "", **fields: Any) -> ResolvedProfile:
    release = RELEASES[minor]
    made = load({**HEAD, **fields}, minor, gates).profiles[0]
    return expand_profile(made, release, release.gates(gates), points(release))


def mistakes(**fields: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as refused:
        load({**HEAD, **fields})
    return {problem.path: problem.message for problem in refused.value.problems}


def test_a_policy_that_says_nothing_has_the_plugins_of_the_default_provider() -> None:
    mine, default = profile(), resolved("1.21")
    assert mine.score_weights == default.score_weights
    assert {point: sorted(names) for point, names in mine.points.items()} == {
        point: sorted(names) for point, names in default.points.items()
    }
    # Predicates keep the order that they always had: resources come before taints.
    order = mine.points["filter"]
    assert order.index("NodeResourcesFit") < order.index("TaintToleration")


def test_what_is_named_is_all_there_is_and_two_predicates_are_always_there() -> None:
    found = profile(predicates=[{"name": "PodFitsResources"}, {"name": "PodFitsPorts"}], priorities=[])
    assert found.points["filter"] == ("NodeUnschedulable", "NodePorts", "NodeResourcesFit", "TaintToleration")
    assert found.points["preFilter"] == ("NodePorts", "NodeResourcesFit")
    assert (found.points["score"], found.points["postFilter"]) == ((), ("DefaultPreemption",))


def test_arguments_of_predicates_add_up() -> None:
    found = profile(
        predicates=[
            {"name": "OnlySsd", "argument": {"labelsPresence": {"labels": ["ssd"], "presence": True}}},
            {"name": "NotRetiring", "argument": {"labelsPresence": {"labels": ["retiring"], "presence": False}}},
            {"name": "ByZone", "argument": {"serviceAffinity": {"labels": ["zone"]}}},
            {"name": "ByRack", "argument": {"serviceAffinity": {"labels": ["rack"]}}},
        ],
        priorities=[],
    )
    assert found.args["NodeLabel"] == NodeLabelArgs(present_labels=("ssd",), absent_labels=("retiring",))
    assert found.args["ServiceAffinity"] == ServiceAffinityArgs(affinity_labels=("zone", "rack"))
    assert found.points["filter"][-2:] == ("NodeLabel", "ServiceAffinity")


def test_arguments_of_priorities() -> None:
    ratio = {
        "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
        "resources": [{"name": "example.com/gpu", "weight": 3}, {"name": "cpu"}],
    }
    found = profile(
        predicates=[],
        priorities=[
            {"name": "Pack", "weight": 5, "argument": {"requestedToCapacityRatioArguments": ratio}},
            {"name": "Ssd", "weight": 2, "argument": {"labelPreference": {"label": "ssd", "presence": True}}},
            {"name": "NotOld", "weight": 2, "argument": {"labelPreference": {"label": "old", "presence": False}}},
            {"name": "Zones", "weight": 3, "argument": {"serviceAntiAffinity": {"label": "zone"}}},
            {"name": "EqualPriority", "weight": 1},
        ],
    )
    assert found.score_weights == {"NodeLabel": 4, "RequestedToCapacityRatio": 5, "ServiceAffinity": 3}
    assert found.args["RequestedToCapacityRatio"] == RequestedToCapacityRatioArgs(
        shape=(UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)),
        resources=(ResourceSpec("example.com/gpu", 3), ResourceSpec("cpu", 1)),
    )
    assert found.args["NodeLabel"].absent_labels_preference == ("old",)


@pytest.mark.parametrize(
    ("priorities", "gates", "score", "defaulting"),
    [
        pytest.param(["SelectorSpreadPriority"], "", "PodTopologySpread", "System", id="selector"),
        pytest.param(["ServiceSpreadingPriority"], "", "PodTopologySpread", "System", id="its old name"),
        pytest.param(["EvenPodsSpreadPriority"], "", "PodTopologySpread", "List", id="constraints only"),
        pytest.param(
            ["EvenPodsSpreadPriority", "SelectorSpreadPriority"], "", "PodTopologySpread", "System", id="both"
        ),
        pytest.param(
            ["SelectorSpreadPriority"], "DefaultPodTopologySpread=false", "SelectorSpread", None, id="gate off"
        ),
    ],
)
def test_who_spreads_pods(priorities: list[str], gates: str, score: str, defaulting: str | None) -> None:
    found = profile(gates=gates, predicates=[], priorities=[{"name": name, "weight": 3} for name in priorities])
    assert found.score_weights == {score: 3}
    args = found.args[score]
    assert args == (None if defaulting is None else PodTopologySpreadArgs(defaulting_type=defaulting))


def test_the_weight_of_hard_affinity_counts_where_affinity_scores() -> None:
    wanted = [{"name": "InterPodAffinityPriority", "weight": 1}]
    found = profile(priorities=wanted, hardPodAffinitySymmetricWeight=7)
    assert found.args["InterPodAffinity"] == InterPodAffinityArgs(hard_pod_affinity_weight=7)
    assert profile(priorities=[], hardPodAffinitySymmetricWeight=7).args["InterPodAffinity"] == InterPodAffinityArgs()


def test_extenders_come_along() -> None:
    listed = [{"urlPrefix": "http://e", "filterVerb": "f", "enableHttps": True, "httpTimeout": 5000000000}]
    (extender,) = load({**HEAD, "extenders": listed}).extenders
    assert (extender.url_prefix, extender.enable_https, extender.http_timeout) == ("http://e", True, "5s")


def test_in_a_config_map() -> None:
    document = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "scheduler-policy", "namespace": "kube-system"},
        "data": {"policy.cfg": json.dumps({**HEAD, "priorities": [{"name": "ImageLocalityPriority", "weight": 4}]})},
    }
    release = RELEASES["1.21"]
    made = expand_profile(load(document).profiles[0], release, release.gates(), points(release))
    assert made.score_weights == {"ImageLocality": 4}


def test_all_mistakes_at_once() -> None:
    assert mistakes(
        predicates=[{"name": "NoSuch"}, {"name": "X", "argument": {}}],
        priorities=[
            {"name": "Nope", "weight": 1},
            {"name": "ImageLocalityPriority", "weight": 0},
            {"name": "a", "weight": 1, "argument": {"labelPreference": {"label": "x"}}},
            {"name": "b", "weight": 2, "argument": {"labelPreference": {"label": "y"}}},
        ],
        hardPodAffinitySymmetricWeight=101,
    ) == {
        "predicates[0].name": 'there is no predicate "NoSuch"',
        "predicates[1].argument": "exactly one argument is required",
        "predicates[1].name": 'there is no predicate "X"',
        "priorities[0].name": 'there is no priority "Nope"',
        "priorities[1].weight": "0 is not a positive weight, or too large a one",
        "priorities[3].weight": "2 differs from the 1 of the others of its kind",
        "hardPodAffinitySymmetricWeight": "101 is not in the valid range [0-100]",
    }
    assert mistakes(apiVersion="v2") == {"apiVersion": "expected a Policy of v1, got Policy of v2"}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param({"predicate": []}, "predicate", id="unknown field"),
        pytest.param({"priorities": [{"weight": "1"}]}, "priorities[0].weight", id="type"),
    ],
)
def test_what_is_no_policy(fields: dict[str, Any], path: str) -> None:
    assert path in mistakes(**fields)


SHAPE = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}


def test_one_ratio_and_preferences_of_one_weight() -> None:
    priorities = [
        {"name": "a", "weight": 1, "argument": {"labelPreference": {"label": "x"}}},
        {"name": "r1", "weight": 2, "argument": {"requestedToCapacityRatioArguments": SHAPE}},
        {"name": "b", "weight": 1, "argument": {"labelPreference": {"label": "y"}}},
        {"name": "r2", "weight": 2, "argument": {"requestedToCapacityRatioArguments": SHAPE}},
    ]
    assert mistakes(priorities=priorities) == {"priorities[3]": '"r2" redeclares the arguments of "r1"'}
    assert profile(priorities=priorities[:3], predicates=[]).score_weights == {
        "NodeLabel": 2,
        "RequestedToCapacityRatio": 2,
    }


@pytest.mark.parametrize(
    ("field", "value", "taken"),
    [
        pytest.param("hardPodAffinitySymmetricWeight", 0, True, id="no weight of affinity"),
        pytest.param("hardPodAffinitySymmetricWeight", 100, True, id="the largest weight of affinity"),
        pytest.param("hardPodAffinitySymmetricWeight", -1, False, id="a negative weight of affinity"),
    ],
)
def test_the_bounds_of_a_weight(field: str, value: int, taken: bool) -> None:
    if taken:
        assert load({**HEAD, field: value}).profiles
    else:
        assert mistakes(**{field: value}) == {field: f"{value} is not in the valid range [0-100]"}


@pytest.mark.parametrize(
    "text", ["", "[]", f"{json.dumps(HEAD)}\n---\n{json.dumps(HEAD)}"], ids=["none", "list", "two"]
)
def test_a_config_map_has_one_policy(text: str) -> None:
    document = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "p"}, "data": {"policy.cfg": text}}
    with pytest.raises(ConfigError) as refused:
        load(document)
    (problem,) = refused.value.problems
    assert (problem.message, problem.path) == ("expected one Policy under policy.cfg", "data[policy.cfg]")


@pytest.mark.parametrize(
    ("minor", "point", "plugin", "there"),
    [
        pytest.param("1.17", "reserve", "VolumeBinding", False, id="1.17 binds volumes in the filter"),
        pytest.param("1.18", "preBind", "VolumeBinding", False, id="1.18 binds volumes in the filter"),
        pytest.param("1.19", "reserve", "VolumeBinding", True, id="1.19 reserves volumes"),
        pytest.param("1.17", "filter", "VolumeBinding", True, id="1.17 filters by volumes"),
    ],
)
def test_where_volumes_are_reserved(minor: str, point: str, plugin: str, there: bool) -> None:
    assert (plugin in profile(minor).points[point]) is there


@pytest.mark.parametrize(
    ("fields", "path", "said"),
    [
        pytest.param(
            {"priorities": [{"name": "RequestedToCapacityRatio", "weight": 1}]},
            "priorities[0]",
            "no argument is read under the name RequestedToCapacityRatio",
            id="a name that reads no argument",
        ),
        pytest.param(
            {"priorities": [{"name": "r", "weight": 1, "argument": {"requestedToCapacityRatioArguments": {}}}]},
            "priorities",
            "RequestedToCapacityRatio: shape: at least one point must be given",
            id="no shape",
        ),
        pytest.param(
            {
                "predicates": [
                    {"name": "a", "argument": {"labelsPresence": {"labels": ["x"], "presence": True}}},
                    {"name": "b", "argument": {"labelsPresence": {"labels": ["x"]}}},
                ]
            },
            "predicates",
            "NodeLabel: presentLabels[0]: 'x' is among absentLabels too",
            id="a label both there and not",
        ),
    ],
)
def test_what_no_plugin_can_be_made_of(fields: dict[str, Any], path: str, said: str) -> None:
    assert mistakes(**fields)[path].startswith(said)


def test_a_policy_after_its_time() -> None:
    with pytest.raises(ConfigError, match=r"Kubernetes 1[.]23 reads no Policy: it went away with 1.23"):
        load(HEAD, "1.23")
    assert load(HEAD, "1.22").profiles


def test_pods_go_where_the_policy_says() -> None:
    nodes = [make_node("plain").obj(), make_node("ssd").label("disk", "ssd").obj()]
    wish = {"name": "Ssd", "weight": 100, "argument": {"labelPreference": {"label": "disk", "presence": True}}}
    for priorities, node in (([wish], "ssd"), ([], "plain")):
        scheduler = make_scheduler(
            nodes,
            [make_pod("new").obj()],
            configuration=load({**HEAD, "priorities": priorities}),
            current=RELEASES["1.21"],
        )
        assert placed(scheduler) == {"default/new": node}
