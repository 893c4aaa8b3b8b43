"""The figures of a sweep, held against the same figures over all rows at once."""

from __future__ import annotations

import pytest

from ksched_cli.plan.sweep.statistics import FIGURES, Aggregator, FigureRange, Figures, SweptPod, VariantRow
from ksched_cli.plan.sweep.statistics import _Sums as Sums


def summed(*nodes: int | None) -> Sums:
    """Rows with so many nodes; None is a row without figures."""
    sums = Sums()
    for variant, count in enumerate(nodes):
        figures = None if count is None else Figures(nodes=count, placed=7)
        sums.add(VariantRow(variant, {}, "safe", figures))
    return sums


@pytest.mark.parametrize(
    ("nodes", "least", "mean", "most"),
    [
        pytest.param((4,), 4, 4.0, 4, id="one row"),
        pytest.param((4, 9, 2), 2, 5.0, 9, id="the most before the least"),
        pytest.param((2, 4, 9), 2, 5.0, 9, id="rising"),
        pytest.param((9, 4, 2), 2, 5.0, 9, id="falling"),
        pytest.param((None, 4, 9), 4, 6.5, 9, id="a row without figures before those that count"),
        pytest.param((4, None, 9), 4, 6.5, 9, id="a row without figures between those that count"),
        pytest.param((0, 3), 0, 1.5, 3, id="zero is a figure"),
    ],
)
def test_ranges_count_rows_with_figures(nodes: tuple[int | None, ...], least: int, mean: float, most: int) -> None:
    ranges = summed(*nodes).ranges()
    assert list(ranges) == list(FIGURES)
    assert ranges["nodes"] == FigureRange(least, mean, most)
    assert ranges["placed"] == FigureRange(7, 7.0, 7)
    assert ranges["evicted"] == FigureRange(0, 0.0, 0)


@pytest.mark.parametrize("nodes", [(), (None, None)], ids=["no rows", "no row has figures"])
def test_without_figures_there_are_no_ranges(nodes: tuple[None, ...]) -> None:
    assert summed(*nodes).ranges() == {}


def test_rows_without_figures_count_as_outcomes() -> None:
    found = Aggregator(worst=1)
    found.add(VariantRow(0, {}, "error"))
    found.add(VariantRow(1, {}, "safe", Figures(nodes=3)))
    assert found.count == 2


def test_shares_leave_out_outcomes_of_no_row() -> None:
    sums = summed(1, None)
    sums.add(VariantRow(2, {}, "no place", Figures()))
    assert {name: (share.variants, share.share) for name, share in sums.shares().items()} == {
        "safe": (2, 0.666667),
        "no place": (1, 0.333333),
    }


BAD = [
    VariantRow(0, {}, "error"),
    VariantRow(1, {}, "safe", Figures(), failed=("a", "b")),
    VariantRow(2, {}, "no place", Figures(), failed=("a",)),
    VariantRow(3, {}, "no place", Figures(), pods=(SweptPod("default/p", "unschedulable"),)),
    VariantRow(4, {}, "no place", Figures(lost=2)),
    VariantRow(5, {}, "no place", Figures(lost=1, preempted=9)),
    VariantRow(6, {}, "evicts others", Figures(preempted=2)),
    VariantRow(7, {}, "evicts others", Figures(preempted=1, evicted=9)),
    VariantRow(8, {}, "evicts others", Figures(preempted=1, evicted=9)),
]


@pytest.mark.parametrize("order", [BAD, BAD[::-1], BAD[4:] + BAD[:4]], ids=["the worst first", "last", "in between"])
@pytest.mark.parametrize("worst", [1, 3, 9])
def test_the_worst_variants_are_kept_whenever_they_come(worst: int, order: list[VariantRow]) -> None:
    found = Aggregator(worst=worst)
    found.add(VariantRow(9, {}, "safe", Figures(evicted=99)))
    for row in order:
        found.add(row)
    assert [row.variant for row in found.worst()] == list(range(worst))


def test_settings_come_in_the_order_of_their_first_variants() -> None:
    """The rows come in any order."""
    found = Aggregator(worst=1)
    for variant, scale in ((3, "b"), (2, "a"), (1, "b"), (4, "c"), (0, "a")):
        found.add(VariantRow(variant, {"scale": scale}, "safe", Figures(nodes=3)))
    assert [each["scale"] for each in found.settings()] == ["a", "b", "c"]
