"""A cluster whose scheduler answered as ours does agrees with it; every way to differ is named as what it is. The cycles
of a search are limited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.verify.results import Agreement, Checked, Verification
from ksched_cli.plan.verify.search import CycleBudget
from tests.builders import make_node, make_pod, write_list
from tests.failed_scheduling import in_its_own_group, of_old, written_now
from tests.lanes import sampled
from tests.running import Ksched, prepare, verify

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"
CASES = ["basic-01", "mixed-02", "podaffinity-03", "resources-04", "scoring-02", "spread-05", "taints-01"]


def scheduled(pod: dict[str, Any], node: str, second: int) -> dict[str, Any]:
    stamp = f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp}
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Running", "conditions": [condition]}}


def waiting(pod: dict[str, Any], message: str, reason: str = "Unschedulable") -> dict[str, Any]:
    stamp = "2026-01-01T00:59:00Z"
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return {**pod, "status": {"phase": "Pending", "conditions": [{**condition, "lastTransitionTime": stamp}]}}


def key(item: dict[str, Any]) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


@pytest.mark.parametrize("case", sampled(CASES, 4))
def test_what_it_placed_itself_agrees(case: str, tmp_path: Path) -> None:
    items = json.loads((CORPUS / case / "cluster.json").read_text())["items"]
    others = [item for item in items if item["kind"] != "Pod"]
    pods = {key(item): item for item in items if item["kind"] == "Pod" and not item["spec"].get("nodeName")}
    for pod in pods.values():
        pod.pop("status", None)
    path = tmp_path / "cluster.json"
    first = prepare(RunOptions([write_list(path, *others, *pods.values())])).simulate().outcomes
    placed = [scheduled(pods.pop(each.pod), each.node, number) for number, each in enumerate(first) if each.node]
    second = prepare(RunOptions([write_list(path, *others, *placed, *pods.values())])).simulate().outcomes
    waits = [waiting(pods[each.pod], each.message) for each in second if not each.node]
    found = verify(RunOptions([write_list(path, *others, *placed, *waits)]))
    assert len(found.placements) == len(placed) > 0
    assert len(found.pending) == len(waits)
    assert [each for each in (*found.placements, *found.pending) if not each.agreement.agrees] == []


def test_where_it_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str], ksched: Ksched) -> None:
    items = [
        make_node("old").doc(),
        make_node("new").doc(),
        make_node("tainted").taint("team", "a").doc(),
        scheduled(make_pod("first").requests(cpu="1").doc(), "old", 1),
        scheduled(make_pod("second").requests(cpu="1").doc(), "old", 2),
        scheduled(make_pod("third").doc(), "tainted", 3),
        scheduled(make_pod("lost").doc(), "gone", 4),
        scheduled(make_pod("own").spec(schedulerName="mine").doc(), "old", 5),
        waiting(make_pod("big").requests(cpu="9").doc(), "0/9 nodes are available: 9 Insufficient cpu."),
        waiting(make_pod("small").doc(), "0/2 nodes are available: 2 Insufficient cpu."),
        waiting(make_pod("gated").spec(schedulingGates=[{"name": "x"}]).doc(), "", "SchedulingGated"),
    ]
    found = verify(RunOptions([write_list(tmp_path / "cluster.json", *items)]))
    assert [(each.pod, each.agreement, each.answer, each.cause) for each in found.placements] == [
        ("default/first", Agreement.SAME, "old", ""),
        ("default/second", Agreement.OTHER_NODE, "new", "not known"),
        ("default/third", Agreement.REJECTED, "TaintToleration: node(s) had untolerated taint(s)", "not known"),
    ]
    assert {each.pod: each.agreement for each in found.pending} == {
        "default/big": Agreement.OTHER_REASONS,
        "default/small": Agreement.FITS,
        "default/gated": Agreement.SAME,
    }
    assert dict(found.left_out) == {"pods on nodes that are gone": 1, "pods of the scheduler mine": 1}
    assert (found.agreeing, found.compared) == (2, 6)

    shown = ksched("verify", "--from", str(tmp_path / "cluster.json"), code=1).out
    assert "running pods, scheduled again in the order of their bindings: 1 of 3 agree" in shown
    assert "order of bindings: for 3 known by their times" in shown
    assert shown.startswith("6 pods: 2 agree, 33.3 %")
    assert run(["verify", "--from", str(tmp_path / "cluster.json"), "-o", "json", "--exit-zero"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["agreeing"], document["compared"]) == ("Verification", 2, 6)
    assert document["order"] == {"known": 3, "found": 0, "notFound": 0}
    assert ksched("verify", "--from", str(tmp_path / "cluster.json"), "-o", "name", "-n", "none", code=2).out == ""


def test_nodes_that_were_created_since_a_verdict_are_its_cause(tmp_path: Path) -> None:
    nodes = [make_node("before").created("2026-01-01T00:58:00Z"), make_node("since").created("2026-01-01T01:00:00Z")]
    pod = waiting(make_pod("p").doc(), "0/1 nodes are available: 1 Too many pods.")
    items = [*(each.doc() for each in nodes), make_node("unknown").doc(), pod]
    (found,) = verify(RunOptions([write_list(tmp_path / "cluster.json", *items)])).pending
    cause = "since 2026-01-01T00:59:00Z 1 node was created"
    assert (found.agreement, found.cause) == (Agreement.FITS, cause)


def test_events_count_where_they_are_newer(tmp_path: Path) -> None:
    """The condition of `stale` is of before; that of `told` was lost; `gone` is there no more."""
    cpu, memory = (f"0/1 nodes are available: 1 Insufficient {what}." for what in ("cpu", "memory"))
    tail = (
        " no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    items = [
        make_node("n1").doc(),
        waiting(make_pod("stale").requests(cpu="9").doc(), memory + tail),
        make_pod("told").requests(cpu="9").doc(),
        make_pod("silent").requests(cpu="9").doc(),
        written_now("stale", cpu + tail, "2026-01-01T01:00:00Z"),
        of_old("told", cpu + tail, "2026-01-01T01:00:00Z"),
        in_its_own_group("gone", cpu, "2026-01-01T01:00:00Z"),
    ]
    done = verify(RunOptions([write_list(tmp_path / "cluster.json", *items)]))
    assert [(each.pod, each.agreement, each.said_in) for each in done.pending] == [
        ("default/stale", Agreement.SAME, "event"),
        ("default/told", Agreement.SAME, "event"),
    ]
    assert dict(done.left_out) == {
        "pods that are gone, of which there are FailedScheduling events": 1,
        "pods that wait without a verdict of the scheduler": 1,
    }
    assert "notRead" not in done.coverage


def test_a_time_that_is_none_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pod = waiting(make_pod("p").doc(), "")
    pod["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    assert run(["verify", "--from", write_list(tmp_path / "cluster.json", pod)]) == 2
    assert "status.conditions[0].lastTransitionTime: 'yesterday' is not a time" in capsys.readouterr().err


def test_nobody_is_evicted_for_a_pod_that_runs(tmp_path: Path) -> None:
    items = [
        make_node("n1").doc(),
        scheduled(make_pod("low").requests(cpu="3").priority(1).doc(), "n1", 1),
        scheduled(make_pod("high").requests(cpu="3").priority(9).doc(), "n1", 2),
        scheduled(make_pod("last").requests(cpu="1").doc(), "n1", 3),
    ]
    found = verify(RunOptions([write_list(tmp_path / "cluster.json", *items)]))
    assert [each.agreement for each in found.placements] == [Agreement.SAME, Agreement.REJECTED, Agreement.REJECTED]


def test_manifests_are_refused_and_nothing_is_no_agreement(tmp_path: Path, ksched: Ksched) -> None:
    source = write_list(tmp_path / "cluster.json", make_node("n1").doc())
    assert "No such option: -f" in ksched("verify", "--from", source, "-f", source, code=2).err
    assert "nothing to compare" in ksched("verify", "--from", source, code=2).out
    assert Verification.of((Checked("a", Agreement.FITS, ""),), (), {}, {}).agreeing == 0


# With `spare` cycles less from the beginning on, every search of a replay finds the same


MOST = 10


def searches(budget: CycleBudget, wishes: list[int]) -> list[tuple[bool, bool, int]]:
    """Searches that need two cycles to begin and would spend so many: whether each began, ended by itself, and what it
    spent."""
    found = []
    for wish in wishes:
        if not budget.allows(2):
            found.append((False, False, 0))
            continue
        limit = budget.limit(MOST)
        spent = min(wish, limit)
        found.append((True, spent < limit, spent))
        budget.spend_on_search(spent, MOST)
    return found


@pytest.mark.parametrize("wishes", [[], [3], [3, 5, 2], [30], [9, 10, 1], [0, 0], [4, 30, 4, 3]])
@pytest.mark.parametrize("cycles", [0, 1, 2, 5, 10, 12, 21, 40])
def test_so_many_cycles_less_change_nothing(wishes: list[int], cycles: int) -> None:
    whole = CycleBudget(cycles)
    found = searches(whole, wishes)
    assert whole.left + whole.spent == cycles
    for fewer in range(min(whole.spare, cycles) + 1):
        assert searches(CycleBudget(cycles - fewer), wishes) == found
