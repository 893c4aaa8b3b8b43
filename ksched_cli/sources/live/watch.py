"""Follows the changes of a live cluster, also after restarts of the API server and of a watch (client-go's Reflector).
One thread follows one kind; `ClusterMirror` has what is known."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw, Struct

from ksched_cli.api.core import metadata_of
from ksched_cli.api.decode import DecodedObject
from ksched_cli.api.defaults import fill_in
from ksched_cli.errors import ClusterUnreadable
from ksched_cli.sources.live.api_server import Interrupted, LiveApiServer, RequestRefused, growing_pause
from ksched_cli.sources.live.cluster import GONE, ListPage, LiveCluster, Missing, Resource, decode_item, read_kind

# The server keeps one watch open for this time, or up to twice as long, and sends bookmarks.
_SECONDS = 290
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
# A watch that ends sooner counts as a failure.
_SHORTEST_WATCH = 1.0
_TIMEOUT, _FORBIDDEN = 504, 403
_RELIST_AFTER = 3


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
    """The server no longer has the changes since the requested version."""


class Listed(Struct, frozen=True):
    """All objects of a kind. They replace the known objects of the kind."""

    kind: type[Struct]
    found: Sequence[DecodedObject]


class ObjectChange(Struct, frozen=True):
    """One object as it is now; None if it was deleted."""

    kind: type[Struct]
    key: tuple[str, str]
    found: DecodedObject | None


class Lost(Struct, frozen=True):
    """The server does not send this kind's changes; ksched tries again. `age`: seconds since it last sent anything."""

    kind: type[Struct]
    message: str
    age: float = 0.0


class Reached(Struct, frozen=True):
    """The server accepts the watch of this kind again."""

    kind: type[Struct]


Event = Listed | ObjectChange | Lost | Reached


@dataclass
class _Watched:
    """A kind that is followed. `version`: where the next watch starts, empty if the kind must be listed first;
    `failures` in a row; `last_sign`: the time at which the server last sent something."""

    resource: Resource
    version: str
    last_sign: float
    failures: int = 0
    lost: bool = False


@dataclass
class Follower:
    """Follows each kind in a thread of its own, until `stop` is set."""

    server: LiveApiServer
    put: Callable[[Event], None]
    stop: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic

    def follow(self, kinds: Sequence[type[Struct]], versions: dict[type[Struct], tuple[Resource, str]]) -> None:
        """Start the threads. `versions`: the resource under which each kind was listed, and the version of the list."""
        for kind in kinds:
            known = versions.get(kind)
            if known is not None:
                watched = _Watched(*known, last_sign=self.clock())
                name = f"ksched-watch-{kind.__name__}"
                threading.Thread(target=self._follow_kind, args=(watched,), name=name, daemon=True).start()

    def _follow_kind(self, watched: _Watched) -> None:
        while not self.stop.is_set():
            wait: float | None = None
            try:
                self._watch_once(watched)
            except _Expired:
                watched.version = ""
                watched.failures += 1
            except (ClusterUnreadable, Interrupted, RequestRefused, msgspec.MsgspecError) as trouble:
                wait = self._note_trouble(watched, trouble)
            if watched.failures:
                pause = growing_pause(watched.failures - 1, _SHORTEST_PAUSE, _LONGEST_PAUSE)
                self.stop.wait(max(pause, wait or 0.0))

    def _watch_once(self, watched: _Watched) -> None:
        """List the kind if no version is known, and pass on its changes until the server ends the watch."""
        if not watched.version:
            watched.version = self._list(watched.resource)
        opened = self.clock()
        for line in self._lines(watched.resource, watched.version):
            if self.stop.is_set():
                return
            watched.last_sign = self.clock()
            if watched.lost:
                watched.lost = False
                self.put(Reached(watched.resource.kind))
            if line:
                watched.version = self._take(watched.resource, line) or watched.version
                watched.failures = 0
        # If a server ends every watch at once, ksched waits before each request.
        watched.failures = 0 if self.clock() - opened >= _SHORTEST_WATCH else watched.failures + 1

    def _note_trouble(self, watched: _Watched, trouble: Exception) -> float | None:
        """Report the trouble. Returns the seconds that the server wants ksched to wait."""
        if self.stop.is_set():
            return None
        watched.failures += 1
        watched.lost = True
        if isinstance(trouble, RequestRefused) and trouble.status == _TIMEOUT and watched.failures % _RELIST_AFTER == 0:
            # "Too large resource version": etcd was restored from a backup, and will not reach this version soon.
            watched.version = ""
        self.put(Lost(watched.resource.kind, str(trouble), self.clock() - watched.last_sign))
        return trouble.wait if isinstance(trouble, RequestRefused) else None

    def _lines(self, resource: Resource, version: str) -> Iterator[bytes]:
        # The times differ, so that not all watches end at once.
        seconds = random.randint(_SECONDS, 2 * _SECONDS)
        parameters = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        try:
            yield from self.server.lines(resource.path, parameters, silence=seconds + 30)
        except RequestRefused as refusal:
            if refusal.status == GONE:
                raise _Expired from None
            raise

    def _list(self, resource: Resource) -> str:
        """List the whole kind again. Returns the version at which the next watch starts."""
        found: list[DecodedObject] = []
        version = ""
        for answer in read_kind(self.server, resource.kind, from_cache=False):
            if isinstance(answer, Missing):
                # The known objects stay: no object has been deleted.
                raise RequestRefused(_FORBIDDEN, f"{resource.plural}: {answer.reason}")
            if answer.restart:
                found.clear()
            found += decoded(answer)
            version = answer.version
        self.put(Listed(resource.kind, found))
        return version

    def _take(self, resource: Resource, line: bytes) -> str:
        """Pass on the change of a line. Returns the version of the object."""
        event = _LINE.decode(line)
        found = _OBJECT.decode(event.object)
        if event.type == "ERROR":
            if found.code == GONE:
                raise _Expired
            raise RequestRefused(found.code, found.message)
        if event.type != "BOOKMARK":
            key = found.metadata.namespace, found.metadata.name
            gone = event.type == "DELETED"
            self.put(ObjectChange(resource.kind, key, None if gone else decode_item(resource, event.object)))
        return found.metadata.resource_version


def decoded(page: ListPage) -> Iterator[DecodedObject]:
    return (decode_item(page.resource, item) for item in page.items)


class ClusterMirror:
    """The cluster as it is known now, updated by events."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self._objects: dict[type[Struct], dict[tuple[str, str], DecodedObject]] = {}
        for kind, found in cluster.found.items():
            self._replace(kind, found)

    def apply(self, event: Event) -> bool:
        """Apply the event. Returns whether an object has changed; a new revision alone is no change."""
        if isinstance(event, Listed):
            before = self._objects.get(event.kind, {})
            self._replace(event.kind, event.found)
            now = self._objects[event.kind]
            return before.keys() != now.keys() or any(not _alike(before[key], each) for key, each in now.items())
        if isinstance(event, Lost | Reached):
            return False
        objects = self._objects.setdefault(event.kind, {})
        if event.found is None:
            return objects.pop(event.key, None) is not None
        before_it = objects.get(event.key)
        objects[event.key] = event.found
        return before_it is None or not _alike(before_it, event.found)

    def _replace(self, kind: type[Struct], found: Sequence[DecodedObject]) -> None:
        self._objects[kind] = {_key(each): each for each in found}

    def cluster(self) -> LiveCluster:
        """The cluster for a scheduler. It shares the objects of the mirror, so that their defaults are applied once."""
        found = {kind: list(objects.values()) for kind, objects in self._objects.items()}
        mine = self._cluster
        return LiveCluster(
            mine.server_version, mine.namespace, found, dict(mine.missing), list(mine.absent), warnings=mine.warnings
        )


def _key(found: DecodedObject) -> tuple[str, str]:
    metadata = getattr(found.value, "metadata", None)
    return (metadata.namespace, metadata.name) if metadata is not None else ("", str(id(found)))


def _alike(one: DecodedObject, other: DecodedObject) -> bool:
    """Whether the objects are equal except for their revisions. Defaults are applied first: a simulation may have
    applied them to one of the objects."""
    if not isinstance(one.value, msgspec.Struct) or not isinstance(other.value, msgspec.Struct):
        return False
    fill_in(one.value)
    fill_in(other.value)
    revision = metadata_of(other.value).resource_version
    metadata = msgspec.structs.replace(metadata_of(one.value), resource_version=revision)
    return msgspec.structs.replace(one.value, metadata=metadata) == other.value
