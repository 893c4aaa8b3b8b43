"""What the world of `check` comes to otherwise: without the old pods of a rollout, or without the manifests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.workloads import Deployment, UpdateStrategy
from ksched_cli.controlplane.controllers.deployment import RECREATE
from ksched_cli.plan.check.run import LIMITS, CheckRun
from ksched_cli.plan.evicted import Losses
from ksched_cli.world.recorder import PreemptedPod
from ksched_cli.world.world import World


class OpenTrial:
    """A trial that is rolled back only when the world before it is needed again: often nothing needs it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._mark: int | None = None

    def begin(self) -> None:
        """Roll the trial back, and begin another."""
        self.roll_back()
        self._mark = self._world.mark()

    def roll_back(self) -> World:
        """The world as it was before the trial."""
        if self._mark is not None:
            self._world.undo.roll_back(self._mark)
            self._mark = None
        return self._world


def finishes_without_old(run: CheckRun, item: Any) -> bool:
    """Whether the rollout comes to its end once the old pods are gone, whatever its strategy is. The world is where the
    run has left it before and after."""
    with run.world.trial():
        api, live = run.plane.api, run.plane.store.current(item)
        if isinstance(live, Deployment):
            api.update(replace(live, spec=replace(live.spec, strategy=UpdateStrategy(RECREATE))))
        else:
            for pod in run.state(item).old:
                api.delete(pod, grace=0)
        run.world.run(LIMITS)
        return run.satisfied(item)


def evicted_anyway(begun: Callable[[], World], losses: Losses, own: set[str]) -> list[PreemptedPod]:
    """The evictions that happen without the manifests, whose pods are the preemptors `own`. `begun` returns the world
    as it is without the manifests."""
    if all(each.by in own for each in losses.evictions):
        return []
    world = begun()
    with world.trial():
        world.plane.api.draws.choices = {}
        world.run(LIMITS)
        return losses.same_elsewhere(Losses(world), own)
