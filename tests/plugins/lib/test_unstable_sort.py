"""Go's sort.Slice: what its order is, and where elements tie."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.plugins.lib.unstable_sort import MAX_INSERTION, UnstableSort, sort_slice


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


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(
            [(59 - index) // 3 for index in range(60)],
            "59 58 57 56 55 54 51 53 52 48 49 50 45 47 46 42 44 43 41 40 39 38 37 36 33 35 34 31 30 32 27 29 "
            "28 26 25 24 23 22 21 18 20 19 16 17 15 12 14 13 9 11 10 8 7 6 5 4 3 0 2 1",
            id="backwards, long",
        ),
        pytest.param(
            [(19 - index) // 2 for index in range(20)],
            "19 18 17 16 15 14 12 13 10 11 9 8 7 6 5 4 3 2 0 1",
            id="backwards",
        ),
        pytest.param(
            [min(index, 64 - index) // 2 for index in range(64)],
            "63 1 0 2 3 61 62 4 5 59 60 58 7 57 6 55 8 56 9 54 10 11 53 13 12 52 51 15 14 50 49 47 16 17 48 "
            "18 19 46 45 43 20 21 44 23 41 42 22 25 40 39 24 37 27 26 38 28 29 36 35 30 31 34 33 32",
            id="up and down",
        ),
        pytest.param(
            [index * 7 % 11 for index in range(55)],
            "11 0 22 33 44 19 30 52 41 8 5 49 16 38 27 24 46 13 35 2 21 43 10 54 32 18 40 7 51 29 26 48 15 "
            "37 4 23 34 45 1 12 53 20 31 42 9 6 17 39 50 28 14 47 36 3 25",
            id="eleven values",
        ),
        pytest.param(
            [index * index % 17 for index in range(100)],
            "85 0 51 34 68 17 86 33 1 52 69 67 84 50 35 18 16 57 74 79 40 45 11 23 91 96 6 62 28 32 19 53 2 "
            "49 70 87 36 66 83 15 5 80 90 39 73 97 46 56 22 29 63 12 82 88 54 48 71 14 20 99 3 37 65 31 26 "
            "76 9 60 59 25 93 8 94 42 43 77 75 10 78 44 41 95 7 92 27 58 24 61 81 89 13 21 30 38 64 72 47 55 "
            "98 4",
            id="squares",
        ),
        pytest.param(
            [0 if index == 25 else index // 2 for index in range(51)],
            "25 1 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 23 22 24 26 27 28 29 30 31 32 33 34 "
            "35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50",
            id="one astray",
        ),
        pytest.param(
            [51 if index < 10 else 10 if index >= 50 else 60 - index for index in range(60)],
            " ".join(map(str, range(59, -1, -1))),
            id="backwards, and turned round",
        ),
    ],
)
def test_ties_end_where_sort_slice_of_go_leaves_them(values: list[int], expected: str) -> None:
    """Recorded with Go 1.27; the algorithm is that of Go 1.19 and later."""
    assert sorted_indexes(values) == [int(each) for each in expected.split()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(
            "3 5 2 4 3 3 6 4 4 5 3 5 6 9 6 10 11 11 12 0 0 12 13 13 9 14 15 15 16 16 11 17 18 12 12 19 20 13 "
            "14 1 1 21 22 22 23 15 24 16 16 25 17 26 18 18 18 28 19 19 20 1 2 21 21 32 23 30 23 22 22 31 35 "
            "36 22 36 24 25 25 38 26 40",
            "19 20 40 39 59 2 60 10 5 0 4 3 7 8 1 11 9 14 12 6 13 24 15 16 30 17 18 21 34 33 22 23 37 25 38 "
            "27 45 26 28 48 29 47 50 31 53 32 54 52 35 57 56 58 36 61 41 62 72 68 43 67 42 64 44 66 74 46 49 "
            "76 75 78 51 55 65 69 63 70 73 71 77 79",
            id="bad pivots",
        ),
        pytest.param(
            "35 23 34 22 66 65 64 21 62 20 60 59 29 19 56 27 27 53 26 25 23 16 16 15 25 45 22 43 21 20 13 19 "
            "12 37 36 17 11 16 10 10 30 29 28 9 13 12 24 7 11 21 10 19 9 17 8 15 14 4 4 11 5 9 4 3 3 1 1 1 0 "
            "0",
            "69 68 65 67 66 63 64 62 57 58 60 47 54 43 61 52 39 50 38 59 36 48 45 32 44 30 56 23 55 22 37 21 "
            "53 35 13 31 51 9 29 49 7 28 26 3 20 1 46 19 24 18 16 15 42 41 12 40 2 0 34 33 27 25 17 14 11 10 "
            "8 6 5 4",
            id="bad pivots, backwards",
        ),
        pytest.param(
            "0 1 0 0 0 0 0 1 0 0 2 0 0 0 0 0 2 2 1 0 0 0 1 0 0 2 0 0 0 0 2 1 0 0 0 0 0 0 0 0 0 0 1 0 0 2 0 2 0 2",
            "24 37 3 4 5 6 8 9 11 12 48 13 14 15 46 44 43 41 40 19 20 21 39 23 2 38 26 27 28 29 0 36 32 33 34 "
            "35 7 1 42 22 18 31 45 17 10 25 16 47 30 49",
            id="mostly of a kind",
        ),
        pytest.param(
            "3 0 0 0 0 0 2 2 1 0 0 0 0 3 0 0 0 2 0 0 0 0 0 2 0 0 3 0 0 3 1 0 0 0 0 0 0 0 2 0 0 2 2 0 0 0 0 3 "
            "0 0 0 3 1 0 0 0 0 0 0 2",
            "45 39 2 3 58 5 57 56 55 9 10 11 12 54 14 15 16 53 18 19 20 21 22 50 24 25 49 27 1 28 4 31 32 33 "
            "34 35 36 37 48 46 40 44 43 8 52 30 7 17 38 59 42 41 6 23 13 29 47 51 0 26",
            id="mostly of a kind, longer",
        ),
        pytest.param(
            "2 3 4 5 6 7 8 9 10 13 0 11 35 21 37 23 20 12 33 36 1 19 18 28 15 14 17 27 34 18 22 31 32 30 29 "
            "28 16 26 25 24",
            "10 20 0 1 2 3 4 5 6 7 8 11 17 9 25 24 36 26 22 29 21 16 13 30 15 39 38 37 27 23 35 34 33 31 32 "
            "18 28 12 19 14",
            id="pivots so bad that it ends as a heap",
        ),
    ],
)
def test_ties_of_inputs_that_are_hard_to_sort(values: str, expected: str) -> None:
    """Recorded with Go 1.27."""
    assert sorted_indexes([int(each) for each in values.split()]) == [int(each) for each in expected.split()]


def test_a_part_that_is_turned_round_keeps_its_pivot() -> None:
    sorting = UnstableSort([*range(5), *range(60, 0, -1)], lambda left, right: left < right)
    pivot, increasing = sorting.choose_pivot(5, 65)
    assert sorting.data == [*range(5), *range(1, 61)]
    assert (sorting.data[pivot], increasing) == (30, True)


def test_an_order_that_contradicts_itself_ends_all_the_same() -> None:
    def always(left: Any, right: Any) -> bool:
        return True

    assert sort_slice(range(4), always) == [3, 2, 1, 0]
    assert sorted(sort_slice(range(100), always)) == list(range(100))


@given(st.lists(st.integers(0, 50), min_size=13, max_size=60), st.integers(0, 5))
def test_it_sorts_as_a_heap_when_no_bad_pivot_is_left(values: list[int], low: int) -> None:
    sorting = UnstableSort(list(values), lambda left, right: left < right)
    sorting.quicksort(low, len(values), 0)
    assert sorting.data == [*values[:low], *sorted(values[low:])]
