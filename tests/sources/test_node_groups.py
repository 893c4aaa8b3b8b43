"""Node groups of Cluster API, and flags in the commands of components."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Taint
from ksched_cli.api.decode import UnknownKind
from ksched_cli.sources.loaded import NodeGroup, flags_of_api_server, flags_of_karpenter, node_group_of

CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
MOST = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
SIZE = {f"{CAPACITY}cpu": "4", f"{CAPACITY}memory": "8Gi"}
PLAIN = NodeGroup("g", resources={"cpu": "4", "memory": "8Gi"})


def group(notes: dict[str, str], kind: str = "MachineDeployment", **spec: Any) -> NodeGroup | None:
    document = {"metadata": {"name": "g", "annotations": notes}, "spec": spec}
    return node_group_of(UnknownKind("cluster.x-k8s.io/v1beta1", kind, document))


def with_most(most: int | None) -> NodeGroup:
    return NodeGroup("g", resources=PLAIN.resources, most=most)


@pytest.mark.parametrize(
    ("notes", "spec", "expected"),
    [
        pytest.param(SIZE, {}, PLAIN, id="a size"),
        pytest.param({f"{CAPACITY}cpu": "4"}, {}, None, id="no memory"),
        pytest.param({f"{CAPACITY}memory": "4Gi"}, {}, None, id="no cpu"),
        pytest.param(
            {**SIZE, f"{CAPACITY}gpu-type": "nvidia.com/gpu", f"{CAPACITY}gpu-count": "2"},
            {},
            NodeGroup("g", resources={**PLAIN.resources, "nvidia.com/gpu": "2"}),
            id="devices",
        ),
        pytest.param({**SIZE, f"{CAPACITY}gpu-type": "nvidia.com/gpu"}, {}, PLAIN, id="devices without a number"),
        pytest.param({**SIZE, f"{CAPACITY}gpu-count": "2"}, {}, PLAIN, id="a number without devices"),
        pytest.param({**SIZE, MOST: "5"}, {"replicas": 3}, with_most(2), id="some more"),
        pytest.param({**SIZE, MOST: "5"}, {"replicas": 7}, with_most(0), id="more than it may have"),
        pytest.param({**SIZE, MOST: "5"}, {}, with_most(5), id="no number of nodes"),
        pytest.param({**SIZE, MOST: "many"}, {"replicas": 3}, PLAIN, id="no limit"),
        pytest.param(
            {
                **SIZE,
                f"{CAPACITY}labels": "a=b, topology.kubernetes.io/zone=z,c,=d,e=,node.kubernetes.io/instance-type=t",
            },
            {},
            NodeGroup("g", ("t",), ("z",), PLAIN.resources, {"a": "b", "e": ""}),
            id="labels",
        ),
        pytest.param(
            {**SIZE, f"{CAPACITY}taints": "a=b:NoSchedule, c:NoExecute,"},
            {},
            NodeGroup(
                "g", resources=PLAIN.resources, taints=(Taint("a", "b", "NoSchedule"), Taint("c", "", "NoExecute"))
            ),
            id="taints",
        ),
    ],
)
def test_a_node_group_of_cluster_api(notes: dict[str, str], spec: dict[str, Any], expected: NodeGroup | None) -> None:
    assert group(notes, **spec) == expected


def test_other_kinds_are_no_node_groups() -> None:
    assert group(SIZE, "Machine") is None
    assert node_group_of(UnknownKind("example.com/v1", "MachineSet", {"metadata": {"annotations": SIZE}})) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["--service-node-port-range=1-2"], "1-2", id="with a sign"),
        pytest.param(["--service-node-port-range", "1-2"], "1-2", id="in two words"),
        pytest.param(["--v=2", "service-node-port-range=1-2"], "30000-32767", id="without dashes"),
        pytest.param(["--other=1-2"], "30000-32767", id="another flag"),
        pytest.param([], None, id="no flags"),
    ],
)
def test_the_flags_of_an_api_server(words: list[str], expected: str | None) -> None:
    document = {"spec": {"containers": [{"command": ["kube-apiserver"], "args": words}]}}
    assert flags_of_api_server(document).get("service-node-port-range") == expected


def test_the_flags_of_karpenter_come_before_its_environment() -> None:
    environment = [
        {"name": "PREFERENCE_POLICY", "value": "Respect"},
        {"name": "MIN_VALUES_POLICY", "value": "BestEffort"},
        {"name": "FEATURE_GATES", "valueFrom": {}},
        {"name": "LOG_LEVEL", "value": "info"},
    ]
    container = {"args": ["--preference-policy", "Ignore"], "env": environment}
    document = {"spec": {"template": {"spec": {"containers": [container]}}}}
    assert flags_of_karpenter(document) == {"preference-policy": "Ignore", "min-values-policy": "BestEffort"}
