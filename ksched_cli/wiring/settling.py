"""A prepared scheduler, left to itself until nothing moves."""

from __future__ import annotations

import time
from dataclasses import replace

from ksched_cli.engine.queue import pending
from ksched_cli.plan.results import GatedPod, IgnoredPod, Simulation
from ksched_cli.plan.settle import Limits, settle
from ksched_cli.plan.settlement import Settlement
from ksched_cli.wiring import Prepared


def settle_prepared(
    prepared: Prepared, limits: Limits, *, detail: bool = False, top: int = 3
) -> tuple[Simulation, Settlement]:
    """What settling came to, and every pod's last cycle as a simulation tells it."""
    started = time.perf_counter()
    scheduler = prepared.scheduler
    infos = scheduler.cluster.pods.infos
    others = [infos[row] for row in pending(scheduler.cluster)]
    ignored = sorted(
        (
            IgnoredPod(info.key, info.pod.spec.scheduler_name)
            for info in others
            if info.pod.spec.scheduler_name not in scheduler.runtimes and prepared.wanted(info.pod)
        ),
        key=lambda each: each.pod,
    )
    found = settle(scheduler, limits, prepared.telling(detail=detail, top=top))
    stats = prepared.stats(found.cycles, time.perf_counter() - started)
    simulation = Simulation(
        found.outcomes,
        tuple(GatedPod(each.pod, each.gated_by, (each.message,)) for each in found.final if each.state == "gated"),
        tuple(ignored),
        prepared.coverage,
        # How many pods there were, not how often they were tried.
        replace(stats, pods=len(found.outcomes)),
        prepared.warnings,
        prepared.refused,
        found.pod_groups,
    )
    return simulation, found
