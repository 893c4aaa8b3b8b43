"""First fit decreasing, held against its plain reading: one pod after the other onto the first node that holds it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plan.size.problem import GreedyBuyer, PackingProblem
from tests.lanes import examples
from tests.plan.size.cases import packing


def plainly(made: PackingProblem, order: Iterable[int]) -> list[tuple[int, tuple[int, ...]]]:
    """The nodes by choice and pods of each class, the classes in this order."""

    def holders(pods: list[int]) -> list[int]:
        """The choices whose node holds these pods."""
        if any(pods[a] and pods[b] for a, b in made.rivals):
            return []
        used = [sum(n * each.requests[at] for n, each in zip(pods, made.classes, strict=True)) for at in range(2)]
        return [
            number
            for number, choice in enumerate(made.choices)
            if all(need <= free for need, free in zip(used, choice.free, strict=True))
            and all(n <= most for n, most in zip(pods, choice.most, strict=True))
        ]

    nodes: list[list[int]] = []
    for at in order:
        alone = [int(other == at) for other in range(len(made.classes))]
        for _ in range(made.classes[at].demand if holders(alone) else 0):
            for pods in nodes:
                more = [n + one for n, one in zip(pods, alone, strict=True)]
                if holders(more):
                    pods[:] = more
                    break
            else:
                nodes.append(alone.copy())
    return [(min(holders(pods), key=lambda choice: made.choices[choice].price), tuple(pods)) for pods in nodes]


POD = st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(1, 6))
SHAPE = st.tuples(st.integers(1, 40), st.integers(1, 9), st.integers(1, 9))


@given(
    st.lists(POD, min_size=1, max_size=4),
    st.lists(SHAPE, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=2),
    st.integers(1, 4),
)
@settings(max_examples=examples(150), deadline=None)
def test_it_is_the_plain_reading(
    pods: list[tuple[int, int, int]], shapes: list[tuple[int, int, int]], pairs: list[tuple[int, int]], cap: int
) -> None:
    rivals = sorted({(a, b) for a, b in pairs if a < b < len(pods)})
    made = packing(pods, shapes, rivals, cap)
    buyer = GreedyBuyer(made)
    order = buyer.orders[:2][-1].tolist()
    assert buyer.first_fit(made.demand) == plainly(made, order)


@pytest.mark.parametrize(
    ("pods", "shapes", "rivals", "cap", "nodes"),
    [
        pytest.param([(2, 2, 1)], [(5, 4, 4)], [], 9, [(0, (2,))], id="a node is filled to its limit"),
        pytest.param([(3, 2, 1)], [(5, 4, 4)], [], 9, [(0, (2,)), (0, (1,))], id="the next pod opens a node"),
        pytest.param([(3, 1, 1)], [(5, 4, 4)], [], 2, [(0, (2,)), (0, (1,))], id="at most so many of a class"),
        pytest.param([(1, 2, 1), (1, 1, 1)], [(5, 4, 4)], [(0, 1)], 9, [(0, (1, 0)), (0, (0, 1))], id="rivals"),
        pytest.param(
            [(1, 1, 1), (1, 2, 1)], [(5, 4, 4)], [(0, 1)], 9, [(0, (0, 1)), (0, (1, 0))], id="the larger rival first"
        ),
        pytest.param(
            [(1, 9, 1), (1, 1, 1)],
            [(5, 4, 4)],
            [],
            9,
            [(0, (0, 1))],
            id="a class that no shape holds before one that fits",
        ),
        pytest.param([(1, 1, 1)], [(9, 8, 8), (3, 2, 2)], [], 9, [(1, (1,))], id="the cheapest that holds the pods"),
        pytest.param([(2, 2, 2)], [(9, 8, 8), (3, 2, 2)], [], 9, [(0, (2,))], id="a fuller node before a cheaper one"),
        pytest.param([(0, 1, 1)], [(5, 4, 4)], [], 9, [], id="no pods"),
    ],
)
def test_nodes_of(
    pods: list[tuple[int, int, int]],
    shapes: list[tuple[int, int, int]],
    rivals: list[tuple[int, int]],
    cap: int,
    nodes: list[tuple[int, tuple[int, ...]]],
) -> None:
    made = packing(pods, shapes, rivals, cap)
    assert GreedyBuyer(made).first_fit(made.demand) == nodes


THREE_SIZES = packing([(1, 5, 5), (1, 6, 1), (1, 1, 8)], [(10, 8, 8), (30, 16, 16)])


def test_pods_are_put_on_a_node_in_several_orders() -> None:
    """By what each costs alone, by its largest share of a node, and by cpu."""
    buyer = GreedyBuyer(THREE_SIZES)
    assert buyer.worths == [10, 10, 10]
    assert [each.tolist() for each in buyer.orders] == [[0, 1, 2], [2, 1, 0], [1, 0, 2]]


def test_first_fit_begins_with_the_largest_shares() -> None:
    made = packing([(1, 5, 5), (1, 6, 1), (1, 1, 8)], [(10, 8, 8)])
    assert GreedyBuyer(made).first_fit(made.demand) == [(0, (0, 0, 1)), (0, (0, 1, 0)), (0, (1, 0, 0))]


def test_a_purchase_fills_each_node_up_to_every_resource() -> None:
    """A unit of memory for each pod, of which a node has three."""
    made = packing([(1, 2, 1), (3, 1, 1)], [(5, 9, 3)])
    assert GreedyBuyer(made).buy(made.demand) == [(0, (1, 2)), (0, (0, 1))]


@pytest.mark.parametrize(
    ("limits", "nodes"),
    [
        pytest.param((1, None), [(0, (1,)), (1, (1,))], id="as many as there are"),
        pytest.param((0, None), [(1, (1,)), (1, (1,))], id="the first shape is sold out"),
        pytest.param((1, 0), [(0, (1,))], id="what no shape holds is left over"),
    ],
)
def test_purchases_keep_limits(limits: tuple[int | None, ...], nodes: list[tuple[int, tuple[int, ...]]]) -> None:
    made = packing([(2, 1, 1)], [(1, 1, 1), (10, 1, 1)], limits=limits)
    assert GreedyBuyer(made).buy(made.demand) == nodes


@pytest.mark.parametrize(
    ("limits", "purchases"),
    [
        pytest.param((None, None), [[(0, (1, 0)), (0, (1, 0)), (1, (0, 1))], [(1, (2, 1))]], id="no limit"),
        pytest.param((1, None), [[(0, (1, 0)), (1, (1, 1))], [(1, (2, 1))]], id="others for the rest"),
        pytest.param((0, None), [[(1, (2, 1))]], id="a shape that is sold out"),
    ],
)
def test_purchases_of_one_shape_each(
    limits: tuple[int | None, ...], purchases: list[list[tuple[int, tuple[int, ...]]]]
) -> None:
    """The second class does not fit on the first shape."""
    made = packing([(2, 1, 1), (1, 2, 2)], [(3, 1, 1), (10, 4, 4)], limits=limits)
    assert GreedyBuyer(made).one_shape_each(made.demand) == purchases
