"""Configurations as each minor reads them: default plugins, versions, fields that came later, and newer ones restated."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from ksched_cli.config.load import load_config
from ksched_cli.config.model import ResolvedProfile, SchedulerConfiguration, expand_profile
from ksched_cli.config.plugin_args import NodeResourcesFitArgs
from ksched_cli.config.view import configuration_document
from ksched_cli.errors import ConfigError
from ksched_cli.plan.run.loaded_input import plugin_points
from ksched_cli.releases.minors import RELEASES, Release
from ksched_cli.wiring import make_registry
from tests.lanes import sampled

GROUP = "kubescheduler.config.k8s.io"
SINCE_1_23 = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
V1BETA2 = {
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "InterPodAffinity": 1,
    "NodeResourcesFit": 1,
    "NodeAffinity": 1,
    "PodTopologySpread": 2,
    "TaintToleration": 1,
}
V1BETA1 = {key: value for key, value in V1BETA2.items() if key != "NodeResourcesFit"} | {
    "NodeResourcesLeastAllocated": 1,
    "NodePreferAvoidPods": 10000,
}


def load(minor: str, document: dict[str, Any], version: str = "", gates: str = "") -> SchedulerConfiguration:
    release = RELEASES[minor]
    api_version = f"{GROUP}/{version}" if version else release.config.read[0]
    text = json.dumps({"apiVersion": api_version, "kind": "KubeSchedulerConfiguration", **document})
    return load_config(text, "c.yaml", release, release.gates(gates), points(release))


def points(release: Release) -> Any:
    return plugin_points(make_registry(current=release), release)


def resolved(minor: str, configuration: SchedulerConfiguration | None = None, gates: str = "") -> ResolvedProfile:
    release = RELEASES[minor]
    given = release.gates(gates)
    profile = (configuration or SchedulerConfiguration()).profiles[0]
    return expand_profile(profile, release, given, points(release))


def profile(**fields: Any) -> dict[str, Any]:
    return {"profiles": [{"schedulerName": "default-scheduler", **fields}]}


@pytest.mark.parametrize(
    ("minor", "version", "weights"),
    [
        pytest.param("1.19", "v1beta1", {**V1BETA1, "SelectorSpread": 1}, id="1.19"),
        pytest.param("1.20", "v1beta1", V1BETA1, id="1.20"),
        pytest.param("1.21", "v1beta1", V1BETA1, id="1.21"),
        pytest.param("1.22", "v1beta1", V1BETA1, id="1.22 v1beta1"),
        pytest.param("1.22", "", V1BETA2, id="1.22"),
        pytest.param("1.25", "v1beta2", V1BETA2, id="1.25 v1beta2"),
        pytest.param("1.23", "", SINCE_1_23, id="1.23"),
        pytest.param("1.25", "v1beta3", SINCE_1_23, id="1.25 v1beta3"),
        pytest.param("1.33", "v1", SINCE_1_23, id="1.33"),
        pytest.param("1.34", "v1", SINCE_1_23, id="1.34"),
        pytest.param("1.35", "v1", {**SINCE_1_23, "DynamicResources": 2}, id="1.35"),
    ],
)
def test_default_weights(minor: str, version: str, weights: dict[str, int]) -> None:
    assert resolved(minor, load(minor, {}, version)).score_weights == weights


@pytest.mark.parametrize(
    ("minor", "point", "plugins"),
    [
        pytest.param("1.33", "preEnqueue", ("SchedulingGates", "DefaultPreemption"), id="1.33 preEnqueue"),
        pytest.param(
            "1.34", "preEnqueue", ("SchedulingGates", "DynamicResources", "DefaultPreemption"), id="1.34 preEnqueue"
        ),
        pytest.param("1.28", "preEnqueue", ("SchedulingGates",), id="1.28 preEnqueue"),
        pytest.param("1.21", "preEnqueue", (), id="1.21 preEnqueue"),
        pytest.param(
            "1.19",
            "filter",
            (
                *("NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
                *("VolumeRestrictions", "TaintToleration", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits"),
                *("AzureDiskLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity"),
            ),
            id="1.19 filter",
        ),
        pytest.param(
            "1.20",
            "preFilter",
            ("NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity", "VolumeBinding"),
            id="1.20 preFilter",
        ),
        pytest.param(
            "1.20", "preScore", ("InterPodAffinity", "PodTopologySpread", "TaintToleration"), id="1.20 preScore"
        ),
        pytest.param("1.33", "postFilter", ("DefaultPreemption",), id="1.33 postFilter"),
        pytest.param("1.34", "postFilter", ("DynamicResources", "DefaultPreemption"), id="1.34 postFilter"),
        pytest.param(
            "1.21",
            "preFilter",
            ("NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity", "VolumeBinding", "NodeAffinity"),
            id="1.21 preFilter",
        ),
        pytest.param(
            "1.28",
            "filter",
            (
                *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
                *("VolumeRestrictions", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits"),
                *("VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity"),
            ),
            id="1.28 filter",
        ),
        pytest.param(
            "1.28",
            "preScore",
            (
                *("TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread"),
                *("InterPodAffinity", "NodeResourcesBalancedAllocation"),
            ),
            id="1.28 preScore",
        ),
        pytest.param(
            "1.33",
            "preScore",
            (
                *("TaintToleration", "NodeAffinity", "NodeResourcesFit", "VolumeBinding", "PodTopologySpread"),
                *("InterPodAffinity", "NodeResourcesBalancedAllocation"),
            ),
            id="1.33 preScore",
        ),
        pytest.param("1.33", "reserve", ("VolumeBinding",), id="1.33 reserve"),
        pytest.param("1.34", "preBind", ("VolumeBinding", "DynamicResources"), id="1.34 preBind"),
    ],
)
def test_default_plugins(minor: str, point: str, plugins: tuple[str, ...]) -> None:
    assert resolved(minor).points[point] == plugins


def test_a_gate_brings_selector_spread_back() -> None:
    by_gate = resolved("1.21", gates="DefaultPodTopologySpread=false")
    assert (by_gate.points["preScore"][-1], by_gate.score_weights["SelectorSpread"]) == ("SelectorSpread", 1)
    assert resolved("1.23", gates="DefaultPodTopologySpread=false").score_weights["SelectorSpread"] == 1


CONSTRAINT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.mark.parametrize(
    ("minor", "version", "gates", "args", "expected"),
    [
        pytest.param("1.36", "v1", "", None, "System", id="without arguments"),
        pytest.param("1.36", "v1", "", {}, "System", id="with none of them"),
        pytest.param("1.36", "v1", "", {"defaultingType": "List"}, "List", id="as it is told"),
        pytest.param("1.23", "v1beta3", "DefaultPodTopologySpread=false", None, "List", id="gate off, no arguments"),
        pytest.param("1.23", "v1beta3", "DefaultPodTopologySpread=false", {}, "List", id="gate off"),
        pytest.param("1.23", "v1beta3", "DefaultPodTopologySpread=false", {"defaultingType": "System"}, "System",
                     id="gate off, and told otherwise"),
        pytest.param("1.22", "v1beta1", "", {"defaultConstraints": [CONSTRAINT]}, "List", id="own constraints, v1beta1"),
        pytest.param("1.22", "v1beta2", "", {"defaultConstraints": [CONSTRAINT]}, None, id="own constraints, v1beta2"),
    ],
)  # fmt: skip
def test_how_pods_are_spread_by_default(
    minor: str, version: str, gates: str, args: dict[str, Any] | None, expected: str | None
) -> None:
    configs = [] if args is None else [{"name": "PodTopologySpread", "args": args}]
    document = {"profiles": [{"schedulerName": "default-scheduler", "pluginConfig": configs}]}
    if expected is None:
        with pytest.raises(ConfigError, match="must be List when defaultConstraints are given"):
            load(minor, document, version, gates)
    else:
        found = resolved(minor, load(minor, document, version, gates), gates).args["PodTopologySpread"]
        assert found.defaulting_type == expected


@pytest.mark.parametrize("gates", ["", "DefaultPodTopologySpread=false"])
def test_what_view_prints_of_spreading_means_the_same(gates: str) -> None:
    release = RELEASES["1.23"]
    given = release.gates(gates)
    shown = yaml.safe_dump(configuration_document(SchedulerConfiguration(), release, given))
    again = load_config(shown, "shown", release, given, points(release))
    assert resolved("1.23", again, gates) == resolved("1.23", gates=gates)


@pytest.mark.parametrize("minor", sampled(RELEASES, 5))
def test_what_view_prints_means_the_same(minor: str) -> None:
    release = RELEASES[minor]
    gates = release.gates()
    shown = yaml.safe_dump(configuration_document(SchedulerConfiguration(), release, gates))
    assert resolved(minor, load_config(shown, "shown", release, gates, points(release))) == resolved(minor)


FIRST_FIELDS = {"schedulerName": "mine", "disablePreemption": True, "bindTimeoutSeconds": 7}


@pytest.mark.parametrize(
    ("minor", "version", "fields"),
    [
        pytest.param(
            "1.17", "v1alpha1", {**FIRST_FIELDS, "hardPodAffinitySymmetricWeight": 5}, id="v1alpha1 without profiles"
        ),
        pytest.param(
            "1.18",
            "v1alpha2",
            {"disablePreemption": True, "bindTimeoutSeconds": 7, "profiles": [{"schedulerName": "mine"}]},
            id="v1alpha2 with profiles",
        ),
    ],
)
def test_view_prints_the_fields_that_only_the_first_versions_have(
    minor: str, version: str, fields: dict[str, Any]
) -> None:
    release = RELEASES[minor]
    given = load(minor, fields, version)
    shown = configuration_document(given, release, release.gates())
    own = {name: shown[name] for name in fields if name != "profiles"}
    assert own == {name: value for name, value in fields.items() if name != "profiles"}
    assert ("profiles" in shown) == ("profiles" in fields)
    plugins = shown["profiles"][0]["plugins"] if "profiles" in fields else shown["plugins"]
    assert ("postFilter" in plugins, "preScore" in plugins) == (version == "v1alpha1", version == "v1alpha2")
    again = load_config(yaml.safe_dump(shown), "shown", release, release.gates(), points(release))
    assert resolved(minor, again) == resolved(minor, given)


@pytest.mark.parametrize(
    ("minor", "version", "said"),
    [
        pytest.param(
            "1.36", "v1beta3", "does not read apiVersion kubescheduler.config.k8s.io/v1beta3", id="removed in 1.29"
        ),
        pytest.param(
            "1.28", "v1beta2", "(use kubescheduler.config.k8s.io/v1 or kubescheduler", id="the others are named"
        ),
        pytest.param("1.29", "v1beta3", "v1; ksched config migrate rewrites it)", id="migrate reads it"),
        pytest.param("1.23", "v1beta1", "1.23 does not read", id="v1beta1 after 1.22"),
        pytest.param(
            "1.36", "v1alpha1", "does not read apiVersion kubescheduler.config.k8s.io/v1alpha1", id="the first"
        ),
        pytest.param("1.36", "v2", "does not read apiVersion kubescheduler.config.k8s.io/v2", id="no such version"),
        pytest.param("1.36", "v2", "(use kubescheduler.config.k8s.io/v1)", id="migrate does not read it"),
    ],
)
def test_versions_that_are_not_read(minor: str, version: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(minor, {}, version)
    assert [problem.path for problem in refused.value.problems] == ["apiVersion"]
    assert said in str(refused.value.problems[0])


@pytest.mark.parametrize(
    ("minor", "version", "document", "path"),
    [
        pytest.param("1.36", "v1", {"healthzBindAddress": "0.0.0.0:0"}, "healthzBindAddress", id="no address in v1"),
        pytest.param("1.23", "v1beta3", {"metricsBindAddress": ""}, "metricsBindAddress", id="nor in v1beta3"),
        pytest.param("1.23", "v1beta2", {"metricsBindAddress": ":0"}, "metricsBindAddress", id="an address without IP"),
        pytest.param("1.23", "v1beta2", {"metricsBindAddress": "0.0.0.0:10251"}, "metricsBindAddress", id="a port"),
        pytest.param("1.23", "v1beta2", {"metricsBindAddress": "0.0.0.0:0"}, "", id="port 0"),
        pytest.param("1.22", "v1beta1", {"healthzBindAddress": "0.0.0.0:10251"}, "", id="a port in its time"),
        pytest.param(
            "1.27",
            "v1beta2",
            {"leaderElection": {"resourceLock": "endpointsleases"}},
            "leaderElection.resourceLock",
            id="an old lock",
        ),
        pytest.param("1.26", "v1beta2", {"leaderElection": {"resourceLock": "endpointsleases"}}, "", id="in its time"),
        pytest.param(
            "1.22",
            "v1beta1",
            profile(plugins={"score": {"enabled": [{"name": "NodeResourcesFit"}]}}),
            "profiles[0].plugins.score",
            id="resources scored twice",
        ),
        pytest.param(
            "1.22",
            "v1beta1",
            profile(
                plugins={
                    "score": {
                        "enabled": [{"name": "NodeResourcesFit"}],
                        "disabled": [{"name": "NodeResourcesLeastAllocated"}],
                    }
                }
            ),
            "",
            id="resources scored by the strategy",
        ),
    ],
)
def test_what_versions_of_the_configuration_take(minor: str, version: str, document: dict[str, Any], path: str) -> None:
    """`path`: what is refused."""
    if not path:
        assert load(minor, document, version).profiles
        return
    with pytest.raises(ConfigError) as refused:
        load(minor, document, version)
    assert [problem.path for problem in refused.value.problems] == [path]


FIT = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}


@pytest.mark.parametrize(
    ("minor", "version", "document", "path", "hint"),
    [
        pytest.param(
            "1.22",
            "v1beta2",
            profile(plugins={"multiPoint": {"enabled": [{"name": "NodeAffinity"}]}}),
            "profiles[0].plugins.multiPoint",
            "v1beta3",
            id="multiPoint",
        ),
        pytest.param(
            "1.21",
            "",
            profile(pluginConfig=[FIT]),
            "profiles[0].pluginConfig[0].args.scoringStrategy",
            "1.22",
            id="strategy",
        ),
        pytest.param(
            "1.25",
            "",
            profile(percentageOfNodesToScore=5),
            "profiles[0].percentageOfNodesToScore",
            "1.26",
            id="percentage",
        ),
        pytest.param(
            "1.25", "", profile(plugins={"preEnqueue": {}}), "profiles[0].plugins.preEnqueue", "1.26", id="preEnqueue"
        ),
        pytest.param("1.27", "", {"delayCacheUntilActive": True}, "delayCacheUntilActive", "1.28", id="top level"),
        pytest.param("1.19", "", {"parallelism": 8}, "parallelism", "1.20", id="parallelism"),
        pytest.param(
            "1.19",
            "",
            profile(pluginConfig=[{"name": "PodTopologySpread", "args": {"defaultingType": "List"}}]),
            "profiles[0].pluginConfig[0].args.defaultingType",
            "1.20",
            id="how to spread by default",
        ),
        pytest.param(
            "1.26",
            "",
            profile(pluginConfig=[{"name": "InterPodAffinity", "args": {"ignorePreferredTermsOfExistingPods": True}}]),
            "profiles[0].pluginConfig[0].args.ignorePreferredTermsOfExistingPods",
            "1.27",
            id="argument",
        ),
    ],
)
def test_fields_that_came_later(minor: str, version: str, document: dict[str, Any], path: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(minor, document, version)
    (problem,) = refused.value.problems
    assert (problem.path, problem.hint.endswith(hint)) == (path, True)
    assert "unknown field" in problem.message
    load("1.36", document)


@pytest.mark.parametrize(
    ("minor", "version", "plugin", "taken"),
    [
        pytest.param("1.30", "v1", "EBSLimits", True, id="in-tree limits in 1.30"),
        pytest.param("1.31", "v1", "EBSLimits", False, id="in-tree limits in 1.31"),
        pytest.param("1.25", "v1beta3", "SelectorSpread", True, id="SelectorSpread in v1beta3"),
        pytest.param("1.25", "v1", "SelectorSpread", False, id="SelectorSpread in v1"),
        pytest.param("1.22", "v1beta1", "NodeLabel", True, id="NodeLabel in v1beta1"),
        pytest.param("1.22", "v1beta2", "NodeLabel", False, id="NodeLabel in v1beta2"),
        pytest.param("1.23", "v1beta2", "NodeLabel", False, id="NodeLabel in 1.23"),
        pytest.param("1.34", "v1", "NodeDeclaredFeatures", False, id="before its time"),
        pytest.param("1.25", "v1beta3", "DynamicResources", False, id="DynamicResources before 1.26"),
        pytest.param("1.36", "v1", "NodePreferAvoidPods", False, id="of v1beta1 only"),
    ],
)
def test_plugins_of_other_times(minor: str, version: str, plugin: str, taken: bool) -> None:
    point = "preScore" if plugin == "SelectorSpread" else "filter"
    document = profile(plugins={point: {"disabled": [{"name": "*"}], "enabled": [{"name": plugin}]}})
    if taken:
        assert resolved(minor, load(minor, document, version)).points[point] == (plugin,)
        return
    with pytest.raises(ConfigError, match="does not exist"):
        load(minor, document, version)


# Newer configurations, said in the terms of an older minor


@pytest.mark.parametrize(
    ("document", "weights"),
    [
        pytest.param(profile(), V1BETA1, id="nothing said"),
        pytest.param(
            profile(pluginConfig=[FIT]),
            {
                ("NodeResourcesMostAllocated" if key == "NodeResourcesLeastAllocated" else key): value
                for key, value in V1BETA1.items()
            },
            id="a strategy is a plugin",
        ),
        pytest.param(
            profile(
                plugins={"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality", "weight": 7}]}}
            ),
            {"ImageLocality": 7},
            id="all off",
        ),
        pytest.param(
            profile(
                plugins={"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality", "weight": 7}]}},
                pluginConfig=[FIT],
            ),
            {"ImageLocality": 7},
            id="all off, with a strategy",
        ),
        pytest.param(
            profile(
                plugins={
                    "score": {
                        "disabled": [{"name": "NodeResourcesFit"}],
                        "enabled": [{"name": "NodeResourcesFit", "weight": 10}],
                    }
                }
            ),
            {**V1BETA1, "NodeResourcesLeastAllocated": 10},
            id="another weight",
        ),
        pytest.param(
            profile(plugins={"multiPoint": {"disabled": [{"name": "TaintToleration"}]}}),
            {key: value for key, value in V1BETA1.items() if key != "TaintToleration"},
            id="off everywhere",
        ),
        pytest.param(
            profile(plugins={"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 9}]}}),
            {**V1BETA1, "NodeAffinity": 9},
            id="another weight in MultiPoint",
        ),
    ],
)
def test_a_newer_configuration_in_older_terms(document: dict[str, Any], weights: dict[str, int]) -> None:
    configuration = load("1.21", document, "v1")
    assert configuration.restated_from == f"{GROUP}/v1"
    assert resolved("1.21", configuration).score_weights == weights


@pytest.mark.parametrize("weight", [0, 9])
def test_a_default_plugin_in_multi_point_keeps_its_places(weight: int) -> None:
    document = profile(plugins={"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": weight}]}})
    found, usual = (resolved("1.21", load("1.21", each, "v1")) for each in (document, profile()))
    assert {point: set(names) for point, names in found.points.items()} == {k: set(v) for k, v in usual.points.items()}
    assert found.points["filter"] == usual.points["filter"]


def test_another_plugin_in_multi_point_runs_at_its_points() -> None:
    document = profile(plugins={"multiPoint": {"enabled": [{"name": "NodeLabel", "weight": 2}]}})
    found = resolved("1.21", load("1.21", document, "v1"))
    assert {point for point, names in found.points.items() if "NodeLabel" in names} == {"filter", "score"}
    assert found.score_weights["NodeLabel"] == 2


def test_a_strategy_leaves_the_other_arguments() -> None:
    args = {**FIT["args"], "ignoredResources": ["example.com/gpu"]}
    found = resolved("1.21", load("1.21", profile(pluginConfig=[{"name": "NodeResourcesFit", "args": args}]), "v1"))
    assert found.args["NodeResourcesFit"] == NodeResourcesFitArgs(ignored_resources=("example.com/gpu",))


def test_off_everywhere_is_off_at_every_point() -> None:
    document = profile(plugins={"multiPoint": {"disabled": [{"name": "TaintToleration"}]}})
    found = resolved("1.21", load("1.21", document, "v1"))
    assert not [point for point, names in found.points.items() if "TaintToleration" in names]
    assert found.points["queueSort"] == ("PrioritySort",)


@pytest.mark.parametrize(
    ("plugin", "args", "unsaid"),
    [
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 1}, {"name": "example.com/gpu", "weight": 1}]},
            "resources other than cpu and memory",
            id="balanced",
        ),
        pytest.param(
            "InterPodAffinity",
            {"ignorePreferredTermsOfExistingPods": True},
            "ignorePreferredTermsOfExistingPods",
            id="affinity",
        ),
    ],
)
def test_what_an_older_minor_cannot_be_told(plugin: str, args: dict[str, Any], unsaid: str) -> None:
    with pytest.raises(ConfigError, match=f"1.21 cannot express {unsaid} of {plugin}"):
        load("1.21", profile(pluginConfig=[{"name": plugin, "args": args}]), "v1")
