"""`ksched drain` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.cli.main import run
from ksched_cli.plan.drain.drain import DrainRun
from ksched_cli.report.view.drain import pending_line
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod, write_list
from tests.cli.transcripts import ROOT, same_as_golden, without_stats
from tests.lanes import examples, sampled
from tests.running import Ksched

SHOP = str(ROOT / "fixtures" / "clusters" / "drain.yaml")
OVERRIDE = ["--ignore-daemonsets", "--force", "--delete-emptydir-data"]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("drain", ["east-1", "--ignore-daemonsets"], 1, id="one node"),
        pytest.param("drain-refused", ["east-2", "west-2", "--ignore-daemonsets"], 1, id="refused"),
        pytest.param("drain-two", ["east-2", "west-2", *OVERRIDE], 1, id="two nodes"),
        pytest.param("drain-each-node", ["--each", "node", "--ignore-daemonsets"], 1, id="each node"),
        pytest.param("drain-each-zone", ["--each", "zone", *OVERRIDE, "--delete", "pdb/db", "-n", "shop"], 1, id="each zone"),
        pytest.param("drain-yaml", ["east-1", "--ignore-daemonsets", "-o", "yaml"], 1, id="yaml"),
        pytest.param("drain-help", ["--help"], 0, id="help"),
    ],
)  # fmt: skip
def test_transcript(name: str, arguments: list[str], code: int, ksched: Ksched) -> None:
    shown = without_stats(ksched("drain", "--from", SHOP, *arguments, code=code).out)
    same_as_golden(name, shown, columns=None if name == "drain-yaml" else 80)


def managed(name: str, node: str) -> dict[str, Any]:
    return make_pod(name).requests(cpu="2").on(node).phase("Running").owner("ReplicaSet", "web").doc()


@pytest.mark.parametrize(
    ("items", "arguments", "code"),
    [
        pytest.param([managed("web-1", "a")], ["a"], 0, id="its pods have places"),
        pytest.param([managed("web-1", "a"), managed("web-2", "a")], ["a"], 1, id="one has none"),
        pytest.param([managed("web-1", "a"), managed("web-2", "a")], ["a", "--exit-zero"], 0, id="told to say zero"),
        pytest.param([make_pod("bare").on("a").doc()], ["a"], 1, id="kubectl would refuse"),
        pytest.param([make_pod("bare").on("a").doc()], ["a", "--force"], 1, id="no controller recreates the pod"),
        pytest.param([make_pod("done").on("a").phase("Succeeded").doc()], ["a"], 0, id="a finished pod is no loss"),
        pytest.param([make_pod("bare").on("a").doc()], ["--each", "node"], 1, id="one of them is not safe"),
        pytest.param([], ["-l", "kubernetes.io/hostname in (a,b)"], 0, id="nothing to evict"),
    ],
)
@pytest.mark.parametrize("output", sampled(["table", "wide", "json", "yaml", "name"], 4))
def test_exit_codes(tmp_path: Path, items: list[Any], arguments: list[str], code: int, output: str) -> None:
    nodes = [make_node("a").doc(), make_node("b").allocatable(cpu="3", memory="9Gi", pods=9).doc()]
    cluster = write_list(tmp_path / "c.json", *nodes, *items)
    assert run(["drain", "--from", cluster, "-o", output, *arguments]) == code


def test_the_documents(ksched: Ksched) -> None:
    document = json.loads(ksched("drain", "--from", SHOP, "east-1", "--ignore-daemonsets", "-o", "json").out)
    assert (document["apiVersion"], document["kind"], document["safe"]) == ("ksched/v1", "Drain", False)
    (node,) = document["nodes"]
    assert node["pods"][0] == {
        "pod": "shop/web-7d4b9-aaaaa",
        "fate": "moves",
        "round": 1,
        "successor": node["pods"][0]["successor"],
        "to": "west-2",
    }
    assert node["warnings"] == [{"message": "ignoring DaemonSet-managed Pods", "pods": ["kube-system/logs-east-1"]}]
    trials = json.loads(ksched("drain", "--from", SHOP, "--each", "zone", "--ignore-daemonsets", "-o", "json").out)
    assert (trials["kind"], trials["each"]) == ("DrainList", "zone")
    assert [(trial["name"], trial["result"], len(trial["nodes"])) for trial in trials["trials"]] == [
        ("east", "blocked", 2),
        ("west", "blocked", 2),
    ]


def owned(name: str, node: str, priority: int, cpu: str = "2") -> dict[str, Any]:
    pod = make_pod(name).requests(cpu=cpu).on(node).priority(priority).phase("Running")
    return pod.owner("ReplicaSet", name.rpartition("-")[0]).doc()


BARE = make_pod("bare").requests(cpu="1").on("a").phase("Running").doc()
LOCAL = make_pod("cache").requests(cpu="1").on("a").phase("Running").doc()
LOCAL["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]


@pytest.mark.parametrize(
    ("items", "arguments", "result", "reason"),
    [
        pytest.param([owned("web-1", "a", 0)], [], "safe", "", id="safe"),
        pytest.param(
            [owned("web-1", "a", 10), owned("low-1", "b", 0)],
            [],
            "evicts others",
            "default/low-1 is preempted on b by default/web-",
            id="evicts others",
        ),
        pytest.param(
            [owned("web-1", "a", 10), owned("low-1", "b", 0), owned("big-1", "c", 10, cpu="3")],
            [],
            "no place",
            "default/low-1 is preempted on b by default/web-",
            id="no place for a preempted pod",
        ),
        pytest.param(
            [owned("web-1", "a", 10), make_pod("db").requests(cpu="2").on("b").phase("Running").doc()],
            [],
            "loses pods",
            "default/db is preempted on b by default/web-",
            id="loses a preempted pod",
        ),
        pytest.param([BARE], ["--force"], "loses pods", "default/bare: no controller recreates it", id="loses pods"),
        pytest.param([owned("web-1", "a", 0, cpu="4")], [], "no place", "default/web-1: 0/3 nodes", id="no place"),
        pytest.param([BARE], [], "blocked", "use --force to override): default/bare", id="blocked"),
        pytest.param([LOCAL], ["--force"], "blocked", "use --delete-emptydir-data to override", id="local storage"),
    ],
)
def test_a_trial_has_the_worst_that_happens_as_its_result(
    tmp_path: Path,
    items: list[Any],
    arguments: list[str],
    result: str,
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Only `safe` is exit code 0. A drain that evicts a pod of another node was called safe."""
    sizes = {"a": "4", "b": "2" if len(items) > 1 else "3", "c": "3"}
    nodes = [make_node(name).allocatable(cpu=cpu, memory="9Gi", pods=9).doc() for name, cpu in sizes.items()]
    taint = [{"key": "own", "effect": "NoSchedule"}]
    nodes[2]["spec"] = {"taints": taint}
    for item in items:
        if item["metadata"]["name"].startswith(("low", "big")):
            item["spec"]["tolerations"] = [{"key": "own", "operator": "Exists"}]
    cluster = write_list(tmp_path / "c.json", *nodes, *items)
    arguments = ["drain", "--from", cluster, "--each", "node", *arguments]
    run([*arguments, "-o", "json"])
    first = json.loads(capsys.readouterr().out)["trials"][0]
    assert (first["name"], first["result"], first["safe"]) == ("a", result, result == "safe")
    assert reason in first.get("reason", "")
    run([*arguments, "-o", "table"])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0].startswith("3 nodes, each drained by itself: ")
    assert lines[2].startswith("NODE RESULT")
    assert any(line.startswith(f"a {result}") for line in lines[3:])
    code = run(["drain", "--from", cluster, "a", *arguments[5:]])
    assert code == (0 if result == "safe" else 1)
    assert capsys.readouterr().out.startswith(f"a: {result}, ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], ["say which nodes to drain: NODE..., -l QUERY, or --each node"], id="no node"),
        pytest.param(
            ["east-9", "wets-1"],
            [
                'there is no node "east-9" (did you mean',
                'there is no node "wets-1" (did you mean west-1',
            ],
            id="nodes that are not there",
        ),
        pytest.param(["east-1", "-l", "a=b"], ["cannot specify both a node name and a --selector option"], id="both"),
        pytest.param(["-l", "a=b"], ["there is no node to drain: none matches -l a=b"], id="none matches"),
        pytest.param(["-l", "a=="], ["there is no node to drain"], id="an empty value matches none"),
        pytest.param(["-l", "a in b"], ["ksched: -l a in b: "], id="no selector"),
        pytest.param(["east-1", "--pod-selector", "=x"], ["ksched: --pod-selector =x: "], id="no pod selector"),
        pytest.param(["--each", "rack"], ["'rack'"], id="each what"),
    ],
)
def test_mistakes(arguments: list[str], expected: list[str], ksched: Ksched) -> None:
    captured = ksched("drain", "--from", SHOP, *arguments, code=2)
    assert captured.out == ""
    assert [text for text in expected if text not in captured.err] == []
    assert "Traceback" not in captured.err


@pytest.mark.slow
@pytest.mark.parametrize("node", ["east-1", "east-2", "west-1", "west-2"])
def test_a_node_in_turn_is_the_node_by_itself(node: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the trials share must not tell one of the other; but for names, which are given out once."""

    def told(drain: Any) -> Any:
        pods = [{**pod, "successor": ""} for each in drain["nodes"] for pod in each["pods"]]
        return drain["safe"], pods, drain["budgets"]

    run(["drain", "--from", SHOP, node, *OVERRIDE, "-o", "json"])
    alone = json.loads(capsys.readouterr().out)
    run(["drain", "--from", SHOP, "--each", "node", *OVERRIDE, "-o", "json"])
    trials = {trial["name"]: trial for trial in json.loads(capsys.readouterr().out)["trials"]}
    assert told(trials[node]) == told(alone)


def test_the_line_of_each_trial_is_written_as_soon_as_its_result_is_known(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drain, written = DrainRun.drain, []

    def watched(self: DrainRun, nodes: Any) -> Any:
        written.append(capsys.readouterr().out)
        return drain(self, nodes)

    monkeypatch.setattr(DrainRun, "drain", watched)
    run(["drain", "--from", SHOP, "--each", "node", *OVERRIDE, "-o", "name"])
    assert ["\n" in each for each in written] == [False, True, True, True]


@pytest.mark.parametrize("output", ["table", "wide"])
def test_an_interrupted_command_prints_the_trials_that_are_done(
    output: str, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain, begun = DrainRun.drain, []

    def interrupted(self: DrainRun, nodes: Any) -> Any:
        begun.append(nodes)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return drain(self, nodes)

    monkeypatch.setattr(DrainRun, "drain", interrupted)
    shown = ksched("drain", "--from", SHOP, "--each", "node", *OVERRIDE, "-o", output, code=130)
    assert "interrupted: 2 of 4 drains are done" in shown.err
    assert shown.out.splitlines()[0] == "2 nodes, each drained by itself: 0 safe, 2 blocked"
    assert [name in shown.out for name in ("east-1", "east-2")] == [True, True]


def test_a_command_that_is_interrupted_before_the_first_trial_is_done_prints_no_result(
    ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: DrainRun, nodes: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(DrainRun, "drain", interrupted)
    assert ksched("drain", "--from", SHOP, "--each", "node", *OVERRIDE, code=130).out == ""


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(40), deadline=None)
def test_a_node_in_turn_is_the_node_by_itself_where_pods_wait(data: st.DataObject) -> None:
    """The pending pods are placed once for all trials: those that took a place on the node take another one."""
    names = ("a", "b", "c", "d")
    sizes = {name: data.draw(st.integers(2, 6)) for name in names}
    nodes = [make_node(name).allocatable(cpu=str(size), memory="9Gi", pods=9).obj() for name, size in sizes.items()]
    running = [managed(f"web-{name}", name) for name in names if sizes[name] > 2]
    waiting = [make_pod("new").requests(cpu=str(data.draw(st.integers(1, 7)))).doc()]
    objects = [*nodes, *running, *waiting]

    def told(drain: Any) -> Any:
        pods = [replace(pod, successor="") for node in drain.nodes for pod in node.pods]
        return pods, drain.pending, drain.outcome

    each = Simulator.load(objects).drain_nodes(each="node").trials
    alone = [Simulator.load(objects).drain_nodes(name).trials for name in names]
    assert [told(trial.drain) for trial in each] == [told(trial.drain) for (trial,) in alone]


def test_the_page_counts_pending_pods(capsys: pytest.CaptureFixture[str]) -> None:
    eks = str(ROOT / "fixtures" / "clusters" / "eks.yaml")
    run(["drain", "ip-10-0-1-103", "--ignore-daemonsets", "--from", eks, "-o", "html"])
    assert "7 pending pods in the queue; 1 of them is scheduled before the evicted pods." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pods", "placed", "expected"),
    [
        (1, 0, "1 pending pod in the queue; it is not scheduled before the evicted pods."),
        (1, 1, "1 pending pod in the queue; it is scheduled before the evicted pods."),
        (3, 0, "3 pending pods in the queue; 0 of them are scheduled before the evicted pods."),
        (3, 1, "3 pending pods in the queue; 1 of them is scheduled before the evicted pods."),
    ],
)
def test_the_line_of_pending_pods(pods: int, placed: int, expected: str) -> None:
    assert pending_line(pods, placed) == expected
