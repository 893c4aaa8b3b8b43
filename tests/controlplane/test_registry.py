"""Which controllers see a change."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import EphemeralVolumeSource, Node, ObjectMeta, Pod, Toleration, Volume
from ksched_cli.api.workloads import StatefulSet
from ksched_cli.controlplane.controllers.statefulset import StatefulSetController
from ksched_cli.controlplane.kubelet import running
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.controlplane.work import pod_change
from ksched_cli.sources.loaded import Loaded
from tests.builders import make_node, make_pod


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the objects whose changes the StatefulSet controller sees."""
    names: list[str] = []
    original = StatefulSetController.keys_to_reconcile

    def keys_to_reconcile(self: StatefulSetController, old: Any, new: Any) -> Any:
        names.append((new if old is None else old).metadata.name)
        return original(self, old, new)

    monkeypatch.setattr(StatefulSetController, "keys_to_reconcile", keys_to_reconcile)
    return names


def test_pods_concern_a_controller_only_while_it_has_workloads(seen: list[str]) -> None:
    loaded = Loaded()
    loaded.set_all(Pod, [make_pod("before").on("n").obj()])
    plane = ControlPlane(Store(loaded))
    plane.api.create(make_node("n").obj())
    plane.api.create(make_pod("without").obj())
    assert seen == []
    with plane.store.undo.trial():
        plane.api.create(StatefulSet(ObjectMeta(name="web", namespace="default")))
        plane.api.create(make_pod("with").obj())
        assert seen == ["web", "with"]
    plane.api.create(make_pod("after").obj())
    assert seen == ["web", "with"]


NOW = "2026-01-01T00:00:00Z"


def versions(owner: str) -> list[Pod | None]:
    """No pod, and versions of one pod that share what does not differ, as a world has them."""
    volume = Volume(ephemeral=EphemeralVolumeSource())
    first = make_pod("p").owner(owner, "w").obj()
    first = replace(first, spec=replace(first.spec, volumes=(volume,)))
    bound = replace(first, spec=replace(first.spec, node_name="n"))
    pods = [
        first,
        bound,
        replace(bound, spec=replace(bound.spec, tolerations=(Toleration(operator="Exists"),))),
        replace(bound, metadata=replace(bound.metadata, labels={"a": "b"})),
        replace(bound, metadata=replace(bound.metadata, deletion_timestamp=NOW)),
    ]
    failed = [replace(each, status=replace(each.status, phase="Failed")) for each in pods]
    return [None, *pods, *(running(each, NOW) for each in pods), *failed]


@pytest.mark.parametrize("owner", ["DaemonSet", "Job", "ReplicaSet", "StatefulSet"])
def test_other_changes_of_a_pod_concern_no_controller(owner: str) -> None:
    """The plain reading of `pod_changes`: a controller has no key for a change that it does not handle."""
    loaded, left_out = Loaded(), set()
    loaded.set_all(Node, [make_node("n").taint("t", effect="NoExecute").obj()])
    for old, new in product(versions(owner), repeat=2):
        change = pod_change(old, new)
        for controller in ControlPlane(Store(loaded)).controllers.all if old is not new else ():
            if Pod in (controller.informers or (Pod,)) and change not in controller.pod_changes:
                left_out.add((type(controller), change))
                assert not list(controller.keys_to_reconcile(old, new))
    assert len(left_out) > 10
