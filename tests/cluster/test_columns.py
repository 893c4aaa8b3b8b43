"""Small tables that give values numbers, and rows in parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.columns import Vocabulary, distinct, grown, joined_rows, rows_in_any, truncated_divide
from ksched_cli.cluster.nodes import LabelColumn


def test_all_ids_are_found_at_once_without_giving_new_ones() -> None:
    known: Vocabulary[str] = Vocabulary()
    for value in ("cpu", "memory", "cpu", "pods"):
        known.id(value)
    assert known.find_all(["pods", "gpu", "cpu"]).tolist() == [2, -1, 0]
    assert known.values == ["cpu", "memory", "pods"]
    assert known.find_all([]).tolist() == []


def test_a_copy_gives_ids_of_its_own() -> None:
    known: Vocabulary[str] = Vocabulary()
    known.id("cpu")
    copy = known.copy()
    assert copy.id("memory") == 1
    assert known.find_all(["cpu", "memory"]).tolist() == [0, -1]
    assert copy.find_all(["cpu", "memory"]).tolist() == [0, 1]


@given(st.lists(st.lists(st.integers(0, 9))))
def test_rows_of_all_parts_are_in_order_and_listed_once(parts: list[list[int]]) -> None:
    found = rows_in_any(10, [np.array(part, dtype=np.int64) for part in parts])
    assert found.tolist() == sorted({row for part in parts for row in part})


@given(st.lists(st.sets(st.integers(0, 9))))
def test_ordered_parts_are_joined_in_order(parts: list[set[int]]) -> None:
    found = joined_rows(10, [np.array(sorted(part), dtype=np.int64) for part in parts])
    assert found.tolist() == sorted(set().union(*parts))


@given(st.lists(st.one_of(st.integers(0, 5), st.integers(10**6, 10**6 + 3)), min_size=1))
def test_distinct_numbers_are_those_of_numpy(numbers: list[int]) -> None:
    column = np.array(numbers, dtype=np.int64)
    found, inverse = distinct(column)
    assert found.tolist() == sorted(set(numbers))
    assert found[inverse].tolist() == numbers


@given(st.lists(st.sampled_from([None, *map(str, range(40))]), max_size=60), st.data())
def test_the_rows_with_some_values_come_in_ascending_order(labels: list[str | None], data: st.DataObject) -> None:
    column = LabelColumn.of(labels, len(labels))
    wanted = data.draw(st.lists(st.booleans(), min_size=len(column.values), max_size=len(column.values)))
    plain = [row for row, label in enumerate(labels) if wanted[column.values.index(label)]]
    for _ in range(2):
        assert column.rows_of(np.nonzero(wanted)[0].tolist()).tolist() == plain


@pytest.mark.parametrize(
    ("labels", "present"),
    [
        pytest.param(["a", "b"], [True, True], id="every row"),
        pytest.param(["a", None], [True, False], id="one without"),
        pytest.param([None], [False], id="none"),
        pytest.param([], [], id="no row"),
    ],
)
def test_which_rows_have_a_label(labels: list[str | None], present: list[bool]) -> None:
    assert LabelColumn.of(labels, len(labels)).present.tolist() == present


@pytest.mark.parametrize("wanted", [["v1"], ["v1", "v3"], ["v3", "v0", "v1"], [None], [None, "v2"], []], ids=str)
def test_the_rows_of_few_values_in_a_large_cluster(wanted: list[str | None]) -> None:
    labels = [None if row % 7 == 0 else f"v{row % 5}" for row in range(1000)]
    column = LabelColumn.of(labels, len(labels))
    plain = [row for row, label in enumerate(labels) if label in wanted]
    for _ in range(2):
        assert column.rows_of([column.values.index(each) for each in wanted]).tolist() == plain


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([5, 3, 5, 0, 1030] * 5, id="small numbers"),
        pytest.param([10**12, 3, 10**12, 0] * 5, id="large numbers"),
        pytest.param([7] * 17, id="one number"),
        pytest.param(list(range(40, 0, -1)), id="all different"),
    ],
)
def test_distinct_numbers_of_a_long_column(numbers: list[int]) -> None:
    found, inverse = distinct(np.array(numbers, dtype=np.int64))
    assert found.tolist() == sorted(set(numbers))
    assert found[inverse].tolist() == numbers


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"),
    [
        pytest.param(7, 2, 3, id="positive"),
        pytest.param(-7, 2, -3, id="negative"),
        pytest.param(-6, 2, -3, id="negative without a rest"),
        pytest.param(-1, 2, 0, id="less than one"),
        pytest.param(1, 2, 0, id="less than one, positive"),
        pytest.param(7, -2, -3, id="by a negative number"),
        pytest.param(-7, -2, 3, id="both negative"),
    ],
)
def test_division_drops_the_fraction(dividend: int, divisor: int, quotient: int) -> None:
    assert truncated_divide(np.array([dividend, 0]), divisor).tolist() == [quotient, 0]
    assert truncated_divide(np.array([dividend]), np.array([divisor])).tolist() == [quotient]


def test_a_column_grows_at_least_to_the_double() -> None:
    assert grown(np.array([1, 2]), 3).tolist() == [1, 2, *[0] * 14]
    assert len(grown(np.zeros(20, dtype=np.int64), 21)) == 40
    assert len(grown(np.zeros(20, dtype=np.int64), 50)) == 50
    wide = grown(np.array([[1], [2]]), 2, fill=-1)
    assert wide.shape == (2, 16)
    assert wide[:, :2].tolist() == [[1, -1], [2, -1]]


def test_no_rows_and_one_part() -> None:
    assert joined_rows(5, []).tolist() == []
    assert joined_rows(5, [np.array([1, 3])]).tolist() == [1, 3]
    assert rows_in_any(5, []).tolist() == []
