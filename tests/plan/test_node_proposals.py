"""More nodes as a fix: of which make, in which zone, how many, and in which order they are tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import pod_key
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.plan.reasons.fixes.nodes import NodeProposals
from tests.builders import NodeBuilder, PodBuilder, loaded_of, make_node, make_pod, make_workload
from tests.plan.explaining import explained
from tests.plan.test_explain import ZONE, anti

REGION = "topology.kubernetes.io/region"
POD = make_pod("p").requests(cpu="2")
NEAR_NONE = make_pod("p").requests(cpu="2").label(app="p").spec(affinity=anti(app="p"))


def node(name: str, cpu: str = "4", pool: str = "", zone: str = "", **labels: str) -> NodeBuilder:
    made = make_node(name).allocatable(cpu=cpu, memory="8Gi", pods=10).label(**labels)
    if pool:
        made.label(nodepool=pool)
    return made.zone(zone) if zone else made


def full(*nodes: NodeBuilder) -> list[Any]:
    """The nodes, each with a pod that leaves no cpu."""
    made: list[Any] = list(nodes)
    for each in nodes:
        name = each.data["metadata"]["name"]
        made.append(make_pod(f"on-{name}").requests(cpu=each.data["status"]["allocatable"]["cpu"]).on(name))
    return made


def proposals(items: Sequence[Any], waiting: int, *, elsewhere: bool, claims: Sequence[str] = ()) -> dict[str, float]:
    """Text to cost, in order."""
    objects = [each.obj() if hasattr(each, "obj") else each for each in items]
    loaded = loaded_of(*objects)
    pod = next(each for each in loaded.of(Pod) if pod_key(each) == "default/p")
    rejected = [each for each in explained(objects, "p").nodes if each.rejections]
    more = NodeProposals(loaded, pod, waiting, claims)
    found = list(more.in_another_zone(rejected) if elsewhere else more.of_makes(rejected))
    assert len({each.text for each in found}) == len(found)
    return {each.text: round(each.cost, 6) for each in found}


def daemons(cpu: str) -> DaemonSet:
    made = make_workload("DaemonSet", "logs", requests={"cpu": cpu})
    return msgspec.convert({**made, "metadata": {"name": "logs", "namespace": "default"}}, DaemonSet)


CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
EMPTY = make_node("n").allocatable(cpu="1", memory="1Gi", pods=1)


@pytest.mark.parametrize(
    ("items", "waiting", "counts", "costs"),
    [
        pytest.param([*full(node("large", "8"), node("small")), POD], 1, {"small": [1, 2, 4, 8], "large": [1, 2, 4, 8]},
            [1.5, 1.501, 1.503, 1.507, 1.6, 1.601, 1.603, 1.607], id="the smaller make first"),
        pytest.param([*full(node("n")), POD], 5, {"n": [1, 3, 4, 6, 10]}, [1.5, 1.502, 1.503, 1.505, 1.509], id="two fit on each"),
        pytest.param([*full(node("n")), POD], 100, {"n": [1, 50, 51, 53, 57]}, [1.5, 1.549, 1.55, 1.55, 1.55], id="more than fifty cost no more"),
        pytest.param([*full(*(node(f"n{cpu}", str(cpu)) for cpu in (6, 5, 4, 3, 2))), POD], 4, {"n2": [1, 4, 5, 7, 11], "n3": [1, 4, 5, 7, 11], "n4": [1, 2, 3, 5, 9], "n5": [1, 2, 3, 5, 9]}, None, id="four makes at most"),
        pytest.param([*full(node("b").label("kubernetes.io/hostname", "b"), node("a").label("kubernetes.io/hostname", "a")), POD], 1, {"a": [1, 2, 4, 8]}, None, id="one make"),
        pytest.param([*full(node("b"), node("a").label(disk="ssd"), node("c", pool="x")), POD], 2, {"a": [1, 2, 4, 8], "b": [1, 2, 4, 8], "c": [1, 2, 4, 8]}, None, id="other labels are another make"),
        pytest.param([*full(node("tiny", "1"), node("n")), POD], 1, {"n": [1, 2, 4, 8]}, [1.5, 1.501, 1.503, 1.507], id="one is too small"),
        pytest.param([*full(node("n")), POD, daemons("1")], 4, {"n": [1, 4, 5, 7, 11]}, None, id="beside the pod of a DaemonSet"),
        pytest.param([*full(node("small", "2"), node("n", "3")), POD, daemons("1")], 1, {"n": [1, 2, 4, 8]}, None, id="the pod of a DaemonSet leaves too little"),
        pytest.param([*full(node("n").taint("gpu"), node("m", "8")), POD], 1, {"m": [1, 2, 4, 8]}, None, id="one is full and has a taint"),
        pytest.param([*full(node("n", "40")), POD, daemons("1")], 19, {"n": [1, 3, 4, 6, 10]}, None, id="the pods of a node are limited"),
        pytest.param([EMPTY, make_pod("r").on("n"), make_pod("p")], 3, {"n": [1, 3, 4, 6, 10]}, None, id="a pod without requests"),
        pytest.param([EMPTY, make_pod("r").on("n"), make_pod("p"), daemons("0")], 3, {}, [], id="a pod without requests beside a DaemonSet"),
        pytest.param([*full(node("n").taint(CONTROL_PLANE), node("m", "8")), make_pod("p").requests(cpu="2").toleration(CONTROL_PLANE, "Exists")], 1, {"m": [1, 2, 4, 8]}, None, id="no control plane"),
        pytest.param([*full(node("n", pool="cp").taint(CONTROL_PLANE)), make_pod("p").requests(cpu="2").toleration(CONTROL_PLANE, "Exists").selector(nodepool="cp")], 1, {"n": [1, 2, 4, 8]}, None, id="a control plane that the pod selects"),
        pytest.param([*full(node("n").taint("node.kubernetes.io/not-ready"), node("m", "8")), POD], 1, {"m": [1, 2, 4, 8]}, None, id="no node that goes away"),
        pytest.param([*full(node("n").label("kubernetes.io/os", "windows"), node("m", "8")), POD], 1, {"m": [1, 2, 4, 8]}, None, id="no node of another system"),
    ],
)  # fmt: skip
def test_nodes_of_a_make_that_would_do(
    items: list[Any], waiting: int, counts: dict[str, list[int]], costs: list[float] | None
) -> None:
    found = proposals(items, waiting, elsewhere=False)
    numbers: dict[str, list[int]] = {}
    for text in found:
        first, name = text.split()[0], text.replace(",", "").split(" like ")[1]
        numbers.setdefault(name, []).append(1 if first == "one" else int(first))
    assert numbers == counts
    assert list(found.values()) == (costs if costs is not None else sorted(found.values()))


A, B, C = node("a1", pool="fast", zone="a"), node("b1", "1", zone="b"), node("c1", "1", zone="c")
LIKE_A = "{} in pool fast, like a1 (a), in zone {}"
NONE, NEW = ", where the pool has none", ", which has no node"


def within(zones: str, operator: str = "In", key: str = ZONE) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": zones.split()}]}


def wanting(*terms: dict[str, Any], **selector: str) -> PodBuilder:
    pod = make_pod("p").requests(cpu="2").selector(**selector)
    return pod.node_affinity(*terms) if terms else pod


def with_volume(zones: str) -> list[Any]:
    bound_by = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    claim = {"metadata": {"name": "data", "namespace": "default", **bound_by}, "spec": {"volumeName": "v"}}
    required = {"required": {"nodeSelectorTerms": [within(zones)]}}
    volume = {"metadata": {"name": "v"}, "spec": {"nodeAffinity": required}}
    return [msgspec.convert(claim, PersistentVolumeClaim), msgspec.convert(volume, PersistentVolume)]


def on_a1(*nodes: NodeBuilder) -> list[Any]:
    """A pod of this zone keeps the other one away."""
    return [*nodes, make_pod("r").label(app="p").on("a1"), NEAR_NONE]


@pytest.mark.parametrize(
    ("items", "waiting", "found"),
    [
        pytest.param([*full(A, B), wanting(within("b"))], 1, {LIKE_A.format("one more node", "b") + NONE: 1.9}, id="by affinity"),
        pytest.param([*full(A, B), wanting(**{ZONE: "b"})], 5, {LIKE_A.format("one more node", "b") + NONE: 1.9, LIKE_A.format("3 more nodes", "b") + NONE: 1.902}, id="by a selector, for five pods"),
        pytest.param([*full(A, B), wanting(within("b"))], 120, {LIKE_A.format("one more node", "b") + NONE: 1.9, LIKE_A.format("60 more nodes", "b") + NONE: 1.95}, id="more than fifty cost no more"),
        pytest.param([*full(A, B), wanting(), *with_volume("b")], 1, {LIKE_A.format("one more node", "b") + NONE: 1.9}, id="by a volume"),
        pytest.param([*full(A, B, C), wanting(within("b c")), *with_volume("c d")], 1, {LIKE_A.format("one more node", "c") + NONE: 1.9}, id="by a volume and affinity"),
        pytest.param([*full(A, B), wanting(within("b")), *with_volume("c d")], 1, {}, id="a volume against affinity"),
        pytest.param([*full(A), wanting(), *with_volume("a-c")], 1, {}, id="no node in the zone, and of no region"),
        pytest.param([*full(node("a1", pool="fast", zone="a").label(REGION, "r")), wanting(), *with_volume("r-c")], 1, {LIKE_A.format("one more node", "r-c") + NEW: 1.5}, id="no node in the zone"),
        pytest.param([*full(node("a1", pool="fast", zone="a").label(REGION, "r"), B), wanting(within("b"))], 1, {}, id="the zone is in another region"),
        pytest.param([*full(A, B, C, node("d1", "1", zone="d")), wanting(within("b c d x"))], 1, {LIKE_A.format("one more node", zone) + NONE: cost for zone, cost in (("b", 1.9), ("c", 1.91))}, id="two zones at most"),
        pytest.param([*full(A, node("b1", "1", pool="fast", zone="b")), wanting(within("b"))], 1, {LIKE_A.format("one more node", "b"): 1.9}, id="the pool has a node there"),
        pytest.param([*full(A, node("a2", "8", zone="a"), B), wanting(within("b"))], 1, {LIKE_A.format("one more node", "b") + NONE: 1.9, "one more node like a2, in zone b": 2.0}, id="two makes"),
        pytest.param([*full(A, B), wanting(within("b"), within("c"))], 1, {}, id="either of two terms"),
        pytest.param([*full(A, B), wanting(within("b", "NotIn"))], 1, {}, id="any zone but one"),
        pytest.param([*full(A, B), wanting(within("b", key="disk"))], 1, {}, id="another label"),
        pytest.param([*full(A, B), wanting(within("b"), disk="ssd")], 1, {}, id="the node lacks another label"),
        pytest.param([*full(node("a1", zone="a").taint("gpu"), B), wanting(within("b"))], 1, {}, id="the node has a taint"),
        pytest.param(on_a1(A, B, C), 1, {LIKE_A.format("one more node", zone) + NONE: cost for zone, cost in (("b", 1.9), ("c", 1.91))}, id="apart by zone"),
        pytest.param(on_a1(A, node("a2", pool="slow", zone="a"), node("b1", "1", pool="slow", zone="b"), C), 1,
            {**{LIKE_A.format("one more node", zone) + NONE: cost for zone, cost in (("b", 1.9), ("c", 1.91))},
             "one more node in pool slow, like a2 (a), in zone c, where the pool has none": 2.0}, id="two pools apart by zone"),
        pytest.param(on_a1(node("a1", pool="fast", zone="a").cordoned(), B), 1, {}, id="apart, and cordoned"),
        pytest.param(on_a1(node("a1", zone="a"), B), 1, {}, id="apart, and of no pool"),
        pytest.param(on_a1(node("a1", pool="fast", zone="a").taint(CONTROL_PLANE, effect="PreferNoSchedule"), B), 1, {}, id="apart, and a control plane"),
        pytest.param(on_a1(node("a1", "1", pool="fast", zone="a"), B), 1, {}, id="apart, and too small"),
    ],
)  # fmt: skip
def test_nodes_in_another_zone(items: list[Any], waiting: int, found: dict[str, float]) -> None:
    assert proposals(items, waiting, elsewhere=True, claims=["data"]) == found


def test_a_copy_in_another_zone_has_the_zone_in_every_label_of_its_zone() -> None:
    """Drivers of volumes label a node with its zone under keys of their own."""
    driver = node("a1", pool="fast", zone="a").label("topology.ebs.csi.aws.com/zone", "a").label(rack="b")
    items = [*full(driver, B), wanting(within("b"))]
    objects = [each.obj() for each in items]
    pod = objects[-1]
    rejected = [each for each in explained(objects, "p").nodes if each.rejections]
    _, two = NodeProposals(loaded_of(*objects), pod, 3, []).in_another_zone(rejected)
    labels = [f"--label a1-clone-{at}={key}=b" for at in (1, 2) for key in ("topology.ebs.csi.aws.com/zone", ZONE)]
    assert [str(each) for each in two.edits] == ["--clone-node a1=2", *labels]


def test_no_fewer_nodes_where_it_takes_that_a_daemon_preempts_another_pod() -> None:
    """The other pod is tried first and takes a new node. Three nodes are enough only if the pod of the DaemonSet comes in
    time to preempt it."""
    logs = make_workload("DaemonSet", "logs", requests={"cpu": "2"}, pod={"priorityClassName": "system-node-critical"})
    daemon = msgspec.convert({**logs, "metadata": {"name": "logs", "namespace": "default"}}, DaemonSet)
    there = make_pod("on-n").requests(cpu="20").on("n").priority(2_000_001_000)
    other = make_pod("other").requests(cpu="19").owner("ReplicaSet", "other")
    replicas = [make_pod(name).requests(cpu="4").host_port(80).owner("ReplicaSet", "web") for name in ("a", "b", "p")]
    found = explained(
        [node("n", cpu="20").obj(), daemon, *(each.obj() for each in (there, other, *replicas))], "p"
    ).fixes
    assert found is not None
    assert [each.text for each in found.found] == ["4 more nodes like n"]
