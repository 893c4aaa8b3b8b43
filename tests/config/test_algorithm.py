"""Configurations of the time of predicates: a Policy and v1alpha1 as 1.16 reads them, and newer ones said in its words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from ksched_cli.config.legacy.policy import MAX_WEIGHT
from ksched_cli.config.load import load_config
from ksched_cli.config.model import ResolvedProfile, SchedulerConfiguration, expand_profile
from ksched_cli.config.plugin_args import InterPodAffinityArgs, NodeLabelArgs, ServiceAffinityArgs
from ksched_cli.config.view import configuration_document
from ksched_cli.errors import ConfigError
from ksched_cli.releases.minors import GROUP, RELEASES
from tests.builders import make_node, make_pod
from tests.config.test_minors import points, resolved
from tests.harness import decide, make_scheduler, placed

OLD = RELEASES["1.16"]
POLICY = {"kind": "Policy", "apiVersion": "v1"}
ALPHA = {"kind": "KubeSchedulerConfiguration", "apiVersion": f"{GROUP}/v1alpha1"}
DEFAULT = resolved("1.16")


def load(document: dict[str, Any], gates: str = "", source: str = "given") -> SchedulerConfiguration:
    return load_config(json.dumps(document), source, OLD, OLD.gates(gates), points(OLD))


def profile(document: dict[str, Any], gates: str = "") -> ResolvedProfile:
    return expand_profile(load(document, gates).profiles[0], OLD, OLD.gates(gates), points(OLD))


def mistakes(document: dict[str, Any], gates: str = "") -> dict[str, str]:
    with pytest.raises(ConfigError) as refused:
        load(document, gates)
    return {problem.path: problem.message for problem in refused.value.problems}


def predicates(found: ResolvedProfile) -> tuple[str, ...]:
    return found.points["filter"]


# Providers


def test_the_default_provider() -> None:
    assert predicates(DEFAULT) == (
        *("CheckNodeUnschedulable", "GeneralPredicates", "NoDiskConflict", "PodToleratesNodeTaints"),
        *("MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "MaxCSIVolumeCountPred", "MaxAzureDiskVolumeCount"),
        *("CheckVolumeBinding", "NoVolumeZoneConflict", "MatchInterPodAffinity"),
    )
    weights = dict.fromkeys(DEFAULT.points["score"], 1) | {"NodePreferAvoidPodsPriority": 10000}
    assert DEFAULT.score_weights == weights
    assert len(weights) == 8


@pytest.mark.parametrize(
    ("gates", "came", "went"),
    [
        pytest.param(
            "TaintNodesByCondition=false",
            {
                *("CheckNodeCondition", "CheckNodeMemoryPressure"),
                *("CheckNodePIDPressure", "CheckNodeDiskPressure"),
            },
            {"CheckNodeUnschedulable"},
            id="conditions instead of taints",
        ),
        pytest.param("ResourceLimitsPriorityFunction=true", {"ResourceLimitsPriority"}, set(), id="limits"),
        pytest.param("EvenPodsSpread=true", {"EvenPodsSpread", "EvenPodsSpreadPriority"}, set(), id="spreading"),
    ],
)
def test_gates_change_the_provider(gates: str, came: set[str], went: set[str]) -> None:
    found = resolved("1.16", gates=gates)
    before, after = ({*each.points["filter"], *each.points["score"]} for each in (DEFAULT, found))
    assert (after - before, before - after) == (came, went)


@pytest.mark.parametrize("provider", ["DefaultProvider", "", None, "ClusterAutoscalerProvider"])
def test_a_provider_is_named(provider: str | None) -> None:
    found = profile({**ALPHA, "algorithmSource": {"provider": provider}})
    packs = provider == "ClusterAutoscalerProvider"
    assert ("MostRequestedPriority" in found.score_weights) is packs
    assert ("LeastRequestedPriority" in found.score_weights) is not packs
    assert predicates(found) == predicates(DEFAULT)


# Policies


def test_what_a_policy_names_is_asked_in_the_fixed_order_and_two_always_are() -> None:
    named = ["MatchInterPodAffinity", "PodFitsResources", "HostName"]
    found = profile({**POLICY, "predicates": [{"name": each} for each in named], "priorities": []})
    assert predicates(found) == (
        *("CheckNodeUnschedulable", "HostName", "PodFitsResources"),
        *("PodToleratesNodeTaints", "MatchInterPodAffinity"),
    )
    # Where nothing ranks the nodes each of them gets 1.
    assert found.score_weights == {"EqualPriority": 1}


def test_a_policy_that_says_nothing_is_the_default_provider() -> None:
    found = profile(POLICY)
    assert (found.points, found.score_weights) == (DEFAULT.points, DEFAULT.score_weights)


def test_arguments_under_names_of_ones_own() -> None:
    found = profile(
        {
            **POLICY,
            "predicates": [
                {
                    "name": "CheckNodeLabelPresence",
                    "argument": {"labelsPresence": {"labels": ["old"], "presence": False}},
                },
                {"name": "CheckServiceAffinity", "argument": {"serviceAffinity": {"labels": ["rack"]}}},
                # Any name of the order may be given another meaning.
                {"name": "HostName", "argument": {"labelsPresence": {"labels": ["ssd"], "presence": True}}},
            ],
            "priorities": [
                {"name": "Racks", "weight": 3, "argument": {"serviceAntiAffinity": {"label": "rack"}}},
                {"name": "Ssd", "weight": 2, "argument": {"labelPreference": {"label": "ssd", "presence": True}}},
                {"name": "NotOld", "weight": 5, "argument": {"labelPreference": {"label": "old", "presence": False}}},
                {"name": "LeastRequestedPriority", "weight": 4},
            ],
        }
    )
    assert found.args["CheckNodeLabelPresence"] == NodeLabelArgs(absent_labels=("old",))
    assert found.args["CheckServiceAffinity"] == ServiceAffinityArgs(affinity_labels=("rack",))
    assert found.args["HostName"] == NodeLabelArgs(present_labels=("ssd",))
    assert found.implemented_by == {
        "HostName": "CheckNodeLabelPresence",
        "Racks": "ServiceAntiAffinityPriority",
        "Ssd": "NodeLabelPriority",
        "NotOld": "NodeLabelPriority",
    }
    assert found.score_weights == {"Racks": 3, "Ssd": 2, "NotOld": 5, "LeastRequestedPriority": 4}


def test_pods_go_where_it_says_and_it_is_told_under_its_own_names() -> None:
    nodes = [make_node("plain").obj(), make_node("ssd").label("disk", "ssd").obj()]
    wish = {"name": "FastDisks", "weight": 7, "argument": {"labelPreference": {"label": "disk", "presence": True}}}
    only = {
        "name": "CheckNodeLabelPresence",
        "argument": {"labelsPresence": {"labels": ["disk"], "presence": True}},
    }
    pods = [make_pod("new").obj()]
    scheduler = make_scheduler(nodes, pods, configuration=load({**POLICY, "priorities": [wish]}), current=OLD)
    (decision,) = decide(scheduler).values()
    assert decision.scores is not None
    assert {name: column.tolist() for name, column in decision.scores.weighted.items()} == {"FastDisks": [0, 70]}
    scheduler = make_scheduler(nodes[:1], pods, configuration=load({**POLICY, "predicates": [only]}), current=OLD)
    (decision,) = decide(scheduler).values()
    assert decision.message == "0/1 nodes are available: 1 node(s) didn't have the requested labels."


def test_all_reasons_where_a_policy_asks_for_them() -> None:
    node = make_node("n").allocatable(cpu="1", pods=9).cordoned().taint("a").obj()
    pod = make_pod("new").requests(cpu="2").obj()
    every = load({**POLICY, "alwaysCheckAllPredicates": True})
    (decision,) = decide(make_scheduler([node], [pod], configuration=every, current=OLD)).values()
    assert decision.message == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 node(s) had taints that the pod didn't tolerate, "
        "1 node(s) were unschedulable."
    )
    assert decision.diagnosis is not None
    assert decision.diagnosis.unschedulable_plugins == {"CheckNodeUnschedulable"}
    first = decide(make_scheduler([node], [pod], current=OLD))["default/new"]
    assert first.message == "0/1 nodes are available: 1 node(s) were unschedulable."


@pytest.mark.parametrize("minor", ["1.16", "1.21"])
def test_all_reasons_do_not_change_where_pods_go(minor: str) -> None:
    nodes = [make_node(f"n{at}").allocatable(cpu="2", pods=9).obj() for at in range(3)] + [
        make_node("out").cordoned().obj()
    ]
    pods = [make_pod(f"p{at}").requests(cpu="1500m").obj() for at in range(4)]
    release = RELEASES[minor]
    found = []
    for every in (False, True):
        document = json.dumps({**POLICY, "alwaysCheckAllPredicates": every})
        configuration = load_config(document, "policy", release, release.gates(), points(release))
        found.append(placed(make_scheduler(nodes, pods, configuration=configuration, current=release)))
    assert found[0] == found[1]
    assert sorted(found[0].values()) == ["", "n0", "n1", "n2"]


@pytest.mark.parametrize("name", ["PodFitsPorts", "Mine"])
def test_a_predicate_that_is_never_asked_is_told_of(name: str) -> None:
    argument = {} if name == "PodFitsPorts" else {"argument": {"labelsPresence": {"labels": ["x"], "presence": True}}}
    made = load({**POLICY, "predicates": [{"name": name, **argument}]})
    (note,) = made.notes
    assert note.startswith(f'given:1: predicates[0].name: "{name}" never runs')
    assert name not in predicates(expand_profile(made.profiles[0], OLD, OLD.gates(), points(OLD)))


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        pytest.param(
            {"predicates": [{"name": "EvenPodsSpread"}, {"name": "CheckServiceAffinity"}]},
            {
                "predicates[0].name": 'there is no predicate "EvenPodsSpread"',
                "predicates[1].name": 'there is no predicate "CheckServiceAffinity"',
            },
            id="predicates that are none yet",
        ),
        pytest.param(
            {"predicates": [{"name": "CheckNodeCondition"}], "priorities": [{"name": "Nope", "weight": 1}]},
            {
                "predicates[0].name": 'there is no predicate "CheckNodeCondition"',
                "priorities[0].name": 'there is no priority "Nope"',
            },
            id="names that a gate took away, or nobody knows",
        ),
        pytest.param(
            {
                "priorities": [
                    {
                        "name": "a",
                        "weight": 1,
                        "argument": {
                            "requestedToCapacityRatioArguments": {
                                "shape": [{"utilization": 50, "score": 1}, {"utilization": 50, "score": 11}]
                            }
                        },
                    }
                ]
            },
            {
                f"priorities[0].argument.requestedToCapacityRatioArguments.shape[1].{field}": text
                for field, text in (
                    ("utilization", "50: values must increase from point to point"),
                    ("score", "11 is not in the valid range [0, 10]"),
                )
            },
            id="a shape",
        ),
        pytest.param(
            {"priorities": [{"name": "ImageLocalityPriority", "weight": -1}]},
            {"priorities[0].weight": "-1 is not a positive weight, or too large a one"},
            id="a weight",
        ),
    ],
)
def test_mistakes_of_a_policy(fields: dict[str, Any], found: dict[str, str]) -> None:
    assert mistakes({**POLICY, **fields}) == found


@pytest.mark.parametrize(("weight", "valid"), [(0, False), (1, True), (MAX_WEIGHT - 1, True), (MAX_WEIGHT, False)])
def test_the_weight_of_a_priority(weight: int, valid: bool) -> None:
    document = {**POLICY, "priorities": [{"name": "ImageLocalityPriority", "weight": weight}]}
    text = f"{weight} is not a positive weight, or too large a one"
    if valid:
        assert load(document).profiles
    else:
        assert mistakes(document) == {"priorities[0].weight": text}


def test_ratios_may_be_as_many_as_one_likes_as_long_as_they_have_names() -> None:
    """Later there was one plugin for all of them."""
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    given = [
        {"name": name, "weight": 1, "argument": {"requestedToCapacityRatioArguments": {"shape": shape}}}
        for name in ("one", "two")
    ]
    assert profile({**POLICY, "priorities": given}).score_weights == {"one": 1, "two": 1}


# v1alpha1


def test_a_policy_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(
        json.dumps({**POLICY, "hardPodAffinitySymmetricWeight": 4, "predicates": [], "extenders": [{"urlPrefix": "e"}]})
    )
    document = {
        **ALPHA,
        "schedulerName": "mine",
        "hardPodAffinitySymmetricWeight": 9,
        "disablePreemption": True,
        "percentageOfNodesToScore": 30,
        "algorithmSource": {"policy": {"file": {"path": "/etc/kubernetes/policy.json"}}},
    }
    made = load(document, source=str(tmp_path / "scheduler.yaml"))
    found = expand_profile(made.profiles[0], OLD, OLD.gates(), points(OLD))
    assert predicates(found) == ("CheckNodeUnschedulable", "PodToleratesNodeTaints")
    assert found.points["postFilter"] == ()
    assert (found.scheduler_name, made.percentage_of_nodes_to_score) == ("mine", 30)
    assert found.args["InterPodAffinityPriority"] == InterPodAffinityArgs(hard_pod_affinity_weight=4)
    assert [each.url_prefix for each in made.extenders] == ["e"]


def test_a_mistake_in_the_policy_file_of_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(json.dumps({**POLICY, "predicates": [{"name": "Nope"}]}))
    source = {"policy": {"file": {"path": "/etc/kubernetes/policy.json"}}}
    with pytest.raises(ConfigError, match='there is no predicate "Nope"'):
        load({**ALPHA, "algorithmSource": source}, source=str(tmp_path / "scheduler.yaml"))


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        pytest.param(
            {"algorithmSource": {"provider": "Nope"}, "percentageOfNodesToScore": 101},
            {
                "algorithmSource.provider": 'there is no provider "Nope"',
                "percentageOfNodesToScore": "101 is not in the valid range [0-100]",
            },
            id="several at once",
        ),
        pytest.param(
            {"algorithmSource": {"policy": {"configMap": {"name": "p"}}}},
            {
                "algorithmSource.policy.configMap": (
                    "the Policy is in the ConfigMap kube-system/p, which is not at hand"
                )
            },
            id="a ConfigMap elsewhere",
        ),
        pytest.param(
            {"algorithmSource": {"policy": {"file": {"path": "/nowhere/p.json"}}}},
            {"algorithmSource.policy.file.path": "missing policy config file /nowhere/p.json"},
            id="a file elsewhere",
        ),
        pytest.param(
            {"algorithmSource": {"policy": {}}},
            {"algorithmSource.policy": "a policy needs a file or a configMap"},
            id="no policy",
        ),
        pytest.param({"profiles": []}, {"profiles": "no such field"}, id="profiles came later"),
        pytest.param(
            {"algorithmSource": {"provider": "DefaultProvider", "policy": {}}},
            {
                "algorithmSource": "give a provider or a policy, not both",
                "algorithmSource.policy": "a policy needs a file or a configMap",
            },
            id="a provider and a policy",
        ),
        pytest.param(
            {"hardPodAffinitySymmetricWeight": 101},
            {"hardPodAffinitySymmetricWeight": "101 is not in the valid range [0-100]"},
            id="weight",
        ),
        pytest.param(
            {"plugins": {"filter": {"enabled": [{"name": "Nope"}]}}},
            {"plugins.filter": 'plugin "Nope" does not exist'},
            id="a plugin that is not there",
        ),
        pytest.param(
            {"plugins": {"postFilter": {"enabled": [{"name": "X"}]}}},
            {"plugins.postFilter": "postFilter of v1alpha1 is not modelled"},
            id="a point that was another one",
        ),
        pytest.param({"clientConnection": {"burst": -1}}, {"clientConnection.burst": "-1 is negative"}, id="burst"),
        pytest.param({"kind": "Other"}, {"kind": "expected kind KubeSchedulerConfiguration, got Other"}, id="kind"),
    ],
)
def test_mistakes_of_a_configuration(fields: dict[str, Any], found: dict[str, str]) -> None:
    assert mistakes({**ALPHA, **fields}) == found


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({**ALPHA, "schedulerName": "mine", "disablePreemption": True}, id="v1alpha1"),
        pytest.param({**ALPHA, "algorithmSource": {"provider": "ClusterAutoscalerProvider"}}, id="a provider"),
        pytest.param(
            {
                **POLICY,
                "alwaysCheckAllPredicates": True,
                "hardPodAffinitySymmetricWeight": 3,
                "predicates": [
                    {"name": "HostName", "argument": {"labelsPresence": {"labels": ["a", "b"], "presence": False}}},
                    {"name": "CheckServiceAffinity", "argument": {"serviceAffinity": {"labels": ["rack"]}}},
                ],
                "priorities": [
                    {"name": "InterPodAffinityPriority", "weight": 1},
                    {"name": "Racks", "weight": 3, "argument": {"serviceAntiAffinity": {"label": "rack"}}},
                    {"name": "Old", "weight": 5, "argument": {"labelPreference": {"label": "old", "presence": False}}},
                    {
                        "name": "Pack",
                        "weight": 2,
                        "argument": {
                            "requestedToCapacityRatioArguments": {
                                "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
                                "resources": [{"name": "cpu", "weight": 3}],
                            }
                        },
                    },
                ],
                "extenders": [
                    {"urlPrefix": "http://e", "filterVerb": "f", "httpTimeout": 5000000000, "weight": 1},
                    {"urlPrefix": "http://f", "filterVerb": "f"},
                ],
            },
            id="policy",
        ),
    ],
)
def test_what_view_prints_means_the_same(document: dict[str, Any]) -> None:
    made = load(document)
    shown = configuration_document(made, OLD, OLD.gates())
    again = load_config(yaml.safe_dump(shown), "shown", OLD, OLD.gates(), points(OLD))
    profiles = [expand_profile(each.profiles[0], OLD, OLD.gates(), points(OLD)) for each in (made, again)]
    assert profiles[0] == profiles[1]
    assert made.extenders == again.extenders
    assert configuration_document(again, OLD, OLD.gates()) == shown


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        pytest.param({}, {"algorithmSource": {"provider": "DefaultProvider"}}, id="the defaults"),
        pytest.param(
            {"algorithmSource": {"provider": "ClusterAutoscalerProvider"}, "hardPodAffinitySymmetricWeight": 100},
            {"algorithmSource": {"provider": "ClusterAutoscalerProvider"}, "hardPodAffinitySymmetricWeight": 100},
            id="what is given",
        ),
    ],
)
def test_what_view_prints_of_an_alpha_version(fields: dict[str, Any], shown: dict[str, Any]) -> None:
    usual = {"schedulerName": "default-scheduler", "hardPodAffinitySymmetricWeight": 1}
    usual |= {"disablePreemption": False, "percentageOfNodesToScore": 0}
    found = configuration_document(load({**ALPHA, **fields}), OLD, OLD.gates())
    assert found == {**ALPHA, **usual, **shown}


# Newer configurations


def newer(**profile_fields: Any) -> dict[str, Any]:
    return {
        "kind": "KubeSchedulerConfiguration",
        "apiVersion": f"{GROUP}/v1",
        "profiles": [{"schedulerName": "default-scheduler", **profile_fields}],
    }


def config_of(plugin: str, **args: Any) -> list[dict[str, Any]]:
    return [{"name": plugin, "args": args}]


class PluginArgs(msgspec.Struct):
    """The model of an out-of-tree plugin."""

    limit: int = 3


def test_arguments_of_an_out_of_tree_plugin_are_kept() -> None:
    document = newer(plugins={"multiPoint": {"enabled": [{"name": "Mine"}]}}, pluginConfig=config_of("Mine", limit=5))
    known = {**points(OLD), "Mine": ("filter",)}
    made = load_config(json.dumps(document), "given", OLD, OLD.gates(), known, {"Mine": PluginArgs})
    assert made.profiles[0].args["Mine"] == PluginArgs(5)
    assert "Mine" in expand_profile(made.profiles[0], OLD, OLD.gates(), known).points["filter"]


def test_arguments_of_an_out_of_tree_plugin_are_typed_in_an_alpha_version() -> None:
    given = {**ALPHA, "plugins": {"filter": {"enabled": [{"name": "Mine"}]}}}
    known, models = {**points(OLD), "Mine": ("filter",)}, {"Mine": PluginArgs}
    for limit in (5, "many"):
        text = json.dumps({**given, "pluginConfig": config_of("Mine", limit=limit)})
        if limit == 5:
            assert load_config(text, "given", OLD, OLD.gates(), known, models).profiles[0].args["Mine"] == PluginArgs(5)
        else:
            with pytest.raises(ConfigError, match="expected a whole number, got a string"):
                load_config(text, "given", OLD, OLD.gates(), known, models)


def test_a_newer_configuration_that_says_nothing_is_the_default_provider() -> None:
    made = load(newer())
    assert made.restated_from == f"{GROUP}/v1"
    found = expand_profile(made.profiles[0], OLD, OLD.gates(), points(OLD))
    assert (found.points, found.score_weights) == (DEFAULT.points, DEFAULT.score_weights)


@pytest.mark.parametrize(
    ("fields", "weights", "gone"),
    [
        pytest.param(
            {"plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}}},
            {},
            {"ImageLocalityPriority"},
            id="a score is off",
        ),
        pytest.param(
            {"plugins": {"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 9}]}}},
            {"NodeAffinityPriority": 9, "ImageLocalityPriority": 1},
            set(),
            id="a weight",
        ),
        pytest.param(
            {"pluginConfig": config_of("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})},
            {"MostRequestedPriority": 1},
            {"LeastRequestedPriority"},
            id="a strategy",
        ),
        pytest.param(
            {
                "plugins": {"multiPoint": {"enabled": [{"name": "NodeResourcesFit", "weight": 4}]}},
                "pluginConfig": config_of("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}),
            },
            {"MostRequestedPriority": 4},
            {"LeastRequestedPriority"},
            id="the weight of a strategy",
        ),
        pytest.param(
            {"plugins": {"filter": {"disabled": [{"name": "NodePorts"}, {"name": "VolumeZone"}]}}},
            {},
            {"GeneralPredicates", "PodFitsHostPorts", "NoVolumeZoneConflict"},
            id="a part of the general ones is off",
        ),
        pytest.param(
            {"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}, {}, {"DefaultPreemption"}, id="no preemption"
        ),
    ],
)
def test_newer_words(fields: dict[str, Any], weights: dict[str, int], gone: set[str]) -> None:
    found = profile(newer(**fields))
    named = {name for names in found.points.values() for name in names}
    assert not gone & named
    assert found.score_weights.items() >= weights.items()


def test_all_plugins_can_be_disabled_and_not_enabled() -> None:
    found = mistakes(newer(plugins={"score": {"enabled": [{"name": "*"}]}}))
    assert [message.partition(" (")[0] for message in found.values()] == ['plugin "*" does not exist']


def test_a_ratio_keeps_its_shape() -> None:
    shape = [{"utilization": 0, "score": 3}, {"utilization": 100, "score": 10}]
    strategy = {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "example.com/gpu", "weight": 3}],
        "requestedToCapacityRatio": {"shape": shape},
    }
    found = profile(newer(pluginConfig=config_of("NodeResourcesFit", scoringStrategy=strategy)))
    args = found.args["RequestedToCapacityRatioPriority"]
    assert [(point.utilization, point.score) for point in args.shape] == [(0, 3), (100, 10)]
    assert [(each.name, each.weight) for each in args.resources] == [("example.com/gpu", 3)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param(
            {"pluginConfig": config_of("NodeAffinity", addedAffinity={})},
            "cannot express addedAffinity of NodeAffinity",
            id="added affinity",
        ),
        pytest.param(
            {"plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}},
            "cannot express the switching off of TaintToleration",
            id="a mandatory predicate",
        ),
        pytest.param(
            {
                "pluginConfig": config_of(
                    "NodeResourcesFit",
                    scoringStrategy={"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 2}]},
                )
            },
            "cannot express scoringStrategy.resources other than cpu and memory",
            id="resources",
        ),
        pytest.param(
            {"pluginConfig": config_of("NodeResourcesFit", ignoredResources=["example.com/a"])},
            "cannot express ignoredResources of NodeResourcesFit",
            id="ignored resources",
        ),
        pytest.param(
            {"pluginConfig": config_of("NodeResourcesFit", ignoredResourceGroups=["example.com"])},
            "cannot express ignoredResources of NodeResourcesFit",
            id="ignored groups of resources",
        ),
        pytest.param(
            {"pluginConfig": config_of("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 1}])},
            "cannot express resources other than cpu and memory of NodeResourcesBalancedAllocation",
            id="balanced resources",
        ),
        pytest.param(
            {"pluginConfig": config_of("InterPodAffinity", ignorePreferredTermsOfExistingPods=True)},
            "cannot express ignorePreferredTermsOfExistingPods of InterPodAffinity",
            id="terms of existing pods",
        ),
        pytest.param(
            {
                "pluginConfig": config_of(
                    "PodTopologySpread",
                    defaultingType="List",
                    defaultConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
                )
            },
            "cannot express defaultConstraints of PodTopologySpread",
            id="constraints by default",
        ),
    ],
)
def test_what_there_were_no_words_for(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load(newer(**fields))


BOTH = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        pytest.param("NodeAffinity", {}, id="no added affinity"),
        pytest.param("NodeResourcesFit", {"scoringStrategy": {"type": "LeastAllocated", "resources": BOTH}}, id="fit"),
        pytest.param("NodeResourcesBalancedAllocation", {"resources": BOTH}, id="balanced resources"),
        pytest.param("NodeResourcesBalancedAllocation", {"resources": BOTH[::-1]}, id="in another order"),
        pytest.param("PodTopologySpread", {"defaultingType": "List"}, id="no constraints by default"),
        pytest.param("DefaultPreemption", {"minCandidateNodesAbsolute": 7}, id="what decides nothing in 1.16"),
        pytest.param("VolumeBinding", {"bindTimeoutSeconds": 7}, id="how long a binding may take"),
    ],
)
def test_arguments_that_change_nothing(plugin: str, args: dict[str, Any]) -> None:
    found = profile(newer(pluginConfig=config_of(plugin, **args)))
    assert (found.points, found.score_weights) == (DEFAULT.points, DEFAULT.score_weights)


def test_the_weight_of_hard_affinity_goes_to_the_priority_if_there_is_one() -> None:
    args = config_of("InterPodAffinity", hardPodAffinityWeight=7)
    found = profile(newer(pluginConfig=args))
    assert found.args["InterPodAffinityPriority"] == InterPodAffinityArgs(hard_pod_affinity_weight=7)
    off = profile(newer(pluginConfig=args, plugins={"score": {"disabled": [{"name": "InterPodAffinity"}]}}))
    assert "InterPodAffinityPriority" not in off.score_weights
    assert off.args.get("InterPodAffinityPriority") != InterPodAffinityArgs(hard_pod_affinity_weight=7)


@pytest.mark.parametrize(
    ("shape", "field", "text"),
    [
        pytest.param([], "", "at least one point must be given", id="no point"),
        pytest.param([(0, 0)], "", "", id="one point"),
        pytest.param([(0, 0), (100, 10)], "", "", id="at the bounds"),
        pytest.param([(-1, 0)], "[0].utilization", "-1 is not in the valid range [0, 100]", id="a utilization below"),
        pytest.param([(101, 0)], "[0].utilization", "101 is not in the valid range [0, 100]", id="a utilization above"),
        pytest.param([(0, -1)], "[0].score", "-1 is not in the valid range [0, 10]", id="a score below"),
        pytest.param([(0, 0), (1, 11)], "[1].score", "11 is not in the valid range [0, 10]", id="a score above"),
        pytest.param([(5, 1), (5, 2)], "[1].utilization", "5: values must increase from point to point", id="one twice"),
        pytest.param([(1, 1), (6, 1), (5, 2)], "[2].utilization", "5: values must increase from point to point", id="unsorted"),
    ],
)  # fmt: skip
def test_the_shape_of_a_ratio(shape: list[tuple[int, int]], field: str, text: str) -> None:
    points_of = [{"utilization": utilization, "score": score} for utilization, score in shape]
    argument = {"requestedToCapacityRatioArguments": {"shape": points_of}}
    document = {**POLICY, "priorities": [{"name": "a", "weight": 1, "argument": argument}]}
    if text:
        path = f"priorities[0].argument.requestedToCapacityRatioArguments.shape{field}"
        assert mistakes(document) == {path: text}
    else:
        assert profile(document).score_weights == {"a": 1}
