"""`simulate --settle`: the world runs until nothing moves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.plan.coverage import with_job_gaps
from ksched_cli.plan.kept_outcomes import KeptOutcomes
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.prepared import PreparedRun
from ksched_cli.plan.results import GatedPod, Simulation, refused_pods
from ksched_cli.plan.settle_result import SettledSimulation, ignored_pods
from ksched_cli.plan.settle_world import SettleWorld
from ksched_cli.whatif.changes import Changes, refused_by
from ksched_cli.world.results import Limits


def _apply_all(changes: Sequence[Changes], plane: ControlPlane) -> None:
    for change in changes:
        change(plane)


def settle_input(
    source: LoadedInput, changes: Sequence[Changes], limits: Limits, *, detail: bool = False, top: int = 0
) -> SettledSimulation:
    """All changes are applied at the beginning."""
    prepared = PreparedRun.of(source)
    started = time.perf_counter()
    kept = KeptOutcomes(prepared.scheduler.cluster, prepared.output_options(detail=detail, top=top))
    settling = SettleWorld(kept, prepared.scheduler, source.loaded)
    world = settling.world
    found = settling.settlement(settling.run(partial(_apply_all, changes), limits))
    stats = prepared.stats(len(found.outcomes), time.perf_counter() - started)
    coverage = with_job_gaps(prepared.coverage, *(change.manifests for change in changes))
    others = world.plane.store.others_as_loaded()
    gaps = [gap for change in changes if change for gap in change.gaps(others)]
    if gaps:
        coverage["admissionNotModelled"] = list(dict.fromkeys([*coverage.get("admissionNotModelled", []), *gaps]))
    gated = (each for each in found.world.final if each.state == "gated")
    simulation = Simulation(
        found.outcomes,
        tuple(GatedPod(each.pod, each.gated_by, (each.message,)) for each in gated),
        tuple(ignored_pods(prepared)),
        coverage,
        stats,
        (*source.warnings, *world.plane.warnings, *world.plane.blocked_evictions()),
        (*source.refused, *refused_pods(refused_by(world.plane))),
        found.pod_groups,
        nodes=prepared.node_changes(),
    )
    return SettledSimulation.of(found.world, simulation)
