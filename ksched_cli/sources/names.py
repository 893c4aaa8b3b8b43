"""Finds names of nodes, namespaces and pods in a dump for completion. Files with mistakes are skipped without a
message. A live cluster and stdin are never read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from ksched_cli.api.core import metadata_of
from ksched_cli.api.decode import DecodedObject
from ksched_cli.errors import KschedError
from ksched_cli.sources import files
from ksched_cli.sources.decoding import SNAPSHOT_START, decode


def find_names(sources: Sequence[str], kind: str) -> list[tuple[str, str]]:
    """(namespace, name) of every object of the kind, sorted. stdin, which belongs to the shell, and a live cluster,
    which is slow, are not read."""
    found: set[tuple[str, str]] = set()
    for given in sources:
        if given in (files.STDIN, "live"):
            continue
        with suppress(KschedError, ValueError, OSError):
            for item in (each.value for each in _decoded(given)):
                if type(item).__name__ == kind:
                    metadata = metadata_of(item)
                    found.add((metadata.namespace, metadata.name))
    return sorted(found)


def _decoded(given: str) -> Iterator[DecodedObject]:
    expanded = files.expand_path(given)
    for path in expanded.paths:
        for content in files.read(path, gathered=expanded.gathered):
            if content.data.startswith(SNAPSHOT_START):
                from ksched_cli.sources.own_documents import decode_snapshot, read_snapshot

                yield from decode_snapshot(read_snapshot(content.data, content.name), content.name)
            else:
                yield from decode(content.data, content.name)
