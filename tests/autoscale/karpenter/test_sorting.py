"""The order of open claims: what one move does is what pdqsort does."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.autoscale.karpenter import node_claim as sorting
from ksched_cli.autoscale.karpenter.node_claim import ClaimOrder

# Steps: a new claim, or one pod more for the claim at a place.
steps = st.lists(st.none() | st.integers(min_value=0, max_value=200), min_size=1, max_size=300)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_order_is_that_of_pdqsort(given_steps: list[int | None]) -> None:
    order, counts, rows = ClaimOrder(), [], []
    for step in given_steps:
        if step is None or not rows:
            order.add(len(rows))
            counts.append(1)
            rows.append(len(rows))
        else:
            place = step % len(rows)
            order.raised(place)
            counts[place] += 1
        sorting._pdqsort(counts, rows, 0, len(rows), len(rows).bit_length())
        assert order.rows.tolist() == rows
        assert counts == sorted(counts)


def test_up_to_twelve_claims_are_sorted_stably() -> None:
    order = ClaimOrder()
    for row in range(12):
        order.add(row)
    order.raised(3)
    order.raised(0)
    assert order.rows.tolist() == [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 0, 3]


def test_heap_sort_sorts_what_pdqsort_gives_up() -> None:
    counts, rows = [7, 3, 9, 1, 1, 8, 2, 6], list(range(8))
    sorting._heap_sort(counts, rows, 0, 8)
    assert counts == [1, 1, 2, 3, 6, 7, 8, 9]
    assert sorted(rows) == list(range(8))


def test_elements_that_pdqsort_swaps_to_break_patterns_stay_in_the_slice() -> None:
    counts, rows = list(range(40)), list(range(40))
    sorting._break_patterns(counts, rows, 8, 32)
    assert counts == rows
    assert rows[:8] == list(range(8))
    assert rows[32:] == list(range(32, 40))
    assert sorted(rows) == list(range(40))
    assert rows != list(range(40))
