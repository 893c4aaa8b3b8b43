"""Go's sort.Slice: what its order is, and where elements tie."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.plugins.default_preemption.unstable_sort import MAX_INSERTION, sort_slice


def by_value(left: tuple[int, int], right: tuple[int, int]) -> bool:
    return left[1] < right[1]


def sorted_indexes(values: list[int]) -> list[int]:
    return [index for index, _ in sort_slice(list(enumerate(values)), by_value)]


@given(st.lists(st.integers(0, 20), max_size=200))
def test_it_sorts(values: list[int]) -> None:
    indexes = sorted_indexes(values)
    assert sorted(indexes) == list(range(len(values)))
    assert [values[index] for index in indexes] == sorted(values)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([(7 * index) % 101 for index in range(101)], id="mixed"),
        pytest.param([*range(60), *range(60)], id="two runs"),
        pytest.param([min(index, 120 - index) for index in range(120)], id="up and down"),
        pytest.param([index ^ 1 for index in range(90)], id="neighbours swapped"),
        pytest.param([*range(1, 80), 0], id="one astray"),
        pytest.param(list(range(100, 0, -1)), id="backwards"),
        pytest.param([0] * 40 + [1] * 40 + [0] * 40, id="many of a kind"),
    ],
)
def test_patterns_that_the_algorithm_knows(values: list[int]) -> None:
    assert [values[index] for index in sorted_indexes(values)] == sorted(values)


@given(st.lists(st.integers(0, 3), max_size=MAX_INSERTION))
def test_a_short_slice_keeps_the_order_of_ties(values: list[int]) -> None:
    assert sorted_indexes(values) == sorted(range(len(values)), key=values.__getitem__)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([1] * 30, list(range(30)), id="all tie"),
        pytest.param([index % 3 for index in range(13)], [6, 3, 0, 9, 12, 1, 4, 7, 10, 2, 5, 8, 11], id="thirteen"),
        pytest.param(
            [index % 3 for index in range(30)],
            [
                *(12, 27, 24, 3, 21, 18, 6, 0, 15, 9),
                *(7, 4, 10, 13, 28, 1, 16, 25, 22, 19),
                *(8, 20, 5, 23, 2, 17, 26, 11, 14, 29),
            ],
            id="thirty",
        ),
    ],
)
def test_a_long_slice_orders_ties_as_the_steps_happen_to_leave_them(values: list[int], expected: list[int]) -> None:
    assert sorted_indexes(values) == expected


def test_an_order_that_contradicts_itself_ends_all_the_same() -> None:
    def always(left: Any, right: Any) -> bool:
        return True

    assert sort_slice(range(4), always) == [3, 2, 1, 0]
    assert sorted(sort_slice(range(100), always)) == list(range(100))
