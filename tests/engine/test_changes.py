"""Events: which match what a plugin registered for, and what an update is told as."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.engine.handlers import node_changes, pod_changes
from ksched_cli.engine.scheduling_queue import FORCE_ACTIVATE
from ksched_cli.framework.events import (
    ASSIGNED_POD_ADD,
    UNSCHEDULED_POD_ADD,
    Action,
    ClusterEvent,
    matches_any,
)
from ksched_cli.releases.minors import release
from tests.builders import make_node, make_pod

ALL, UPDATE = ClusterEvent("*", Action.ALL), Action.UPDATE


@pytest.mark.parametrize(
    ("registered", "incoming", "expected"),
    [
        pytest.param(ALL, ClusterEvent("Node", Action.ADD), True, id="wildcard"),
        pytest.param(ClusterEvent("Node", Action.ADD), FORCE_ACTIVATE, False, id="wildcard-comes-in"),
        pytest.param(ClusterEvent("Node", Action.ADD), ClusterEvent("Node", Action.ADD), True, id="the-same"),
        pytest.param(ClusterEvent("Node", Action.ADD), ClusterEvent("Node", Action.DELETE), False, id="other-action"),
        pytest.param(ClusterEvent("Node", Action.ADD), ClusterEvent("CSINode", Action.ADD), False, id="other-kind"),
        pytest.param(ClusterEvent("Pod", Action.ADD), ASSIGNED_POD_ADD, True, id="pod-is-assigned-pod"),
        pytest.param(ClusterEvent("Pod", Action.ADD), UNSCHEDULED_POD_ADD, True, id="pod-is-unscheduled-pod"),
        pytest.param(
            ClusterEvent("Node", UPDATE), ClusterEvent("Node", Action.UPDATE_NODE_LABEL), True, id="more-specific"
        ),
        pytest.param(
            ClusterEvent("Node", Action.UPDATE_NODE_LABEL), ClusterEvent("Node", UPDATE), False, id="less-specific"
        ),
        pytest.param(
            ClusterEvent("Pod", Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE),
            ClusterEvent("AssignedPod", UPDATE),
            False,
            id="a-general-update-is-no-update-of-labels",
        ),
        pytest.param(
            ClusterEvent("PersistentVolumeClaim", Action.ADD | UPDATE),
            ClusterEvent("PersistentVolumeClaim", UPDATE),
            True,
            id="general-update",
        ),
    ],
)
def test_matches(registered: ClusterEvent, incoming: ClusterEvent, expected: bool) -> None:
    assert registered.matches(incoming) is expected
    assert matches_any(incoming, [ClusterEvent("Other", Action.ADD), registered]) is expected


@pytest.mark.parametrize(
    ("event", "label", "text"),
    [
        (ASSIGNED_POD_ADD, "AssignedPodAdd", "AssignedPod Add"),
        (ClusterEvent("Node", Action.UPDATE_NODE_TAINT), "NodeUpdateNodeTaint", "Node UpdateNodeTaint"),
        (ClusterEvent("Pod", UPDATE), "PodUpdate", "Pod Update"),
        (ClusterEvent("Pod", Action.ADD | UPDATE), "PodAdd/Update", "Pod Add/Update"),
        (FORCE_ACTIVATE, "ForceActivate", "* All"),
    ],
    ids=["assigned", "node", "update", "several", "custom"],
)
def test_labels(event: ClusterEvent, label: str, text: str) -> None:
    assert event.label == label
    assert str(event) == text


def node(change: Any) -> Any:
    twin = make_node("n").allocatable(cpu="4").label(a="1").taint("x").annotate(note="1")
    twin.data["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "one"}]
    change(twin)
    return twin.obj()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(lambda n: n, lambda n: n, [], id="nothing"),
        pytest.param(lambda n: n, lambda n: n.allocatable(cpu="4000m"), [], id="the-same-amount"),
        pytest.param(lambda n: n, lambda n: n.allocatable(cpu="5"), ["Allocatable"], id="allocatable"),
        pytest.param(lambda n: n, lambda n: n.label(b="2"), ["Label"], id="labels"),
        pytest.param(lambda n: n, lambda n: n.taint("y"), ["Taint"], id="taints"),
        pytest.param(lambda n: n.cordoned(), lambda n: n, ["Taint"], id="uncordoned"),
        pytest.param(lambda n: n, lambda n: n.cordoned(), [], id="cordoned"),
        pytest.param(lambda n: n, lambda n: n.annotate(note="2"), ["Annotation"], id="annotations"),
        pytest.param(
            lambda n: n,
            lambda n: n.status(conditions=[{"type": "Ready", "status": "False"}]),
            ["Condition"],
            id="condition",
        ),
        pytest.param(
            lambda n: n,
            lambda n: n.status(conditions=[{"type": "Ready", "status": "True", "reason": "two"}]),
            [],
            id="a-condition-s-reason",
        ),
        pytest.param(
            lambda n: n, lambda n: n.status(declaredFeatures=["A"]), ["DeclaredFeature"], id="declared-features"
        ),
        pytest.param(
            lambda n: n.cordoned(),
            lambda n: n.allocatable(cpu="8").taint("y"),
            ["Taint", "Allocatable", "Taint"],
            id="several",
        ),
    ],
)
def test_node_changes(before: Any, after: Any, expected: list[str]) -> None:
    gates = release("1.36").gates("NodeDeclaredFeatures=true")
    found = node_changes(node(before), node(after), gates)
    assert [event.label for event in found] == [f"NodeUpdateNode{each}" for each in expected]


def test_declared_features_need_their_gate() -> None:
    gates = release("1.36").gates("NodeDeclaredFeatures=false,InPlacePodLevelResourcesVerticalScaling=false")
    assert node_changes(make_node("n").obj(), make_node("n").status(declaredFeatures=["A"]).obj(), gates) == []


def pod(change: Any) -> Any:
    builder = make_pod("p").requests(cpu="2", memory="1Gi").label(a="1").gate("hold")
    builder.toleration("x")
    change(builder)
    return builder.obj()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda p: p, ["Update"], id="nothing-that-counts"),
        pytest.param(lambda p: p.label(b="2"), ["UpdatePodLabel"], id="labels"),
        pytest.param(lambda p: p.requests(cpu="1", memory="1Gi"), ["UpdatePodScaleDown"], id="less-cpu"),
        pytest.param(lambda p: p.requests(cpu="2"), ["UpdatePodScaleDown"], id="no-memory"),
        pytest.param(lambda p: p.requests(cpu="3", memory="1Gi"), ["Update"], id="more-cpu"),
        pytest.param(lambda p: p.spec(schedulingGates=[]), ["UpdatePodSchedulingGatesEliminated"], id="the-last-gate"),
        pytest.param(lambda p: p.gate("more"), ["Update"], id="another-gate"),
        pytest.param(lambda p: p.toleration("y"), ["UpdatePodToleration"], id="tolerations"),
        pytest.param(
            lambda p: p.status(resourceClaimStatuses=[{"name": "gpu", "resourceClaimName": "gpu-1"}]),
            ["UpdatePodGeneratedResourceClaim"],
            id="claims",
        ),
        pytest.param(lambda p: p.label(b="2").toleration("y"), ["UpdatePodLabel", "UpdatePodToleration"], id="several"),
    ],
)
@pytest.mark.parametrize(("on", "kind"), [("", "UnschedulablePod"), ("n", "AssignedPod")])
def test_pod_changes(change: Any, expected: list[str], on: str, kind: str) -> None:
    gates = release("1.36").gates()
    found = pod_changes(pod(lambda p: p.on(on)), pod(lambda p: change(p.on(on))), gates)
    assert [event.label for event in found] == [kind + each for each in expected]
