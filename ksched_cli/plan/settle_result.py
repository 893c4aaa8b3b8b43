"""The result of a world that came to rest."""

from __future__ import annotations

from msgspec import structs

from ksched_cli.engine.queueing.pending import pending
from ksched_cli.plan.displayed import Displayed
from ksched_cli.plan.prepared import PreparedRun
from ksched_cli.plan.results import IgnoredPod, Simulation
from ksched_cli.world.results import WorldResult


class SettledSimulation(Displayed, WorldResult, frozen=True, kw_only=True):
    """The end of the world, with the last cycle of every pod."""

    simulation: Simulation

    @classmethod
    def of(cls, world: WorldResult, simulation: Simulation) -> SettledSimulation:
        return cls(**structs.asdict(world), simulation=simulation)


def ignored_pods(prepared: PreparedRun) -> list[IgnoredPod]:
    scheduler = prepared.scheduler
    infos = [scheduler.cluster.pods.infos[row] for row in pending(scheduler.cluster)]
    found = [
        IgnoredPod(info.key, info.pod.spec.scheduler_name)
        for info in infos
        if info.pod.spec.scheduler_name not in scheduler.runtimes and prepared.source.wanted(info.pod)
    ]
    return sorted(found, key=lambda each: each.pod)
