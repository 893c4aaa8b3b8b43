"""Lists of an API server, page by page and several at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import msgspec
from msgspec import Raw, Struct

from ksched_cli.api.events import Event
from ksched_cli.sources.live.api_server import LiveApiServer, RequestRefused, TooLarge
from ksched_cli.sources.live.resources import NEEDED, READ, Resource, resources_of

PAGE = 500
_READERS = 6
# A list that expires again and again is longer than the server remembers it.
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


@dataclass(frozen=True)
class ListPage:
    """Items of a resource, not decoded yet. `restart`: those that came before are to be forgotten; `remaining` is as
    the server guesses."""

    resource: Resource
    items: Sequence[Raw]
    remaining: int = 0
    restart: bool = False
    version: str = ""


@dataclass(frozen=True)
class Missing:
    """A kind that was not read, and why. `absent`: the server does not have it, so there are no such objects."""

    kind: type[Struct]
    reason: str
    absent: bool = False


Answer = ListPage | Missing


def read_lists(server: LiveApiServer, kinds: Sequence[type[Struct]] = READ, namespace: str = "") -> Iterator[Answer]:
    """Everything of these kinds, in the order in which it arrives; an end without an exception is the whole."""
    answers: queue.Queue[Answer | BaseException | None] = queue.Queue(maxsize=_READERS)
    stop = threading.Event()

    def put(answer: Answer | BaseException | None) -> bool:
        """Whether there is still someone who wants it."""
        while not stop.is_set():
            try:
                answers.put(answer, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read(kind: type[Struct]) -> None:
        try:
            for answer in read_kind(server, kind, namespace):
                if not put(answer):
                    return
            put(None)
        except BaseException as trouble:
            put(trouble)

    with ThreadPoolExecutor(_READERS, "ksched-list") as readers:
        for kind in kinds:
            readers.submit(read, kind)
        try:
            yield from _until_all_ended(answers, len(kinds))
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


def read_kind(
    server: LiveApiServer, kind: type[Struct], namespace: str = "", *, from_cache: bool = True
) -> Iterator[Answer]:
    """One kind under the newest version that the server has. The server's cache may be older than what was read
    before."""
    for resource in resources_of(kind):
        try:
            within = namespace if resource.namespaced else ""
            yield from _read_resource(server, resource, within, from_cache=from_cache)
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


def read_events(server: LiveApiServer, reasons: Sequence[str]) -> Iterator[Answer]:
    """Those of the reasons. Every server has them in the core group, however they were written."""
    try:
        for reason in reasons:
            yield from _whole(_read_resource(server, Resource(Event, "v1"), "", {"fieldSelector": f"reason={reason}"}))
    except RequestRefused as refusal:
        yield Missing(Event, "forbidden" if refusal.status == FORBIDDEN else refusal.message)


def _whole(pages: Iterable[ListPage]) -> list[ListPage]:
    """The pages of one list. A list that starts again replaces its own pages, and not those of another list."""
    kept: list[ListPage] = []
    for page in pages:
        if page.restart:
            kept.clear()
        kept.append(replace(page, restart=False))
    return kept


def _read_resource(
    server: LiveApiServer,
    resource: Resource,
    namespace: str,
    selection: Mapping[str, str] = _EVERYTHING,
    *,
    from_cache: bool = True,
) -> Iterator[ListPage]:
    """From the server's cache at first; page by page, and from the start again when the list has expired."""
    path = resource.path(namespace)
    for start in range(_STARTS):
        # Any state of the server's cache will do, as it does for a scheduler that starts. From its cache a server may
        # send the whole list as one page; where that is too much, the list is requested again in pages.
        first = {"resourceVersion": "0"} if start == 0 and from_cache else {}
        try:
            yield from _pages(server, resource, path, selection, first, restart=start > 0)
        except TooLarge:
            if start > 0:
                raise server.unreadable(f"{path}: {PAGE} objects are more than is taken into memory at once") from None
        except RequestRefused as refusal:
            if refusal.status != GONE:
                raise
        else:
            return
    raise server.unreadable(f"{path}: the list expired {_STARTS} times before its end", "try again later")


def _pages(
    server: LiveApiServer,
    resource: Resource,
    path: str,
    selection: Mapping[str, str],
    first: Mapping[str, str],
    *,
    restart: bool,
) -> Iterator[ListPage]:
    parameters = {"limit": str(PAGE), **selection, **first}
    while True:
        found = _decoded(server, path, parameters)
        meta = found.metadata
        yield ListPage(resource, found.items or [], meta.remaining_item_count, restart, meta.resource_version)
        if not meta.continue_:
            return
        restart = False
        parameters = {"limit": str(PAGE), **selection, "continue": meta.continue_}


def _decoded(server: LiveApiServer, path: str, parameters: dict[str, str]) -> _List:
    """A body that is no list may be cut off by a proxy on the way: it is requested once more."""
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
