"""What a migration writes: no more than differs from the defaults of v1, in its words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from ksched_cli.config.migrate import migrate
from tests.builders import make_object
from tests.config.migrations import (
    OLD_WEIGHTS,
    POLICY,
    SHAPE,
    check_meaning,
    config_of,
    configuration,
    migrated,
    own,
    profiles_of,
    read,
    score,
    told,
    weighted,
)
from tests.config.test_minors import GROUP

MOST = config_of("NodeResourcesMostAllocated", resources=[{"name": "example.com/gpu", "weight": 3}])


@pytest.mark.parametrize(
    ("version", "given", "expected"),
    [
        pytest.param("v1beta3", {}, {}, id="nothing said, nothing changed"),
        pytest.param("v1beta2", {}, {"plugins": score(*OLD_WEIGHTS)}, id="nothing said, other weights"),
        pytest.param("v1beta3", {"schedulerName": "mine"}, {"schedulerName": "mine"}, id="a name"),
        pytest.param(
            "v1beta3", {"percentageOfNodesToScore": 30}, {"percentageOfNodesToScore": 30}, id="a profile's percentage"
        ),
        pytest.param(
            "v1beta2",
            {"plugins": score(("TaintToleration", 3), ("NodeAffinity", 2), ("InterPodAffinity", 2))},
            {},
            id="the weights of today",
        ),
        pytest.param(
            "v1beta3",
            {"plugins": {"filter": {"enabled": [{"name": "TaintToleration"}, {"name": "NodePorts"}]}}},
            {"plugins": {"filter": {"enabled": [{"name": "TaintToleration"}, {"name": "NodePorts"}]}}},
            id="those that come first",
        ),
        pytest.param(
            "v1beta2",
            {"plugins": {"filter": {"enabled": [{"name": "TaintToleration"}, {"name": "NodePorts"}]}}},
            {"plugins": score(*OLD_WEIGHTS)},
            id="what was the default anyway",
        ),
        pytest.param(
            "v1beta3",
            {"plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]}}},
            {"plugins": score(("ImageLocality", 1), disabled=("*",))},
            id="all off but one",
        ),
        pytest.param(
            "v1beta3",
            {"plugins": score(disabled=("NodeResourcesBalancedAllocation",))},
            {"plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}}},
            id="a plugin that only scores: nothing of it is left",
        ),
        pytest.param(
            "v1beta1",
            {
                "plugins": score(("NodeResourcesMostAllocated", 5), disabled=("NodeResourcesLeastAllocated",)),
                "pluginConfig": MOST,
            },
            {
                "plugins": score(*OLD_WEIGHTS, ("NodeResourcesFit", 5)),
                "pluginConfig": config_of(
                    "NodeResourcesFit",
                    scoringStrategy={"type": "MostAllocated", "resources": [{"name": "example.com/gpu", "weight": 3}]},
                ),
            },
            id="a plugin that is a strategy",
        ),
        pytest.param(
            "v1beta1",
            {
                "plugins": score(("RequestedToCapacityRatio", 1), disabled=("NodeResourcesLeastAllocated",)),
                "pluginConfig": config_of("RequestedToCapacityRatio", shape=SHAPE),
            },
            {
                "plugins": score(*OLD_WEIGHTS),
                "pluginConfig": config_of(
                    "NodeResourcesFit",
                    scoringStrategy={"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": SHAPE}},
                ),
            },
            id="a shape",
        ),
        pytest.param(
            "v1beta1",
            {"plugins": score(disabled=("NodeResourcesLeastAllocated",))},
            {"plugins": score(*OLD_WEIGHTS, disabled=("NodeResourcesFit",))},
            id="resources are not scored",
        ),
        pytest.param(
            "v1beta1",
            {
                "plugins": {"score": {"enabled": [{"name": "NodeLabel", "weight": 2}]}},
                "pluginConfig": config_of("NodeLabel", presentLabels=["ssd"]),
            },
            {"plugins": score(*OLD_WEIGHTS)},
            id="required labels of a plugin that only scores",
        ),
        pytest.param(
            "v1beta1",
            {
                "plugins": {"filter": {"enabled": [{"name": "NodeLabel"}]}},
                "pluginConfig": config_of("NodeLabel", presentLabels=["ssd"], absentLabels=["old"]),
            },
            {
                "plugins": score(*OLD_WEIGHTS),
                "pluginConfig": config_of(
                    "NodeAffinity",
                    addedAffinity={
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": "ssd", "operator": "Exists"},
                                        {"key": "old", "operator": "DoesNotExist"},
                                    ]
                                }
                            ]
                        }
                    },
                ),
            },
            id="labels of nodes",
        ),
        pytest.param(
            "v1beta3",
            {
                "plugins": {point: {"disabled": [{"name": "NodePorts"}]} for point in ("preFilter", "filter")},
                "pluginConfig": config_of(
                    "InterPodAffinity",
                    apiVersion=f"{GROUP}/v1beta3",
                    kind="InterPodAffinityArgs",
                    hardPodAffinityWeight=5,
                ),
            },
            {
                "plugins": {"multiPoint": {"disabled": [{"name": "NodePorts"}]}},
                "pluginConfig": config_of("InterPodAffinity", hardPodAffinityWeight=5),
            },
            id="off wherever it was, and arguments with a version",
        ),
        pytest.param(
            "v1beta3",
            {"pluginConfig": config_of("NodeResourcesFit", scoringStrategy={"type": "LeastAllocated"})},
            {},
            id="arguments that are the default",
        ),
        pytest.param(
            "v1beta2",
            {
                "plugins": {
                    "filter": {
                        "disabled": [{"name": "*"}],
                        "enabled": [{"name": "NodeResourcesFit"}, {"name": "NodeName"}, {"name": "NodeVolumeLimits"}],
                    },
                    **score(disabled=("*",)),
                }
            },
            {
                "plugins": {
                    "filter": {
                        "enabled": [
                            *({"name": name} for name in ("NodeResourcesFit", "NodeName", "NodeVolumeLimits")),
                            *({"name": name} for name in ("DynamicResources", "NodeDeclaredFeatures")),
                        ],
                        "disabled": [{"name": "*"}],
                    },
                    **score(disabled=("*",)),
                }
            },
            id="an order of its own",
        ),
    ],
)
def test_what_is_written(version: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    migration = check_meaning(configuration(version, profiles=[given]))
    usual = {"schedulerName": "default-scheduler"}
    written = migration.document.get("profiles", [usual])
    assert written == [usual | expected]


def test_a_multi_point_in_an_order_of_its_own_stays_one_list() -> None:
    names = [
        *("NodePorts", "TaintToleration", "NodeUnschedulable", "PrioritySort", "NodeResourcesFit", "NodeName"),
        *("NodeAffinity", "VolumeBinding", "DefaultPreemption", "InterPodAffinity", "DefaultBinder"),
    ]
    everywhere = {"enabled": [{"name": name} for name in names], "disabled": [{"name": "*"}]}
    migration = check_meaning(configuration("v1beta3", profiles=[{"plugins": {"multiPoint": everywhere}}]))
    (profile,) = profiles_of(migration)
    assert [each["name"] for each in profile["plugins"]["multiPoint"]["enabled"]] == names
    assert "filter" not in profile["plugins"]


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param(
            {
                "filter": {"enabled": [{"name": "Mine"}]},
                "score": {"enabled": [{"name": "Mine", "weight": 7}]},
            },
            {"multiPoint": {"enabled": weighted(("Mine", 7))}},
            id="wherever it can be",
        ),
        pytest.param(
            {"score": {"enabled": [{"name": "Mine", "weight": 7}]}},
            {"score": {"enabled": weighted(("Mine", 7))}},
            id="at one of its points",
        ),
        pytest.param(
            {"filter": {"enabled": [{"name": "Other"}, {"name": "Mine"}]}},
            {"filter": {"enabled": [{"name": "Other"}, {"name": "Mine"}]}},
            id="two in their order",
        ),
        pytest.param(
            {"queueSort": {"enabled": [{"name": "Sorter"}], "disabled": [{"name": "*"}]}},
            {"queueSort": {"enabled": [{"name": "Sorter"}], "disabled": [{"name": "*"}]}},
            id="who sorts the queue",
        ),
        pytest.param(
            {"bind": {"enabled": [{"name": "Binder"}, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]}},
            {"bind": {"enabled": [{"name": "Binder"}, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]}},
            id="one before the default",
        ),
    ],
)
def test_plugins_of_ones_own(plugins: dict[str, Any], expected: dict[str, Any]) -> None:
    there = {"Mine": ("filter", "score"), "Other": ("filter",), "Sorter": ("queueSort",), "Binder": ("bind",)}
    document = configuration("v1beta3", profiles=[{"plugins": plugins}])
    new = own("1.36", **there)
    migration = migrate(json.dumps(document), "c.yaml", own("1.28", **there), new, {})
    assert profiles_of(migration) == [{"schedulerName": "default-scheduler", "plugins": expected}]
    assert migrate(json.dumps(migration.document), "c.yaml", new, new, {}).document == migration.document


def test_who_sorts_the_queue_is_said_alike_in_all_profiles() -> None:
    there = {"Sorter": ("queueSort", "filter")}
    at_the_point = {"queueSort": {"enabled": [{"name": "Sorter"}], "disabled": [{"name": "*"}]}}
    also = {"multiPoint": {"enabled": [{"name": "Sorter"}]}}
    profiles = [
        {"schedulerName": "a", "plugins": at_the_point},
        {"schedulerName": "b", "plugins": {**at_the_point, **also}},
    ]
    new = own("1.36", **there)
    migration = migrate(
        json.dumps(configuration("v1beta3", profiles=profiles)), "c.yaml", own("1.28", **there), new, {}
    )
    assert [each["plugins"]["queueSort"] for each in profiles_of(migration)] == [at_the_point["queueSort"]] * 2
    assert len(read(migration.document, new).profiles) == 2


def test_arguments_of_ones_own_are_kept() -> None:
    there = {"Mine": ("filter",), "Plain": ("filter",)}
    given = configuration(
        "v1beta3",
        profiles=[{"pluginConfig": [*config_of("Mine", disk="nvme", size=0), *config_of("Plain", a={"b": 1})]}],
    )

    @dataclass
    class Args:
        disk: str = "ssd"
        size: int = 0

    migration = migrate(json.dumps(given), "c.yaml", own("1.28", **there), own("1.36", **there), {"Mine": Args})
    (profile,) = profiles_of(migration)
    assert profile["pluginConfig"] == [*config_of("Mine", disk="nvme"), *config_of("Plain", a={"b": 1})]


# Policies

LABELS = {"labelsPresence": {"labels": ["ssd"], "presence": True}}
EXTENDER = {"urlPrefix": "http://e", "filterVerb": "f", "enableHttps": True, "nodeCacheCapable": False}


def policy_profile_of(**fields: Any) -> dict[str, Any]:
    (found,) = profiles_of(check_meaning({**POLICY, **fields}))
    return found


def test_a_policy_that_names_some() -> None:
    found = policy_profile_of(
        predicates=[{"name": "GeneralPredicates"}, {"name": "NoDiskConflict"}],
        priorities=[{"name": "MostRequestedPriority", "weight": 4}, {"name": "ImageLocalityPriority", "weight": 1}],
    )
    gone = ("NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity")
    assert found["plugins"] == {
        "multiPoint": {"disabled": [{"name": name} for name in gone]},
        **score(("ImageLocality", 1), ("NodeResourcesFit", 4), disabled=("*",)),
    }
    assert found["pluginConfig"] == config_of("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})


def test_a_policy_with_arguments() -> None:
    ratio = {"shape": SHAPE, "resources": [{"name": "cpu", "weight": 5}]}
    found = policy_profile_of(
        predicates=[{"name": "Ssd", "argument": LABELS}, {"name": "MatchNodeSelector"}],
        priorities=[
            {"name": "Pack", "weight": 2, "argument": {"requestedToCapacityRatioArguments": ratio}},
            {"name": "InterPodAffinityPriority", "weight": 1},
        ],
        hardPodAffinitySymmetricWeight=50,
    )
    args = {each["name"]: each["args"] for each in found["pluginConfig"]}
    assert args["InterPodAffinity"] == {"hardPodAffinityWeight": 50}
    assert args["NodeResourcesFit"]["scoringStrategy"] == {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "cpu", "weight": 5}],
        "requestedToCapacityRatio": {"shape": SHAPE},
    }
    assert "addedAffinity" in args["NodeAffinity"]


def test_a_policy_in_a_config_map_and_its_extenders() -> None:
    inside = {**POLICY, "extenders": [EXTENDER, {**EXTENDER, "httpTimeout": 90_000_000_000}]}
    document = make_object("v1/ConfigMap", "p", data={"policy.cfg": json.dumps(inside)})
    migration = migrated(document)
    assert migration.document == migrated(inside).document
    assert migration.document["extenders"] == [
        {"urlPrefix": "http://e", "filterVerb": "f", "enableHTTPS": True},
        {"urlPrefix": "http://e", "filterVerb": "f", "enableHTTPS": True, "httpTimeout": "1m30s"},
    ]


# What is not in a profile


def test_numbers_and_sections() -> None:
    document = configuration(
        "v1beta2",
        parallelism=16,
        percentageOfNodesToScore=50,
        podMaxBackoffSeconds=60,
        leaderElection={"leaderElect": False, "resourceName": None},
        clientConnection={"qps": 100},
        healthzBindAddress="0.0.0.0:0",
        metricsBindAddress="",
        enableProfiling=False,
        extenders=[{"urlPrefix": "http://e", "prioritizeVerb": "p", "weight": 2, "httpTimeout": "5s"}],
    )
    found = check_meaning(document).document
    assert {name: each for name, each in found.items() if name not in ("apiVersion", "kind", "profiles")} == {
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 100},
        "percentageOfNodesToScore": 50,
        "podMaxBackoffSeconds": 60,
        "enableProfiling": False,
        "extenders": [{"urlPrefix": "http://e", "prioritizeVerb": "p", "weight": 2, "httpTimeout": "5s"}],
    }


def test_several_profiles() -> None:
    names = ["default-scheduler", "other"]
    document = configuration("v1beta2", profiles=[{"schedulerName": name} for name in names])
    migration = check_meaning(document)
    assert [each["schedulerName"] for each in profiles_of(migration)] == names
    assert len(told(migration)) == len(set(told(migration))) == 3
