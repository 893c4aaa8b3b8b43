"""Pods that come back: what controllers do when one of their pods has to leave."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from msgspec.structs import replace

from ksched_cli.api.core import Pod, PodStatus
from ksched_cli.api.meta import OwnerReference
from ksched_cli.sources.controllers.naming import generated, uid_of

When = Literal["at once", "once it is gone", "never"]

# These count a pod that is leaving as gone already; a Job does so unless its podReplacementPolicy says otherwise.
_AT_ONCE = ("ReplicaSet", "ReplicationController", "Job")
# Mirror pods are the kubelet's.
_NEVER = ("Node",)
_KEEPS_THE_NAME = "StatefulSet"


def controller_of(pod: Pod) -> OwnerReference | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)


def comes_back(pod: Pod) -> When:
    """When another pod takes this one's place. Controllers that are not known here wait until the pod is gone."""
    owner = controller_of(pod)
    if owner is None or owner.kind in _NEVER:
        return "never"
    return "at once" if owner.kind in _AT_ONCE else "once it is gone"


def successor(pod: Pod, count: int, created: float) -> Pod:
    """The pod that the controller makes instead: of the same template, on no node, `created` seconds after the epoch.
    `count` tells the first successor from the next."""
    owner = controller_of(pod)
    assert owner is not None
    metadata = pod.metadata
    name = metadata.name
    if owner.kind != _KEEPS_THE_NAME:
        name = generated(metadata.generate_name or f"{owner.name}-", metadata.namespace, metadata.name, count)
    made = replace(
        metadata,
        name=name,
        uid=uid_of("Pod", metadata.namespace, f"{name}/{count}"),
        creation_timestamp=datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        deletion_timestamp=None,
        resource_version="",
    )
    return Pod(made, replace(pod.spec, node_name=""), PodStatus(phase="Pending"))
