"""Runs variants one after the other: each is a trial in a world that stays loaded."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.engine.selection import random_choice
from ksched_cli.errors import KschedError
from ksched_cli.plan.coverage import coverage_of
from ksched_cli.plan.drain.pending_pods import PendingPods
from ksched_cli.plan.drain.unplaced import UnplacedReasons
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.sweep.draws import seed_of
from ksched_cli.plan.sweep.figures import ClusterMeasure
from ksched_cli.plan.sweep.rows import VariantRow
from ksched_cli.plan.sweep.space import Setting, Variant
from ksched_cli.plan.sweep.swept_pods import SweptPods, row_of
from ksched_cli.plan.sweep.task import SweepTask
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.whatif.edits.remove_node import RemoveNode
from ksched_cli.world.results import Ending, Limits
from ksched_cli.world.world import World

# Virtual seconds and cycles after which a variant that does not come to rest ends.
_LONGEST, _MOST_CYCLES = 3600.0, 100_000


@dataclass(frozen=True)
class BaseRun:
    """The cluster without any variant: its row, its number of nodes, and its coverage."""

    row: VariantRow
    nodes: int
    coverage: dict[str, Any]


class VariantRunner:
    """Keeps the world of one configuration and one minor, and in it the setting of the last variant: a neighbour with
    the same setting costs its failures only."""

    def __init__(self, task: SweepTask) -> None:
        self._task = task
        self._variants = task.space.variants()
        self._world: SettingWorld | None = None
        self._loaded: tuple[int, int] | None = None

    def run(self, numbers: Iterable[int]) -> Iterator[VariantRow]:
        """The rows of these variants."""
        for number in numbers:
            variant = self._variants[number]
            try:
                yield self._row(variant)
            except Exception as problem:
                # What the variant left behind is not trusted.
                self._world = self._loaded = None
                kind = "" if isinstance(problem, KschedError) else f"{type(problem).__name__}: "
                yield VariantRow(number, variant.coordinates, "error", error=f"{kind}{problem}")

    def base(self) -> BaseRun:
        """The cluster as it is, without any variant: its row has number -1. UsageError for edits that cannot be made,
        of which the largest number of each range is tried."""
        row = self._row(Variant(-1, Setting(), (), {}))
        assert self._world is not None
        self._world.check_edits([each.edits[-1] for each in self._task.space.sweep.edits if each.edits[-1]])
        return BaseRun(row, *self._world.facts())

    def _row(self, variant: Variant) -> VariantRow:
        loaded = variant.setting.grid, variant.setting.version
        if self._world is None or self._loaded != loaded:
            self._world = None
            self._world, self._loaded = SettingWorld(self._task, self._task.source.under(*loaded)), loaded
        return self._world.row(variant)


class SettingWorld:
    """A world, and a trial in it that stays open while the setting of the variants is the same."""

    def __init__(self, task: SweepTask, source: LoadedInput) -> None:
        self._source, scheduler = source, source.scheduler()
        self._reasons = UnplacedReasons(scheduler.cluster.undo)
        self._world = World(scheduler, source.loaded, decided=self._reasons)
        self._measure = ClusterMeasure(scheduler.cluster)
        self._pending = PendingPods(self._world)
        self._seed, self._namespace = task.space.sweep.seed, task.namespace
        self._setting: Setting | None = None
        self._trial = ExitStack()

    def row(self, variant: Variant) -> VariantRow:
        if variant.setting != self._setting:
            self._leave()
            self._enter(variant.setting)
        if not variant.failing:
            with self._world.trial():
                return self._result(variant, SweptPods(self._world), self._run())
        with self._world.trial():
            self._world.begin_record()
            pods = SweptPods(self._world, variant.failing)
            self._fail(variant.failing)
            return self._result(variant, pods, self._run())

    def facts(self) -> tuple[int, dict[str, Any]]:
        """How many nodes there are, and what no result takes into account."""
        return len(self._world.cluster.nodes), coverage_of(
            self._world.scheduler, self._source.loaded, self._source.spec
        )

    def check_edits(self, edits: Sequence[Edit]) -> None:
        """Make the edits, and take them back."""
        self._leave()
        with self._world.trial():
            self._world.apply(Changes(edits=edits, namespace=self._namespace))

    def _enter(self, setting: Setting) -> None:
        """Make the changes of the setting and give the pending pods their cycles."""
        world = self._world
        self._setting = setting
        self._trial.enter_context(world.trial())
        if setting.tie:
            seed = seed_of(self._seed, "tie", setting.tie)
            world.scheduler.break_ties(random_choice(seed, world.undo))
        if setting.order:
            world.loop.queue.shuffle(random.Random(seed_of(self._seed, "order", setting.order)))
        if setting.edits:
            world.apply(Changes(edits=setting.edits, namespace=self._namespace))
        self._pending.place()

    def _leave(self) -> None:
        self._setting = None
        self._trial.close()

    def _fail(self, nodes: Sequence[str]) -> None:
        """The nodes are gone at once, before any controller has noticed. Pods that were pending in the input look for
        another node; all other pods of the nodes are left to their controllers."""
        self._pending.leave(nodes)
        self._world.apply(partial(_remove_nodes, nodes))

    def _run(self) -> Ending:
        world = self._world
        return world.run(Limits(world.clock.now + _LONGEST, world.cycles + _MOST_CYCLES))

    def _result(self, variant: Variant, pods: SweptPods, ending: Ending) -> VariantRow:
        return row_of(variant, self._measure.figures(), pods.found(self._reasons), ending)


def _remove_nodes(nodes: Sequence[str], plane: ControlPlane) -> None:
    Changes(edits=[RemoveNode(node) for node in nodes])(plane)
