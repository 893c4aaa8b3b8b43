"""How far a node is from taking a pod, and what rooms say about pods that are near and ports that are taken."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.framework.reasons import RejectionGuide
from ksched_cli.plugins.dynamic_resources import DevicesGuide
from ksched_cli.plugins.inter_pod_affinity import PodAffinityGuide
from ksched_cli.plugins.node_ports import PortsGuide
from ksched_cli.plugins.node_resources_fit.guide import FitGuide
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread, SpreadGuide
from ksched_cli.plugins.taint_toleration import TaintGuide
from tests.builders import make_node, make_pod
from tests.harness import make_bench
from tests.plugins.test_guides import Place, figures_of, texts_of


def devices_of(request: str, fitting: int, in_use: int = 0, capacity: int = 0) -> dict[str, Any]:
    """A request for two devices, and how many the node has for it."""
    return {"claim": "c", "request": request, "wanted": 2, "fitting": fitting, "inUse": in_use, "capacity": capacity}


def amounts(asked: int, allocatable: int, short: int = 1) -> dict[str, int]:
    return {"asked": asked, "allocatable": allocatable, "short": short}


@pytest.mark.parametrize(
    ("guide", "figures", "shortage", "ends"),
    [
        pytest.param(FitGuide(), {"cpu": amounts(8, 8, 2)}, 0.25, True, id="the empty node is as large as the pod"),
        pytest.param(FitGuide(), {"cpu": amounts(8, 7, 2)}, 0.25, False, id="the empty node is too small"),
        pytest.param(
            FitGuide(), {"cpu": amounts(8, 7, 2), "pods": amounts(1, 1)}, 1.25, False, id="too small in one of two"
        ),
        pytest.param(DevicesGuide(), {"deviceRequests": [devices_of("r", 1, 1)]}, 0.5, True, id="one is in use"),
        pytest.param(DevicesGuide(), {"deviceRequests": [devices_of("r", 1, 0, 1)]}, 0.5, True, id="one is used up"),
        pytest.param(DevicesGuide(), {"deviceRequests": [devices_of("r", 1)]}, 1.5, False, id="there is only one"),
        pytest.param(
            DevicesGuide(),
            {"deviceRequests": [devices_of("q", 0, 2), devices_of("r", 0)]},
            3.0,
            False,
            id="in use, and not there",
        ),
        pytest.param(
            DevicesGuide(),
            {"deviceRequests": [devices_of("r/a", 0), devices_of("r/b", 0, 2)]},
            3.0,
            True,
            id="an alternative is in use",
        ),
        pytest.param(
            DevicesGuide(),
            {"deviceRequests": [devices_of("q/a", 0, 2), devices_of("r/a", 0)]},
            3.0,
            False,
            id="an alternative of another request is in use",
        ),
        pytest.param(DevicesGuide(), {"lacking": {"cpu": amounts(4, 4)}}, 1.0, True, id="cpu of the claim is in use"),
        pytest.param(
            DevicesGuide(),
            {"lacking": {"cpu": amounts(4, 4), "memory": amounts(4, 3)}},
            1.0,
            False,
            id="cpu of the claim is in use, and the node is too small",
        ),
    ],
)
def test_how_far_a_node_is_from_taking_the_pod(
    guide: RejectionGuide, figures: Any, shortage: float, ends: bool
) -> None:
    """`ends`: a new empty node of the same size would take the pod."""
    assert (guide.shortage(figures), guide.ends_on_empty_node(figures)) == (shortage, ends)


@pytest.mark.parametrize(
    ("pod", "port", "ways"),
    [
        pytest.param(
            make_pod().host_port(80).host_port(81), "0.0.0.0:80/TCP", [["do without host port 80/TCP"], ["delete a/x"]],
            id="one of two ports",
        ),
        pytest.param(
            make_pod().host_port(53, "UDP", "10.0.0.1"), "10.0.0.1:53/UDP",
            [["do without host port 10.0.0.1:53/UDP"], ["delete a/x"]], id="at an address, by another protocol",
        ),
        pytest.param(make_pod().host_port(81), "0.0.0.0:80/TCP", [["delete a/x"]], id="a port that no container has"),
        pytest.param(
            make_pod().host_port(80).spec(hostNetwork=True), "0.0.0.0:80/TCP", [["delete a/x"]],
            id="every port of a pod in the node's network is a host port",
        ),
    ],
)  # fmt: skip
def test_changes_for_a_taken_port(pod: Any, port: str, ways: list[list[str]]) -> None:
    figures = {"ports": [{"port": port, "heldBy": ["a/x"]}]}
    assert texts_of(PortsGuide(), figures, Place(pod.obj(), make_node().obj())) == ways


class TaintedPlace(Place):
    def tolerate(self, taint: Any) -> tuple[str, tuple[Any, ...]]:
        return f"tolerate {taint}", ()

    def untaint(self, taint: Any) -> tuple[str, tuple[Any, ...]]:
        return f"untaint {taint}", ()

    def uncordon(self) -> tuple[str, tuple[Any, ...]]:
        return "uncordon", ()


CORDONED, DOWN = "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"


@pytest.mark.parametrize(
    ("cordoned", "taints", "words", "problems", "ends", "ways"),
    [
        pytest.param(
            True, [CORDONED], f"taint {CORDONED}:NoSchedule not tolerated", [], True,
            [[f"tolerate {CORDONED}:NoSchedule"], ["uncordon"]], id="a cordoned node",
        ),
        pytest.param(
            False, [CORDONED], f"taint {CORDONED}:NoSchedule not tolerated", [f"have taint {CORDONED}:NoSchedule"], True,
            [[f"tolerate {CORDONED}:NoSchedule"], [f"untaint {CORDONED}:NoSchedule"]], id="its taint alone",
        ),
        pytest.param(
            True, ["own", DOWN], f"taints own:NoSchedule, {DOWN}:NoSchedule not tolerated",
            ["have taint own:NoSchedule", f"have taint {DOWN}:NoSchedule"], False,
            [["tolerate own:NoSchedule", f"tolerate {DOWN}:NoSchedule"],
             ["untaint own:NoSchedule", f"untaint {DOWN}:NoSchedule"]],
            id="a taint of its own, and one of its state",
        ),
    ],
)  # fmt: skip
def test_taints(
    cordoned: bool, taints: list[str], words: str, problems: list[str], ends: bool, ways: list[list[str]]
) -> None:
    """The node has another taint, which the pod tolerates. `ends`: a new node does not have the taints."""
    node = make_node().taint("other")
    for key in taints:
        node.taint(key)
    figures, place = {"taints": [f"{key}:NoSchedule" for key in taints]}, TaintedPlace(make_pod().obj(), node.obj())
    place.cordoned = cordoned
    guide = TaintGuide()
    assert guide.describe(figures) == words
    assert list(guide.problems((), figures, cordoned=cordoned)) == problems
    assert guide.ends_on_empty_node(figures) is ends
    assert texts_of(guide, figures, place) == ways


def near(value: str | None) -> dict[str, Any]:
    return {"podAffinity": [{"topologyKey": "zone", "topologyValue": value, "matchingPods": 0}]}


def far(kind: str, *pods: str) -> dict[str, Any]:
    return {kind: [{"topologyKey": "zone", "topologyValue": "a", "matchingPods": len(pods), "pods": list(pods)}]}


ITS, THEIRS = "podAntiAffinity", "existingAntiAffinity"


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        pytest.param([near(None), near("b")], "no pod to be with", id="no pod to be with"),
        pytest.param([near("a"), far(ITS, "a/x")], "no pod to be with; keeps away from a/x", id="one is too near"),
        pytest.param([far(THEIRS, "a/x")], "is kept away by a/x", id="kept away"),
        pytest.param(
            [far(ITS, "a/y"), far(ITS, "a/x"), far(THEIRS, "a/z")], "keeps away from a/x, a/y; is kept away by a/z",
            id="by different pods",
        ),
        pytest.param(
            [far(ITS, "a/x"), far(THEIRS, "a/x")], "the pod and a/x keep away from each other", id="from each other"
        ),
    ],
)  # fmt: skip
def test_how_pods_that_are_near_several_nodes_are_described(figures: list[Any], words: str) -> None:
    assert PodAffinityGuide().describe_nodes(figures) == words


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        pytest.param(near(None), "no label zone", id="no label"),
        pytest.param(near("a"), "no pod to be with in zone=a", id="no pod to be with"),
        pytest.param(far(ITS, "a/x"), "keeps away from a/x in zone=a", id="keeps away"),
    ],
)
def test_how_pods_that_are_near_a_node_are_described(figures: Any, words: str) -> None:
    assert PodAffinityGuide().describe(figures) == words


@pytest.mark.parametrize(
    ("figures", "ways"),
    [
        pytest.param(far(THEIRS, "a/x"), [["delete a/x"]], id="one pod"),
        pytest.param(
            {THEIRS: [{**far(THEIRS, "a/x")[THEIRS][0], "matchingPods": 2}]}, [["delete a/x"]], id="two terms of a pod"
        ),
        pytest.param({**far(ITS, "a/x"), **far(THEIRS, "a/x")}, [["delete a/x"]], id="each from the other"),
        pytest.param(far(THEIRS, "a/x", "a/y"), [], id="two pods"),
        pytest.param({**far(ITS, "a/y"), **far(THEIRS, "a/x")}, [], id="one of each"),
        pytest.param({**near("a"), **far(THEIRS, "a/x")}, [], id="there is no pod to be with either"),
    ],
)
def test_a_single_pod_in_the_way_may_be_deleted(figures: Any, ways: list[list[str]]) -> None:
    place = Place(make_pod("p").obj(), make_node().obj())
    assert texts_of(PodAffinityGuide(), figures, place) == ways


def spread(key: str, **fields: Any) -> dict[str, Any]:
    labels = {"matchLabels": {"app": "web"}}
    return {
        "topologyKey": key,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": labels,
        **fields,
    }


@pytest.mark.parametrize(
    ("constraints", "words", "ways"),
    [
        pytest.param(
            [spread("zone", minDomains=3)],
            "zone=a has 1 matching, and minDomains is 3 while there are 2 of zone, so that the least counts as 0: "
            "skew 2 over 1",
            [
                ["lower minDomains from 3 to 2 over zone: there are no more"],
                ["raise maxSkew from 1 to 2 over zone"],
                ["only prefer the spread over zone"],
            ],
            id="too few zones",
        ),
        pytest.param(
            [spread("zone", minDomains=3), spread("rack")],
            "zone=a has 1 matching, and minDomains is 3 while there are 2 of zone, so that the least counts as 0: "
            "skew 2 over 1; rack=r has 1 matching, 0 in s: skew 2 over 1",
            [
                ["raise maxSkew from 1 to 2 over zone", "raise maxSkew from 1 to 2 over rack"],
                ["only prefer the spread over zone", "only prefer the spread over rack"],
            ],
            id="too few zones, and a rack that is full",
        ),
    ],
)
def test_a_spread_over_more_zones_than_there_are(constraints: list[Any], words: str, ways: list[list[str]]) -> None:
    nodes = [make_node("a").label(zone="a", rack="r").obj(), make_node("b").label(zone="b", rack="s").obj()]
    pod = make_pod().label(app="web").spec(topologySpreadConstraints=constraints).obj()
    figures = figures_of(make_bench(PodTopologySpread, nodes, pod, [make_pod("run").label(app="web").on("a").obj()]))
    assert SpreadGuide().describe(figures) == words
    assert texts_of(SpreadGuide(), figures, Place(pod, nodes[0])) == ways
