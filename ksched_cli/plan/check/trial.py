"""Whether the old pods are what a rollout waits for: it is tried without them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ksched_cli.api.workloads import Deployment, UpdateStrategy
from ksched_cli.controlplane.controllers.deployment import RECREATE
from ksched_cli.plan.check.run import LIMITS, CheckRun


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
