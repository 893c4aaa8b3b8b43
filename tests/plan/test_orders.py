"""Results that depend on what Kubernetes leaves to chance: other orders are tried, and the result states how many fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from ksched_cli.cli.main import run
from ksched_cli.cluster.cache import Cluster
from ksched_cli.controlplane.draws import Alternative, Draw
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.run.orders import Tie, Ties
from ksched_cli.plan.scenario import CheckedExpectation, HeldOrders, ScenarioRun, in_all_orders, least_certain
from ksched_cli.simulator import Simulator
from ksched_cli.world.results import FinalPods, Orders, WorldResult
from tests.builders import make_node, make_pod, write_list
from tests.harness import make_scheduler
from tests.plan.rollouts import nodes
from tests.running import Ksched, compare, settle

N0, N1 = {"kubernetes.io/hostname": "n0"}, {"kubernetes.io/hostname": "n1"}


def pod(name: str, cpu: str = "3", **spec: Any) -> dict[str, Any]:
    return make_pod(name).requests(cpu=cpu).spec(**spec).doc()


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
    found = settle(RunOptions(sources=[write_list(tmp_path / "c.json", *tied(selector))]))
    assert [each.pod for each in found.unplaced] == unplaced
    assert found.orders is not None
    assert (found.orders.tried, found.orders.finished) == (2, 1)
    (doubtful,) = found.doubtful.items()
    assert doubtful == ("Pod/default/b-second", found.orders)
    assert [(draw.what, draw.subject, draw.options) for draw in found.draws] == [
        ("node", "default/a-first", ("n0", "n1"))
    ]


@pytest.mark.slow
def test_eight_orders_are_tried_at_most(tmp_path: Path) -> None:
    """Each of the first pods takes a node that one of the last pods needs."""
    first = [pod(f"a-{number:02}") for number in range(10)]
    last = [pod(f"b-{number:02}", nodeSelector={"kubernetes.io/hostname": f"n{number}"}) for number in range(10)]
    found = settle(RunOptions(sources=[write_list(tmp_path / "c.json", *nodes(*["4"] * 12), *first, *last)]))
    assert found.orders is not None
    assert found.orders.tried == 8


def test_a_tie_with_room_for_everybody_is_no_draw(tmp_path: Path) -> None:
    cluster = [*nodes("8", "8"), pod("a-first"), pod("b-second", nodeSelector=N1)]
    found = settle(RunOptions(sources=[write_list(tmp_path / "c.json", *cluster)]))
    assert (found.orders, found.draws) == (None, ())


def test_diff_marks_the_same_tie(tmp_path: Path) -> None:
    before = RunOptions(sources=[write_list(tmp_path / "c.json", *nodes("4", "4"))])
    manifests = write_list(tmp_path / "m.json", pod("a-first"), pod("b-second", nodeSelector=N1))
    found = compare(before, RunOptions(sources=before.sources, filenames=[manifests])).diff
    assert found.failing == ()
    assert found.after.orders is not None
    assert (found.after.orders.tried, found.after.orders.finished) == (2, 1)


def test_no_command_states_such_a_result_as_certain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ksched: Ksched
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_list(tmp_path / "n.json", *nodes("4", "4"))
    write_list(tmp_path / "c.json", *tied(N1))
    write_list(tmp_path / "m.json", pod("a-first"), pod("b-second", nodeSelector=N1))
    shown = ksched("simulate", "--from", "c.json", "--settle", code=0).out
    assert shown.splitlines()[0].startswith("2 pods: 2 scheduled, fits in 1 of 2 orders, ")
    line = "chance decides once (node of default/a-first): every pod has a node in 1 of 2 orders, Pod/default/b-second in 1"
    assert line in shown
    shown = ksched("diff", "--from", "n.json", "-f", "m.json", code=0).out
    assert shown.splitlines()[0] == "2 pods: 2 new, 0 as before, fits in 1 of 2 orders"
    assert line in shown
    document = json.loads(ksched("simulate", "--from", "c.json", "--settle", "-o", "json", code=0).out)
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
    ("needed", "first", "safe"),
    [pytest.param(N0, "no place", 2, id="bad luck"), pytest.param(N1, "safe", 1, id="good luck")],
)
def test_a_drain_that_is_safe_in_some_orders_only_is_not_safe(
    needed: Any, first: str, safe: int, tmp_path: Path
) -> None:
    """It is safe with another node of the tie, and if the controller of the pod that needs the node is first."""
    simulator = Simulator.load(write_list(tmp_path / "c.json", *drained(needed)))
    (trial,) = simulator.drain_nodes("n2").trials
    assert trial.drain.orders == {"safe": safe, "no place": 1}
    assert (trial.drain.first_outcome, trial.drain.outcome, trial.drain.safe) == (first, "no place", False)
    in_turn = {each.name: each.drain for each in simulator.drain_nodes(each="node").trials}
    assert in_turn["n2"].orders == trial.drain.orders


def test_the_line_of_such_a_drain_has_the_number_of_orders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ksched: Ksched
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = write_list(tmp_path / "c.json", *drained(N1))
    shown = ksched("drain", "--from", path, "n2", code=1).out
    assert shown.splitlines()[0] == "n2: no place, in 1 of 2 orders (safe in 1), drained in 1 round, 2 pods move"
    assert "chance decides once (node of default/a-" in shown
    assert run(["drain", "--from", path, "--each", "node"]) == 1
    assert "in 1 of 2 orders (safe in 1): chance decides once (node of default/a-" in capsys.readouterr().out
    document = json.loads(ksched("drain", "--from", path, "n2", "-o", "json").out)
    assert document["orders"] == {"tried": 2, "outcomes": {"safe": 1, "no place": 1}}


def stepped(folder: Path, *steps: dict[str, Any]) -> ScenarioRun:
    file = write_list(folder / "n.json", *nodes("4", "4"))
    write_list(folder / "first.json", pod("a-first"))
    write_list(folder / "both.json", pod("a-first"), pod("b-second", nodeSelector=N1))
    scenario = folder / "scenario.yaml"
    scenario.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Scenario", "steps": steps}))
    return Simulator.load(file).scenario(str(scenario))


def test_an_expectation_holds_if_it_holds_in_every_order(tmp_path: Path) -> None:
    run = stepped(tmp_path, {"apply": "both.json", "expect": {"schedulable": True, "noPreemption": True}})
    (step,) = run.steps
    assert [each.node for each in step.pods] == ["n0", "n1"], "the step ends in the first order"
    assert step.end.orders is not None
    assert (step.end.orders.tried, step.end.orders.finished) == (2, 1)
    schedulable, no_preemption = step.checks
    assert not schedulable.held
    assert schedulable.orders == HeldOrders(2, 1)
    assert schedulable.against[0] == "holds in 1 of 2 orders only; in the others:"
    assert schedulable.against[1].startswith("default/b-second: 0/2 nodes are available")
    assert (no_preemption.held, no_preemption.orders) == (True, HeldOrders(2, 2))
    world = run.settle_result.world
    assert (world.orders, [draw.subject for draw in world.draws]) == (step.end.orders, ["default/a-first"])


def test_a_tie_has_one_alternative_for_all_pods_that_wait_for_its_nodes() -> None:
    """The first other node that leaves the taken one to the first of the pods that wants it."""
    cluster = make_scheduler([make_node(name).obj() for name in "abc"], [make_pod("p").obj()]).cluster
    ties = Ties(cluster, {})
    draw = Draw("node", "default/p", ("a", "b", "c"), ("a",))
    ties.made = [Tie(draw, cluster.pods.infos[0], 0, (0, 1, 2), 0, 1)]

    def wanted(*names: str) -> Any:
        return [np.array([name in each for name in "abc"]) for each in names]

    assert list(ties.alternatives(wanted("a", "ab"))) == [Alternative(draw, 1)]
    assert list(ties.alternatives(wanted("b", "ab", "a"))) == [Alternative(draw, 2)]
    assert list(ties.alternatives(wanted("b", "abc"))) == []


def ended(*against: str) -> CheckedExpectation:
    return CheckedExpectation("schedulable", 3, not against, against)


FEWER = "holds in 1 of 2 orders only; in the others:"


@pytest.mark.parametrize(
    ("ends", "held", "against"),
    [
        pytest.param([ended(), ended()], 2, (), id="in all"),
        pytest.param([ended("a"), ended()], 1, (FEWER, "a"), id="in one"),
        pytest.param([ended("a"), ended("b")], 0, ("b",), id="in none"),
    ],
)
def test_an_expectation_in_two_orders(ends: list[CheckedExpectation], held: int, against: tuple[str, ...]) -> None:
    """The facts against it are those of the first order, which comes last."""
    wanted = CheckedExpectation("schedulable", 3, held == 2, against, HeldOrders(2, held))
    assert in_all_orders(ends) == wanted
    assert in_all_orders(ends[:1]) == ends[0]


def test_the_orders_of_a_scenario_are_those_of_its_least_certain_step() -> None:
    def ends(finished: int | None, *draws: str) -> WorldResult:
        made = tuple(Draw("node", each, ("a", "b"), ("a",)) for each in draws)
        orders = None if finished is None else Orders(4, finished)
        return WorldResult((), FinalPods(), "settled", 0.0, 0, {}, made, orders=orders)

    last = ends(None, "z")
    found = least_certain(last, [ends(3, "x"), ends(1, "y"), ends(2, "x"), last])
    assert (found.orders, [each.subject for each in found.draws]) == (Orders(4, 1), ["z", "x", "y"])
    assert least_certain(last, [last, last]) == last


def test_each_step_tries_its_own_draws(tmp_path: Path) -> None:
    """a-first takes n0 in the first step, where nothing waits for a node; in the second step nothing is tied."""
    run = stepped(tmp_path, {"apply": "first.json", "expect": {"schedulable": True}}, {"cordon": "n0"})
    assert [step.end.orders for step in run.steps] == [None, None]
    assert run.failed == ()


def test_the_table_and_the_document_of_a_scenario_have_the_number_of_orders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksched: Ksched
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stepped(tmp_path, {"apply": "both.json", "expect": {"schedulable": True}})
    command = ["simulate", "--from", str(tmp_path / "n.json"), "--scenario", str(tmp_path / "scenario.yaml")]
    shown = ksched(*command, code=4).out
    assert "chance decides once (node of default/a-first): every pod has a node in 1 of 2 orders" in shown
    assert "holds in 1 of 2 orders only" in shown
    document = json.loads(ksched(*command, "-o", "json", code=4).out)
    (step,) = document["steps"]
    assert step["orders"] == document["orders"] == {"tried": 2, "finished": 1, "workloads": {"Pod/default/b-second": 1}}
    assert step["expectations"][0]["orders"] == {"tried": 2, "held": 1}


def test_no_other_order_builds_a_cluster(tmp_path: Path, built_clusters: list[Cluster]) -> None:
    found = settle(RunOptions(sources=[write_list(tmp_path / "c.json", *tied(N1))]))
    assert (found.orders is not None, len(built_clusters)) == (True, 1)
    assert [each.node for each in found.final] == ["n0", "n1"], "the end is that of the first order"
    (trial,) = Simulator.load(write_list(tmp_path / "d.json", *drained(N0))).drain_nodes("n2").trials
    assert (len(trial.drain.orders), len(built_clusters)) == (2, 2)


def test_both_sides_of_a_diff_are_one_cluster(tmp_path: Path, built_clusters: list[Cluster]) -> None:
    before = RunOptions(sources=[write_list(tmp_path / "c.json", *tied(N1))])
    found = compare(before, replace(before, edits=[("cordon", "n1")])).diff
    assert [(each.pod, each.node) for each in (found.changes[0].before, found.changes[0].after) if each] == [
        ("default/b-second", "n1"),
        ("default/b-second", ""),
    ]
    assert found.columns is not None
    assert (found.columns.before.cordoned, found.columns.after.cordoned) == ([], ["n1"])
    assert len(built_clusters) == 1
    assert compare(before, replace(before, kube_version="1.33")).diff.changes == ()
    assert len(built_clusters) == 3, "another minor has another cluster of the same objects"


def test_a_scenario_loses_nodes_in_its_own_cluster(tmp_path: Path, built_clusters: list[Cluster]) -> None:
    (web, running) = replica("web", "n0")
    write_list(tmp_path / "n.json", *nodes("4", "4"), web, running)
    (tmp_path / "s.yaml").write_text(
        json.dumps(
            {
                "apiVersion": "ksched/v1",
                "kind": "Scenario",
                "steps": [{"label": "n0=a=b", "expect": {"survives": {"node": 1}}}],
            }
        )
    )
    simulator = Simulator.load(str(tmp_path / "n.json"))
    (step,) = simulator.scenario(str(tmp_path / "s.yaml")).steps
    assert all(check.held for check in step.checks)
    (tmp_path / "s.yaml").write_text(
        json.dumps(
            {
                "apiVersion": "ksched/v1",
                "kind": "Scenario",
                "steps": [{"cordon": "n1", "expect": {"survives": {"node": 1}}}],
            }
        )
    )
    (step,) = simulator.scenario(str(tmp_path / "s.yaml")).steps
    (check,) = step.checks
    assert [line.split(":")[0] for line in check.against] == ["without n0"]
    assert len(built_clusters) == 2
