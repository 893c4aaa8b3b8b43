"""Structure-aware mutations of Kubernetes documents, from a seeded random generator."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

Path = tuple[Any, ...]

ODD: tuple[Any, ...] = (
    None, "", " ", 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63), 1e308, 1.5, True, False, [], {}, [[]], [None], {"": None},
    "0", "-1", "1e400", "1e308", "1n", "0.5", "9" * 400, "1Ei", "100%", "-5%", "a" * 5000, "\x1b[31m", "a\nb", "\u202e", "é",
    "null", "true", "*", "/", "a/b/c", "default", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "not a time", "NaN",
    "device.attributes['x'].y == 1", "(" * 400, "'a'.matches('(a+)+$')", "Exists", "In", "Gt", "NoSchedule", "DoNotSchedule",
)  # fmt: skip
TIMES = (
    "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "1969-12-31T23:59:60Z",
    "2026-02-30T00:00:00Z", "2026-01-01T00:00:00.123456789Z", "2026-01-01", "99999-01-01T00:00:00Z",
)  # fmt: skip
DIGITS = "9" * 5000
# Time grows with these numbers by design: how much is the subject of other tests.
COUNTS = ("replicas", "parallelism", "completions", "count", "minCount", "desired")
MOST = 30


def mutated(document: Any, random: Random) -> Any:
    """A copy with a few mutations: of a document with many, nothing but the first mistake is looked at."""
    document = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 6))):
        document = random.choice(MUTATIONS)(document, random)
    return bounded(document)


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _paths(each, (*path, key))


def _pick(document: Any, random: Random) -> tuple[Any, Any] | None:
    """A random place: its container and its key."""
    paths = list(_paths(document))
    if not paths:
        return None
    *parents, key = random.choice(paths)
    container = document
    for parent in parents:
        container = container[parent]
    return container, key


def _replace(document: Any, random: Random) -> Any:
    place = _pick(document, random)
    if place is not None:
        old = place[0][place[1]]
        alike = [each for each in ODD if type(each) is type(old)]
        place[0][place[1]] = copy.deepcopy(random.choice(alike if alike and random.random() < 0.95 else ODD))
    return document


def _remove(document: Any, random: Random) -> Any:
    place = _pick(document, random)
    if place is not None:
        del place[0][place[1]]
    return document


def _transplant(document: Any, random: Random) -> Any:
    """A part of the document in the place of another, mostly of one with the same name and type."""
    place = _pick(document, random)
    if place is None:
        return document
    container, key = place
    others = [_at(document, path) for path in _paths(document) if path[-1] == key or random.random() < 0.01]
    alike = [each for each in others if type(each) is type(container[key])]
    value = copy.deepcopy(random.choice(alike or [container[key]]))
    if len(json.dumps(value, default=str)) < 20_000:
        container[key] = value
    return document


def _at(document: Any, path: Path) -> Any:
    for step in path:
        document = document[step]
    return document


def _repeat(document: Any, random: Random) -> Any:
    place = _pick(document, random)
    if place is not None and isinstance(place[0], list):
        place[0].insert(place[1], copy.deepcopy(place[0][place[1]]))
    return document


def _rename(document: Any, random: Random) -> Any:
    place = _pick(document, random)
    if place is not None and isinstance(place[0], dict):
        others = [key for each in _paths(document) for key in each[-1:] if isinstance(key, str)]
        place[0][random.choice([*others, "", "x"])] = place[0].pop(place[1])
    return document


def _nest(document: Any, random: Random) -> Any:
    place = _pick(document, random)
    if place is not None:
        value = place[0][place[1]]
        place[0][place[1]] = random.choice(([value], {"name": value}, {"items": [value]}))
    return document


def _stretch(document: Any, random: Random) -> Any:
    """A value of another size: a longer text or list, a number of many digits, a time at the ends of the calendar."""
    place = _pick(document, random)
    if place is None:
        return document
    container, key = place
    match container[key]:
        case str() as text if text[:4].isdigit() and "T" in text:
            container[key] = random.choice(TIMES)
        case str() as text if text[:1].isdigit():
            container[key] = random.choice((f"{DIGITS}{text}", f"{text[:1]}.{DIGITS}", f"1e{DIGITS}", f"0{text}"))
        case str() as text:
            container[key] = random.choice(
                (text * 300, f"{text}\u0000", f"{text}\ud800", f"\ufeff{text}", text.upper())
            )
        case list() as items if items and len(json.dumps(items, default=str)) < 2_000:
            container[key] = [copy.deepcopy(each) for each in items * random.choice((2, 20, 100))]
        case bool():
            pass
        case int() | float() as number:
            container[key] = random.choice((number * 10**15, number * 10**300, -number, number / 3, str(number)))
    return document


MUTATIONS: tuple[Callable[[Any, Random], Any], ...] = (
    *[_replace] * 8, *[_remove] * 3, *[_transplant] * 6, *[_stretch] * 3, _repeat, _rename, _nest,
)  # fmt: skip


def bounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _small(each) if key in COUNTS else bounded(each) for key, each in value.items()}
    return [bounded(each) for each in value] if isinstance(value, list) else value


def _small(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool) and value > MOST:
        return MOST
    return bounded(value)


def damaged(text: bytes, random: Random) -> bytes:
    """The file with a few bytes changed, cut or doubled, or in another encoding."""
    if random.random() < 0.15:
        readable = text.decode("utf-8", "replace")
        return random.choice(
            (
                readable.encode("utf-16"),
                readable.encode("utf-32-le"),
                b"\xef\xbb\xbf" + text,
                b"\xef\xbb\xbf" * 2 + text,
                readable.replace("e", "\u00e9").encode("latin-1", "replace"),
                text.replace(b"\n", b"\r\n"),
                text.replace(b"\n", "\u2028".encode()),
            )
        )
    data = bytearray(text)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data) + 1)
        what = random.randrange(4)
        if what == 0:
            del data[at : at + random.randrange(50)]
        elif what == 1:
            data[at:at] = bytes(random.randrange(256) for _ in range(random.randrange(6)))
        elif what == 2:
            data[at:at] = data[at : at + random.randrange(100)]
        else:
            data[at:] = b""
    return bytes(data)
