"""What is computed once for nodes of equal size and use, against each node by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ksched_cli.cluster.cache import Cluster
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.lib import resource_scoring as node_loads
from ksched_cli.plugins.lib.resource_scoring import NodeLoads
from tests.builders import make_node, make_pod
from tests.harness import make_scheduler

NODES, PODS = 8, 10
# A pod comes to a node or leaves it.
steps = st.lists(st.tuples(st.integers(0, PODS - 1), st.integers(0, NODES - 1)), max_size=15)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_loads, "_PAYS", 0)
    monkeypatch.setattr(node_loads, "_NODES_PER_LOAD", 1)


def results(scheduler: Any, pod_row: int, nodes: NodeRows) -> list[Any]:
    """The verdicts of Fit, and the scores of Fit and BalancedAllocation."""
    pod, plugins = scheduler.cluster.pods.infos[pod_row], {}
    for plugin in scheduler.runtimes["default-scheduler"].profile.score:
        plugins[plugin.name] = plugin
    fit, balanced = plugins["NodeResourcesFit"], plugins["NodeResourcesBalancedAllocation"]
    verdict = fit.filter(fit.pre_filter(pod).state, pod, nodes)
    found = [[verdict.status(index) for index in range(len(nodes))]]
    return [*found, *(each.score(each.pre_score(None, pod, nodes), pod, nodes).tolist() for each in (fit, balanced))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
@example([(0, 1), (3, 1), (6, 1)])
def test_all_nodes_together_have_the_results_of_each(history: list[tuple[int, int]]) -> None:
    nodes = [make_node(f"n{row}").allocatable(cpu=str(3 + row % 2), memory="4Gi", pods=3).obj() for row in range(NODES)]
    pods = [make_pod(f"p{index}").requests(cpu=str(1 + index % 3), memory="1Gi").obj() for index in range(PODS)]
    scheduler = make_scheduler(nodes, pods)
    cluster = scheduler.cluster
    for pod_row, node_row in [(0, 0), *history]:
        if cluster.displace(pod_row) != node_row:
            cluster.place(pod_row, node_row)
        for other in range(3):
            one_by_one = [results(scheduler, other, NodeRows(cluster, np.array([row]))) for row in range(NODES)]
            together = results(scheduler, other, NodeRows(cluster))
            assert together == [[each for (each,) in column] for column in zip(*one_by_one, strict=True)]


def loads_of(cluster: Cluster) -> NodeLoads | None:
    return NodeLoads.of(NodeRows(cluster))


def test_nodes_share_loads_until_most_have_one_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_loads, "_NODES_PER_LOAD", 2)
    cluster = Cluster([make_node(f"n{row}").allocatable(cpu="4", memory="4Gi", pods=9).obj() for row in range(8)])
    rows = [cluster.register(make_pod(f"p{cpu}").requests(cpu=str(cpu)).obj()) for cpu in range(1, 8)]
    assert NodeLoads.of(NodeRows(cluster, np.arange(8))) is None
    for count, pod_row in enumerate(rows[:3]):
        loads = loads_of(cluster)
        assert loads is not None
        assert loads.place.tolist() == [*range(1, count + 1), *[0] * (8 - count)]
        cluster.place(pod_row, count)
    cluster.displace(rows[0])
    assert loads_of(cluster) is None
    assert loads_of(cluster) is None


@pytest.mark.parametrize(
    ("memory", "of_use"),
    [
        pytest.param(2**53 // 100 - 1, True, id="the largest that a score divides exactly"),
        pytest.param(2**53 // 100, False, id="one byte more"),
        pytest.param(0, False, id="no memory"),
    ],
)
def test_amounts_that_float64_cannot_hold_are_left_to_each_node(memory: int, of_use: bool) -> None:
    nodes = [make_node(f"n{row}").allocatable(cpu="4", memory=str(memory), pods=9).obj() for row in range(8)]
    assert (loads_of(Cluster(nodes)) is not None) is of_use
