"""The garbage collector, namespaces, claims, budgets, and stand-ins for controllers that the input lacks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ksched_cli.api.core import (
    EphemeralVolumeSource,
    Namespace,
    Node,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaimTemplate,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    Volume,
)
from ksched_cli.api.dynamic_resources import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    ResourceClaimTemplate,
)
from ksched_cli.api.object_facts import is_ready
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.workloads import (
    PodDisruptionBudget,
    PodDisruptionBudgetStatus,
    ReplicaSet,
    ResourceQuota,
    ResourceQuotaSpec,
)
from ksched_cli.controlplane.api_server import Refusal
from ksched_cli.controlplane.controllers.registry import Controllers
from tests.builders import make_pod
from tests.controlplane.harness import ControlPlane, make, nodes, rested, started, template


def _owned(name: str, kind: str, owner: str, node: str = "node-1", **metadata: Any) -> Pod:
    pod = make_pod(name).uid(name).obj()
    reference = OwnerReference(kind, owner, "apps/v1", owner, True)
    pod = replace(pod, metadata=replace(pod.metadata, owner_references=(reference,), **metadata))
    return started(pod, node) if node else pod


# Garbage collection


@pytest.mark.parametrize("kind", ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"])
def test_pods_go_with_their_workload(kind: str) -> None:
    control_plane = rested(*nodes(2), make(kind, "web"))
    assert control_plane.pods()
    control_plane.api.delete(control_plane.object(kind, "web"))
    assert control_plane.run().pods() == {}
    assert control_plane.store.of(ReplicaSet) == []
    assert control_plane.count("created") == 0


def test_pods_that_were_created_together_go_with_their_workload() -> None:
    control_plane = rested(*nodes(1), make("ReplicaSet", "web", replicas=0), make("ReplicaSet", "other", replicas=1))
    control_plane.api.delete(control_plane.object("ReplicaSet", "other"))
    control_plane.change("ReplicaSet", "web", replicas=3)
    assert len(control_plane.run().pods()) == 3
    control_plane.api.delete(control_plane.object("ReplicaSet", "web"))
    assert control_plane.run().pods() == {}


def test_what_has_another_owner_stays() -> None:
    claim = PersistentVolumeClaim(
        ObjectMeta(
            "data",
            "default",
            owner_references=(
                OwnerReference("StatefulSet", "db", uid="db"),
                OwnerReference("Backup", "nightly", uid="b"),
            ),
        )
    )
    control_plane = ControlPlane(*nodes(1), make("StatefulSet", "db", metadata={"uid": "db"}, replicas=0), claim)
    control_plane.api.delete(control_plane.object("StatefulSet", "db"))
    control_plane.run()
    (left,) = control_plane.store.of(PersistentVolumeClaim)
    assert [owner.kind for owner in left.metadata.owner_references] == ["Backup"]


def test_an_owner_of_the_same_name_with_another_uid_is_another() -> None:
    pod = _owned("web-1", "ReplicaSet", "web")
    control_plane = ControlPlane(*nodes(1), make("ReplicaSet", "web", metadata={"uid": "other"}, replicas=0), pod)
    control_plane.api.delete(control_plane.object("ReplicaSet", "web"))
    assert control_plane.run().pods() == {"web-1": "node-1+"}


def test_mirror_pods_go_with_their_node() -> None:
    node = nodes(1)[0]
    control_plane = ControlPlane(node, _owned("kube-proxy", "Node", "node-1"))
    control_plane.api.delete(node)
    assert control_plane.run().pods() == {}
    assert control_plane.count("created") == 0


def test_a_deleted_namespace_takes_its_contents() -> None:
    item = make("Deployment", "web", replicas=2)
    stray = _owned("stray", "Foo", "absent")
    control_plane = rested(*nodes(1), make("Namespace", "default"), item, stray)
    namespace = control_plane.store.get(Namespace, "default")
    assert namespace is not None
    control_plane.api.delete(namespace)
    assert control_plane.run().pods() == {}
    assert control_plane.count("created") == 0


# Stand-ins


@pytest.mark.parametrize(
    ("kind", "at_once", "in_the_end"),
    [
        ("ReplicaSet", 2, 1),
        ("ReplicationController", 2, 1),
        ("Job", 2, 1),
        ("StatefulSet", 1, 1),
        ("Foo", 1, 1),
        ("Node", 1, 0),
    ],
)
def test_a_pod_of_an_absent_controller_is_made_again(kind: str, at_once: int, in_the_end: int) -> None:
    control_plane = ControlPlane(*nodes(1), _owned("web-0", kind, "web"))
    control_plane.api.delete(control_plane.pod("web-0"))
    assert len(control_plane.run(1).pods()) == at_once
    pods = control_plane.run().pods()
    assert list(pods.values()) == ["node-1+"] * in_the_end
    assert ("web-0" in pods) == (kind == "StatefulSet")


@pytest.mark.parametrize(("keeps", "pods"), [(True, 1), (False, 0)])
def test_a_daemon_pod_comes_back_if_its_node_is_there(keeps: bool, pods: int) -> None:
    control_plane = ControlPlane(*nodes(2), _owned("agent-x", "DaemonSet", "agent"), place=lambda pod: "")
    control_plane.api.delete(control_plane.pod("agent-x"))
    if not keeps:
        control_plane.api.delete(_node_1(control_plane))
    assert len(control_plane.run().pods()) == pods


def _node_1(control_plane: ControlPlane) -> Node:
    node = control_plane.store.get(Node, "node-1")
    assert node is not None
    return node


@pytest.mark.parametrize(
    ("kind", "pods"), [("ReplicaSet", 1), ("StatefulSet", 1), ("Foo", 1), ("DaemonSet", 0), ("Node", 0)]
)
def test_pods_of_a_lost_node_are_made_again(kind: str, pods: int) -> None:
    control_plane = ControlPlane(*nodes(2), _owned("web-0", kind, "web"))
    control_plane.api.delete(_node_1(control_plane))
    assert list(control_plane.run().pods().values()) == ["node-2+"] * pods


@pytest.mark.parametrize(("kind", "pods"), [("ReplicaSet", 0), ("Job", 0), ("Foo", 0), ("StatefulSet", 1)])
def test_finished_pods_are_not_made_again(kind: str, pods: int) -> None:
    pod = _owned("web-0", kind, "web")
    control_plane = ControlPlane(*nodes(1), replace(pod, status=replace(pod.status, phase="Succeeded")))
    control_plane.api.delete(control_plane.pod("web-0"))
    assert len(control_plane.run().pods()) == pods


def test_a_job_pod_that_succeeds_is_not_made_again() -> None:
    control_plane = ControlPlane(*nodes(1), _owned("web-0", "Job", "web"))
    control_plane.kubelets.finish_jobs()
    control_plane.run()
    assert control_plane.count("created") == 0


def test_a_stand_in_needs_no_admission_but_counts_in_its_quota() -> None:
    quota = ResourceQuota(ObjectMeta("all", "default"), ResourceQuotaSpec(hard={"pods": "1"}))
    control_plane = ControlPlane(*nodes(1), quota, _owned("web-0", "ReplicaSet", "web"))
    control_plane.api.prepare()
    control_plane.api.delete(control_plane.pod("web-0"), grace=0)
    assert len(control_plane.run().pods()) == 1
    with pytest.raises(Refusal) as refused:
        control_plane.api.create(make_pod("other").obj())
    plugin = refused.value.plugin
    assert plugin == "ResourceQuota"


# Budgets


def _budget(**spec: Any) -> Any:
    return make("PodDisruptionBudget", "web", selector={"matchLabels": {"app": "web"}}, **spec)


def _status(control_plane: ControlPlane) -> tuple[int, int, int, int]:
    status = control_plane.object("PodDisruptionBudget", "web").status
    return status.expected_pods, status.desired_healthy, status.current_healthy, status.disruptions_allowed


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"minAvailable": 3}, (4, 3, 4, 1)),
        ({"minAvailable": "50%"}, (4, 2, 4, 2)),
        ({"maxUnavailable": 1}, (4, 3, 4, 1)),
        ({"maxUnavailable": "30%"}, (4, 2, 4, 2)),
    ],
)
def test_a_budget_follows_its_pods(spec: dict[str, Any], status: tuple[int, int, int, int]) -> None:
    control_plane = rested(*nodes(2), make("Deployment", "web", replicas=4))
    control_plane.api.create(_budget(**spec))
    control_plane.run()
    assert _status(control_plane) == status
    first, second, *_ = (control_plane.pod(name) for name in control_plane.pods())
    assert control_plane.api.evict(first) == ""
    control_plane.run(0.1)
    assert _status(control_plane)[2:] == (3, status[3] - 1)
    refusal = control_plane.api.evict(second)
    assert bool(refusal) == (status[3] == 1)
    control_plane.run()
    assert _status(control_plane) == status


@pytest.mark.parametrize("field", ["", "expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed"])
def test_a_budget_keeps_the_status_that_it_has(field: str) -> None:
    """Without any number the disruption controller has not written it yet."""
    budget, status = _budget(minAvailable=1), {field: 1} if field else {}
    budget.status = msgspec.convert(status, PodDisruptionBudgetStatus)
    pods = [started(make_pod(name).label(app="web").obj(), "node-1") for name in ("one", "two")]
    computed = (2, 1, 2, 1)
    assert (_status(ControlPlane(*nodes(1), *pods, budget)) == computed) is (not field)


def test_a_budget_of_a_rollout_expects_the_pods_of_the_deployment() -> None:
    """Its two ReplicaSets have five pods together."""
    sets = [
        make("ReplicaSet", f"web-{name}", replicas=count, metadata={"ownerReferences": [_of("Deployment", "web")]})
        for name, count in (("a", 3), ("b", 2))
    ]
    pods = [
        _owned(f"{each.metadata.name}-{number}", "ReplicaSet", each.metadata.name, labels={"app": "web"})
        for each in sets
        for number in range(each.spec.replicas)
    ]
    budget = _budget(maxUnavailable=1)
    control_plane = ControlPlane(*nodes(1), make("Deployment", "web", replicas=4), *sets, *pods, budget)
    assert _status(control_plane) == (4, 3, 5, 2)


def _of(kind: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "name": name, "controller": True}


def test_a_budget_allows_nothing_where_no_controller_tells_its_scale() -> None:
    budget = _budget(maxUnavailable=1)
    budget.status = PodDisruptionBudgetStatus(expected_pods=1, current_healthy=1, disruptions_allowed=1)
    control_plane = ControlPlane(*nodes(1), _owned("agent-x", "DaemonSet", "agent", labels={"app": "web"}), budget)
    assert _status(control_plane)[3] == 1
    pod = control_plane.pod("agent-x")
    control_plane.api.update(replace(pod, metadata=replace(pod.metadata, annotations={"touched": "yes"})))
    control_plane.run()
    assert _status(control_plane)[3] == 0


def test_a_budget_with_another_selector_counts_anew_and_one_that_is_gone_counts_nothing() -> None:
    pods = [
        started(make_pod(name).label(app=app).obj(), "node-1") for name, app in (("a", "web"), ("b", "x"), ("c", "x"))
    ]
    control_plane = ControlPlane(*nodes(1), *pods)
    control_plane.api.create(
        make("PodDisruptionBudget", "first", selector={"matchLabels": {"app": "x"}}, minAvailable=1)
    )
    control_plane.api.create(_budget(minAvailable=1))
    control_plane.run()
    control_plane.change("PodDisruptionBudget", "web", selector={"matchLabels": {"app": "x"}})
    control_plane.run()
    assert _status(control_plane) == (2, 1, 2, 1)
    control_plane.api.delete(control_plane.object("PodDisruptionBudget", "first"))
    control_plane.api.delete(control_plane.pod("b"), grace=0)
    control_plane.run()
    assert _status(control_plane) == (1, 1, 1, 0)


def test_a_budget_covers_pods_whose_labels_change() -> None:
    pods = [started(make_pod(name).label(app=app).obj(), "node-1") for name, app in (("one", "web"), ("two", "x"))]
    control_plane = ControlPlane(*nodes(1), *pods)
    control_plane.api.create(_budget(minAvailable=1))
    seen = []
    for app in ("x", "web", "x"):
        control_plane.run()
        seen.append(_status(control_plane)[0])
        two = control_plane.pod("two")
        control_plane.api.update(
            replace(two, metadata=replace(two.metadata, labels={"app": "web" if app == "x" else "x"}))
        )
    assert seen == [1, 2, 1]


# Claims


def test_claims_are_made_with_their_pod_and_go_with_it() -> None:
    claim_template = ResourceClaimTemplate(ObjectMeta("gpu", "default"))
    pod = make_pod("web").obj()
    ephemeral = EphemeralVolumeSource(PersistentVolumeClaimTemplate())
    pod.spec.volumes = (Volume("scratch", ephemeral=ephemeral),)
    pod.spec.resource_claims = (PodResourceClaim("gpu", resource_claim_template_name="gpu"),)
    control_plane = ControlPlane(*nodes(1), claim_template)
    control_plane.api.create(pod)
    control_plane.run()
    (claim,) = control_plane.store.of(ResourceClaim)
    assert control_plane.pod("web").status.resource_claim_statuses == (
        PodResourceClaimStatus("gpu", claim.metadata.name),
    )
    assert [each.metadata.name for each in control_plane.store.of(PersistentVolumeClaim)] == ["web-scratch"]
    control_plane.api.delete(control_plane.pod("web"))
    control_plane.run()
    assert control_plane.store.of(ResourceClaim) == []
    assert control_plane.store.of(PersistentVolumeClaim) == []


def _with_own_claims() -> Pod:
    pod = make_pod("web").obj()
    pod.spec.volumes = (Volume("scratch", ephemeral=EphemeralVolumeSource(PersistentVolumeClaimTemplate())),)
    pod.spec.resource_claims = (PodResourceClaim("gpu", resource_claim_template_name="gpu"),)
    return pod


def test_the_devices_of_a_finished_pod_are_given_back_and_its_volumes_stay() -> None:
    control_plane = ControlPlane(*nodes(1), ResourceClaimTemplate(ObjectMeta("gpu", "default")))
    control_plane.api.create(_with_own_claims())
    pod = control_plane.run().pod("web")
    control_plane.api.update(replace(pod, status=replace(pod.status, phase="Succeeded")))
    control_plane.run()
    assert control_plane.store.of(ResourceClaim) == []
    assert len(control_plane.store.of(PersistentVolumeClaim)) == 1


@pytest.mark.parametrize("state", ["finished", "terminating", "gone"])
def test_no_claims_are_made_for_a_pod_that_is_over(state: str) -> None:
    control_plane = ControlPlane(*nodes(1), ResourceClaimTemplate(ObjectMeta("gpu", "default")))
    pod = control_plane.api.create(_with_own_claims())
    if state == "finished":
        control_plane.api.update(replace(pod, status=replace(pod.status, phase="Failed")))
    elif state == "terminating":
        control_plane.bind("web", "node-1")
        control_plane.api.delete(pod)
    else:
        control_plane.api.delete(pod, grace=0)
    control_plane.run(1)
    assert (control_plane.store.of(ResourceClaim), control_plane.store.of(PersistentVolumeClaim)) == ([], [])


@pytest.mark.parametrize("ends", ["deleted", "finished"])
def test_a_shared_claim_gives_back_its_devices_with_its_last_pod(ends: str) -> None:
    reserved = tuple(ResourceClaimConsumerReference("pods", name, name) for name in ("one", "two"))
    claim = ResourceClaim(
        ObjectMeta("shared", "default"),
        status=ResourceClaimStatus(allocation=AllocationResult(), reserved_for=reserved),
    )
    pods = [make_pod(name).uid(name).on("node-1").phase("Running").obj() for name in ("one", "two")]
    for pod in pods:
        absent = PodResourceClaim("absent", resource_claim_name="absent")
        pod.spec.resource_claims = (absent, PodResourceClaim("gpu", resource_claim_name="shared"))
    control_plane = ControlPlane(*nodes(1), claim, *pods)
    seen = []
    for pod in pods:
        if ends == "deleted":
            control_plane.api.delete(pod)
        else:
            control_plane.api.update(replace(pod, status=replace(pod.status, phase="Succeeded")))
        control_plane.run()
        (left,) = control_plane.store.of(ResourceClaim)
        seen.append((len(left.status.reserved_for), left.status.allocation is not None))
    assert seen == [(1, True), (0, False)]


# At rest


def test_controllers_do_nothing_for_a_cluster_at_rest() -> None:
    workloads = [make(kind, kind.lower(), replicas=2) for kind in ("Deployment", "StatefulSet", "ReplicaSet")]
    objects = [
        *workloads,
        make("DaemonSet", "agent"),
        make("Job", "batch", template=template("batch", restartPolicy="Never")),
    ]
    control_plane = rested(*nodes(3), *objects, _budget(minAvailable=1))
    assert control_plane.queue.next_moment() is None
    assert not control_plane.queue.work()
    for item in (*control_plane.store.of(Pod), *control_plane.store.of(Node)):
        control_plane.api.update(replace(item, metadata=replace(item.metadata, annotations={"touched": "yes"})))
    control_plane.run()
    assert control_plane.events == []
    assert all(map(is_ready, control_plane.store.of(Pod)))


def test_every_controller_is_started() -> None:
    control_plane = ControlPlane(*nodes(1))
    names = {type(each).__name__ for each in Controllers(control_plane.api, control_plane.queue).all}
    assert len(names) == 16


def test_a_new_budget_object_is_counted() -> None:
    control_plane = rested(*nodes(1), make("ReplicaSet", "web", replicas=2))
    control_plane.api.create(_budget(minAvailable=2))
    control_plane.run()
    assert [item.status.expected_pods for item in control_plane.store.of(PodDisruptionBudget)] == [2]


@pytest.mark.parametrize("kind", ["ReplicaSet", "DaemonSet"])
def test_a_set_that_would_not_find_its_own_pods_creates_none(kind: str) -> None:
    """The API server refuses such a selector; a file may have it."""
    number = {"replicas": 2} if kind == "ReplicaSet" else {}
    control_plane = ControlPlane(*nodes(2))
    control_plane.api.create(make(kind, "web", selector={"matchLabels": {"app": "other"}}, **number))
    control_plane.run()
    assert control_plane.pods() == {}
