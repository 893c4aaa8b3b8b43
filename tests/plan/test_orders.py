"""Results that depend on what Kubernetes leaves to chance: other orders are tried, and the result states how many fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.simulator import Simulator
from ksched_cli.wiring.comparison import compare
from ksched_cli.wiring.options import RunOptions
from tests.builders import make_pod
from tests.plan.rollouts import nodes, write
from tests.running import settle

N0, N1 = {"kubernetes.io/hostname": "n0"}, {"kubernetes.io/hostname": "n1"}


def pod(name: str, cpu: str = "3", **spec: Any) -> dict[str, Any]:
    made = make_pod(name).requests(cpu=cpu).doc()
    made["spec"] |= spec
    return dict(made)


def tied(selector: dict[str, str]) -> list[dict[str, Any]]:
    """a-first goes to either node; b-second needs one of them."""
    return [*nodes("4", "4"), pod("a-first"), pod("b-second", nodeSelector=selector)]


@pytest.mark.parametrize(
    ("selector", "unplaced"),
    [
        pytest.param(N0, ["default/b-second"], id="the first node by name leaves a pod without a node"),
        pytest.param(N1, [], id="the first node by name has room for both by luck"),
    ],
)
def test_settle_marks_a_tie_that_decides_who_has_a_node(selector: Any, unplaced: list[str], tmp_path: Path) -> None:
    found = settle(RunOptions(sources=[write(tmp_path / "c.json", *tied(selector))]))
    assert [each.pod for each in found.unplaced] == unplaced
    assert found.orders is not None
    assert (found.orders.tried, found.orders.finished) == (2, 1)
    (doubtful,) = found.doubtful.items()
    assert doubtful == ("Pod/default/b-second", found.orders)
    assert [(draw.what, draw.subject, draw.options) for draw in found.draws] == [
        ("node", "default/a-first", ("n0", "n1"))
    ]


def test_a_tie_with_room_for_everybody_is_no_draw(tmp_path: Path) -> None:
    cluster = [*nodes("8", "8"), pod("a-first"), pod("b-second", nodeSelector=N1)]
    found = settle(RunOptions(sources=[write(tmp_path / "c.json", *cluster)]))
    assert (found.orders, found.draws) == (None, ())


def test_diff_marks_the_same_tie(tmp_path: Path) -> None:
    before = RunOptions(sources=[write(tmp_path / "c.json", *nodes("4", "4"))])
    manifests = write(tmp_path / "m.json", pod("a-first"), pod("b-second", nodeSelector=N1))
    found = compare(before, RunOptions(sources=before.sources, filenames=[manifests])).diff
    assert found.failing == ()
    assert found.after.orders is not None
    assert (found.after.orders.tried, found.after.orders.finished) == (2, 1)


def test_no_command_states_such_a_result_as_certain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write(tmp_path / "n.json", *nodes("4", "4"))
    write(tmp_path / "c.json", *tied(N1))
    write(tmp_path / "m.json", pod("a-first"), pod("b-second", nodeSelector=N1))
    assert run(["simulate", "--from", "c.json", "--settle"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].startswith("2 pods: 2 scheduled, fits in 1 of 2 orders, ")
    line = "chance decides once (node of default/a-first): every pod has a node in 1 of 2 orders, Pod/default/b-second in 1"
    assert line in shown
    assert run(["diff", "--from", "n.json", "-f", "m.json"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == "2 pods: 2 new, 0 as before, fits in 1 of 2 orders"
    assert line in shown
    assert run(["simulate", "--from", "c.json", "--settle", "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["orders"] == {"tried": 2, "finished": 1, "workloads": {"Pod/default/b-second": 1}}
    run(["check", "--from", "n.json", "-f", "m.json"])
    assert capsys.readouterr().out.splitlines()[0] == "2 workloads: all fit in some orders only, 1 warning (2 nodes)"


def drained(needed: dict[str, str]) -> list[dict[str, Any]]:
    """n2 is drained: a may go to n0 or n1; b, which follows it, needs one of them."""
    a = replica("a", "n2")
    b = replica("b", "n2", nodeSelector={"role": "x", **needed})
    cluster = [*nodes("4", "4", "8"), *a, *b]
    for item in cluster[:3]:
        item["metadata"]["labels"] = {"kubernetes.io/hostname": item["metadata"]["name"], "role": "x"}
    return cluster


def replica(name: str, node: str, **spec: Any) -> list[dict[str, Any]]:
    """A ReplicaSet with one pod on the node."""
    labels = {"app": name}
    template = pod(name, **spec)
    template = {"metadata": {"labels": labels}, "spec": template["spec"]}
    metadata = {"name": name, "namespace": "default", "uid": f"u-{name}"}
    selector = {"matchLabels": labels}
    running = pod(f"{name}-1", **spec, nodeName=node)
    running["metadata"] |= {
        "labels": labels,
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"u-{name}", "controller": True}
        ],
    }
    running["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {"replicas": 1, "selector": selector, "template": template},
    }
    return [owner, running]


@pytest.mark.parametrize(
    ("needed", "first"),
    [pytest.param(N0, "no place", id="bad luck"), pytest.param(N1, "safe", id="good luck")],
)
def test_a_drain_that_is_safe_in_some_orders_only_is_not_safe(needed: Any, first: str, tmp_path: Path) -> None:
    simulator = Simulator.load(write(tmp_path / "c.json", *drained(needed)))
    (trial,) = simulator.drain_nodes("n2").trials
    assert trial.drain.orders == {"safe": 1, "no place": 1}
    assert (trial.drain.first_outcome, trial.drain.outcome, trial.drain.safe) == (first, "no place", False)
    in_turn = {each.name: each.drain for each in simulator.drain_nodes(each="node").trials}
    assert in_turn["n2"].orders == trial.drain.orders


def test_the_line_of_such_a_drain_has_the_number_of_orders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = write(tmp_path / "c.json", *drained(N1))
    assert run(["drain", "--from", path, "n2"]) == 1
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == "n2: no place, in 1 of 2 orders (safe in 1), drained in 1 round, 2 pods move"
    assert "chance decides once (node of default/a-" in shown
    assert run(["drain", "--from", path, "--each", "node"]) == 1
    assert "in 1 of 2 orders (safe in 1): chance decides once (node of default/a-" in capsys.readouterr().out
    run(["drain", "--from", path, "n2", "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["orders"] == {"tried": 2, "outcomes": {"safe": 1, "no place": 1}}
