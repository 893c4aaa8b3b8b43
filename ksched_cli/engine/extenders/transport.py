"""One extender's HTTP connection: kept open, bounded in time as a whole, and never by way of a proxy. enableHTTPS
and tlsConfig are read as makeTransport and client-go's TLSConfigFor do.

The standard library's client does it: one POST at a time to one host needs no pool, and what a setting in the
environment would change about it (proxies, netrc) must not decide where a pod goes.
"""

from __future__ import annotations

import base64
import http.client
import io
import os
import socket
import ssl
import tempfile
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from ksched_cli.config.model import Extender, ExtenderTLSConfig, extender_name, parse_duration
from ksched_cli.engine.faults import ExtenderError
from ksched_cli.errors import ConfigError, Problem

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def tls_context(extender: Extender) -> ssl.SSLContext:
    """How to talk to an https URL; ConfigError where the settings contradict each other or a file cannot be read."""
    given = extender.tls_config or ExtenderTLSConfig()
    has_ca = bool(given.ca_file or given.ca_data)
    insecure = given.insecure or (extender.enable_https and not has_ca)
    if insecure and has_ca:
        raise ConfigError(Problem("insecure and a CA contradict each other", path=_path(extender, "insecure")))
    context = ssl.create_default_context()
    # Go requires less of a CA's certificate than newer Pythons do, and more of a server's: its subject names no host.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.hostname_checks_common_name = False
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if has_ca:
        context = _trusting_only(context, extender, given)
    if (given.cert_file or given.cert_data) and (given.key_file or given.key_data):
        _load_certificate(context, extender, given)
    return context


def _trusting_only(context: ssl.SSLContext, extender: Extender, given: ExtenderTLSConfig) -> ssl.SSLContext:
    """Trust this CA and none of the system's."""
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    own.minimum_version, own.hostname_checks_common_name = context.minimum_version, False
    # caData wins over caFile, as in client-go.
    field = "caData" if given.ca_data else "caFile"
    data = _decoded(given.ca_data) if given.ca_data else _file(extender, field, given.ca_file)
    try:
        own.load_verify_locations(cadata=data.decode("ascii"))
    except (ssl.SSLError, ValueError) as problem:
        raise ConfigError(Problem(f"no certificate in it: {problem}", path=_path(extender, field))) from None
    return own


def _load_certificate(context: ssl.SSLContext, extender: Extender, given: ExtenderTLSConfig) -> None:
    certificate = _decoded(given.cert_data) if given.cert_data else _file(extender, "certFile", given.cert_file)
    key = _decoded(given.key_data) if given.key_data else _file(extender, "keyFile", given.key_file)
    with _on_disk(certificate) as certificate_file, _on_disk(key) as key_file:
        try:
            # A key with a passphrase is refused rather than prompted for on the terminal.
            context.load_cert_chain(certificate_file, key_file, password=lambda: "")
        except (ssl.SSLError, ValueError, OSError) as problem:
            text = f"certificate and key cannot be used: {problem}"
            raise ConfigError(Problem(text, path=_path(extender, ""))) from None


@contextmanager
def _on_disk(data: bytes) -> Iterator[str]:
    """ssl reads certificates and keys from files only. Only this user can read the file, and it is deleted at once."""
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        yield path
    finally:
        os.unlink(path)


def _decoded(text: str) -> bytes:
    return base64.b64decode("".join(text.split()))


def _file(extender: Extender, field: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as problem:
        text = f"{path}: {problem.strerror or problem}"
        raise ConfigError(Problem(text, path=_path(extender, field))) from None


def _path(extender: Extender, field: str) -> str:
    return ": ".join((f"extender {extender_name(extender)}", ".".join(filter(None, ("tlsConfig", field)))))


DEFAULT_TIMEOUT = 5.0
FOR_EVER = 3600.0
# Fifteen thousand whole node objects are a third of it.
MAX_ANSWER = 512 * 1024 * 1024
_CHUNK = 1024 * 1024
_GZIP = 16 + zlib.MAX_WBITS

WAITING = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
READING = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"


class Client:
    """Posts JSON to the verbs below an extender's URL."""

    def __init__(self, extender: Extender, failed: str = "failed") -> None:
        """`failed`: how the text about a status other than 200 begins."""
        self._beginning = failed
        self._url = extender.url_prefix.rstrip("/")
        self._parts = _split(extender)
        self._shown = extender_name(extender).rstrip("/")
        self._timeout = timeout_of(extender)
        self._tls = tls_context(extender) if self._parts.scheme == "https" else None
        self._server_name = (extender.tls_config.server_name if extender.tls_config else "") or self._host
        self._headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "gzip",
            "Host": self._parts.netloc.rpartition("@")[2],
        }
        self._headers.update(_credentials(self._parts))
        self._connection: http.client.HTTPConnection | None = None
        # Closes the connection when nothing has the client any more: a run that ends anywhere leaves none open.
        self._hang_up: weakref.finalize[..., Any] | None = None
        self._deadline = 0.0

    @property
    def _host(self) -> str:
        return self._parts.hostname or ""

    @property
    def _port(self) -> int:
        return self._parts.port or (443 if self._parts.scheme == "https" else 80)

    def post(self, verb: str, body: bytes) -> bytes:
        """The answer; ExtenderError for everything else, in time."""
        self._deadline = time.monotonic() + self._timeout
        try:
            response = self._ask(verb, body)
            if response.status != http.HTTPStatus.OK:
                text = f"{self._beginning} {verb} with extender at URL {self._shown}/{verb}, code {response.status}"
                raise ExtenderError(text)
            return self._read(response)
        except BaseException:
            # Whatever is left of the exchange must not be taken for the next answer.
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, verb: str, body: bytes) -> http.client.HTTPResponse:
        kept = self._connection is not None and self._connection.sock is not None
        try:
            return self._exchange(verb, body)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as problem:
            # A server may hang up on a connection that has been idle: Go, too, begins anew on a fresh one.
            if not kept:
                raise self._failed(verb, problem) from problem
        except (OSError, http.client.HTTPException) as problem:
            raise self._failed(verb, problem) from problem
        self.close()
        try:
            return self._exchange(verb, body)
        except (OSError, http.client.HTTPException) as problem:
            raise self._failed(verb, problem) from problem

    def _exchange(self, verb: str, body: bytes) -> http.client.HTTPResponse:
        connection = self._connected()
        parts = urlsplit(f"{self._url}/{verb}")
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body=body, headers=self._headers)
        return connection.getresponse()

    def _connected(self) -> http.client.HTTPConnection:
        """The connection that is open, or a new one: http.client would open one without TLS and without our clock."""
        if self._connection is None or self._connection.sock is None:
            sock = socket.create_connection((self._host, self._port), timeout=self._left())
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                try:
                    sock.settimeout(self._left())
                    sock = self._tls.wrap_socket(sock, server_hostname=self._server_name)
                except BaseException:
                    sock.close()
                    raise
            if self._hang_up is not None:
                self._hang_up.detach()
            self._hang_up = weakref.finalize(self, sock.close)
            self._connection = http.client.HTTPConnection(self._host, self._port)
            self._connection.sock = _Timed(sock, self._left)  # all that http.client needs of a socket
        return self._connection

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        chunks, size = [], 0
        # Go's transport asks for gzip, and unpacks it.
        is_packed = response.headers.get("Content-Encoding", "").lower() == "gzip"
        unpack = zlib.decompressobj(_GZIP).decompress if is_packed else bytes
        try:
            while chunk := response.read(_CHUNK):
                chunk = unpack(chunk)
                chunks.append(chunk)
                size += len(chunk)
                if size > MAX_ANSWER:
                    raise ExtenderError(f"{self._shown} answers with more than {MAX_ANSWER >> 20} MiB")
        except TimeoutError:
            raise ExtenderError(READING) from None
        except zlib.error:
            raise ExtenderError("gzip: invalid header") from None
        except (OSError, http.client.HTTPException):
            raise ExtenderError("unexpected EOF") from None
        if response.length:
            raise ExtenderError("unexpected EOF")
        return b"".join(chunks)

    def _failed(self, verb: str, problem: Exception) -> ExtenderError:
        return ExtenderError(f'Post "{self._shown}/{verb}": {self._error_text(problem)}')

    def _error_text(self, problem: Exception) -> str:
        """The error in the words of Go's client, as far as Python reports it."""
        match problem:
            case TimeoutError():
                return WAITING
            case ConnectionRefusedError():
                return f"dial tcp {self._host}:{self._port}: connect: connection refused"
            case socket.gaierror():
                return f"dial tcp: lookup {self._host}: no such host"
            case ssl.SSLCertVerificationError():
                return f"tls: failed to verify certificate: {problem.verify_message}"
            case http.client.RemoteDisconnected():
                return "EOF"
            case ConnectionResetError():
                return "connection reset by peer"
            case http.client.HTTPException():
                return f"malformed HTTP response ({type(problem).__name__}: {problem})"
        return str(problem) or type(problem).__name__


def timeout_of(extender: Extender) -> float:
    """httpTimeout in seconds; nothing and zero mean five. Below zero Go waits for ever, and this an hour."""
    seconds = (parse_duration(extender.http_timeout) if extender.http_timeout else None) or DEFAULT_TIMEOUT
    return seconds if seconds > 0 else FOR_EVER


def _split(extender: Extender) -> SplitResult:
    try:
        parts = urlsplit(extender.url_prefix)
        _ = parts.port  # urllib checks the port when it is read.
    except ValueError as problem:
        raise ConfigError(_problem(extender, str(problem))) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(_problem(extender, "expected http://HOST or https://HOST"))
    return parts


def _problem(extender: Extender, text: str) -> Problem:
    return Problem(text, path=f"extender {extender_name(extender)!r}: urlPrefix")


def _credentials(parts: SplitResult) -> dict[str, str]:
    """A user in the URL, as Go sends it."""
    if parts.username is None:
        return {}
    plain = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(plain.encode()).decode()}"}


class _Timed:
    """A socket whose every operation ends when the time for the whole exchange does; a timeout of its own each would
    let an extender that sends a byte now and then go on for ever. It is closed when its files are closed too:
    http.client closes the connection of an answer that ends with it before the answer is read."""

    def __init__(self, sock: socket.socket, left: Callable[[], float]) -> None:
        self._sock = sock
        self._left = left
        self._files = 0
        self._is_closed = False

    def sendall(self, data: Any) -> None:
        self._sock.settimeout(self._left())
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        self._files += 1
        return io.BufferedReader(_Incoming(self._sock, self._left, self._file_closed))

    def close(self) -> None:
        self._is_closed = True
        if not self._files:
            self._sock.close()

    def _file_closed(self) -> None:
        self._files -= 1
        if self._is_closed and not self._files:
            self._sock.close()


class _Incoming(io.RawIOBase):
    def __init__(self, sock: socket.socket, left: Callable[[], float], closed: Callable[[], None]) -> None:
        self._sock = sock
        self._left = left
        self._on_close = closed

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._on_close()

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._sock.settimeout(self._left())
        return self._sock.recv_into(buffer)
