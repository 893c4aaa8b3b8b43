"""What OpportunisticBatching changes, on clusters that kube-scheduler 1.36 decided with and without it.

ksched answers as without it. With the default configuration that is no difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lanes import sampled
from tests.own_recordings import differences, recorded, simulate

RECORDINGS = "batching/1.36"
CASES = [f"{kind}-{number:02d}" for kind in ("default", "list") for number in range(20)]
# The pods that batching sends elsewhere, with the node with it and the node without it.
MOVED = {("list-03", "default/set0-6", "n00", "n06"), ("list-03", "default/set0-7", "n06", "n00")}


@pytest.mark.parametrize("name", sampled(CASES, 5))
def test_identical_to_kube_scheduler_without_batching(name: str, tmp_path: Path) -> None:
    case = recorded(RECORDINGS)[name]
    assert differences(case, simulate(case, tmp_path)) == []


def test_every_recorded_case_is_there() -> None:
    assert sorted(recorded(RECORDINGS)) == CASES


def test_no_pod_is_batched_with_the_default_configuration() -> None:
    """PodTopologySpread with its default constraints signs no pod, and a pod without a signature gets no hint."""
    cases = [case for name, case in recorded(RECORDINGS).items() if name.startswith("default")]
    assert not any("hint" in pod for case in cases for pod in case["batched"])
    assert all(
        pod.get("node") == batched.get("node")
        for case in cases
        for pod, batched in zip(case["pods"], case["batched"], strict=True)
    )


def test_a_hint_skips_scoring_and_may_send_pods_elsewhere() -> None:
    """Scores are normalized over the feasible nodes. A hint keeps the order of scores from before a node was full."""
    moved = set()
    hints = 0
    for name, case in recorded(RECORDINGS).items():
        for pod, batched in zip(case["pods"], case["batched"], strict=True):
            hints += "hint" in batched
            if pod.get("node") != batched.get("node"):
                assert batched["hint"] == batched["node"]
                moved.add((name, pod["pod"], batched["node"], pod["node"]))
    assert (hints, moved) == (179, MOVED)
