"""Situations told by how many pods are where: "2/1/0/3" are the pods on the nodes a and b of one zone, x and y of
another."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Service
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.config.plugin_args import PodTopologySpreadArgs
from ksched_cli.framework.status import Status
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread
from tests.builders import make_node, make_pod, term
from tests.harness import Bench, make_bench

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NAMES = "abxy"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def per(key: str, skew: int = 1, action: str = HARD, app: str | None = "web", **fields: Any) -> dict[str, Any]:
    selector = {} if app is None else {"labelSelector": {"matchExpressions": [{"key": app, "operator": "Exists"}]}}
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": action, **selector, **fields}


def soft(key: str, skew: int = 1, **fields: Any) -> dict[str, Any]:
    return per(key, skew, SOFT, **fields)


def wanting(*constraints: dict[str, Any], **labels: str) -> Any:
    return make_pod("new").label(**(labels or {"web": ""})).spec(topologySpreadConstraints=list(constraints))


def cluster(without: dict[str, str] | None = None, tainted: str = "", names: str = NAMES, **labels: str) -> list[Any]:
    """Nodes; `without={"b": ZONE}` takes a label from b, `b="x=1"` gives it one."""
    made = []
    for name in names:
        node = make_node(name).zone("1" if name in "ab" else "2" if name in "xy" else name)
        if name in tainted:
            node.taint("keep", "out")
        if name in labels:
            node.label(*labels[name].split("="))
        for key in [key for where, key in (without or {}).items() if where == name]:
            del node.data["metadata"]["labels"][key]
        made.append(node.obj())
    return made


def running(counts: str, names: str = NAMES, namespace: str = "default", **labels: str) -> list[Any]:
    return [
        make_pod(f"{'-'.join(labels) or 'web'}-{name}-{at}", namespace).label(**(labels or {"web": ""})).on(name).obj()
        for name, count in zip(names, counts.split("/"), strict=True)
        for at in range(int(count))
    ]


def fitting(pod: Any, pods: list[Any], nodes: list[Any] | None = None) -> str:
    """Names of the nodes that pass; a node that can never do is in capitals."""
    made = make_bench(PodTopologySpread, nodes or cluster(), pod.obj(), pods)
    codes = {name: code for name, (code, _) in made.statuses().items()}
    hopeless = "".join(name.upper() for name, code in codes.items() if code == "UnschedulableAndUnresolvable")
    return "".join(sorted(name for name in made.cluster.nodes.names if name not in codes)) + "".join(sorted(hopeless))


@pytest.mark.parametrize(
    ("constraints", "counts", "expected"),
    [
        pytest.param([per(ZONE)], "0/0/0/0", "abxy", id="nobody is there"),
        pytest.param([per(ZONE)], "2/1/0/3", "abxy", id="zones alike"),
        pytest.param([per(ZONE)], "1/0/2/0", "ab", id="the emptier zone"),
        pytest.param([per(HOST)], "2/1/0/3", "x", id="the emptiest node"),
        pytest.param([per(HOST, 2)], "2/1/0/3", "bx", id="within a larger skew"),
        pytest.param([per(HOST, 2, minDomains=5)], "2/2/1/1", "xy", id="fewer nodes than there should be"),
        pytest.param([per(HOST, 2, minDomains=4)], "2/2/1/1", "abxy", id="as many nodes as there should be"),
        pytest.param([per(ZONE, 2, minDomains=3)], "2/0/1/0", "xy", id="fewer zones than there should be"),
        pytest.param([per(ZONE, 2, minDomains=2)], "2/0/1/0", "abxy", id="as many zones as there should be"),
        pytest.param([per("rack")], "0/0/0/0", "ABXY", id="a label that no node has"),
        pytest.param([per(ZONE, app=None)], "2/0/0/0", "abxy", id="no selector"),
        pytest.param([per(ZONE), per(HOST)], "2/1/0/3", "x", id="zones alike, and the emptiest node"),
        pytest.param([per(ZONE), per(HOST)], "2/1/0/4", "", id="the emptiest node in the fuller zone"),
        pytest.param([per(ZONE), per(ZONE, 2)], "2/1/2/0", "xy", id="two constraints on zones, the narrower decides"),
    ],
)
def test_where_the_pod_fits(constraints: list[Any], counts: str, expected: str) -> None:
    assert fitting(wanting(*constraints), running(counts)) == expected


@pytest.mark.parametrize(
    ("web", "db", "expected"),
    [
        pytest.param("1/0/0/0", "1/0/0/1", "x", id="one after the other"),
        pytest.param("1/0/0/0", "0/0/1/1", "", id="against each other"),
        pytest.param("2/0/3/0", "1/0/0/1", "b", id="each leaves something"),
    ],
)
def test_constraints_count_different_pods(web: str, db: str, expected: str) -> None:
    pod = wanting(per(ZONE), per(HOST, app="db"), web="", db="")
    assert fitting(pod, running(web) + running(db, db="")) == expected


def test_a_pod_that_does_not_match_itself_adds_nothing() -> None:
    assert fitting(wanting(per(HOST), other=""), running("2/1/0/3")) == "bx"
    assert (
        fitting(wanting(per(ZONE), per(HOST, app="db"), db=""), running("1/0/0/0") + running("1/0/0/1", db="")) == "bx"
    )


def test_pods_that_do_not_count() -> None:
    assert fitting(wanting(per(ZONE)), running("2/0/0/0", namespace="other")) == "abxy"
    leaving = [make_pod(f"t{at}").label(web="").on("a").terminating().obj() for at in range(3)]
    assert fitting(wanting(per(HOST)), [*running("0/1/1/1"), *leaving]) == "a"


def test_a_node_without_the_label_takes_no_part() -> None:
    assert fitting(wanting(per(ZONE)), running("1/5/2/0"), cluster({"b": ZONE})) == "aB"
    nodes = cluster({"y": HOST})
    assert fitting(wanting(per(ZONE), per(HOST)), running("1/0/0/1"), nodes) == "xY"


@pytest.mark.parametrize("wish", ["selector", "affinity"])
@pytest.mark.parametrize(("policy", "expected"), [("Honor", "abx"), ("Ignore", "x")])
def test_nodes_that_the_pod_does_not_want(policy: str, wish: str, expected: str) -> None:
    """It wants a and y only; b and x are turned down by another plugin, and count here only if told to."""
    nodes = cluster(a="mine=1", y="mine=1")
    pod = wanting(per(HOST, nodeAffinityPolicy=policy))
    pod = pod.selector(mine="1") if wish == "selector" else pod.node_affinity(term(("mine", "Exists", [])))
    assert fitting(pod, running("2/9/0/3"), nodes) == expected


@pytest.mark.parametrize(
    ("policy", "tolerates", "expected"),
    [
        pytest.param("Ignore", False, "y", id="ignored"),
        pytest.param("Honor", False, "axy", id="honoured"),
        pytest.param("Honor", True, "y", id="honoured, tolerated"),
    ],
)
def test_tainted_nodes(policy: str, tolerates: bool, expected: str) -> None:
    pod = wanting(per(HOST, nodeTaintsPolicy=policy))
    if tolerates:
        pod = pod.toleration("keep", "Exists")
    assert fitting(pod, running("1/2/1/0"), cluster(tainted="y")) == expected


@pytest.mark.parametrize(
    ("zone", "host", "expected"),
    [
        pytest.param({}, {}, "ab", id="both honour affinity"),
        pytest.param({"nodeAffinityPolicy": "Ignore"}, {}, "abx", id="nodes honour affinity"),
        pytest.param({"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}, {}, "ab", id="zones honour taints"),
        pytest.param({"nodeAffinityPolicy": "Ignore"}, {"nodeAffinityPolicy": "Ignore"}, "ax", id="neither"),
    ],
)
def test_policies_of_two_constraints(zone: dict[str, str], host: dict[str, str], expected: str) -> None:
    nodes = cluster(tainted="b", a="mine=1", x="mine=1", y="mine=1")
    pod = wanting(per(ZONE, **zone), per(HOST, **host)).selector(mine="1")
    assert fitting(pod, running("1/2/1/2"), nodes) == expected


def test_keys_of_labels() -> None:
    old, new = running("2/0/1/0", web="", rev="1"), running("0/0/1/0", web="", rev="2", new="")
    by_revision = wanting(per(ZONE, matchLabelKeys=["rev"]), web="", rev="2")
    assert fitting(by_revision, old + new) == "ab"
    assert fitting(wanting(per(ZONE, matchLabelKeys=["rev"]), web=""), old + new) == "abxy"
    assert fitting(wanting(per(ZONE, app=None, matchLabelKeys=["rev"]), web="", rev="2"), old + new) == "abxy"


# Scores


def scored(pod: Any, pods: list[Any], names: str = NAMES, nodes: list[Any] | None = None, **more: Any) -> list[int]:
    """Of the nodes that passed the filters, by name."""
    made: Bench = make_bench(PodTopologySpread, nodes or cluster(), pod.obj(), pods, **more)
    rows = [row for row, name in enumerate(made.cluster.nodes.names) if name in names]
    found = made.scores(rows, normalized=True)
    assert not isinstance(found, Status)
    return [found[name] for name in names]


@pytest.mark.parametrize(
    ("constraints", "counts", "names", "expected"),
    [
        pytest.param([soft(HOST)], "0/0/0/0", NAMES, [100, 100, 100, 100], id="nobody is there"),
        pytest.param([soft(HOST)], "2/1/0/3", "a", [100], id="one candidate"),
        pytest.param([soft(HOST)], "1/1/1/1", NAMES, [100, 100, 100, 100], id="all alike"),
        pytest.param([soft(HOST)], "2/1/0/3", NAMES, [20, 60, 100, 0], id="per node"),
        pytest.param([soft(HOST, app=None)], "2/1/0/3", NAMES, [100, 100, 100, 100], id="no selector"),
        pytest.param([soft(HOST, 2)], "2/1/0/3", NAMES, [33, 66, 100, 16], id="a larger skew"),
        pytest.param([soft(HOST, 3)], "4/3/2/1", NAMES, [44, 66, 77, 100], id="a still larger skew"),
        pytest.param([soft(HOST)], "4/2/1/3", "abx", [33, 83, 100], id="three candidates"),
        pytest.param([soft(ZONE)], "4/2/1/3", "abx", [75, 75, 100], id="per zone, three candidates"),
        pytest.param([soft(ZONE), soft(HOST)], "2/1/2/4", "ax", [100, 63], id="per zone and node, two candidates"),
        pytest.param([soft(ZONE), soft(ZONE, 2)], "2/1/2/1", NAMES, [100, 100, 100, 100], id="twice per zone"),
        pytest.param([soft(HOST, minDomains=10)], "2/1/0/3", NAMES, [20, 60, 100, 0], id="minDomains means nothing"),
    ],
)
def test_scores(constraints: list[Any], counts: str, names: str, expected: list[int]) -> None:
    assert scored(wanting(*constraints), running(counts), names) == expected


@pytest.mark.parametrize(
    ("second", "web", "db", "names", "expected"),
    [
        pytest.param(HOST, "1/1/0/1", "0/1/0/1", NAMES, [60, 20, 100, 60], id="per zone and per node"),
        pytest.param(HOST, "0/0/1/1", "0/1/0/1", NAMES, [100, 60, 40, 0], id="some nodes without pods"),
        pytest.param(HOST, "1/1/0/1", "0/1/0/1", "abx", [50, 25, 100], id="three candidates"),
        pytest.param(ZONE, "2/1/0/3", "1/1/0/1", "ax", [85, 100], id="both per zone, two candidates"),
    ],
)
def test_scores_by_different_pods(second: str, web: str, db: str, names: str, expected: list[int]) -> None:
    pod = wanting(soft(ZONE), soft(second, app="db"), web="", db="")
    assert scored(pod, running(web) + running(db, db=""), names) == expected


def test_a_candidate_without_the_label_scores_nothing() -> None:
    nodes = cluster({"x": HOST})
    assert scored(wanting(soft(HOST)), running("4/2/1/3"), "abx", nodes) == [50, 100, 0]


def test_pods_that_do_not_count_for_the_score() -> None:
    elsewhere = running("4/0/0/0", namespace="other")
    leaving = [make_pod("t").label(web="").on("b").terminating().obj()]
    assert scored(wanting(soft(HOST)), [*running("1/1/1/1"), *elsewhere, *leaving]) == [100, 100, 100, 100]


@pytest.mark.parametrize(("policy", "counted"), [("Honor", False), ("Ignore", True)])
def test_policies_count_for_the_score(policy: str, counted: bool) -> None:
    """Pods on y count for its zone only where the node itself does."""
    unwanted = wanting(soft(ZONE, nodeAffinityPolicy=policy)).selector(mine="1")
    nodes = cluster(a="mine=1", b="mine=1", x="mine=1")
    assert (scored(unwanted, running("1/0/0/3"), "abx", nodes)[2] < 100) is counted
    tainted = wanting(soft(ZONE, nodeTaintsPolicy=policy))
    assert (scored(tainted, running("1/0/0/3"), "abx", cluster(tainted="y"))[2] < 100) is counted


def test_keys_of_labels_for_the_score() -> None:
    pods = running("2/1/0/3", web="", rev="1")
    assert scored(wanting(soft(HOST, matchLabelKeys=["rev"]), web="", rev="1"), pods) == [20, 60, 100, 0]
    assert scored(wanting(soft(HOST, matchLabelKeys=["rev"]), web="", rev="2"), pods) == [100, 100, 100, 100]
    assert scored(wanting(soft(HOST, labelSelector={}, matchLabelKeys=["rev"]), rev="1"), pods) == [20, 60, 100, 0]


# Defaults


def service() -> Service:
    return Service(make_pod("s").obj().metadata, type(Service().spec)(selector={"web": ""}))


DEFAULT = PodTopologySpreadArgs(defaulting_type="System")


def test_system_defaults_spread_a_services_pods() -> None:
    nodes = cluster(dict.fromkeys(NAMES, ZONE))
    pod = make_pod("new").label(web="")
    assert scored(pod, running("4/3/2/1"), nodes=nodes, objects=[service()], args=DEFAULT) == [44, 66, 77, 100]


def test_constraints_of_its_own_come_before_the_defaults() -> None:
    pod = wanting(soft(ZONE))
    assert scored(pod, running("2/1/0/3"), objects=[service()], args=DEFAULT) == [100, 100, 100, 100]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([], id="nothing that selects it"),
        pytest.param([ReplicaSet(make_pod("rs").obj().metadata)], id="a ReplicaSet that does not own it"),
    ],
)
def test_what_belongs_to_nothing_is_not_spread(objects: list[Any]) -> None:
    made = make_bench(PodTopologySpread, cluster(), make_pod("new").label(web="").obj(), objects=objects, args=DEFAULT)
    found = made.scores()
    assert isinstance(found, Status)
    assert found.code.go_name == "Skip"


def test_soft_constraints_leave_the_filter_out() -> None:
    made = make_bench(PodTopologySpread, cluster(), wanting(soft(ZONE)).obj(), running("2/1/0/3"))
    assert made.pre_filter().skipped
