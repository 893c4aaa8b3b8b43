"""Replay the world before. At the cycle of each pod in question the rules after decide in the same state."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.plan.causes.comparison import deciders
from ksched_cli.plan.causes.question import Question, RuleSetSchedulers
from ksched_cli.plan.causes.results import Decider
from ksched_cli.plan.causes.way import Way
from ksched_cli.sources.loaded import Loaded
from ksched_cli.world.world import World

# The node of each pod, or an empty string.
Places = Mapping[str, str]


@dataclass
class Trace:
    """By pod: what decides otherwise at the first cycle where something does, where to, and the numbers of the pod's
    first cycle and of this one, or of its last."""

    deciders: dict[str, tuple[Decider, ...]] = field(default_factory=dict)
    destinations: dict[str, str] = field(default_factory=dict)
    cycles: dict[str, tuple[int, int]] = field(default_factory=dict)

    def turned(self) -> Trace:
        """A trace of the way back, read in the other direction. Destinations do not carry over."""
        deciders = {pod: tuple(each.back for each in own) for pod, own in self.deciders.items()}
        return Trace(deciders, cycles=self.cycles)


def trace(way: Way, loaded: Loaded, pods: Collection[str], places: Places | None = None) -> Trace:
    """Run the world of the first rule set until rest. With `places` a decider counts only if it sends the pod there."""
    return _Tracing(way, loaded, pods, places).run()


class _Tracing:
    def __init__(self, way: Way, loaded: Loaded, pods: Collection[str], places: Places | None) -> None:
        self._pods, self._places = pods, places
        self._trace = Trace()
        self._cycles = 0
        self._world = World(way.rule_sets[0].make(loaded), loaded, trying=self._trying)
        self._schedulers = RuleSetSchedulers(way, loaded, self._world)

    def run(self) -> Trace:
        self._world.run()
        cluster = self._world.cluster
        for row, info in enumerate(cluster.pods.infos):
            if self._is_open(info.key) and row not in cluster.pods.gone and cluster.pods.node_row[row] == NOWHERE:
                self._ask(row)
        return self._trace

    def _trying(self, rows: Sequence[int]) -> None:
        for row in rows:
            name, found = self._world.cluster.pods.infos[row].key, self._trace
            self._cycles += 1
            if name not in found.deciders:
                found.cycles[name] = found.cycles.get(name, (self._cycles, 0))[0], self._cycles
            if self._is_open(name):
                self._ask(row)

    def _is_open(self, name: str) -> bool:
        return name in self._pods and name not in self._trace.deciders

    def _ask(self, row: int) -> None:
        question = Question(self._schedulers, row)
        found, name = deciders(question), question.pod_name(row)
        if not found:
            return
        tried = found[0].aspect not in ("queue", "search") or bool(found[0].nodes)
        if tried and self._places is not None and question.destination != self._places[name]:
            return
        self._trace.deciders[name] = found
        if tried:
            self._trace.destinations[name] = question.destination
