"""A live cluster followed: what changes in it, through restarts of the API server and of the watch itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw, Struct

from ksched_cli.api.decode import Found, decode_item
from ksched_cli.api.defaults import fill_in
from ksched_cli.api.meta import metadata_of
from ksched_cli.errors import ClusterUnreadable
from ksched_cli.sources.live.api_server import ApiServer, Interrupted, Refused
from ksched_cli.sources.live.cluster import LiveCluster
from ksched_cli.sources.live.listing import GONE, Missing, Page, read_kind
from ksched_cli.sources.live.resources import Resource

# How long the server keeps one watch open; it sends bookmarks in the meantime.
_SECONDS = 290
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class _Metadata(Struct, rename="camel", frozen=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Object(Struct, rename="camel", frozen=True):
    metadata: _Metadata = _Metadata()
    code: int = 0
    message: str = ""


class _Line(Struct):
    """One line of a watch."""

    type: str
    object: Raw


_LINE, _OBJECT = msgspec.json.Decoder(_Line), msgspec.json.Decoder(_Object)


class _Expired(Exception):
    """The server has forgotten what was since then."""


@dataclass(frozen=True)
class Listed:
    """A kind as a whole: everything that was known of it is replaced."""

    kind: type[Struct]
    found: Sequence[Found]


@dataclass(frozen=True)
class Changed:
    """One object as it is now, or that it is gone."""

    kind: type[Struct]
    key: tuple[str, str]
    found: Found | None


@dataclass(frozen=True)
class Lost:
    """The server does not answer; it is asked again."""

    kind: type[Struct]
    message: str


Event = Listed | Changed | Lost


@dataclass
class Follower:
    """Each kind in a thread of its own, until `stop` is set."""

    server: ApiServer
    put: Callable[[Event], None]
    stop: threading.Event = field(default_factory=threading.Event)

    def follow(self, kinds: Sequence[type[Struct]], versions: dict[type[Struct], tuple[Resource, str]]) -> None:
        """`versions`: under which resource a kind was listed, and as of when."""
        for kind in kinds:
            known = versions.get(kind)
            if known is not None:
                name = f"ksched-watch-{kind.__name__}"
                threading.Thread(target=self._follow_kind, args=known, name=name, daemon=True).start()

    def _follow_kind(self, resource: Resource, version: str) -> None:
        pause = _SHORTEST_PAUSE
        while not self.stop.is_set():
            try:
                if not version:
                    version = self._list(resource)
                for line in self._lines(resource, version):
                    version = self._take(resource, line) or version
                    pause = _SHORTEST_PAUSE
                    if self.stop.is_set():
                        return
            except _Expired:
                version = ""
            except (ClusterUnreadable, Interrupted, Refused, msgspec.MsgspecError) as trouble:
                if self.stop.is_set():
                    return
                self.put(Lost(resource.kind, str(trouble)))
                self.stop.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _lines(self, resource: Resource, version: str) -> Iterator[bytes]:
        parameters = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_SECONDS),
        }
        try:
            yield from self.server.lines(resource.path(), parameters, silence=_SECONDS + 30)
        except Refused as refusal:
            if refusal.status == GONE:
                raise _Expired from None
            raise

    def _list(self, resource: Resource) -> str:
        """The whole kind anew; the version that a watch goes on from."""
        found: list[Found] = []
        version = ""
        for answer in read_kind(self.server, resource.kind):
            if isinstance(answer, Missing):
                continue
            if answer.restart:
                found.clear()
            found += decoded(answer)
            version = answer.version
        self.put(Listed(resource.kind, found))
        return version

    def _take(self, resource: Resource, line: bytes) -> str:
        """Pass on what the line says; the version it brings."""
        event = _LINE.decode(line)
        told = _OBJECT.decode(event.object)
        if event.type == "ERROR":
            if told.code == GONE:
                raise _Expired
            raise Refused(told.code, told.message)
        if event.type != "BOOKMARK":
            key = told.metadata.namespace, told.metadata.name
            gone = event.type == "DELETED"
            self.put(Changed(resource.kind, key, None if gone else _decoded(resource, event.object)))
        return told.metadata.resource_version


def decoded(page: Page) -> Iterator[Found]:
    return (_decoded(page.resource, item) for item in page.items)


def _decoded(resource: Resource, item: Raw) -> Found:
    return decode_item(item, resource.kind, f"live: {resource.plural}", "")


class Mirror:
    """The cluster as it is known now, kept up with events."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self._objects: dict[type[Struct], dict[tuple[str, str], Found]] = {}
        for kind, found in cluster.found.items():
            self._replace(kind, found)

    def apply(self, event: Event) -> bool:
        """Whether anything is different now that scheduling reads: nodes report themselves all the time."""
        if isinstance(event, Listed):
            before = self._objects.get(event.kind, {})
            self._replace(event.kind, event.found)
            now = self._objects[event.kind]
            return before.keys() != now.keys() or any(not _alike(before[key], each) for key, each in now.items())
        if isinstance(event, Lost):
            return False
        objects = self._objects.setdefault(event.kind, {})
        if event.found is None:
            return objects.pop(event.key, None) is not None
        before_it = objects.get(event.key)
        objects[event.key] = event.found
        return before_it is None or not _alike(before_it, event.found)

    def _replace(self, kind: type[Struct], found: Sequence[Found]) -> None:
        self._objects[kind] = {_key(each): each for each in found}

    def cluster(self) -> LiveCluster:
        """What a scheduler is made of. Its objects are the mirror's own: reading them fills in defaults once."""
        found = {kind: list(objects.values()) for kind, objects in self._objects.items()}
        mine = self._cluster
        return LiveCluster(mine.server_version, mine.namespace, found, dict(mine.missing), list(mine.absent))


def _key(found: Found) -> tuple[str, str]:
    metadata = getattr(found.value, "metadata", None)
    return (metadata.namespace, metadata.name) if metadata is not None else ("", str(id(found)))


def _alike(one: Found, other: Found) -> bool:
    """But for the revision, which every write raises. Defaults are filled in first: one may have been simulated."""
    if not isinstance(one.value, msgspec.Struct) or not isinstance(other.value, msgspec.Struct):
        return False
    fill_in(one.value)
    fill_in(other.value)
    revision = metadata_of(other.value).resource_version
    metadata = msgspec.structs.replace(metadata_of(one.value), resource_version=revision)
    return msgspec.structs.replace(one.value, metadata=metadata) == other.value
