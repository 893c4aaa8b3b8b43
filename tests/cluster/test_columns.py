"""Small tables that give values numbers, and rows in parts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.columns import Vocabulary, distinct, joined_rows, rows_in_any
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
        assert column.rows_with(np.array(wanted, dtype=np.bool_)).tolist() == plain
