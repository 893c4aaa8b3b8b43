from __future__ import annotations

from types import ModuleType
from typing import Any

import msgspec
import pytest

from ksched_cli.api import core, dynamic_resources, storage, workloads
from ksched_cli.api.core import Namespace, Node, ObjectMeta, Pod
from ksched_cli.api.defaults import (
    default_claim,
    default_namespace,
    default_node,
    default_pod,
    default_storage_class,
    default_volume,
)
from ksched_cli.api.quantity import nano_value
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet, wanted_replicas


def defaulted(spec: dict[str, Any] | None = None, **fields: Any) -> Pod:
    pod = msgspec.convert({"metadata": {"name": "a"}, "spec": spec or {}, **fields}, Pod)
    default_pod(pod)
    return pod


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", **fields}]}


def asking(**resources: Any) -> dict[str, Any]:
    return container(resources=resources)


def test_an_empty_pod() -> None:
    pod = defaulted()
    assert pod.metadata.namespace == "default"
    assert pod.spec.scheduler_name == "default-scheduler"
    assert pod.spec.restart_policy == "Always"
    assert pod.spec.termination_grace_period_seconds == 30
    assert pod.spec.priority is None, "admission decides on priorities"


def test_what_is_there_stays() -> None:
    given = {"schedulerName": "mine", "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    pod = defaulted(given, metadata={"name": "a", "namespace": "shop"})
    assert pod.metadata.namespace == "shop"
    assert (pod.spec.scheduler_name, pod.spec.restart_policy) == ("mine", "Never")
    assert pod.spec.termination_grace_period_seconds == 0


@pytest.mark.parametrize(
    ("resources", "requests"),
    [
        pytest.param({"limits": {"cpu": "2"}}, {"cpu": "2"}, id="a limit is a request"),
        pytest.param({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, {"cpu": "1"}, id="not where there is one"),
        pytest.param({"limits": {"cpu": "2"}, "requests": {"cpu": "0"}}, {"cpu": "0"}, id="zero is a request"),
        pytest.param(
            {"limits": {"cpu": "2"}, "requests": {"memory": "1Gi"}},
            {"cpu": "2", "memory": "1Gi"},
            id="resource by resource",
        ),
        pytest.param({"requests": {"cpu": "1"}}, {"cpu": "1"}, id="no limits"),
        pytest.param({"requests": {"cpu": "0.1m"}}, {"cpu": "1m"}, id="finer than a thousandth"),
        pytest.param({"limits": {"memory": "1.0001"}}, {"memory": "1001m"}, id="a limit finer than a thousandth"),
        pytest.param({"requests": {"memory": "1.5Gi"}}, {"memory": "1.5Gi"}, id="written as it was"),
    ],
)
@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_container_requests(field: str, resources: dict[str, Any], requests: dict[str, Any]) -> None:
    spec = defaulted({field: [{"name": "main", "resources": resources}]}).spec
    (made,) = spec.containers or spec.init_containers
    assert made.resources.requests == requests


@pytest.mark.parametrize(
    ("own", "requests", "expected"),
    [
        pytest.param({"limits": {"cpu": "2"}}, {}, {"cpu": "2"}, id="the limit, where no container asks"),
        pytest.param({"limits": {"cpu": "2"}}, {"cpu": "1"}, {"cpu": "1000m"}, id="what the containers ask for"),
        pytest.param(
            {"limits": {"cpu": "2"}, "requests": {"cpu": "1500m"}}, {"cpu": "1"}, {"cpu": "1500m"}, id="what is there"
        ),
        pytest.param(
            {"limits": {"cpu": "2"}}, {"memory": "1Mi"}, {"cpu": "2", "memory": "1Mi"}, id="resource by resource"
        ),
        pytest.param({"requests": {"cpu": "2"}}, {"memory": "1Mi"}, {"cpu": "2"}, id="nothing without limits"),
        pytest.param(
            {"limits": {"cpu": "2"}}, {"example.com/gpu": "1"}, {"cpu": "2"}, id="only what a pod may ask for"
        ),
    ],
)
def test_pod_level_requests(own: dict[str, Any], requests: dict[str, Any], expected: dict[str, str]) -> None:
    made = defaulted({**asking(requests=requests), "resources": own}).spec.resources
    assert made is not None
    # A sum is written in billionths; what counts is the amount.
    assert amounts(made.requests) == amounts(expected)


def amounts(quantities: dict[str, Any]) -> dict[str, int]:
    return {name: nano_value(quantity) for name, quantity in quantities.items()}


def test_huge_pages_of_containers_limit_the_pod() -> None:
    spec = {**asking(limits={"hugepages-2Mi": "4Mi"}), "resources": {"limits": {"cpu": "1"}}}
    own = defaulted(spec).spec.resources
    assert own is not None
    assert amounts(own.limits) == amounts({"cpu": "1", "hugepages-2Mi": "4Mi"})
    assert amounts(own.requests) == amounts({"cpu": "1", "hugepages-2Mi": "4Mi"})


def test_an_amount_that_no_quantity_holds_is_the_largest() -> None:
    """A limit of 400 digits was a crash: the sum of the containers in billionths had more digits than a quantity."""
    spec = {**asking(limits={"hugepages-2Mi": "9" * 400}), "resources": {"limits": {"cpu": "1"}}}
    own = defaulted(spec).spec.resources
    assert own is not None
    assert amounts(own.limits) == {"cpu": 10**9, "hugepages-2Mi": (2**63 - 1) * 10**9}


def test_huge_pages_that_the_pod_asks_for_are_left_alone() -> None:
    own = {"requests": {"hugepages-2Mi": "8Mi"}}
    made = defaulted({**asking(limits={"hugepages-2Mi": "4Mi"}), "resources": own}).spec.resources
    assert made is not None
    assert made.limits == {}


@pytest.mark.parametrize(
    ("port", "on_host", "host_port"),
    [
        pytest.param({"containerPort": 80}, True, 80, id="on the host's network"),
        pytest.param({"containerPort": 80, "hostPort": 81}, True, 81, id="as it says"),
        pytest.param({"containerPort": 80}, False, 0, id="on its own network"),
    ],
)
@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_host_ports(field: str, port: dict[str, Any], on_host: bool, host_port: int) -> None:
    spec = defaulted({field: [{"name": "main", "ports": [port]}], "hostNetwork": on_host}).spec
    (made,) = spec.containers or spec.init_containers
    assert [(each.host_port, each.protocol) for each in made.ports] == [(host_port, "TCP")]


def test_the_protocol_of_a_port_stays() -> None:
    pod = defaulted(container(ports=[{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]))
    assert [port.protocol for port in pod.spec.containers[0].ports] == ["UDP", "TCP"]


def test_rbd_images_are_in_the_pool_rbd() -> None:
    volumes = [
        {"name": "a", "rbd": {"image": "x"}},
        {"name": "b", "rbd": {"image": "x", "pool": "fast"}},
        {"name": "c", "emptyDir": {}},
    ]
    made = defaulted({"volumes": volumes}).spec.volumes
    assert [volume.rbd.pool if volume.rbd else None for volume in made] == ["rbd", "fast", None]


def test_quantities_of_the_status_and_of_overhead_are_stored_in_thousandths() -> None:
    held = {"name": "main", "allocatedResources": {"cpu": "1u"}, "resources": {"requests": {"cpu": "1n"}}}
    status = {
        "containerStatuses": [held],
        "allocatedResources": {"cpu": "1100u"},
        "resources": {"requests": {"cpu": "2u"}},
    }
    whole = {"requests": {"cpu": "1.1m"}, "limits": {"cpu": "2.1m"}}
    pod = defaulted({"overhead": {"cpu": "10u"}, "resources": whole}, status=status)
    (container_status,) = pod.status.container_statuses
    assert pod.spec.overhead == {"cpu": "1m"}
    assert pod.spec.resources is not None
    assert (pod.spec.resources.requests, pod.spec.resources.limits) == ({"cpu": "2m"}, {"cpu": "3m"})
    assert container_status.allocated_resources == {"cpu": "1m"}
    assert container_status.resources is not None
    assert container_status.resources.requests == {"cpu": "1m"}
    assert pod.status.allocated_resources == {"cpu": "2m"}
    assert pod.status.resources is not None
    assert pod.status.resources.requests == {"cpu": "1m"}


def test_defaulting_twice_is_defaulting_once() -> None:
    spec = {
        **container(resources={"limits": {"cpu": "0.3m"}}, ports=[{"containerPort": 80}]),
        "resources": {"limits": {"cpu": "2"}},
        "hostNetwork": True,
    }
    pod = defaulted(spec)
    once = msgspec.json.encode(pod)
    default_pod(pod)
    assert msgspec.json.encode(pod) == once


@pytest.mark.parametrize(
    ("status", "allocatable"),
    [
        pytest.param({"capacity": {"cpu": "4"}}, {"cpu": "4"}, id="all there is"),
        pytest.param({"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}, {"cpu": "3"}, id="as reported"),
        pytest.param({"allocatable": {"cpu": "3.0001"}}, {"cpu": "3001m"}, id="in thousandths"),
        pytest.param(
            {"allocatable": {"cpu": "9223372036854775808.0001"}}, {"cpu": "9223372036854775807000m"}, id="the most"
        ),
        pytest.param({}, {}, id="nothing known"),
    ],
)
def test_node(status: dict[str, Any], allocatable: dict[str, str]) -> None:
    node = msgspec.convert({"status": status}, Node)
    default_node(node)
    assert node.status.allocatable == allocatable


def test_a_namespace_is_labelled_with_its_name() -> None:
    namespace = Namespace(ObjectMeta(name="shop", labels={"team": "a", "kubernetes.io/metadata.name": "other"}))
    default_namespace(namespace)
    assert namespace.metadata.labels == {"team": "a", "kubernetes.io/metadata.name": "shop"}


@pytest.mark.parametrize("kind", [Deployment, ReplicaSet, ReplicationController, StatefulSet])
@pytest.mark.parametrize(("written", "wanted"), [({}, 1), ({"replicas": 0}, 0), ({"replicas": 2}, 2)], ids=str)
def test_a_workload_has_one_pod_by_default(kind: Any, written: dict[str, int], wanted: int) -> None:
    assert wanted_replicas(msgspec.convert({"spec": written}, kind)) == wanted


def test_storage() -> None:
    volume, claim, storage_class = PersistentVolume(), PersistentVolumeClaim(), StorageClass()
    default_volume(volume)
    default_claim(claim)
    default_storage_class(storage_class)
    assert (volume.spec.volume_mode, volume.spec.persistent_volume_reclaim_policy) == ("Filesystem", "Retain")
    assert (volume.status.phase, claim.status.phase) == ("Pending", "Pending")
    assert (claim.spec.volume_mode, claim.spec.storage_class_name) == ("Filesystem", None)
    assert (storage_class.volume_binding_mode, storage_class.reclaim_policy) == ("Immediate", "Delete")


def test_storage_is_rounded_up_to_thousandths() -> None:
    volume = msgspec.convert({"spec": {"capacity": {"storage": "0.1m"}}}, PersistentVolume)
    claim = msgspec.convert({"spec": {"resources": {"requests": {"storage": "1.0001"}}}}, PersistentVolumeClaim)
    default_volume(volume)
    default_claim(claim)
    assert (volume.spec.capacity, claim.spec.resources.requests) == ({"storage": "1m"}, {"storage": "1001m"})


def test_what_storage_says_stays() -> None:
    volume = msgspec.convert({"spec": {"volumeMode": "Block"}, "status": {"phase": "Bound"}}, PersistentVolume)
    claim = msgspec.convert({"spec": {"volumeMode": "Block"}, "status": {"phase": "Bound"}}, PersistentVolumeClaim)
    storage_class = msgspec.convert({"volumeBindingMode": "WaitForFirstConsumer"}, StorageClass)
    default_volume(volume)
    default_claim(claim)
    default_storage_class(storage_class)
    assert (volume.spec.volume_mode, volume.status.phase) == ("Block", "Bound")
    assert (claim.spec.volume_mode, claim.status.phase) == ("Block", "Bound")
    assert storage_class.volume_binding_mode == "WaitForFirstConsumer"


# What the API server sets where a field is missing (SetDefaults), for typed objects that live in others.
_SET_BY_THE_API_SERVER = {
    ("PodConditionPattern", "status"),
    ("DeviceCapacity", "value"),
    ("Counter", "value"),
    ("NodeAllocatableResourceMapping", "allocation_multiplier"),
}


@pytest.mark.parametrize("module", [core, dynamic_resources, storage, workloads], ids=lambda module: module.__name__)
def test_a_field_that_is_missing_has_the_zero_value_of_go(module: ModuleType) -> None:
    """A number that is not written is 0, a flag is off, a list is empty."""
    structs = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__module__ == module.__name__
    ]
    assert len(structs) > 10
    found = {
        (struct.__name__, field.name)
        for struct in structs
        for field in msgspec.structs.fields(struct)
        if field.default is not msgspec.NODEFAULT
        and not isinstance(field.default, msgspec.Struct)
        and field.default not in (None, 0, "", (), {}, [])
    }
    assert found <= _SET_BY_THE_API_SERVER
