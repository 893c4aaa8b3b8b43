"""Decodes the text of a file to the objects in it: JSON, YAML, several documents of either, the export of
kube-scheduler-simulator, and `kubectl cluster-info dump`. Texts that many objects repeat are kept once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from sys import intern
from typing import Any

import msgspec

from ksched_cli.api.conversion import type_name
from ksched_cli.api.core import Node, Pod
from ksched_cli.api.decode import DecodedObject, UnknownKind, decode_json, decode_plain
from ksched_cli.errors import InputError, Problem

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
# The version of ksched's own kinds, and the beginning of a snapshot (own_documents).
API_VERSION = "ksched/v1"
SNAPSHOT_START = f'{{"apiVersion":"{API_VERSION}","kind":"Snapshot"'.encode()
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


_HEAD = 1024


def decode(content: bytes, source: str) -> Iterator[DecodedObject]:
    """The objects in the content. InputError if it is empty, or neither JSON nor YAML."""
    content = without_logs(content)
    # A part, because a copy of a whole dump takes long.
    first = content[:_HEAD].lstrip()[:1] or content.lstrip()[:1]
    if not first:
        raise InputError(Problem("empty: no Kubernetes objects in it", source))
    return _decode_json(content, source) if first in (b"{", b"[") else _decode_yaml(content, source)


def _decode_json(content: bytes, source: str) -> Iterator[DecodedObject]:
    try:
        if may_be_export(content) and is_export(export := msgspec.json.decode(content)):
            yield from decode_export(export, source, None)
        else:
            yield from decode_json(content, source)
    except (msgspec.DecodeError, RecursionError) as mistake:
        if "trailing characters" in str(mistake):
            yield from _decode_json_documents(content, source)
        else:
            problem = Problem(_json_mistake(mistake, content), source, _line_of(mistake, content))
            yield from _decode_as_yaml(content, source, problem)
    except UnicodeDecodeError:
        raise InputError(Problem(_wrong_byte(content), source, hint="expected JSON or YAML in UTF-8")) from None


def _decode_json_documents(content: bytes, source: str) -> Iterator[DecodedObject]:
    """Several JSON documents: one per line, or one after the other as kubectl prints them for several kinds."""
    lines = [(number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()]
    if all(line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}") for _, line in lines):
        for number, line in lines:
            try:
                yield from decode_json(line, source, number)
            except msgspec.DecodeError as broken:
                raise InputError(Problem(f"broken JSON: {broken}", source, number)) from None
    else:
        yield from _decode_concatenated(content, source)


def _decode_concatenated(content: bytes, source: str) -> Iterator[DecodedObject]:
    """JSON documents one after the other. After the first one, YAML may follow."""
    import json

    text = content.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at = found = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        line = text.count("\n", 0, at) + 1
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as mistake:
            problem = Problem(f"broken JSON: {mistake.msg}", source, mistake.lineno)
            if found > 1:
                raise InputError(problem) from None
            # Blank lines in the place of the first document keep the numbers of the lines.
            rest = "\n" * text.count("\n", 0, at) + text[at:]
            yield from _decode_as_yaml(rest.encode(), source, problem)
            return
        found += 1
        yield from decode_plain(value, source, line)


# A manifest is at most as large as an object in etcd, and reading YAML is slow.
_MOST_YAML = 2 << 20


def _decode_as_yaml(content: bytes, source: str, problem: Problem) -> Iterator[DecodedObject]:
    """The objects of a text that begins with a brace and is not JSON, which kubectl reads as YAML then
    (YAMLOrJSONDecoder): flow style without quotes, or a JSON document before others. If it is not YAML either, the
    problem of the JSON is raised."""
    if "broken JSON" not in problem.message or "it ends in the middle" in problem.message or len(content) > _MOST_YAML:
        raise InputError(problem)
    try:
        objects = list(_decode_yaml(content, source))
    except InputError:
        raise InputError(problem) from None
    yield from objects


def _json_mistake(mistake: Exception, content: bytes) -> str:
    if isinstance(mistake, RecursionError):
        return "nested deeper than any Kubernetes object"
    text = str(mistake)
    if "truncated" in text:
        return f"broken JSON: it ends in the middle, after {len(content)} bytes"
    return f"broken JSON: {text.removeprefix('JSON is malformed: ')}"


def _wrong_byte(content: bytes) -> str:
    """Names the first byte that is no text. msgspec counts from the beginning of a string."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as mistake:
        return f"not text in UTF-8 (byte {mistake.start})"
    raise AssertionError


def _line_of(mistake: Exception, content: bytes) -> int | None:
    text = str(mistake)
    if "truncated" in text:
        return content.count(b"\n") + 1
    digits = text.rpartition("byte ")[2].rstrip(")")
    return content.count(b"\n", 0, int(digits)) + 1 if digits.isdigit() else None


def _decode_yaml(content: bytes, source: str) -> Iterator[DecodedObject]:
    from ksched_cli.api.yaml_reader import read_documents

    for document in read_documents(content, source, repeats=True):
        if is_export(document.value):
            yield from decode_export(document.value, source, document.line)
        else:
            yield from decode_plain(document.value, source, document.line)
