"""A real HTTPS API server inside the test process: its own CA, tokens, client certificates, pages, and every way to
fail that a test asks for. It holds objects and answers lists; it refuses anything but GET."""

from __future__ import annotations

import base64
import gzip
import json
import socket
import ssl
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trustme
import yaml

from ksched_cli.api.decode import KINDS
from ksched_cli.sources.live.cluster import READ, Resource, resources_of
from tests.tls_sockets import close_sockets_without_peer

close_sockets_without_peer()

TOKEN = "a-token"
USER = "alice"
FIRST_REVISION = 100
EVENTS = "/api/v1/events"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


@dataclass
class KubeServer:
    """`faults`: for each path what to do in place of an answer, used up one by one. `events` are listed by reason."""

    ca: trustme.CA
    port: int = 0
    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    kinds: dict[str, tuple[str, str]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    faults: dict[str, list[Callable[[Handler], None]]] = field(default_factory=lambda: defaultdict(list))
    requests: list[Request] = field(default_factory=list)
    version: str = "v1.36.2"
    whole_from_cache: bool = False
    closing: threading.Event = field(default_factory=threading.Event)
    history: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    compacted: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    happened: threading.Condition = field(default_factory=threading.Condition)
    seconds: float = 0.0
    watching: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    # The watches that are open, and up to which time they have seen to it.
    open: dict[int, float] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def hold(self, items: Iterable[dict[str, Any]]) -> None:
        """Every resource that ksched reads is served; those objects are in them."""
        for kind in READ:
            resource = resources_of(kind)[0]
            self.lists.setdefault(resource.path, [])
            self.kinds[resource.path] = (resource.version, kind.__name__)
        for item in items:
            kind = KINDS[item["apiVersion"], item["kind"]]
            stripped = {key: value for key, value in item.items() if key not in ("apiVersion", "kind")}
            self.lists[Resource(kind, item["apiVersion"]).path].append(stripped)

    def change(self, kind: str, item: dict[str, Any]) -> None:
        """ADDED, MODIFIED or DELETED, in the list and to those who watch it. BOOKMARK is only for those."""
        path = Resource(KINDS[item["apiVersion"], item["kind"]], item["apiVersion"]).path
        with self.happened:
            item = {**item, "metadata": {**item.get("metadata", {}), "resourceVersion": str(self.revision(path) + 1)}}
            if kind != "BOOKMARK":
                name = item["metadata"]["name"]
                others = [each for each in self.lists[path] if each["metadata"]["name"] != name]
                self.lists[path] = others if kind == "DELETED" else [*others, item]
            self.history[path].append(json.dumps({"type": kind, "object": item}))
            self.happened.notify_all()

    def revision(self, path: str) -> int:
        return FIRST_REVISION + len(self.history[path])

    def pass_time(self, seconds: float) -> None:
        """On the server's clock: watches send a bookmark a minute, and end after their timeoutSeconds. Those that ended
        are open again when this returns."""
        with self.happened:
            opened = len(self.open)
            self.seconds += seconds
            self.happened.notify_all()
            assert self.happened.wait_for(
                lambda: len(self.open) >= opened and min(self.open.values()) >= self.seconds, timeout=20
            )

    def until_watched(self, path: str, times: int) -> None:
        """Wait until the path's watch has been opened so often."""
        with self.happened:
            assert self.happened.wait_for(lambda: self.watching[path] >= times, timeout=20)

    def forget(self, path: str) -> None:
        """What has happened so far can no longer be watched."""
        with self.happened:
            self.compacted[path] = self.revision(path)

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def close(self) -> None:
        """Let go of everyone who waits."""
        self.closing.set()
        with self.happened:
            self.happened.notify_all()

    def kubeconfig(self, folder: Path, **user: Any) -> str:
        """The file's path. Without a user it is the one with the token."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "me", "namespace": "shop"}}],
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": self.url,
                        "certificate-authority-data": base64.b64encode(self.ca.cert_pem.bytes()).decode(),
                    },
                }
            ],
            "users": [{"name": "me", "user": user or {"token": TOKEN}}],
        }
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return str(path)

    def client_certificate(self) -> dict[str, str]:
        issued = self.ca.issue_cert(f"{USER}@example.com", common_name=USER)
        return {
            "client-certificate-data": base64.b64encode(issued.cert_chain_pems[0].bytes()).decode(),
            "client-key-data": base64.b64encode(issued.private_key_pem.bytes()).decode(),
        }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    kube: KubeServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.kube.requests.append(Request(self.command, parts.path, query, dict(self.headers.items())))
        faults = self.kube.faults[f"{parts.path}?watch" if "watch" in query else parts.path]
        if faults:
            faults.pop(0)(self)
        elif parts.path != "/version" and not self._known():
            self.status(401, "Unauthorized")
        else:
            self.answer(parts.path, query)

    def do_POST(self) -> None:
        self.kube.requests.append(Request(self.command, self.path, {}, {}))
        self.status(405, "this server is only to be read")

    do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815  # the names are http.server's

    def _known(self) -> bool:
        certificate = self.connection.getpeercert()  # type: ignore[attr-defined]
        names = {value for pair in (certificate or {}).get("subject", ()) for key, value in pair if key == "commonName"}
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return (scheme.lower(), token) == ("bearer", TOKEN) or USER in names

    def answer(self, path: str, query: dict[str, str]) -> None:
        if path == "/version":
            self.document({"gitVersion": self.kube.version})
        elif path in self.kube.lists and "watch" in query:
            self.watch(path, int(query["resourceVersion"]), query)
        elif path in self.kube.lists:
            self.document(self.page(path, self.kube.kinds[path], self.kube.lists[path], query))
        elif path == EVENTS:
            reason = query["fieldSelector"].removeprefix("reason=")
            found = [each for each in self.kube.events if each["reason"] == reason]
            self.document(self.page(path, ("v1", "Event"), found, query))
        else:
            self.status(404, "the server could not find the requested resource")

    def watch(self, path: str, since: int, query: dict[str, str]) -> None:
        """Every event since then, as it happens, until the server closes."""
        if since < self.kube.compacted[path]:
            self.status(410, "too old resource version")
            return
        self.begin(200, [("Transfer-Encoding", "chunked")])
        with self.kube.happened:
            self.kube.watching[path] += 1
            self.kube.open[id(self)] = self.kube.seconds
            self.kube.happened.notify_all()
        try:
            self._send_changes(path, since - FIRST_REVISION, float(query.get("timeoutSeconds", "3600")))
        finally:
            with self.kube.happened:
                self.kube.open.pop(id(self), None)

    def _send_changes(self, path: str, at: int, lasts: float) -> None:
        kube = self.kube
        bookmarked = kube.seconds
        ends = bookmarked + lasts
        while not kube.closing.is_set():
            with kube.happened:
                due = min(ends, bookmarked + 60)
                while len(kube.history[path]) <= at and kube.seconds < due and not kube.closing.is_set():
                    kube.open[id(self)] = kube.seconds
                    kube.happened.notify_all()
                    kube.happened.wait()
                lines, now = kube.history[path][at:], kube.seconds
            for line in lines:
                self.chunk(line.encode() + b"\n")
            at += len(lines)
            if now >= bookmarked + 60:
                bookmarked = now
                self.chunk(_bookmark(FIRST_REVISION + at))
            if now >= ends:
                self.wfile.write(b"0\r\n\r\n")
                return
        self.close_connection = True

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def page(
        self, path: str, of: tuple[str, str], items: list[dict[str, Any]], query: dict[str, str]
    ) -> dict[str, Any]:
        version, kind = of
        start = int(query.get("continue") or 0)
        limit = int(query.get("limit") or 0) or len(items)
        if self.kube.whole_from_cache and query.get("resourceVersion") == "0":
            limit = len(items)
        end = start + limit
        meta: dict[str, Any] = {"resourceVersion": str(self.kube.revision(path))}
        if end < len(items):
            meta |= {"continue": str(end), "remainingItemCount": len(items) - end}
        return {"apiVersion": version, "kind": f"{kind}List", "metadata": meta, "items": items[start:end]}

    def document(self, document: Any, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> None:
        self.body(json.dumps(document).encode(), status, headers)

    def body(self, body: bytes, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> None:
        self.begin(status, [("Content-Length", str(len(body))), *headers])
        self.wfile.write(body)

    def begin(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def status(self, code: int, message: str, headers: Iterable[tuple[str, str]] = ()) -> None:
        document = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}
        self.document(document, code, headers)

    def hang_up(self) -> None:
        """A reset, not an orderly end."""
        raw = self.connection
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        raw.close()


def _bookmark(revision: int) -> bytes:
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(revision)}}}).encode() + b"\n"


Fault = Callable[[Handler], None]


def refuses(code: int, message: str = "", retry_after: str | None = None) -> Fault:
    headers = [("Retry-After", retry_after)] if retry_after is not None else []
    return lambda handler: handler.status(code, message, headers)


def sends(body: bytes, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> Fault:
    return lambda handler: handler.body(body, status, headers)


def resets_in_the_body(handler: Handler) -> None:
    handler.begin(200, [("Content-Length", "100000")])
    handler.wfile.write(b'{"kind": "PodList", "items": [')
    handler.wfile.flush()
    handler.hang_up()


def ends_before_its_length(handler: Handler) -> None:
    handler.begin(200, [("Content-Length", "100000")])
    handler.wfile.write(b'{"kind": "PodList", "items": []}')
    handler.close_connection = True


def ends_within_a_chunk(handler: Handler) -> None:
    handler.begin(200, [("Transfer-Encoding", "chunked")])
    handler.wfile.write(b'ffff\r\n{"kind": "PodList", "items": []}')
    handler.close_connection = True


def hangs_up_at_once(handler: Handler) -> None:
    handler.hang_up()


def never_answers(handler: Handler) -> None:
    handler.kube.closing.wait(30)
    handler.close_connection = True


def sends_and_ends(*lines: dict[str, Any]) -> Fault:
    """A watch that the server ends after some lines."""

    def fault(handler: Handler) -> None:
        handler.begin(200, [("Transfer-Encoding", "chunked")])
        for line in lines:
            handler.chunk(json.dumps(line).encode() + b"\n")
        handler.wfile.write(b"0\r\n\r\n")

    return fault


def zipped(*lines: dict[str, Any]) -> Fault:
    """A watch behind a proxy that compresses it."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return sends(gzip.compress(text.encode()), headers=[("Content-Encoding", "gzip")])


def stops_within_the_body(handler: Handler) -> None:
    handler.begin(200, [("Content-Length", "100000")])
    handler.wfile.write(b'{"kind": "PodList"')
    handler.wfile.flush()
    never_answers(handler)


@contextmanager
def serving(items: Iterable[dict[str, Any]] = (), ca: trustme.CA | None = None) -> Iterator[KubeServer]:
    kube = KubeServer(ca or trustme.CA())
    kube.hold(items)
    with running(kube):
        yield kube


@contextmanager
def running(kube: KubeServer) -> Iterator[None]:
    """The server is up within, on the port that it had before if it had one."""
    kube.closing.clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    kube.ca.issue_cert("127.0.0.1", "kube.example").configure_cert(context)
    kube.ca.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    server = _Server(("127.0.0.1", kube.port), type("BoundHandler", (Handler,), {"kube": kube}), context)
    kube.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        kube.close()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """Each connection's handshake in its own thread, so that a client that does not get through keeps no other out."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[Handler], context: ssl.SSLContext) -> None:
        super().__init__(address, handler)
        self._context = context

    def finish_request(self, request: Any, client_address: Any) -> None:
        try:
            secure = self._context.wrap_socket(request, server_side=True)
        except OSError:
            return
        try:
            super().finish_request(secure, client_address)
        except OSError:
            pass
        finally:
            secure.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass
