"""Makes the labels of workloads in results."""

from __future__ import annotations

from typing import Any

from ksched_cli.api.meta import controller_of

# The annotation of a workload that stands for pods of a custom resource; its value is the group of pods.
STANDS_FOR = "ksched.dev/stands-for"


def resource_of(item: Any) -> tuple[str, str, str] | None:
    """Kind, namespace and name of the custom resource that the workload stands for."""
    metadata = item.metadata
    owner = controller_of(metadata) if STANDS_FOR in metadata.annotations else None
    return (owner.kind, metadata.namespace, owner.name) if owner is not None else None


def workload_label(item: Any) -> str:
    """The label of a workload, `Deployment shop/web`, or of its custom resource, `RayCluster ml/train (head)`."""
    resource, metadata = resource_of(item), item.metadata
    if resource is None:
        return f"{type(item).__name__} {metadata.namespace}/{metadata.name}"
    group = metadata.annotations[STANDS_FOR]
    return f"{resource[0]} {resource[1]}/{resource[2]}{f' ({group})' if group else ''}"
