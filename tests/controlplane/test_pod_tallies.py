"""The tallies of a ReplicaSet's pods are what counting its pods comes to."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.controlplane.controllers.replicaset import ReplicaSetController, selector_of
from ksched_cli.controlplane.pods import is_active, is_ready
from ksched_cli.controlplane.store import Identity
from ksched_cli.simulator import Simulator
from tests.builders import make_pod
from tests.lanes import sampled
from tests.plan.sweep.clusters import cluster, with_priorities


@pytest.fixture
def reconciled(monkeypatch: pytest.MonkeyPatch) -> list[Identity]:
    """The keys that were reconciled. Each reconcile compares the tallies before it and after it."""
    keys: list[Identity] = []
    reconcile = ReplicaSetController.reconcile

    def compare(controller: ReplicaSetController, key: Identity) -> None:
        item: Any = controller.store.find(key)
        if item is None:
            return
        active = [pod for pod in controller.claimed(item) if is_active(pod)]
        assert controller.store.count_active(item, selector_of(item)) == (len(active), sum(map(is_ready, active)))

    def checked(controller: ReplicaSetController, key: Identity) -> None:
        keys.append(key)
        compare(controller, key)
        reconcile(controller, key)
        compare(controller, key)

    monkeypatch.setattr(ReplicaSetController, "reconcile", checked)
    return keys


@pytest.mark.parametrize("seed", sampled(range(6), 6))
def test_trials_of_failures_and_drains(seed: int, reconciled: list[Identity]) -> None:
    simulator = Simulator.load(with_priorities(cluster(seed, pending=6), seed))
    assert list(simulator.sweep(fail="node", scale="replicaset/app-0=0..3"))
    assert list(simulator.drain_nodes(each="node", force=True).trials)
    assert reconciled


def test_a_pod_without_a_controller_is_adopted(reconciled: list[Identity]) -> None:
    items = cluster(1)
    orphan = make_pod("orphan").uid("uid-orphan").label(app="app-0").on("node-0").phase("Running").doc()
    assert list(Simulator.load([*items, orphan]).sweep(fail="node"))
    assert ("ReplicaSet", "default", "app-0") in reconciled
