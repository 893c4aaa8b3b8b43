"""Every rule that kube-scheduler's own tests of its validation name, and the path at which a mistake is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksched_cli.config.load import load_config
from ksched_cli.errors import ConfigError
from ksched_cli.plan.run.loaded_input import plugin_points
from ksched_cli.releases.minors import RELEASES
from ksched_cli.wiring import make_registry

RELEASE = RELEASES["1.36"]
POINTS = plugin_points(make_registry(), RELEASE)


def paths(document: dict[str, Any], gates: str = "") -> list[str]:
    """Where the mistakes are; nothing for a configuration that is taken."""
    whole = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **document}
    try:
        load_config(json.dumps(whole), "c.yaml", RELEASE, RELEASE.gates(gates), POINTS)
    except ConfigError as mistake:
        return sorted(problem.path for problem in mistake.problems)
    return []


ON: dict[str, Any] = {"leaderElect": True}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"parallelism": 0}, ["parallelism"], id="parallelism"),
        pytest.param({"leaderElection": {**ON, "resourceLock": "configmap"}}, ["leaderElection.resourceLock"], id="lock"),
        pytest.param({"leaderElection": {**ON, "resourceName": "", "resourceNamespace": ""}}, [], id="names by default"),
        pytest.param({"leaderElection": {"leaderElect": False, "resourceLock": "x"}}, [], id="no election"),
        pytest.param({"leaderElection": {"leaseDuration": "5s"}}, ["leaderElection.leaseDuration"], id="short lease"),
        pytest.param({"leaderElection": {"renewDeadline": "-1s"}}, ["leaderElection.renewDeadline"], id="negative"),
        pytest.param({"leaderElection": {"retryPeriod": "soon"}}, ["leaderElection.retryPeriod"], id="no duration"),
        pytest.param({"leaderElection": {"leaderElected": True}}, ["leaderElection.leaderElected"], id="unknown field"),
        pytest.param({"clientConnection": {"burst": -1}}, ["clientConnection.burst"], id="burst"),
        pytest.param({"percentageOfNodesToScore": 101}, ["percentageOfNodesToScore"], id="more than all nodes"),
        pytest.param({"percentageOfNodesToScore": -1}, ["percentageOfNodesToScore"], id="fewer than no nodes"),
        pytest.param({"profiles": [{"schedulerName": "a"}, {}]}, ["profiles[1].schedulerName"], id="no name"),
        pytest.param({"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}, ["profiles[1].schedulerName"],
                     id="a name twice"),
        pytest.param({"profiles": [{"percentageOfNodesToScore": 101}]}, ["profiles[0].percentageOfNodesToScore"],
                     id="more than all nodes for a profile"),
        pytest.param({"profiles": [{"percentageOfNodesToScore": -1}]}, ["profiles[0].percentageOfNodesToScore"],
                     id="fewer than no nodes for a profile"),
        pytest.param({"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p", "weight": -1}]},
                     ["extenders[0].weight"], id="an extender's weight"),
        pytest.param({"extenders": [{"urlPrefix": "http://x", "managedResources": [{"name": "example.com/a"},
                                                                                   {"name": "example.com/a"}]}]},
                     ["extenders[0].managedResources[1].name"], id="an extender's resource twice"),
        pytest.param({"extenders": [{"urlPrefix": "http://x", "managedResources": [
            {"name": "example.com/a"}, {"name": "cpu"}, {"name": "kubernetes.io/b"}, {"name": "requests.c.io/d"}]}]},
                     [f"extenders[0].managedResources[{at}].name" for at in (1, 2, 3)], id="not an extender's resource"),
        pytest.param({"extenders": [{"urlPrefix": "http://x", "managedResources": [{"name": "example.com/"}]}]},
                     ["extenders[0].managedResources[0].name"], id="not a resource"),
        pytest.param({"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p", "weight": 0}]},
                     ["extenders[0].weight"], id="an extender without a weight"),
        pytest.param({"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p", "weight": 1}]}, [],
                     id="an extender with the least weight"),
        pytest.param({"extenders": [{"urlPrefix": "http://x", "weight": 0}]}, [],
                     id="an extender that does not score needs no weight"),
        pytest.param({"extenders": [{"urlPrefix": "http://x", "bindVerb": "b"}, {"urlPrefix": "http://y"}]}, [],
                     id="one extender that binds"),
        pytest.param({"percentageOfNodesToScore": 100}, [], id="all nodes"),
        pytest.param({"percentageOfNodesToScore": 0}, [], id="as many nodes as it sees fit"),
        pytest.param({"extenders": [{"urlPrefix": "http://x", "bindVerb": "b"}] * 2}, ["extenders"],
                     id="two extenders that bind"),
        pytest.param({"parallelism": 1, "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}, [], id="the least"),
        pytest.param({"podInitialBackoffSeconds": 0, "podMaxBackoffSeconds": -1},
                     ["podInitialBackoffSeconds", "podMaxBackoffSeconds"], id="backoffs"),
    ],
)  # fmt: skip
def test_configuration(document: dict[str, Any], expected: list[str]) -> None:
    assert paths(document) == expected


def sorting(name: str, plugin: str) -> dict[str, Any]:
    queue = {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}
    return {"schedulerName": name, "plugins": {"queueSort": queue}}


def test_queues_are_sorted_alike() -> None:
    assert "profiles[1].plugins.queueSort" in paths({"profiles": [sorting("a", "PrioritySort"), sorting("b", "Other")]})
    assert "profiles[1].plugins.queueSort" in paths({"profiles": [{"schedulerName": "a"}, sorting("b", "Other")]})


def test_plugins_of_the_past() -> None:
    gone = [{"name": name} for name in ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")]
    found = paths({"profiles": [{"plugins": {"score": {"enabled": gone}}, "pluginConfig": [{"name": "EBSLimits"}]}]})
    assert {f"profiles[0].plugins.score.enabled[{at}]" for at in range(4)} <= set(found)
    assert "profiles[0].pluginConfig[0]" in found


@pytest.mark.parametrize(
    ("point", "enabled", "expected"),
    [
        pytest.param("multiPoint", ["NodeName", "NodeName"], "multiPoint.enabled[1]", id="twice at all points"),
        pytest.param("filter", ["NodeName", "NodeName"], "filter.enabled[1]", id="twice at one point"),
        pytest.param("filter", ["ImageLocality"], "filter.enabled[0]", id="at a point that it has no part in"),
        pytest.param("multiPoint", ["NodeName", "NodePorts"], "", id="two plugins"),
    ],
)
def test_a_plugin_is_enabled_once_and_where_it_takes_part(point: str, enabled: list[str], expected: str) -> None:
    own = {"enabled": [{"name": name} for name in enabled], "disabled": [{"name": "*"}]}
    found = paths({"profiles": [{"plugins": {point: own}}]})
    assert [each for each in found if each.endswith("]")] == ([f"profiles[0].plugins.{expected}"] if expected else [])


def test_weights_that_could_overflow() -> None:
    """MaxTotalScore is the largest int64, and a plugin scores up to 100."""
    most = (2**63 - 1) // 100
    for weights, expected in (((most,), []), ((most + 1,), ["score"]), ((most, 1), ["score"]), ((most - 1, 1), [])):
        enabled = [
            {"name": name, "weight": weight}
            for name, weight in zip(("ImageLocality", "NodeAffinity"), weights, strict=False)
        ]
        plugins = {
            "score": {"enabled": enabled, "disabled": [{"name": "*"}]},
            "multiPoint": {"disabled": [{"name": "*"}]},
            "queueSort": {"enabled": [{"name": "PrioritySort"}]},
            "bind": {"enabled": [{"name": "DefaultBinder"}]},
        }
        assert paths({"profiles": [{"plugins": plugins}]}) == [f"profiles[0].plugins.{each}" for each in expected]


def test_a_plugin_is_configured_once() -> None:
    twice = [{"name": "NodeAffinity", "args": {}}] * 2
    assert paths({"profiles": [{"pluginConfig": twice}]}) == ["profiles[0].pluginConfig[1]"]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        pytest.param({}, [], id="of the right kind"),
        pytest.param(
            {"kind": "NodeAffinityArgs", "apiVersion": "kubescheduler.config.k8s.io/v1"}, [], id="that says so"
        ),
    ],
)
def test_arguments_may_say_what_they_are(extra: dict[str, Any], expected: list[str]) -> None:
    assert paths({"profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": extra}]}]}) == expected


def shape(*points: tuple[int, int]) -> list[dict[str, int]]:
    return [{"utilization": utilization, "score": score} for utilization, score in points]


def ratio(*points: tuple[int, int]) -> dict[str, Any]:
    return {"scoringStrategy": {"type": "RequestedToCapacityRatio",
                                "requestedToCapacityRatio": {"shape": shape(*points)}}}  # fmt: skip


def weighted(kind: str, *weights: int) -> dict[str, Any]:
    resources = [{"name": f"r{at}", "weight": weight} for at, weight in enumerate(weights)]
    return {"scoringStrategy": {"type": kind, "resources": resources}}


def constraint(**fields: Any) -> dict[str, Any]:
    usual = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"defaultingType": "List", "defaultConstraints": [{**usual, **fields}]}


def terms(*expressions: dict[str, Any], **lists: Any) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": list(expressions), **lists}]}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


TERM = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
SHAPE = "scoringStrategy.requestedToCapacityRatio.shape"
WEIGHT = "scoringStrategy.resources"
SCORING, OFF = "StorageCapacityScoring=true", "DRADeviceBindingConditions=false"
LONG = "x" * 64


@pytest.mark.parametrize(
    ("plugin", "args", "gates", "expected"),
    [
        ("DefaultPreemption", {}, "", []),
        ("DefaultPreemption", {"minCandidateNodesPercentage": -1}, "", ["minCandidateNodesPercentage"]),
        ("DefaultPreemption", {"minCandidateNodesPercentage": 900}, "", ["minCandidateNodesPercentage"]),
        ("DefaultPreemption", {"minCandidateNodesAbsolute": -1}, "", ["minCandidateNodesAbsolute"]),
        ("DefaultPreemption", {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}, "",
         ["minCandidateNodesAbsolute", "minCandidateNodesPercentage"]),
        ("DefaultPreemption", {"minCandidateNodesPercentage": -1, "minCandidateNodesAbsolute": -1}, "",
         ["minCandidateNodesAbsolute", "minCandidateNodesPercentage"]),
        ("InterPodAffinity", {"hardPodAffinityWeight": 10}, "", []),
        ("InterPodAffinity", {"hardPodAffinityWeight": -1}, "", ["hardPodAffinityWeight"]),
        ("InterPodAffinity", {"hardPodAffinityWeight": 101}, "", ["hardPodAffinityWeight"]),
        ("PodTopologySpread", constraint(), "", []),
        ("PodTopologySpread", constraint(maxSkew=-1), "", ["defaultConstraints[0].maxSkew"]),
        ("PodTopologySpread", constraint(topologyKey=""), "", ["defaultConstraints[0].topologyKey"]),
        ("PodTopologySpread", constraint(topologyKey="-"), "", ["defaultConstraints[0].topologyKey"]),
        ("PodTopologySpread", constraint(whenUnsatisfiable=""), "", ["defaultConstraints[0].whenUnsatisfiable"]),
        ("PodTopologySpread", constraint(whenUnsatisfiable="x"), "", ["defaultConstraints[0].whenUnsatisfiable"]),
        ("PodTopologySpread", constraint(labelSelector={}), "", ["defaultConstraints[0].labelSelector"]),
        ("PodTopologySpread", {"defaultingType": "List", "defaultConstraints":
                               constraint()["defaultConstraints"] * 2}, "", ["defaultConstraints[1]"]),
        ("PodTopologySpread", {"defaultingType": "List"}, "", []),
        ("PodTopologySpread", {"defaultingType": "System"}, "", []),
        ("PodTopologySpread", {"defaultingType": "Wrong"}, "", ["defaultingType"]),
        ("PodTopologySpread", {**constraint(), "defaultingType": "System"}, "", ["defaultingType"]),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 1}]}, "", []),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 2}]}, "", ["resources[0].weight"]),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 1}] * 2}, "",
         ["resources[1].name"]),
        ("NodeAffinity", {}, "", []),
        ("NodeAffinity", terms({"key": "a", "operator": "In", "values": ["b"]}), "", []),
        ("NodeAffinity", terms({"key": "a", "operator": "In"}), "", [f"{TERM}.matchExpressions[0].values"]),
        ("NodeAffinity", terms({"key": "-a", "operator": "Exists"}), "", [f"{TERM}.matchExpressions[0].key"]),
        ("NodeAffinity", terms({"key": "a", "operator": "In", "values": ["-"]}), "",
         [f"{TERM}.matchExpressions[0].values[0][a]"]),
        ("NodeAffinity", terms({"key": "example.com/a", "operator": "In", "values": ["b", "-"]}), "",
         [f"{TERM}.matchExpressions[0].values[1][example.com/a]"]),
        ("NodeAffinity", terms({"key": "a", "operator": "Like"}), "", [f"{TERM}.matchExpressions[0].operator"]),
        ("NodeAffinity", terms({"key": "a", "operator": "Exists"}, {"key": "a", "operator": "exists"}), "",
         [f"{TERM}.matchExpressions[1].operator"]),
        ("NodeAffinity", terms(matchFields=[{"key": "metadata.name", "operator": "Exists"}]), "",
         [f"{TERM}.matchFields[0].operator"]),
        ("NodeAffinity", terms(matchFields=[{"key": "metadata.name", "operator": "NotIn", "values": ["a"]}]), "", []),
        ("NodeAffinity", {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}},
            {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}]}}, "",
         ["addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].matchExpressions[0].operator"]),
        ("NodeAffinity", terms(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]), "",
         [f"{TERM}.matchFields[0].values"]),
        ("NodeAffinity", {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}}]}}, "",
         ["addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].matchExpressions[0].values[0]"]),
        ("VolumeBinding", {"bindTimeoutSeconds": 0}, "", []),
        ("VolumeBinding", {"bindTimeoutSeconds": 10}, "", []),
        ("VolumeBinding", {"bindTimeoutSeconds": 10}, SCORING, []),
        ("VolumeBinding", {"bindTimeoutSeconds": -10}, "", ["bindTimeoutSeconds"]),
        ("VolumeBinding", {"shape": shape((0, 1))}, "", ["shape"]),
        ("VolumeBinding", {"shape": shape((0, 1))}, SCORING, []),
        ("VolumeBinding", {"shape": shape((20, 1), (10, 2))}, SCORING, ["shape[1].utilization"]),
        ("VolumeBinding", {"shape": shape((-10, 1), (0, 11))}, SCORING, ["shape[0].utilization", "shape[1].score"]),
        ("NodeResourcesFit", {"ignoredResources": ["example.com/a", "b"]}, "", []),
        ("NodeResourcesFit", {"ignoredResources": [f"example.com/{LONG}"]}, "", ["ignoredResources[0]"]),
        ("NodeResourcesFit", {"ignoredResources": [""]}, "", ["ignoredResources[0]"]),
        ("NodeResourcesFit", {"ignoredResources": ["example.com/a/b"]}, "", ["ignoredResources[0]"]),
        ("NodeResourcesFit", {"ignoredResourceGroups": ["example.com"]}, "", []),
        ("NodeResourcesFit", {"ignoredResourceGroups": [""]}, "", ["ignoredResourceGroups[0]"]),
        ("NodeResourcesFit", {"ignoredResourceGroups": [LONG]}, "", ["ignoredResourceGroups[0]"]),
        ("NodeResourcesFit", {"ignoredResourceGroups": ["example.com/a"]}, "", ["ignoredResourceGroups[0]"]),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "Invalid"}}, "", ["scoringStrategy.type"]),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio"}}, "",
         ["scoringStrategy.requestedToCapacityRatio"]),
        ("NodeResourcesFit", {"scoringStrategy": {**ratio((0, 1))["scoringStrategy"], "type": "MostAllocated"}}, "",
         ["scoringStrategy.requestedToCapacityRatio"]),
        ("NodeResourcesFit", ratio((0, 0), (100, 10)), "", []),
        ("NodeResourcesFit", ratio((0, 0), (101, 10)), "", [f"{SHAPE}[1].utilization"]),
        ("InterPodAffinity", {"hardPodAffinityWeight": 100}, "", []),
        ("InterPodAffinity", {"hardPodAffinityWeight": 0}, "", []),
        ("DefaultPreemption", {"minCandidateNodesPercentage": 100}, "", []),
        ("DefaultPreemption", {"minCandidateNodesPercentage": 101}, "", ["minCandidateNodesPercentage"]),
        ("NodeResourcesFit", weighted("LeastAllocated", 1, 100), "", []),
        ("NodeResourcesFit", weighted("LeastAllocated", -1), "", [f"{WEIGHT}[0].weight"]),
        ("NodeResourcesFit", weighted("LeastAllocated", 1, 101), "", [f"{WEIGHT}[1].weight"]),
        ("NodeResourcesFit", weighted("MostAllocated", -1, 101), "", [f"{WEIGHT}[0].weight", f"{WEIGHT}[1].weight"]),
        ("NodeResourcesFit", ratio(), "", [SHAPE]),
        ("NodeResourcesFit", ratio((30, 3), (40, 4)), "", []),
        ("NodeResourcesFit", ratio((-10, 3)), "", [f"{SHAPE}[0].utilization"]),
        ("NodeResourcesFit", ratio((120, 3)), "", [f"{SHAPE}[0].utilization"]),
        ("NodeResourcesFit", ratio((10, 3), (20, 4), (20, 5)), "", [f"{SHAPE}[2].utilization"]),
        ("NodeResourcesFit", ratio((10, 3), (20, 4), (15, 5)), "", [f"{SHAPE}[2].utilization"]),
        ("NodeResourcesFit", ratio((30, 3), (20, 4), (10, 5)), "", [f"{SHAPE}[1].utilization"]),
        ("NodeResourcesFit", ratio((10, -1)), "", [f"{SHAPE}[0].score"]),
        ("NodeResourcesFit", ratio((10, 11)), "", [f"{SHAPE}[0].score"]),
        ("DynamicResources", {"filterTimeout": "10s", "bindingTimeout": "1s"}, "", []),
        ("DynamicResources", {"filterTimeout": "0s"}, "", []),
        ("DynamicResources", {"filterTimeout": "-1s"}, "", ["filterTimeout"]),
        ("DynamicResources", {"filterTimeout": "-1s"}, "DRASchedulerFilterTimeout=false", ["filterTimeout"]),
        ("DynamicResources", {"filterTimeout": "soon"}, "", ["filterTimeout"]),
        ("DynamicResources", {"bindingTimeout": "0s"}, "", ["bindingTimeout"]),
        ("DynamicResources", {"bindingTimeout": "-1s"}, "", ["bindingTimeout"]),
        ("DynamicResources", {"bindingTimeout": "30s"}, OFF, ["bindingTimeout"]),
        ("DynamicResources", {"bindingTimeout": "30s"}, f"{OFF},DRAResourceClaimDeviceStatus=false",
         ["bindingTimeout"]),
    ],
)  # fmt: skip
def test_arguments(plugin: str, args: dict[str, Any], gates: str, expected: list[str]) -> None:
    found = paths({"profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]}, gates)
    assert found == [f"profiles[0].pluginConfig[0].args.{each}" for each in expected]


def test_a_default_constraint_that_stands_twice_is_named_by_its_key_and_action() -> None:
    twice = {"defaultingType": "List", "defaultConstraints": constraint()["defaultConstraints"] * 2}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    document = {**head, "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": twice}]}]}
    with pytest.raises(ConfigError, match=r"\{zone, DoNotSchedule\} is there twice"):
        load_config(json.dumps(document), "c.yaml", RELEASE, RELEASE.gates(), POINTS)


@pytest.mark.parametrize(
    ("election", "message"),
    [
        ({"leaseDuration": "5s"}, "5s is not greater than renewDeadline, 10s"),
        ({"renewDeadline": "20s"}, "15s is not greater than renewDeadline, 20s"),
        ({"leaseDuration": "10s", "renewDeadline": "10s"}, "10s is not greater than renewDeadline, 10s"),
    ],
    ids=["a lease", "a deadline", "both"],
)
def test_a_lease_is_compared_with_the_default_too(election: dict[str, str], message: str) -> None:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    with pytest.raises(ConfigError) as caught:
        load_config(json.dumps({**head, "leaderElection": election}), "c", RELEASE, RELEASE.gates(), POINTS)
    assert [problem.message for problem in caught.value.problems] == [message]
