"""Choices and orders that are computed from a number."""

from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.plan.sweep.trials import Permutation, choice, seed_of


@pytest.mark.parametrize(("total", "size"), [(5, 1), (6, 2), (7, 3), (6, 6)])
def test_every_choice_has_one_index(total: int, size: int) -> None:
    assert {choice(index, size) for index in range(comb(total, size))} == set(combinations(range(total), size))


def test_a_choice_among_many_is_found_without_a_list() -> None:
    assert choice(comb(65_000, 3) - 1, 3) == (64_997, 64_998, 64_999)


@given(st.integers(1, 400), st.integers(0, 5))
def test_a_permutation_has_every_number_once(size: int, seed: int) -> None:
    order = Permutation(size, seed)
    assert sorted(order[number] for number in range(size)) == list(range(size))


def test_a_permutation_follows_its_seed_alone() -> None:
    first = [Permutation(10**30, 7)[number] for number in range(20)]
    assert first == [Permutation(10**30, 7)[number] for number in range(20)]
    assert first != [Permutation(10**30, 8)[number] for number in range(20)]
    assert all(0 <= number < 10**30 for number in first)


@pytest.mark.parametrize(
    ("size", "first"),
    [
        pytest.param(1, [0], id="1"),
        pytest.param(2, [0, 1], id="2"),
        pytest.param(5, [1, 4, 0, 3], id="5"),
        pytest.param(300, [51, 72, 168, 261], id="300"),
        pytest.param(10**12, [129070, 412562, 543980, 754293], id="10^12"),
        pytest.param(2**130, [383812, 726045, 603513, 998912], id="2^130"),
        pytest.param(2**1200, [106854, 248943, 784646, 934591], id="2^1200"),
    ],
)
def test_a_seed_draws_the_same_sample_in_every_version(size: int, first: list[int]) -> None:
    """Modulo a prime number, for some are long."""
    order = Permutation(size, 1)
    assert [order[number] % 1_000_003 for number in range(len(first))] == first


def test_every_tenth_of_a_range_is_drawn_about_equally_often() -> None:
    order = Permutation(100_000, 3)
    counts = [0] * 10
    for number in range(5_000):
        counts[order[number] // 10_000] += 1
    assert all(400 < count < 600 for count in counts)


def test_each_purpose_has_a_seed_of_its_own() -> None:
    assert (
        len({seed_of(seed, purpose, number) for seed in (0, 1) for purpose in ("order", "tie") for number in (1, 2)})
        == 8
    )
