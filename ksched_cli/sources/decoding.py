"""Decodes the text of a file, JSON or YAML, to the objects in it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ksched_cli.api.decode import DecodedObject, decode_json, decode_plain
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.exports import decode_export, is_export, may_be_export, without_logs

_HEAD = 1024


def decode(content: bytes, source: str) -> Iterator[DecodedObject]:
    """The objects in the content. InputError if it is empty, or neither JSON nor YAML."""
    content = without_logs(content)
    # A part, because a copy of a whole dump takes long.
    first = content[:_HEAD].lstrip()[:1] or content.lstrip()[:1]
    if not first:
        raise InputError(Problem("empty: no Kubernetes objects in it", source))
    if first in (b"{", b"["):
        yield from _decode_json(content, source)
    else:
        yield from _decode_yaml(content, source)


def _decode_json(content: bytes, source: str) -> Iterator[DecodedObject]:
    try:
        if may_be_export(content) and is_export(export := msgspec.json.decode(content)):
            yield from decode_export(export, source, None)
        else:
            yield from decode_json(content, source)
    except (msgspec.DecodeError, RecursionError) as mistake:
        # Several documents one after the other, or flow style that only YAML allows, begin with a brace too.
        if "trailing characters" not in str(mistake):
            raise InputError(Problem(_json_mistake(mistake, content), source, _line_of(mistake, content))) from None
        yield from _decode_json_documents(content, source)
    except UnicodeDecodeError:
        raise InputError(Problem(_wrong_byte(content), source, hint="expected JSON or YAML in UTF-8")) from None


def _decode_json_documents(content: bytes, source: str) -> Iterator[DecodedObject]:
    """Several JSON documents: one per line, or one after the other as kubectl prints them for several kinds."""
    lines = [(number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()]
    if all(line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}") for _, line in lines):
        for number, line in lines:
            try:
                yield from decode_json(line, source, number)
            except msgspec.DecodeError as broken:
                raise InputError(Problem(f"broken JSON: {broken}", source, number)) from None
    else:
        yield from _decode_concatenated(content, source)


def _decode_concatenated(content: bytes, source: str) -> Iterator[DecodedObject]:
    """JSON documents one after the other."""
    import json

    text = content.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        line = text.count("\n", 0, at) + 1
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as mistake:
            raise InputError(Problem(f"broken JSON: {mistake.msg}", source, mistake.lineno)) from None
        yield from decode_plain(value, source, line)


def _json_mistake(mistake: Exception, content: bytes) -> str:
    if isinstance(mistake, RecursionError):
        return "nested deeper than any Kubernetes object"
    text = str(mistake)
    if "truncated" in text:
        return f"broken JSON: it ends in the middle, after {len(content)} bytes"
    return f"broken JSON: {text.removeprefix('JSON is malformed: ')}"


def _wrong_byte(content: bytes) -> str:
    """Names the first byte that is no text. msgspec counts from the beginning of a string."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as mistake:
        return f"not text in UTF-8 (byte {mistake.start})"
    raise AssertionError


def _line_of(mistake: Exception, content: bytes) -> int | None:
    text = str(mistake)
    if "truncated" in text:
        return content.count(b"\n") + 1
    _, found, position = text.rpartition("byte ")
    digits = position.rstrip(")")
    return content.count(b"\n", 0, int(digits)) + 1 if found and digits.isdigit() else None


def _decode_yaml(content: bytes, source: str) -> Iterator[DecodedObject]:
    from ksched_cli.api.yaml_reader import read_documents

    for document in read_documents(content, source, repeats=True):
        if is_export(document.value):
            yield from decode_export(document.value, source, document.line)
        else:
            yield from decode_plain(document.value, source, document.line)
