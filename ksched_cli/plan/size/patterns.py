"""Patterns of a shape: pods that fit together on one node of it."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.plan.size.greedy import Pattern
from ksched_cli.plan.size.problem import PackingProblem

# The search for all patterns of a shape is given up after so many steps for each pattern that is wanted.
_VISITS = 50


def maximal_patterns(problem: PackingProblem, choice: int, most: int) -> list[Pattern] | None:
    """Every pattern to which no pod can be added; None if there are more than so many."""
    count = len(problem.classes)
    caps = [min(int(problem.most[choice, at]), int(problem.demand[at])) for at in range(count)]
    free = [max(int(each), 0) for each in problem.free[choice]]
    requests = problem.requests.tolist()
    rivals = [{b if a == at else a for a, b in problem.rivals if at in (a, b)} for at in range(count)]
    found: list[Pattern] = []
    pattern, visits = [0] * count, 0

    def fits(at: int, left: Sequence[int]) -> int:
        if any(pattern[other] for other in rivals[at]):
            return 0
        copies = (have // want for want, have in zip(requests[at], left, strict=True) if want)
        return min(caps[at], min(copies, default=0))

    def visit(at: int, left: list[int]) -> bool:
        """False if there are too many."""
        nonlocal visits
        visits += 1
        if at == count:
            if all(pattern[each] >= caps[each] or not fits(each, left) for each in range(count)):
                found.append(tuple(pattern))
            return len(found) <= most and visits <= _VISITS * most
        most_here = fits(at, left)
        # Fewer pods of the last class leave room for one more.
        for number in range(most_here, most_here - 1 if at == count - 1 else -1, -1):
            pattern[at] = number
            if visits > _VISITS * most or not visit(
                at + 1, [have - number * want for want, have in zip(requests[at], left, strict=True)]
            ):
                return False
        pattern[at] = 0
        return True

    return found if visit(0, free) else None
