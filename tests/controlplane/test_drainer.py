"""The client side of a drain: which evictions a budget grants, and what is left of a drain that gives up."""

from __future__ import annotations

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.controlplane.draws import Draws
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from tests.builders import loaded_of, make_pod
from tests.controlplane.harness import make, nodes, started

DRAW = ("evictions granted", "PodDisruptionBudget/default/web", 0)


def draining(turn: int = 0, grace: float | None = None) -> ControlPlane:
    """The eviction of two pods is requested, of which a budget grants one."""
    pods = [started(make_pod(name).uid(name).label(app="web").obj(), "node-1") for name in ("one", "two")]
    budget = make("PodDisruptionBudget", "web", selector={"matchLabels": {"app": "web"}}, minAvailable=1)
    plane = ControlPlane(Store(loaded_of(*nodes(1), *pods, budget)), draws=Draws({DRAW: turn}))
    plane.drainer.evict(plane.store.of(Pod), grace=grace)
    while plane.queue.work():
        pass
    return plane


@pytest.mark.parametrize(("turn", "stays"), [pytest.param(0, "two", id="first"), pytest.param(1, "one", id="other")])
def test_a_run_may_grant_the_eviction_of_another_pod(turn: int, stays: str) -> None:
    plane = draining(turn)
    assert [name for _, _, name in plane.drainer.refused] == [stays]
    assert plane.blocked_evictions()[0].startswith(f"default/{stays} is not evicted: ")


def test_a_drain_that_gives_up_requests_nothing_more_and_no_time_passes_for_it() -> None:
    plane = draining(grace=1)
    plane.drainer.give_up()
    plane.run()
    assert [pod.metadata.name for pod in plane.store.of(Pod)] == ["two"]
    assert plane.blocked_evictions() == []
    assert plane.clock.now < 5, "the next request would come after 5 s"
