"""The steps of a JSONPath (client-go/util/jsonpath): each takes values and returns the values that it leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from msgspec import Struct

Step: TypeAlias = Callable[[list[Any]], list[Any]]
Path: TypeAlias = tuple[Step, ...]

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, ">": gt, "==": eq, "!=": ne, "<=": le, ">=": ge}


class TemplateError(ValueError):
    """A template that cannot be parsed, or that cannot be applied to the document."""


class JsonPathLiteral(Struct, frozen=True):
    """A text, number or truth value of the template."""

    value: str | int | float | bool

    def __call__(self, values: list[Any]) -> list[Any]:
        return [self.value]


def walk(values: list[Any], path: Path) -> list[Any]:
    """The values that the path leads to."""
    for step in path:
        values = step(values)
    return values


def field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def wildcard(values: list[Any]) -> list[Any]:
    return [child for value in values for child in _children(value)]


def descent(values: list[Any]) -> list[Any]:
    """The values and all values below them, except empty ones, numbers and truth values."""
    return [each for value in values for each in _descended(value)]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descended(value: Any) -> Iterator[Any]:
    if value and isinstance(value, dict | list | str):
        yield value
        for child in _children(value):
            yield from _descended(child)


def union(paths: list[Path]) -> Step:
    return lambda values: [each for path in paths for each in walk(values, path)]


def sliced(start: int | None, end: int | None, step: int | None) -> Step:
    """The step `[start:end:step]`. Negative bounds count from the end."""

    def items_of(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TemplateError(f"{_kind(value)} is not array or slice")
        length = len(value)
        first, last = (bound + length if bound < 0 else bound for bound in (start or 0, length if end is None else end))
        if first == last:
            return []
        for index in (first, last - 1):
            if not 0 <= index < length:
                raise TemplateError(f"array index out of bounds: index {index}, length {length}")
        if first > last:
            raise TemplateError(f"starting index {first} is greater than ending index {last}")
        if step is not None and step <= 0:
            raise TemplateError("step must be > 0")
        return value[first:last:step]

    return lambda values: [each for value in values if value is not None for each in items_of(value)]


def filtered(left: Path, operator: str = "", right: Path = ()) -> Step:
    """The step `[?(left operator right)]`. Without an operator it checks whether `left` leads to a value."""

    def passes(value: Any) -> bool:
        if not operator:
            return _exists(value, left)
        sides = walk([value], left), walk([value], right)
        if not all(sides):
            return False
        if any(len(side) > 1 for side in sides):
            raise TemplateError("can only compare one element at a time")
        (one,), (other,) = sides
        if _sort(one) != _sort(other) or _sort(one) == "":
            raise TemplateError(f"incompatible types for comparison: {_kind(one)} and {_kind(other)}")
        if isinstance(one, bool) and operator not in ("==", "!="):
            raise TemplateError("invalid type for comparison: bool")
        return COMPARISONS[operator](one, other)

    def items_of(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TemplateError(f"{_kind(value)} is not array or slice and cannot be filtered")
        return [each for each in value if passes(each)]

    return lambda values: [each for value in values for each in items_of(value)]


def _exists(value: Any, path: Path) -> bool:
    try:
        return bool(walk([value], path))
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
