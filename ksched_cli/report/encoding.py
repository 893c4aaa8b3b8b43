"""Writes documents as JSON and YAML without raw control characters. Their Structs may have parts that are computed when
they are read, and mappings and sequences of other classes than dict and list."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

import msgspec

from ksched_cli.report.visible import is_plain

_YAML_WIDTH = 120
_UNUSUAL = re.compile(r"[^\n -~]")
_COMMAND = re.compile(r"#(?=#(?:\[|vso\[))", re.IGNORECASE)


class LaterPart:
    """A part that is computed when it is read."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._made = make, None

    def document(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made


def plain(value: Any) -> Any:
    if hasattr(value, "document"):
        return value.document()
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, Sequence):
        return list(value)
    raise NotImplementedError(f"a document has no {type(value)}")


def json_text(document: Any, *, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    r"""JSON in which characters that are not printable are written as `\u202e`. Other letters stay as they are."""
    return _printable(json.dumps(document, indent=indent, separators=separators, ensure_ascii=False))


def compact_json(document: Any) -> str:
    """JSON as `json_text` makes it, but without spaces, for large documents and their parts."""
    return _printable(msgspec.json.encode(document, enc_hook=plain).decode())


def _printable(text: str) -> str:
    if not text.isascii() or "\x7f" in text:
        text = _UNUSUAL.sub(_escape_unprintable, text)
    # GitHub and Azure obey such a command anywhere in a line of a log.
    return _COMMAND.sub(r"\\u0023", text) if "##" in text else text


def _escape_unprintable(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def yaml_text(document: Any) -> str:
    """YAML. If a terminal or a CI system would obey a text of the document, the YAML has the form of JSON."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    # The way through JSON leaves only plain values for the dumper.
    values = json.loads(json.dumps(document))
    text: str = yaml.dump(values, Dumper=dumper, sort_keys=False, allow_unicode=True, width=_YAML_WIDTH)
    return text if is_plain(text) else json_text(values, indent=2) + "\n"


def write_json(document: Any, out: TextIO) -> None:
    out.write(json_text(document, indent=2) + "\n")


def write_yaml(document: Any, out: TextIO) -> None:
    out.write(yaml_text(document))
