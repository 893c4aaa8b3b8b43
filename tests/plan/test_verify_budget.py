"""With `spare` cycles less from the beginning on, every search of a replay finds the same."""

from __future__ import annotations

import pytest

from ksched_cli.plan.verify.search import CycleBudget

MOST = 10


def searches(budget: CycleBudget, wishes: list[int]) -> list[tuple[bool, bool, int]]:
    """Searches that need two cycles to begin and would spend so many: whether each began, ended by itself, and what it
    spent."""
    found = []
    for wish in wishes:
        if not budget.allows(2):
            found.append((False, False, 0))
            continue
        limit = budget.limit(MOST)
        spent = min(wish, limit)
        found.append((True, spent < limit, spent))
        budget.spend_on_search(spent, MOST)
    return found


@pytest.mark.parametrize("wishes", [[], [3], [3, 5, 2], [30], [9, 10, 1], [0, 0], [4, 30, 4, 3]])
@pytest.mark.parametrize("cycles", [0, 1, 2, 5, 10, 12, 21, 40])
def test_so_many_cycles_less_change_nothing(wishes: list[int], cycles: int) -> None:
    whole = CycleBudget(cycles)
    found = searches(whole, wishes)
    assert whole.left + whole.spent == cycles
    for fewer in range(min(whole.spare, cycles) + 1):
        assert searches(CycleBudget(cycles - fewer), wishes) == found
