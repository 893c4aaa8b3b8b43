"""`consolidate`: nodes that can go, nodes that cheaper ones can replace, and the order in which it can be done.

Nodes are cordoned, drained and deleted one after the other in one world. Each step is a trial that is kept only if it
is safe. Steps that a failure of nodes would not survive are undone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node
from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.plan.consolidate.candidates import Candidates, find_candidates, lower_bound, prices_of
from ksched_cli.plan.consolidate.results import (
    Conditions,
    Consolidation,
    ConsolidationEnd,
    ConsolidationStep,
    DrainSearch,
    NodeFailure,
    NodeFailures,
    PodMove,
    StayingNode,
)
from ksched_cli.plan.drain.drain import DrainRun
from ksched_cli.plan.drain.pods import run_until_rest
from ksched_cli.plan.drain.results import DrainResult, Flags
from ksched_cli.plan.results.nodes import NodeChanges, NodeColumns
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.catalog import NodeShape, ShapeCatalog
from ksched_cli.plan.size.results import gap_of, without_zeros
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.whatif.edits.lib.editor import Editor
from ksched_cli.whatif.edits.node_fields import Cordon, Uncordon
from ksched_cli.whatif.edits.nodes import AddNode, RemoveNode
from ksched_cli.world.world import WorldTrial


class Removal(Struct, frozen=True):
    """A node to remove, the node to add before it, if any, and what that saves."""

    node: str
    saving: Decimal
    shape: NodeShape | None = None
    new_node: str = ""


class ConsolidationWorld:
    """A cluster from which nodes are removed, step by step. The pending pods get their nodes first."""

    def __init__(self, run: DrainRun, flags: Flags, conditions: Conditions) -> None:
        self.run = run
        self.cluster = self.run.cluster
        self._flags, self._conditions = flags, conditions
        self.run.place_pending()
        # What happens anyway, such as preemptions by pending pods, happens before the first step.
        run_until_rest(self.run.world)
        self.run.world.begin_record()
        self.tried = 0
        # The steps, as long as they may be taken back.
        self._steps: list[WorldTrial] = []

    def _waiting(self) -> list[str]:
        """The pods that have no node and are not held back."""
        return sorted(pod.info.key for pod in self.run.world.loop.queue if not pod.gated)

    def cordon(self, nodes: Sequence[str]) -> None:
        for node in nodes:
            self._edit(Cordon(node))

    def uncordon(self, node: str) -> None:
        self._edit(Uncordon(node))

    def _edit(self, edit: Edit) -> None:
        self.run.world.apply(lambda plane: edit.apply(Editor(plane)))

    def step(self, removal: Removal) -> ConsolidationStep | StayingNode:
        """Add the new node, drain the old one and delete it. Returns why it cannot be done, and rolls it back then."""
        self.tried += 1
        trial = self.run.trial().begin()
        found = self._carry_out(removal)
        if isinstance(found, StayingNode):
            trial.roll_back()
        elif self._conditions.failing is not None:
            self._steps.append(trial)
        else:
            # No step is taken back later: how to undo it would only take memory.
            trial.commit()
        return found

    def take_back(self) -> None:
        """Undo the last step, and everything that came after it."""
        self._steps.pop().roll_back()

    def _carry_out(self, removal: Removal) -> ConsolidationStep | StayingNode:
        waiting = set(self._waiting())
        if removal.shape is not None:
            template = removal.shape.template()
            template.metadata.name = removal.new_node
            self._edit(AddNode(template))
            run_until_rest(self.run.world)
        result = self.run.drain([removal.node])
        if unsafe := _why_unsafe(removal.node, result):
            return unsafe
        self._edit(RemoveNode(removal.node))
        run_until_rest(self.run.world)
        lost = [pod for pod in self._waiting() if pod not in waiting]
        if lost:
            return StayingNode.of(removal.node, lost[0])
        if not self._conditions.leaves_headroom(self.cluster):
            return StayingNode(removal.node, "too little headroom would be left")
        self.run.world.begin_record()
        return _step_of(removal, result, self._flags)

    def failure_without_place(self, failures: Iterable[NodeFailure]) -> tuple[NodeFailure | None, str]:
        """The first failure after which a pod has no node, and that pod."""
        before = set(self._waiting())
        for failure in failures:
            with self.run.world.trial():
                for node in failure.nodes:
                    self._edit(RemoveNode(node))
                run_until_rest(self.run.world)
                after = [pod for pod in self._waiting() if pod not in before]
            if after:
                return failure, after[0]
        return None, ""


def _why_unsafe(node: str, result: DrainResult) -> StayingNode | None:
    """Why the drain is no step; None if it is one."""
    if result.safe:
        return None
    for fate in (fate for each in result.nodes for fate in each.pods):
        if fate.fate == "unplaced":
            return StayingNode.of(node, fate.pod, fate.why)
        if fate.fate in ("stuck", "refused") or fate.lost:
            what = {"stuck": "is held", "refused": "is refused"}.get(fate.fate, "is lost")
            return StayingNode(node, f"{fate.pod} {what}: {fate.why}")
    if result.preempted:
        return StayingNode(node, f"{result.preempted[0].pod} would be preempted")
    return StayingNode(node, f"the drain ends as {result.outcome}")


def _step_of(removal: Removal, result: DrainResult, flags: Flags) -> ConsolidationStep:
    (node,) = result.nodes
    moves = tuple(PodMove(fate.pod, fate.successor, fate.to) for fate in node.of("moves"))
    extra = " --delete-emptydir-data" if flags.delete_emptydir_data else ""
    extra += " --force" if flags.force else ""
    commands = (f"kubectl drain {removal.node} --ignore-daemonsets{extra}", f"kubectl delete node {removal.node}")
    shape = removal.shape.title if removal.shape else ""
    return ConsolidationStep(
        node=removal.node,
        action="replace" if shape else "remove",
        shape=shape,
        new_node=removal.new_node,
        saving=without_zeros(removal.saving),
        uncordon=(),
        rounds=node.rounds,
        commands=commands,
        moves=moves,
    )


class Deadline:
    """How long the search runs, and whether its time limit in seconds is over."""

    def __init__(self, seconds: float) -> None:
        self._started, self._limit = time.perf_counter(), seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def has_time(self) -> bool:
        return self.seconds < self._limit


# Candidates in a row that cannot be removed, after which the rest is left alone; the emptiest are tried first.
_FAILURES = 40


class ConsolidationSearch:
    """Removes nodes, the emptiest first, and replaces others by cheaper shapes, as long as all pods find a node and the
    conditions hold. The steps stay in the world."""

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
        self._why = {node: StayingNode(node, why) for node, why in candidates.blocked.items()}
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
    def cost(self) -> Decimal:
        return self._candidates.cost - sum((step.saving for step in self._steps), Decimal(0))

    @property
    def order(self) -> tuple[str, ...]:
        """The nodes that may go, in the order in which they are tried."""
        return self._candidates.order

    @property
    def gone(self) -> tuple[str, ...]:
        """The nodes that are removed or replaced, in the order in which they are tried."""
        gone = {step.node for step in self._steps}
        return tuple(node for node in self.order if node in gone)

    @property
    def replaced(self) -> frozenset[str]:
        return frozenset(step.node for step in self._steps if step.shape)

    @property
    def tried(self) -> int:
        return self._world.tried

    @property
    def cordons_in_vain(self) -> bool:
        """Whether a node is uncordoned again in the steps or after them."""
        return bool(self._steps) and any(isinstance(event, str) for event in self._events)

    def after(self, first: ConsolidationSearch) -> ConsolidationSearch:
        """This search, with why nodes stay that only the first one tried."""
        if self is not first:
            self._why = {**first._why, **self._why}
            self._world.tried += first._world.tried
            self._late = self._late or first._late
        return self

    def run(self, bound: Decimal, cordon: tuple[str, ...], replaced: frozenset[str] = frozenset()) -> None:
        """Cordon nodes, and remove what can be removed, the emptiest first. Nodes of `replaced` that cannot be removed
        stay cordoned until a shape replaces them."""
        self._cordon = cordon
        self._world.cordon(self._cordon)
        failures = 0
        for node in self._candidates.order:
            if self._is_over() or self.cost <= bound:
                break
            done = self._try(Removal(node, self._candidates.price_of[node]))
            if node in self._cordon and not done and node not in replaced:
                self._uncordon(node)
            failures = 0 if done else failures + 1
            if failures > _FAILURES and node not in self._cordon:
                break
        self._uncordon(*(node for node in self._closed if node not in replaced))
        if self._catalog is not None:
            self._replace(self._catalog)
        if self._conditions.failing is not None:
            self._take_back_until_failures_are_survived(self._conditions.failing)
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
        if isinstance(found, StayingNode):
            self._why.setdefault(removal.node, found)
            return False
        self._events.append(found)
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
        taken = set(self._world.cluster.nodes.names)
        number = 1
        while f"{base}-{number}" in taken:
            number += 1
        return f"{base}-{number}"

    def _take_back_until_failures_are_survived(self, failing: NodeFailures) -> None:
        """Undo the last steps until every pod has a place after any of the failures. A failure that took back a step is
        tried first after that."""
        last: NodeFailure | None = None
        while self._steps:
            self._uncordon(*self._closed)
            nodes = self._world.cluster.nodes
            again = [last] if last is not None and set(last.nodes) <= set(nodes.names) else []
            last, pod = self._world.failure_without_place(chain(again, failing.of(nodes.objects)))
            if last is None:
                return
            step = self._steps[-1]
            # With the step goes what came after it.
            del self._events[self._events.index(step) :]
            self._world.take_back()
            why = f"{pod} would have no place if {last.title} failed"
            self._why[step.node] = StayingNode(step.node, why)

    def _unmet(self) -> str:
        """What contradicts the conditions in the cluster as it is. A step that contradicted them would not be one."""
        conditions, nodes = self._conditions, self._world.cluster.nodes
        if self._steps:
            return ""
        if not conditions.leaves_headroom(self._world.cluster):
            return "too little headroom is left"
        if conditions.failing is not None:
            failure, pod = self._world.failure_without_place(conditions.failing.of(nodes.objects))
            return f"{pod} has no place if {failure.title} fails" if failure is not None else ""
        return ""

    def result(self, run: Run, bound: Decimal, time_limit: float, before: NodeColumns) -> Consolidation:
        gone = {step.node for step in self._steps}
        replaced = sum(1 for step in self._steps if step.shape)
        nodes = len(run.source.loaded.of(Node))
        cost = self.cost
        ended: ConsolidationEnd = "optimal" if cost <= bound else "time" if self._late else "local"
        steps, last = _with_uncordons(self._events)
        # Without a step there is nothing to cordon nodes for.
        cordon, last = (self._cordon, last) if steps else ((), ())
        kept = (each for node, each in self._why.items() if node not in gone)
        seconds = self._clock.seconds
        return Consolidation(
            cost_before=without_zeros(self._candidates.cost),
            cost_after=without_zeros(cost),
            saving=without_zeros(self._candidates.cost - cost),
            lower_bound=without_zeros(min(bound, cost)),
            gap=gap_of(cost, min(bound, cost)),
            unit=self._catalog.unit if self._catalog else "nodes",
            nodes_before=nodes,
            nodes_after=nodes - len(self._steps) + replaced,
            cordon=cordon,
            steps=steps,
            uncordon=last,
            kept=tuple(sorted(kept, key=lambda each: each.node)),
            conditions=self._conditions.texts,
            unmet=self._unmet(),
            search=DrainSearch(ended, round(seconds, 3), time_limit, self._world.tried),
            coverage=run.coverage,
            stats=run.stats(len(gone), seconds),
            node_table=NodeChanges(before, NodeColumns.of(self._world.cluster)),
            warnings=run.source.warnings,
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


# The share of the time limit for the first search; the rest is for steps without needless cordons.
_FIRST = 0.8

# A search in a new world, which may remove these nodes only.
NewSearch = Callable[[tuple[str, ...]], ConsolidationSearch]


def consolidate_input(
    source: LoadedInput, catalog: ShapeCatalog | None, flags: Flags, conditions: Conditions, *, time_limit: float
) -> Consolidation:
    """Drain and delete nodes in a world as long as it is safe. Every command of the result was carried out there."""
    source.refuse_rollouts()
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

    first = ConsolidationSearch(world, candidates, catalog, conditions, Deadline(_FIRST * time_limit))
    setup = clock.seconds
    first.run(bound, hoped_for(candidates, bound))
    found = _without_needless_cordons(first, search, bound, clock, setup, time_limit)
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
    first: ConsolidationSearch, search: NewSearch, bound: Decimal, clock: Deadline, setup: float, time_limit: float
) -> ConsolidationSearch:
    """The first search, or one that saves as much and in which every node that is cordoned goes: its steps hold without
    other cordons."""
    found = first
    for_a_node = (clock.seconds - setup) / max(1, first.tried)
    # Only the nodes that went are tried again. Twice the time that they took is room enough.
    while found.cordons_in_vain and clock.seconds + setup + 2 * for_a_node * len(found.gone) < time_limit:
        gone, replaced = found.gone, found.replaced
        found = search(gone)
        found.run(bound, gone, replaced)
    return first if found.cordons_in_vain or found.cost > first.cost else found.after(first)


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
