"""Recordings that hold a case with its cluster and its configuration in one line, and how ksched is compared with them:
pod groups, gates that are off by default, batching, asynchronous preemption and sampling of nodes."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.plan.run.options import RunOptions
from ksched_cli.report.registry import RenderOptions, render
from tests.lanes import sampled
from tests.running import prepare, settle

_ROOT = Path(__file__).parent.parent / "fixtures" / "conformance"
_KEYS = ("pod", "result", "node", "message", "totals", "nominatedNode")


@cache
def recorded(name: str) -> dict[str, dict[str, Any]]:
    """The cases of fixtures/conformance/NAME.jsonl.gz by name."""
    with gzip.open(_ROOT / f"{name}.jsonl.gz", "rt") as lines:
        return {case["case"]: case for case in map(json.loads, lines)}


def simulate(case: dict[str, Any], folder: Path, **options: Any) -> dict[str, Any]:
    """The document of the case; its pods are in the order of their cycles."""
    cluster = folder / "cluster.json"
    cluster.write_text(json.dumps(case["cluster"]))
    gates = case.get("gates", "")
    prepared = prepare(RunOptions([str(cluster)], config=case.get("config"), feature_gates=gates, **options))
    out = io.StringIO()
    render(prepared.stream(detail=True, top=0), out, RenderOptions("json"))
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def differences(case: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """What differs between the recorded pods and pod groups and those of the document."""
    found = [_of_pod(*pair) for pair in zip(case["pods"], document["pods"], strict=True)]
    groups = {group["podGroup"]: group for group in document.get("podGroups", ())}
    found += [_of_group(group, groups[group["group"]]) for group in case.get("groups", ())]
    gated = (sorted(case.get("gated", ())), sorted(document["gated"]))
    return [
        *([] if gated[0] == gated[1] else [f"gated: want {gated[0]} got {gated[1]}"]),
        *(e for each in found for e in each),
    ]


def _of_pod(want: dict[str, Any], got: dict[str, Any]) -> Iterator[str]:
    values = [(key, want.get(key), got.get(key)) for key in _KEYS]
    values += [(key, _sorted(want.get(key)), _sorted(got.get(key))) for key in ("ties",)]
    values.append(("feasible", _sorted(want.get("feasible") or want.get("totals")), _sorted(got.get("feasible"))))
    values.append(("preemption", *map(_preemption, (want, got))))
    for key, wanted, found in values:
        if (wanted or None) != (found or None):
            yield f"{want['pod']} {key}: want {wanted} got {found}"


def _of_group(want: dict[str, Any], got: dict[str, Any]) -> Iterator[str]:
    values = [
        ("message", want["message"], got.get("message", "")),
        ("status", want["status"], "True" if got["result"] == "scheduled" else "False"),
        ("preemption", _preemption(want), _preemption(got)),
    ]
    for key, wanted, found in values:
        if wanted != found:
            yield f"{want['group']} {key}: want {wanted} got {found}"


def _sorted(names: Any) -> list[str]:
    return sorted(names or ())


def _preemption(entry: dict[str, Any]) -> dict[str, Any]:
    """Victims have no order: they are evicted in parallel."""
    done = entry.get("preemption")
    return {**done, "victims": _sorted(done["victims"])} if done else {}


GROUPS, GATES, BATCHING = "pod-groups/1.36", "alpha-gates/1.36", "batching/1.36"
PREEMPTION, SAMPLING = "asynchronous-preemption/1.36", "sampling/1.36"
CASES = {
    GROUPS: [f"{kind}-{number:02d}" for kind in ("all", "gang", "preemption", "topology") for number in range(10)],
    # DeviceTaintRules, and claims that the pods of a group share.
    GATES: [*(f"group-claims-{n:02d}" for n in range(24)), *(f"taint-rules-{n:02d}" for n in range(20))],
    BATCHING: [f"{kind}-{number:02d}" for kind in ("default", "list") for number in range(20)],
    PREEMPTION: [f"preempt-{number:02d}" for number in range(30)],
    # Of 150 to 1,500 nodes, of which kube-scheduler looks at a part.
    SAMPLING: [f"sampling-{number:02d}" for number in range(20)],
}


@pytest.mark.parametrize("name", CASES)
def test_every_recorded_case_is_there(name: str) -> None:
    assert sorted(recorded(name)) == CASES[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "case"),
    [
        *sampled((pytest.param(name, case, id=case) for name in (GROUPS, GATES, BATCHING) for case in CASES[name]), 5),
        *sampled((pytest.param(SAMPLING, case, id=case) for case in CASES[SAMPLING]), 7),
    ],
)
def test_every_field_of_every_pod_and_group_is_the_same(name: str, case: str, tmp_path: Path) -> None:
    """ksched answers as without OpportunisticBatching. With the default configuration that is no difference."""
    found = simulate(recorded(name)[case], tmp_path, sampling=name == SAMPLING)
    assert differences(recorded(name)[case], found) == []
    assert "featureGatesNotModelled" not in found["coverage"]


@pytest.mark.slow
def test_without_sampling_pods_go_elsewhere(tmp_path: Path) -> None:
    """The recordings are of a part of the nodes: an answer about all nodes does not agree with them."""
    assert {len(case["pods"]) for case in recorded(SAMPLING).values()} == {14}
    case = recorded(SAMPLING)["sampling-19"]
    assert differences(case, simulate(case, tmp_path))


# Pod groups


def test_each_result_of_a_group_was_recorded() -> None:
    """The recordings show placed groups, waiting groups, victims of whole groups, and groups that fail."""
    groups = [group for case in recorded(GROUPS).values() for group in case["groups"]]
    assert sum(group["status"] == "True" for group in groups) == 14
    assert sum("preemption" in group for group in groups) == 18
    assert sum(group["message"].endswith("waiting for preemption to complete") for group in groups) == 17


def test_without_the_gates_pods_go_elsewhere(tmp_path: Path) -> None:
    case = recorded(GROUPS)["gang-00"]
    found = simulate({**case, "gates": ""}, tmp_path)["pods"]
    assert {pod["pod"]: pod.get("node") for pod in found} != {pod["pod"]: pod.get("node") for pod in case["pods"]}


# Gates that are off by default


@pytest.mark.parametrize("name", sampled((name for name in CASES[GATES] if name.startswith("taint-rules")), 5))
def test_without_the_gate_the_rules_count_for_nothing(name: str, tmp_path: Path) -> None:
    case = recorded(GATES)[name]
    assert differences(case, simulate({**case, "gates": ""}, tmp_path))


@pytest.mark.parametrize("name", sampled(CASES[GATES], 11))
def test_devices_that_stand_for_nothing_of_their_node_change_nothing(name: str, tmp_path: Path) -> None:
    """The gate DRANodeAllocatableResources is about slices with nodeAllocatableResourceMappings; these have none."""
    case = recorded(GATES)[name]
    gates = f"{case['gates']},DRANodeAllocatableResources=true"
    assert differences(case, simulate({**case, "gates": gates}, tmp_path)) == []


# Batching

# The pods that batching sends elsewhere, with the node with it and the node without it.
MOVED = {("list-03", "default/set0-6", "n00", "n06"), ("list-03", "default/set0-7", "n06", "n00")}


def test_no_pod_is_batched_with_the_default_configuration() -> None:
    """PodTopologySpread with its default constraints signs no pod, and a pod without a signature gets no hint."""
    cases = [case for name, case in recorded(BATCHING).items() if name.startswith("default")]
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
    for name, case in recorded(BATCHING).items():
        for pod, batched in zip(case["pods"], case["batched"], strict=True):
            hints += "hint" in batched
            if pod.get("node") != batched.get("node"):
                assert batched["hint"] == batched["node"]
                moved.add((name, pod["pod"], batched["node"], pod["node"]))
    assert (hints, moved) == (179, MOVED)


# Asynchronous preemption and API calls, which change nothing but the timing of a run

# Clusters in which kube-scheduler ends differently from run to run, with one setting or between settings.
TIMED = {f"preempt-{number:02d}" for number in (0, 10, 12, 16, 17, 19, 23, 25, 27)}


def outcomes(case: dict[str, Any], setting: str) -> list[dict[str, Any]]:
    return [{"placed": each["placed"], "evicted": each["evicted"]} for each in case["outcomes"][setting]]


def all_outcomes(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for setting in case["outcomes"] for each in outcomes(case, setting)]


@pytest.mark.slow
@pytest.mark.parametrize("gates", ["", "SchedulerAsyncPreemption=false", "SchedulerAsyncAPICalls=true"])
@pytest.mark.parametrize("name", sampled(CASES[PREEMPTION], 5))
def test_the_end_is_one_that_kube_scheduler_reaches(name: str, gates: str, tmp_path: Path) -> None:
    case = recorded(PREEMPTION)[name]
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
        name for name, case in recorded(PREEMPTION).items() if all_outcomes(case)[0:1] * 3 != all_outcomes(case)
    } == TIMED


def test_where_runs_differ_both_settings_reach_a_common_end() -> None:
    for name in TIMED:
        case = recorded(PREEMPTION)[name]
        with_it, without = outcomes(case, "asynchronous"), outcomes(case, "inTheCycle")
        assert any(each in without for each in with_it), name
