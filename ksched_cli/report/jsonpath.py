"""Applies kubectl's JSONPath templates to a document. Missing fields are left out, as kubectl leaves them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from ksched_cli.report.encoding import json_text
from ksched_cli.report.jsonpath_syntax import (
    Field,
    Filter,
    JsonPathLiteral,
    Part,
    Path,
    Range,
    Recursive,
    Slice,
    Step,
    TemplateError,
    Union,
    Wildcard,
    parse_jsonpath,
)
from ksched_cli.report.visible import visible

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, ">": gt, "==": eq, "!=": ne, "<=": le, ">=": ge}


class JSONPath:
    """A parsed template."""

    def __init__(self, template: str) -> None:
        self._parts = parse_jsonpath(template)

    def render(self, document: Any) -> str:
        return "".join(_rendered(self._parts, document))

    def find(self, document: Any) -> list[Any]:
        """The values that the template's paths match."""
        return [value for part in self._parts if isinstance(part, tuple) for value in _walk([document], part)]


def _rendered(parts: Sequence[Part], document: Any) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Range):
            for value in _walk([document], part.path):
                yield from _rendered(part.body, value)
        else:
            # A text of the template is written without escapes.
            write = plain_text if isinstance(part[0], JsonPathLiteral) else as_text
            yield " ".join(map(write, _walk([document], part)))


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


def _walk(values: list[Any], path: Path) -> list[Any]:
    for step in path:
        values = _taken(values, step)
    return values


def _taken(values: list[Any], step: Step) -> list[Any]:
    if isinstance(step, JsonPathLiteral):
        return [step.value]
    if isinstance(step, Field):
        return [value[step.name] for value in values if isinstance(value, dict) and step.name in value]
    if isinstance(step, Wildcard):
        return [child for value in values for child in _children(value)]
    if isinstance(step, Recursive):
        return [each for value in values for each in _descended(value)]
    if isinstance(step, Union):
        return [each for path in step.paths for each in _walk(values, path)]
    if isinstance(step, Slice):
        return [each for value in values if value is not None for each in _sliced(value, step)]
    return [each for value in values for each in _filtered(value, step)]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descended(value: Any) -> Iterator[Any]:
    """The value and all values below it, except empty ones, numbers and truth values."""
    if value and isinstance(value, dict | list | str):
        yield value
        for child in _children(value):
            yield from _descended(child)


def _sliced(value: Any, wanted: Slice) -> list[Any]:
    if not isinstance(value, list):
        raise TemplateError(f"{_kind(value)} is not array or slice")
    start, end = _bounds(wanted, len(value))
    if start == end:
        return []
    for bound, index in ((start, start), (end - 1, end - 1)):
        if not 0 <= bound < len(value):
            raise TemplateError(f"array index out of bounds: index {index}, length {len(value)}")
    if start > end:
        raise TemplateError(f"starting index {start} is greater than ending index {end}")
    if wanted.step is not None and wanted.step <= 0:
        raise TemplateError("step must be > 0")
    return value[start : end : wanted.step]


def _bounds(wanted: Slice, length: int) -> tuple[int, int]:
    """The first index of the slice and the index behind its last. Negative numbers count from the end."""
    start = wanted.start or 0
    start += length if start < 0 else 0
    if wanted.single and wanted.start is not None:
        return start, start + 1
    end = length if wanted.end is None else wanted.end
    return start, end + length if end < 0 else end


def _filtered(value: Any, wanted: Filter) -> list[Any]:
    if not isinstance(value, list):
        raise TemplateError(f"{_kind(value)} is not array or slice and cannot be filtered")
    return [each for each in value if _passes(each, wanted)]


def _passes(value: Any, wanted: Filter) -> bool:
    if not wanted.operator:
        return _exists(value, wanted.left)
    sides = _walk([value], wanted.left), _walk([value], wanted.right)
    if not all(sides):
        return False
    if any(len(side) > 1 for side in sides):
        raise TemplateError("can only compare one element at a time")
    (left,), (right,) = sides
    if _sort(left) != _sort(right) or _sort(left) == "":
        raise TemplateError(f"incompatible types for comparison: {_kind(left)} and {_kind(right)}")
    if isinstance(left, bool) and wanted.operator not in ("==", "!="):
        raise TemplateError("invalid type for comparison: bool")
    return _COMPARE[wanted.operator](left, right)


def _exists(value: Any, path: Path) -> bool:
    try:
        return bool(_walk([value], path))
    except TemplateError:
        return False


def _sort(value: Any) -> str:
    """The name of the type for comparisons; empty for values that cannot be compared."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else ""


def _kind(value: Any) -> str:
    return {"dict": "map", "list": "array", "NoneType": "null"}.get(type(value).__name__, _sort(value))
