"""Shares equal texts of objects. In a large cluster they are a fifth of the memory of its pods and nodes."""

from __future__ import annotations

from sys import intern
from typing import Any

from ksched_cli.api.core import Node, Pod


def share_texts(item: Any) -> None:
    """Replace texts of a pod or a node that other objects have, too, by one shared text. Names, uids and times differ
    between objects and stay."""
    # isinstance takes long with these classes if it is false.
    kind = type(item)
    if kind is Pod:
        _share_pod_texts(item)
    elif kind is Node:
        _share_values(item.metadata.labels)
        _share_values(item.status.capacity)
        _share_values(item.status.allocatable)
        # Pods on the node have this text, and so has the label with the host name.
        item.metadata.name = intern(item.metadata.name)


def _share_pod_texts(pod: Pod) -> None:
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    metadata.namespace = intern(metadata.namespace)
    _share_values(metadata.labels)
    spec.node_name, spec.scheduler_name = intern(spec.node_name), intern(spec.scheduler_name)
    spec.restart_policy, status.phase = intern(spec.restart_policy), intern(status.phase)
    for container in spec.containers:
        container.name, container.image = intern(container.name), intern(container.image)
        _share_values(container.resources.requests)
        if container.resources.limits:
            _share_values(container.resources.limits)


def _share_values(texts: dict[str, Any]) -> None:
    """Share the values of a mapping. Quantities may also be numbers, which stay."""
    for key, value in texts.items():
        if type(value) is str:
            texts[key] = intern(value)
