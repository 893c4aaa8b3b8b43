"""CEL's durations and timestamps: exact to the nanosecond, timestamps in UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, ClassVar

from ksched_cli.plugins.lib.cel.values import CelError, CelType, need

_SECOND = 10**9
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND}
_PART = re.compile(r"(\d{1,30}\.?\d{0,30}|\.\d{1,30})(ns|us|µs|ms|s|m|h)", re.ASCII)
_MAX = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII | re.IGNORECASE
)
# Of the years 1 to 9999, which is as far as CEL goes.
_FIRST, _LAST = -62135596800, 253402300799


@dataclass(frozen=True, slots=True, order=True)
class Duration(CelType):
    type_name: ClassVar[str] = "google.protobuf.Duration"
    nanos: int

    def __str__(self) -> str:
        whole, rest = divmod(abs(self.nanos), _SECOND)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{'-' if self.nanos < 0 else ''}{whole}{fraction}s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp(CelType):
    type_name: ClassVar[str] = "google.protobuf.Timestamp"
    nanos: int

    def date(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.nanos // 1000)

    def __str__(self) -> str:
        rest = self.nanos % _SECOND
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{self.date():%Y-%m-%dT%H:%M:%S}{fraction}Z".rjust(20, "0")


def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    unsigned = value[1:] if need(value, str)[:1] in ("+", "-") else value
    parts = _PART.findall(unsigned)
    if unsigned != "0" and (not parts or "".join(number + unit for number, unit in parts) != unsigned):
        raise CelError(f'time: invalid duration "{value}"')
    nanos = int(sum((Fraction(number) * _UNITS[unit] for number, unit in parts), Fraction(0)))
    return _duration(-nanos if value.startswith("-") else nanos)


def _duration(nanos: int) -> Duration:
    if not -_MAX - 1 <= nanos <= _MAX:
        raise CelError("duration overflow")
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
        seconds = int((datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH).total_seconds())
    except ValueError:
        raise CelError(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse') from None
    if sign:
        offset = int(hours) * 3600 + int(minutes) * 60
        seconds += -offset if sign == "+" else offset
    return _timestamp(seconds * _SECOND + int((fraction or "").ljust(9, "0")))


def _timestamp(nanos: int) -> Timestamp:
    if not _FIRST <= nanos // _SECOND <= _LAST:
        raise CelError("timestamp overflow")
    return Timestamp(nanos)


def added(left: Any, right: Any) -> Duration | Timestamp | None:
    """The sum; None where the operands are no durations or timestamps."""
    if isinstance(left, Duration) and isinstance(right, Duration):
        return _duration(left.nanos + right.nanos)
    if {type(left), type(right)} == {Duration, Timestamp}:
        return _timestamp(left.nanos + right.nanos)
    return None


def subtracted(left: Any, right: Any) -> Duration | Timestamp | None:
    if isinstance(left, Timestamp) and isinstance(right, Timestamp):
        return _duration(left.nanos - right.nanos)
    if isinstance(right, Duration) and isinstance(left, Duration | Timestamp):
        return added(left, Duration(-right.nanos))
    return None


def seconds_of(stamp: Timestamp) -> int:
    return stamp.nanos // _SECOND


def _of_date(part: Callable[[datetime], int]) -> Callable[[Any], int]:
    return lambda value: part(need(value, Timestamp).date())


def _of_both(part: Callable[[datetime], int], unit: str) -> Callable[[Any], int]:
    """For hours: the hour of the day of a timestamp, or the whole hours of a duration."""

    def run(value: Any) -> int:
        if isinstance(value, Duration):
            size = abs(value.nanos) // _UNITS[unit]
            return size if value.nanos >= 0 else -size
        return _of_date(part)(value)

    return run


# Without a time zone, which is UTC; with one they are not worked out here.
TIME_METHODS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "getFullYear": (_of_date(lambda date: date.year), (0,)),
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
