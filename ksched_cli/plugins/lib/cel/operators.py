"""Operators, member access and macros of CEL, as closures over the closures of their operands; durations and
timestamps are exact to the nanosecond, and a timestamp keeps the offset that its text has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import repeat
from typing import Any, ClassVar

from ksched_cli.plugins.lib.cel.cost import METER, STEP, operator_cost
from ksched_cli.plugins.lib.cel.values import (
    MAX_INT,
    MIN_INT,
    CelError,
    CelType,
    DefaultingMap,
    Maybe,
    NoSuchKeyError,
    cel_type_name,
    compare,
    equal,
    is_number,
    need,
    no_overload,
    not_iterable,
    unconvertible,
    whole_number,
)

_SECOND = 10**9
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND}
_PART = re.compile(r"(\d{1,30}\.?\d{0,30}|\.\d{1,30})(ns|us|µs|ms|s|m|h)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
# Of the years 1 to 9999, which is as far as CEL goes; with an offset, the local year may be 0 or 10000, too. The
# calendar repeats after so many years and seconds.
_FIRST, _LAST = -62135596800, 253402300799
_YEARS, _CYCLE = 400, 146097 * 86400
# As far as Go reads the hours and minutes of an offset.
_OFFSET_HOURS, _OFFSET_MINUTES = 24, 60


@dataclass(frozen=True, slots=True, order=True)
class Duration(CelType):
    type_name: ClassVar[str] = "google.protobuf.Duration"
    nanos: int

    def __str__(self) -> str:
        whole, rest = divmod(abs(self.nanos), _SECOND)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{'-' if self.nanos < 0 else ''}{whole}{fraction}s"

    def __bool__(self) -> bool:
        return self.nanos != 0


@dataclass(frozen=True, slots=True, order=True)
class Timestamp(CelType):
    """A moment, and how many seconds its local time is ahead of UTC."""

    type_name: ClassVar[str] = "google.protobuf.Timestamp"
    nanos: int
    offset: int = field(default=0, compare=False)

    def year(self) -> int:
        return self.date().year + _YEARS * self._cycles()

    def date(self) -> datetime:
        """The local time in the cycle of the calendar that begins in 1970."""
        micros = self.nanos // 1000 + (self.offset - self._cycles() * _CYCLE) * 10**6
        return _EPOCH + timedelta(microseconds=micros)

    def _cycles(self) -> int:
        return (self.nanos // _SECOND + self.offset) // _CYCLE

    def __str__(self) -> str:
        rest = self.nanos % _SECOND
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        hours, minutes = divmod(abs(self.offset) // 60, 60)
        zone = f"{'-' if self.offset < 0 else '+'}{hours:02d}:{minutes:02d}" if self.offset else "Z"
        return f"{self.year():04d}-{self.date():%m-%dT%H:%M:%S}{fraction}{zone}"

    def __bool__(self) -> bool:
        return self.nanos != _FIRST * _SECOND


def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    unsigned = value[1:] if need(value, str)[:1] in ("+", "-") else value
    parts = _PART.findall(unsigned)
    nanos = sum(int(Fraction(number) * _UNITS[unit]) for number, unit in parts)
    nanos = -nanos if value.startswith("-") else nanos
    # Only 0 needs no unit.
    if unsigned != ("".join(number + unit for number, unit in parts) or "0") or not MIN_INT <= nanos <= MAX_INT:
        raise unconvertible(value, Duration.type_name)
    return Duration(nanos)


def to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return _timestamp(value * _SECOND)
    found = _STAMP.fullmatch(need(value, str))
    try:
        if found is None:
            raise ValueError
        year, month, day, hour, minute, second = map(int, found.groups()[:6])
        fraction, sign, hours, minutes = found.groups()[6:]
        cycles, year = divmod(year - _YEARS, _YEARS)
        date = datetime(year + _YEARS, month, day, hour, minute, second, tzinfo=UTC)
        seconds = int((date - _EPOCH).total_seconds()) + cycles * _CYCLE
        offset = int(hours or 0) * 3600 + int(minutes or 0) * 60
        if int(hours or 0) > _OFFSET_HOURS or int(minutes or 0) > _OFFSET_MINUTES:
            raise ValueError
    except ValueError:
        raise unconvertible(value, Timestamp.type_name) from None
    offset = -offset if sign == "-" else offset
    return _timestamp((seconds - offset) * _SECOND + int((fraction or "").ljust(9, "0")), offset)


def _timestamp(nanos: int, offset: int = 0) -> Timestamp:
    if not _FIRST <= nanos // _SECOND <= _LAST:
        raise CelError("timestamp overflow")
    return Timestamp(nanos, offset)


def added(left: Any, right: Any) -> Duration | Timestamp | None:
    """The sum; None where the operands are no durations or timestamps."""
    if isinstance(left, Duration) and isinstance(right, Duration):
        return Duration(whole_number(left.nanos + right.nanos, int))
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return _timestamp(left.nanos + right.nanos, left.offset)
    return added(right, left) if isinstance(left, Duration) and isinstance(right, Timestamp) else None


def subtracted(left: Any, right: Any) -> Duration | Timestamp | None:
    if isinstance(left, Timestamp) and isinstance(right, Timestamp):
        return Duration(whole_number(left.nanos - right.nanos, int))
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return added(left, Duration(whole_number(-right.nanos, int)))
    return added(left, Duration(-right.nanos)) if isinstance(right, Duration) else None


def seconds_of(stamp: Timestamp) -> int:
    return stamp.nanos // _SECOND


def _of_date(part: Callable[[datetime], int]) -> Callable[[Any], int]:
    return lambda value: part(need(value, Timestamp).date())


def _of_both(part: Callable[[datetime], int], unit: str) -> Callable[[Any], int]:
    """For hours: the hour of the day of a timestamp, or the whole hours of a duration."""

    def run(value: Any) -> int:
        if isinstance(value, Duration):
            return int(Fraction(value.nanos, _UNITS[unit]))
        return _of_date(part)(value)

    return run


# Without a time zone, in the timestamp's own; with one they are not computed here.
TIME_METHODS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "getFullYear": (lambda value: need(value, Timestamp).year(), (0,)),
    "getMonth": (_of_date(lambda date: date.month - 1), (0,)),
    "getDate": (_of_date(lambda date: date.day), (0,)),
    "getDayOfMonth": (_of_date(lambda date: date.day - 1), (0,)),
    "getDayOfWeek": (_of_date(lambda date: (date.weekday() + 1) % 7), (0,)),
    "getDayOfYear": (_of_date(lambda date: date.timetuple().tm_yday - 1), (0,)),
    "getHours": (_of_both(lambda date: date.hour, "h"), (0,)),
    "getMinutes": (_of_both(lambda date: date.minute, "m"), (0,)),
    "getSeconds": (_of_both(lambda date: date.second, "s"), (0,)),
    "getMilliseconds": (_of_both(lambda date: date.microsecond // 1000, "ms"), (0,)),
}


Variables = Mapping[str, Any]
Program = Callable[[Variables], Any]


def charged(cost: int, program: Program) -> Program:
    """The program, which charges the cost before it runs."""

    def run(variables: Variables) -> Any:
        variables[METER].charge(cost)
        return program(variables)

    return run


# Member access


def indexed(operand: Program, index: Program, *, optional: bool) -> Program:
    look_up = _look_up_maybe if optional else _look_up

    def run(variables: Variables) -> Any:
        variables[METER].charge(STEP)
        return look_up(operand(variables), index(variables))

    return run


def _look_up(container: Any, key: Any) -> Any:
    if isinstance(container, Maybe):
        return _look_up_maybe(container, key)
    if isinstance(container, dict):
        found = _find_key(container, key)
        if found is not None:
            return container[found[0]]
        if isinstance(container, DefaultingMap):
            return {}
        raise NoSuchKeyError(f"no such key: {_shown(key)}")
    if not isinstance(container, list):
        raise no_overload()
    if not is_number(key) or key != int(key):
        raise CelError(f"unsupported index type '{cel_type_name(key)}' in list")
    if not 0 <= key < len(container):
        raise CelError(f"index out of bounds: {int(key)}")
    return container[int(key)]


def _look_up_maybe(container: Any, key: Any) -> Maybe:
    """An optional with the item; empty where the item is missing or the container is an empty optional."""
    if isinstance(container, Maybe):
        return _look_up_maybe(container.value, key) if container.present else container
    if isinstance(container, list) and is_number(key) and not 0 <= key < len(container):
        return Maybe(False)
    if isinstance(container, dict) and not isinstance(container, DefaultingMap) and _find_key(container, key) is None:
        return Maybe(False)
    return Maybe(True, _look_up(container, key))


def _find_key(container: dict[Any, Any], key: Any) -> tuple[Any] | None:
    """The key of the map that equals `key` in CEL, where true is not 1; None without one."""
    if isinstance(key, (list, dict)):
        raise no_overload()
    if isinstance(key, str):
        return (key,) if key in container else None
    return next(((each,) for each in container if equal(each, key)), None)


def _shown(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def has_field(container: Any, field: str) -> bool:
    if isinstance(container, Maybe):
        return container.present and has_field(container.value, field)
    if not isinstance(container, dict):
        raise no_overload()
    return field in container or isinstance(container, DefaultingMap)


# Operators


def _truth(program: Program, variables: Variables) -> bool | CelError:
    """A bool, or the error that is the operand's value."""
    try:
        value = program(variables)
    except CelError as problem:
        return problem
    return value if isinstance(value, bool) else no_overload()


def _decided(values: Iterable[bool | CelError], decides: bool) -> bool:
    """&& is decided by a false, || by a true, wherever it stands; else the first error counts."""
    problem: CelError | None = None
    for value in values:
        if value is decides:
            return decides
        if isinstance(value, CelError):
            problem = problem or value
    if problem is not None:
        raise problem
    return not decides


def logical(operands: tuple[Program, ...], decides: bool) -> Program:
    return lambda variables: _decided(map(_truth, operands, repeat(variables)), decides)


def conditional(condition: Program, then: Program, otherwise: Program) -> Program:
    return lambda variables: then(variables) if need(condition(variables), bool) else otherwise(variables)


def _not(operand: Program) -> Program:
    return charged(STEP, lambda variables: not need(operand(variables), bool))


def _negative(operand: Program) -> Program:
    def run(variables: Variables) -> Any:
        value = operand(variables)
        if isinstance(value, float):
            return -value
        if isinstance(value, Duration):
            return Duration(whole_number(-value.nanos, int))
        if type(value) is not int:
            raise no_overload()
        return whole_number(-value, type(value))

    return charged(STEP, run)


UNARY: dict[str, Callable[[Program], Program]] = {"!": _not, "-": _negative}


def binary(operator: str, left: Program, right: Program) -> Program:
    work = _OPERATORS[operator]

    def run(variables: Variables) -> Any:
        one, other = left(variables), right(variables)
        variables[METER].charge(operator_cost(operator, one, other))
        return work(one, other)

    return run


def _contains(item: Any, container: Any) -> bool:
    if isinstance(container, dict):
        return _find_key(container, item) is not None
    if isinstance(container, list):
        return any(equal(item, each) for each in container)
    raise no_overload()


def plus(left: Any, right: Any) -> Any:
    if type(left) is type(right) and type(left) in (str, list):
        return left + right
    moment = added(left, right)
    return moment if moment is not None else _arithmetic(left, right, lambda: left + right)


def _subtract(left: Any, right: Any) -> Any:
    moment = subtracted(left, right)
    return moment if moment is not None else _arithmetic(left, right, lambda: left - right)


def _arithmetic(left: Any, right: Any, work: Callable[[], Any]) -> Any:
    """The result of `work`; CelError unless both operands are numbers of one type."""
    if type(left) is not type(right) or not is_number(left):
        raise no_overload()
    return work() if isinstance(left, float) else whole_number(work(), type(left))


def _divide(left: Any, right: Any) -> Any:
    def work() -> Any:
        if isinstance(left, float):
            return _float_quotient(left, right)
        if right == 0:
            raise CelError("division by zero")
        return _truncated(left, right)

    return _arithmetic(left, right, work)


def _truncated(left: int, right: int) -> int:
    """The quotient, rounded towards zero as in Go."""
    return int(Fraction(left, right))


def _float_quotient(left: float, right: float) -> float:
    """The quotient of IEEE 754, with the sign of a zero: Python refuses to divide by zero."""
    return left / right if right else left * math.copysign(math.inf, right)


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        raise no_overload()

    def work() -> int:
        if right == 0:
            raise CelError("modulus by zero")
        # An overflow of the quotient is one of the remainder.
        quotient = whole_number(_truncated(left, right), type(left))
        return int(left - right * quotient)

    return _arithmetic(left, right, work)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
    "in": _contains,
    "+": plus,
    "-": _subtract,
    "*": lambda left, right: _arithmetic(left, right, lambda: left * right),
    "/": _divide,
    "%": _remainder,
}


# Macros over lists and the keys of maps


def elements(source: Any) -> list[Any]:
    if not isinstance(source, (list, dict)):
        raise not_iterable(source)
    return list(source)


def _any_or_all(decides: bool) -> Callable[..., bool]:
    def run(elements: list[Any], name: str, bodies: list[Program], variables: Variables) -> bool:
        scopes = ({**variables, name: element} for element in elements)
        return _decided(map(_truth, repeat(bodies[0]), scopes), decides)

    return run


def pairs(source: Any) -> list[tuple[Any, Any]]:
    """Keys and values of a map, or positions and items of a list, for macros with two variables."""
    items = elements(source)
    return list(source.items() if isinstance(source, dict) else enumerate(items))


def of_pair(key: str, value: str, body: Program) -> Program:
    """A body with two variables, as a body with one, the pair."""

    def run(variables: Variables) -> Any:
        first, second = variables[PAIR]
        return body({**variables, key: first, value: second})

    return run


def _exists_one(elements: list[Any], name: str, bodies: list[Program], variables: Variables) -> bool:
    return len(_filter(elements, name, bodies, variables)) == 1


def _filter(elements: list[Any], name: str, bodies: list[Program], variables: Variables) -> list[Any]:
    return [element for element in elements if need(bodies[0]({**variables, name: element}), bool)]


def _kept(items: list[Any], name: str, conditions: list[Program], variables: Variables) -> list[Any]:
    return _filter(items, name, conditions, variables) if conditions else items


def _map(elements: list[Any], name: str, bodies: list[Program], variables: Variables) -> list[Any]:
    *conditions, body = bodies
    return [body({**variables, name: each}) for each in _kept(elements, name, conditions, variables)]


def _map_values(pairs: list[Any], name: str, bodies: list[Program], variables: Variables) -> dict[Any, Any]:
    *conditions, body = bodies
    return {pair[0]: body({**variables, name: pair}) for pair in _kept(pairs, name, conditions, variables)}


MACROS: dict[str, Callable[..., Any]] = {
    "all": _any_or_all(False),
    "exists": _any_or_all(True),
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
}

# The macros with two variables; what goes over the pairs is one variable of a name that no expression can have.
PAIR = "@pair"
PAIR_MACROS: dict[str, Callable[..., Any]] = {
    **{name: MACROS[name] for name in ("all", "exists", "exists_one", "existsOne")},
    "transformList": _map,
    "transformMap": _map_values,
}


def opt_map(source: Program, name: str, body: Program, *, flat: bool) -> Program:
    """optMap and optFlatMap: the body where there is a value."""

    def run(variables: Variables) -> Maybe:
        maybe: Maybe = need(source(variables), Maybe)
        if not maybe.present:
            return maybe
        result = body({**variables, name: maybe.value})
        return need(result, Maybe) if flat else Maybe(True, result)

    return run
