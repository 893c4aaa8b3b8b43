"""Reads a live cluster as typed objects, completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

import msgspec
from msgspec import Struct

from ksched_cli.api.decode import DecodedObject, decode_as
from ksched_cli.sources.live.api_server import LiveApiServer, RequestRefused
from ksched_cli.sources.live.listing import ListPage, Missing, read_events, read_lists
from ksched_cli.sources.live.resources import Resource


class Progress(Protocol):
    """Shows how much of a cluster is read."""

    def __call__(self, resource: str, read: int, remaining: int) -> None:
        """Called with every page: the objects of the resource that are read, and the server's estimate of the rest."""

    def close(self) -> None:
        """Called at the end."""


class _Version(Struct, rename="camel"):
    git_version: str = ""


@dataclass
class LiveCluster:
    """`missing`: kinds that the server has and did not list, with the reason; `absent`: kinds that the server does not
    have; `versions`: the resource under which each kind was listed, and the version of the list."""

    server_version: str
    namespace: str
    found: dict[type[Struct], list[DecodedObject]] = field(default_factory=dict)
    missing: dict[type[Struct], str] = field(default_factory=dict)
    absent: list[type[Struct]] = field(default_factory=list)
    versions: dict[type[Struct], tuple[Resource, str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def read_cluster(server: LiveApiServer, progress: Progress | None = None, events: Sequence[str] = ()) -> LiveCluster:
    """The whole cluster, with the events of these reasons. Raises ClusterUnreadable if any list fails, except for lists
    that the server refuses."""
    cluster = LiveCluster(_server_version(server), server.namespace)
    if server.insecure:
        cluster.warnings.append(f"{server.host}: its certificate is not checked (insecure-skip-tls-verify)")
    # Events last, so that they include the time at which the pods were read.
    for answer in chain(read_lists(server), read_events(server, events)):
        if isinstance(answer, Missing):
            if answer.absent:
                cluster.absent.append(answer.kind)
            else:
                cluster.missing[answer.kind] = answer.reason
            continue
        found = cluster.found.setdefault(answer.resource.kind, [])
        if answer.restart:
            found.clear()
        found.extend(_decoded(answer, len(found)))
        cluster.versions[answer.resource.kind] = answer.resource, answer.version
        if progress is not None:
            progress(answer.resource.plural, len(found), answer.remaining)
    return cluster


def _server_version(server: LiveApiServer) -> str:
    """The version of the server. It is requested first, so that an unreachable server fails once and not per list."""
    try:
        return msgspec.json.decode(server.get("/version"), type=_Version).git_version
    except RequestRefused:
        return ""
    except msgspec.MsgspecError:
        raise server.unreadable("/version: this is no Kubernetes API server") from None


def _decoded(page: ListPage, offset: int) -> Iterator[DecodedObject]:
    resource = page.resource
    source = f"live: {resource.plural}"
    for number, item in enumerate(page.items, start=offset):
        yield decode_as(item, resource.kind, source, None, f"items[{number}].")
