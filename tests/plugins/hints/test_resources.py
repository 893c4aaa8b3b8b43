"""Queueing hints of NodeResourcesFit and DynamicResources."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.framework.events import ASSIGNED_POD, ASSIGNED_POD_DELETE, UNSCHEDULED_POD, Action, ClusterEvent
from ksched_cli.plugins.dynamic_resources import DynamicResources
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.harness import make_bench
from tests.plugins.hints.asking import CASE, case, hint
from tests.plugins.lib.devices.resources import allocated, exactly, make_claim, make_class, make_slice

ADD = ClusterEvent("Node", Action.ADD)
ALLOCATABLE = ClusterEvent("Node", Action.UPDATE_NODE_ALLOCATABLE)
SCALED = ClusterEvent(ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN)
OWN_SCALED = ClusterEvent(UNSCHEDULED_POD, Action.UPDATE_POD_SCALE_DOWN)
CLASS_ADD, CLASS_UPDATE = ClusterEvent("DeviceClass", Action.ADD), ClusterEvent("DeviceClass", Action.UPDATE)


def node(**amounts: Any) -> Any:
    return make_node("n").allocatable(**{"pods": 10, **amounts})


def pod(name: str = "p", **requests: Any) -> Any:
    return make_pod(name).uid(name).requests(**requests)


def other(**requests: Any) -> Any:
    return pod("q", **requests).on("n")


def resized(allocated: str) -> Any:
    """A pod that requests one core and still has so many."""
    requests = {"requests": {"cpu": allocated}}
    return other(cpu="1").status(containerStatuses=[{"name": "main", "resources": requests}])


ONE = pod(cpu="1")
RESOURCE = "example.com/gpu"
GPU = pod(example_com__gpu=1)


@pytest.mark.parametrize(
    CASE,
    [
        case("a-pod-goes", ONE, ASSIGNED_POD_DELETE, other(cpu="1"), None, True),
        case("a-pending-pod-goes", ONE, ASSIGNED_POD_DELETE, pod("q", cpu="1"), None, False),
        case("a-nominated-pod-goes", ONE, ASSIGNED_POD_DELETE, pod("q", cpu="1").nominated("n"), None, True),
        case("a-placed-pod-shrinks", ONE, SCALED, other(cpu="2"), other(cpu="1"), True),
        case(
            "in-one-of-two",
            pod(cpu="1", memory="1"),
            SCALED,
            other(cpu="1", memory="2"),
            other(cpu="1", memory="1"),
            True,
        ),
        case("in-what-the-pod-does-not-want", ONE, SCALED, other(memory="2Gi"), other(memory="1Gi"), False),
        case("in-what-it-wants-none-of", pod(cpu="1", memory="0"), SCALED, other(memory="2"), other(memory="1"), False),
        case("an-extended-resource-is-given-up", GPU, SCALED, other(example_com__gpu=1), other(), True),
        case("in-what-neither-has", GPU, SCALED, other(cpu="2"), other(cpu="1"), False),
        case("a-resize-is-done", ONE, SCALED, resized("2"), resized("1"), True),
        case("a-pending-pod-shrinks", ONE, OWN_SCALED, pod("q", cpu="2"), pod("q", cpu="1"), False),
        case("the-pod-itself-shrinks", ONE, OWN_SCALED, pod(cpu="2"), pod(cpu="1"), True),
        case("storage", pod(ephemeral_storage="1Gi"), SCALED, other(cpu="1"), other(), False),
        case("an-extended-resource", GPU, SCALED, other(example_com__gpu=2), other(example_com__gpu=1), True),
        case("a-node-too-small-comes", pod(cpu="4"), ADD, None, node(cpu="2"), False),
        case("a-node-comes-that-lacks-it", GPU, ADD, None, node(cpu="2"), False),
        case("a-node-comes-that-is-large-enough", ONE, ADD, None, node(cpu="2"), True),
        case("a-node-comes-that-takes-no-pods", ONE, ADD, None, node(cpu="2", pods=0), False),
        case("a-node-comes-that-takes-one-pod", ONE, ADD, None, node(cpu="1", pods=1), True),
        case("a-node-has-the-first-alone", pod(cpu="1", memory="2Gi"), ADD, None, node(cpu="2", memory="1Gi"), False),
        case("a-node-has-the-second-alone", pod(cpu="3", memory="1Gi"), ADD, None, node(cpu="2", memory="1Gi"), False),
        case("it-grows-in-something-else", ONE, ALLOCATABLE, node(cpu="2"), node(cpu="2", memory="1Gi"), False),
        case("it-grows-in-what-is-wanted", ONE, ALLOCATABLE, node(cpu="2"), node(cpu="3"), True),
        case("it-takes-more-pods", ONE, ALLOCATABLE, node(cpu="2"), node(cpu="2", pods=11), True),
        case("it-becomes-too-small", ONE, ALLOCATABLE, node(cpu="2"), node(cpu="500m"), False),
        case("it-becomes-large-enough", ONE, ALLOCATABLE, node(cpu="500m"), node(cpu="1"), True),
        case("a-pod-that-wants-nothing", pod(), ALLOCATABLE, node(cpu="1"), node(cpu="2"), False),
        case("the-same-amount-otherwise", ONE, ALLOCATABLE, node(cpu="2"), node(cpu="2000m"), False),
    ],
)
def test_node_resources_fit(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(NodeResourcesFit, pod, event, old, new, options) is expected


EXTENDED = {"gates": "DRAExtendedResource=true"}
BACKED = {**EXTENDED, "objects": [make_class("gpu", extendedResourceName=RESOURCE)]}
IMPLICIT = make_pod("p").requests(**{"deviceclass.resource.kubernetes.io__gpu": 1})
IMPLICIT.data["spec"]["containers"][0]["resources"]["requests"] = {"deviceclass.resource.kubernetes.io/gpu": 1}


def device_class(resource: str | None = None, name: str = "gpu") -> Any:
    return make_class(name, **({} if resource is None else {"extendedResourceName": resource}))


@pytest.mark.parametrize(
    CASE,
    [
        case("no-resource-before-or-after", GPU, CLASS_UPDATE, device_class(), device_class(), False),
        case("the-same-resource", GPU, CLASS_UPDATE, device_class(RESOURCE), device_class(RESOURCE), False),
        case("a-class-comes-by-name", IMPLICIT, CLASS_ADD, None, device_class(), True),
        case("a-class-of-another-name", IMPLICIT, CLASS_ADD, None, device_class(name="fpga"), False),
        case("by-name-it-was-there-before", IMPLICIT, CLASS_UPDATE, device_class(), device_class("a.b/c"), False),
        case("a-class-for-another-resource", GPU, CLASS_ADD, None, device_class("a.b/c"), False),
        case("a-class-for-the-resource", GPU, CLASS_ADD, None, device_class(RESOURCE), True),
        case("a-class-gets-the-resource", GPU, CLASS_UPDATE, device_class(), device_class(RESOURCE), True),
        case("a-class-loses-the-resource", GPU, CLASS_UPDATE, device_class(RESOURCE), device_class(), False),
    ],
)
def test_device_classes_for_extended_resources(
    pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any
) -> None:
    assert hint(NodeResourcesFit, pod, event, old, new, {**options, **EXTENDED}) is expected


@pytest.mark.parametrize(
    CASE,
    [
        case("devices-may-be-there", GPU, ADD, None, node(cpu="1"), True, **BACKED),
        case("devices-may-be-there-after-a-change", GPU, ALLOCATABLE, node(cpu="1"), node(cpu="2"), True, **BACKED),
        case(
            "devices-may-be-there-beside-enough-cpu",
            pod(cpu="1", example_com__gpu=1),
            ALLOCATABLE,
            node(cpu="2"),
            node(cpu="2", memory="1Gi"),
            True,
            **BACKED,
        ),
        case("the-node-has-its-own", GPU, ADD, None, node(example_com__gpu=1), True, **BACKED),
        case("too-few-of-its-own", pod(example_com__gpu=2), ADD, None, node(example_com__gpu=1), False, **BACKED),
    ],
)
def test_nodes_whose_devices_stand_behind_the_resource(
    pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any
) -> None:
    assert hint(NodeResourcesFit, pod, event, old, new, options) is expected


def test_device_classes_are_heard_of_by_gate_only() -> None:
    off, on = (
        make_bench(NodeResourcesFit, [], pod().obj(), gates=f"DRAExtendedResource={each}").plugin.events_to_register()
        for each in ("false", "true")
    )
    assert [event.resource for event in off] == ["Pod", "Node"]
    assert [event.resource for event in on] == ["Pod", "Node", "DeviceClass"]


# DynamicResources

CLAIM_ADD, CLAIM_UPDATE = ClusterEvent("ResourceClaim", Action.ADD), ClusterEvent("ResourceClaim", Action.UPDATE)
GENERATED = ClusterEvent(UNSCHEDULED_POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
REFERS = [{"name": "r", "resourceClaimName": "mine"}]
TEMPLATE = [{"name": "r", "resourceClaimTemplateName": "t"}]


def claiming(name: str = "p", references: Any = REFERS) -> Any:
    return make_pod(name).uid(name).spec(resourceClaims=references)


def claim(name: str = "mine", **more: Any) -> Any:
    return make_claim(name, exactly(), **more)


def taken(name: str = "mine") -> Any:
    return claim(name, status=allocated("d1"))


OWN = {"objects": [claim()]}
TWO = [{"name": "q", "resourceClaimName": "other"}, *REFERS]
BOTH = {"objects": [claim("other"), claim()]}
GENERATED_STATUS = {"resourceClaimStatuses": [{"name": "r", "resourceClaimName": "mine"}]}
OWNED = claim(
    metadata={
        "name": "mine",
        "namespace": "default",
        "ownerReferences": [{"kind": "Pod", "name": "p", "uid": "p", "controller": True}],
    }
)


@pytest.mark.parametrize(
    CASE,
    [
        case("the-claim-comes", claiming(), CLAIM_ADD, None, claim(), True, **OWN),
        case("another-claim-comes", claiming(), CLAIM_ADD, None, claim("other"), False, **OWN),
        case("one-of-its-claims-comes", claiming(references=TWO), CLAIM_ADD, None, claim(), True, **BOTH),
        case("the-pod-s-claim-is-still-missing", claiming(), CLAIM_ADD, None, claim("other"), False),
        case("another-claim-frees-devices", claiming(), CLAIM_UPDATE, taken("other"), claim("other"), True, **OWN),
        case("while-its-own-is-missing", claiming(), CLAIM_UPDATE, taken("other"), claim("other"), False),
        case("another-claim-takes-devices", claiming(), CLAIM_UPDATE, claim("other"), taken("other"), False, **OWN),
        case("its-claim-is-allocated", claiming(), CLAIM_UPDATE, claim(), taken(), True, **OWN),
        case("its-claim-is-as-it-was", claiming(), CLAIM_UPDATE, claim(), claim(), False, **OWN),
        case("a-pod-without-claims", make_pod("p"), CLAIM_UPDATE, claim(), taken(), False, **OWN),
        case("a-node-comes", claiming(), ADD, None, node(), True, **OWN),
        case("a-class-comes", claiming(), CLASS_ADD, None, make_class(), True, **OWN),
        case(
            "a-slice-comes",
            claiming(),
            ClusterEvent("ResourceSlice", Action.ADD),
            None,
            make_slice("s", node="n"),
            True,
            **OWN,
        ),
        case(
            "its-claim-was-made",
            claiming(references=TEMPLATE),
            GENERATED,
            claiming(references=TEMPLATE),
            claiming(references=TEMPLATE).status(**GENERATED_STATUS),
            True,
            objects=[OWNED],
        ),
        case(
            "its-claim-was-made-but-is-not-here-yet",
            claiming(references=TEMPLATE),
            GENERATED,
            claiming(references=TEMPLATE),
            claiming(references=TEMPLATE).status(**GENERATED_STATUS),
            False,
        ),
        case(
            "another-pod-s-claim-was-made",
            claiming("q", references=TEMPLATE),
            GENERATED,
            claiming(references=TEMPLATE),
            claiming(references=TEMPLATE).status(**GENERATED_STATUS),
            False,
            objects=[OWNED],
        ),
    ],
)
def test_dynamic_resources(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(DynamicResources, pod, event, old, new, options) is expected
