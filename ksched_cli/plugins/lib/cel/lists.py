"""The list functions of device selectors: Kubernetes' own, cel-go's list extension and the ones of optional values."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from ksched_cli.plugins.lib.cel.values import (
    CelError,
    Maybe,
    cel_type_name,
    compare,
    equal,
    is_number,
    need,
    no_overload,
    whole_number,
)

LONGEST_RANGE = 10_000_000


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise no_overload()
    return value


def _is_sorted(items: Any) -> bool:
    return all(compare(left, right) <= 0 for left, right in zip(need(items, list), items[1:], strict=False))


def _sum(items: Any) -> Any:
    total: Any = 0
    for position, item in enumerate(need(items, list)):
        if not is_number(item):
            raise no_overload()
        total = item if position == 0 else total + item
    return total if isinstance(total, float) else whole_number(total, items[0] if items else 0)


def _extreme(items: Any, name: str, wanted: int) -> Any:
    if not need(items, list):
        raise CelError(f"{name} called on empty list")
    best = items[0]
    for item in items[1:]:
        if compare(item, best) == wanted:
            best = item
    return best


def _slice(items: Any, start: Any, end: Any) -> list[Any]:
    length, call = len(need(items, list)), f"cannot slice({_whole(start)}, {_whole(end)})"
    if start < 0 or end < 0:
        raise CelError(f"{call}, negative indexes not supported")
    if start > end:
        raise CelError(f"{call}, start index must be less than or equal to end index")
    if length < end:
        raise CelError(f"{call}, list is length {length}")
    return list(items[start:end])


def _flatten(items: Any, depth: Any = 1) -> list[Any]:
    if _whole(depth) < 0:
        raise CelError("level must be non-negative")
    return _flattened(need(items, list), depth)


def _flattened(items: list[Any], depth: int) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        flat.extend(_flattened(item, depth - 1) if isinstance(item, list) and depth else [item])
    return flat


def _sort(items: Any) -> list[Any]:
    if len({cel_type_name(item) for item in need(items, list)}) > 1:
        raise CelError("list elements must have the same type")
    return sorted(items, key=cmp_to_key(compare))


def _distinct(items: Any) -> list[Any]:
    kept: list[Any] = []
    for item in need(items, list):
        if not any(equal(item, each) for each in kept):
            kept.append(item)
    return kept


def _range(size: Any) -> list[int]:
    if _whole(size) < 0:
        raise CelError(f"lists.range: size must be non-negative, got {size}")
    if size > LONGEST_RANGE:
        raise CelError(f"lists.range: size {size} exceeds maximum allowed ({LONGEST_RANGE})")
    return list(range(size))


def _end(items: Any, at: int) -> Maybe:
    return Maybe(True, items[at]) if need(items, list) else Maybe(False)


def _unwrapped(items: Any) -> list[Any]:
    if not all(isinstance(item, Maybe) for item in need(items, list)):
        raise no_overload()
    return [item.value for item in items if item.present]


LIST_METHODS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "isSorted": (_is_sorted, (0,)),
    "sum": (_sum, (0,)),
    "min": (lambda items: _extreme(items, "min", -1), (0,)),
    "max": (lambda items: _extreme(items, "max", 1), (0,)),
    "slice": (_slice, (2,)),
    "flatten": (_flatten, (0, 1)),
    "sort": (_sort, (0,)),
    "distinct": (_distinct, (0,)),
    "reverse": (lambda items: need(items, list)[::-1], (0,)),
    "first": (lambda items: _end(items, 0), (0,)),
    "last": (lambda items: _end(items, -1), (0,)),
    "unwrapOpt": (_unwrapped, (0,)),
}
LIST_QUALIFIED: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "lists.range": (_range, (1,)),
    "optional.unwrap": (_unwrapped, (1,)),
}
