"""`size`: the cheapest nodes to add so that the scheduler places every pending pod. `search.py` proposes sets of nodes,
the scheduler accepts or rejects each; here the result is put together. Running pods stay where they are."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping

from msgspec.structs import replace

from ksched_cli.controlplane.store import Store, workload_name
from ksched_cli.plan.results.nodes import NodeChanges, NodeColumns
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.catalog import NodeShape, ShapeCatalog
from ksched_cli.plan.size.classes import Survey, Surveyor
from ksched_cli.plan.size.results import (
    BoughtNodes,
    CheaperSet,
    SearchSettings,
    SizedPod,
    SizeSearch,
    Sizing,
    UnsizedPod,
    gap_of,
    without_zeros,
)
from ksched_cli.plan.size.search import PurchaseSearch, SearchState
from ksched_cli.plan.size.solver import solver_is_installed
from ksched_cli.plan.size.trials import SizingTrials
from ksched_cli.sources.loaded import Loaded

DEFAULT_TIME_LIMIT = 20.0


def size_input(
    source: LoadedInput,
    catalog: ShapeCatalog,
    *,
    time_limit: float = DEFAULT_TIME_LIMIT,
    greedy: bool = False,
    settings: SearchSettings | None = None,
) -> Sizing:
    """Survey the cluster, search, and report the cheapest set that the scheduler accepts. `greedy`: without a solver,
    even if one is installed."""
    source.refuse_rollouts()
    prepared = Run(source)
    started = time.perf_counter()
    trials = SizingTrials(source, prepared.scheduler)
    survey = Surveyor(trials, catalog).survey()
    trials.excused.update(survey.misfits)
    search = PurchaseSearch(trials, survey.problem, started + time_limit, settings or SearchSettings())
    with_solver = not greedy and solver_is_installed()
    state = search.run(with_solver=with_solver)
    return _Report(prepared, trials, survey, catalog, state).result(
        time_limit, time.perf_counter() - started, with_solver=with_solver, greedy=greedy
    )


class _Report:
    def __init__(
        self, prepared: Run, trials: SizingTrials, survey: Survey, catalog: ShapeCatalog, state: SearchState
    ) -> None:
        self._prepared, self._trials, self._survey = prepared, trials, survey
        self._catalog, self._state = catalog, state
        assert state.best is not None
        self._best = state.best
        self._problem = survey.problem
        self._store = Store(Loaded(), trials.cluster.catalog)

    def result(self, time_limit: float, seconds: float, *, with_solver: bool, greedy: bool) -> Sizing:
        state = self._state
        money = self._problem.money
        proven = with_solver or state.cost == 0
        warnings = list(self._prepared.source.warnings)
        if not proven and not greedy:
            text = "highspy is not installed: a greedy method chose the nodes, and nothing is proven about the cost"
            warnings.append(f"{text} (pip install 'ksched-cli[size]')")
        after = self._best.columns
        cost, bound = money(state.cost), money(state.bound) if proven else None
        return Sizing(
            cost=cost,
            lower_bound=bound,
            gap=None if bound is None else gap_of(cost, bound),
            unit=self._catalog.unit,
            nodes=tuple(self._bought()),
            pods=tuple(self._pods()),
            unplaced=tuple(self._unplaced()),
            search=SizeSearch(state.ended, round(seconds, 3), time_limit, self._trials.runs, self._best.ties),
            unusable_shapes=self._survey.unusable,
            held_back=self._held_back(),
            coverage=self._prepared.coverage,
            stats=self._prepared.stats(len(self._trials.pending), seconds),
            node_table=None if after is None else NodeChanges(NodeColumns.of(self._trials.cluster), after),
            cheaper=self._cheaper(),
            warnings=tuple(warnings),
        )

    def _bought(self) -> list[BoughtNodes]:
        names: defaultdict[NodeShape, list[str]] = defaultdict(list)
        for name, shape in self._best.shape_of.items():
            names[shape].append(name)
        return [
            BoughtNodes(
                shape=shape.name,
                zone=shape.zone,
                count=len(own),
                price=without_zeros(shape.price),
                cost=without_zeros(shape.price * len(own)),
                spot=shape.spot,
                names=tuple(own),
                template=shape.document(),
            )
            for shape, own in sorted(names.items(), key=lambda each: (-each[0].price, each[0].node_name))
        ]

    def _pods(self) -> list[SizedPod]:
        found = []
        for row, node in self._best.on.items():
            shape = self._best.shape_of.get(node)
            key, workload = self._names(row)
            found.append(SizedPod(key, workload, node, shape.name if shape else ""))
        return sorted(found, key=lambda each: each.pod)

    def _names(self, row: int) -> tuple[str, str]:
        info = self._trials.info(row)
        return info.key, workload_name(self._store, info.pod)

    def _unplaced(self) -> list[UnsizedPod]:
        found = [replace(each, workload=self._names(row)[1]) for row, each in self._survey.misfits.items()]
        found += [UnsizedPod(*self._names(each.row), each.message) for each in self._state.stuck.values()]
        found += [UnsizedPod(each.pod, "", each.message) for each in self._best.daemons]
        return sorted(found, key=lambda each: each.pod)

    def _cheaper(self) -> CheaperSet | None:
        """The dearest of the sets that cost less and that the scheduler rejected."""
        below = [each for each in self._state.rejected if each.cost < self._state.cost]
        if not below:
            return None
        best = max(below, key=lambda each: each.cost)
        nodes = {shape.title: count for shape, count in best.counts.items() if count}
        return CheaperSet(nodes, self._problem.money(best.cost), best.pod, best.message)

    def _held_back(self) -> Mapping[str, str]:
        gated = {key: f"{status.plugin}: {', '.join(status.texts)}" for key, status in self._trials.gated.items()}
        ignored = {key: f"waits for the scheduler {name}" for key, name in self._trials.ignored.items()}
        return {**gated, **ignored}
