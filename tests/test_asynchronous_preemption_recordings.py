"""What SchedulerAsyncPreemption and SchedulerAsyncAPICalls change for the user, on clusters that kube-scheduler 1.36 ran to
the end several times with each setting: nothing but the timing of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.plan.run.options import RunOptions
from tests.lanes import sampled
from tests.own_recordings import recorded
from tests.running import settle

RECORDINGS = "asynchronous-preemption/1.36"
CASES = [f"preempt-{number:02d}" for number in range(30)]
# Clusters in which kube-scheduler ends differently from run to run, with one setting or between settings.
TIMED = {f"preempt-{number:02d}" for number in (0, 10, 12, 16, 17, 19, 23, 25, 27)}


def outcomes(case: dict[str, Any], setting: str) -> list[dict[str, Any]]:
    return [{"placed": each["placed"], "evicted": each["evicted"]} for each in case["outcomes"][setting]]


def all_outcomes(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for setting in case["outcomes"] for each in outcomes(case, setting)]


def test_every_recorded_case_is_there() -> None:
    assert sorted(recorded(RECORDINGS)) == CASES


@pytest.mark.parametrize("gates", ["", "SchedulerAsyncPreemption=false", "SchedulerAsyncAPICalls=true"])
@pytest.mark.parametrize("name", sampled(CASES, 5))
def test_the_end_is_one_that_kube_scheduler_reaches(name: str, gates: str, tmp_path: Path) -> None:
    case = recorded(RECORDINGS)[name]
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps(case["cluster"]))
    final = {pod.pod: pod for pod in settle(RunOptions([str(cluster)], feature_gates=gates)).final}
    pending = case["outcomes"]["asynchronous"][0]["placed"]
    found = {
        "placed": {pod: final[pod].node for pod in pending},
        "evicted": sorted(pod.pod for pod in final.values() if pod.state == "gone"),
    }
    assert found in all_outcomes(case)


def test_where_runs_agree_the_settings_agree() -> None:
    """11 runs of each cluster: 4 with each value of SchedulerAsyncPreemption and 3 with SchedulerAsyncAPICalls."""
    assert {
        name for name, case in recorded(RECORDINGS).items() if all_outcomes(case)[0:1] * 3 != all_outcomes(case)
    } == TIMED


def test_where_runs_differ_both_settings_reach_a_common_end() -> None:
    for name in TIMED:
        case = recorded(RECORDINGS)[name]
        with_it, without = outcomes(case, "asynchronous"), outcomes(case, "inTheCycle")
        assert any(each in without for each in with_it), name
