"""The pods of a comparison, each with the cause of its change."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace as replace_fields

from msgspec.structs import replace

from ksched_cli.plan.causes.results import Cause, Tally
from ksched_cli.plan.causes.trace import PodTrace, Traces, trace
from ksched_cli.plan.causes.way import Way
from ksched_cli.plan.diff import Diff, PodChange, Side
from ksched_cli.sources.loaded import Loaded


def with_causes(found: Diff, everything: Diff, way: Way, loaded: Loaded, before: Side, after: Side) -> Diff:
    """`everything` also has the changes of pods that the result leaves out. Both sides began with `loaded`."""
    changes = found.changes
    if changes:
        evictors = _evictors(before), _evictors(after)
        pods = {name for change in changes for name in change.pods}
        forth = trace(way, loaded, pods.union(*(each.values() for each in evictors)))
        left = {
            change.after.pod: change.before.node
            for change in changes
            if change.before and change.after and not forth[change.before.pod].deciders
        }
        # Some rules only decide otherwise in the state after, once other pods have moved or hold other devices.
        back = trace(way.back, loaded, left, left) if left else Traces(PodTrace)
        assigned = _Assignment(everything, forth, back, evictors)
        changes = tuple(replace(each, cause=assigned.cause(each)) for each in changes)
    return replace_fields(found, changes=changes, rules=_tallies(changes, way))


def _tallies(changes: Sequence[PodChange], way: Way) -> tuple[Tally, ...]:
    """Every rule that changed, with how many of these pods it moved, most first."""
    causes = [change.cause for change in changes if change.cause is not None]
    moved = Counter(rule for cause in causes for rule in {rule for each in cause.deciders for rule in each.rules})
    # A gate that was on for some minors in between has rules that are the same at both ends.
    tallies = [Tally(rule, moved[rule]) for rule in dict.fromkeys((*way.rules, *moved))]
    return tuple(sorted(tallies, key=lambda each: -each.pods))


def _evictors(side: Side) -> Mapping[str, str]:
    """By victim the pod that evicts it."""
    found = ((outcome.pod, outcome.preemption) for outcome in side.settlement.preempting)
    return {victim: pod for pod, preemption in found if preemption is not None for victim in preemption.victims}


class _Assignment:
    def __init__(self, everything: Diff, forth: Traces, back: Traces, evictors: Sequence[Mapping[str, str]]) -> None:
        self._forth, self._back, self._evictors = forth, back, evictors
        # In each trace the changes by the first cycle that had to do with them.
        self._in_order = [(each, self._by_first_cycle(everything.changes, each)) for each in (forth, back)]

    def _by_first_cycle(self, changes: Sequence[PodChange], traces: Traces) -> list[tuple[int, PodChange]]:
        cycles = ((self._cycles(each, traces), each) for each in changes)
        return sorted(((min(own), each) for own, each in cycles if own), key=lambda each: (each[0], each[1].pods))

    def cause(self, change: PodChange) -> Cause:
        for traced in (self._forth[name] for name in change.pods):
            if traced.deciders:
                there = change.after.node if change.after else ""
                alone = None if traced.destination == there else traced.destination
                return Cause("rule", traced.deciders, alone=alone)
        # The pod is evicted on one side only; on the other it is still there by its name.
        before, after = self._evictors
        was, now = (side.pod if side else "" for side in (change.before, change.after))
        if was in after and was not in before:
            return Cause("preemption", self._forth[after[was]].deciders, after[was], "after")
        if now in before and now not in after:
            return Cause("preemption", self._forth[before[now]].deciders, before[now], "before")
        ahead = self._ahead(change)
        for traced in (self._back[name] for name in change.pods):
            # The pod would have stayed without the rule, and it would have stayed without the pods that moved.
            if traced.deciders:
                return Cause("rule", tuple(each.back for each in traced.deciders), pods=ahead)
        return Cause("others", pods=ahead)

    def _ahead(self, change: PodChange) -> tuple[str, ...]:
        """The pods that moved before this pod's last cycle; only those that left or took one of its nodes, if any."""
        ahead: list[PodChange] = []
        for traces, in_order in self._in_order:
            last = max(self._cycles(change, traces), default=0)
            earlier = in_order[: bisect_left(in_order, last, key=lambda each: each[0])]
            ahead += (other for _, other in earlier if not self._involved(other).intersection(change.pods))
        near = [each for each in ahead if not each.nodes.isdisjoint(change.nodes)]
        return tuple(dict.fromkeys(each.pods[0] for each in near or ahead))

    def _cycles(self, change: PodChange, traces: Traces) -> list[int]:
        return [cycle for name in self._involved(change) if name in traces for cycle in traces[name].cycles]

    def _involved(self, change: PodChange) -> set[str]:
        """The pod and the pods that evicted it."""
        evictors = (evicted[name] for name in change.pods for evicted in self._evictors if name in evicted)
        return {*change.pods, *evictors}
