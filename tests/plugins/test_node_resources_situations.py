"""Situations of containers that run one after the other, of requests for the whole pod, and of devices, with figures."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.config.plugin_args import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from ksched_cli.framework.status import Status
from ksched_cli.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.harness import make_bench
from tests.plugins.lib.devices.resources import allocated, devices, make_claim, make_class, make_slice

GPU = "example.com/gpu"
NODE = make_node("n").allocatable(
    cpu="10m", memory="20", pods="32", example_com__gpu="5", **{"ephemeral-storage": "20", "hugepages-2Mi": "5"}
)


def ask(**requests: Any) -> dict[str, Any]:
    return {
        "resources": {"requests": {name.replace("__", "/").replace("_", "."): each for name, each in requests.items()}}
    }


def lacking(pod: Any, used: dict[str, str] | None = None, **options: Any) -> list[str]:
    running = [make_pod("r").requests(**(used or {})).on("n").obj()]
    made = make_bench(NodeResourcesFit, [NODE.obj()], pod.obj(), running, **options)
    _, reasons = made.statuses().get("n", ("", ()))
    return [reason.removeprefix("Insufficient ") for reason in reasons]


HALF = {"cpu": "5m", "memory": "10"}
MOST = {"cpu": "8m", "memory": "19"}
HUGE = "hugepages-2Mi"


@pytest.mark.parametrize(
    ("pod", "used", "expected"),
    [
        pytest.param(make_pod(), {"cpu": "10m", "memory": "20"}, [], id="nothing on a full node"),
        pytest.param(make_pod().requests(cpu="1m", memory="1"), {"cpu": "10m", "memory": "20"}, ["cpu", "memory"],
                     id="both lack"),
        pytest.param(make_pod().requests(cpu="1m", memory="1").init(**ask(cpu="3m", memory="1")), MOST, ["cpu"],
                     id="an init container lacks cpu"),
        pytest.param(make_pod().requests(cpu="1m", memory="1").init(**ask(cpu="3m")).init(**ask(cpu="2m")), MOST,
                     ["cpu"], id="the largest init container lacks cpu"),
        pytest.param(make_pod().requests(cpu="1m", memory="1").init(**ask(cpu="1m", memory="2")),
                     {"cpu": "9m", "memory": "19"}, ["memory"], id="an init container lacks memory"),
        pytest.param(make_pod().requests(cpu="1m", memory="1").init(**ask(cpu="1m", memory="1")).init(**ask(memory="2")),
                     {"cpu": "9m", "memory": "19"}, ["memory"], id="the largest init container lacks memory"),
        pytest.param(make_pod().requests(cpu="1m", memory="1").init(**ask(cpu="1m")).init(**ask(cpu="1m")),
                     {"cpu": "9m", "memory": "19"}, [], id="init containers one after the other"),
        pytest.param(make_pod().requests(cpu="2m", memory="1"), {"cpu": "9m", "memory": "5"}, ["cpu"], id="cpu lacks"),
        pytest.param(make_pod().requests(cpu="1m", memory="2"), {"cpu": "5m", "memory": "19"}, ["memory"],
                     id="memory lacks"),
        pytest.param(make_pod().requests(cpu="5m", memory="1"), {"cpu": "5m", "memory": "19"}, [], id="just fits"),
        pytest.param(make_pod().requests(cpu="4m").init(**ask(cpu="5m", memory="1")), {"cpu": "5m", "memory": "19"}, [],
                     id="an init container just fits"),
        pytest.param(make_pod().requests(example_com__gpu="3").container(**ask(example_com__gpu="3")), {}, [GPU],
                     id="devices of several containers"),
        pytest.param(make_pod().init(**ask(example_com__gpu="3")).init(**ask(example_com__gpu="3")), {}, [],
                     id="devices of several init containers"),
        pytest.param(make_pod().init(**ask(example_com__gpu="3")).init(**ask(example_com__gpu="3")),
                     {"example_com__gpu": "3"}, [GPU], id="devices of several init containers, some in use"),
        pytest.param(make_pod().init(**ask(example_com__none="1")), {}, ["example.com/none"],
                     id="an init container asks for an unknown resource"),
        pytest.param(make_pod().requests(**{"kubernetes.io/something": "10"}), {}, ["kubernetes.io/something"],
                     id="a resource of Kubernetes that the node does not have"),
        pytest.param(make_pod().requests(**{HUGE: "6"}), {}, [HUGE], id="huge pages"),
        pytest.param(make_pod().init(**ask(**{HUGE: "6"})), {}, [HUGE], id="huge pages of an init container"),
        pytest.param(make_pod().requests(**{HUGE: "3"}).container(**ask(**{HUGE: "3"})), {HUGE: "2"}, [HUGE],
                     id="huge pages of several containers"),
        pytest.param(make_pod().requests(cpu="1m", memory="1").spec(overhead={"cpu": "3m", "memory": "13"}), HALF,
                     ["memory"], id="overhead"),
        pytest.param(make_pod().requests(cpu="1m", memory="1").spec(overhead={"cpu": "3m", "memory": "5"}), HALF, [],
                     id="overhead that fits"),
        pytest.param(make_pod().requests(**{"ephemeral-storage": "25"}), {}, ["ephemeral-storage"], id="storage"),
        pytest.param(make_pod().requests(**{"ephemeral-storage": "10"}), {"ephemeral-storage": "10"}, [],
                     id="storage that fits"),
        pytest.param(make_pod().requests(example_com__none="0"), {}, [], id="nothing of an unknown resource"),
        pytest.param(make_pod().requests(cpu="1m", memory="1").spec(resources={"requests": {"cpu": "3m", "memory": "2"}}),
                     HALF, [], id="for the whole pod"),
        pytest.param(make_pod().requests(cpu="1m").spec(resources={"requests": {"cpu": "6m", "memory": "2"}}), HALF,
                     ["cpu"], id="for the whole pod, cpu lacks"),
        pytest.param(make_pod().requests(cpu="1m").spec(resources={"requests": {"cpu": "5m", "memory": "11"}}), HALF,
                     ["memory"], id="for the whole pod, memory lacks"),
        pytest.param(make_pod().spec(resources={"requests": {HUGE: "2"}}), {}, [], id="huge pages for the whole pod"),
        pytest.param(make_pod().requests(**{HUGE: "1"}).spec(resources={"requests": {HUGE: "10"}}), {}, [HUGE],
                     id="huge pages for the whole pod lack"),
        pytest.param(make_pod().requests(cpu="3m", memory="2").init(**ask(cpu="4m", memory="3"))
                     .spec(resources={"requests": {"cpu": "5m"}}), HALF, [],
                     id="cpu for the whole pod, memory by container"),
        pytest.param(make_pod().requests(cpu="1m").init(**ask(cpu="1m"), restartPolicy="Always"), {"cpu": "8m"}, [],
                     id="a sidecar"),
        pytest.param(make_pod().requests(cpu="1m").init(**ask(cpu="2m"), restartPolicy="Always"), {"cpu": "8m"},
                     ["cpu"], id="a sidecar lacks"),
    ],
)  # fmt: skip
def test_what_lacks(pod: Any, used: dict[str, str], expected: list[str]) -> None:
    assert lacking(pod, used) == expected


def test_a_full_node_has_no_room_for_a_pod_that_asks_for_nothing() -> None:
    crowded = make_node("n").allocatable(cpu="10m", memory="20", pods="1").obj()
    running = [make_pod("r").requests(cpu="5m").on("n").obj()]
    for pod in (make_pod(), make_pod().requests(cpu="5m"), make_pod().init(**ask(cpu="5m"))):
        made = make_bench(NodeResourcesFit, [crowded], pod.obj(), running)
        assert made.statuses() == {"n": ("Unschedulable", ("Too many pods",))}


@pytest.mark.parametrize(
    ("announced", "backed", "gates", "expected"),
    [
        pytest.param({"example_com__gpu": "5"}, True, "", [], id="a device plugin has it"),
        pytest.param({"example_com__gpu": "1"}, True, "", [GPU], id="a device plugin has too little"),
        pytest.param({}, True, "", [], id="devices may have it"),
        pytest.param({"example_com__gpu": "0"}, True, "", [], id="devices may have it, the device plugin is gone"),
        pytest.param({}, False, "", [GPU], id="no class stands behind it"),
        pytest.param({"example_com__gpu": "0"}, False, "", [GPU], id="no class, the device plugin is gone"),
        pytest.param({}, True, "DRAExtendedResource=false", [GPU], id="without the gate"),
    ],
)
def test_what_devices_may_have_is_left_to_them(
    announced: dict[str, str], backed: bool, gates: str, expected: list[str]
) -> None:
    node = make_node("n").allocatable(cpu="1", memory="1Gi", pods="9", **announced).obj()
    objects = [make_class("gpu", extendedResourceName=GPU)] if backed else []
    wanted = make_pod().requests(example_com__gpu="2").obj()
    other = make_node("other").allocatable(cpu="1", memory="1Gi", pods="9", **announced).obj()
    for nodes in ([node], [node, other]):
        made = make_bench(NodeResourcesFit, nodes, wanted, objects=objects, gates=gates)
        _, reasons = made.statuses().get("n", ("", ()))
        assert [reason.removeprefix("Insufficient ") for reason in reasons] == expected


# Scores

BOTH = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))


def score(
    kind: str, pod: Any, *sizes: tuple[str, str], running: Any = (), resources: Any = BOTH, **shape: int
) -> list[int]:
    nodes = [
        make_node(f"n{at}").allocatable(cpu=cpu, memory=memory, pods="9").obj()
        for at, (cpu, memory) in enumerate(sizes)
    ]
    points = tuple(UtilizationShapePoint(int(at.removeprefix("at")), value) for at, value in shape.items())
    strategy = ScoringStrategy(kind, resources, RequestedToCapacityRatioParam(points) if points else None)
    made = make_bench(NodeResourcesFit, nodes, pod.obj(), running, args=NodeResourcesFitArgs(scoring_strategy=strategy))
    found = made.scores()
    assert not isinstance(found, Status)
    state = made.plugin.score(None, made.pod, made.nodes())
    assert state.tolist() == list(found.values()), "a profile may leave PreScore out"
    return list(found.values())


WEB = make_pod().requests(cpu="3", memory="5000")
HERE = [make_pod("r").requests(cpu="3").on("n0").obj(), make_pod("s").requests(cpu="3", memory="5000").on("n1").obj()]
FULL_FIRST = {"at0": 0, "at100": 10}


@pytest.mark.parametrize(
    ("kind", "pod", "sizes", "running", "shape", "expected"),
    [
        pytest.param("LeastAllocated", WEB, [("4", "10000"), ("6", "10000")], (), {}, [37, 50], id="least"),
        pytest.param("LeastAllocated", WEB, [("10", "20000"), ("10", "50000")], HERE[1:], {}, [72, 60], id="least, in use"),
        pytest.param("LeastAllocated", WEB, [("2", "4000")], (), {}, [0], id="least, beyond the node"),
        pytest.param("MostAllocated", WEB, [("4", "10000"), ("6", "10000")], (), {}, [62, 50], id="most"),
        pytest.param("MostAllocated", WEB, [("10", "20000"), ("10", "50000")], HERE[1:], {}, [27, 40], id="most, in use"),
        pytest.param("MostAllocated", WEB, [("3", "5000")], (), {}, [100], id="most, all of the node"),
        pytest.param("MostAllocated", WEB, [("2", "4000")], (), {}, [100], id="most, beyond the node"),
        pytest.param("RequestedToCapacityRatio", WEB, [("4", "10000"), ("6", "10000")], (), FULL_FIRST, [63, 50],
                     id="ratio, the full first"),
        pytest.param("RequestedToCapacityRatio", WEB, [("4", "10000"), ("6", "10000")], (), {"at0": 10, "at100": 0},
                     [38, 50], id="ratio, the free first"),
        pytest.param("LeastAllocated", make_pod().requests(cpu="1", memory="1000").init(**ask(cpu="2", memory="4000"),
                     restartPolicy="Always"), [("4", "10000"), ("6", "10000")], (), {}, [37, 50], id="least, a sidecar"),
        pytest.param("MostAllocated", make_pod().requests(cpu="1", memory="1000").init(**ask(cpu="2", memory="4000"),
                     restartPolicy="Always"), [("4", "10000"), ("6", "10000")], (), {}, [62, 50], id="most, a sidecar"),
        pytest.param("LeastAllocated", make_pod().requests(cpu="1", memory="1000").spec(overhead={"cpu": "2",
                     "memory": "4000"}), [("4", "10000")], (), {}, [37], id="least, overhead"),
    ],
)  # fmt: skip
def test_scores(kind: str, pod: Any, sizes: Any, running: Any, shape: dict[str, int], expected: list[int]) -> None:
    assert score(kind, pod, *sizes, running=running, **shape) == expected


def test_weights() -> None:
    heavy = (ResourceSpec("cpu", 1), ResourceSpec("memory", 2))
    assert score("LeastAllocated", WEB, ("4", "10000"), ("6", "10000"), resources=heavy) == [41, 50]


def test_points_of_a_shape_are_joined_by_lines() -> None:
    shape = {"at10": 1, "at50": 5, "at90": 9}
    cpu = (ResourceSpec("cpu", 1),)
    for milli, expected in ((0, 10), (50, 10), (100, 10), (300, 30), (500, 50), (700, 70), (950, 90), (1000, 90)):
        pod = make_pod().requests(cpu=f"{milli}m") if milli else make_pod().requests(cpu="1m")
        assert score("RequestedToCapacityRatio", pod, ("1", "1"), resources=cpu, **shape) == [expected]


def bins(kind: str, amounts: dict[str, str], running: dict[str, str], weights: dict[str, int]) -> list[int]:
    nodes = [
        make_node("n0").allocatable(cpu="4", memory="10Gi", pods="9", example_com__gpu="8", example_com__nic="4").obj(),
        make_node("n1").allocatable(cpu="4", memory="10Gi", pods="9", example_com__gpu="4", example_com__nic="8").obj(),
    ]
    there = [make_pod("r").requests(**running).on("n1").obj()] if running else []
    resources = tuple(ResourceSpec(name, weight) for name, weight in weights.items())
    strategy = ScoringStrategy(kind, resources, RequestedToCapacityRatioParam(
        (UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 1))
    ))  # fmt: skip
    args = NodeResourcesFitArgs(scoring_strategy=strategy)
    found = make_bench(NodeResourcesFit, nodes, make_pod().requests(**amounts).obj(), there, args=args).scores()
    assert not isinstance(found, Status)
    return list(found.values())


@pytest.mark.parametrize(
    ("amounts", "running", "weights", "expected"),
    [
        pytest.param({}, {}, {GPU: 1}, [0, 0], id="nobody asks for devices"),
        pytest.param({"example_com__gpu": "2"}, {}, {GPU: 1}, [2, 5], id="devices"),
        pytest.param({"example_com__gpu": "2"}, {"example_com__gpu": "2"}, {GPU: 1}, [2, 10], id="devices in use"),
        pytest.param({"example_com__gpu": "4"}, {}, {GPU: 1}, [5, 10], id="all devices of a node"),
        pytest.param({"example_com__gpu": "2", "example_com__nic": "2"}, {}, {GPU: 3, "example.com/nic": 5}, [4, 3],
                     id="two kinds of devices by weight"),
        pytest.param({"example_com__gpu": "2", "example_com__nic": "2"}, {"example_com__gpu": "2"},
                     {GPU: 3, "example.com/nic": 5}, [4, 5], id="two kinds of devices, one in use"),
    ],
)  # fmt: skip
def test_devices_are_packed(
    amounts: dict[str, str], running: dict[str, str], weights: dict[str, int], expected: list[int]
) -> None:
    assert bins("RequestedToCapacityRatio", amounts, running, weights) == expected


@pytest.mark.parametrize("kind", ["LeastAllocated", "MostAllocated"])
def test_devices_of_claims_count_where_the_node_does_not_announce_them(kind: str) -> None:
    objects = [
        make_class("gpu", extendedResourceName=GPU),
        make_slice("s", devices("a", "b", "c", "d"), node="n"),
        make_claim("busy", status=allocated("a", pool="n")),
    ]
    strategy = ScoringStrategy(kind, (ResourceSpec(GPU, 1),))
    node = make_node("n").allocatable(cpu="4", memory="1Gi", pods="9").obj()
    made = make_bench(
        NodeResourcesFit, [node], make_pod().requests(example_com__gpu="1").obj(), objects=objects,
        args=NodeResourcesFitArgs(scoring_strategy=strategy),
    )  # fmt: skip
    assert made.scores() == {"n": 50}
    assert made.plugin.score(None, made.pod, made.nodes()).tolist() == [50]


def balanced(pod: Any, *nodes: Any, running: Any = (), resources: Any = BOTH, objects: Any = ()) -> list[int] | None:
    args = NodeResourcesBalancedAllocationArgs(resources=resources)
    made = make_bench(NodeResourcesBalancedAllocation, nodes, pod.obj(), running, args=args, objects=objects)
    found = made.scores()
    if isinstance(found, Status):
        return None
    assert made.plugin.score(None, made.pod, made.nodes()).tolist() == list(found.values())
    return list(found.values())


def sized(name: str, cpu: str, memory: str, **more: str) -> Any:
    return make_node(name).allocatable(cpu=cpu, memory=memory, pods="9", **more).obj()


def test_balance() -> None:
    two = (sized("n0", "4", "10000"), sized("n1", "6", "10000"))
    assert balanced(make_pod(), *two) is None
    assert balanced(WEB, *two) == [68, 75]
    assert balanced(WEB, sized("n0", "10", "20000"), sized("n1", "10", "50000"), running=HERE) == [73, 70]
    assert balanced(WEB, sized("n0", "3", "5000")) == [75]
    with_gpu = (*BOTH, ResourceSpec(GPU, 1))
    gpus = (sized("n0", "4", "10000", example_com__gpu="8"), sized("n1", "4", "10000"))
    assert balanced(WEB, *gpus, resources=with_gpu) == [68, 68]
    asking = make_pod().requests(cpu="3", memory="5000", example_com__gpu="3")
    assert balanced(asking, *gpus, resources=with_gpu) == [67, 68]
