"""Manifests and clusters for tests of inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.builders import make_node, make_object, make_pod, make_workload

NODE = make_node("n1").allocatable(cpu="4", memory="8Gi", pods=20).doc()
POD = make_pod("p").requests(cpu="1").doc()
LARGE = make_pod("large").requests(cpu="9").doc()
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
PRIORITY = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
BUDGET = make_object("PodDisruptionBudget", "b", {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}})
STATUS = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "nodes is forbidden"}
TABLE = {"apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": []}


def deployment(name: str = "web", cpu: str = "1", **fields: Any) -> dict[str, Any]:
    return {**make_workload("Deployment", name, requests={"cpu": cpu}, replicas=1), **fields}


def dumped(*documents: Any) -> str:
    return yaml.safe_dump_all(documents, sort_keys=False)


def lay_out(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def first_line(out: str, err: str) -> str:
    """Of the result, behind the summary; of the error if there is no result."""
    assert "Traceback" not in err
    assert "a bug in ksched" not in err
    summary, _, evidence = out.partition("\n\n")
    return (evidence or summary or err).partition("\n")[0]


def autoscaler(least: int, most: int, keda: bool = False) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    if keda:
        spec = {"scaleTargetRef": {"name": "web"}, "minReplicaCount": least, "maxReplicaCount": most}
        return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "s"}, "spec": spec}
    bounds = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most}
    return make_object("autoscaling/v2/HorizontalPodAutoscaler", "h", bounds)
