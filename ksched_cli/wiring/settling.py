"""A cluster left to itself until nothing moves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import BinaryIO

from ksched_cli.engine.queueing.pending import pending
from ksched_cli.plan.results import GatedPod, IgnoredPod, Simulation, refused_pods
from ksched_cli.plan.settle_world import SettleResult, SettleWorld
from ksched_cli.whatif.changes import Changes, refused_by
from ksched_cli.wiring import LoadedInput, Prepared, RunOptions, assemble
from ksched_cli.wiring.emptiness import check_not_empty
from ksched_cli.wiring.reading import read_unchanged
from ksched_cli.world.results import Limits
from ksched_cli.world.world import World


def settle_cluster(
    setup: RunOptions, limits: Limits, stdin: BinaryIO | None = None, *, detail: bool = False, top: int = 3
) -> tuple[Simulation, SettleResult]:
    """The last cycle of every pod, and what the world came to."""
    _, simulation, settlement = settle_world(setup, limits, stdin, detail=detail, top=top)
    return simulation, settlement


def settle_world(
    setup: RunOptions, limits: Limits, stdin: BinaryIO | None = None, *, detail: bool = False, top: int = 3
) -> tuple[World, Simulation, SettleResult]:
    """The manifests and edits of the setup are the changes of a world, which then runs until nothing moves."""
    gathered, changes = read_unchanged(setup, stdin)
    check_not_empty(setup, gathered.loaded, changes.manifests)
    return settle_gathered(setup, gathered, [changes], limits, detail=detail, top=top)


def settle_gathered(
    setup: RunOptions, gathered: LoadedInput, changes: Sequence[Changes], limits: Limits, *, detail: bool, top: int
) -> tuple[World, Simulation, SettleResult]:
    """All changes are made at the beginning."""
    prepared = assemble(setup, gathered)
    started = time.perf_counter()
    settling = SettleWorld(prepared.scheduler, prepared.output_options(detail=detail, top=top), gathered.loaded)
    world = settling.world
    for change in changes:
        world.apply(change)
    found = settling.settlement(world.result(world.run(limits)))
    stats = prepared.stats(len(found.outcomes), time.perf_counter() - started)
    coverage = prepared.coverage
    gaps = [gap for change in changes if change for gap in change.gaps(world.plane)]
    if gaps:
        coverage["admissionNotModelled"] = list(dict.fromkeys([*coverage.get("admissionNotModelled", []), *gaps]))
    simulation = Simulation(
        found.outcomes,
        tuple(
            GatedPod(each.pod, each.gated_by, (each.message,)) for each in found.world.final if each.state == "gated"
        ),
        tuple(_ignored(prepared)),
        coverage,
        stats,
        (*prepared.warnings, *world.plane.warnings, *world.plane.blocked_evictions()),
        (*prepared.refused, *refused_pods(refused_by(world.plane))),
        found.pod_groups,
    )
    return world, simulation, found


def _ignored(prepared: Prepared) -> list[IgnoredPod]:
    scheduler = prepared.scheduler
    infos = [scheduler.cluster.pods.infos[row] for row in pending(scheduler.cluster)]
    found = [
        IgnoredPod(info.key, info.pod.spec.scheduler_name)
        for info in infos
        if info.pod.spec.scheduler_name not in scheduler.runtimes and prepared.wanted(info.pod)
    ]
    return sorted(found, key=lambda each: each.pod)
