"""One pod after the other of a manifest: which kinds have any, and what comes with each pod."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.decode import KINDS
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.api.workloads import LimitRange, ResourceQuota
from ksched_cli.controlplane.admission.chain import Chain
from ksched_cli.errors import InputError
from ksched_cli.sources.loaded import Loaded, Origin
from ksched_cli.whatif.replicas import Replica, Replicas, Shape, read_shapes
from tests.builders import loaded_of, make_pod, make_workload
from tests.plugins.storage import storage_class, volume

POD: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
JOB: dict[str, Any] = {
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {**POD, "restartPolicy": "Never"}},
    "parallelism": 3,
    "completions": 3,
    "suspend": True,
}


def item_of(document: dict[str, Any]) -> Any:
    made: Any = msgspec.convert(document, KINDS[document["apiVersion"], document["kind"]])
    made.metadata.namespace = "shop"
    return made


def workload(kind: str, **spec: Any) -> Any:
    return item_of(make_workload(kind, **spec))


def batch(kind: str, **spec: Any) -> Any:
    return item_of({"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "web"}, "spec": spec})


CRON_JOB = {"schedule": "0 0 * * *", "suspend": True, "jobTemplate": {"spec": JOB}}


def replicas(item: Any, cluster: Loaded, count: int) -> list[Replica]:
    made = Replicas(Shape("web", item), cluster, Chain(cluster))
    return [made.next() for _ in range(count)]


@pytest.mark.parametrize(
    ("item", "label"),
    [
        pytest.param(make_pod("web", "shop").label(app="web").on("n").obj(), "web", id="Pod"),
        pytest.param(workload("Deployment", replicas=7), "web", id="Deployment"),
        pytest.param(workload("ReplicaSet", replicas=0), "web", id="ReplicaSet"),
        pytest.param(workload("StatefulSet", serviceName="web"), "web", id="StatefulSet"),
        pytest.param(batch("Job", **JOB), "web", id="Job, suspended"),
        pytest.param(batch("CronJob", **CRON_JOB), "web", id="CronJob, suspended"),
    ],
)
def test_three_pods_of_a_kind(item: Any, label: str) -> None:
    made = replicas(item, Loaded(), 3)
    assert len({each.pod.metadata.name for each in made}) == 3
    assert [each.pod.metadata.labels["app"] for each in made] == [label] * 3
    assert {each.pod.metadata.namespace for each in made} == {"shop"}
    assert {(each.pod.spec.node_name, each.pod.spec.preemption_policy) for each in made} == {("", "Never")}
    assert not any(each.denial.message for each in made)


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        pytest.param(
            workload("DaemonSet"), "a DaemonSet has one pod a node, however much room there is", id="DaemonSet"
        ),
        pytest.param(
            workload("Deployment", pod={"nodeName": "n"}),
            "spec.nodeName of the template decides where its pods go, no scheduler does",
            id="Deployment with a node",
        ),
        pytest.param(
            batch(
                "CronJob",
                schedule="0 0 * * *",
                jobTemplate={"spec": {"template": {"spec": {**POD, "nodeName": "n"}}}},
            ),
            "spec.nodeName of the template decides where its pods go, no scheduler does",
            id="CronJob with a node",
        ),
        pytest.param(workload("Deployment"), "", id="Deployment"),
        pytest.param(batch("CronJob", **CRON_JOB), "", id="CronJob"),
        pytest.param(make_pod("web", "shop").on("n").obj(), "", id="Pod with a node, which is counted without it"),
    ],
)
def test_which_kinds_can_be_counted(item: Any, complaint: str) -> None:
    manifests = loaded_of(item)
    manifests.origins[id(item)] = Origin("m.yaml", 4)
    if not complaint:
        assert [shape.item for shape in read_shapes(Loaded(), manifests)] == [item]
        return
    with pytest.raises(InputError) as caught:
        read_shapes(Loaded(), manifests)
    (problem,) = caught.value.problems
    assert (problem.message, problem.source, problem.line) == (complaint, "m.yaml", 4)


def test_what_the_quotas_of_other_objects_bound_is_a_gap() -> None:
    item = workload("Deployment")
    hard = {"pods": "9", "requests.cpu": "9", "requests.storage": "9", "services": "9", "count/pods": "9"}
    metadata = {"name": "q", "namespace": "shop"}
    quota = msgspec.convert({"metadata": metadata, "spec": {"hard": hard}}, ResourceQuota)
    limits = {"limits": [{"type": "PersistentVolumeClaim"}, {"type": "Pod"}, {"type": "Container"}]}
    cluster = loaded_of(quota, msgspec.convert({"metadata": metadata, "spec": limits}, LimitRange))
    manifests = loaded_of(item)
    manifests.origins[id(item)] = Origin("m.yaml", 4)
    (shape,) = read_shapes(cluster, manifests)
    assert cluster.gaps == [
        "ResourceQuota shop/q: requests.storage, services",
        "LimitRange shop/q: PersistentVolumeClaim",
    ]
    assert shape.names == ("web", "deployment/web", "shop/deployment/web")


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
EPHEMERAL = {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}


def test_a_volume_is_bound_once() -> None:
    cluster = loaded_of(storage_class("fast", "Immediate"), volume(cls="fast"))
    claim = {**CLAIM, "storageClassName": "fast"}
    data = {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    made = replicas(workload("Deployment", pod={"volumes": [data]}), cluster, 3)
    names = [one.metadata.name for each in made for one in each.objects if isinstance(one, PersistentVolume)]
    assert (len(set(names)), "pv" in names) == (len(names), True)


@pytest.mark.parametrize(
    ("mode", "volumes"),
    [
        pytest.param("Immediate", 1, id="a volume at once"),
        pytest.param("WaitForFirstConsumer", 0, id="no volume before the pod has a node"),
    ],
)
def test_each_pod_has_an_ephemeral_claim_of_its_own(mode: str, volumes: int) -> None:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    cluster = loaded_of(storage_class("fast", mode, metadata={"name": "fast", **default}))
    for each in replicas(workload("Deployment", pod={"volumes": [EPHEMERAL]}), cluster, 2):
        claims = [one for one in each.objects if isinstance(one, PersistentVolumeClaim)]
        assert {one.metadata.name for one in claims} == {f"{each.pod.metadata.name}-data"}
        assert {one.spec.storage_class_name for one in claims} == {"fast"}
        assert {one.spec.volume_mode for one in claims} == {"Filesystem"}
        assert sum(isinstance(one, PersistentVolume) for one in each.objects) == volumes
        assert all(bool(one.spec.volume_name) is bool(volumes) for one in claims)
