"""Gates that are off by default agree with kube-scheduler 1.36 in every field of every pod: DeviceTaintRules, and claims
that the pods of a group share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lanes import sampled
from tests.own_recordings import differences, recorded, simulate

RECORDINGS = "alpha-gates/1.36"
CASES = [
    *(f"group-claims-{number:02d}" for number in range(24)),
    *(f"taint-rules-{number:02d}" for number in range(20)),
]


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_the_pods_are_the_same(name: str, tmp_path: Path) -> None:
    case = recorded(RECORDINGS)[name]
    found = simulate(case, tmp_path)
    assert differences(case, found) == []
    assert "featureGatesNotModelled" not in found["coverage"]


def test_every_recorded_case_is_there() -> None:
    assert sorted(recorded(RECORDINGS)) == CASES


@pytest.mark.parametrize("name", sampled((name for name in CASES if name.startswith("taint-rules")), 5))
def test_without_the_gate_the_rules_count_for_nothing(name: str, tmp_path: Path) -> None:
    case = recorded(RECORDINGS)[name]
    assert differences(case, simulate({**case, "gates": ""}, tmp_path))


@pytest.mark.parametrize("name", sampled(CASES, 11))
def test_devices_that_stand_for_nothing_of_their_node_change_nothing(name: str, tmp_path: Path) -> None:
    """The gate DRANodeAllocatableResources is about slices with nodeAllocatableResourceMappings; these have none."""
    case = recorded(RECORDINGS)[name]
    gates = f"{case['gates']},DRANodeAllocatableResources=true"
    assert differences(case, simulate({**case, "gates": gates}, tmp_path)) == []
