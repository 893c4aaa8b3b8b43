"""Names of tied nodes, of which each takes a bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.plan.results.nodes import FirstNames, TiedNames

NAMES = [f"n{number}" for number in (3, 11, 0, 7, 20, 1, 15, 2, 9)]


@given(rows=st.sets(st.integers(0, len(NAMES) - 1)), start=st.integers(-10, 10), stop=st.integers(-10, 10))
def test_tied_names_are_a_sequence_in_the_order_of_the_names(rows: set[int], start: int, stop: int) -> None:
    expected = sorted(NAMES[row] for row in rows)
    tied = TiedNames(NAMES, np.array(sorted(rows, key=NAMES.__getitem__), dtype=np.int64))
    assert list(tied) == expected
    assert len(tied) == len(expected)
    assert [tied[index] for index in range(-len(expected), len(expected))] == [*expected, *expected]
    assert list(tied[start:stop]) == expected[start:stop]
    assert list(tied[start:]) == expected[start:]
    assert list(tied[:stop:2]) == expected[:stop:2]
    assert tied == expected
    assert pickle.loads(pickle.dumps(tied)) == tuple(expected)


def test_ties_of_thousands_of_nodes_take_few_bytes() -> None:
    names = [f"node-{number:05}" for number in range(5000)]
    tied = TiedNames(names, np.arange(5000))
    assert tied._mask == b"\xff" * 625
    assert tied[-1] == "node-04999"


@given(rows=st.sets(st.integers(0, len(NAMES) - 1)), start=st.integers(-10, 10), stop=st.integers(-10, 10))
def test_first_names_are_those_or_an_error(rows: set[int], start: int, stop: int) -> None:
    in_order = np.array(sorted(rows, key=NAMES.__getitem__), dtype=np.int64)
    first, tied = FirstNames.of(NAMES, in_order), TiedNames(NAMES, in_order)
    assert len(first) == len(tied)
    places = range(len(tied))[start:stop]
    if max(places, default=0) < 4:
        assert first[start:stop] == tied[start:stop]
    else:
        with pytest.raises(LookupError, match="the first 4 are kept"):
            _ = first[start:stop]


def test_first_names_count_all_names() -> None:
    first = FirstNames.of(NAMES, np.arange(6))
    assert first[:3] == tuple(NAMES[:3])
    assert len(first) == 6
