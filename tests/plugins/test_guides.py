"""What rooms say about a node that rejects a pod, and which changes they propose: from the figures of `explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.json_patch import Operation, patch_pod
from ksched_cli.framework.reasons import RejectionGuide
from ksched_cli.plugins.inter_pod_affinity import PodAffinityGuide
from ksched_cli.plugins.node_affinity import AffinityGuide, NodeAffinity
from ksched_cli.plugins.node_declared_features import FeaturesGuide, NodeDeclaredFeatures
from ksched_cli.plugins.node_name import NodeName, NodeNameGuide
from ksched_cli.plugins.node_ports import PortsGuide
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from ksched_cli.plugins.node_resources_fit.guide import FitGuide, lower_requests
from ksched_cli.plugins.node_volume_limits import LimitsGuide, NodeVolumeLimits
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread, SpreadGuide
from ksched_cli.plugins.scheduling_gates import GatesGuide
from ksched_cli.plugins.volume_restrictions import VolumeRestrictions, VolumeUseGuide
from tests.builders import make_node, make_pod, term
from tests.harness import Bench, make_bench
from tests.plugins.storage import claim, csi_node, volume, with_claims, with_volumes
from tests.plugins.test_node_affinity import added


class Place:
    """A rejected pod. A change is its text and the operations on the pod."""

    cordoned = False

    def __init__(self, pod: Pod, node: Node, needed: frozenset[str] = frozenset()) -> None:
        self.pod, self.node, self._needed = pod, node, needed
        self.costs: dict[str, float] = {}

    def patch(self, text: str, kind: str, cost: float, *operations: Operation) -> tuple[str, tuple[Operation, ...]]:
        self.costs[text] = cost
        return text, operations

    def label(self, key: str, value: str) -> tuple[str, tuple[Operation, ...]]:
        self.node.metadata.labels[key] = value
        return f"label {key}={value}", ()

    def may_leave_out(self, key: str) -> bool:
        return key not in self._needed

    def remove(self, pods: set[str]) -> Sequence[tuple[str, tuple[Operation, ...]]]:
        return [(f"delete {name}", ()) for name in pods] if len(pods) == 1 else []

    def make_room(self, short: Mapping[str, int]) -> Sequence[tuple[str, tuple[Operation, ...]]]:
        return [(f"free {name} {amount}", ()) for name, amount in short.items()]


def figures_of(made: Bench) -> Any:
    """What `explain` returns for the first node, which rejects the pod."""
    verdict = made.verdict()
    assert verdict is None or not verdict.passed[0]
    return made.plugin.explain(made.state(), made.pod, made.nodes(), 0)


def texts_of(guide: RejectionGuide, figures: Any, place: Any) -> list[list[str]]:
    ways: Any = guide.remedies(figures, place)
    return [[text for text, _ in way] for way in ways if way]


DISK = {"name": "d", "gcePersistentDisk": {"pdName": "x"}}
TEMPORARY = {"name": "t", "emptyDir": {}}
ONE_POD = [claim(modes=("ReadWriteOncePod",))]
ISOLATED = {"hostNetwork": True, "hostUsers": False}


def named_node() -> Bench:
    pod = make_pod().obj()
    made = make_bench(NodeName, [make_node("a").obj()], pod)
    pod.spec.node_name = "b"
    return made


def two_disks_of_two() -> Bench:
    """The limit of the first driver is met, that of the second exceeded."""
    claims = [claim(name, volume=f"pv-{name}") for name in "abcd"]
    drivers = {"a": "one", "b": "two", "c": "two", "d": "two"}
    volumes = [volume(f"pv-{name}", csi={"driver": each, "volumeHandle": name}) for name, each in drivers.items()]
    node = csi_node("n", 1, "one")
    node.spec.drivers = (*node.spec.drivers, *csi_node("n", 2, "two").spec.drivers)
    running = [with_claims("b", "c", pod="r", node="n")]
    return make_bench(
        NodeVolumeLimits, [make_node("n").obj()], with_claims("a", "d"), running, objects=[*claims, *volumes, node]
    )


@pytest.mark.parametrize(
    ("guide", "made", "words"),
    [
        pytest.param(NodeNameGuide(), named_node(), "the pod names node b", id="node name"),
        pytest.param(
            FeaturesGuide(),
            make_bench(NodeDeclaredFeatures, [make_node().obj()], make_pod().spec(**ISOLATED).obj()),
            "its kubelet does not declare UserNamespacesHostNetworkSupport",
            id="features",
        ),
        pytest.param(
            LimitsGuide(),
            two_disks_of_two(),
            "two: 2 of 2 volumes attached, 1 more asked",
            id="the volume limit that is exceeded",
        ),
        pytest.param(
            VolumeUseGuide(),
            make_bench(
                VolumeRestrictions,
                [make_node("n").obj()],
                with_claims("data"),
                [with_claims("data", pod="r", node="n")],
                objects=ONE_POD,
            ),
            "claim data is for one pod only, and default/r uses it",
            id="a claim for one pod",
        ),
        pytest.param(
            VolumeUseGuide(),
            make_bench(
                VolumeRestrictions,
                [make_node("n").obj()],
                with_volumes(TEMPORARY, DISK),
                [with_volumes(DISK, TEMPORARY, pod="r", node="n")],
            ),
            "its disk is mounted by default/r",
            id="a disk",
        ),
        pytest.param(
            FitGuide(),
            make_bench(
                NodeResourcesFit,
                [make_node("n").allocatable(cpu="4", memory="8Gi", pods="1").obj()],
                make_pod().obj(),
                [make_pod("r").on("n").obj()],
            ),
            "full: 1 of 1 pods",
            id="as many pods as there may be",
        ),
        pytest.param(
            AffinityGuide(),
            make_bench(
                NodeAffinity,
                [make_node("n").label(x="1", y="1").obj()],
                make_pod().selector(x="2", y="1", z="").node_affinity(term(("w", "Exists", [])), term()).obj(),
                args=added(
                    requiredDuringSchedulingIgnoredDuringExecution={"nodeSelectorTerms": [term(("x", "In", ["3"]))]}
                ),
            ),
            "x should be 2 and is 1; z should be there, without a value, and is not there; "
            "w exists: it is not there or an empty term; the profile wants x in (3): it is 1",
            id="selector, affinity and that of the profile",
        ),
        pytest.param(
            AffinityGuide(),
            make_bench(
                NodeAffinity,
                [make_node("n").label(x="1").obj()],
                make_pod()
                .node_affinity(term(("x", "Gt", ["many"])), term(("x", "Exists", []), ("y", "Exists", [])))
                .obj(),
            ),
            "x > (many): it is 1 or y exists: it is not there",
            id="a number that cannot be read",
        ),
    ],
)
def test_the_words(guide: RejectionGuide, made: Bench, words: str) -> None:
    assert guide.describe(figures_of(made)) == words


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        pytest.param([{"disksHeldBy": ["a/x"]}], "its disk is mounted by a/x", id="one node"),
        pytest.param([{"disksHeldBy": ["a/x"]}] * 2, "its disk is mounted by a/x", id="the same on two nodes"),
        pytest.param([{"disksHeldBy": ["a/x"]}, {"disksHeldBy": ["a/y"]}], "", id="another on the second node"),
        pytest.param(
            [{"disksHeldBy": ["a/x"]}, {"disksHeldBy": ["a/y"]}, {"disksHeldBy": ["a/y"]}], "", id="two in three"
        ),
        pytest.param([], "", id="no node"),
    ],
)
def test_several_nodes_are_described_at_once_only_if_they_are_alike(figures: list[Any], words: str) -> None:
    assert VolumeUseGuide().describe_nodes(figures) == words


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        pytest.param({"domain": None}, "no label zone to spread over", id="no label"),
        pytest.param({"minimum": 1, "emptiest": ["b"]}, "zone=a has 3 matching, 1 in b: skew 3 over 1", id="skew"),
        pytest.param({"minimum": 0, "emptiest": []}, "zone=a has 3 matching, 0 in no domain: skew 3 over 1", id="no zone"),
        pytest.param({"minDomains": 3, "domains": 2},
                     "zone=a has 3 matching, and minDomains is 3 while there are 2 of zone, so that the least counts as 0: "
                     "skew 3 over 1", id="domains"),
    ],
)  # fmt: skip
def test_the_words_for_a_skew(broken: dict[str, Any], words: str) -> None:
    figures = {"topologyKey": "zone", "domain": "a", "matching": 3, "skew": 3, "maxSkew": 1, **broken}
    assert SpreadGuide().describe({"constraints": [figures]}) == words


@pytest.mark.parametrize(
    ("holders", "words"),
    [
        pytest.param([("80", "a/x"), ("80", "a/x")], "host port 80/TCP is held by a/x", id="one holder"),
        pytest.param([("80", "a/x"), ("80", "a/y")], "host port 80/TCP taken", id="two holders of one port"),
        pytest.param([("80", "a/x"), ("81", "a/x")], "", id="two ports"),
    ],
)
def test_how_taken_ports_of_several_nodes_are_described(holders: list[tuple[str, str]], words: str) -> None:
    figures = [{"ports": [{"port": f"0.0.0.0:{port}/TCP", "heldBy": [pod]}]} for port, pod in holders]
    assert PortsGuide().describe_nodes(figures) == words


SKEWED = {"topologyKey": "zone", "domain": "a", "skew": 3, "maxSkew": 1}
SPREAD = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
ANTI = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}


@pytest.mark.parametrize(
    ("guide", "figures", "pod", "costs"),
    [
        pytest.param(SpreadGuide(), {"constraints": [SKEWED]}, make_pod().spec(topologySpreadConstraints=[SPREAD]),
                     {"raise maxSkew from 1 to 3 over zone": 3.7, "only prefer the spread over zone": 4}, id="spread"),
        pytest.param(SpreadGuide(), {"constraints": [SKEWED | {"minDomains": 3, "domains": 0}]},
                     make_pod().spec(topologySpreadConstraints=[SPREAD]),
                     {"lower minDomains from 3 to 1 over zone: there are no more": 3,
                      "raise maxSkew from 1 to 3 over zone": 3.7, "only prefer the spread over zone": 4}, id="domains"),
        pytest.param(PodAffinityGuide(), {"podAffinity": [], "podAntiAffinity": [{"topologyKey": "zone", "matchingPods": 2}]},
                     make_pod().spec(affinity={"podAntiAffinity": ANTI}),
                     {"do without its required pod affinity": 5, "do without its required pod anti-affinity over zone": 5},
                     id="pods"),
        pytest.param(PortsGuide(), {"ports": [{"port": "0.0.0.0:80/TCP", "heldBy": ["a/x"]}]}, make_pod().host_port(80),
                     {"do without host port 80/TCP": 4.5}, id="port"),
    ],
)  # fmt: skip
def test_what_changes_cost(guide: RejectionGuide, figures: Any, pod: Any, costs: dict[str, float]) -> None:
    """The cheapest fix is proposed first: to change a value comes before to give a wish up."""
    place: Any = Place(pod.obj(), make_node().obj())
    list(guide.remedies(figures, place))
    assert place.costs == pytest.approx(costs)


@pytest.mark.parametrize(
    ("labels", "terms", "costs"),
    [
        pytest.param({"x": "1", "y": "1"}, [("y", "Exists", []), ("x", "In", ["2"])], [3.5, 4, 5], id="one value"),
        pytest.param({"x": "1", "y": "1", "z": "1"}, [("y", "Exists", []), ("x", "In", ["2"]), ("z", "In", ["2"])],
                     [4, 8, 5], id="two values"),
    ],
)  # fmt: skip
def test_what_changes_of_an_affinity_cost(labels: dict[str, str], terms: list[Any], costs: list[float]) -> None:
    pod = make_pod().selector(v="1").node_affinity(term(*terms)).obj()
    place: Any = Place(pod, make_node("n").label(**labels).obj())
    list(AffinityGuide().remedies(figures_of(make_bench(NodeAffinity, [place.node], pod)), place))
    assert list(place.costs.values()) == [4, *costs]


def amounts(asked: int, used: int, allocatable: int) -> dict[str, int]:
    free = allocatable - used
    return {"asked": asked, "used": used, "allocatable": allocatable, "free": free, "short": asked - free}


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        pytest.param([{"pods": amounts(1, 3, 3)}], "full: 3 pods run", id="full"),
        pytest.param([{"pods": amounts(1, 3, 3)}, {"pods": amounts(1, 5, 5)}], "full: 3-5 pods run", id="two are full"),
        pytest.param(
            [{"cpu": amounts(2500, 3700, 4000)}, {"cpu": amounts(2500, 1900, 4000)}],
            "Insufficient cpu: needs 2.5, free 0.3-2.1",
            id="a range",
        ),
        pytest.param(
            [{"cpu": amounts(2500, 4500, 4000)}], "Insufficient cpu: needs 2.5, free 0", id="more used than there is"
        ),
        pytest.param(
            [{"cpu": amounts(4000, 1, 4000)}], "Insufficient cpu: needs 4, free 3.999", id="as large as the node"
        ),
        pytest.param(
            [{"cpu": amounts(4001, 0, 4000)}],
            "Insufficient cpu: needs 4.001, free 4, too much even for an empty node",
            id="larger than the node",
        ),
        pytest.param(
            [{"cpu": amounts(4001, 0, 4000)}, {"cpu": amounts(4001, 4000, 8000)}],
            "Insufficient cpu: needs 4.001, free 4",
            id="larger than one of two nodes",
        ),
        pytest.param([{"a/b": amounts(1, 0, 0)}], "a/b: needs 1, the node has none", id="none on the node"),
        pytest.param([{"a/b": amounts(1, 0, 0)}] * 2, "a/b: needs 1, the nodes have none", id="none on the nodes"),
        pytest.param(
            [{"a/b": amounts(2, 0, 0)}, {"a/b": amounts(2, 1, 2)}],
            "Insufficient a/b: needs 2, free 0-1",
            id="none on one of two",
        ),
        pytest.param(
            [{"cpu": amounts(1000, 4000, 4000)}, {"pods": amounts(1, 3, 3)}],
            "Insufficient cpu: needs 1, free 0; full: 3 pods run",
            id="another shortage on the second node",
        ),
    ],
)
def test_shortages_of_several_nodes(figures: list[Any], words: str) -> None:
    assert FitGuide().describe_nodes(figures) == words


@pytest.mark.parametrize(
    ("figures", "predicates"),
    [
        pytest.param({"cpu": amounts(2, 1, 2)}, ["lack cpu"], id="some"),
        pytest.param({"cpu": amounts(2, 0, 0)}, ["lack cpu"], id="no cpu at all"),
        pytest.param(
            {"a/b": amounts(2, 0, 0), "pods": amounts(1, 1, 1)}, ["have no a/b", "are full (pods)"], id="none"
        ),
        pytest.param({"a/b": amounts(2, 1, 2)}, ["lack a/b"], id="too few"),
    ],
)
def test_shortages_as_predicates(figures: Any, predicates: list[str]) -> None:
    assert list(FitGuide().problems((), figures, cordoned=False)) == predicates


def test_without_figures_the_reasons_are_the_predicates() -> None:
    node = make_node("n").allocatable(cpu="1", memory="8Gi", pods="9").obj()
    made = make_bench(NodeResourcesFit, [node], make_pod().requests(cpu="2").obj())
    verdict = made.verdict()
    assert verdict is not None
    assert list(FitGuide().problems(verdict.status(0).reasons, {}, cordoned=False)) == ["lack cpu"]


@pytest.mark.parametrize(
    ("figures", "line"),
    [
        pytest.param(amounts(2, 1, 2), "cpu: asks 2m, 1m free of 2m (held by {held})", id="held"),
        pytest.param(amounts(2, 3, 2), "cpu: asks 2m, 0 free of 2m (held by {held})", id="none is free"),
        pytest.param(amounts(3, 1, 2), "cpu: asks 3m, 1m free of 2m, too much even if it were empty", id="too large"),
        pytest.param(amounts(3, 0, 0), "cpu: asks 3m, the node has none", id="none"),
    ],
)
@pytest.mark.parametrize(
    ("holders", "others", "held"),
    [
        pytest.param(1, 0, "p0 1m", id="by one"),
        pytest.param(3, 0, "p0 1m, p1 1m, p2 1m", id="by three"),
        pytest.param(4, 0, "p0 1m, p1 1m, p2 1m, 1 more", id="by four"),
        pytest.param(5, 2, "p0 1m, p1 1m, p2 1m, 4 more", id="by seven"),
    ],
)
def test_who_holds_a_resource(figures: dict[str, Any], line: str, holders: int, others: int, held: str) -> None:
    found = {**figures, "heldBy": [{"pod": f"p{number}", "amount": 1} for number in range(holders)]}
    if others:
        found["heldByOthers"] = {"pods": others, "amount": others}
    assert FitGuide().describe({"cpu": found}) == line.replace("{held}", held)


# Which changes end the rejection

WANTED = term(("x", "In", ["2"]))


@pytest.mark.parametrize(
    ("pod", "labels", "needed", "ways"),
    [
        pytest.param(
            make_pod().selector(x="2"),
            {"x": "1"},
            "",
            [["leave x=2 out of the node selector"], ["label x=2"]],
            id="a label of the node selector",
        ),
        pytest.param(make_pod().selector(x="2"), {"x": "1"}, "x", [["label x=2"]], id="that cannot be left out"),
        pytest.param(
            make_pod().selector(x="2", y="3"),
            {"y": "3"},
            "",
            [["leave x=2 out of the node selector"], ["label x=2"]],
            id="beside one that is met",
        ),
        pytest.param(
            make_pod().node_affinity(WANTED),
            {"x": "1"},
            "",
            [["let its node affinity take x=1 too"], ["do without its required node affinity"], ["label x=2"]],
            id="a value of the only requirement",
        ),
        pytest.param(
            make_pod().node_affinity(WANTED),
            {},
            "",
            [["do without its required node affinity"], ["label x=2"]],
            id="a label that is not there",
        ),
        pytest.param(make_pod().node_affinity(WANTED), {}, "x", [["label x=2"]], id="an affinity that must stay"),
        pytest.param(
            make_pod().node_affinity(term(("y", "Exists", []), ("x", "In", ["2"]))),
            {"x": "1", "y": "1"},
            "",
            [
                ["let its node affinity take x=1 too"],
                ["leave x In out of its node affinity"],
                ["do without its required node affinity"],
                ["label x=2"],
            ],
            id="the second of two requirements",
        ),
        pytest.param(
            make_pod().node_affinity(term(("x", "In", ["2"]), ("z", "Exists", []), ("y", "Exists", []))),
            {"x": "1", "y": "1"},
            "",
            [
                ["leave x In and z Exists out of its node affinity"],
                ["do without its required node affinity"],
                ["label x=2", "label z=true"],
            ],
            id="two of three requirements",
        ),
        pytest.param(
            make_pod().node_affinity(term(("x", "NotIn", ["1"]))),
            {"x": "1"},
            "",
            [["do without its required node affinity"]],
            id="what labels cannot meet",
        ),
        pytest.param(
            make_pod().node_affinity(term(("x", "In", ["2"]), ("y", "In", ["2"])), term(("x", "In", ["3"]))),
            {"x": "1", "y": "1"},
            "",
            [
                ["let its node affinity take x=1 too"],
                ["do without its required node affinity"],
                ["label x=2", "label y=2"],
                ["label x=3"],
            ],
            id="the nearer of two terms",
        ),
        pytest.param(
            make_pod().node_affinity(term(fields=(("metadata.name", "In", ["a"]),))),
            {},
            "",
            [["do without its required node affinity"]],
            id="a name",
        ),
        pytest.param(
            make_pod().node_affinity(term(("x", "In", ["2"]), ("y", "In", ["2"]))),
            {"x": "1", "y": "1"},
            "y",
            [["label x=2", "label y=2"]],
            id="one of two requirements must stay",
        ),
        pytest.param(
            make_pod().node_affinity(term(("x", "In", ["2"]), ("y", "NotIn", ["1"]))),
            {"x": "1", "y": "1"},
            "",
            [["do without its required node affinity"]],
            id="what labels can meet only in part",
        ),
        pytest.param(
            make_pod().node_affinity(term(("x", "In", ["2"]), fields=(("metadata.name", "In", ["n"]),))),
            {"x": "1"},
            "",
            [
                ["let its node affinity take x=1 too"],
                ["leave x In out of its node affinity"],
                ["do without its required node affinity"],
                ["label x=2"],
            ],
            id="a requirement beside a name that is met",
        ),
        pytest.param(
            make_pod().node_affinity(term(("x", "In", ["2"]), fields=(("metadata.name", "In", ["a"]),))),
            {"x": "1"},
            "",
            [["do without its required node affinity"]],
            id="a requirement and a name",
        ),
        pytest.param(
            make_pod().node_affinity(term()), {}, "", [["do without its required node affinity"]], id="an empty term"
        ),
        pytest.param(
            make_pod().selector(w="1").node_affinity(WANTED, term(("y", "Exists", []))),
            {"x": "1", "y": "1"},
            "",
            [["leave w=1 out of the node selector"], ["label w=1"]],
            id="a label beside a term that is met",
        ),
        pytest.param(
            make_pod().selector(w="1").node_affinity(WANTED),
            {"x": "1"},
            "",
            [
                ["leave w=1 out of the node selector", "let its node affinity take x=1 too"],
                ["leave w=1 out of the node selector", "do without its required node affinity"],
                ["label w=1", "label x=2"],
            ],
            id="selector and affinity",
        ),
    ],
)
def test_changes_for_node_affinity(pod: Any, labels: dict[str, str], needed: str, ways: list[list[str]]) -> None:
    rejected = pod.obj()
    made = make_bench(NodeAffinity, [make_node("n").label(**labels).obj()], rejected)
    figures, found = figures_of(made), []
    place: Any = Place(rejected, make_node("n").label(**labels).obj(), frozenset(filter(None, [needed])))
    ways_found: Any = AffinityGuide().remedies(figures, place)
    for way in ways_found:
        changes = [each for each in way if each is not None]
        found.append([text for text, _ in changes])
        changed = patch_pod(rejected, [operation for _, operations in changes for operation in operations])
        assert make_bench(NodeAffinity, [place.node], changed).statuses() == {}, found[-1]
        place.node = make_node("n").label(**labels).obj()
    assert found == ways


def test_no_change_meets_the_affinity_of_the_profile() -> None:
    terms = {"nodeSelectorTerms": [term(("x", "In", ["3"]), ("y", "Exists", [])), term(("z", "Exists", []))]}
    args = added(requiredDuringSchedulingIgnoredDuringExecution=terms)
    made = make_bench(NodeAffinity, [make_node("n").label(y="1").obj()], make_pod().selector(x="2").obj(), args=args)
    figures = figures_of(made)
    assert [[each["key"] for each in unmet] for unmet in figures["enforced"]] == [["x"], ["z"]]
    assert list(AffinityGuide().problems((), figures, cordoned=False)) == [
        "lack label x=2",
        "do not match the profile's node affinity",
    ]
    assert texts_of(AffinityGuide(), figures, Place(made.pod.pod, make_node().obj())) == []


def test_changes_for_a_skew_are_those_of_the_hard_constraint() -> None:
    def spread(action: str, **fields: Any) -> dict[str, Any]:
        wanted = {"matchLabels": {"app": "web"}}
        return {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": action, "labelSelector": wanted, **fields}

    nodes = [make_node(name).label("zone", name).obj() for name in "ab"]
    running = [make_pod(f"r{at}").label("app", "web").on(node).obj() for at, node in enumerate("aaab")]
    pod = (
        make_pod()
        .label("app", "web")
        .spec(topologySpreadConstraints=[spread("ScheduleAnyway"), spread("DoNotSchedule", minDomains=2)])
    )
    figures = figures_of(make_bench(PodTopologySpread, nodes, pod.obj(), running))
    (broken,) = figures["constraints"]
    assert (broken["matching"], broken["minimum"], broken["emptiest"], broken["skew"]) == (3, 1, ["b"], 3)
    there = "/spec/topologySpreadConstraints/1"
    ways: Any = SpreadGuide().remedies(figures, Place(pod.obj(), nodes[0]))
    assert [[(text, [each["path"] for each in operations]) for text, operations in way] for way in ways] == [
        [("raise maxSkew from 1 to 3 over zone", [f"{there}/maxSkew"])],
        [("only prefer the spread over zone", [f"{there}/whenUnsatisfiable", f"{there}/minDomains"])],
    ]
    for constraints in ([], [spread("ScheduleAnyway")]):
        pod = make_pod().spec(topologySpreadConstraints=constraints)
        assert texts_of(SpreadGuide(), figures, Place(pod.obj(), nodes[0])) == []


@pytest.mark.parametrize(
    ("figures", "ways"),
    [
        pytest.param({"usedBy": ["a/x"], "exclusiveClaims": ["c"]}, [["delete a/x"]], id="one pod uses the claim"),
        pytest.param({"usedBy": ["a/x"], "disksHeldBy": ["a/x"]}, [["delete a/x"]], id="claim and disk of one pod"),
        pytest.param({"usedBy": ["a/x"], "disksHeldBy": ["a/y"]}, [], id="two pods"),
        pytest.param({}, [], id="no pod"),
    ],
)
def test_changes_for_a_volume_in_use(figures: Any, ways: list[list[str]]) -> None:
    assert texts_of(VolumeUseGuide(), figures, Place(make_pod().obj(), make_node().obj())) == ways


@pytest.mark.parametrize(
    ("figures", "ways"),
    [
        pytest.param(
            {"cpu": amounts(2000, 2500, 4000)},
            [["lower the cpu request from 2 to 1500m"], ["free cpu 500"]],
            id="a request that can be lowered",
        ),
        pytest.param({"cpu": amounts(2000, 3600, 4000)}, [["free cpu 1600"]], id="less than a quarter is free"),
        pytest.param(
            {"cpu": amounts(2000, 3500, 4000)},
            [["lower the cpu request from 2 to 500m"], ["free cpu 1500"]],
            id="just a quarter is free",
        ),
        pytest.param({"pods": amounts(1, 9, 9)}, [["free pods 1"]], id="a full node"),
        pytest.param(
            {"cpu": amounts(2000, 0, 1500)}, [["lower the cpu request from 2 to 1500m"]], id="larger than the node"
        ),
        pytest.param({"cpu": amounts(2000, 0, 400)}, [], id="much larger than the node"),
    ],
)
def test_changes_for_a_shortage(figures: Any, ways: list[list[str]]) -> None:
    pod = make_pod().requests(cpu="2").obj()
    assert texts_of(FitGuide(), figures, Place(pod, make_node().obj())) == ways


def requests(cpu: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("pod", "free", "paths"),
    [
        pytest.param(make_pod().requests(cpu="2"), 1000, ["/spec/containers/0/"], id="the only container"),
        pytest.param(
            make_pod().requests(cpu="1").container(**requests("3")),
            3000,
            ["/spec/containers/1/"],
            id="the larger container",
        ),
        pytest.param(
            make_pod().requests(cpu="2").container(**requests("2")),
            2000,
            ["/spec/containers/0/", "/spec/containers/1/"],
            id="both",
        ),
        pytest.param(
            make_pod().requests(cpu="1").init(**requests("4")),
            2000,
            ["/spec/initContainers/0/"],
            id="an init container",
        ),
        pytest.param(
            make_pod().requests(cpu="4").init(**requests("4")),
            2000,
            None,
            id="a container and an init container of one size",
        ),
        pytest.param(
            make_pod().requests(cpu="4").container(**requests("0")).init(**requests("4")),
            2000,
            None,
            id="beside a container that requests nothing",
        ),
        pytest.param(
            make_pod().requests(cpu="1").spec(resources={"requests": {"cpu": "4"}}), 2000, ["/spec/"], id="the pod"
        ),
        pytest.param(
            make_pod().requests(cpu="1").spec(resources={"requests": {"memory": "4Gi"}}),
            500,
            ["/spec/containers/0/"],
            id="the pod requests something else",
        ),
        pytest.param(make_pod().requests(cpu="2"), 0, None, id="nothing is free"),
        pytest.param(make_pod(), 1000, None, id="no request"),
    ],
)
def test_which_requests_are_lowered(pod: Any, free: int, paths: list[str] | None) -> None:
    """Paths before `/resources`; the lowered pod fits."""
    rejected = pod.obj()
    changes = lower_requests(rejected, {"cpu": free})
    assert (not changes) is (paths is None)
    for change in changes:
        lowered = patch_pod(rejected, change.operations)
        node = make_node("n").allocatable(cpu=f"{free}m", memory="8Gi", pods="9").obj()
        assert make_bench(NodeResourcesFit, [node], lowered).statuses() == {}
        assert [str(each["path"]).partition("resources/")[0] for each in change.operations] == paths


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        pytest.param(make_pod().gate("a").gate("b"), "a, b", id="its own gates"),
        pytest.param(make_pod(), None, id="those of another pod of its group"),
    ],
)
def test_a_gate_is_taken_off_the_pod_that_has_it(pod: Any, text: str | None) -> None:
    change = GatesGuide().let_in(pod.obj())
    assert (change is None) is (text is None)
    if change is not None and text is not None:
        assert text in change.text
        assert not patch_pod(pod.obj(), change.operations).spec.scheduling_gates
