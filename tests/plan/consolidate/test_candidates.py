"""The order in which nodes are tried."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from ksched_cli.plan.consolidate.candidates import _rounded_up, find_candidates
from ksched_cli.plan.consolidate.results import Conditions
from ksched_cli.plan.drain.results import Flags
from tests.builders import loaded_of, make_node, make_pod
from tests.harness import make_scheduler

FLAGS = Flags(ignore_daemonsets=True, force=True, delete_emptydir_data=True)


def on(node: str, name: str, cpu: str = "0", memory: str = "0") -> Any:
    return make_pod(f"{name}-{node}").requests(cpu=cpu, memory=memory).on(node).phase("Running")


def mirror(pod: Any) -> Any:
    return pod.annotate(**{"kubernetes.io/config.mirror": "x"})


@pytest.mark.parametrize(
    ("pods", "prices", "order"),
    [
        pytest.param([on("a", "p", cpu="3"), on("b", "p", cpu="2")], {}, "cba", id="cpu"),
        pytest.param([on("a", "p", memory="3Gi"), on("b", "p", memory="2Gi")], {}, "cba", id="memory"),
        pytest.param([on("a", "p", cpu="1"), on("b", "p", memory="6Gi")], {}, "cab", id="the larger of both shares"),
        pytest.param(
            [on("a", "p"), on("a", "q"), on("a", "r"), on("b", "p", cpu="1")], {}, "cba", id="places for pods"
        ),
        pytest.param([on(each, "p", cpu="1") for each in "abc"], {}, "abc", id="by name if alike"),
        pytest.param([on(each, "p", cpu="1") for each in "abc"], {"b": 3, "c": 2}, "bca", id="the dearest"),
        pytest.param([on("a", "p", cpu="3"), on("b", "p", cpu="2")], {"a": 2}, "cab", id="most money for its load"),
        pytest.param([on(each, "p", cpu="1") for each in "abc"], {"a": 0}, "bca", id="a node that costs nothing"),
        pytest.param([on("a", "p", cpu="1"), on("b", "p", cpu="3").phase("Failed")], {}, "bca", id="a finished pod"),
        pytest.param([on("a", "p", cpu="1"), mirror(on("b", "p", cpu="3"))], {}, "bca", id="a pod of the node itself"),
        pytest.param(
            [on("c", "d", cpu="1"), mirror(on("c", "p", cpu="3")), on("b", "p", cpu="2")],
            {},
            "acb",
            id="pods that move",
        ),
    ],
)
def test_the_node_that_frees_most_money_for_its_load_comes_first(
    pods: list[Any], prices: dict[str, int], order: str
) -> None:
    nodes = [make_node(name).allocatable(cpu="4", memory="8Gi", pods="4").obj() for name in "abc"]
    running = [each.obj() for each in pods]
    cluster = make_scheduler(nodes, running).cluster
    of_node = {name: Decimal(prices.get(name, 1)) for name in "abc"}
    found = find_candidates(loaded_of(*nodes, *running), cluster, FLAGS, Conditions(), of_node)
    assert ("".join(found.order), found.blocked, found.cost) == (order, {}, sum(of_node.values()))


@pytest.mark.parametrize(
    ("cost", "grain", "bound"),
    [
        pytest.param("0.3", "0.1", "0.3", id="a sum of prices"),
        pytest.param("0.31", "0.1", "0.4", id="more than a sum of prices"),
        pytest.param("0.30000000001", "0.1", "0.3", id="what a solver is wrong by"),
        pytest.param("7.2", "2", "8", id="prices above one"),
        pytest.param("-1", "2", "0", id="no less than nothing"),
        pytest.param("1", "0", "0", id="all prices are zero"),
    ],
)
def test_a_bound_is_rounded_up_to_a_sum_of_prices(cost: str, grain: str, bound: str) -> None:
    assert _rounded_up(Fraction(cost), Decimal(grain)) == Decimal(bound)
