"""`check`: the manifests applied to a world, and what is in the way when it comes to rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.pod_facts import pod_key
from ksched_cli.controlplane.draws import Choices
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.check.orders import in_all_orders
from ksched_cli.plan.check.results import WorkloadCheck
from ksched_cli.plan.check.run import CheckRun
from ksched_cli.plan.check.trial import OpenTrial, evicted_anyway
from ksched_cli.plan.check.workload_checks import check_workloads
from ksched_cli.plan.evicted import Losses, WorkloadLoss
from ksched_cli.plan.node_columns import NodeColumns
from ksched_cli.plan.orders.chance import Chance
from ksched_cli.plan.orders.runs import FIRST_ORDER, run_in_order
from ksched_cli.plan.orders.ties import decisive_ties
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.places import Places
from ksched_cli.whatif.changes import Changes
from ksched_cli.world.results import WorldResult
from ksched_cli.world.world import World


class Outcome(Struct, frozen=True):
    """`warnings` are those of the API server and of a world that does not come to rest, `gaps` the admission that is
    not modelled. `evicted_anyway`: pods that pending pods of the cluster evict without the manifests too; they are in
    no loss."""

    workloads: tuple[WorkloadCheck, ...]
    losses: tuple[WorkloadLoss, ...]
    world: WorldResult
    warnings: tuple[str, ...]
    gaps: tuple[str, ...]
    nodes: NodeColumns
    evicted_anyway: tuple[str, ...] = ()


class Checker:
    """Checks manifests in trials of one world."""

    def __init__(self, scheduler: Scheduler, loaded: Loaded, places: Places, missing: Sequence[str] = ()) -> None:
        self._places, self._missing = places, missing
        self._run: CheckRun | None = None
        self._chance = Chance()
        self._world = World(scheduler, loaded, keeps_timeline=False, trying=self._trying, decided=self._decided)
        self._trial = OpenTrial(self._world)

    def _trying(self, rows: Sequence[int]) -> None:
        if self._run is not None:
            self._chance.trying(rows)

    def _decided(self, decision: Decision) -> None:
        run = self._run
        if run is None:
            return
        is_own = run.is_own(decision.pod.pod)
        self._chance.decided(decision, matters=is_own)
        if is_own:
            run.decided(decision)

    def _run_to_end(self, changes: Changes, choices: Choices) -> CheckRun:
        """The run at its end. It is rolled back when the world is needed again."""
        self._trial.begin()
        run = self._run = CheckRun(self._world, changes)
        try:
            run_in_order(self._world, self._chance, lambda _: run.begin(), choices)
        finally:
            self._run = None
        return run

    def check(self, changes: Changes, wanted: Callable[[Any], bool] = lambda item: True) -> Outcome:
        """Run the manifests to their end. Where chance has decided something that matters, try other orders too."""
        run = self._run_to_end(changes, FIRST_ORDER)
        items, result, nodes = run.items, run.result, run.nodes
        losses, own, warnings, gaps = Losses(run.world), run.preemptors(), tuple(run.warnings()), tuple(run.gaps())
        workloads: Sequence[WorkloadCheck] = check_workloads(run, self._places, self._missing)
        others = self._chance.others(self._world, failed=any(each.result == "fails" for each in workloads))
        if others:
            found = [self._again(changes, each.choices) for each in others]
            results = [[each.result for each in every] for every in (workloads, *found)]
            ties = decisive_ties(results[0], zip(others, results[1:], strict=True))
            result = replace(result, draws=(*result.draws, *ties))
            workloads = in_all_orders([workloads, *found])
        shown = tuple(each for item, each in zip(items, workloads, strict=True) if wanted(item))
        anyway = evicted_anyway(self._trial.roll_back, losses, own)
        caused, names = tuple(losses.caused_by(without=anyway)), tuple(pod_key(each.pod) for each in anyway)
        return Outcome(shown, caused, result, warnings, gaps, nodes, names)

    def _again(self, changes: Changes, choices: Choices) -> Sequence[WorkloadCheck]:
        return check_workloads(self._run_to_end(changes, choices), self._places, self._missing)
