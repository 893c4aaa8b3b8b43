"""Replay the world before. At the cycle of each pod in question the rules after decide in the same state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count

from ksched_cli.plan.causes.comparison import deciders
from ksched_cli.plan.causes.decisions import PodDecisions
from ksched_cli.plan.causes.results import Decider
from ksched_cli.plan.causes.way import Way
from ksched_cli.sources.loaded import Loaded
from ksched_cli.world.followers import ChangeLog, FollowingScheduler
from ksched_cli.world.world import World


@dataclass
class PodTrace:
    """What decides otherwise at the first cycle of the pod where something does, and where to: None if one side does
    not try the pod. `cycles` are the numbers of the pod's first cycle and of this one, or of its last."""

    deciders: tuple[Decider, ...] = ()
    destination: str | None = None
    cycles: tuple[int, ...] = ()


Traces = defaultdict[str, PodTrace]


def trace(way: Way, loaded: Loaded, pods: Collection[str], places: Mapping[str, str] | None = None) -> Traces:
    """Run the world of the first rule set until rest, and compare the two ends of the way for these pods. `places` has
    the node of each pod or an empty string: deciders count only if they send the pod there."""
    traces, numbers = Traces(PodTrace), count()

    @cache
    def follower(rule_set: int) -> FollowingScheduler:
        own = way.rule_sets[rule_set]
        return FollowingScheduler(log, own.make(loaded) if rule_set else world.scheduler, own.stored)

    def compare(row: int) -> None:
        name = world.cluster.pods.infos[row].key
        if name in pods and not traces[name].deciders:
            pod = PodDecisions(way, follower, row)
            found = deciders(pod)
            destination = pod.destination if found and found[0].nodes else None
            if destination is None or places is None or destination == places[name]:
                traces[name].deciders, traces[name].destination = found, destination

    def trying(rows: Sequence[int]) -> None:
        for row in rows:
            traced, number = traces[world.cluster.pods.infos[row].key], next(numbers)
            if not traced.deciders:
                traced.cycles = (traced.cycles or (number,))[0], number
            compare(row)

    world = World(way.rule_sets[0].make(loaded), loaded, trying=trying)
    log = ChangeLog(world)
    world.run()
    return traces
