"""How an answer is framed: every way in which Go's client finds its end is read to the end, and none outlasts the time."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.engine.extenders.runs import extender, node_of, only, scheduler_with

BODY = json.dumps({"nodenames": ["b"], "failedNodes": {"a": "x" * 70_000, "c": "no"}}).encode()
HALVES = (BODY[:7], BODY[7:50_000], BODY[50_000:])
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


def chunked(*parts: bytes, end: bytes = b"0\r\n\r\n") -> list[bytes]:
    return [*(b"%x\r\n%s\r\n" % (len(part), part) for part in parts), end]


def answer(head: bytes, *parts: bytes, version: bytes = b"HTTP/1.1") -> list[bytes]:
    return [version + b" 200 OK\r\n" + head + b"\r\n", *parts]


def _read_request(connection: socket.socket) -> None:
    """Read it all: a connection that is closed with something unread is reset."""
    with connection.makefile("rb") as incoming:
        headers = dict(line.lower().split(b": ", 1) for line in iter(incoming.readline, b"\r\n") if b": " in line)
        incoming.read(int(headers[b"content-length"]))


@contextmanager
def served(segments: Sequence[bytes], pause: float = 0.02, *, repeats: bool = False) -> Iterator[str]:
    """A URL at which each connection gets these segments, one after the other, and is closed then."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                _read_request(connection)
                try:
                    for segment in segments:
                        connection.sendall(segment)
                        over.wait(pause)
                    while repeats and not over.wait(pause):
                        connection.sendall(b" ")
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


CLOSE = b"Connection: close\r\n"
FRAMINGS = [
    pytest.param(answer(LENGTH, BODY), id="a length"),
    pytest.param(answer(LENGTH, *HALVES), id="a length, in segments"),
    pytest.param(answer(LENGTH + CLOSE, BODY), id="a length, and closed"),
    pytest.param(answer(LENGTH + CLOSE, *HALVES), id="a length, in segments, and closed"),
    pytest.param(answer(CLOSE, BODY), id="until it is closed"),
    pytest.param(answer(CLOSE, *HALVES), id="until it is closed, in segments"),
    pytest.param(answer(b"", *HALVES), id="until it is closed, without a word of it"),
    pytest.param(answer(LENGTH, BODY, version=b"HTTP/1.0"), id="HTTP/1.0, a length"),
    pytest.param(answer(LENGTH, *HALVES, version=b"HTTP/1.0"), id="HTTP/1.0, a length, in segments"),
    pytest.param(answer(b"", BODY, version=b"HTTP/1.0"), id="HTTP/1.0, until it is closed"),
    pytest.param(answer(b"", *HALVES, version=b"HTTP/1.0"), id="HTTP/1.0, until it is closed, in segments"),
    pytest.param(
        answer(b"Connection: keep-alive\r\n" + LENGTH, *HALVES, version=b"HTTP/1.0"), id="HTTP/1.0, kept open"
    ),
    pytest.param(answer(b"Transfer-Encoding: chunked\r\n", *chunked(*HALVES)), id="chunks"),
    pytest.param(answer(b"Transfer-Encoding: chunked\r\n" + CLOSE, *chunked(*HALVES)), id="chunks, and closed"),
    pytest.param(
        answer(b"Transfer-Encoding: chunked\r\n", *chunked(BODY, end=b"0\r\nX-Sum: 1\r\n\r\n")),
        id="chunks and a trailer",
    ),
    pytest.param([b"HTTP/1.1 100 Continue\r\n\r\n", *answer(LENGTH, BODY)], id="100 Continue before it"),
    pytest.param(
        answer(b"Content-Encoding: gzip\r\n" + CLOSE, gzip.compress(BODY)), id="packed, as Go's transport asks for"
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("segments", FRAMINGS)
def test_every_framing_is_read_to_its_end(segments: list[bytes]) -> None:
    with served(segments) as url:
        scheduler = scheduler_with([extender(url)])
        assert node_of(scheduler, only(scheduler)) == "b"


BROKEN = [
    pytest.param(answer(LENGTH, *HALVES[:2]), "unexpected EOF", id="closed before the length"),
    pytest.param(answer(LENGTH + CLOSE, *HALVES[:2]), "unexpected EOF", id="said to be closed, and too short"),
    pytest.param(answer(LENGTH, *HALVES[:2], version=b"HTTP/1.0"), "unexpected EOF", id="HTTP/1.0, too short"),
    pytest.param(
        answer(b"Transfer-Encoding: chunked\r\n", *chunked(*HALVES[:2], end=b"")), "unexpected EOF", id="no last chunk"
    ),
    pytest.param(answer(b"Content-Encoding: gzip\r\n" + CLOSE, BODY), "gzip: invalid header", id="not packed at all"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("segments", "message"), BROKEN)
def test_an_answer_that_is_cut_off(segments: list[bytes], message: str) -> None:
    with served(segments) as url:
        decision = only(scheduler_with([extender(url)]))
    assert message in decision.message


TRICKLES = [
    pytest.param(answer(CLOSE), id="until it is closed"),
    pytest.param(answer(b"Content-Length: 1000000\r\n"), id="a length"),
    pytest.param(answer(b"", version=b"HTTP/1.0"), id="HTTP/1.0"),
    pytest.param([b"HTTP/1.1 200 OK\r\n"], id="headers that never end"),
]


@pytest.mark.slow
@pytest.mark.parametrize("segments", TRICKLES)
def test_an_answer_that_trickles_is_cut_at_its_time(segments: list[bytes]) -> None:
    started = time.monotonic()
    with served(segments, 0.005, repeats=True) as url:
        decision = only(scheduler_with([extender(url, httpTimeout="150ms")]))
    assert "context deadline exceeded" in decision.message
    assert time.monotonic() - started < 5
