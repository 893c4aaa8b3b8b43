"""`consolidate`: nodes that can go, nodes that cheaper ones can replace, and the order in which it can be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from ksched_cli.api.core import Node
from ksched_cli.errors import InputError, Problem
from ksched_cli.plan.consolidate.candidates import Candidates, find_candidates, lower_bound, prices_of
from ksched_cli.plan.consolidate.conditions import Conditions
from ksched_cli.plan.consolidate.plan import ConsolidationWorld, Deadline, Removal
from ksched_cli.plan.consolidate.results import Consolidation, ConsolidationEnd, ConsolidationStep, KeptNode
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.node_columns import NodeChanges, NodeColumns
from ksched_cli.plan.prepared import PreparedRun
from ksched_cli.plan.size.shapes import ShapeCatalog

# Candidates in a row that cannot be removed, after which the rest is left alone; the emptiest are tried first.
_FAILURES = 40
# The search is done again without needless cordons if it took no more than this share of the time limit.
_AGAIN = 0.4


def consolidate_input(
    source: LoadedInput, catalog: ShapeCatalog | None, flags: Flags, conditions: Conditions, *, time_limit: float
) -> Consolidation:
    """Drain and delete nodes in a world as long as it is safe. Every command of the result was carried out there."""
    source = source.without_rollouts()
    if not source.loaded.of(Node):
        raise InputError(Problem("the input has no Node: there is nothing to consolidate"))
    prepared = PreparedRun.of(source)
    clock = Deadline(time_limit)
    world = ConsolidationWorld(prepared.scheduler, source.loaded, flags, conditions)
    candidates = find_candidates(
        source.loaded, world.cluster, flags, conditions, prices_of(source.loaded.of(Node), catalog)
    )
    bound = lower_bound(world.cluster, candidates, candidates.blocked, catalog, conditions)
    before = NodeColumns.of(world.cluster)
    search = _ConsolidationSearch(world, candidates, catalog, conditions, clock)
    search.run(bound, hoped_for(candidates, bound))
    if search.cordons_in_vain and clock.seconds < _AGAIN * time_limit:
        # Once more from the beginning: the steps must hold without the cordons of nodes that stay.
        gone = search.removed
        world = ConsolidationWorld(PreparedRun.of(source).scheduler, source.loaded, flags, conditions)
        only = replace(candidates, order=tuple(node for node in candidates.order if node in search.gone))
        again = _ConsolidationSearch(world, only, catalog, conditions, clock)
        again.run(bound, gone)
        search = again.after(search)
    return search.result(prepared, bound, time_limit, before)


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


class _ConsolidationSearch:
    def __init__(
        self,
        world: ConsolidationWorld,
        candidates: Candidates,
        catalog: ShapeCatalog | None,
        conditions: Conditions,
        clock: Deadline,
    ) -> None:
        self._world, self._candidates, self._catalog = world, candidates, catalog
        self._conditions, self._clock = conditions, clock
        # Steps and the names of nodes that are uncordoned, in their order.
        self._events: list[ConsolidationStep | str] = []
        self._why: dict[str, str] = dict(candidates.blocked)
        self._cordon: tuple[str, ...] = ()
        self._late = False

    @property
    def _steps(self) -> list[ConsolidationStep]:
        return [event for event in self._events if isinstance(event, ConsolidationStep)]

    @property
    def _closed(self) -> list[str]:
        """The nodes that are cordoned for this consolidation now."""
        over = {event if isinstance(event, str) else event.node for event in self._events}
        return [node for node in self._cordon if node not in over]

    @property
    def _cost(self) -> Decimal:
        return self._candidates.cost - sum((step.saving for step in self._steps), Decimal(0))

    @property
    def gone(self) -> set[str]:
        """The nodes that are removed or replaced."""
        return {step.node for step in self._steps}

    @property
    def removed(self) -> tuple[str, ...]:
        """The nodes that are removed and not replaced, in the order of the steps."""
        return tuple(step.node for step in self._steps if not step.shape)

    @property
    def cordons_in_vain(self) -> bool:
        """Whether nodes are cordoned that stay or that are replaced, although some are removed."""
        return bool(self._steps) and not set(self._cordon) <= set(self.removed)

    def after(self, first: _ConsolidationSearch) -> _ConsolidationSearch:
        """This search, or the first if that one saves more. Why nodes stay was found by the first."""
        if self._cost > first._cost:
            return first
        self._why = {**first._why, **self._why}
        self._world.tried += first._world.tried
        return self

    def run(self, bound: Decimal, cordon: tuple[str, ...]) -> None:
        """Cordon nodes, and remove what can be removed, the emptiest first."""
        self._cordon = cordon
        self._world.cordon(self._cordon)
        failures = 0
        for node in self._candidates.order:
            if self._is_over() or self._cost <= bound:
                break
            done = self._try(Removal(node, self._candidates.price_of[node]))
            if node in self._cordon and not done:
                self._uncordon(node)
            failures = 0 if done else failures + 1
            if failures > _FAILURES and node not in self._cordon:
                break
        self._uncordon(*self._closed)
        if self._catalog is not None:
            self._replace(self._catalog)
        if self._conditions.failures:
            self._take_back_until_failures_are_survived()
        self._uncordon(*self._closed)

    def _uncordon(self, *nodes: str) -> None:
        for node in nodes:
            self._world.uncordon(node)
            self._events.append(node)

    def _is_over(self) -> bool:
        self._late = self._late or not self._clock.has_time()
        return self._late

    def _try(self, removal: Removal) -> bool:
        found = self._world.step(removal)
        if isinstance(found, str):
            self._why.setdefault(removal.node, found)
            return False
        self._events.append(found)
        self._why.pop(removal.node, None)
        return True

    def _replace(self, catalog: ShapeCatalog) -> None:
        """Nodes that cannot go, the dearest first, each by the cheapest shape that holds its pods."""
        gone = {step.node for step in self._steps}
        left = [node for node in self._candidates.order if node not in gone]
        for node in sorted(left, key=lambda each: -self._candidates.price_of[each]):
            price = self._candidates.price_of[node]
            for shape in sorted(catalog.shapes, key=lambda each: each.price):
                if self._is_over() or shape.price >= price:
                    break
                name = self._new_name(shape.node_name)
                if self._try(Removal(node, price - shape.price, shape, name)):
                    break

    def _new_name(self, base: str) -> str:
        taken = {*self._world.cluster.nodes.names, *(step.new_node for step in self._steps)}
        number = 1
        while f"{base}-{number}" in taken:
            number += 1
        return f"{base}-{number}"

    def _take_back_until_failures_are_survived(self) -> None:
        """Undo the last steps until every pod has a place after any one node fails."""
        while self._steps:
            self._uncordon(*self._closed)
            pod = next(filter(None, map(self._world.failure_without_place, self._world.cluster.nodes.names)), "")
            if not pod:
                return
            step = self._steps[-1]
            # With the step goes what came after it.
            del self._events[self._events.index(step) :]
            self._world.take_back()
            self._why[step.node] = f"{pod} would have no place after one more node fails"

    def result(self, prepared: PreparedRun, bound: Decimal, time_limit: float, before: NodeColumns) -> Consolidation:
        gone = {step.node for step in self._steps}
        replaced = sum(1 for step in self._steps if step.shape)
        nodes = len(prepared.source.loaded.of(Node))
        cost = self._cost
        ended: ConsolidationEnd = "optimal" if cost <= bound else "time" if self._late else "local"
        steps, last = _with_uncordons(self._events)
        # Without a step there is nothing to cordon nodes for.
        cordon, last = (self._cordon, last) if steps else ((), ())
        kept = (KeptNode(node, why) for node, why in self._why.items() if node not in gone)
        return Consolidation(
            steps,
            cordon,
            last,
            self._candidates.cost,
            cost,
            min(bound, cost),
            self._catalog.unit if self._catalog else "nodes",
            nodes,
            nodes - len(self._steps) + replaced,
            tuple(sorted(kept, key=lambda each: each.node)),
            ended,
            self._clock.seconds,
            time_limit,
            self._world.tried,
            self._conditions.texts,
            prepared.coverage,
            prepared.stats(len(gone), self._clock.seconds),
            prepared.source.warnings,
            NodeChanges(before, NodeColumns.of(self._world.cluster)),
        )


def _with_uncordons(
    events: Sequence[ConsolidationStep | str],
) -> tuple[tuple[ConsolidationStep, ...], tuple[str, ...]]:
    """Each step with the nodes that are uncordoned before it, and those that are uncordoned after the last."""
    steps: list[ConsolidationStep] = []
    opened: list[str] = []
    for event in events:
        if isinstance(event, str):
            opened.append(event)
            continue
        commands = (*(f"kubectl uncordon {node}" for node in opened), *event.commands)
        steps.append(replace(event, uncordon=tuple(opened), commands=commands))
        opened = []
    return tuple(steps), tuple(opened)
