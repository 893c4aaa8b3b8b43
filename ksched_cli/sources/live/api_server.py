"""Sends requests to one API server, repeats them after errors that may pass, and reports the others as exceptions.

ksched only sends GET: the verbs get, list and watch.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from ksched_cli.errors import ClusterUnreadable, Problem

CONNECT_SECONDS = 30.0
# No page of a list that respects the limit is near this size.
MAX_BODY = 128 * 1024**2
_CHUNK = 256 * 1024
_REPEATED = frozenset({429, 500, 502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 8.0
# The most requests, also without a timeout.
_TRIES = 8


class RequestRefused(Exception):
    """The server answered with an error. `wait`: the seconds until it accepts the next request."""

    def __init__(self, status: int, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.wait = wait


class TooLarge(Exception):
    """The answer is larger than the limit."""


class Interrupted(Exception):
    """The connection broke, or the response is incomplete."""


class _Status(Struct, rename="camel"):
    message: str = ""


@dataclass
class LiveApiServer:
    """`headers` returns the credentials; `hint`: the mistakes found while they were read; `insecure`: the certificate
    of the server is not checked; `pause` is replaced in tests, which do not wait."""

    host: str
    pool: Any
    headers: Callable[[], Sequence[tuple[str, str]]]
    timeout: float | None
    namespace: str = ""
    hint: str = ""
    insecure: bool = False
    pause: Callable[[float], None] = time.sleep

    def get(self, path: str, parameters: Mapping[str, str] | None = None, limit: int = MAX_BODY) -> bytes:
        """The body of the answer. Raises RequestRefused, TooLarge, and ClusterUnreadable if no answer comes."""
        url = f"{self.host}{path}" + (f"?{urlencode(parameters)}" if parameters else "")
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        for attempt in range(_TRIES):
            wait: float | None = None
            try:
                status, body, wait = self._ask(url, deadline, limit)
            except Interrupted as broken:
                message = str(broken)
            else:
                if status == 200:
                    return body
                message = _message_in(status, body)
                if status not in _REPEATED:
                    raise self._refusal(status, message)
            pause = growing_pause(attempt) if wait is None else wait
            if attempt == _TRIES - 1 or (deadline is not None and time.monotonic() + pause >= deadline):
                break
            self.pause(pause)
        tries = f" ({attempt + 1} tries)" if attempt else ""
        raise self.unreadable(f"{path}: {message}{tries}", "see --request-timeout")

    def lines(self, path: str, parameters: Mapping[str, str], silence: float) -> Iterator[bytes]:
        """The lines of a watch until the server ends it. The first line is empty: the server has accepted the request.
        Raises Interrupted after `silence` seconds without a byte, RequestRefused, and ClusterUnreadable."""
        import urllib3

        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=silence)
        try:
            response = self._open(f"{self.host}{path}?{urlencode(parameters)}", timeout)
            try:
                if response.status != 200:
                    message = _message_in(response.status, _body(response, None, MAX_BODY))
                    raise self._refusal(response.status, message, _seconds(response.headers.get("Retry-After")))
                yield b""
                yield from _lines(response)
            finally:
                response.close()
        except urllib3.exceptions.HTTPError as mistake:
            raise self._trouble(mistake) from None
        except OSError as mistake:
            raise self.unreadable(one_line(mistake)) from None

    def close(self) -> None:
        """Close the connections that no request uses; the others follow when their requests end."""
        self.pool.clear()

    def _open(self, url: str, timeout: Any) -> Any:
        import urllib3

        headers = urllib3.HTTPHeaderDict([*_ACCEPTED, *self.headers()])
        return self.pool.request(
            "GET", url, headers=headers, timeout=timeout, preload_content=False, retries=False, redirect=False
        )

    def _ask(self, url: str, deadline: float | None, limit: int) -> tuple[int, bytes, float | None]:
        import urllib3

        try:
            response = self._open(url, _left(deadline))
            try:
                body = _body(response, deadline, limit)
            except BaseException:
                # The next request would read the rest of this body as its answer.
                response.close()
                raise
            response.release_conn()
        except urllib3.exceptions.HTTPError as mistake:
            raise self._trouble(mistake) from None
        except OSError as mistake:
            raise self.unreadable(one_line(mistake)) from None
        return response.status, body, _seconds(response.headers.get("Retry-After"))

    def _trouble(self, mistake: Exception) -> Exception:
        """The exception for an error of the connection: Interrupted if a retry may help, else ClusterUnreadable."""
        from urllib3 import exceptions

        reason = getattr(mistake, "reason", None) or mistake
        if isinstance(reason, exceptions.SSLError):
            return self.unreadable(f"no trust in its certificate: {one_line(reason)}", "see certificate-authority-data")
        if isinstance(reason, exceptions.NewConnectionError | exceptions.NameResolutionError):
            return self.unreadable(f"no connection: {one_line(reason).rpartition(': ')[2]}")
        if isinstance(reason, exceptions.LocationValueError | exceptions.ProxyError):
            return self.unreadable(one_line(reason))
        if isinstance(reason, exceptions.TimeoutError):
            return Interrupted("no answer in time")
        return Interrupted(f"the connection broke: {one_line(mistake)}")

    def _refusal(self, status: int, message: str, wait: float | None = None) -> Exception:
        if status == 401:
            hint = self.hint or "the credentials are missing, wrong or out of date; try `kubectl auth whoami`"
            return self.unreadable(f"it does not know you: {message}", hint)
        if 300 <= status < 400:
            return self.unreadable(f"it sends elsewhere ({status}), which is not followed")
        return RequestRefused(status, message, wait)

    def unreadable(self, text: str, hint: str = "") -> ClusterUnreadable:
        return ClusterUnreadable(Problem(text, self.host, hint=hint))


_ACCEPTED = (("Accept", "application/json"), ("Accept-Encoding", "gzip"), ("User-Agent", "ksched"))


def growing_pause(attempt: int, first: float = _FIRST_PAUSE, longest: float = _LONGEST_PAUSE) -> float:
    """The seconds to wait: longer with each attempt, and different for all who wait."""
    return min(first * 2.0**attempt, longest) * random.uniform(0.75, 1.25)


def _left(deadline: float | None) -> Any:
    from urllib3 import Timeout

    if deadline is None:
        return Timeout(connect=CONNECT_SECONDS, read=None)
    left = max(deadline - time.monotonic(), 0.001)
    return Timeout(connect=left, read=left)


def _body(response: Any, deadline: float | None, limit: int) -> bytes:
    """The body, read in parts, so that the limits also hold for a server that sends byte after byte."""
    parts: list[bytes] = []
    size = 0
    while part := response.read1(_CHUNK, decode_content=True):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise TooLarge
        if deadline is not None and time.monotonic() > deadline:
            raise Interrupted("the answer did not end in time")
    return b"".join(parts)


def _lines(response: Any) -> Iterator[bytes]:
    rest = b""
    while part := response.read1(_CHUNK, decode_content=True):
        *whole, rest = (rest + part).split(b"\n")
        yield from (line for line in whole if line.strip())


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after and retry_after.isdigit() else None


def _message_in(status: int, body: bytes) -> str:
    """The message and number of a Status object, or only the number."""
    try:
        message = msgspec.json.decode(body, type=_Status).message
    except msgspec.DecodeError:
        message = ""
    return f"{one_line(message)} ({status})" if message else f"status {status}"


def one_line(mistake: object) -> str:
    """The text of the mistake as one line of at most 300 characters: servers and proxies may send whole pages."""
    return " ".join(str(mistake).split())[:300]
