"""`consolidate`: nodes that can go, nodes that cheaper ones can replace, and the order in which it can be done."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from msgspec.structs import replace

from ksched_cli.api.core import Node
from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.plan.consolidate.candidates import Candidates, find_candidates, lower_bound, prices_of
from ksched_cli.plan.consolidate.results import Conditions, Consolidation
from ksched_cli.plan.consolidate.search import ConsolidationSearch, ConsolidationWorld, Deadline
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.run import DrainRun
from ksched_cli.plan.results.nodes import NodeColumns
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.size.shapes import ShapeCatalog

# The search is done again without needless cordons while this share of the time limit is left for it.
_AGAIN = 0.8

# A search in a new world, which may remove these nodes only.
NewSearch = Callable[[tuple[str, ...]], ConsolidationSearch]


def consolidate_input(
    source: LoadedInput, catalog: ShapeCatalog | None, flags: Flags, conditions: Conditions, *, time_limit: float
) -> Consolidation:
    """Drain and delete nodes in a world as long as it is safe. Every command of the result was carried out there."""
    source = source.without_rollouts()
    nodes = source.loaded.of(Node)
    _check(nodes, conditions)
    run = DrainRun(source, flags)
    clock = Deadline(time_limit)
    world = ConsolidationWorld(run, flags, conditions)
    cluster = world.cluster
    candidates = find_candidates(source.loaded, cluster, flags, conditions, prices_of(nodes, catalog))
    bound = lower_bound(cluster, candidates, candidates.blocked, catalog, conditions)
    before = NodeColumns.of(cluster)

    def search(order: tuple[str, ...]) -> ConsolidationSearch:
        again = ConsolidationWorld(DrainRun(source, flags), flags, conditions)
        return ConsolidationSearch(again, replace(candidates, order=order), catalog, conditions, clock)

    first = ConsolidationSearch(world, candidates, catalog, conditions, clock)
    first.run(bound, hoped_for(candidates, bound))
    found = _without_needless_cordons(first, search, bound, clock, _AGAIN * time_limit)
    return found.result(run, bound, time_limit, before)


def _check(nodes: list[Node], conditions: Conditions) -> None:
    """Raise what makes the conditions meaningless for these nodes."""
    if not nodes:
        raise InputError(Problem("the input has no Node: there is nothing to consolidate"))
    only = conditions.only
    if only is not None and not any(only.matches(node.metadata.labels) for node in nodes):
        raise UsageError(Problem("no node has these labels", f"--only {conditions.only_text}"))
    if conditions.failing is not None:
        conditions.failing.check(nodes)


def _without_needless_cordons(
    first: ConsolidationSearch, search: NewSearch, bound: Decimal, clock: Deadline, until: float
) -> ConsolidationSearch:
    """The first search, or one in which every node that is cordoned goes: the steps must hold without other cordons."""
    took, found = clock.seconds, first
    while found.cordons_in_vain and clock.seconds + took < until:
        gone, replaced = found.gone, found.replaced
        found = search(gone)
        found.run(bound, gone, replaced)
    if found.cost > first.cost and clock.seconds + took < until:
        uncordoned = search(first.order)
        uncordoned.run(bound, ())
        found = min(found, uncordoned, key=_cost)
    return first if found.cordons_in_vain else found.after(first)


def _cost(search: ConsolidationSearch) -> Decimal:
    return search.cost


def hoped_for(candidates: Candidates, bound: Decimal) -> tuple[str, ...]:
    """The nodes at the front of the order whose price is above the bound together."""
    spare, found = candidates.cost - bound, []
    for node in candidates.order:
        price = candidates.price_of[node]
        if price > spare:
            break
        found.append(node)
        spare -= price
    return tuple(found)
