"""The pods of a comparison, each with the cause of its change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ksched_cli.plan.causes.lockstep import Traced, trace
from ksched_cli.plan.causes.results import Cause, Tally
from ksched_cli.plan.causes.stations import Route
from ksched_cli.plan.diff import Diff, PodChange, Side
from ksched_cli.plan.settle import SettleResult
from ksched_cli.sources.loaded import Loaded


def with_causes(found: Diff, everything: Diff, route: Route, loaded: Loaded, before: Side, after: Side) -> Diff:
    """`everything` has also the changes that are not told of; `loaded` is what both sides began with."""
    if not found.changes:
        return replace(found, rules=_tallies((), route))
    evictions = _evictions(before.settlement), _evictions(after.settlement)
    preemptors = {*evictions[0].values(), *evictions[1].values()}
    names = {side.pod for change in found.changes for side in (change.before, change.after) if side is not None}
    forth = trace(route, loaded, names | preemptors)
    left = {
        change.after.pod: change.before.node
        for change in found.changes
        if change.before is not None and change.after is not None and change.before.pod not in forth.deciders
    }
    # For some it takes the state after to see a rule at work: others have moved, or hold other things where they are,
    # such as devices.
    back = trace(route.back, loaded, left, left).turned() if left else Traced()
    assigned = _Assignment(everything, forth, back, evictions)
    changes = tuple(replace(each, cause=assigned.cause(each)) for each in found.changes)
    return replace(found, changes=changes, rules=_tallies(changes, route))


def _tallies(changes: Sequence[PodChange], route: Route) -> tuple[Tally, ...]:
    """Every rule that changed, with how many of these pods it moved, most first."""
    causes = [change.cause for change in changes if change.cause is not None]
    moved = Counter(rule for cause in causes for rule in {rule for each in cause.deciders for rule in each.rules})
    # A gate that was on in between only has a rule that moved nothing from end to end.
    told = [Tally(rule, moved[rule]) for rule in dict.fromkeys((*route.rules, *moved))]
    return tuple(sorted(told, key=lambda each: -each.pods))


def _evictions(settlement: SettleResult) -> Mapping[str, str]:
    """Victims, and for whom they left."""
    return {
        victim: outcome.pod
        for outcome in settlement.preempting
        if outcome.preemption is not None
        for victim in outcome.preemption.victims
    }


# Victims and for whom they left, before and after.
Evictions = tuple[Mapping[str, str], Mapping[str, str]]


class _Assignment:
    def __init__(self, found: Diff, forth: Traced, back: Traced, evictions: Evictions) -> None:
        self._forth = forth
        self._back = back
        self._evictions = evictions
        self._turns = [_Turns(found, each, evictions) for each in (forth, back)]

    def cause(self, change: PodChange) -> Cause:
        return (
            self._by_rule(change, self._forth)
            or self._by_preemption(change)
            or self._by_both(change)
            or Cause("others", pods=self._ahead(change))
        )

    def _by_rule(self, change: PodChange, traced: Traced) -> Cause | None:
        there = change.after.node if change.after is not None else ""
        for name in sorted(_names(change)):
            if name in traced.deciders:
                destination = traced.destinations.get(name, there)
                return Cause("rule", traced.deciders[name], alone=None if destination == there else destination)
        return None

    def _by_both(self, change: PodChange) -> Cause | None:
        """A rule that would not have moved it, had the others stayed, and without which the others would not have."""
        cause = self._by_rule(change, self._back)
        return None if cause is None else replace(cause, pods=self._ahead(change))

    def _by_preemption(self, change: PodChange) -> Cause | None:
        """Evicted on one side only; on the other it is still there by its name."""
        before, after = self._evictions
        was = change.before.pod if change.before is not None else ""
        now = change.after.pod if change.after is not None else ""
        if was in after and was not in before:
            return Cause("preemption", self._forth.deciders.get(after[was], ()), after[was], "after")
        if now in before and now not in after:
            return Cause("preemption", self._forth.deciders.get(before[now], ()), before[now], "before")
        return None

    def _ahead(self, change: PodChange) -> tuple[str, ...]:
        """Of the pods whose turn came before this one's last, those that have to do with one of its nodes, if any."""
        near = [name for each in self._turns for name in each.ahead(change, _nodes(change))]
        anywhere = [name for each in self._turns for name in each.ahead(change)]
        return tuple(dict.fromkeys(near or anywhere))


class _Turns:
    """When it was decided about the pods that are elsewhere, or about who evicted them, as one side has it."""

    def __init__(self, found: Diff, traced: Traced, evictions: Evictions) -> None:
        self._traced = traced
        self._evictions = evictions
        due = [(min(turns), change) for change in found.changes if (turns := self._turns(change))]
        self._due = [change for _, change in sorted(due, key=lambda each: (each[0], _name(each[1])))]

    def _turns(self, change: PodChange) -> list[int]:
        concerned = (*_names(change), *self._evictors(change))
        return [turn for each in concerned for turn in self._traced.turns.get(each, ())]

    def _evictors(self, change: PodChange) -> set[str]:
        return {evicted[name] for name in _names(change) for evicted in self._evictions if name in evicted}

    def ahead(self, change: PodChange, nodes: frozenset[str] | None = None) -> Iterator[str]:
        last, names = max(self._turns(change), default=0), _names(change)
        for other in self._due:
            if min(self._turns(other)) >= last:
                return
            its_own = _names(other) & names or self._evictors(other) & names
            if not its_own and (nodes is None or nodes & _nodes(other)):
                yield _name(other)


def _name(change: PodChange) -> str:
    either = change.before or change.after
    assert either is not None
    return either.pod


def _names(change: PodChange) -> set[str]:
    return {side.pod for side in (change.before, change.after) if side is not None}


def _nodes(change: PodChange) -> frozenset[str]:
    return frozenset(side.node for side in (change.before, change.after) if side is not None and side.node)
