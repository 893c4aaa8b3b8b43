"""The pods of a comparison, each with the cause of its change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ksched_cli.plan.causes.results import Cause, Tally
from ksched_cli.plan.causes.trace import Trace, trace
from ksched_cli.plan.causes.way import Way
from ksched_cli.plan.diff import Diff, PodChange, Side
from ksched_cli.plan.settle_world import SettleResult
from ksched_cli.sources.loaded import Loaded

# Victims and the pods that evicted them, before and after.
Evictions = tuple[Mapping[str, str], Mapping[str, str]]


def with_causes(found: Diff, everything: Diff, way: Way, loaded: Loaded, before: Side, after: Side) -> Diff:
    """`everything` also has the changes of pods that the result leaves out. Both sides began with `loaded`."""
    if not found.changes:
        return replace(found, rules=_tallies((), way))
    evictions = _evictions(before.settlement), _evictions(after.settlement)
    preemptors = {*evictions[0].values(), *evictions[1].values()}
    forth = trace(way, loaded, {name for change in found.changes for name in _names(change)} | preemptors)
    left = {
        change.after.pod: change.before.node
        for change in found.changes
        if change.before is not None and change.after is not None and change.before.pod not in forth.deciders
    }
    # Some rules only decide otherwise in the state after, once other pods have moved or hold other devices.
    back = trace(way.back, loaded, left, left).turned() if left else Trace()
    assigned = _Assignment(everything, forth, back, evictions)
    changes = tuple(replace(each, cause=assigned.cause(each)) for each in found.changes)
    return replace(found, changes=changes, rules=_tallies(changes, way))


def _tallies(changes: Sequence[PodChange], way: Way) -> tuple[Tally, ...]:
    """Every rule that changed, with how many of these pods it moved, most first."""
    causes = [change.cause for change in changes if change.cause is not None]
    moved = Counter(rule for cause in causes for rule in {rule for each in cause.deciders for rule in each.rules})
    # A gate that was on for some minors in between has rules that are the same at both ends.
    tallies = [Tally(rule, moved[rule]) for rule in dict.fromkeys((*way.rules, *moved))]
    return tuple(sorted(tallies, key=lambda each: -each.pods))


def _evictions(settlement: SettleResult) -> Mapping[str, str]:
    return {
        victim: outcome.pod
        for outcome in settlement.preempting
        if outcome.preemption is not None
        for victim in outcome.preemption.victims
    }


class _Assignment:
    def __init__(self, found: Diff, forth: Trace, back: Trace, evictions: Evictions) -> None:
        self._forth, self._back = forth, back
        self._evictions = evictions
        # The changes by the first cycle that had to do with them, in each trace.
        self._by_cycle = [(each, self._in_order(found.changes, each)) for each in (forth, back)]

    def _in_order(self, changes: Sequence[PodChange], traced: Trace) -> list[tuple[int, PodChange]]:
        cycles = [(min(self._cycles(each, traced), default=-1), each) for each in changes]
        return sorted((each for each in cycles if each[0] >= 0), key=lambda each: (each[0], _names(each[1])))

    def cause(self, change: PodChange) -> Cause:
        return (
            self._by_rule(change, self._forth)
            or self._by_preemption(change)
            or self._by_both(change)
            or Cause("others", pods=self._ahead(change))
        )

    def _by_rule(self, change: PodChange, traced: Trace) -> Cause | None:
        there = change.after.node if change.after is not None else ""
        for name in _names(change):
            if name in traced.deciders:
                destination = traced.destinations.get(name, there)
                return Cause("rule", traced.deciders[name], alone=None if destination == there else destination)
        return None

    def _by_both(self, change: PodChange) -> Cause | None:
        """The pod would have stayed without the rule, and it would have stayed without the pods that moved."""
        cause = self._by_rule(change, self._back)
        return None if cause is None else replace(cause, pods=self._ahead(change))

    def _by_preemption(self, change: PodChange) -> Cause | None:
        """The pod is evicted on one side only; on the other it is still there by its name."""
        before, after = self._evictions
        was = change.before.pod if change.before is not None else ""
        now = change.after.pod if change.after is not None else ""
        if was in after and was not in before:
            return Cause("preemption", self._forth.deciders.get(after[was], ()), after[was], "after")
        if now in before and now not in after:
            return Cause("preemption", self._forth.deciders.get(before[now], ()), before[now], "before")
        return None

    def _ahead(self, change: PodChange) -> tuple[str, ...]:
        """The pods that moved before this pod's last cycle, those that left or took one of its nodes if there are."""
        ahead = [other for traced, order in self._by_cycle for other in self._until(change, traced, order)]
        near = [each for each in ahead if _nodes(each) & _nodes(change)]
        return tuple(dict.fromkeys(_names(each)[0] for each in near or ahead))

    def _until(self, change: PodChange, traced: Trace, order: Sequence[tuple[int, PodChange]]) -> Iterator[PodChange]:
        last, names = max(self._cycles(change, traced), default=0), set(_names(change))
        for first, other in order:
            if first >= last:
                return
            if not {*_names(other), *self._evictors(other)} & names:
                yield other

    def _cycles(self, change: PodChange, traced: Trace) -> list[int]:
        """The cycles of the pod and of the pods that evicted it."""
        names = (*_names(change), *self._evictors(change))
        return [cycle for name in names for cycle in traced.cycles.get(name, ())]

    def _evictors(self, change: PodChange) -> set[str]:
        return {evicted[name] for name in _names(change) for evicted in self._evictions if name in evicted}


def _names(change: PodChange) -> tuple[str, ...]:
    """The pod before, and its successor after."""
    return tuple(dict.fromkeys(side.pod for side in (change.before, change.after) if side is not None))


def _nodes(change: PodChange) -> frozenset[str]:
    return frozenset(side.node for side in (change.before, change.after) if side is not None and side.node)
