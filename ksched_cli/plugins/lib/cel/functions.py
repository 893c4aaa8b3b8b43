"""The functions that device selectors may call: CEL's own, the string extensions, and Kubernetes' quantity and semver.

A function gets its evaluated arguments, the target of a method first. An expression with another function is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from ksched_cli.api.quantity import approximate
from ksched_cli.plugins.lib.cel.lists import LIST_METHODS, LIST_QUALIFIED
from ksched_cli.plugins.lib.cel.network import NETWORK_GLOBAL, NETWORK_METHODS, NETWORK_QUALIFIED
from ksched_cli.plugins.lib.cel.patterns import search_pattern
from ksched_cli.plugins.lib.cel.time import TIME_METHODS, Timestamp, seconds_of, to_duration, to_timestamp
from ksched_cli.plugins.lib.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    CelError,
    CelQuantity,
    CelType,
    Maybe,
    Semver,
    UInt,
    cel_type_name,
    equal,
    need,
    no_overload,
    normalized_semver,
    order_of,
    parse_semver,
    succeeds,
    to_quantity,
    whole_number,
)

Function = Callable[..., Any]


# Conversions


def _size(value: Any) -> int:
    return len(need(value, str, list, dict))


def _int(value: Any) -> int:
    if isinstance(value, str):
        if re.fullmatch(r"[+-]?\d+", value, re.ASCII) is None:
            raise CelError(f'strconv.ParseInt: parsing "{value}": invalid syntax')
        return whole_number(int(value), 0)
    if isinstance(value, Timestamp):
        return seconds_of(value)
    need(value, int, float)
    if isinstance(value, float) and not (math.isfinite(value) and MIN_INT < value < MAX_INT):
        raise CelError("integer overflow")
    return whole_number(int(value), 0)


def _uint(value: Any) -> UInt:
    if isinstance(value, str):
        if re.fullmatch(r"\d+", value, re.ASCII) is None:
            raise CelError(f'strconv.ParseUint: parsing "{value}": invalid syntax')
        return UInt(whole_number(int(value), UInt(0)))
    need(value, int, float)
    if isinstance(value, float) and not (math.isfinite(value) and 0 <= value < MAX_UINT):
        raise CelError("unsigned integer overflow")
    return UInt(whole_number(int(value), UInt(0)))


def _double(value: Any) -> float:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise CelError(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from None
    return float(need(value, int, float))


def _string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    return str(need(value, str, int, CelType))


def _bool(value: Any) -> bool:
    if isinstance(value, str):
        if value in ("true", "True", "TRUE", "t", "1"):
            return True
        if value in ("false", "False", "FALSE", "f", "0"):
            return False
        raise CelError(f'strconv.ParseBool: parsing "{value}": invalid syntax')
    return bool(need(value, bool))


# Strings


def _matches(text: Any, pattern: Any) -> bool:
    return search_pattern(need(pattern, str)).search(need(text, str)) is not None


def literal_mistake(function: str, text: str) -> bool:
    """Whether a call with this text written out is refused before there is any device."""
    convert = _LITERALS.get(function)
    try:
        return convert is not None and convert(text) is None
    except CelError:
        return True


def _find(text: Any, pattern: Any) -> str:
    found = search_pattern(need(pattern, str)).search(need(text, str))
    return found.group() if found else ""


def _find_all(text: Any, pattern: Any, limit: Any = -1) -> list[str]:
    found = [each.group() for each in search_pattern(need(pattern, str)).finditer(need(text, str))]
    return found if limit < 0 else found[:limit]


def _char_at(text: Any, at: Any) -> str:
    need(text, str)
    if not 0 <= need(at, int) <= len(text):
        raise CelError(f"index out of range: {at}")
    return str(text[at : at + 1])


def _index_of(text: Any, part: Any, start: Any = 0) -> int:
    if isinstance(text, list):
        return next((at for at, item in enumerate(text) if equal(item, part)), -1)
    return str(need(text, str)).find(need(part, str), need(start, int))


def _last_index_of(text: Any, part: Any) -> int:
    if isinstance(text, list):
        return max((at for at, item in enumerate(text) if equal(item, part)), default=-1)
    return str(need(text, str)).rfind(need(part, str))


def _replace(text: Any, old: Any, new: Any, limit: Any = -1) -> str:
    return str(need(text, str)).replace(need(old, str), need(new, str), need(limit, int))


def _split(text: Any, separator: Any, limit: Any = -1) -> list[str]:
    need(text, str)
    if need(limit, int) == 0:
        return []
    if not need(separator, str):
        return list(text) if limit < 0 else [*text[: limit - 1], text[limit - 1 :]]
    return list(text.split(separator, -1 if limit < 0 else limit - 1))


def _substring(text: Any, start: Any, end: Any = None) -> str:
    stop = len(need(text, str)) if end is None else need(end, int)
    for at in (need(start, int), stop):
        if not 0 <= at <= len(text):
            raise CelError(f"index out of range: {at}")
    if start > stop:
        raise CelError(f"invalid substring range. start: {start}, end: {stop}")
    return str(text[start:stop])


def _join(items: Any, separator: Any = "") -> str:
    return str(need(separator, str)).join(need(item, str) for item in need(items, list))


def _ascii(text: Any, change: Callable[[str], str]) -> str:
    return "".join(change(letter) if letter.isascii() else letter for letter in need(text, str))


# Kubernetes types


def _order(left: Any, right: Any) -> int:
    if isinstance(left, CelQuantity) and isinstance(right, CelQuantity):
        return order_of(left.amount, right.amount)
    if isinstance(left, Semver) and isinstance(right, Semver):
        return order_of(left.order(), right.order())
    raise no_overload()


def _semver(text: Any, normalize: Any = False) -> Semver:
    return parse_semver(normalized_semver(need(text, str)) if need(normalize, bool) else need(text, str))


def _as_integer(quantity: Any) -> int:
    if not _is_integer(quantity):
        raise CelError("cannot convert value to integer")
    return int(quantity.amount)


def _is_integer(quantity: Any) -> bool:
    amount = need(quantity, CelQuantity).amount
    return bool(amount.denominator == 1 and MIN_INT <= amount <= MAX_INT)


def _operand(value: Any) -> Any:
    return value.amount if isinstance(value, CelQuantity) else need(value, int)


# Optional values and sets


def _value(maybe: Any) -> Any:
    if not need(maybe, Maybe).present:
        raise CelError("optional.none() dereference")
    return maybe.value


def _is_in(item: Any, items: Any) -> bool:
    return any(equal(item, each) for each in need(items, list))


def _within(items: Any, others: Any) -> bool:
    return all(_is_in(each, others) for each in need(items, list))


_MAX_INCLUDES = 48


def _includes(target: Any, wanted: Any) -> bool:
    """Whether an attribute is the value, or holds it."""
    if not isinstance(target, list):
        return equal(target, wanted)
    if _is_in(wanted, target[:_MAX_INCLUDES]):
        return True
    if len(target) > _MAX_INCLUDES:
        raise CelError(f"'includes' function cannot be applied to lists longer than {_MAX_INCLUDES} values")
    return False


_LITERALS: dict[str, Callable[[str], object]] = {
    "duration": to_duration,
    "timestamp": to_timestamp,
    "matches": search_pattern,
}

# name -> (function, the numbers of arguments it takes)
GLOBAL: dict[str, tuple[Function, tuple[int, ...]]] = {
    "size": (_size, (1,)),
    "int": (_int, (1,)),
    "uint": (_uint, (1,)),
    "double": (_double, (1,)),
    "string": (_string, (1,)),
    "bool": (_bool, (1,)),
    "duration": (to_duration, (1,)),
    "timestamp": (to_timestamp, (1,)),
    "dyn": (lambda value: value, (1,)),
    "type": (cel_type_name, (1,)),
    "matches": (_matches, (2,)),
    "quantity": (to_quantity, (1,)),
    "isQuantity": (succeeds(to_quantity), (1,)),
    "semver": (_semver, (1, 2)),
    "isSemver": (succeeds(_semver), (1, 2)),
    **NETWORK_GLOBAL,
}

METHODS: dict[str, tuple[Function, tuple[int, ...]]] = {
    **LIST_METHODS,
    **NETWORK_METHODS,
    **TIME_METHODS,
    "size": (_size, (0,)),
    "contains": (lambda text, part: need(part, str) in need(text, str), (1,)),
    "startsWith": (lambda text, part: need(text, str).startswith(need(part, str)), (1,)),
    "endsWith": (lambda text, part: need(text, str).endswith(need(part, str)), (1,)),
    "matches": (_matches, (1,)),
    "find": (_find, (1,)),
    "findAll": (_find_all, (1, 2)),
    "charAt": (_char_at, (1,)),
    "indexOf": (_index_of, (1, 2)),
    "lastIndexOf": (_last_index_of, (1,)),
    "lowerAscii": (lambda text: _ascii(text, str.lower), (0,)),
    "upperAscii": (lambda text: _ascii(text, str.upper), (0,)),
    "replace": (_replace, (2, 3)),
    "split": (_split, (1, 2)),
    "substring": (_substring, (1, 2)),
    "trim": (lambda text: need(text, str).strip(), (0,)),
    "join": (_join, (0, 1)),
    "compareTo": (_order, (1,)),
    "isGreaterThan": (lambda left, right: _order(left, right) > 0, (1,)),
    "isLessThan": (lambda left, right: _order(left, right) < 0, (1,)),
    "isInteger": (_is_integer, (0,)),
    "asInteger": (_as_integer, (0,)),
    "asApproximateFloat": (lambda quantity: approximate(need(quantity, CelQuantity).amount), (0,)),
    "sign": (lambda quantity: order_of(need(quantity, CelQuantity).amount, 0), (0,)),
    "add": (lambda left, right: CelQuantity(need(left, CelQuantity).amount + _operand(right)), (1,)),
    "sub": (lambda left, right: CelQuantity(need(left, CelQuantity).amount - _operand(right)), (1,)),
    "major": (lambda version: need(version, Semver).major, (0,)),
    "minor": (lambda version: need(version, Semver).minor, (0,)),
    "patch": (lambda version: need(version, Semver).patch, (0,)),
    "hasValue": (lambda maybe: need(maybe, Maybe).present, (0,)),
    "value": (_value, (0,)),
    "orValue": (lambda maybe, other: maybe.value if need(maybe, Maybe).present else other, (1,)),
    "or": (lambda maybe, other: maybe if need(maybe, Maybe).present else need(other, Maybe), (1,)),
}

# With DRAListTypeAttributes.
GATED: dict[str, tuple[Function, tuple[int, ...]]] = {"includes": (_includes, (1,))}

# Functions of a library, by their full names.
QUALIFIED: dict[str, tuple[Function, tuple[int, ...]]] = {
    **LIST_QUALIFIED,
    **NETWORK_QUALIFIED,
    "optional.of": (lambda value: Maybe(True, value), (1,)),
    "optional.none": (lambda: Maybe(False), (0,)),
    "optional.ofNonZeroValue": (lambda value: Maybe(bool(value), value if value else None), (1,)),
    "sets.contains": (lambda items, wanted: _within(wanted, items), (2,)),
    "sets.equivalent": (lambda left, right: _within(left, right) and _within(right, left), (2,)),
    "sets.intersects": (lambda left, right: any(_is_in(each, right) for each in need(left, list)), (2,)),
}

# Functions of kube-scheduler that are not modelled here, or not with these arguments, such as a time zone.
NOT_MODELLED = frozenset({
    "bytes", "format", "quote", "sortBy", "transformMapEntry", "validate", "url", "isURL", "getScheme", "getHost",
    "getHostname", "getPort", "getEscapedPath", "getQuery", *TIME_METHODS,
})  # fmt: skip
