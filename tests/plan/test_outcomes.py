"""What an outcome of one pod lists of many nodes: the best, those that are tied, and failures with examples."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.plan.results.outcomes import PodOutcome
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod

# Not in the order of their names; two of them are the largest.
SIZES = {"d": "16", "a": "4", "c": "8", "b": "16"}
POD = make_pod("p").requests(cpu="2")


def node(name: str, cpu: str = "4") -> Any:
    return make_node(name).allocatable(cpu=cpu, memory="8Gi", pods=10)


def outcome(*items: Any, top: int = 3) -> PodOutcome:
    return Simulator.load(*(each.obj() for each in items)).simulate(top=top).pod("p")


@pytest.mark.parametrize(
    ("top", "names"),
    [
        pytest.param(1, "b", id="fewer than are tied"),
        pytest.param(2, "bd", id="those that are tied"),
        pytest.param(3, "bdc", id="one more"),
        pytest.param(4, "bdca", id="all"),
        pytest.param(9, "bdca", id="more than there are"),
        pytest.param(0, "", id="none"),
    ],
)
@pytest.mark.parametrize("more", [[], [node("closed", "32").cordoned()]], ids=["all fit", "one does not fit"])
def test_the_best_nodes(top: int, names: str, more: list[Any]) -> None:
    found = outcome(*more, *(node(*each) for each in SIZES.items()), POD, top=top)
    assert "".join(each.node for each in found.top) == names
    totals = [each.total for each in found.top]
    assert totals == sorted(totals, reverse=True)
    assert (found.node, list(found.ties), found.tied, found.feasible_nodes) == ("b", ["b", "d"], 2, 4)


def test_failures_of_most_nodes_come_first_with_the_first_three_names() -> None:
    """Of as many nodes the plugin that is first by name comes first."""
    full = [node(name, "1") for name in ("z", "x", "w", "y")]
    found = outcome(*full, node("t").taint("gpu"), node("s").label(disk="hdd").cordoned(), POD)
    assert [(each.plugin, each.nodes, each.examples) for each in found.failures] == [
        ("NodeResourcesFit", 4, ("w", "x", "y")),
        ("NodeUnschedulable", 1, ("s",)),
        ("TaintToleration", 1, ("t",)),
    ]
    assert found.unschedulable_plugins == ("NodeResourcesFit", "NodeUnschedulable", "TaintToleration")
    assert (found.feasible_nodes, found.total_nodes, found.top) == (0, 6, ())


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param("p", "default/p", id="by its name"),
        pytest.param("shop/q", "shop/q", id="by namespace and name"),
        pytest.param("q", "several pods are named q: default/q, shop/q", id="two of a name"),
        pytest.param("x", "no pod that was tried is named x: default/p, default/q, default/r, default/s, default/t, ...", id="more than five"),
    ],
)  # fmt: skip
def test_the_outcome_of_a_pod(name: str, found: str) -> None:
    pods = [*(make_pod(each).obj() for each in "pqrst"), make_pod("q", "shop").obj()]
    run = Simulator.load(node("n").obj(), *pods).simulate()
    if found.count("/") == 1:
        assert run.pod(name).pod == found
        return
    with pytest.raises(KeyError) as raised:
        run.pod(name)
    assert raised.value.args == (found,)
