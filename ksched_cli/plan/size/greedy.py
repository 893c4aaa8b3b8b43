"""A purchase without a solver: node after node, each time the shape that holds most for its price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ksched_cli.plan.size.problem import Matrix, PackingProblem

# A pattern: how many pods of each class go on one node.
Pattern = tuple[int, ...]


def fill(problem: PackingProblem, choice: int, order: Sequence[int], demand: Matrix) -> Pattern:
    """As many pods of the classes as fit on one node, one class after the other."""
    pattern = [0] * len(problem.classes)
    free = problem.free[choice].copy()
    for each in order:
        if not demand[each] or any(pattern[other] for other in _rivals_of(problem, each)):
            continue
        wanted = problem.requests[each]
        asked = wanted > 0
        fits = int((free[asked] // wanted[asked]).min()) if asked.any() else 0
        count = min(fits, int(problem.most[choice, each]), int(demand[each]))
        if count > 0:
            pattern[each] = count
            free -= count * wanted
    return tuple(pattern)


def _rivals_of(problem: PackingProblem, one: int) -> list[int]:
    return [b if a == one else a for a, b in problem.rivals if one in (a, b)]


def weights(problem: PackingProblem) -> list[float]:
    """What a pod of each class costs on the shape that is cheapest for it alone, without regard to whole nodes."""
    found = []
    for each in range(len(problem.classes)):
        most = problem.most[:, each]
        costs = [float(problem.prices[at]) / int(most[at]) for at in np.nonzero(most)[0].tolist()]
        found.append(min(costs, default=0.0))
    return found


def orders(problem: PackingProblem) -> list[list[int]]:
    """In which orders a node is filled: by worth per share of a node, and by each resource, the largest first."""
    worth = weights(problem)
    count = len(problem.classes)
    found = [sorted(range(count), key=lambda each: -worth[each])]
    sizes = problem.free.max(axis=0) if len(problem.choices) else problem.requests.max(axis=0)
    shares = problem.requests / np.maximum(sizes, 1)
    found.append(sorted(range(count), key=lambda each: -float(shares[each].max())))
    found += [sorted(range(count), key=lambda each: -float(shares[each, at])) for at in range(shares.shape[1] - 1)]
    return [list(each) for each in dict.fromkeys(map(tuple, found))]


def buy_greedily(
    problem: PackingProblem, demand: Matrix, bought: Counter[int] | None = None
) -> list[tuple[int, Pattern]]:
    """Nodes for the demand, by choice and pattern. What no choice holds, or its limit forbids, is left over."""
    left = demand.copy()
    counts = Counter(bought or {})
    worth, ways = weights(problem), orders(problem)
    # A shape without a price is worth buying for its pods alone.
    worth = [each or 1.0 for each in worth]
    found: list[tuple[int, Pattern]] = []
    while left.any():
        best: tuple[float, int, Pattern] | None = None
        for choice in range(len(problem.choices)):
            if not _may_buy(problem, counts, choice):
                continue
            for order in ways:
                pattern = fill(problem, choice, order, left)
                value = sum(count * each for count, each in zip(pattern, worth, strict=True))
                ratio = value / (float(problem.prices[choice]) or 1e-9)
                if value and (best is None or ratio > best[0] * (1 + 1e-12)):
                    best = ratio, choice, pattern
        if best is None:
            break
        _, choice, pattern = best
        times = min(int(have // want) for want, have in zip(pattern, left.tolist(), strict=True) if want)
        times = max(min(times, _room_to_buy(problem, counts, choice)), 1)
        found += [(choice, pattern)] * times
        counts[choice] += times
        left -= times * np.array(pattern, dtype=np.int64)
    return found


def _room_to_buy(problem: PackingProblem, counts: Counter[int], choice: int) -> int:
    name = problem.choices[choice].variants[0].name
    if name not in problem.limits:
        return 1 << 30
    limit, members = problem.limits[name]
    return limit - sum(counts[each] for each in members)


def _may_buy(problem: PackingProblem, counts: Counter[int], choice: int) -> bool:
    return _room_to_buy(problem, counts, choice) > 0


def first_fit(problem: PackingProblem, demand: Matrix) -> list[tuple[int, Pattern]]:
    """First fit decreasing, with the shape of each node chosen last: the cheapest that holds its pods."""
    ways = orders(problem)
    order = ways[1] if len(ways) > 1 else ways[0]
    nodes: list[list[int]] = []
    for each in order:
        for _ in range(int(demand[each])):
            for node in nodes:
                node[each] += 1
                if _cheapest(problem, node) is not None:
                    break
                node[each] -= 1
            else:
                alone = [0] * len(problem.classes)
                alone[each] = 1
                if _cheapest(problem, alone) is not None:
                    nodes.append(alone)
    chosen = ((_cheapest(problem, node), tuple(node)) for node in nodes)
    return [(choice, pattern) for choice, pattern in chosen if choice is not None]


def _cheapest(problem: PackingProblem, pattern: Sequence[int]) -> int | None:
    """The cheapest choice that holds the pattern, None if none does."""
    counts = np.array(pattern, dtype=np.int64)
    holds = (counts @ problem.requests <= problem.free).all(axis=1) & (counts <= problem.most).all(axis=1)
    if any(pattern[a] and pattern[b] for a, b in problem.rivals) or not holds.any():
        return None
    at = np.nonzero(holds)[0]
    return int(at[problem.prices[at].argmin()])


def one_shape_each(problem: PackingProblem, demand: Matrix) -> list[list[tuple[int, Pattern]]]:
    """For each choice a purchase of that choice alone, and of others for the pods that it does not take."""
    found = []
    for choice in range(len(problem.choices)):
        left, bought = demand.copy(), []
        for _ in range(_room_to_buy(problem, Counter(), choice)):
            pattern = max((fill(problem, choice, order, left) for order in orders(problem)), key=sum)
            if not any(pattern):
                break
            bought.append((choice, pattern))
            left -= np.array(pattern, dtype=np.int64)
        if bought:
            found.append([*bought, *buy_greedily(problem, left, Counter({choice: len(bought)}))])
    return found
