"""Workloads that run, and the manifests that change them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ksched_cli.plan.check.results import Check
from ksched_cli.plan.run.options import RunOptions
from tests.builders import make_node, make_object, make_pod, write_list
from tests.running import check

OLD, NEW = "old", "new"


def template(image: str = NEW, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}}
    container |= spec.pop("container", {})
    return {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [container], **spec}}


def workload(kind: str, made: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return make_object(
        f"apps/v1/{kind}", "w", {"selector": {"matchLabels": {"app": "w"}}, "template": made, **spec}, uid="u"
    )


def rolling(surge: Any = None, unavailable: Any = None) -> dict[str, Any]:
    fields = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": {name: each for name, each in fields.items() if each is not None}}


def running(name: str, node: str, owner: str, kind: str, made: dict[str, Any], *, ready: bool = True) -> dict[str, Any]:
    pod = make_pod(name).label(app="w").owner(kind, owner, uid=f"u-{owner}").doc()
    pod["spec"] = {**made["spec"], "nodeName": node}
    pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    return pod


def running_deployment(nodes: list[str], made: dict[str, Any], **spec: Any) -> list[dict[str, Any]]:
    """The deployment, its replica set and a pod on each of the nodes."""
    labelled = {**made, "metadata": {"labels": {"app": "w", "pod-template-hash": "h"}}}
    replica_set = workload("ReplicaSet", labelled, replicas=len(nodes))
    replica_set["metadata"] = {
        "name": "w-h",
        "uid": "u-w-h",
        "ownerReferences": [{"kind": "Deployment", "name": "w", "uid": "u", "controller": True}],
    }
    pods = [running(f"w-h-{at}", node, "w-h", "ReplicaSet", made) for at, node in enumerate(nodes)]
    for pod in pods:
        pod["metadata"]["labels"]["pod-template-hash"] = "h"
    return [workload("Deployment", made, replicas=len(nodes), **spec), replica_set, *pods]


def running_set(nodes: list[str], made: dict[str, Any], **spec: Any) -> list[dict[str, Any]]:
    pods = [running(f"w-{at}", node, "w", "StatefulSet", made) for at, node in enumerate(nodes)]
    return [workload("StatefulSet", made, replicas=len(nodes), **spec), *pods]


def running_daemons(nodes: list[str], made: dict[str, Any], **spec: Any) -> list[dict[str, Any]]:
    pods = [running(f"w-{node}", node, "w", "DaemonSet", made) for node in nodes]
    return [workload("DaemonSet", made, **spec), *pods]


def nodes(*cpus: str) -> list[dict[str, Any]]:
    """n0, n1, ..."""
    return [make_node(f"n{at}").allocatable(cpu=cpu, memory="16Gi", pods="110").doc() for at, cpu in enumerate(cpus)]


def checked(folder: Path, cluster: list[Any], *manifests: Any, restart: bool = False, **setup: Any) -> Check:
    sources, files = (
        [write_list(folder / "cluster.json", *cluster)],
        [write_list(folder / "manifests.json", *manifests)],
    )
    return check(RunOptions(sources=sources, filenames=files, **setup), restart=restart)
