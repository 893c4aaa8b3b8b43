"""NodePools, nodes and pods of clusters with Karpenter, and the command run on them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_object
from tests.cli.transcripts import ROOT

KARPENTER_DEMO = str(ROOT / "ksched_cli" / "cli" / "demo_karpenter.yaml")
TYPE = {
    "name": "small",
    "capacity": {"cpu": "4", "memory": "16Gi", "pods": "50"},
    "offerings": [{"zone": "a", "capacityType": "on-demand", "price": 0.1}],
    "requirements": {"node.kubernetes.io/instance-type": ["small"], "topology.kubernetes.io/zone": ["a"]},
}
POOL_LABEL = "karpenter.sh/nodepool"


def node_pool(*requirements: dict[str, Any], **spec: Any) -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"spec": {"nodeClassRef": reference, "requirements": list(requirements)}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"template": template, **spec},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def pending(name: str = "web", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}]
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"containers": containers, **spec},
        "status": {"phase": "Pending", "conditions": [condition]},
    }


def running_on(node: str, *, replicas: int = 1, cpu: str = "1") -> list[dict[str, Any]]:
    """A ReplicaSet, and its running pods."""
    containers = [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": "rs"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    pods = [pending(f"web-{number}", nodeName=node, containers=containers) for number in range(replicas)]
    for pod in pods:
        pod["metadata"] |= {"labels": {"app": "web"}, "ownerReferences": [owner]}
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    return [namespace, replica_set, *pods]


def managed(name: str = "old", cpu: str = "4") -> list[dict[str, Any]]:
    """A node of NodePool general, with its NodeClaim."""
    labels = {
        POOL_LABEL: "general",
        "node.kubernetes.io/instance-type": "small",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        "karpenter.sh/capacity-type": "on-demand",
        "topology.kubernetes.io/zone": "a",
    }
    resources = {"cpu": cpu, "memory": "16Gi", "pods": "50"}
    status = {"capacity": resources, "allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}]}
    node = make_object("Node", name, {"providerID": f"aws:///a/{name}"}, uid=name, labels=labels, status=status)
    claim = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": f"claim-{name}", "labels": labels},
        "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}},
        "status": {**status, "nodeName": name, "providerID": f"aws:///a/{name}"},
    }
    return [node, claim]


def requesting(cpu: str) -> dict[str, Any]:
    return {"containers": [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}]}


def document_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run([*arguments, "-o", "json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found
