"""NodeResourcesFit's score for a pod group's placement: how full its nodes would be with the group on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.config.plugin_args import NodeResourcesFitArgs, ResourceSpec, ScoringStrategy
from ksched_cli.framework.interfaces import Placement
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.harness import make_bench

CPU = {"cpu": 1}
GPU = "example.com/gpu"


def nodes(*sizes: dict[str, Any]) -> list[Any]:
    return [make_node(f"n{at}").allocatable(pods=10, **size).obj() for at, size in enumerate(sizes)]


def score(made: list[Any], group: list[Any], weights: dict[str, int], running: Any = (), rows: Any = None) -> int:
    strategy = ScoringStrategy("LeastAllocated", tuple(ResourceSpec(name, each) for name, each in weights.items()))
    bench = make_bench(
        NodeResourcesFit, made, make_pod("p").obj(), running, args=NodeResourcesFitArgs(scoring_strategy=strategy)
    )
    infos = [bench.cluster.pods.infos[bench.cluster.register(pod)] for pod in group]
    placement = Placement("p", np.array(range(len(made)) if rows is None else rows, dtype=np.int64))
    found: int = bench.plugin.score_placement(GroupKey("default", "g"), placement, infos)
    return found


def pods(*cpus: str, **more: str) -> list[Any]:
    return [make_pod(f"g{at}").requests(cpu=cpu, memory="1Gi", **more).obj() for at, cpu in enumerate(cpus)]


@pytest.mark.parametrize(
    ("sizes", "group", "weights", "expected"),
    [
        pytest.param([{"cpu": 4}, {"cpu": 4}], pods("2", "2"), CPU, 50, id="nodes and pods are added up"),
        pytest.param([{"cpu": 2}, {"cpu": 6}], pods("1", "1", "2"), CPU, 50, id="whichever pod is on which node"),
        pytest.param([{"cpu": 4}], pods("1"), CPU, 25, id="fuller is better"),
        pytest.param([{"cpu": 4}], pods("4", "4"), CPU, 100, id="no more than full"),
        pytest.param([{"cpu": 4}], [], CPU, 0, id="nobody"),
        pytest.param(
            [{"cpu": 4, "memory": "4Gi"}], pods("4"), {"cpu": 3, "memory": 1}, 81, id="resources by their weights"
        ),
        pytest.param([{"cpu": 4}], pods("2"), {"cpu": 1, "memory": 1}, 50, id="a resource that no node has"),
        pytest.param(
            [{"cpu": 4, "example_com__gpu": 4}, {"cpu": 4}],
            pods("4", example_com__gpu="1"),
            {"cpu": 1, GPU: 1},
            37,
            id="devices, where any pod asks for them",
        ),
        pytest.param(
            [{"cpu": 4, "example_com__gpu": 4}], pods("4"), {GPU: 1, "cpu": 1}, 100, id="devices without a request"
        ),
    ],
)
def test_scores(sizes: list[dict[str, Any]], group: list[Any], weights: dict[str, int], expected: int) -> None:
    assert score(nodes(*sizes), group, weights) == expected


def test_pods_that_run_there_count_and_other_nodes_do_not() -> None:
    made = nodes({"cpu": 4}, {"cpu": 4}, {"cpu": 100})
    running = [
        make_pod("r0").requests(cpu="2").on("n0").obj(),
        make_pod("r1").requests(cpu="1").on("n1").obj(),
        make_pod("r2").requests(cpu="90").on("n2").obj(),
    ]
    assert score(made, pods("1"), CPU, running, rows=[0, 1]) == 50
    assert score(made, pods("1"), CPU, running, rows=[1]) == 50
    assert score(made, pods("1"), CPU, running, rows=[0]) == 75


def test_pods_on_nodes_that_lack_the_resource_do_not_count() -> None:
    made = [
        make_node(name).allocatable(cpu=4, pods=9, **more).obj() for name, more in (("a", {"memory": "4Gi"}), ("b", {}))
    ]
    running = [make_pod("r").requests(memory="2Gi").on("b").obj()]
    assert score(made, pods("1"), {"memory": 1}, running) == 25


def test_pods_without_requests_are_counted_with_stand_ins() -> None:
    assert score(nodes({"cpu": 1}), [make_pod("g").obj()], CPU) == 10
