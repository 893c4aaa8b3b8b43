"""`simulate --settle`: the world runs until nothing moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.settle_world import SettleResult, SettleWorld
from ksched_cli.plan.simulate import OutputOptions
from ksched_cli.sources.loaded import Loaded
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
