"""Go durations as a configuration writes them (time.ParseDuration). Options are imported with it when a command starts,
so it imports nothing."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(duration: str) -> float | None:
    """The duration in seconds (time.ParseDuration), or None if the text is no duration."""
    unsigned = duration[1:] if duration[:1] in ("+", "-") else duration
    if unsigned == "0":
        return 0.0
    parts = _PART.findall(unsigned)
    if not parts or "".join(number + unit for number, unit in parts) != unsigned:
        return None
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return -total if duration.startswith("-") else total


def duration_text(nanoseconds: int) -> str:
    """The duration in the largest units that need no fraction: 1m30s, 5s, 100ms."""
    if nanoseconds < 0:
        return f"-{duration_text(-nanoseconds)}"
    for unit, length in (("ms", 10**6), ("us", 10**3), ("ns", 1)):
        if nanoseconds % 10**9 and nanoseconds % length == 0:
            return f"{nanoseconds // length}{unit}"
    minutes, left = divmod(nanoseconds // 10**9, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (left, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def seconds(duration: str) -> float:
    """The duration in seconds; 0 if the text is no duration or the duration is negative."""
    return max(parse_duration(duration) or 0.0, 0.0)
