from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.pod_resources import nonzero_requests_of, requests_of, scoring_requests_of
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.config.plugin_args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from ksched_cli.framework.depends import Depends
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.harness import make_bench
from tests.lanes import examples
from tests.plugins.lib.devices.resources import make_class

HOPELESS, MAYBE = "UnschedulableAndUnresolvable", "Unschedulable"


def node(**allocatable: Any) -> Any:
    """A node of 4 cpu, 8 GiB and 10 pods; what is None is not listed."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
    return make_node("n").allocatable(**{key: each for key, each in amounts.items() if each is not None}).obj()


@pytest.mark.parametrize(
    ("requests", "running", "allocatable", "expected"),
    [
        pytest.param({}, [], {}, None, id="asks for nothing"),
        pytest.param({"cpu": "4"}, [], {}, None, id="exactly fits"),
        pytest.param({"cpu": "4001m"}, [], {}, (HOPELESS, ("Insufficient cpu",)), id="more than the node has"),
        pytest.param({"cpu": "2"}, [{"cpu": "3"}], {}, (MAYBE, ("Insufficient cpu",)), id="more than is free"),
        pytest.param(
            {"cpu": "2", "memory": "9Gi"},
            [{"cpu": "3"}],
            {},
            (HOPELESS, ("Insufficient cpu", "Insufficient memory")),
            id="one hopeless shortage makes the node hopeless",
        ),
        pytest.param({}, [{}] * 2, {"pods": "2"}, (MAYBE, ("Too many pods",)), id="no room for another pod"),
        pytest.param(
            {"cpu": "9"},
            [{}] * 2,
            {"pods": "2"},
            (HOPELESS, ("Too many pods", "Insufficient cpu")),
            id="pods are counted first",
        ),
        pytest.param({}, [], {"pods": "0"}, (MAYBE, ("Too many pods",)), id="a node for no pods"),
        pytest.param({}, [], {"pods": None}, (MAYBE, ("Too many pods",)), id="a node that names no pods"),
        pytest.param(
            {"example_com__gpu": 1}, [], {}, (HOPELESS, ("Insufficient example.com/gpu",)), id="unknown resource"
        ),
        pytest.param(
            {"example_com__gpu": 2},
            [{"example_com__gpu": 1}],
            {"example_com__gpu": 2},
            (MAYBE, ("Insufficient example.com/gpu",)),
            id="extended resource in use",
        ),
        pytest.param(
            {"example_com__nic": 1, "example_com__gpu": 1, "cpu": "9"},
            [],
            {},
            (HOPELESS, ("Insufficient cpu", "Insufficient example.com/gpu", "Insufficient example.com/nic")),
            id="extended resources by name",
        ),
        pytest.param({"example_com__gpu": 0}, [], {}, None, id="zero of an unknown resource"),
        pytest.param(
            {"ephemeral-storage": "2Gi"},
            [],
            {"ephemeral-storage": "1Gi"},
            (HOPELESS, ("Insufficient ephemeral-storage",)),
            id="storage",
        ),
        pytest.param({"hugepages-2Mi": "4Mi"}, [], {"hugepages-2Mi": "4Mi"}, None, id="huge pages"),
        pytest.param({"vendor": "4"}, [], {}, None, id="a name the scheduler does not count"),
    ],
)
def test_filter(requests: dict[str, Any], running: list[Any], allocatable: dict[str, Any], expected: Any) -> None:
    pods = [make_pod(f"r{index}").requests(**each).on("n").obj() for index, each in enumerate(running)]
    made = make_bench(NodeResourcesFit, [node(**allocatable)], make_pod().requests(**requests).obj(), pods)
    assert made.statuses().get("n") == expected


@pytest.mark.parametrize(
    ("pod", "free_cpu", "fits"),
    [
        pytest.param(
            make_pod().requests(cpu="1").init(resources={"requests": {"cpu": "3"}}), "3", True, id="init is the peak"
        ),
        pytest.param(
            make_pod().requests(cpu="1").init(resources={"requests": {"cpu": "3"}}), "2", False, id="init too large"
        ),
        pytest.param(
            make_pod().requests(cpu="1").init(resources={"requests": {"cpu": "1"}}, restartPolicy="Always"),
            "1",
            False,
            id="sidecars run beside",
        ),
        pytest.param(make_pod().requests(cpu="1").spec(overhead={"cpu": "500m"}), "1", False, id="overhead counts"),
        pytest.param(
            make_pod().requests(cpu="1").spec(resources={"requests": {"cpu": "3"}}), "2", False, id="pod level wins"
        ),
        pytest.param(make_pod().limits(cpu="3"), "2", False, id="a limit is a request"),
    ],
)
def test_what_a_pod_asks_for(pod: Any, free_cpu: str, fits: bool) -> None:
    made = make_bench(NodeResourcesFit, [node(cpu=free_cpu)], pod.obj())
    assert (made.statuses() == {}) is fits


@pytest.mark.parametrize(
    ("args", "rejected"),
    [
        pytest.param(NodeResourcesFitArgs(), True, id="by default"),
        pytest.param(NodeResourcesFitArgs(ignored_resources=("example.com/gpu",)), False, id="ignored by name"),
        pytest.param(NodeResourcesFitArgs(ignored_resource_groups=("example.com",)), False, id="ignored by group"),
        pytest.param(NodeResourcesFitArgs(ignored_resource_groups=("example.org",)), True, id="another group"),
    ],
)
def test_ignored_resources(args: NodeResourcesFitArgs, rejected: bool) -> None:
    made = make_bench(NodeResourcesFit, [node()], make_pod().requests(example_com__gpu=1).obj(), args=args)
    assert bool(made.statuses()) is rejected


@pytest.mark.parametrize("full", [0, 1, 5, 9])
def test_full_nodes_among_many_get_the_reasons_that_each_would_get_alone(full: int) -> None:
    nodes = [make_node(f"n{index}").allocatable(cpu="4", memory="8Gi", pods="1").obj() for index in range(9)]
    asked = [{"cpu": "3"}, {"memory": "7Gi"}, {"cpu": "4", "memory": "8Gi"}]
    running = [make_pod(f"r{index}").requests(**asked[index % 3]).on(f"n{index}").obj() for index in range(full)]
    pod = make_pod().requests(cpu="2", memory="2Gi").obj()
    made = make_bench(NodeResourcesFit, nodes, pod, running)
    alone = {}
    for each in nodes:
        on_it = [other for other in running if other.spec.node_name == each.metadata.name]
        alone |= make_bench(NodeResourcesFit, [each], pod, on_it).statuses()
    assert made.statuses() == alone
    assert len(alone) == full


def test_cpu_cannot_be_ignored() -> None:
    args = NodeResourcesFitArgs(ignored_resources=("cpu",))
    assert make_bench(NodeResourcesFit, [node()], make_pod().requests(cpu="9").obj(), args=args).statuses()


def test_explain_gives_the_numbers() -> None:
    running = [make_pod("r").requests(cpu="3").on("n").obj(), make_pod("other").requests(memory="1Gi").on("n").obj()]
    made = make_bench(NodeResourcesFit, [node()], make_pod().requests(cpu="2").obj(), running)
    detail = made.plugin.explain(made.state(), made.pod, made.nodes(), 0)
    held = [{"pod": "default/r", "amount": 3000}]
    figures = {"asked": 2000, "used": 3000, "allocatable": 4000, "free": 1000, "short": 1000}
    assert detail == {"cpu": {**figures, "heldBy": held}}


@pytest.mark.parametrize(
    ("allocatable", "requests", "free"),
    [
        pytest.param({"pods": 1}, {"cpu": "1"}, {"pods": 0}, id="as many pods as the node takes"),
        pytest.param({"pods": 2}, {"cpu": "4", "memory": "8Gi"}, {"cpu": 3000}, id="room for one more pod"),
        pytest.param({}, {"example_com__gpu": 1}, {}, id="a resource of devices that the node does not publish"),
        pytest.param(
            {"example_com__gpu": 1}, {"example_com__gpu": 2}, {"example.com/gpu": 1}, id="one that the node publishes"
        ),
    ],
)
def test_explain_names_what_a_node_lacks(allocatable: Any, requests: Any, free: dict[str, int]) -> None:
    """Devices stand behind the resource; on nodes that publish it themselves it is counted as others are."""
    running = [make_pod("r").requests(cpu="1").on("n").obj()]
    objects = [make_class("gpu", extendedResourceName="example.com/gpu")]
    asking = make_pod().requests(**requests).obj()
    made = make_bench(NodeResourcesFit, [node(**allocatable)], asking, running, objects=objects)
    detail = made.plugin.explain(made.state(), made.pod, made.nodes(), 0)
    assert {resource: numbers["free"] for resource, numbers in detail.items()} == free


def test_explain_names_the_largest_holders_and_counts_the_others() -> None:
    running = [make_pod(f"r{index}").requests(cpu=f"{index}00m").on("n").obj() for index in range(1, 8)]
    made = make_bench(NodeResourcesFit, [node()], make_pod().requests(cpu="2").obj(), running)
    detail = made.plugin.explain(made.state(), made.pod, made.nodes(), 0)["cpu"]
    assert [each["pod"] for each in detail["heldBy"]] == [f"default/r{index}" for index in (7, 6, 5, 4, 3)]
    assert detail["heldByOthers"] == {"pods": 2, "amount": 300}


def test_without_pre_filter_there_is_nothing_to_go_by() -> None:
    made = make_bench(NodeResourcesFit, [node()], make_pod().obj())
    assert made.plugin.filter(None, made.pod, made.nodes()).status(0).code.go_name == "Error"


@pytest.mark.slow
@given(clusters())
@settings(max_examples=examples(150), deadline=None)
def test_filter_agrees_with_the_plain_reading(drawn: Any) -> None:
    nodes, running, pod = drawn
    made = make_bench(NodeResourcesFit, nodes, pod, running)
    want: dict[str, Any] = {}
    for each in nodes:
        free = {name: _amount(name, quantity) for name, quantity in each.status.allocatable.items()}
        total = dict(free)
        here = [other for other in running if other.spec.node_name == each.metadata.name]
        for other in here:
            for name, amount in requests_of(other, use_status=True).items():
                free[name] = free.get(name, 0) - amount
        reasons, hopeless = set(), False
        if len(here) + 1 > total["pods"]:
            reasons.add("Too many pods")
        for name, amount in requests_of(pod, use_status=False).items():
            if amount and amount > free.get(name, 0):
                reasons.add(f"Insufficient {name}")
                hopeless |= amount > total.get(name, 0)
        if reasons:
            want[each.metadata.name] = (HOPELESS if hopeless else MAYBE, reasons)
    got = {name: (code, set(reasons)) for name, (code, reasons) in made.statuses().items()}
    assert got == want


def _amount(name: str, quantity: Any) -> int:
    return milli_value(quantity) if name == "cpu" else value(quantity)


SHAPE = tuple(UtilizationShapePoint(*point) for point in ((0, 0), (40, 10), (80, 3)))
RESOURCES = (ResourceSpec("cpu", 3), ResourceSpec("memory", 1), ResourceSpec("example.com/gpu", 5))
STRATEGIES = {
    "least": ScoringStrategy("LeastAllocated", RESOURCES),
    "most": ScoringStrategy("MostAllocated", RESOURCES),
    "ratio": ScoringStrategy("RequestedToCapacityRatio", RESOURCES, RequestedToCapacityRatioParam(SHAPE)),
}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [pytest.param(each, id=name) for name, each in STRATEGIES.items()])
@given(drawn=clusters())
@settings(max_examples=examples(80), deadline=None)
def test_score_agrees_with_the_plain_reading(strategy: ScoringStrategy, drawn: Any) -> None:
    nodes, running, pod = drawn
    made = make_bench(NodeResourcesFit, nodes, pod, running, args=NodeResourcesFitArgs(scoring_strategy=strategy))
    assert made.scores() == {each.metadata.name: plain_score(each, running, pod, strategy) for each in nodes}


def plain_score(node: Any, running: list[Any], pod: Any, strategy: ScoringStrategy) -> int:
    here = [other for other in running if other.spec.node_name == node.metadata.name]
    own = requests_of(pod, use_status=False, pod_level=False)
    own["cpu"], own["memory"] = scoring_requests_of(pod)
    total = weights = 0
    for resource in strategy.resources:
        capacity = _amount(resource.name, node.status.allocatable.get(resource.name, 0))
        asked = own.get(resource.name, 0)
        if not capacity or ("/" in resource.name and not asked):
            continue
        used = 0
        for other in here:
            cpu, memory = nonzero_requests_of(other)
            counted = {**requests_of(other, use_status=True), "cpu": cpu, "memory": memory}
            used += counted.get(resource.name, 0)
        score = plain_resource_score(used + asked, capacity, strategy)
        if score or strategy.type != "RequestedToCapacityRatio":
            total += score * resource.weight
            weights += resource.weight
    if not weights:
        return 0
    if strategy.type == "RequestedToCapacityRatio":
        return math.floor(total / weights + 0.5)
    return total // weights


def plain_resource_score(requested: int, capacity: int, strategy: ScoringStrategy) -> int:
    if strategy.type == "LeastAllocated":
        return 0 if requested > capacity else (capacity - requested) * 100 // capacity
    if strategy.type == "MostAllocated":
        return min(requested, capacity) * 100 // capacity
    percent = 100 if requested > capacity else requested * 100 // capacity
    points = [(point.utilization, point.score * 10) for point in SHAPE]
    for index, (utilization, score) in enumerate(points):
        if percent <= utilization:
            if index == 0:
                return score
            before, low = points[index - 1]
            return low + int((score - low) * (percent - before) / (utilization - before))
    return points[-1][1]


@given(st.integers(0, 100))
def test_a_flat_shape_scores_the_same_everywhere(percent: int) -> None:
    from ksched_cli.plugins.lib.resource_scoring import broken_linear

    assert broken_linear([(0, 7), (100, 7)], percent) == 70


def weighing(kind: str, **weights: int) -> NodeResourcesFitArgs:
    resources = tuple(
        ResourceSpec(name.replace("__", "/").replace("_", "."), weight) for name, weight in weights.items()
    )
    return NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type=kind, resources=resources))


@pytest.mark.parametrize(
    ("kind", "weights", "asked", "running", "score"),
    [
        # The node has 4 cores and 10,000 bytes. A pod that asks for nothing counts as 100m and 200 MiB.
        pytest.param("LeastAllocated", {"cpu": 1, "memory": 1}, ("3", "5000"), [], (25 + 50) // 2, id="least"),
        pytest.param("MostAllocated", {"cpu": 1, "memory": 1}, ("3", "5000"), [], (75 + 50) // 2, id="most"),
        pytest.param("LeastAllocated", {"cpu": 1, "memory": 2}, ("3", "5000"), [], (25 + 2 * 50) // 3, id="weights"),
        pytest.param("LeastAllocated", {"cpu": 1}, ("3", "5000"), [], 25, id="one resource counts"),
        pytest.param(
            "LeastAllocated", {"cpu": 1, "memory": 1}, ("1", "1000"), [("2", "4000")], (25 + 50) // 2, id="in use"
        ),
        pytest.param("LeastAllocated", {"cpu": 1, "memory": 1}, (None, None), [], 97 // 2, id="asks for nothing"),
        pytest.param("MostAllocated", {"cpu": 1, "memory": 1}, (None, None), [], (2 + 100) // 2, id="nothing, most"),
        pytest.param("LeastAllocated", {"cpu": 1}, ("3", "1"), [("2", "1")], 0, id="more than there is"),
        pytest.param("MostAllocated", {"cpu": 1}, ("3", "1"), [("2", "1")], 100, id="more than there is, most"),
        pytest.param(
            "LeastAllocated", {"example_com__gpu": 3, "cpu": 1}, ("3", "1"), [], 25, id="a device without a request"
        ),
        pytest.param("LeastAllocated", {"example_com__none": 1}, ("3", "1"), [], 0, id="nothing that the node has"),
    ],
)
def test_scores_by_hand(kind: str, weights: dict[str, int], asked: Any, running: list[Any], score: int) -> None:
    def pod(name: str, cpu: str | None, memory: str | None) -> Any:
        return make_pod(name).requests(**({"cpu": cpu, "memory": memory} if cpu else {}))

    made_node = make_node("n").allocatable(cpu="4", memory="10000", pods=10, example_com__gpu=4).obj()
    others = [pod(f"r{index}", *each).on("n").obj() for index, each in enumerate(running)]
    args = weighing(kind, **weights)
    assert make_bench(NodeResourcesFit, [made_node], pod("new", *asked).obj(), others, args=args).scores() == {
        "n": score
    }


@pytest.mark.parametrize(
    ("cpu", "memory", "score"),
    [
        pytest.param("3", "5000", (75 + 50) // 2 + 1, id="rounded"),
        pytest.param("3", "100", (75 + 1) // 2, id="a score of 1 counts"),
        pytest.param("3", "50", 75, id="a score of 0 does not"),
        pytest.param("5", "5000", (100 + 50) // 2, id="more than there is"),
        pytest.param("4", "5000", (100 + 50) // 2, id="all that there is"),
    ],
)
def test_scores_of_a_ratio_by_hand(cpu: str, memory: str, score: int) -> None:
    """The more is in use the better. The node does not have the third resource."""
    shape = RequestedToCapacityRatioParam((UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)))
    resources = tuple(ResourceSpec(name, 1) for name in ("cpu", "memory", "ephemeral-storage"))
    args = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("RequestedToCapacityRatio", resources, shape))
    made_node = make_node("n").allocatable(cpu="4", memory="10000", pods=10).obj()
    pod = make_pod().requests(cpu=cpu, memory=memory).obj()
    assert make_bench(NodeResourcesFit, [made_node], pod, args=args).scores() == {"n": score}


@pytest.mark.parametrize(
    ("minor", "overhead", "score"),
    [
        pytest.param("1.27", {"cpu": "500m"}, 62, id="1.27: overhead counts as it is"),
        pytest.param("1.26", {"cpu": "500m"}, 74, id="1.26: one core, added to thousandths"),
        pytest.param("1.26", {"memory": "1"}, 75, id="1.26: overhead of memory alone"),
    ],
)
def test_overhead_in_scores(minor: str, overhead: dict[str, str], score: int) -> None:
    """The pod requests one core of four."""
    pod = make_pod().requests(cpu="1", memory="1").spec(overhead=overhead).obj()
    args = weighing("LeastAllocated", cpu=1)
    made = make_bench(NodeResourcesFit, [node()], pod, args=args, current=RELEASES[minor])
    assert made.scores() == {"n": score}


@pytest.mark.parametrize(
    ("weights", "everything"),
    [
        pytest.param({"cpu": 1, "memory": 1}, False, id="cpu and memory"),
        pytest.param({"cpu": 1, "example_com__nic": 1}, False, id="a resource of a device plugin"),
        pytest.param({"cpu": 1, "example_com__gpu": 1}, True, id="a resource that devices stand behind"),
    ],
)
def test_what_the_answers_depend_on(weights: dict[str, int], everything: bool) -> None:
    """Devices come and go without a placement on the node: pods with the same requests may get other scores."""
    objects = [make_class("gpu", extendedResourceName="example.com/gpu")]
    args = weighing("LeastAllocated", **weights)
    made = make_bench(NodeResourcesFit, [node()], make_pod().requests(cpu="1").obj(), args=args, objects=objects)
    assert (made.plugin.depends(made.pod) == Depends("usage")) is everything


def test_a_device_that_is_asked_for_counts_by_its_weight() -> None:
    made_node = make_node("n").allocatable(cpu="4", memory="10000", pods=10, example_com__gpu=4).obj()
    asking = make_pod().requests(cpu="3", memory="1", example_com__gpu=1).obj()
    for kind, score in (("LeastAllocated", (25 + 3 * 75) // 4), ("MostAllocated", (75 + 3 * 25) // 4)):
        args = weighing(kind, cpu=1, example_com__gpu=3)
        assert make_bench(NodeResourcesFit, [made_node], asking, args=args).scores() == {"n": score}
