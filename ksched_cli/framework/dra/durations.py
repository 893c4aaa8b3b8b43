"""Go durations as the configuration writes them."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def seconds(duration: str) -> float:
    """time.ParseDuration; 0 for what is not a duration."""
    parts = _PART.findall(duration)
    if "".join(number + unit for number, unit in parts) != duration.lstrip("+"):
        return 0.0
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
