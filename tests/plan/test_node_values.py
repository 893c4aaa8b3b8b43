"""Names of tied nodes, of which each takes a bit."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.plan.results.nodes import TiedNames
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod

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
    assert tied != [*expected, "n"]
    assert tied != "".join(expected)
    assert pickle.loads(pickle.dumps(tied)) == tuple(expected)


def test_ties_of_thousands_of_nodes_take_few_bytes() -> None:
    names = [f"node-{number:05}" for number in range(5000)]
    tied = TiedNames(names, np.arange(5000))
    assert tied._mask == b"\xff" * 625
    assert tied[-1] == "node-04999"


def test_a_brief_outcome_counts_all_ties_and_names_the_first() -> None:
    nodes = [make_node(f"n{number}").allocatable(cpu="4", memory="8Gi", pods=10).obj() for number in range(6)]
    simulator = Simulator.load(nodes, make_pod("web").requests(cpu="1").obj())
    (whole,), (brief,) = (simulator.prepared().simulate(brief_above=above).outcomes for above in (None, 0))
    assert (len(whole.ties), whole.tied) == (6, 6)
    assert (brief.ties, brief.tied) == (tuple(whole.ties[:4]), 6)
