"""Pod groups agree with kube-scheduler 1.36 in every field of every pod and group, on 40 clusters."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lanes import sampled
from tests.own_recordings import differences, recorded, simulate

RECORDINGS = "pod-groups/1.36"
CASES = [f"{kind}-{number:02d}" for kind in ("all", "gang", "preemption", "topology") for number in range(10)]


@pytest.mark.parametrize("name", sampled(CASES, 5))
def test_groups_and_their_pods_are_the_same(name: str, tmp_path: Path) -> None:
    case = recorded(RECORDINGS)[name]
    found = simulate(case, tmp_path)
    assert differences(case, found) == []
    assert "featureGatesNotModelled" not in found["coverage"]


def test_every_recorded_case_is_there() -> None:
    assert sorted(recorded(RECORDINGS)) == CASES


def test_each_result_of_a_group_was_recorded() -> None:
    """The recordings show placed groups, waiting groups, victims of whole groups, and groups that fail."""
    groups = [group for case in recorded(RECORDINGS).values() for group in case["groups"]]
    assert sum(group["status"] == "True" for group in groups) == 14
    assert sum("preemption" in group for group in groups) == 18
    assert sum(group["message"].endswith("waiting for preemption to complete") for group in groups) == 17


def test_without_the_gates_pods_go_elsewhere(tmp_path: Path) -> None:
    case = recorded(RECORDINGS)["gang-00"]
    found = simulate({**case, "gates": ""}, tmp_path)["pods"]
    assert {pod["pod"]: pod.get("node") for pod in found} != {pod["pod"]: pod.get("node") for pod in case["pods"]}
