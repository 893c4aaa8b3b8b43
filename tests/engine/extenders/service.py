"""An extender to be asked over loopback: it answers what a test says, notes what it was asked, and can misbehave."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.tls_sockets import close_sockets_without_peer

close_sockets_without_peer()

Answer = Callable[[dict[str, Any]], Any]


@dataclass
class Asked:
    """One request."""

    verb: str
    body: dict[str, Any]
    headers: dict[str, str]


class Raw(bytes):
    """An answer's bytes as they are, not JSON of them."""


@dataclass
class Service:
    """`answers` by verb: a value, or a function of the request's body. In a `with` block it listens at `url`."""

    answers: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    tls: ssl.SSLContext | None = None
    hang_up: bool = False
    # Stays silent, stops before the end of the answer, or never comes to it, until the client has gone away.
    silent: bool = False
    stalls: bool = False
    drips: bool = False
    close_idle: bool = False
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    _gone: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.tls = self.tls
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._gone.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"

    def bodies(self, verb: str) -> list[dict[str, Any]]:
        return [each.body for each in self.asked if each.verb == verb]

    def wait_until_gone(self) -> None:
        self._gone.wait()

    def is_gone(self, seconds: float) -> bool:
        return self._gone.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    tls: ssl.SSLContext | None = None

    def get_request(self) -> tuple[Any, Any]:
        sock, address = super().get_request()
        # The handshake is left to the thread of the connection.
        if self.tls is not None:
            sock = self.tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        return sock, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The client has had enough, which is what some of the tests are about."""


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            service.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            verb = self.path.rpartition("/")[2]
            service.asked.append(Asked(self.path.removeprefix("/"), json.loads(body), dict(self.headers)))
            if service.silent:
                service.wait_until_gone()
            if service.silent or service.hang_up:
                self.close_connection = True
                return
            self._answer(service.answers.get(verb), json.loads(body))

        def _answer(self, answer: Any, asked: dict[str, Any]) -> None:
            given = answer(asked) if callable(answer) else answer
            text = given if isinstance(given, Raw) else json.dumps(given).encode()
            self.send_response(service.status)
            self.send_header("Content-Length", str(1_000_000 if service.drips else len(text) + service.stalls))
            self.end_headers()
            while service.drips and not service.is_gone(0.005):
                self.wfile.write(b" ")
            self.wfile.write(text)
            self.wfile.flush()
            if service.stalls:
                service.wait_until_gone()
            if service.close_idle:
                # Without a word of it in the answer, as a server does that has waited long enough.
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler


def nobody() -> str:
    """A URL where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def keep(*names: str) -> Answer:
    """Lets these nodes pass, in the form in which it was asked."""

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        if asked["Nodes"] is not None:
            items = [node for node in asked["Nodes"]["items"] if node["metadata"]["name"] in names]
            return {"nodes": {"items": items}}
        return {"nodenames": [name for name in asked["NodeNames"] if name in names]}

    return answer


def named(asked: dict[str, Any]) -> list[str]:
    """The nodes that a request is about."""
    if asked["Nodes"] is None:
        return list(asked["NodeNames"])
    return [node["metadata"]["name"] for node in asked["Nodes"]["items"]]
