"""How many more fit: the manifests of a setup counted in its cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from ksched_cli.errors import InputError, Problem
from ksched_cli.wiring import RunOptions, assemble, gather

if TYPE_CHECKING:
    from ksched_cli.plan.capacity import Capacity
    from ksched_cli.plan.results import Stats


@dataclass(frozen=True)
class CapacityResult:
    """How many more fit, of the mix or of each manifest by itself."""

    capacities: tuple[Capacity, ...]
    coverage: dict[str, Any]
    warnings: tuple[str, ...]
    stats: Stats


def count_capacity(
    setup: RunOptions, stdin: BinaryIO | None = None, *, mix: str = "", limit: int, pending_first: bool = True
) -> CapacityResult:
    """The manifests of the setup are what is counted; the cluster stays without them."""
    from ksched_cli.controlplane.admission.chain import Chain
    from ksched_cli.plan.capacity import Portion, capacity
    from ksched_cli.plan.mix import read_mix
    from ksched_cli.whatif.replicas import Replicas, read_shapes
    from ksched_cli.wiring.emptiness import check_nodes
    from ksched_cli.wiring.reading import read_manifests

    gathered = gather(replace(setup.without_manifests(), allow_empty=True), stdin)
    loaded = gathered.loaded
    manifests = read_manifests(setup, setup.namespace or loaded.namespace, stdin)
    check_nodes(setup, loaded, manifests)
    shapes = read_shapes(loaded, manifests)
    if not shapes:
        raise InputError(Problem("there is no pod and no workload to count", ", ".join(setup.filenames)))
    sets = [read_mix(mix, shapes)] if mix else [[(shape, 1)] for shape in shapes]
    if not pending_first:
        gathered = replace(gathered, loaded=loaded.without_pending())
    capacities, seconds = [], 0.0
    for each in sets:
        prepared = assemble(setup, gathered)
        admission = Chain(loaded)
        portions = [
            (Portion(shape.name, shape.label, many), Replicas(shape, loaded, admission)) for shape, many in each
        ]
        started = time.perf_counter()
        capacities.append(capacity(prepared.scheduler, portions, limit=limit, pending_first=pending_first))
        seconds += time.perf_counter() - started
    placed = sum(sum(each.fits.values()) for each in capacities)
    return CapacityResult(tuple(capacities), prepared.coverage, prepared.warnings, prepared.stats(placed, seconds))
