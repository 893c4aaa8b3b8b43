"""Which cluster, as whom, and how long to wait: kubectl's own options."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ksched_cli.errors import UsageError

DEFAULT_TIMEOUT = 60.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


@dataclass(frozen=True)
class LiveOptions:
    """`timeout` is for one request, its repetitions included; None waits for ever."""

    context: str | None = None
    kubeconfig: str | None = None
    user: str = ""
    groups: tuple[str, ...] = field(default=())
    timeout: float | None = DEFAULT_TIMEOUT


def parse_timeout(text: str) -> float | None:
    """kubectl's --request-timeout: 0 is no timeout."""
    return parse_seconds(text, "--request-timeout") or None


def parse_seconds(text: str, flag: str) -> float:
    """A number of seconds or a duration as Go writes it."""
    if text.replace(".", "", 1).isdigit():
        return float(text)
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageError(f"{flag} {text}: not a length of time; it is written 30s, 2m or 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
