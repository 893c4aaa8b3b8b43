"""`simulate --settle`: the world runs until nothing moves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.coverage import with_job_gaps
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.orders.chance import in_orders
from ksched_cli.plan.prepared import PreparedRun
from ksched_cli.plan.results import GatedPod, Simulation, refused_pods
from ksched_cli.plan.settle_result import SettledSimulation, ignored_pods
from ksched_cli.plan.settle_world import SettleResult, SettleWorld
from ksched_cli.plan.simulate import OutputOptions
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes, refused_by
from ksched_cli.world.results import DEFAULT_LIMITS, Limits
from ksched_cli.world.world import WorldChange


@dataclass(frozen=True)
class TimedEvent:
    """Something that happens to the cluster while it settles."""

    at: float
    action: Literal["add", "update", "delete"]
    item: Any


def settle(
    scheduler: Scheduler,
    limits: Limits = DEFAULT_LIMITS,
    output: OutputOptions | None = None,
    events: Sequence[TimedEvent] = (),
    loaded: Loaded | None = None,
    change: WorldChange | None = None,
) -> SettleResult:
    """Make the change, schedule every pending pod, and go on with what follows until nothing moves or a limit is
    reached."""
    settling = SettleWorld(scheduler, output or OutputOptions(), loaded)
    world = settling.world
    if change is not None:
        world.apply(change)
    for event in events:
        world.at(event.at, partial(_happen, event))
    return settling.settlement(world.result(world.run(limits)))


def _happen(event: TimedEvent, plane: ControlPlane) -> None:
    if event.action == "delete":
        plane.api.delete(event.item, grace=0)
    else:
        plane.api.update(event.item, admit=False)


def _apply_all(changes: Sequence[Changes], plane: ControlPlane) -> None:
    for change in changes:
        change(plane)


def settle_input(
    source: LoadedInput, changes: Sequence[Changes], limits: Limits, *, detail: bool = False, top: int = 0
) -> SettledSimulation:
    """All changes are applied at the beginning."""
    prepared = PreparedRun.of(source)
    started = time.perf_counter()
    settling = SettleWorld(prepared.scheduler, prepared.output_options(detail=detail, top=top), source.loaded)
    world = settling.world
    for change in changes:
        world.apply(change)
    first = world.result(world.run(limits))
    others = settling.chance.others(world)
    if others:
        fresh = SettleWorld(PreparedRun.of(source).scheduler, OutputOptions(wanted=source.wanted), source.loaded)
        first = in_orders(first, others, partial(fresh.again, partial(_apply_all, changes), limits))
    found = settling.settlement(first)
    stats = prepared.stats(len(found.outcomes), time.perf_counter() - started)
    coverage = with_job_gaps(prepared.coverage, *(change.manifests for change in changes))
    gaps = [gap for change in changes if change for gap in change.gaps(world.plane)]
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
