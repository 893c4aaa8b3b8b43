"""Which controllers see a change."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.workloads import StatefulSet
from ksched_cli.controlplane.controllers.statefulset import StatefulSetController
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.sources.loaded import Loaded
from tests.builders import make_node, make_pod


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the objects whose changes the StatefulSet controller sees."""
    names: list[str] = []
    original = StatefulSetController.concerned

    def concerned(self: StatefulSetController, old: Any, new: Any) -> Any:
        names.append((new if old is None else old).metadata.name)
        return original(self, old, new)

    monkeypatch.setattr(StatefulSetController, "concerned", concerned)
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
