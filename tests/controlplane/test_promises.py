"""What the controllers promise of availability holds at every moment, whatever becomes of the pods that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_active, is_ready
from ksched_cli.api.workloads import ReplicaSet, scaled_value
from tests.controlplane.harness import ControlPlane, make, nodes, rested, template

NEW = "app:v2"
AMOUNTS = st.integers(0, 4) | st.sampled_from(["0%", "25%", "50%", "100%"])


class Promises:
    """A watch that counts the pods after every change."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.least_ready = self.most = sum(map(is_active, plane.store.of(Pod)))
        plane.api.watch(self._seen)

    def _seen(self, old: Any, new: Any) -> None:
        active = [pod for pod in self._plane.store.of(Pod) if is_active(pod)]
        sets = self._plane.store.of(ReplicaSet)
        # The Deployment controller counts what it asks of its ReplicaSets: these follow when their turn comes.
        wanted = sum(each.spec.replicas or 0 for each in sets) if sets else len(active)
        self.most = max(self.most, wanted)
        self.least_ready = min(self.least_ready, sum(map(is_ready, active)))


def rolled(kind: str, size: int, fits: list[bool], **spec: Any) -> tuple[ControlPlane, Promises]:
    """A new template, where only so many new pods get a node at first, and all of them later."""
    number = {} if kind == "DaemonSet" else {"replicas": size}
    plane = rested(*nodes(size if kind == "DaemonSet" else 2), make(kind, "web", **number, **spec))
    promises = Promises(plane)
    fewest: Callable[[Pod], str] = plane.place
    answers = iter(fits)
    plane.place = lambda pod: fewest(pod) if next(answers, False) else ""
    plane.change(kind, "web", template=template("web", NEW))
    plane.run()
    plane.place = fewest
    plane.retry_pending()
    plane.run()
    return plane, promises


BOOLEANS = st.lists(st.booleans(), max_size=12)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 8), AMOUNTS, AMOUNTS, BOOLEANS)
def test_a_rolling_deployment_keeps_its_promises(size: int, surge: Any, unavailable: Any, fits: list[bool]) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    plane, promises = rolled("Deployment", size, fits, strategy=strategy)
    most, may_lack = scaled_value(surge, size, up=True), scaled_value(unavailable, size, up=False)
    may_lack = 1 if not most and not may_lack else min(may_lack, size)
    assert promises.least_ready >= size - may_lack
    assert promises.most <= size + most
    assert list(plane.revisions().values()) == [NEW] * size


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 5), st.integers(0, 5), st.booleans(), BOOLEANS)
def test_a_stateful_set_replaces_one_pod_at_a_time(size: int, partition: int, parallel: bool, fits: list[bool]) -> None:
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    policy = {"podManagementPolicy": "Parallel"} if parallel else {}
    plane, promises = rolled("StatefulSet", size, fits, updateStrategy=update, **policy)
    assert promises.least_ready >= size - 1
    assert promises.most <= size
    expected = {f"web-{at}": NEW if at >= partition else "app:v1" for at in range(size)}
    assert plane.revisions() == expected


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 3), BOOLEANS)
def test_a_daemon_set_keeps_its_promises(size: int, surge: int, unavailable: int, fits: list[bool]) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": 0 if surge else unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    plane, promises = rolled("DaemonSet", size, fits, updateStrategy=strategy)
    assert promises.least_ready >= size - (0 if surge else max(unavailable, 1))
    assert promises.most <= size + surge
    assert list(plane.revisions().values()) == [NEW] * size
