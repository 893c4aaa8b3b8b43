"""Clusters that the real kube-scheduler 1.36 has filled: every placement is explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.plan.verify.results import Order, Verification
from ksched_cli.wiring.options import RunOptions
from tests.running import verify

CASES = Path(__file__).parents[2] / "fixtures" / "controlplane" / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/before.json"))
# In these a node was cordoned while the pods were placed.
CORDONED = {"rollout-statefulset-13": "node-4", "rollout-statefulset-14": "node-1"}


def verified(case: str) -> Verification:
    return verify(RunOptions([str(CASES / case / "before.json")])).verification


@pytest.mark.parametrize("case", NAMES)
def test_every_placement_is_explained(case: str) -> None:
    found = verified(case)
    assert [each for each in (*found.placements, *found.pending) if not each.agreement.agrees] == []
    assert found.placements
    assert found.orders[Order.NOT_FOUND] == 0
    assumed = {each.assumed.split(" ")[0] for each in found.placements if each.assumed}
    assert assumed == ({CORDONED[case]} if case in CORDONED else set())


def test_no_recording_is_left_out() -> None:
    assert len(NAMES) == 85
