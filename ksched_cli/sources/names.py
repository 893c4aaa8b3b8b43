"""Finds names of nodes, namespaces and pods in a dump for completion. Files with mistakes are skipped in silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.errors import KschedError
from ksched_cli.sources import files
from ksched_cli.sources.files import Content

_LIST = "List"


class _Metadata(Struct):
    name: str = ""
    namespace: str = ""


class _Object(Struct):
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    items: list[_Object] = []


def find_names(sources: Sequence[str], kind: str) -> list[tuple[str, str]]:
    """(namespace, name) of every object of the kind, sorted. Files with mistakes are skipped."""
    found: set[tuple[str, str]] = set()
    for given in sources:
        try:
            for content in _contents(given):
                found.update(_named(_objects(content), kind))
        except (KschedError, msgspec.MsgspecError, ValueError, OSError):
            continue
    return sorted(found)


def _contents(given: str) -> Iterator[Content]:
    """The files of a source. stdin, which belongs to the shell, and a live cluster, which is slow, are not read."""
    if given in (files.STDIN, "live"):
        return
    expanded = files.expand_path(given)
    for path in expanded.paths:
        yield from files.read(path, gathered=expanded.gathered)


def _objects(content: Content) -> Iterator[_Object]:
    if content.data.lstrip()[:1] == b"{":
        yield msgspec.json.decode(content.data, type=_Object)
        return
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for document in yaml.load_all(content.data, Loader=loader):
            yield _converted(document)
    except yaml.YAMLError:
        return


def _converted(document: Any) -> _Object:
    try:
        return msgspec.convert(document, _Object)
    except msgspec.ValidationError:
        return _Object()


def _named(objects: Iterator[_Object], kind: str) -> Iterator[tuple[str, str]]:
    for each in objects:
        for item in each.items or [each]:
            # The items of a NodeList need no `kind`.
            if kind in (item.kind, "" if item.kind else each.kind.removesuffix(_LIST)):
                yield item.metadata.namespace, item.metadata.name
