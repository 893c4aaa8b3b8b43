"""The order of open claims: what one move does is what pdqsort does."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ksched_cli.autoscale.karpenter.node_claim import ClaimOrder
from ksched_cli.plugins.lib.unstable_sort import sort_slice
from tests.lanes import examples

# Steps: a new claim, or one pod more for the claim at a place.
steps = st.lists(st.none() | st.integers(min_value=0, max_value=200), min_size=1, max_size=300)


@settings(max_examples=examples(60))
@given(steps)
# 60 claims, so that one move takes the place of a whole sort: pods for the first, one between and the last; a new claim.
@example([None] * 60 + [0, 30, 59, 0, 58, 58, None, 0, 0, 59])
def test_order_is_that_of_pdqsort(given_steps: list[int | None]) -> None:
    order, counted = ClaimOrder(), list[tuple[int, int]]()
    for step in given_steps:
        if step is None or not counted:
            order.add(len(counted))
            counted.append((1, len(counted)))
        else:
            place = step % len(counted)
            order.raised(place)
            counted[place] = (counted[place][0] + 1, counted[place][1])
        counted = sort_slice(counted, lambda left, right: left[0] < right[0])
        assert order.rows.tolist() == [row for _, row in counted]


def test_up_to_twelve_claims_are_sorted_stably() -> None:
    order = ClaimOrder()
    for row in range(12):
        order.add(row)
    order.raised(3)
    order.raised(0)
    assert order.rows.tolist() == [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 0, 3]
