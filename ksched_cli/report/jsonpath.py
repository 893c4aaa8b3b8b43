"""Applies kubectl's JSONPath templates to a document. Missing fields are left out, as kubectl leaves them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ksched_cli.report.encoding import json_text
from ksched_cli.report.jsonpath_steps import JsonPathLiteral, walk
from ksched_cli.report.jsonpath_syntax import Part, Range, parse_jsonpath
from ksched_cli.report.visible import visible


class JSONPath:
    """A parsed template."""

    def __init__(self, template: str) -> None:
        self._parts = parse_jsonpath(template)

    def render(self, document: Any) -> str:
        return "".join(_rendered(self._parts, document))

    def find(self, document: Any) -> list[Any]:
        """The values that the template's paths match."""
        return [value for part in self._parts if isinstance(part, tuple) for value in walk([document], part)]


def _rendered(parts: Sequence[Part], document: Any) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Range):
            for value in walk([document], part.path):
                yield from _rendered(part.body, value)
        else:
            # A text of the template is written without escapes.
            write = plain_text if part and isinstance(part[0], JsonPathLiteral) else as_text
            yield " ".join(map(write, walk([document], part)))


def as_text(value: Any) -> str:
    """A value of the document, with escapes for characters that are not printable."""
    return visible(value) if isinstance(value, str) else plain_text(value)


def plain_text(value: Any) -> str:
    """A text as it is, any other value as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json_text(value, separators=(",", ":"))
