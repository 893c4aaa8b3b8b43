from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings

from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.config.plugin_args import NodeResourcesBalancedAllocationArgs, ResourceSpec
from ksched_cli.framework.status import Status
from ksched_cli.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.harness import make_bench
from tests.lanes import examples

THREE = NodeResourcesBalancedAllocationArgs(
    resources=(ResourceSpec("cpu", 1), ResourceSpec("memory", 1), ResourceSpec("example.com/gpu", 1))
)


def node(cpu: str = "4", memory: str = "4Gi") -> Any:
    return make_node("n").allocatable(cpu=cpu, memory=memory, pods=10).obj()


@pytest.mark.parametrize(
    ("requests", "running", "expected"),
    [
        pytest.param({"cpu": "1", "memory": "1Gi"}, {}, 75, id="even before and after"),
        pytest.param({"cpu": "4"}, {}, 50, id="as uneven as can be"),
        pytest.param({"cpu": "2"}, {"memory": "2Gi"}, 87, id="makes it even"),
        pytest.param({"cpu": "8", "memory": "8Gi"}, {}, 75, id="shares stop at one"),
    ],
)
def test_score(requests: dict[str, Any], running: dict[str, Any], expected: int) -> None:
    pods = [make_pod("r").requests(**running).on("n").obj()]
    made = make_bench(NodeResourcesBalancedAllocation, [node()], make_pod().requests(**requests).obj(), pods)
    assert made.scores() == {"n": expected}


def test_one_resource_is_always_even() -> None:
    args = NodeResourcesBalancedAllocationArgs(resources=(ResourceSpec("cpu", 1),))
    pod = make_pod().requests(cpu="3").obj()
    assert make_bench(NodeResourcesBalancedAllocation, [node()], pod, args=args).scores() == {"n": 75}


@pytest.mark.parametrize(("minor", "expected"), [("1.35", 100), ("1.36", 75)])
def test_none_of_the_resources_is_even_too(minor: str, expected: int) -> None:
    """Beside a node that has them. Since 1.36 what changes counts."""
    pod, nodes = make_pod().requests(cpu="1").obj(), [node("0", "0"), make_node("m").allocatable(cpu="4").obj()]
    made = make_bench(NodeResourcesBalancedAllocation, nodes, pod, current=RELEASES[minor])
    scores = made.scores()
    assert not isinstance(scores, Status)
    assert scores["n"] == expected


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        pytest.param("4", "1", 75, id="a quarter of the cpu, and of a byte nothing"),
        pytest.param("4", "0", 0, id="no memory is memory that is used up"),
        pytest.param("1", "1", 0, id="all of the cpu"),
    ],
)
def test_score_of_1_21(cpu: str, memory: str, expected: int) -> None:
    pod = make_pod().requests(cpu="1", memory="0").obj()
    made = make_bench(NodeResourcesBalancedAllocation, [node(cpu, memory)], pod, current=RELEASES["1.21"])
    assert made.scores() == {"n": expected}


def test_a_best_effort_pod_is_not_scored() -> None:
    answer = make_bench(NodeResourcesBalancedAllocation, [node()], make_pod().obj()).scores()
    assert isinstance(answer, Status)
    assert answer.skipped


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [pytest.param(NodeResourcesBalancedAllocationArgs(), id="two"), pytest.param(THREE, id="three")]
)
@given(drawn=clusters())
@settings(max_examples=examples(120), deadline=None)
def test_agrees_with_the_plain_reading(args: NodeResourcesBalancedAllocationArgs, drawn: Any) -> None:
    nodes, running, pod = drawn
    made = make_bench(NodeResourcesBalancedAllocation, nodes, pod, running, args=args)
    scores = made.scores()
    names = [resource.name for resource in args.resources]
    asked = requests_of(pod, use_status=True)
    if not any(asked.get(name) for name in names):
        assert isinstance(scores, Status)
        return
    for each in nodes:
        here = [other for other in running if other.spec.node_name == each.metadata.name]
        with_pod, without = [], []
        for name in names:
            capacity = each.status.allocatable.get(name, 0)
            capacity = milli_value(capacity) if name == "cpu" else value(capacity)
            if not capacity or ("/" in name and not asked.get(name)):
                continue
            used = sum(requests_of(other, use_status=True).get(name, 0) for other in here)
            without.append(min(used / capacity, 1.0))
            with_pod.append(min((used + asked.get(name, 0)) / capacity, 1.0))
        assert isinstance(scores, dict)
        assert scores[each.metadata.name] == 50 + (50 + plain_balance(with_pod) - plain_balance(without)) // 2


def plain_balance(shares: list[float]) -> int:
    deviation = 0.0
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        total = 0.0
        for share in shares:
            total += share
        mean = total / len(shares)
        squares = 0.0
        for share in shares:
            squares += (share - mean) * (share - mean)
        deviation = math.sqrt(squares / len(shares))
    return int((1 - deviation) * 100.0)
