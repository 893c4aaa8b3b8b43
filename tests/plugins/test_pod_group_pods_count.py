"""PodGroupPodsCount: pods with a node, running and proposed, as a share of the most that any placement has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.framework.interfaces import Placement
from ksched_cli.framework.status import Status
from ksched_cli.plugins.pod_groups import PodGroupPodsCount
from tests.builders import make_node, make_pod
from tests.harness import make_bench
from tests.pod_groups import group, member

KEY = GroupKey("default", "g")


def plugin(running: int) -> Any:
    pods = [member(f"r{index}").on("n1").obj() for index in range(running)]
    return make_bench(PodGroupPodsCount, [make_node("n1").obj()], member("p").obj(), pods, objects=[group()]).plugin


@pytest.mark.parametrize(
    ("running", "proposed", "scores"),
    [
        pytest.param(0, [1, 2, 4], [25, 50, 100], id="proposed only"),
        pytest.param(2, [1, 2, 4], [50, 66, 100], id="running pods bring them closer together, and shares are cut off"),
        pytest.param(0, [3, 3], [100, 100], id="equals"),
        pytest.param(3, [0, 0], [100, 100], id="running only"),
        pytest.param(0, [3], [100], id="one placement"),
        pytest.param(0, [1, 97, 98, 100], [1, 97, 98, 100], id="one far below the others"),
    ],
)
def test_scores(running: int, proposed: list[int], scores: list[int]) -> None:
    made, nobody = plugin(running), make_pod().obj()
    anywhere = Placement("", np.zeros(0, dtype=np.int64))
    raw = [made.score_placement(KEY, anywhere, [nobody] * count) for count in proposed]
    assert made.normalize_placements(raw) == scores


def test_no_pod_anywhere_is_an_error() -> None:
    status = plugin(0).normalize_placements([0, 0])
    assert isinstance(status, Status)
    assert status.message == "no pods from pod group are assigned to any of the candidate placements"
