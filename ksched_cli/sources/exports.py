"""Reads objects from files of other tools that are not lists of Kubernetes objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ksched_cli.api.conversion import type_name
from ksched_cli.api.decode import DecodedObject, UnknownKind, decode_plain
from ksched_cli.errors import Problem

# kube-scheduler-simulator's export: lists under these names, and a configuration.
_LISTS: Mapping[str, tuple[str, str]] = {
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "pvs": ("v1", "PersistentVolume"),
    "pvcs": ("v1", "PersistentVolumeClaim"),
    "storageClasses": ("storage.k8s.io/v1", "StorageClass"),
    "priorityClasses": ("scheduling.k8s.io/v1", "PriorityClass"),
    "namespaces": ("v1", "Namespace"),
}
CONFIGURATION = "schedulerConfig"
_BEGINNING = re.compile(rb'\s*\{\s*"(' + "|".join((*_LISTS, CONFIGURATION)).encode() + rb')"\s*:')
# `kubectl cluster-info dump` without a directory prints the logs of containers between its lists.
_LOGS = re.compile(
    rb"^==== START logs for container .*?^==== END logs for container [^\n]*\n?", re.DOTALL | re.MULTILINE
)
_LOGS_MARK = b"==== START logs for container "
_ETCD_MAGIC, _ETCD_OFFSET = b"\xed\xda\x0c\xed", 16


def may_be_export(content: bytes) -> bool:
    return _BEGINNING.match(content) is not None


def is_export(value: Any) -> bool:
    """Whether a document is an export of kube-scheduler-simulator: it has only the fields of one."""
    return (
        isinstance(value, dict)
        and not value.keys() - {*_LISTS, CONFIGURATION}
        and bool(value.keys() & {"pods", "nodes"})
    )


def decode_export(value: Mapping[str, Any], source: str, line: int | None) -> Iterator[DecodedObject]:
    """The objects of an export, of the kinds of their lists. The configuration is not read: --config reads it."""
    for name, items in value.items():
        if items is None:
            continue
        if name == CONFIGURATION:
            yield DecodedObject(UnknownKind("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"))
            continue
        if not isinstance(items, list):
            yield DecodedObject(None, (Problem(f"expected a list, got {type_name(items)}", source, line, name),))
            continue
        for index, item in enumerate(items):
            yield from decode_plain(item, source, line, f"{name}[{index}].", _LISTS[name], depth=1)


def without_logs(content: bytes) -> bytes:
    """The content without the container logs that `kubectl cluster-info dump` prints between its lists."""
    return _LOGS.sub(b"", content) if _LOGS_MARK in content else content


def is_etcd_snapshot(head: bytes) -> bool:
    """Whether the file is a bolt database: its first page has bolt's magic number, in either byte order."""
    magic = head[_ETCD_OFFSET : _ETCD_OFFSET + 4]
    return magic in (_ETCD_MAGIC, _ETCD_MAGIC[::-1])
