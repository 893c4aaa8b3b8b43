"""The cost limit of an evaluation (cel-go interpreter/runtimecost.go, Kubernetes' apiserver/pkg/cel/library/cost.go).

Every step of an evaluation is charged to its meter. kube-scheduler gives up at a million units, which no selector of a
real driver comes near. What is counted here is what cel-go counts, up to a few units of an iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksched_cli.plugins.lib.cel.values import LONGEST_RANGE

# resourceapi.CELSelectorExpressionMaxCost
LIMIT = 1_000_000
# The meter is one of the variables; no expression can have this name.
METER = "@meter"

STEP, NEW_LIST, NEW_MAP = 1, 10, 30
_TRAVERSAL, _REGEX_LENGTH = 0.1, 0.25

# What a macro adds to the body for each element: the loop's condition, and its step.
PER_ELEMENT: Mapping[str, int] = {
    "all": 3,
    "exists": 4,
    "exists_one": 2,
    "existsOne": 2,
    "filter": 13,
    "map": 12,
    "transformList": 12,
    "transformMap": 32,
}


class CostLimitExceeded(Exception):
    """Ends the whole evaluation, whatever && and || have decided (interpreter.EvalCancelledError)."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Meter:
    """The cost of one evaluation so far."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0

    def charge(self, cost: int) -> None:
        self.spent += cost
        if self.spent > LIMIT:
            raise CostLimitExceeded


def size(value: Any) -> int:
    return len(value) if isinstance(value, str | list | dict) else 1


def _traversal(length: int) -> int:
    return math.ceil(length * _TRAVERSAL)


def _of_first(arguments: Sequence[Any]) -> int:
    return _traversal(size(arguments[0]))


def _twice_the_first(arguments: Sequence[Any]) -> int:
    return _traversal(2 * size(arguments[0]))


def _of_pattern(arguments: Sequence[Any]) -> int:
    return _traversal(1 + size(arguments[0])) * math.ceil(size(arguments[1]) * _REGEX_LENGTH)


def _of_part(arguments: Sequence[Any]) -> int:
    return _traversal(size(arguments[0])) * _traversal(size(arguments[1]))


def _of_elements(arguments: Sequence[Any]) -> int:
    return sum(map(size, arguments))


def _of_pairs(arguments: Sequence[Any]) -> int:
    return math.prod(map(size, arguments))


def _of_items(arguments: Sequence[Any]) -> int:
    """A string is joined from the items of a list."""
    items = arguments[0] if isinstance(arguments[0], list) else ()
    return _traversal(2 * sum(map(size, items)))


def _of_range(arguments: Sequence[Any]) -> int:
    """cel-go charges one unit. Here each number is charged, for it takes memory. The function refuses the longest."""
    wanted = arguments[0]
    return wanted if type(wanted) is int and wanted <= LONGEST_RANGE else STEP


_CALLS: dict[str, Callable[[Sequence[Any]], int]] = {
    **dict.fromkeys(("startsWith", "endsWith", "string", "lowerAscii", "upperAscii", "substring", "trim"), _of_first),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver", "cidr", "isIP", "isCIDR", "ip"), _of_first),
    **dict.fromkeys(("replace", "split", "ip.isCanonical", "containsIP", "containsCIDR"), _twice_the_first),
    **dict.fromkeys(("matches", "find", "findAll"), _of_pattern),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes", "slice"), _of_elements),
    **dict.fromkeys(("flatten", "reverse", "sort"), _of_elements),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects", "distinct"), _of_pairs),
    "contains": _of_part,
    "join": _of_items,
    "lists.range": _of_range,
}


def call_cost(function: str, arguments: Sequence[Any]) -> int:
    """Before the function is called: it may be what takes the time."""
    cost = _CALLS.get(function)
    return max(cost(arguments), STEP) if cost is not None and arguments else STEP


def operator_cost(operator: str, left: Any, right: Any) -> int:
    if operator == "in":
        return size(right)
    if operator in ("==", "!=") or (isinstance(left, str) and operator in ("<", "<=", ">", ">=")):
        return _traversal(min(_depth_size(left), _depth_size(right)))
    if operator == "+" and isinstance(left, str):
        return _traversal(size(left) + size(right))
    # cel-go joins lists without a copy; here they are copied.
    return max(size(left) + size(right), STEP) if operator == "+" and isinstance(left, list) else STEP


def _depth_size(value: Any) -> int:
    """The size with that of the items, which are compared one by one."""
    return sum(map(_depth_size, value)) + 1 if isinstance(value, list) else size(value)
