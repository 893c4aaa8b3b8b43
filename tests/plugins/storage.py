"""Volumes, claims and classes in one line each."""

from __future__ import annotations

from typing import Any

import msgspec

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.builders import make_pod

LATE = "WaitForFirstConsumer"


def storage_class(
    name: str = "late", mode: str | None = LATE, provisioner: str = "csi.example", **fields: Any
) -> StorageClass:
    return msgspec.convert(
        {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **fields}, StorageClass
    )


def claim(
    name: str = "data",
    *,
    volume: str = "",
    size: str = "1Gi",
    cls: str | None = "late",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    annotations: dict[str, str] | None = None,
    meta: dict[str, Any] | None = None,
    phase: str = "",
    **spec: Any,
) -> PersistentVolumeClaim:
    """A claim with a volume is completely bound to it."""
    marks = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    document = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "annotations": {**marks, **(annotations or {})},
            **(meta or {}),
        },
        "spec": {
            "accessModes": list(modes),
            "resources": {"requests": {"storage": size}},
            "volumeName": volume,
            "storageClassName": cls,
            **spec,
        },
        "status": {"phase": phase},
    }
    return msgspec.convert(document, PersistentVolumeClaim)


def volume(
    name: str = "pv",
    *,
    size: str = "1Gi",
    cls: str = "late",
    zone: str | None = None,
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    labels: dict[str, str] | None = None,
    owner: str | None = None,
    phase: str = "Available",
    handle: str | None = None,
    meta: dict[str, Any] | None = None,
    **spec: Any,
) -> PersistentVolume:
    affinity = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}
    document: dict[str, Any] = {
        "metadata": {"name": name, "labels": labels or {}, **(meta or {})},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": list(modes),
            "storageClassName": cls,
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": [affinity]}}} if zone else {}),
            **({"claimRef": {"namespace": "default", "name": owner}} if owner else {}),
            **({"csi": {"driver": "csi.example", "volumeHandle": handle}} if handle else {}),
            **spec,
        },
        "status": {"phase": phase},
    }
    return msgspec.convert(document, PersistentVolume)


def csi_node(name: str, limit: int | None, driver: str = "csi.example", migrated: str = "") -> CSINode:
    allocatable = {} if limit is None else {"allocatable": {"count": limit}}
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": migrated} if migrated else {}
    document = {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"drivers": [{"name": driver, "nodeID": name, **allocatable}]},
    }
    return msgspec.convert(document, CSINode)


def csi_driver(name: str = "csi.example", publishes: bool = True, keeps_away: bool = False) -> CSIDriver:
    spec = {"storageCapacity": publishes, "preventPodSchedulingIfMissing": keeps_away}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, CSIDriver)


def pool(zone: str, capacity: str | None, largest: str | None = None, cls: str = "late") -> CSIStorageCapacity:
    document = {
        "metadata": {"name": f"pool-{zone}", "namespace": "default"},
        "storageClassName": cls,
        "nodeTopology": {"matchLabels": {"topology.kubernetes.io/zone": zone}},
        "capacity": capacity,
        "maximumVolumeSize": largest,
    }
    return msgspec.convert(document, CSIStorageCapacity)


def attachment(name: str, node: str, volume: str, driver: str = "csi.example") -> VolumeAttachment:
    source = {"persistentVolumeName": volume}
    document = {"metadata": {"name": name}, "spec": {"attacher": driver, "nodeName": node, "source": source}}
    return msgspec.convert(document, VolumeAttachment)


def with_claims(*names: str, pod: str = "pod", node: str = "") -> Pod:
    """A pod that mounts the claims."""
    volumes = [{"name": f"v{index}", "persistentVolumeClaim": {"claimName": each}} for index, each in enumerate(names)]
    return with_volumes(*volumes, pod=pod, node=node)


def with_volumes(*volumes: dict[str, Any], pod: str = "pod", node: str = "") -> Pod:
    builder = make_pod(pod).uid(f"uid-{pod}").spec(volumes=list(volumes))
    return (builder.on(node) if node else builder).obj()
