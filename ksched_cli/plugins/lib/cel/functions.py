"""The functions that device selectors may call: CEL's own, the string, list and network extensions, regular
expressions, and Kubernetes' quantity, semver, ip() and cidr() (apiserver's cel/library).

A function gets its evaluated arguments, the target of a method first. An expression with another function is
refused. Regular expressions are RE2, as Go has them: google-re2 runs in time linear in the text, where Python's `re`
backtracks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, lru_cache, reduce
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, ClassVar

import numpy as np

from ksched_cli.api.quantity import approximate
from ksched_cli.plugins.lib.cel.operators import (
    TIME_METHODS,
    Duration,
    Timestamp,
    plus,
    seconds_of,
    to_duration,
    to_timestamp,
)
from ksched_cli.plugins.lib.cel.values import (
    LONGEST_RANGE,
    MAX_INT,
    MIN_INT,
    CelError,
    CelQuantity,
    CelType,
    Maybe,
    Semver,
    UInt,
    cel_type_name,
    compare,
    equal,
    is_number,
    need,
    no_overload,
    normalized_semver,
    order_of,
    parse_semver,
    succeeds,
    to_quantity,
    unconvertible,
    whole_number,
)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise no_overload()
    return value


def _is_sorted(items: Any) -> bool:
    return all(compare(left, right) <= 0 for left, right in zip(need(items, list), items[1:], strict=False))


def _sum(items: Any) -> Any:
    if not all(is_number(item) or isinstance(item, Duration) for item in need(items, list)):
        raise no_overload()
    return reduce(plus, items) if items else 0


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


_LINK_LOCAL_4, _LINK_LOCAL_6 = ip_network("169.254.0.0/16"), ip_network("fe80::/10")
_LOCAL_CONTROL_4 = ip_network("224.0.0.0/24")
_BROADCAST = IPv4Address("255.255.255.255")


@dataclass(frozen=True, slots=True)
class Address(CelType):
    """net.IP."""

    type_name: ClassVar[str] = "net.IP"
    value: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Network(CelType):
    """net.CIDR: an address, which may have bits after the mask, and how many bits the mask has."""

    type_name: ClassVar[str] = "net.CIDR"
    address: Address
    bits: int

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def masked(self) -> Network:
        whole = ip_network(str(self), strict=False)
        return Network(Address(whole.network_address), self.bits)

    def holds(self, address: Address) -> bool:
        return Network(address, self.bits).masked() == self.masked() if self._alike(address) else False

    def covers(self, other: Network) -> bool:
        return self.bits <= other.bits and self.holds(other.address)

    def _alike(self, address: Address) -> bool:
        return self.address.value.version == address.value.version


def _parsed(text: str) -> IPv4Address | IPv6Address | str:
    """The address, or the error of netip.ParseAddr."""
    try:
        return ip_address(text)
    except ValueError:
        return f'ParseAddr("{text}"): {_reason(text)}'


def _reason(text: str) -> str:
    if ":" in text or "." not in text:
        return "unable to parse IP" if ":" not in text else "unexpected character"
    if re.search("[^0-9.]", text):
        return "unexpected character"
    fields = text.split(".")
    if "" in fields:
        return "IPv4 field must have at least one digit"
    if any(len(field) > 1 and field[0] == "0" for field in fields):
        return "IPv4 field has octet with leading zero"
    if any(int(field) > 255 for field in fields):
        return "IPv4 field has value >255"
    return "IPv4 address too long" if len(fields) > 4 else "IPv4 address too short"


def to_address(text: Any) -> Address:
    found = _parsed(need(text, str))
    if isinstance(found, str):
        raise CelError(f'IP Address "{text}" parse error during conversion from string: {found}')
    if isinstance(found, IPv6Address) and found.scope_id:
        raise CelError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Address(found)


def to_network(text: Any) -> Network:
    start = "network address parse error during conversion from string: "
    written, slash, mask = need(text, str).rpartition("/")
    if not slash:
        raise CelError(f"{start}{start}netip.ParsePrefix(\"{text}\"): no '/'")
    found = _parsed(written)
    if isinstance(found, str):
        raise CelError(f'{start}{start}netip.ParsePrefix("{text}"): {found}')
    if re.fullmatch("0|[1-9][0-9]{0,18}", mask) is None:
        raise CelError(f'{start}{start}netip.ParsePrefix("{text}"): bad bits after slash: "{mask}"')
    if int(mask) > found.max_prefixlen:
        raise CelError(f'{start}{start}netip.ParsePrefix("{text}"): prefix length out of range')
    if isinstance(found, IPv6Address) and found.scope_id:
        raise CelError(f'{start}{start}netip.ParsePrefix("{text}"): IPv6 zones cannot be present in a prefix')
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        raise CelError(f'{start}IPv4-mapped IPv6 address "{text}" is not allowed')
    return Network(Address(found), int(mask))


def _is_link_local(address: IPv4Address | IPv6Address) -> bool:
    return address in (_LINK_LOCAL_4 if address.version == 4 else _LINK_LOCAL_6)


def _is_link_local_multicast(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in _LOCAL_CONTROL_4
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    """netip.Addr.IsGlobalUnicast, which includes private addresses."""
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address == _BROADCAST
    return not special and not _is_link_local(address)


def _contains_address(network: Any, other: Any) -> bool:
    wanted: Address = to_address(other) if isinstance(other, str) else need(other, Address)
    return bool(need(network, Network).holds(wanted))


def _contains_network(network: Any, other: Any) -> bool:
    wanted: Network = to_network(other) if isinstance(other, str) else need(other, Network)
    return bool(need(network, Network).covers(wanted))


NETWORK_GLOBAL: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "ip": (to_address, (1,)),
    "isIP": (succeeds(to_address), (1,)),
    "cidr": (to_network, (1,)),
    "isCIDR": (succeeds(to_network), (1,)),
}
NETWORK_METHODS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "family": (lambda value: need(value, Address).value.version, (0,)),
    "isUnspecified": (lambda value: need(value, Address).value.is_unspecified, (0,)),
    "isLoopback": (lambda value: need(value, Address).value.is_loopback, (0,)),
    "isLinkLocalMulticast": (lambda value: _is_link_local_multicast(need(value, Address).value), (0,)),
    "isLinkLocalUnicast": (lambda value: _is_link_local(need(value, Address).value), (0,)),
    "isGlobalUnicast": (lambda value: _is_global(need(value, Address).value), (0,)),
    "containsIP": (_contains_address, (1,)),
    "containsCIDR": (_contains_network, (1,)),
    "ip": (lambda value: need(value, Network).address, (0,)),
    "prefixLength": (lambda value: need(value, Network).bits, (0,)),
    "masked": (lambda value: need(value, Network).masked(), (0,)),
}
NETWORK_QUALIFIED: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "ip.isCanonical": (lambda text: str(to_address(text)) == text, (1,))
}


# RE2's texts, and those of Go's regexp/syntax.
_TEXTS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "unexpected )",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "pattern too large - compile failed": "expression too large",
}


@lru_cache(maxsize=1024)
def search_pattern(pattern: str) -> Any:
    """The compiled pattern; CelError if Go would refuse it."""
    # Imported when an expression uses it: most selectors do not.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except UnicodeEncodeError:
        raise CelError(f"error parsing regexp: invalid UTF-8: `{pattern!a}`") from None
    except re2.error as problem:
        raise CelError(f"error parsing regexp: {_go_text(problem)}") from None


def _go_text(problem: Exception) -> str:
    problem_text = problem.args[0] if problem.args else ""
    text = problem_text.decode("utf-8", "replace") if isinstance(problem_text, bytes) else str(problem_text)
    kind, _, part = text.partition(": ")
    return f"{_TEXTS.get(kind, kind)}: `{part}`"


Function = Callable[..., Any]


# Conversions


def _size(value: Any) -> int:
    return len(need(value, str, list, dict))


def _int(value: Any) -> int:
    if isinstance(value, str):
        return _of_digits(value, "[+-]?", int)
    if isinstance(value, Timestamp):
        return seconds_of(value)
    need(value, int, float)
    if isinstance(value, float) and not (math.isfinite(value) and value > MIN_INT):
        raise CelError("integer overflow")
    return whole_number(int(value), int)


def _of_digits(text: str, sign: str, kind: type[int]) -> int:
    """strconv.ParseInt and ParseUint. Python refuses to read thousands of digits, zeros included."""
    found = re.fullmatch(rf"({sign})0*(\d{{1,20}})", text, re.ASCII)
    try:
        return whole_number(int("".join(need(found, re.Match).groups())), kind)
    except CelError:
        raise unconvertible(text, cel_type_name(kind())) from None


def _uint(value: Any) -> int:
    if isinstance(value, str):
        return _of_digits(value, "", UInt)
    need(value, int, float)
    if isinstance(value, float) and not (math.isfinite(value) and value >= 0):
        raise CelError("unsigned integer overflow")
    return whole_number(int(value), UInt)


def _double(value: Any) -> float:
    if isinstance(value, str):
        try:
            number = float(value)
            if not value.isascii() or value != value.strip() or (math.isinf(number) and "n" not in value.lower()):
                raise ValueError
            return number
        except ValueError:
            raise unconvertible(value, "double") from None
    return float(need(value, int, float))


def _string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _shortest(value)
    return str(need(value, str, int, CelType))


def _shortest(value: float) -> str:
    """The fraction as Go's %g writes it: with the fewest digits, and with an exponent from 1e+06 on and below 1e-04."""
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    text = str(np.format_float_scientific(value, trim="-", exp_digits=2))
    return text if not -4 <= int(text.partition("e")[2]) < 6 else str(np.format_float_positional(value, trim="-"))


def _bool(value: Any) -> bool:
    if isinstance(value, str):
        if value in ("true", "True", "TRUE", "t", "1"):
            return True
        if value in ("false", "False", "FALSE", "f", "0"):
            return False
        raise unconvertible(value, "bool")
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
    if need(start, int) < 0:
        raise CelError(f"index out of range: {start}")
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
        return list(text) if not 0 < limit < len(text) else [*text[: limit - 1], text[limit - 1 :]]
    return list(text.split(separator, limit - 1))


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
    if not need(quantity, CelQuantity).is_int64:
        raise CelError("cannot convert value to integer")
    return int(quantity.amount)


def _added(quantity: Any, other: Any, sign: int) -> CelQuantity:
    """Quantity.Add and Sub: one operand that is no int64, or a sum that is none, makes the result a decimal number."""
    if not isinstance(other, CelQuantity):
        other = CelQuantity(Fraction(need(other, int)))
    amount = need(quantity, CelQuantity).amount + sign * other.amount
    return CelQuantity(amount, quantity.is_int64 and other.is_int64 and MIN_INT <= amount <= MAX_INT)


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
    "isInteger": (lambda quantity: need(quantity, CelQuantity).is_int64, (0,)),
    "asInteger": (_as_integer, (0,)),
    "asApproximateFloat": (lambda quantity: approximate(need(quantity, CelQuantity).amount), (0,)),
    "sign": (lambda quantity: order_of(need(quantity, CelQuantity).amount, 0), (0,)),
    "add": (lambda left, right: _added(left, right, 1), (1,)),
    "sub": (lambda left, right: _added(left, right, -1), (1,)),
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
