"""What a person would not do: labels, nodes and taints that fixes leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Taint
from ksched_cli.plan.reasons.fixes.limits import is_leaving, is_of_a_state, is_of_another_system, points_at, system_of
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod, term

OS = "kubernetes.io/os"


@pytest.mark.parametrize(
    ("taint", "holds"),
    [
        ("node.kubernetes.io/not-ready", True),
        ("node.kubernetes.io/unschedulable", True),
        ("ToBeDeletedByClusterAutoscaler", True),
        ("gpu", False),
    ],
)
def test_taints_of_a_state(taint: str, holds: bool) -> None:
    assert is_of_a_state(Taint(key=taint, effect="NoSchedule")) is holds


@pytest.mark.parametrize(
    ("node", "leaves"),
    [
        pytest.param(make_node().taint("gpu").taint("node.kubernetes.io/not-ready"), True, id="not ready"),
        pytest.param(make_node().taint("node.kubernetes.io/not-ready", effect="PreferNoSchedule"), False, id="preferred"),
        pytest.param(make_node().taint("node.kubernetes.io/unschedulable"), False, id="cordoned"),
        pytest.param(make_node(), False, id="nothing"),
    ],
)  # fmt: skip
def test_nodes_that_leave(node: NodeBuilder, leaves: bool) -> None:
    assert is_leaving(node.obj()) is leaves
    document = node.doc()
    document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    node.data = document
    assert is_leaving(node.obj())


def on(*expressions: tuple[str, str, list[str]], **selector: str) -> PodBuilder:
    pod = make_pod().selector(**selector) if selector else make_pod()
    return pod.node_affinity(term(*expressions)) if expressions else pod


@pytest.mark.parametrize(
    ("pod", "points"),
    [
        pytest.param(make_pod(), False, id="at nothing"),
        pytest.param(on(disk="hdd", pool="gpu"), True, id="a label after one that differs"),
        pytest.param(on(disk="hdd"), False, id="another value"),
        pytest.param(on(("gone", "Exists", []), ("pool", "Exists", [])), True, id="a label that exists"),
        pytest.param(on(("pool", "In", ["x", "gpu"])), True, id="one of several values"),
        pytest.param(on(("pool", "In", ["x"]), ("pool", "NotIn", ["x"])), False, id="not excluded"),
        pytest.param(on((OS, "In", ["linux"])), False, id="its system"),
        pytest.param(make_pod().requests(cpu="1", example_com__gpu="1"), True, id="an extended resource"),
        pytest.param(make_pod().init(resources={"requests": {"example.com/gpu": "1"}}), True, id="an init container"),
        pytest.param(make_pod().requests(cpu="1", example_com__fpga="1"), False, id="a resource that it lacks"),
    ],
)
def test_pods_that_point_at_a_node(pod: PodBuilder, points: bool) -> None:
    node = make_node().label("pool", "gpu").label("disk", "ssd").label(OS, "linux")
    assert points_at(pod.obj(), node.allocatable(cpu="4", example_com__gpu="1").obj()) is points


@pytest.mark.parametrize(
    ("pod", "system"),
    [
        pytest.param(make_pod(), "linux", id="no os named"),
        pytest.param(make_pod().spec(os={"name": "windows"}), "windows", id="spec.os"),
        pytest.param(make_pod().spec(nodeSelector={OS: "windows"}), "windows", id="node selector"),
        pytest.param(on(("pool", "In", ["x"]), (OS, "NotIn", ["x"]), (OS, "In", ["windows", "x"])), "windows", id="affinity"),
        pytest.param(on((OS, "NotIn", ["windows"])), "linux", id="excluded"),
    ],
)  # fmt: skip
def test_the_system_of_a_pod(pod: PodBuilder, system: Any) -> None:
    assert system_of(pod.obj()) == system
    assert is_of_another_system(make_node().obj(), pod.obj()) is (system == "windows")
    assert is_of_another_system(make_node().label(OS, "windows").obj(), pod.obj()) is (system == "linux")
