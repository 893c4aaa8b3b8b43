"""What the real control plane does where simulations used to disagree: one test for each of twelve cases, by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Node, Taint
from ksched_cli.api.workloads import ResourceQuota
from ksched_cli.cli.main import run
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.verify.results import Order, Verification
from ksched_cli.releases.minors import RELEASES
from ksched_cli.whatif.edits.lib.apply import apply_edits
from ksched_cli.whatif.edits.node_fields import TaintNode
from ksched_cli.world.results import Limits
from tests.builders import make_node, make_pod, write_list
from tests.controlplane.harness import make
from tests.harness import TimedEvent, make_scheduler, settle
from tests.lanes import sampled
from tests.plan.rollouts import OLD, checked, nodes, rolling, running_daemons, running_deployment, template
from tests.plan.rollouts import workload as manifest
from tests.plan.test_check_world import HIGH, job, named
from tests.running import Ksched, verify
from tests.test_one_world import at_rest, documents, node, workload
from tests.test_one_world import template as pod_template

CASES = Path(__file__).parents[2] / "fixtures" / "controlplane" / "cases"
# Those from 101 on have pods that waited or moved before the recording began.
RECORDINGS = sorted(path.parent.name for path in CASES.glob("*-[0-9][0-9]/before.json"))
# In these a node was cordoned while the pods were placed.
CORDONED = {"rollout-statefulset-13": "node-4", "rollout-statefulset-14": "node-1"}


def tolerating(name: str, seconds: int) -> Any:
    toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    pod = make_pod(name).uid(name).on("n1").phase("Running").spec(tolerations=[toleration])
    return pod.spec(terminationGracePeriodSeconds=1).owner("ReplicaSet", name, uid=name).obj()


def urgent(name: str) -> dict[str, Any]:
    spec = pod_template(name, 4, 10)["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def states(final: list[dict[str, str]], name: str) -> list[str]:
    return sorted(pod["state"] for pod in final if pod["workload"] == name)


@pytest.mark.slow
@pytest.mark.parametrize("settled", [[], ["--settle"]], ids=["plain", "settle"])
def test_a_pending_pod_preempts_a_daemon_set_pod(
    settled: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = workload("DaemonSet", "agents", 0, 1, 0)
    cluster = at_rest([node(f"n{number}", 4) for number in range(4)], [agents], tmp_path)
    dump, pods = write_list(tmp_path / "cluster.json", *documents(cluster)), [urgent("one"), urgent("other")]
    applied = write_list(tmp_path / "urgent.json", *pods)
    scenario = tmp_path / "scenario.yaml"
    steps = [{"apply": Path(applied).name, "expect": {"schedulable": True}}]
    scenario.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Scenario", "steps": steps}))
    assert run(["simulate", "--from", dump, "--scenario", str(scenario), *settled, "-o", "json"]) == 4
    final = json.loads(capsys.readouterr().out)["final"]
    assert states(final, "DaemonSet/shop/agents") == ["gone"] * 2 + ["running"] * 2 + ["unschedulable"] * 2


def test_a_pending_pod_preempts_a_daemon_set_pod_through_diff_taint(tmp_path: Path, ksched: Ksched) -> None:
    """The taint evicts web from its node; web preempts the agent of the other node, and the new agent is Pending."""
    agents, web = workload("DaemonSet", "agents", 0, 2, 0), workload("Deployment", "web", 1, 3, 100)
    agents["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    cluster = at_rest([node("n1", 5), node("n2", 4)], [agents, web], tmp_path)
    dump = write_list(tmp_path / "cluster.json", *documents(cluster))
    found = json.loads(ksched("diff", "--from", dump, "--taint", "n1=t:NoExecute", "-o", "json", code=1).out)
    (change,) = [each for each in found["pods"] if each["workload"] == "daemonset/shop/agents"]
    assert (change["change"], change["before"]["node"], change["after"]["state"]) == (
        "newlyFailing",
        "n2",
        "unschedulable",
    )
    assert states(found["final"], "DaemonSet/shop/agents") == ["gone", "running", "unschedulable"]


def test_check_of_a_rollout_whose_new_pods_preempt_a_low_priority_deployment(tmp_path: Path) -> None:
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


def test_check_where_old_pods_are_equal_in_every_rule_of_deletion_order(tmp_path: Path) -> None:
    """New pods run on n0 only. Two of the three old pods go first: without n0's among them nothing has room."""
    cluster = [*nodes("3", "3", "3"), *running_deployment(["n0", "n1", "n2"], template(OLD, cpu="3"))]
    on_n0 = template(cpu="1", nodeSelector={"kubernetes.io/hostname": "n0"})
    found = checked(tmp_path, cluster, manifest("Deployment", on_n0, replicas=3, strategy=rolling(0, 2)))
    (only,) = found.workloads
    assert only.orders is not None
    assert (only.orders.tried, only.orders.finished) == (3, 2)
    assert only.result == "warns"
    assert only.findings[0].message.startswith("finishes in 2 of 3 orders")


def test_check_of_a_job_with_more_completions_than_room(tmp_path: Path) -> None:
    found = checked(tmp_path, nodes("6"), job(completions=8, parallelism=8))
    (only,) = found.workloads
    assert (only.result, only.running, only.pods) == ("fits", 8, 8)
    assert [(each.code, each.message) for each in only.findings] == [
        ("KS406", "its pods run in 2 waves: there is no room for all at once")
    ]


def test_check_where_the_new_version_would_not_fit_even_with_all_old_pods_gone(tmp_path: Path) -> None:
    """One new pod would fit without the old ones, three never: no strategy helps."""
    cluster = [*nodes("4", "4"), *running_deployment(["n0", "n0", "n1"], template(OLD, cpu="2"))]
    new = manifest("Deployment", template(cpu="3"), replicas=3, strategy=rolling(1, 0))
    found = checked(tmp_path, cluster, new)
    (finding,) = found.findings
    assert (finding.code, finding.level) == ("KS101", "error")
    assert finding.message.endswith("; it would not finish without the old pods either")
    assert finding.place.path == "spec.template.spec.containers[0].resources.requests.cpu"


def test_the_count_of_ks401_when_scale_and_template_change_together(tmp_path: Path) -> None:
    """Scale and template change together: pods that the scale adds to the old ReplicaSet are old."""
    cluster = [*nodes("4"), *running_deployment(["n0"] * 2, template(OLD))]
    cluster[2]["metadata"]["annotations"] = {"deployment.kubernetes.io/desired-replicas": "2"}
    new = manifest("Deployment", template(cpu="500m"), replicas=8, strategy=rolling(1, 0))
    (found,) = checked(tmp_path, cluster, new).workloads
    assert (found.running, found.findings[0].code) == (0, "KS401")
    assert "with 0 of 8 new pods running" in found.findings[0].message


def test_simulate_scale_down(capsys: pytest.CaptureFixture[str]) -> None:
    before = str(CASES / "scale-08" / "before.json")
    assert run(["simulate", "--from", before, "--scale", "deployment/default/x=3"]) == 0
    out = capsys.readouterr().out
    assert "5 pods deleted  surplus of ReplicaSet" in out
    assert "5 running pods deleted (4 nodes)" in out
    assert "no pending pods" not in out
    assert run(["simulate", "--from", before, "--scale", "deployment/default/x=3", "-o", "json"]) == 0
    final = json.loads(capsys.readouterr().out)["final"]
    assert states(final, "Deployment/default/x") == ["gone"] * 5 + ["running"] * 3


def verified(case: str) -> Verification:
    return verify(RunOptions([str(CASES / case / "before.json")]))


@pytest.mark.parametrize("case", sampled(RECORDINGS, 5))
def test_verify_on_a_fresh_cluster_that_the_real_scheduler_just_filled(case: str) -> None:
    found = verified(case)
    assert [each for each in (*found.placements, *found.pending) if not each.agreement.agrees] == []
    assert found.placements
    assert found.order[Order.NOT_FOUND] == 0
    assumed = {each.assumed.split(" ")[0] for each in found.placements if each.assumed}
    assert assumed == ({CORDONED[case]} if case in CORDONED else set())


def test_a_no_execute_taint_with_toleration_seconds_3_and_300() -> None:
    """The pod that tolerates for 3 s comes back on the same node and goes again and again; the other stays 300 s."""

    def change(plane: ControlPlane) -> None:
        apply_edits(plane, [TaintNode("n1", Taint("k", "", "NoExecute"))])

    node: Node = make_node("n1").allocatable(cpu="4", memory="4Gi", pods=10).obj()
    found = settle(
        make_scheduler([node], [tolerating("short", 3), tolerating("long", 300)]), Limits(max_time=200), change=change
    )
    gone = [each.time for each in found.timeline if each.event == "AssignedPodDelete"]
    assert gone[:2] == [4.0, 7.0], "three seconds of tolerance, one of grace, and the next pod is bound at 3 s"
    assert not found.settled
    assert {pod.node for pod in found.final if pod.workload.endswith("/short") and pod.state == "scheduled"} <= {"n1"}
    assert [(pod.state, pod.node) for pod in found.final if pod.workload.endswith("/long")] == [("running", "n1")]


def test_a_new_workload_preempts_daemon_set_pods(tmp_path: Path) -> None:
    """The two new pods fit, two pods of the DaemonSet are evicted, and the two that replace them are Pending."""
    agents = named("agent", running_daemons(["n0", "n1"], template(OLD)))
    (web,) = named("web", [manifest("Deployment", template(cpu="2", priorityClassName="high"), replicas=2)])
    found = checked(tmp_path, [*nodes("2", "2"), HIGH, *agents], web)
    (only,) = found.workloads
    assert (only.result, only.running) == ("warns", 2)
    (loss,) = found.losses
    assert (loss.workload, len(loss.evicted), loss.pending) == ("DaemonSet/default/agent", 2, 2)
    assert only.findings[0].message == (
        "2 pods evicted to make room: default/agent-n0, default/agent-n1; "
        "DaemonSet default/agent: 2 evicted, 2 Pending in the end"
    )


def test_the_back_off_of_the_replica_set_controller_after_a_quota_refusal() -> None:
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


@pytest.mark.parametrize(
    ("minor", "added", "updated"),
    [
        pytest.param("1.36", "UnschedulablePodAdd", "UnschedulablePodUpdatePodToleration", id="1.36"),
        pytest.param("1.37", "UnscheduledPodAdd", "TargetPodUpdatePodToleration", id="1.37"),
    ],
)
def test_names_of_events_of_pods_without_a_node_by_minor(minor: str, added: str, updated: str) -> None:
    """#135905 (events.go, scheduling_queue_test.go)."""
    node: Node = make_node("n1").taint("t", "v").obj()
    tolerating = make_pod("p").uid("p").toleration("t", value="v").obj()
    scheduler = make_scheduler([node], [make_pod("p").uid("p").obj()], current=RELEASES[minor])
    found = settle(scheduler, events=[TimedEvent(1.0, "update", tolerating)])
    names = [each.event for each in found.timeline if each.queue]
    assert (names[0], updated in names) == (added, True), names


def test_no_recording_is_left_out() -> None:
    assert len(RECORDINGS) == 85


def test_an_eviction_without_end_is_one_sentence(tmp_path: Path, ksched: Ksched) -> None:
    """Pods that tolerate a taint for a while come back and go again. Each is shown once, however long it goes on."""
    items = []
    for name, seconds, count in (("a", 4, 1), ("b", 7, 3), ("c", 11, 2)):
        toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        labels = {"app": name}
        containers = [{"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "100m"}}}]
        spec = {"containers": containers, "tolerations": [toleration], "terminationGracePeriodSeconds": 1}
        selector = {"matchLabels": labels}
        template = {"metadata": {"labels": labels}, "spec": spec}
        of = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
        items.append(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {"name": name, "namespace": "shop", "uid": name},
                "spec": {"replicas": count, "selector": selector, "template": template},
            }
        )
        for number in range(count):
            metadata = {"name": f"{name}-{number}", "namespace": "shop", "uid": f"{name}{number}", "labels": labels}
            items.append(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {**metadata, "ownerReferences": [of]},
                    "spec": {**spec, "nodeName": "n1"},
                    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
                }
            )
    path = tmp_path / "c.json"
    nodes = [make_node("n1").allocatable(cpu="8", memory="16Gi", pods=110).doc()]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *items]}))
    given = ["simulate", "--from", str(path), "--settle", "--taint", "n1=k=v:NoExecute"]
    out = ksched(*given).out
    assert "not settled: the same happens again every" in out
    assert "Node n1 changes" in out
    assert len(out.splitlines()) < 60
    final = json.loads(ksched(*given, "-o", "json").out)["final"]
    assert sorted(pod["pod"] for pod in final if pod["state"] == "gone") == [
        f"shop/{name}-{number}" for name, count in (("a", 1), ("b", 3), ("c", 2)) for number in range(count)
    ]
    firsts = {pod["replaces"] for pod in final if pod.get("replaces")}
    assert firsts <= {pod["pod"] for pod in final if pod["state"] == "gone"}
