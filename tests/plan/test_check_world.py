"""`check` where the real control plane was recorded to end otherwise than a simulation of the rollout alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.plan.check.results import Check
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.report.view.check import check_summary
from ksched_cli.world.results import Limits
from tests.builders import make_pod
from tests.plan.rollouts import (
    OLD,
    checked,
    nodes,
    rolling,
    running_deployment,
    running_set,
    template,
    workload,
)
from tests.running import check, settle

ROOT = Path(__file__).parents[2]
HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}


def named(name: str, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects of `running_deployment` and the like under another name."""
    for item in items:
        metadata = item["metadata"]
        metadata["name"] = metadata["name"].replace("w", name, 1)
        metadata["labels"] = {**metadata.get("labels", {}), "app": name}
        for owner in metadata.get("ownerReferences", ()):
            owner["name"] = owner["name"].replace("w", name, 1)
        spec = item["spec"]
        if "selector" in spec:
            spec["selector"] = {"matchLabels": {"app": name}}
            labels = spec["template"]["metadata"]["labels"]
            spec["template"] = {**spec["template"], "metadata": {"labels": {**labels, "app": name}}}
    return items


def codes(check: Check) -> list[tuple[str, str]]:
    return [(finding.level, finding.code) for finding in check.findings]


@pytest.mark.slow
def test_a_rollout_that_preempts_a_deployment_names_its_evictions_and_all_of_its_pods_run_again(tmp_path: Path) -> None:
    """web gets room for its surge at the cost of low, and gives it back when its old pods are gone."""
    low = named("low", running_deployment(["n0", "n0", "n1", "n1"], template(OLD)))
    web = named("web", running_deployment(["n0", "n0", "n1", "n1"], template(OLD, priorityClassName="high")))
    for item in web:
        if item["kind"] == "Pod":
            item["spec"]["priority"] = 1000
    cluster = [*nodes("4", "4"), HIGH, *low, *web]
    (new,) = named(
        "web", [workload("Deployment", template(priorityClassName="high"), replicas=4, strategy=rolling(2, 0))]
    )
    found = checked(tmp_path, cluster, new)
    (only,) = found.workloads
    assert (only.result, only.running, only.old) == ("warns", 4, 0)
    (loss,) = found.losses
    assert (loss.workload, loss.pending) == ("Deployment/default/low", 0)
    assert len(loss.evicted) == len(found.evicted) >= 2
    (warning,) = only.findings
    assert f"Deployment default/low: {len(loss.evicted)} evicted, all of them run again" in warning.message
    assert found.world is not None
    states = [
        pod.state for pod in found.world.final if pod.workload == "Deployment/default/low" and pod.state != "gone"
    ]
    assert set(states) <= {"running", "scheduled"}
    assert len(states) == 4


def test_old_pods_that_are_equal_make_a_deadlock_of_some_orders_a_warning(tmp_path: Path) -> None:
    """New pods run on n0 only, and there is room once the old pod there is gone. Which of three goes first is a draw."""
    cluster = [*nodes("3", "3", "3"), *running_deployment(["n0", "n1", "n2"], template(OLD, cpu="3"))]
    on_n0 = template(cpu="1", nodeSelector={"kubernetes.io/hostname": "n0"})
    new = workload("Deployment", on_n0, replicas=3, strategy=rolling(0, 1))
    found = checked(tmp_path, cluster, new)
    (only,) = found.workloads
    assert only.orders is not None
    assert (only.orders.tried, only.orders.finished) == (4, 2)
    assert (only.result, codes(found)) == ("warns", [("warning", "KS401")])
    assert only.findings[0].message.startswith("finishes in 2 of 4 orders; in the others the rollout (maxSurge 0, ")
    assert check_summary(found) == "1 workload: fits in some orders only, 1 warning (3 nodes)"
    assert found.world is not None
    assert [draw.what for draw in found.world.draws] == ["deletion order", "deletion order"]


def test_a_deadlock_in_all_orders_stays_an_error(tmp_path: Path) -> None:
    cluster = [*nodes("1", "1", "1"), *running_deployment(["n0", "n1", "n2"], template(OLD))]
    found = checked(tmp_path, cluster, workload("Deployment", template(cpu="2"), replicas=3, strategy=rolling(0, 1)))
    (only,) = found.workloads
    assert only.orders is not None
    assert (only.result, only.orders.finished) == ("fails", 0)
    assert only.findings[0].message.endswith(f"(in all {only.orders.tried} orders that were tried)")


def test_an_ignored_deadlock_in_all_orders_is_not_one_in_some(tmp_path: Path) -> None:
    cluster = [*nodes("1", "1", "1"), *running_deployment(["n0", "n1", "n2"], template(OLD))]
    stuck = workload("Deployment", template(cpu="2"), replicas=3, strategy=rolling(0, 1))
    stuck["metadata"]["annotations"] = {"ksched.dev/ignore": "KS101; KS102; KS401"}
    found = checked(tmp_path, cluster, stuck)
    (only,) = found.workloads
    assert (only.result, only.orders and only.orders.finished) == ("ignored", 0)
    assert check_summary(found) == "1 workload: errors of 1 ignored, 1 finding ignored (3 nodes)"


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    return make_pod(name).requests(cpu=cpu).spec(**spec).doc()


def test_a_tie_between_nodes_that_decides_is_a_draw(tmp_path: Path) -> None:
    """The first pod may go to either node. If it takes n0, the second, which needs n0, has no place."""
    first, second = pod("a-first", "3"), pod("b-second", "3", nodeSelector={"kubernetes.io/hostname": "n0"})
    found = checked(tmp_path, nodes("4", "4"), first, second)
    assert [(each.result, str(each.orders)) for each in found.workloads] == [
        ("fits", "finishes in all 2 orders that were tried"),
        ("warns", "finishes in 1 of 2 orders"),
    ]
    assert found.world is not None
    assert [(draw.what, draw.subject, draw.options, draw.taken) for draw in found.world.draws] == [
        ("node", "default/a-first", ("n0", "n1"), ("n0",))
    ]


def test_a_tie_that_cannot_matter_is_not_tried(tmp_path: Path) -> None:
    """Neither node has room for the second pod, whatever node the first takes; and three pods do not fit on two equal
    nodes in any order."""
    found = checked(tmp_path, nodes("4", "4"), pod("a", "1"), pod("b", "9"))
    assert [each.orders for each in found.workloads] == [None, None]
    found = checked(tmp_path, nodes("4", "4"), *(pod(name, "3") for name in "abc"))
    assert [(each.result, each.orders) for each in found.workloads] == [("fits", None), ("fits", None), ("fails", None)]


@pytest.mark.slow
def test_which_nodes_of_a_daemon_set_come_first_under_a_quota_is_a_draw(tmp_path: Path) -> None:
    """The quota allows one of two daemon pods. On n0 it leaves no room for the other workload."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    agents = workload("DaemonSet", template(cpu="3"))
    agents["metadata"]["namespace"] = quota["metadata"]["namespace"] = "agents"
    second = workload("Deployment", template(cpu="3", nodeSelector={"kubernetes.io/hostname": "n0"}), replicas=1)
    found = checked(tmp_path, [*nodes("4", "4"), quota], agents, second)
    assert found.world is not None
    assert [(draw.what, draw.options, draw.taken) for draw in found.world.draws] == [
        ("first nodes", ("n0", "n1"), ("n0",))
    ]
    assert [str(each.orders) for each in found.workloads] == [
        "does not finish in any of the 2 orders that were tried",
        "finishes in 1 of 2 orders",
    ]


def job(**spec: Any) -> dict[str, Any]:
    made = template(restartPolicy="Never")
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "w"}, "spec": {**spec, "template": made}}


def test_a_job_none_of_whose_pods_fits_fails(tmp_path: Path) -> None:
    found = checked(tmp_path, nodes("500m"), job(completions=8, parallelism=8))
    assert codes(found) == [("error", "KS102")]
    (finding,) = found.findings
    assert finding.message.startswith("8 of 8 pods without a place")


@pytest.mark.parametrize(
    ("completions", "parallelism", "succeeded", "pods"),
    [
        pytest.param(8, 2, 0, 2, id="as many at once as its parallelism"),
        pytest.param(3, 2, 2, 3, id="only one completion is left"),
        pytest.param(8, 0, 0, 0, id="none at once"),
    ],
)
def test_the_pods_of_a_job(completions: int, parallelism: int, succeeded: int, pods: int, tmp_path: Path) -> None:
    new = job(completions=completions, parallelism=parallelism)
    begun = {**new, "metadata": {"name": "w", "uid": "u"}, "status": {"succeeded": succeeded}}
    (found,) = checked(tmp_path, [*nodes("9"), begun], new).workloads
    assert (found.result, found.pods, found.running, found.findings) == ("fits", pods, pods, ())


def test_a_workload_waits_for_all_waves_of_a_job_although_another_is_there_at_once(tmp_path: Path) -> None:
    big = workload("Deployment", template(cpu="3"), replicas=1)
    found = checked(tmp_path, nodes("4"), job(completions=4, parallelism=2), big, make_pod("tiny").doc())
    assert [(each.result, each.running) for each in found.workloads] == [("fits", 4), ("warns", 1), ("fits", 1)]


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_a_set_stops_where_an_old_pod_is_in_the_way(policy: str, tmp_path: Path) -> None:
    """All pods are to go to n0, which the first pod fills until its turn has come."""
    made = template(nodeSelector={"kubernetes.io/hostname": "n0"})
    cluster = [*nodes("2", "2"), *running_set(["n0", "n1"], template(OLD, cpu="2"))]
    given = {"podManagementPolicy": policy} if policy == "Parallel" else {}
    (found,) = checked(tmp_path, cluster, workload("StatefulSet", made, replicas=2, **given)).findings
    assert found.code == "KS401"
    assert found.message.startswith(f"the rollout ({policy}) stops at step 1 with 0 of 2 new pods running")


def test_a_daemon_set_whose_pods_are_refused_has_nodes_to_run_on(tmp_path: Path) -> None:
    found = checked(tmp_path, nodes("4"), workload("DaemonSet", template(priorityClassName="none")))
    assert codes(found) == [("error", "KS303")]


def test_a_quota_holds_a_job_to_waves(tmp_path: Path) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "3"}}}
    found = checked(tmp_path, [*nodes("9"), quota], job(completions=8, parallelism=8))
    assert (found.workloads[0].result, found.workloads[0].running) == ("fits", 8)


def test_a_deployment_that_waits_for_jobs_of_the_manifests_is_a_warning(tmp_path: Path) -> None:
    other = workload("Deployment", template(), replicas=1)
    found = checked(tmp_path, nodes("2"), job(completions=2, parallelism=2), other)
    assert [each.result for each in found.workloads] == ["fits", "warns"]
    assert codes(found) == [("warning", "KS407")]


def test_a_workload_of_the_manifests_that_is_evicted_and_does_not_come_back_fails(tmp_path: Path) -> None:
    (web,) = named("web", [workload("Deployment", template(priorityClassName="high"), replicas=1)])
    (low,) = named("low", [workload("Deployment", template(OLD), replicas=1)])
    cluster = [*nodes("1"), HIGH, *named("low", running_deployment(["n0"], template(OLD)))]
    found = checked(tmp_path, cluster, low, web)
    assert codes(found) == [("error", "KS204"), ("warning", "KS203")]
    assert found.findings[0].message.startswith(
        "1 pod evicted: default/low-h-0, and the pod that replaces it has no place"
    )


def test_a_pod_that_is_evicted_is_deleted_for_good(tmp_path: Path) -> None:
    low = make_pod("low").on("n0").priority(0).requests(cpu="1").doc()
    found = checked(
        tmp_path, [*nodes("1"), low, HIGH], workload("Deployment", template(priorityClassName="high"), replicas=1)
    )
    (loss,) = found.losses
    assert loss.sentence == "Pod default/low is deleted for good: no controller recreates it"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cluster", "manifests"),
    [
        pytest.param("ksched_cli/cli/demo_cluster.yaml", "fixtures/manifests/shop.yaml", id="new workloads"),
        pytest.param("fixtures/check/cluster.yaml", "fixtures/check/deploy", id="rollouts"),
    ],
)
def test_the_final_state_is_that_of_settling(cluster: str, manifests: str) -> None:
    """Before any pod of a Job has finished."""
    setup = RunOptions(sources=[str(ROOT / cluster)], filenames=[str(ROOT / manifests)])
    settled = settle(setup, Limits())
    found = check(setup)
    assert found.world is not None
    assert (found.world.final, found.world.finished) == (settled.final, settled.finished)
