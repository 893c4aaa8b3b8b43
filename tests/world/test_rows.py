"""What the real control plane does where simulations used to disagree, case by case.

Cases that have their test elsewhere: Jobs in waves, versions that never fit, counts of new pods and DaemonSet pods that
make room (tests/plan/test_check_world.py), scaling down (tests/cli/test_final.py), placements of a fresh cluster
(tests/plan/test_verify_controlplane.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Node, Taint
from ksched_cli.api.policy import ResourceQuota
from ksched_cli.cli.main import run
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.releases.minors import release
from ksched_cli.whatif.edits.lib.apply import apply_edits
from ksched_cli.whatif.edits.taint import SetTaint
from ksched_cli.world.results import Limits
from tests.builders import make_node, make_pod
from tests.controlplane.harness import make
from tests.harness import TimedEvent, make_scheduler, settle
from tests.plan.rollouts import OLD, checked, nodes, rolling, running_deployment, template
from tests.plan.rollouts import workload as manifest
from tests.plan.test_check_world import HIGH, named
from tests.test_one_world import at_rest, documents, node, saved, workload
from tests.test_one_world import template as pod_template


def tolerating(name: str, seconds: int) -> Any:
    toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    pod = make_pod(name).uid(name).on("n1").phase("Running").spec(tolerations=[toleration])
    pod.spec(terminationGracePeriodSeconds=1)
    owner = {"kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    pod.data["metadata"]["ownerReferences"] = [owner]
    return pod.obj()


def test_a_no_execute_taint_evicts_after_the_toleration_seconds_of_each_pod() -> None:
    """The pod that tolerates for 3 s comes back on the same node and goes again and again; the other stays 300 s."""

    def change(plane: ControlPlane) -> None:
        apply_edits(plane, [SetTaint("n1", Taint("k", "", "NoExecute"))])

    node: Node = make_node("n1").allocatable(cpu="4", memory="4Gi", pods=10).obj()
    found = settle(
        make_scheduler([node], [tolerating("short", 3), tolerating("long", 300)]), Limits(max_time=200), change=change
    )
    gone = [each.time for each in found.timeline if each.event == "AssignedPodDelete"]
    assert gone[:2] == [4.0, 7.0], "three seconds of tolerance, one of grace, and the next pod is bound at 3 s"
    assert not found.settled
    assert {pod.node for pod in found.final if pod.workload.endswith("/short") and pod.state == "scheduled"} <= {"n1"}
    assert [(pod.state, pod.node) for pod in found.final if pod.workload.endswith("/long")] == [("running", "n1")]


def test_created_pods_lose_the_fields_that_the_minor_does_not_know() -> None:
    """Kubernetes 1.27 does not know sidecars."""
    sidecar = {"name": "s", "restartPolicy": "Always"}
    node: Node = make_node("n1").allocatable(cpu="4", memory="4Gi", pods=10).obj()
    scheduler = make_scheduler([node], [], current=release("1.27"))

    def change(plane: ControlPlane) -> None:
        plane.api.create(make_pod("new").uid("new").init(**sidecar).obj())

    settle(scheduler, change=change)
    (created,) = [info.pod for info in scheduler.cluster.pods.infos]
    assert [each.restart_policy for each in created.spec.init_containers] == [None]


def test_the_replica_set_controller_backs_off_after_a_quota_refusal() -> None:
    """Three of four pods for a while: the room that a deleted pod leaves is used at the next retry, not at once."""
    quota = msgspec.convert(
        {"metadata": {"name": "few", "namespace": "default"}, "spec": {"hard": {"pods": "4"}}}, ResourceQuota
    )
    node: Node = make_node("n1").allocatable(cpu="8", memory="4Gi", pods=10).obj()
    bare = make_pod("bare").uid("bare").on("n1").phase("Running").spec(terminationGracePeriodSeconds=0).obj()

    def change(plane: ControlPlane) -> None:
        plane.api.create(make("ReplicaSet", "web", replicas=4))

    found = settle(
        make_scheduler([node], [bare], objects=[quota]), change=change, events=[TimedEvent(1.0, "delete", bare)]
    )
    created = [each.time for each in found.timeline if each.event == "UnschedulablePodAdd"]
    assert created[:3] == [0.0, 0.0, 0.0]
    (last,) = created[3:]
    assert 1.0 < last < 2.0
    assert found.settled


def urgent(name: str) -> dict[str, Any]:
    spec = pod_template(name, 4, 10)["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def states(final: list[dict[str, str]], name: str) -> list[str]:
    return sorted(pod["state"] for pod in final if pod["workload"] == name)


@pytest.mark.parametrize("settled", [[], ["--settle"]], ids=["plain", "settle"])
def test_of_four_daemon_set_pods_two_that_are_preempted_are_pending(
    settled: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = workload("DaemonSet", "agents", 0, 1, 0)
    cluster = at_rest([node(f"n{number}", 4) for number in range(4)], [agents], tmp_path)
    dump, pods = saved(tmp_path / "cluster.json", *documents(cluster)), [urgent("one"), urgent("other")]
    applied = saved(tmp_path / "urgent.json", *pods)
    scenario = tmp_path / "scenario.yaml"
    steps = [{"apply": Path(applied).name, "expect": {"schedulable": True}}]
    scenario.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Scenario", "steps": steps}))
    assert run(["simulate", "--from", dump, "--scenario", str(scenario), *settled, "-o", "json"]) == 4
    final = json.loads(capsys.readouterr().out)["final"]
    assert states(final, "DaemonSet/shop/agents") == ["gone"] * 2 + ["running"] * 2 + ["unschedulable"] * 2


def test_diff_taint_recreates_a_daemon_set_pod_that_is_preempted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The taint evicts web from its node; web preempts the agent of the other node, and the new agent is Pending."""
    agents, web = workload("DaemonSet", "agents", 0, 2, 0), workload("Deployment", "web", 1, 3, 100)
    agents["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    cluster = at_rest([node("n1", 5), node("n2", 4)], [agents, web], tmp_path)
    dump = saved(tmp_path / "cluster.json", *documents(cluster))
    assert run(["diff", "--from", dump, "--taint", "n1=t:NoExecute", "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (change,) = [each for each in found["pods"] if each["workload"] == "daemonset/shop/agents"]
    assert (change["change"], change["before"]["node"], change["after"]["state"]) == (
        "newlyFailing",
        "n2",
        "unschedulable",
    )
    assert states(found["final"], "DaemonSet/shop/agents") == ["gone", "running", "unschedulable"]


def test_a_rollout_evicts_four_low_pods_and_all_four_run_again(tmp_path: Path) -> None:
    low = named("low", running_deployment(["n0", "n0", "n1", "n1"], template(OLD)))
    web = named("web", running_deployment(["n0", "n0", "n1", "n1"], template(OLD, priorityClassName="high")))
    for number, item in enumerate(each for each in low if each["kind"] == "Pod"):
        item["spec"]["terminationGracePeriodSeconds"] = 10 if number < 2 else 20
    for item in web:
        if item["kind"] == "Pod":
            item["spec"]["priority"] = 1000
    new = manifest("Deployment", template(priorityClassName="high"), replicas=4, strategy=rolling(1, 1))
    found = checked(tmp_path, [*nodes("4", "4"), HIGH, *low, *web], *named("web", [new]))
    (only,), (loss,) = found.workloads, found.losses
    assert (only.result, only.running, only.old) == ("warns", 4, 0)
    assert [len(step.made) for step in only.steps if step.made] == [2, 1, 1]
    assert (loss.workload, len(loss.evicted), loss.pending) == ("Deployment/default/low", 4, 0)
    assert found.world is not None
    low_pods = [each for each in found.world.final if each.workload == "Deployment/default/low"]
    assert sorted(each.state for each in low_pods) == ["gone"] * 4 + ["scheduled"] * 4


def test_one_of_three_orders_of_equal_old_pods_is_a_deadlock(tmp_path: Path) -> None:
    """New pods run on n0 only. Two of the three old pods go first: without n0's among them nothing has room."""
    cluster = [*nodes("3", "3", "3"), *running_deployment(["n0", "n1", "n2"], template(OLD, cpu="3"))]
    on_n0 = template(cpu="1", nodeSelector={"kubernetes.io/hostname": "n0"})
    found = checked(tmp_path, cluster, manifest("Deployment", on_n0, replicas=3, strategy=rolling(0, 2)))
    (only,) = found.workloads
    assert only.orders is not None
    assert (only.orders.tried, only.orders.finished) == (3, 2)
    assert only.result == "warns"
    assert only.findings[0].message.startswith("finishes in 2 of 3 orders")
