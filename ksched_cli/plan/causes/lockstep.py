"""The side before once more, and of each pod of interest what the rules after would have done in its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ksched_cli.engine.scheduler import Turn
from ksched_cli.framework.pod_groups import group_of
from ksched_cli.plan.causes.carrying import carried_out
from ksched_cli.plan.causes.comparison import deciders, where_it_changes
from ksched_cli.plan.causes.results import Decider
from ksched_cli.plan.causes.stage import Stage
from ksched_cli.plan.causes.stations import Route
from ksched_cli.plan.results import PodOutcome
from ksched_cli.plan.rule_changes import Aspect
from ksched_cli.plan.simulate import outcome_of
from ksched_cli.sources.loaded import Loaded

# The node of each pod, or an empty string.
Places = Mapping[str, str]

# Victims have a lower priority than their preemptor, so that the stages end well before.
_MOST_STAGES = 100
_HOLDING: frozenset[Aspect] = frozenset({"queue", "fields"})
_SEARCHING: frozenset[Aspect] = frozenset({"search"})


@dataclass
class Traced:
    """By pod: what decided otherwise at the first cycle where something did, where to, and the first and the last turn
    that it had."""

    deciders: dict[str, tuple[Decider, ...]] = field(default_factory=dict)
    destinations: dict[str, str] = field(default_factory=dict)
    turns: dict[str, tuple[int, int]] = field(default_factory=dict)
    cycles: int = 0

    def turned(self) -> Traced:
        """What was found on the way back, as it is said of the way forth. Where pods would go is another question."""
        deciders = {pod: tuple(each.back for each in own) for pod, own in self.deciders.items()}
        return Traced(deciders, turns=self.turns)

    def count(self, pod: str) -> None:
        """It is the pod's turn."""
        first, _ = self.turns.get(pod, (self.cycles, 0))
        self.turns[pod] = first, self.cycles
        self.cycles += 1


def trace(route: Route, loaded: Loaded, interesting: Collection[str], place: Places | None = None) -> Traced:
    """One stage after the other, as long as preemption makes room. With `place` only what sends a pod there counts."""
    traced = Traced()
    for _ in range(_MOST_STAGES):
        stage = Stage(route, loaded)
        outcomes = _Round(stage, interesting, traced, place).run()
        if not any(outcome.preemption and outcome.preemption.victims for outcome in outcomes):
            break
        loaded = carried_out(loaded, stage.leader, outcomes)
    return traced


class _Round:
    def __init__(self, stage: Stage, interesting: Collection[str], traced: Traced, place: Places | None) -> None:
        self._stage = stage
        self._place = place
        self._interesting = interesting
        self._traced = traced
        self._queues = stage.leader.enqueue(), stage.at(stage.route.last).follower.enqueue()

    def run(self) -> list[PodOutcome]:
        """The outcomes of the first station."""
        for row in {row for queue in self._queues for row in (*queue.gated, *queue.ignored)}:
            self._note(row, self._held_back(row))
        leader, outcomes = self._stage.leader, []
        for turn in leader.turns(self._queues[0]):
            for row in turn.rows:
                self._traced.count(self._name(row))
                self._note(row, self._decided(turn, row) if self._is_open(row) else ())
            outcomes += [outcome_of(each, leader.cluster, detail=False, top=0) for each in leader.take(turn)]
        return outcomes

    def _name(self, row: int) -> str:
        return self._stage.leader.cluster.pods.infos[row].key

    def _is_open(self, row: int) -> bool:
        """Whether it is still to be told what decides about the pod."""
        name = self._name(row)
        return name in self._interesting and name not in self._traced.deciders

    def _note(self, row: int, found: tuple[Decider, ...]) -> None:
        if found and self._is_open(row):
            self._traced.deciders[self._name(row)] = found

    def _held_back(self, row: int) -> tuple[Decider, ...]:
        """A pod that one of the sides does not try."""
        before, after = self._queues
        if (row in before.ignored) != (row in after.ignored):
            return (Decider("", "queue", configuration=True),)
        if (row in before.gated) == (row in after.gated):
            return ()
        plugin = (before.gated.get(row) or after.gated[row]).plugin
        spans = self._stage.route.spans((plugin,), _HOLDING)
        span = where_it_changes(spans, lambda station: row in self._stage.at(station).follower.enqueue([row]).gated)
        return (Decider(plugin, "queue", span.rules, configuration=span.configuration),)

    def _grouped(self) -> Decider:
        """Groups have a cycle on one side only."""
        spans = self._stage.route.spans(("",), _SEARCHING)
        span = where_it_changes(spans, lambda station: self._stage.at(station).follower.schedules_groups)
        return Decider("", "search", span.rules, configuration=span.configuration)

    def _decided(self, turn: Turn, row: int) -> tuple[Decider, ...]:
        after = self._queues[1]
        if row in after.gated or row in after.ignored or row in after.failed:
            return ()
        others, leader = self._stage.at(self._stage.route.last).follower, self._stage.leader
        if group_of(leader.cluster.pods.infos[row]) and (leader.schedules_groups or others.schedules_groups):
            # What becomes of a pod that shares a cycle with others cannot be asked of it alone.
            return () if leader.schedules_groups == others.schedules_groups else (self._grouped(),)
        situation = self._stage.situation(row)
        if self._place is not None and situation.destination != self._place[self._name(row)]:
            return ()
        found = deciders(situation)
        if found:
            self._traced.destinations[self._name(row)] = situation.destination
        return found
