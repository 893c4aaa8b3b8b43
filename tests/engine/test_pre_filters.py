"""Filters that PreFilter leaves out of the cycle of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.engine.cycle.state import CycleState
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import make_scheduler

DISK: dict[str, Any] = {"name": "disk", "gcePersistentDisk": {"pdName": "disk"}}


@pytest.mark.parametrize(
    ("volumes", "left_out"),
    [
        pytest.param([], True, id="a pod without volumes"),
        pytest.param([DISK], False, id="a pod with a disk"),
    ],
)
def test_filters_without_a_pre_filter_are_left_out_where_they_pass_everywhere(
    volumes: list[dict[str, Any]], left_out: bool
) -> None:
    pod = make_pod("p").spec(volumes=volumes).obj()
    scheduler = make_scheduler([make_node("n").obj()], [pod], current=RELEASES["1.20"])
    runtime, state = scheduler.runtimes["default-scheduler"], CycleState()
    with_pre_filter = {plugin.name for plugin in runtime.profile.pre_filter}
    assert "VolumeRestrictions" not in with_pre_filter
    assert runtime.run_pre_filter(state, scheduler.cluster.pods.infos[0]).status is None
    assert ("VolumeRestrictions" in state.skip_filter) is left_out
