"""The pods that `explain` names: the largest first, the first five, and the others as a number."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import CPU
from ksched_cli.plugins.lib.spec import largest_blocking_pods, pods_that
from tests.builders import make_node, make_pod


def cluster(pods: int) -> Cluster:
    """Pods of 1, 2, ... cpus on a node, after one without a request and before one on another node."""
    running = [make_pod("none").on("n").obj()]
    running += [make_pod(f"p{cpus}").requests(cpu=str(cpus)).on("n").obj() for cpus in range(1, pods + 1)]
    running.append(make_pod("else").requests(cpu="1").on("m").obj())
    return Cluster([make_node("n").allocatable(cpu="99", pods="99").obj(), make_node("m").obj()], running)


@pytest.mark.parametrize(
    ("pods", "named", "others"),
    [
        pytest.param(0, [], None, id="none"),
        pytest.param(2, ["p2", "p1"], None, id="two"),
        pytest.param(5, ["p5", "p4", "p3", "p2", "p1"], None, id="five"),
        pytest.param(6, ["p6", "p5", "p4", "p3", "p2"], {"pods": 1, "amount": 1000}, id="six"),
        pytest.param(7, ["p7", "p6", "p5", "p4", "p3"], {"pods": 2, "amount": 3000}, id="seven"),
    ],
)
def test_who_holds_most(pods: int, named: list[str], others: dict[str, int] | None) -> None:
    found = largest_blocking_pods(cluster(pods), 0, CPU)
    assert found["heldBy"] == [{"pod": f"default/{name}", "amount": int(name[1:]) * 1000} for name in named]
    assert found.get("heldByOthers") == others


@pytest.mark.parametrize(
    ("pods", "count"),
    [pytest.param(3, 4, id="all"), pytest.param(4, 5, id="five"), pytest.param(9, 5, id="the first five of ten")],
)
def test_the_first_few_that_hold(pods: int, count: int) -> None:
    """On both nodes; the pod without a request does not count."""
    made = cluster(pods)
    rows = [made.nodes.row_of["n"], made.nodes.row_of["m"]]
    found = pods_that(made, rows, lambda info: bool(info.requests))
    expected = [*(f"default/p{cpus}" for cpus in range(1, pods + 1)), "default/else"]
    assert found == expected[:count]
    assert pods_that(made, rows, lambda info: False) == []
