"""The figures of a sweep, held against the same figures over all rows at once."""

from __future__ import annotations

import pytest

from ksched_cli.plan.sweep.statistics import (
    FIGURES,
    Aggregator,
    FigureRange,
    Figures,
    SweptPod,
    VariantOutcome,
    VariantRow,
)
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


def setting(variant: int, scale: str, outcome: VariantOutcome = "safe", **figures: int) -> VariantRow:
    return VariantRow(variant, {"scale": scale}, outcome, Figures(**figures))


@pytest.mark.parametrize(
    ("rows", "front"),
    [
        pytest.param([setting(0, "a", nodes=3, preempted=2), setting(1, "b", nodes=2, preempted=2)], "b", id="better"),
        pytest.param([setting(0, "a", nodes=3, lost=0), setting(1, "b", nodes=2, lost=1)], "ab", id="each in one"),
        pytest.param([setting(0, "a", nodes=3), setting(1, "b", nodes=3)], "ab", id="equal"),
        pytest.param(
            [setting(0, "a", nodes=2), setting(1, "a", nodes=4), setting(2, "b", nodes=3), setting(3, "b", nodes=2)],
            "b",
            id="on average",
        ),
        pytest.param(
            [setting(0, "a", lost=2, nodes=1), setting(1, "b", lost=1, nodes=3), setting(2, "c", lost=1, nodes=2)],
            "ac",
            id="one of three",
        ),
        pytest.param([VariantRow(0, {"scale": "a"}, "error"), setting(1, "b", nodes=9)], "b", id="not an error"),
    ],
)
def test_no_setting_of_the_pareto_front_is_beaten(rows: list[VariantRow], front: str) -> None:
    found = Aggregator(worst=1)
    for row in rows:
        found.add(row)
    assert "".join(each["scale"] for each in found.settings() if each["paretoFront"]) == front


def test_settings_leave_out_failures_orders_and_draws() -> None:
    """They are what a setting has to stand."""
    found = Aggregator(worst=1)
    found.add(VariantRow(0, {"fail": ["n"], "order": 1, "tie": 2, "scale": "a"}, "safe", Figures()))
    found.add(VariantRow(1, {"fail": ["m"], "order": 2, "scale": "a"}, "no place", Figures()))
    assert [(each["scale"], sorted(each["outcomes"])) for each in found.settings()] == [("a", ["no place", "safe"])]
    without = Aggregator(worst=1)
    without.add(VariantRow(0, {"fail": ["n"], "order": 1, "tie": 2}, "safe", Figures()))
    assert without.settings() == ()


def test_the_worst_outcome_of_each_failure() -> None:
    found = Aggregator(worst=1)
    outcomes: tuple[VariantOutcome, ...] = ("evicts others", "no place", "safe")
    for variant, outcome in enumerate(outcomes):
        found.add(VariantRow(variant, {"fail": ["n2"]}, outcome))
    found.add(VariantRow(3, {"fail": ["n1", "n2"]}, "loses pods"))
    found.add(VariantRow(4, {"fail": ["n3"]}, "safe"))
    assert list(found.failures().items()) == [("n1", "loses pods"), ("n2", "no place"), ("n3", "safe")]


def test_the_odds_of_pods() -> None:
    """Of all variants in which something happened to the pod; the most frequent result and node first."""
    found = Aggregator(worst=1)
    placed = [SweptPod("default/b", "scheduled", node) for node in ("n2", "n3", "n2", "n1")]
    for variant, pod in enumerate([*placed, SweptPod("default/b", "unschedulable"), SweptPod("default/a", "lost")]):
        found.add(VariantRow(variant, {}, "safe", pods=(pod,), failed=("x",) if variant else ()))
    lost, moved = found.pods()
    assert (lost.pod, moved.pod) == ("default/a", "default/b")
    assert [(name, each.variants) for name, each in moved.results.items()] == [("scheduled", 4), ("unschedulable", 1)]
    assert [(name, each.share) for name, each in moved.nodes.items()] == [("n2", 0.4), ("n1", 0.2), ("n3", 0.2)]
    assert [(name, each.share) for name, each in lost.results.items()] == [("lost", 1.0)]
    assert lost.nodes == {}
    assert {text: (each.variants, each.share) for text, each in found.failed().items()} == {"x": (5, 0.833333)}
