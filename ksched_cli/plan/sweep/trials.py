"""A world in which the variants of one configuration and one minor are tried."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack

from ksched_cli.engine.selection import random_choice
from ksched_cli.plan.drain.pending_pods import PendingPods
from ksched_cli.plan.drain.resting_pods import NOTHING_MOVES
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.lost_nodes import remove_nodes
from ksched_cli.plan.sweep.decisions import VariantDecisions
from ksched_cli.plan.sweep.draws import seed_of
from ksched_cli.plan.sweep.figures import ClusterMeasure
from ksched_cli.plan.sweep.space import Setting, Variant
from ksched_cli.plan.sweep.swept_pods import SweptPods, VariantEnd, row_of
from ksched_cli.plan.sweep.task import SweepTask
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.world.results import Limits
from ksched_cli.world.world import World

_LONGEST, _MOST_CYCLES = 3600.0, 100_000  # A variant ends after so many virtual seconds or cycles.


class VariantTrials:
    """A world, and a trial in it that stays open while the setting of the variants is the same."""

    def __init__(self, task: SweepTask, source: LoadedInput) -> None:
        self.source, self.scheduler = source, source.scheduler()
        self._decisions = VariantDecisions(task, self.scheduler)
        self._world = World(self.scheduler, source.loaded, decided=self._decisions)
        self._measure = ClusterMeasure(self.scheduler.cluster)
        self._pending = PendingPods(self._world)
        self._seed, self._namespace = task.space.sweep.seed, task.namespace
        self._fails = task.space.sweep.failing is not None
        self._setting: Setting | None = None
        self._resting = NOTHING_MOVES
        self._trial = ExitStack()

    def end(self, variant: Variant, *, whole: bool = False) -> VariantEnd:
        """Run the variant. `whole`: with the timeline and the place of every pod."""
        if variant.setting != self._setting:
            self._enter(variant.setting)
        if not variant.failing:
            with self._world.trial():
                return self._read(variant, SweptPods(self._world), whole)
        with self._world.trial():
            pods = SweptPods(self._world, variant.failing, self._resting)
            self._fail(variant.failing)
            end = self._read(variant, pods, whole)
            used = set(self._world.cluster.nodes.labels.keys())
        # A table without some nodes takes over the columns of the table before, and makes all others itself.
        for key in used - self._world.cluster.nodes.labels.keys():
            self._world.cluster.nodes.labels.column(key)
        return end

    def check_edits(self, edits: Sequence[Edit]) -> None:
        """Make the edits, and take them back."""
        self._enter(Setting())
        with self._world.trial():
            self._world.apply(Changes(edits=edits, namespace=self._namespace))

    def _enter(self, setting: Setting) -> None:
        """Roll the last setting back, make this one, and give the pending pods their cycles."""
        world, self._setting = self._world, None
        self._trial.close()
        self._trial.enter_context(world.trial())
        if setting.tie:
            world.scheduler.break_ties(random_choice(seed_of(self._seed, "tie", setting.tie), world.undo))
        if setting.order:
            world.loop.queue.shuffle(random.Random(seed_of(self._seed, "order", setting.order)))
        if setting.edits:
            world.apply(Changes(edits=setting.edits, namespace=self._namespace))
        self._pending.place()
        if self._fails:
            self._resting = self._pending.resting()
            world.begin_record()
        self._setting = setting

    def _fail(self, nodes: Sequence[str]) -> None:
        """The nodes are gone at once. Pods that were pending look for another node; controllers recreate all others."""
        self._pending.leave(nodes)
        remove_nodes(self._world, nodes)

    def _read(self, variant: Variant, pods: SweptPods, whole: bool) -> VariantEnd:
        """Run until nothing moves, and read what the world came to."""
        world, decisions = self._world, self._decisions
        ending = world.run(Limits(world.clock.now + _LONGEST, world.cycles + _MOST_CYCLES))
        row = row_of(variant, self._measure.figures(), pods.found(decisions), ending, decisions.failed(world))
        return VariantEnd(row, world.result(ending) if whole else None)
