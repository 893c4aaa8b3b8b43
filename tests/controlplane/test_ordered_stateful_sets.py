"""An ordered StatefulSet is reconciled without another look at its first pods, with the same outcome."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.workloads import StatefulSet
from ksched_cli.controlplane.controllers.statefulset import StatefulSetController
from tests.controlplane.harness import ControlPlane, make, nodes, template
from tests.lanes import examples

# What happens to a set at rest: its replicas, its image, a pod that goes, or the ordinals that find a node.
steps = st.lists(
    st.one_of(
        st.tuples(st.just("scale"), st.integers(0, 7)),
        st.tuples(st.just("image"), st.sampled_from(["app:v1", "app:v2"])),
        st.tuples(st.just("delete"), st.integers(0, 6)),
        st.tuples(st.just("unplaced"), st.integers(0, 7)),
    ),
    max_size=5,
)


def outcome(spec: dict[str, Any], happens: list[tuple[str, Any]]) -> list[Any]:
    """The events, pods and statuses, step by step."""
    control_plane = ControlPlane(*nodes(2))
    control_plane.api.create(make("StatefulSet", "db", **spec))
    found: list[Any] = []
    for what, value in [("", None), *happens]:
        if what == "scale":
            control_plane.change("StatefulSet", "db", replicas=value)
        elif what == "image":
            control_plane.change("StatefulSet", "db", template=template("db", value))
        elif what == "delete" and f"db-{value}" in control_plane.pods():
            control_plane.api.delete(control_plane.pod(f"db-{value}"))
        elif what == "unplaced":
            lost = f"db-{value}"
            control_plane.place = lambda pod, lost=lost: "" if pod.metadata.name == lost else "node-1"
        control_plane.run()
        status = control_plane.api.statuses.get(control_plane.object("StatefulSet", "db"))
        found.append((list(control_plane.events), control_plane.pods(), control_plane.revisions(), status))
    return found


@pytest.mark.slow
@given(
    st.integers(1, 6),
    st.sampled_from([{}, {"partition": 2}]),
    st.sampled_from([0, 3]),
    st.sampled_from([None, {"start": 2}]),
    steps,
)
@settings(max_examples=examples(60), deadline=None)
def test_the_outcome_is_that_of_a_look_at_all_pods(
    replicas: int, rolling: dict[str, Any], least: int, ordinals: Any, happens: list[tuple[str, Any]]
) -> None:
    spec = {
        "replicas": replicas,
        "minReadySeconds": least,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        **({"ordinals": ordinals} if ordinals else {}),
    }
    found = outcome(spec, happens)
    with patch.object(StatefulSetController, "_sync_after_prefix", return_value=None):
        assert found == outcome(spec, happens)


def test_the_pods_of_a_set_are_not_counted_anew_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    claimed, counted = StatefulSetController.claimed, []

    def noted(self: StatefulSetController, item: StatefulSet) -> Any:
        counted.append(item)
        return claimed(self, item)

    monkeypatch.setattr(StatefulSetController, "claimed", noted)
    control_plane = ControlPlane(*nodes(2))
    control_plane.api.create(make("StatefulSet", "db", replicas=60))
    assert len(control_plane.run().pods()) == 60
    assert len(counted) < 20
