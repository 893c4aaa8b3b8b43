"""YAML documents as plain values, made from the parser's events: without recursion, so that no depth and no alias can
hurt. Plain scalars are resolved as kubectl's parser does it: YAML 1.1 with the exceptions of go-yaml v2."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from ksched_cli.api.quantity import MOST_DIGITS
from ksched_cli.errors import InputError, Problem

_WORDS: dict[str, object] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_INT_FORMS = (
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)", re.ASCII), 16),
    (re.compile(r"([-+]?)0[bB]([01]+)", re.ASCII), 2),
    (re.compile(r"([-+]?)0[oO]?([0-7]+)", re.ASCII), 8),
    (re.compile(r"([-+]?)(0|[1-9][0-9]*)", re.ASCII), 10),
)
_MIN_INT, _MAX_UINT = -(2**63), 2**64


class NotInJson(ValueError):
    """A number that JSON, and so a Kubernetes object, has no way to write."""


def resolve_plain(text: str) -> object:
    """The value of an unquoted scalar. Timestamps and base 60 numbers stay text, as in go-yaml."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _SPECIAL_FLOAT.fullmatch(text):
        raise NotInJson(f"{text} is a number that JSON cannot hold; quote it if text is meant")
    plain = text.replace("_", "")
    number = _integer(plain)
    if number is not None:
        return number
    if not _FLOAT.fullmatch(plain if text[0] != "." else text):
        return text
    # Go writes a whole number of this size without a point when it makes JSON of it.
    value = float(plain)
    if math.isinf(value):
        return text
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _integer(plain: str) -> int | None:
    for form, base in _INT_FORMS:
        found = form.fullmatch(plain)
        if found is not None and len(plain) <= MOST_DIGITS:
            number = int(found[1] + found[2], base)
            return number if _MIN_INT <= number < _MAX_UINT else None
    return None


def key_text(value: object) -> str:
    """JSON has text keys only: what go-yaml makes of other scalars."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)


MAX_DEPTH = 100
# Aliases may make a document larger than it is written, but not a thousand lines into a billion values.
MAX_EXPANSION = 10
FREE_EXPANSION = 100_000

_TAG = "tag:yaml.org,2002:"
_Path = tuple[str | int, ...]


@dataclass
class Document:
    """One document: its value, the line it starts on, and on demand the line of every path in it."""

    value: Any
    line: int
    lines: dict[_Path, int] = field(default_factory=dict)

    def line_of(self, path: _Path) -> int:
        """The line of the path, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, self.line)


class _Refused(Exception):
    """What is wrong, and on which line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass
class _Frame:
    """A mapping or list that is still being filled."""

    value: Any
    line: int
    anchor: str | None
    key: Any = None
    has_key: bool = False
    key_line: int = 0
    merges: list[tuple[Any, int]] = field(default_factory=list)
    size: int = 1


def read_documents(
    text: str | bytes, source: str = "", *, with_lines: bool = False, repeats: bool = False
) -> Iterator[Document]:
    """Every document that is not empty. Raises InputError with file and line for what kubectl would not read. With
    `repeats` the last of several keys of one name counts, as in a manifest; else they are a mistake."""
    try:
        yield from _Composer(with_lines, repeats).documents(text)
    except yaml.MarkedYAMLError as mistake:
        mark = mistake.problem_mark or mistake.context_mark
        where = mark.line + 1 if mark else None
        text_of = " ".join(part for part in (mistake.context, mistake.problem) if part)
        raise InputError(Problem(f"broken YAML: {text_of}", source, where)) from None
    except yaml.YAMLError as mistake:
        raise InputError(Problem(f"not text that YAML can hold: {_first_line(mistake)}", source)) from None
    except _Refused as mistake:
        raise InputError(Problem(str(mistake), source, mistake.line)) from None


def _first_line(mistake: Exception) -> str:
    return str(mistake).splitlines()[0] if str(mistake) else type(mistake).__name__


class _Composer:
    """Builds values from events. One per stream; anchors live as long as their document."""

    def __init__(self, with_lines: bool, repeats: bool) -> None:
        self._with_lines, self._repeats = with_lines, repeats
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._written = 0
        self._expanded = 0
        self._lines: dict[_Path, int] = {}

    def documents(self, text: str | bytes) -> Iterator[Document]:
        loader = getattr(yaml, "CLoader", yaml.Loader)
        result: Any = None
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.ScalarEvent):
                value = self._scalar(event)
                if event.anchor:
                    self._anchors[event.anchor] = value, 1
                result = self._put(value, 1, event, plain_merge=not event.style and event.value == "<<")
            elif isinstance(event, yaml.MappingStartEvent):
                self._open({}, event)
            elif isinstance(event, yaml.SequenceStartEvent):
                self._open([], event)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                result = self._close(event)
            elif isinstance(event, yaml.AliasEvent):
                result = self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                line = _line(event) + bool(event.explicit)
                self._anchors, self._lines = {}, {}
                self._written = self._expanded = 0
            elif isinstance(event, yaml.DocumentEndEvent):
                if result is not None:
                    yield Document(result, line, self._lines)
                result = None

    def _scalar(self, event: Any) -> Any:
        self._count(1, 1, event)
        tag, text = event.tag, event.value
        try:
            if tag is None or tag == "!":
                # Quoted text is text; `!` alone makes a plain scalar text, too.
                return resolve_plain(text) if event.implicit[0] and tag is None else text
            return _tagged(tag, text)
        except NotInJson as mistake:
            raise _Refused(str(mistake), _line(event)) from None

    def _open(self, value: Any, event: Any) -> None:
        if len(self._stack) >= MAX_DEPTH:
            text = f"nested more than {MAX_DEPTH} deep, which no Kubernetes object is"
            raise _Refused(text, _line(event))
        self._count(1, 1, event)
        if event.tag not in (None, "!", f"{_TAG}map", f"{_TAG}seq"):
            raise _Refused(f"tag {event.tag} is not allowed", _line(event))
        self._note_line(event)
        self._stack.append(_Frame(value, _line(event), event.anchor))

    def _close(self, event: Any) -> Any:
        frame = self._stack.pop()
        for merged, line in frame.merges:
            _merge(frame.value, merged, line)
        if frame.anchor:
            self._anchors[frame.anchor] = frame.value, frame.size
        return self._put(frame.value, frame.size, event)

    def _alias(self, event: Any) -> Any:
        line = _line(event)
        if event.anchor not in self._anchors:
            raise _Refused(f"alias *{event.anchor} has no anchor before it", line)
        value, size = self._anchors[event.anchor]
        self._count(1, size, event)
        return self._put(value, size, event)

    def _count(self, written: int, expanded: int, event: Any) -> None:
        self._written += written
        self._expanded += expanded
        if self._expanded > FREE_EXPANSION + MAX_EXPANSION * self._written:
            text = "aliases make this document far larger than it is written; it is not read any further"
            raise _Refused(text, _line(event))

    def _put(self, value: Any, size: int, event: Any, *, plain_merge: bool = False) -> Any:
        """Into the collection that is open, as a key or a value; the document itself where none is."""
        if not self._stack:
            return value
        frame = self._stack[-1]
        frame.size += size
        if isinstance(frame.value, list):
            if not isinstance(value, dict | list):
                self._note_line(event)
            frame.value.append(value)
        elif frame.has_key:
            self._put_entry(frame, value)
        else:
            self._put_key(frame, value, event, plain_merge)
        return None

    def _put_key(self, frame: _Frame, key: Any, event: Any, plain_merge: bool) -> None:
        line = _line(event)
        if isinstance(key, dict | list):
            raise _Refused("a mapping or list cannot be a key", line)
        frame.key = _MERGE if plain_merge else key_text(key)
        frame.has_key, frame.key_line = True, line
        if frame.key in frame.value and not self._repeats:
            raise _Refused(f'key "{frame.key}" is there twice in one mapping', line)
        if self._with_lines and frame.key is not _MERGE:
            self._lines[self._here()] = line

    def _put_entry(self, frame: _Frame, value: Any) -> None:
        if frame.key is _MERGE:
            frame.merges.append((value, frame.key_line))
        else:
            frame.value[frame.key] = value
        frame.has_key = False

    def _here(self) -> _Path:
        """The path to what is being filled right now."""
        path: list[str | int] = []
        for frame in self._stack:
            if isinstance(frame.value, list):
                path.append(len(frame.value))
            elif frame.has_key and frame.key is not _MERGE:
                path.append(frame.key)
        return tuple(path)

    def _note_line(self, event: Any) -> None:
        if self._with_lines:
            self._lines.setdefault(self._here(), _line(event))


_MERGE = object()


def _line(event: Any) -> int:
    """Counted from 1, as editors do."""
    return int(event.start_mark.line) + 1


def _tagged(tag: str, text: str) -> Any:
    if tag == f"{_TAG}str" or tag == f"{_TAG}timestamp":
        return text
    if tag == f"{_TAG}binary":
        try:
            return base64.b64decode(text).decode("utf-8", "replace")
        except binascii.Error:
            raise NotInJson("!!binary without base64 in it") from None
    kinds: dict[str, type | tuple[type, ...]] = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
    name = tag.removeprefix(_TAG)
    if tag.startswith(_TAG) and name in kinds:
        value = resolve_plain(text)
        if isinstance(value, kinds[name]) and (name in ("bool", "null") or not isinstance(value, bool)):
            return value
        raise NotInJson(f"{text!r} is not a !!{name}")
    raise NotInJson(f"tag {tag} is not allowed")


def _merge(into: dict[str, Any], merged: Any, line: int) -> None:
    """`<<`: what is written in the mapping itself wins, and the first of several merged mappings."""
    sources = merged if isinstance(merged, list) else [merged]
    for source in sources:
        if not isinstance(source, dict):
            raise _Refused("<< merges a mapping or a list of mappings", line)
        for key, value in source.items():
            into.setdefault(key, value)
