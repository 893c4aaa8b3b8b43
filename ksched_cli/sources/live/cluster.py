"""Reads a live cluster as typed objects, completely or not at all: which resources are read, at which paths, and their
lists page by page, several at once. The requests are made by `api_server.py`; a watch goes on in `watch.py`."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ksched_cli.api import core, dynamic_resources, storage, workloads
from ksched_cli.api.decode import KINDS, DecodedObject, UnknownKind, convert_plain, decode_as, versions_of
from ksched_cli.api.dynamic_resources import OLDER_VERSIONS, as_v1
from ksched_cli.api.karpenter import KARPENTER_KINDS, karpenter_versions
from ksched_cli.sources.events import Event
from ksched_cli.sources.live.api_server import LiveApiServer, RequestRefused, TooLarge

# The largest lists come first: the others are read while these arrive.
_LARGEST: tuple[type[Struct], ...] = (
    core.Pod,
    core.Node,
    workloads.ReplicaSet,
    storage.PersistentVolumeClaim,
    storage.PersistentVolume,
    dynamic_resources.ResourceSlice,
    dynamic_resources.ResourceClaim,
)
# Kinds that decide nothing about the pods of a running cluster.
_NOT_READ = (workloads.PodTemplate, workloads.CronJob, workloads.Workload)
READ = tuple(dict.fromkeys((*_LARGEST, *(kind for kind in KINDS.values() if kind not in _NOT_READ))))
_DEVICES = "resource.k8s.io/v1"
KARPENTER_GROUP = "karpenter.sh"
KARPENTER = frozenset(kind for kind, _ in KARPENTER_KINDS.values())


class ServiceCIDR(Struct):
    """A range of the addresses of services. It is kept as it is written."""


_RANGE_VERSIONS = ("networking.k8s.io/v1", "networking.k8s.io/v1beta1")
# Kinds that are kept as in a dump, since kube-scheduler does not read them.
_AS_WRITTEN = KARPENTER | {ServiceCIDR}
# Without these kinds no question can be answered.
NEEDED = frozenset({core.Pod, core.Node})


class Resource(Struct, frozen=True):
    """A kind under one version of its group."""

    kind: type[Struct]
    version: str

    @property
    def plural(self) -> str:
        name = self.kind.__name__.lower()
        if name.endswith("s"):
            return f"{name}es"
        return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"

    @property
    def path(self) -> str:
        return f"/{'apis' if '/' in self.version else 'api'}/{self.version}/{self.plural}"


def resources_of(kind: type[Struct]) -> tuple[Resource, ...]:
    """The kind under every version that ksched reads, the newest first."""
    versions = versions_of(kind) or karpenter_versions(kind)
    older = tuple(each for each in OLDER_VERSIONS if each not in versions) if _DEVICES in versions else ()
    return tuple(Resource(kind, version) for version in (*versions, *older))


PAGE = 500
_READERS = 6
# A list that expires this often is longer than the server keeps it.
_STARTS = 4
FORBIDDEN, NOT_FOUND, GONE = 403, 404, 410
_EVERYTHING: Mapping[str, str] = {}


class _ListMeta(Struct, rename="camel", frozen=True):
    continue_: str = msgspec.field(default="", name="continue")
    resource_version: str = ""
    remaining_item_count: int = 0


class _List(Struct, rename="camel"):
    kind: str = ""
    metadata: _ListMeta = _ListMeta()
    items: list[Raw] | None = None


_DECODER = msgspec.json.Decoder(_List)


class ListPage(Struct, frozen=True):
    """Items of a resource, not decoded yet. `restart`: this page replaces all earlier pages; `remaining`: the server's
    estimate of how many items follow."""

    resource: Resource
    items: Sequence[Raw]
    remaining: int = 0
    restart: bool = False
    version: str = ""


class Missing(Struct, frozen=True):
    """A kind that was not read, with the reason. `absent`: the server does not have the kind."""

    kind: type[Struct]
    reason: str
    absent: bool = False


Answer = ListPage | Missing


def read_lists(server: LiveApiServer) -> Iterator[Answer]:
    """All objects of all kinds, in the order in which they arrive. Raises an exception if any list fails."""
    answers: queue.Queue[Answer | BaseException | None] = queue.Queue(maxsize=_READERS)
    stop = threading.Event()

    def put(answer: Answer | BaseException | None) -> bool:
        """Queue the answer. Returns False if the reader has stopped."""
        while not stop.is_set():
            try:
                answers.put(answer, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read(kind: type[Struct]) -> None:
        try:
            for answer in read_kind(server, kind):
                if not put(answer):
                    return
            put(None)
        except BaseException as trouble:
            put(trouble)

    with ThreadPoolExecutor(_READERS, "ksched-list") as readers:
        for kind in READ:
            readers.submit(read, kind)
        try:
            yield from _until_all_ended(answers, len(READ))
        finally:
            stop.set()
            readers.shutdown(wait=False, cancel_futures=True)


def _until_all_ended(answers: queue.Queue[Answer | BaseException | None], running: int) -> Iterator[Answer]:
    while running:
        answer = answers.get()
        if isinstance(answer, BaseException):
            raise answer
        if answer is None:
            running -= 1
        else:
            yield answer


def read_kind(server: LiveApiServer, kind: type[Struct], *, from_cache: bool = True) -> Iterator[Answer]:
    """All objects of one kind, under the newest version that the server has. With `from_cache` the server may answer
    from its cache, which can be older than an earlier answer."""
    for resource in resources_of(kind):
        try:
            yield from _read_resource(server, resource, from_cache=from_cache)
        except RequestRefused as refusal:
            if refusal.status == NOT_FOUND:
                continue
            if refusal.status == FORBIDDEN and kind not in NEEDED:
                yield Missing(kind, "forbidden")
            else:
                raise server.unreadable(f"{resource.plural}: {refusal.message}") from None
        return
    if kind in NEEDED:
        raise server.unreadable(f"there is no list of {resource.plural}", "is this a Kubernetes API server?")
    yield Missing(kind, "not served", absent=True)


def read_karpenter(server: LiveApiServer) -> Iterator[Answer]:
    """The objects of Karpenter, as far as the server has its API groups. Every user may ask for the groups; a list of a
    kind that does not exist may be forbidden."""
    for group in dict.fromkeys(group for group, _ in KARPENTER_KINDS):
        try:
            server.get(f"/apis/{group}")
        except RequestRefused:
            if group == KARPENTER_GROUP:
                return
            continue
        for (own, _), (kind, _) in KARPENTER_KINDS.items():
            if own == group:
                yield from read_kind(server, kind)


def read_service_ranges(server: LiveApiServer) -> Iterator[Answer]:
    """The ServiceCIDRs. Only manifests with services need them, so that a server may refuse to list them."""
    for version in _RANGE_VERSIONS:
        try:
            yield from _whole(_read_resource(server, Resource(ServiceCIDR, version)))
        except RequestRefused:
            continue
        return


def read_events(server: LiveApiServer, reasons: Sequence[str]) -> Iterator[Answer]:
    """The events with these reasons. Every server has all events in the core group."""
    try:
        for reason in reasons:
            yield from _whole(_read_resource(server, Resource(Event, "v1"), {"fieldSelector": f"reason={reason}"}))
    except RequestRefused as refusal:
        yield Missing(Event, "forbidden" if refusal.status == FORBIDDEN else refusal.message)


def _whole(pages: Iterable[ListPage]) -> list[ListPage]:
    """The pages of one list. A list that starts again replaces its own pages and not those of other lists."""
    kept: list[ListPage] = []
    for page in pages:
        if page.restart:
            kept.clear()
        kept.append(replace(page, restart=False))
    return kept


def _read_resource(
    server: LiveApiServer,
    resource: Resource,
    selection: Mapping[str, str] = _EVERYTHING,
    *,
    from_cache: bool = True,
) -> Iterator[ListPage]:
    """The pages of the resource, from the server's cache first. A list that expires is read again from the start."""
    for start in range(_STARTS):
        # Any state of the cache will do, as for a scheduler that starts. A server may send its whole cache as one
        # page. If the page is too large, the list is requested again in pages.
        first = {"resourceVersion": "0"} if start == 0 and from_cache else {}
        try:
            yield from _pages(server, resource, selection, first, restart=start > 0)
        except TooLarge:
            if start > 0:
                raise server.unreadable(
                    f"{resource.path}: {PAGE} objects are more than is taken into memory at once"
                ) from None
        except RequestRefused as refusal:
            if refusal.status != GONE:
                raise
        else:
            return
    raise server.unreadable(f"{resource.path}: the list expired {_STARTS} times before its end", "try again later")


def _pages(
    server: LiveApiServer,
    resource: Resource,
    selection: Mapping[str, str],
    first: Mapping[str, str],
    *,
    restart: bool,
) -> Iterator[ListPage]:
    parameters = {"limit": str(PAGE), **selection, **first}
    while True:
        found = _decoded_list(server, resource.path, parameters)
        meta = found.metadata
        yield ListPage(resource, found.items or [], meta.remaining_item_count, restart, meta.resource_version)
        if not meta.continue_:
            return
        restart = False
        parameters = {"limit": str(PAGE), **selection, "continue": meta.continue_}


def _decoded_list(server: LiveApiServer, path: str, parameters: dict[str, str]) -> _List:
    """One page. A body that is no list is requested once more: a proxy may have cut it off."""
    for last in (False, True):
        body = server.get(path, parameters)
        try:
            found = _DECODER.decode(body)
            if not found.kind.endswith("List"):
                raise msgspec.ValidationError(f"{found.kind or 'a document without a kind'}")
        except msgspec.MsgspecError as mistake:
            if last:
                raise server.unreadable(f"{path}: {_broken(mistake, body)}") from None
        else:
            return found
    raise AssertionError


def _broken(mistake: Exception, body: bytes) -> str:
    if "truncated" in str(mistake):
        return f"the answer ends in the middle, after {len(body)} bytes"
    return f"the answer is no list of Kubernetes objects: {mistake}"


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
    for answer in chain(
        read_lists(server), read_karpenter(server), read_service_ranges(server), read_events(server, events)
    ):
        if isinstance(answer, Missing):
            if answer.absent:
                cluster.absent.append(answer.kind)
            else:
                cluster.missing[answer.kind] = answer.reason
            continue
        found = cluster.found.setdefault(answer.resource.kind, [])
        if answer.restart:
            found.clear()
        found.extend(_decoded_page(answer, len(found)))
        if answer.resource.kind not in _AS_WRITTEN:
            # Nothing follows these objects.
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


def _decoded_page(page: ListPage, offset: int) -> Iterator[DecodedObject]:
    resource = page.resource
    for number, item in enumerate(page.items, start=offset):
        if resource.kind in _AS_WRITTEN:
            unknown = UnknownKind(resource.version, resource.kind.__name__, item)
            yield DecodedObject(unknown, (), None, f"items[{number}].")
            continue
        yield decode_item(resource, item, f"items[{number}].")


def decode_item(resource: Resource, item: Raw, path: str = "") -> DecodedObject:
    """An item of a list, or the object of an event. What an older version of resource.k8s.io writes otherwise moves."""
    kind, source = resource.kind, f"live: {resource.plural}"
    if resource.version in versions_of(kind):
        return decode_as(item, kind, source, None, path)
    return convert_plain(as_v1(kind.__name__, msgspec.json.decode(item)), kind, source, None, path)
