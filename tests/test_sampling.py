"""`--sampling` agrees with kube-scheduler 1.36, which looks at a part of the nodes, on 20 clusters of 150 to 1,500 nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lanes import sampled
from tests.own_recordings import differences, recorded, simulate

RECORDINGS = "sampling/1.36"
CASES = [f"sampling-{number:02d}" for number in range(20)]


@pytest.mark.parametrize("name", sampled(CASES, 7))
def test_the_part_of_the_nodes_is_the_same(name: str, tmp_path: Path) -> None:
    case = recorded(RECORDINGS)[name]
    found = simulate(case, tmp_path, sampling=True)
    assert len(found["pods"]) == len(case["pods"]) == 14
    assert differences(case, found) == []


def test_every_recorded_case_is_there() -> None:
    assert sorted(recorded(RECORDINGS)) == CASES


@pytest.mark.slow
def test_without_sampling_pods_go_elsewhere(tmp_path: Path) -> None:
    """The recordings are of a part of the nodes: an answer about all nodes does not agree with them."""
    case = recorded(RECORDINGS)["sampling-19"]
    assert differences(case, simulate(case, tmp_path))
