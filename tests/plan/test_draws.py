"""Which decisions of chance are tried otherwise, and what the results of other orders come to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.controlplane.draws import FIRST_READY, Alternative, Choices, Draw
from ksched_cli.plan.run.orders import Ties, decisive_runs, decisive_ties, merge_orders
from ksched_cli.world.results import FinalPod, FinalPods, Orders, WorldResult
from tests.builders import make_node, make_pod
from tests.harness import make_scheduler

NODES = [f"n{number:02}" for number in range(20)]


class Run:
    """A run over twenty nodes and four pods. `cycle` gives a pod one of the nodes on which it fits."""

    def __init__(self) -> None:
        pods = [make_pod(f"p{number}").obj() for number in range(4)]
        cluster = make_scheduler([make_node(name).obj() for name in NODES], pods).cluster
        self.pods, self.ties = cluster.pods, Ties(cluster, {})

    def cycle(self, pod: int, node: int | None, feasible: range | list[int], ties: range | list[int] = ()) -> None:  # type: ignore[assignment]
        rows = (np.array(list(each), dtype=np.int64) for each in (feasible, ties))
        fits, equal = rows
        decision: Any = SimpleNamespace(pod=self.pods.infos[pod], pod_row=pod, row=node, feasible=fits, ties=equal)
        self.ties.decided(decision)

    def risky(self, *fitting: tuple[int, int]) -> list[tuple[str, int]]:
        """Pod and place of the other node of each tie that may harm a later pod. `fitting` are pods and nodes that fit
        in the end without the pods of the tie."""

        def fits(info: PodInfo, without: tuple[int, ...], node: int) -> bool:
            return (int(info.pod.metadata.name[1:]), node) in fitting

        return [(each.draw.subject, each.turn) for each in self.ties.risky(fits)]


@pytest.mark.parametrize(
    ("later", "fitting", "found"),
    [
        pytest.param([(1, 1, [1])], [], [("default/p0", 1)], id="it takes the only node of a later pod"),
        pytest.param([(1, 2, [2])], [], [("default/p0", 2)], id="the third node"),
        pytest.param([(1, 1, [1]), (2, 2, [2])], [], [("default/p0", 1), ("default/p0", 2)], id="of two later pods"),
        pytest.param([(1, 1, [0, 1])], [], [], id="the later pod fits on the taken node, too"),
        pytest.param([(1, 5, [5])], [], [], id="the later pod has a node beside the tie"),
        pytest.param([(1, None, [])], [], [], id="the later pod has no node"),
        pytest.param([(1, 1, [1])], [(0, 1)], [], id="there is room for both in the end"),
        pytest.param([(1, 1, [1])], [(1, 0)], [], id="the later pod fits on the taken node in the end"),
        pytest.param([(0, 1, [1])], [], [], id="the same pod once more"),
        pytest.param([(1, 1, [1, *range(5, 20)])], [], [("default/p0", 1)], id="sixteen nodes are few"),
        pytest.param([(1, 1, [1, *range(4, 20)])], [], [], id="seventeen are not"),
    ],
)
def test_another_node_of_a_tie_may_harm_a_later_pod(
    later: list[tuple[int, int | None, list[int]]], fitting: list[tuple[int, int]], found: list[tuple[str, int]]
) -> None:
    run = Run()
    run.cycle(3, 1, [1])
    run.cycle(0, 0, [0, 1, 2], [0, 1, 2])
    for each in later:
        run.cycle(*each)
    assert run.risky(*fitting) == found


@pytest.mark.parametrize(
    ("node", "ties", "options"),
    [
        pytest.param(0, [0], None, id="one node is no tie"),
        pytest.param(0, [0, 1], ("n00", "n01"), id="two"),
        pytest.param(None, [0, 1], None, id="no node"),
        pytest.param(0, range(17), tuple(NODES[:16]), id="sixteen are kept"),
        pytest.param(16, range(17), None, id="the taken one is not among them"),
    ],
)
def test_ties_that_are_kept(node: int | None, ties: range | list[int], options: tuple[str, ...] | None) -> None:
    run = Run()
    run.cycle(0, node, ties, ties)
    taken = (NODES[node],) if node is not None else ()
    assert [(each.draw.options, each.draw.taken, each.draw.number) for each in run.ties.made] == (
        [(options, taken, 0)] if options else []
    )


def test_the_second_tie_of_a_pod_has_the_number_one() -> None:
    run = Run()
    for pod in (0, 1, 0):
        run.cycle(pod, 0, [0, 1], [0, 1])
    assert [(each.draw.subject, each.draw.number, each.cycle) for each in run.ties.made] == [
        ("default/p0", 0, 1),
        ("default/p1", 0, 2),
        ("default/p0", 1, 3),
    ]


def draw(what: str, subject: str = "p") -> Draw:
    return Draw(what, subject, ("a", "b"), ("a",))


MOMENT = FIRST_READY
NODE, DELETION = draw("node"), draw("deletion order")


def test_what_happens_at_one_moment_counts_where_the_run_ends_otherwise() -> None:
    others = [Alternative(each, 1) for each in (NODE, draw(MOMENT, "x"), draw(MOMENT, "y"))]
    found = decisive_runs("same", others, ["same", "same", "other"], lambda run: run)
    assert [(each.draw.subject, run) for each, run in found] == [("p", "same"), ("y", "other")]


def test_the_draws_that_decide() -> None:
    """Draws of controllers are reported anyway."""
    outcomes = [
        (NODE, "other"),
        (NODE, "third"),
        (draw("node", "q"), "same"),
        (DELETION, "other"),
        (draw(MOMENT), "other"),
    ]
    others = [(Alternative(each, 1), outcome) for each, outcome in outcomes]
    assert decisive_ties("same", others) == (NODE, draw(MOMENT))


def ended(*pods: tuple[str, str], draws: tuple[Draw, ...] = ()) -> WorldResult:
    """Each pod as workload and state; a pod that is gone was preempted."""
    final = [
        FinalPod(
            f"default/{workload}-{number}",
            workload,
            state,  # type: ignore[arg-type]
            "n" if state == "scheduled" else "",
            moved=True,
            preempted_by="default/vip" if state == "gone" else "",
        )
        for number, (workload, state) in enumerate(pods)
    ]
    return WorldResult((), FinalPods(tuple(final)), "settled", 0.0, 0, {}, draws)


FITS, FAILS, GONE = ("web", "scheduled"), ("web", "unschedulable"), ("web", "gone")
OTHER, NEVER = ("api", "scheduled"), ("api", "unschedulable")


@pytest.mark.parametrize(
    ("first", "again", "orders", "doubtful", "draws"),
    [
        pytest.param([FITS, OTHER], [[FITS, OTHER]], Orders(2, 2), {}, [DELETION], id="alike"),
        pytest.param([FITS, OTHER], [[FAILS, OTHER]], Orders(2, 1), {"web": Orders(2, 1)}, [DELETION, NODE], id="one order fails"),
        pytest.param([FAILS, OTHER], [[FITS, OTHER], [FITS, ("api", "unschedulable")]], Orders(3, 1), {"api": Orders(3, 2), "web": Orders(3, 2)}, [DELETION, NODE], id="each order but one fails"),
        pytest.param([FAILS, NEVER], [[FITS, NEVER]], Orders(2, 0), {"web": Orders(2, 1)}, [DELETION, NODE], id="another one fails in every order"),
        pytest.param([FAILS, FAILS], [[FAILS, FITS]], Orders(2, 0), {"web": Orders(2, 0)}, [DELETION, NODE], id="fewer fail in another order"),
        pytest.param([FITS, OTHER], [[FITS, GONE, OTHER]], Orders(2, 2), {"web": Orders(2, 2)}, [DELETION, NODE], id="a pod is preempted in one order"),
    ],
)  # fmt: skip
def test_results_of_other_orders(
    first: list[tuple[str, str]],
    again: list[list[tuple[str, str]]],
    orders: Orders,
    doubtful: dict[str, Orders],
    draws: list[Draw],
) -> None:
    begun = ended(*first, draws=(DELETION,))
    others = [Alternative(NODE, number) for number in range(1, len(again) + 1)]
    runs = {tuple(each.choices.items()): run for each, run in zip(others, again, strict=True)}

    def run(choices: Choices) -> WorldResult:
        return ended(*runs[tuple(choices.items())])

    found = merge_orders(begun, others, run)
    assert (found.orders, dict(found.doubtful), list(found.draws)) == (orders, doubtful, draws)
    assert found.final == begun.final


def test_without_other_orders_the_result_is_the_first() -> None:
    begun = ended(FAILS)
    assert merge_orders(begun, [], lambda choices: ended(FITS)) is begun
    assert merge_orders(begun, [Alternative(draw(MOMENT), 1)], lambda choices: ended(FAILS)) is begun
