"""The line of each field of a JSON document. The decoder of the values reports no lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C scanner of strings, public by long custom

Path = tuple[str | int, ...]

_TOKEN = re.compile(r'[{}\[\],:"]|[^\s{}\[\],:"]+')


def field_lines(text: str) -> Iterator[tuple[int, dict[Path, int]]]:
    """The first line of every document of a JSON text, and the line of each path in it: that of a field's key, or the
    first line of an element of a list."""
    lines: dict[Path, int] = {}
    # The path to what is being read, and per level whether a key comes next.
    path: list[str | int] = []
    expects_key: list[bool | None] = []
    begins, line, seen, at = 1, 1, 0, 0
    while (found := _TOKEN.search(text, at)) is not None:
        line, seen, at = line + text.count("\n", seen, found.start()), found.start(), found.end()
        token = found.group()
        if not expects_key:
            begins, lines = line, {}
        if token in ("{", "[") or token not in "}],:":
            if token == '"':
                word, at = scanstring(text, at, False)
                if expects_key and expects_key[-1]:
                    path[-1] = word
                    lines[tuple(path)] = line
                    continue
            _note(lines, path, expects_key, line)
        if token == "{":
            path.append("")
            expects_key.append(True)
        elif token == "[":
            path.append(0)
            expects_key.append(None)
        elif token in ("}", "]"):
            path.pop()
            expects_key.pop()
        elif token == ":":
            expects_key[-1] = False
        elif token == ",":
            _next(path, expects_key)
        if not expects_key:
            yield begins, lines


def _note(lines: dict[Path, int], path: list[str | int], expects_key: list[bool | None], line: int) -> None:
    """An element of a list begins here."""
    if expects_key and expects_key[-1] is None:
        lines.setdefault(tuple(path), line)


def _next(path: list[str | int], expects_key: list[bool | None]) -> None:
    last = path[-1]
    if isinstance(last, int):
        path[-1] = last + 1
    else:
        expects_key[-1] = True
