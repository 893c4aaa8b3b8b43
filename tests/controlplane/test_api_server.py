"""What the API server itself decides: namespaces that end, admission of objects, and batches of copies."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from ksched_cli.api.core import Namespace, ObjectMeta, OwnerReference, Pod
from ksched_cli.api.decode import KINDS
from ksched_cli.api.workloads import ResourceQuota, ResourceQuotaSpec
from ksched_cli.controlplane.api_server import Refusal
from ksched_cli.controlplane.plane import ControlPlane as Plane
from ksched_cli.controlplane.store import Store
from ksched_cli.whatif.manifests import apply_items
from tests.builders import loaded_of, make_pod
from tests.controlplane.harness import ControlPlane, make, nodes


def quota(**hard: str) -> ResourceQuota:
    return ResourceQuota(ObjectMeta("few", "default"), ResourceQuotaSpec(hard=hard))


def test_nothing_is_created_in_a_namespace_that_ends_until_it_is_created_again() -> None:
    plane = ControlPlane(*nodes(1), make("Namespace", "default"))
    plane.api.delete(plane.store.get(Namespace, "default"))
    with pytest.raises(Refusal, match="unable to create new content in namespace default"):
        plane.api.create(make_pod("early").obj())
    plane.run()
    plane.api.create(make("Namespace", "default"))
    plane.api.create(make_pod("late").obj())
    assert plane.run().pods() == {"late": "node-1+"}


def test_a_quota_of_a_class_counts_claims_that_get_it_by_default() -> None:
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    gold = {"metadata": {"name": "gold", "annotations": default}, "provisioner": "a"}
    none = quota(**{"gold.storageclass.storage.k8s.io/persistentvolumeclaims": "0"})
    plane = ControlPlane(none, msgspec.convert(gold, KINDS["storage.k8s.io/v1", "StorageClass"]))
    kind = KINDS["v1", "PersistentVolumeClaim"]
    claim = msgspec.convert({"metadata": {"name": "c", "namespace": "default"}}, kind)
    other = msgspec.convert({**msgspec.to_builtins(claim), "spec": {"storageClassName": ""}}, kind)
    assert plane.api.object_refusal(claim).message.startswith("exceeded quota: few, requested: gold.storageclass")
    assert plane.api.object_refusal(other).message == ""


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        pytest.param(0, 1, id="the first batch is one pod"),
        pytest.param(1, 2, id="the second has two"),
        pytest.param(2, 1, id="a batch is tried to its end"),
        pytest.param(3, 4, id="the third has four"),
        pytest.param(9, 0, id="all are admitted"),
    ],
)
def test_a_controller_stops_after_the_first_batch_with_a_refusal(allowed: int, refused: int) -> None:
    plane = ControlPlane(*nodes(1), quota(pods=str(allowed)))
    plane.api.create(make("ReplicaSet", "web", replicas=9))
    while not plane.api.refusals and plane.queue.work():
        pass
    assert len(plane.pods()) == allowed
    assert sum(map(len, plane.api.refusals.values())) == refused


def test_without_a_scheduler_every_copy_is_tried_beyond_one_that_is_refused() -> None:
    plane = Plane(Store(loaded_of(quota(pods="2"))), places_everything=True)
    apply_items(plane, [make("ReplicaSet", "web", replicas=5)])
    plane.run()
    assert len(plane.store.of(Pod)) == 2
    assert sum(map(len, plane.api.refusals.values())) == 3


def test_a_workload_that_admission_refuses_is_a_warning() -> None:
    plane = Plane(Store(loaded_of(quota(**{"count/replicasets.apps": "0"}))), places_everything=True)
    apply_items(plane, [make("ReplicaSet", "web", replicas=1)])
    (warning,) = plane.warnings
    assert warning.startswith("ReplicaSet default/web is refused: exceeded quota: few")
    assert not plane.api.refusals, "no controller has made it"


def test_a_pod_that_gets_another_owner_is_of_that_owner_only() -> None:
    def owners(name: str) -> tuple[OwnerReference, ...]:
        return (OwnerReference("Foo", name, "a.b/v1", name, True),)

    pod = make_pod("p").on("node-1").obj()
    pod.metadata.owner_references = owners("one")
    plane = ControlPlane(*nodes(1), pod)
    plane.api.update(replace(pod, metadata=replace(pod.metadata, owner_references=owners("two"))))
    assert plane.store.pods_of_identity(("Foo", "default", "one")) == []
    assert plane.store.pods_of_identity(("Foo", "default", "two")) == [plane.pod("p")]
    assert plane.store.pods_on("node-1") == [plane.pod("p")]


@pytest.mark.parametrize("end", ["Succeeded", "terminating", "gone"])
def test_a_pod_that_is_over_before_it_is_ready_stays_over(end: str) -> None:
    plane = ControlPlane(*nodes(1))
    plane.api.create(make_pod("p").obj())
    plane.run(0.1)
    pod = plane.pod("p")
    if end == "Succeeded":
        plane.api.update(replace(pod, status=replace(pod.status, phase=end)))
    else:
        plane.api.delete(pod, grace=0 if end == "gone" else 30)
    plane.run(1)
    phases = {"Succeeded": ["Succeeded"], "terminating": ["Pending"], "gone": []}
    assert [each.status.phase for each in plane.store.of(Pod)] == phases[end]


def test_the_owners_of_a_store_as_it_was() -> None:
    owned = make(
        "ReplicaSet", "web-1", metadata={"ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}]}
    )
    kept = Store(loaded_of(make("Deployment", "web"), owned)).kept()
    assert kept.owners() == {("ReplicaSet", "default", "web-1"): ("Deployment", "default", "web")}


def test_a_replica_set_that_a_quota_refuses_is_a_refusal_of_its_deployment() -> None:
    plane = ControlPlane(*nodes(1), quota(**{"count/replicasets.apps": "0"}))
    plane.api.create(make("Deployment", "web", replicas=2))
    plane.run(0.001)
    ((owner, found),) = plane.api.refusals.items()
    (refusal,) = found.values()
    assert owner == ("Deployment", "default", "web")
    assert (refusal.plugin, refusal.pod.metadata.labels["app"]) == ("ResourceQuota", "web")
