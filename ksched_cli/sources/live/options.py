"""The options of kubectl that select a cluster, a user and a timeout."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.config.durations import parse_duration
from ksched_cli.errors import UsageError

DEFAULT_TIMEOUT = 60.0


class LiveOptions(Struct, frozen=True):
    """`timeout` is for one request with its repetitions; None means no timeout."""

    context: str | None = None
    kubeconfig: str | None = None
    user: str = ""
    groups: tuple[str, ...] = field(default=())
    timeout: float | None = DEFAULT_TIMEOUT


def parse_timeout(text: str) -> float | None:
    """The seconds of kubectl's --request-timeout; None if it is 0, which means no timeout."""
    return parse_seconds(text, "--request-timeout") or None


def parse_seconds(text: str, flag: str) -> float:
    """The seconds of a number or of a Go duration."""
    seconds = float(text) if text.replace(".", "", 1).isdigit() else parse_duration(text)
    if seconds is None or seconds < 0:
        raise UsageError(f"{flag} {text}: not a length of time; it is written 30s, 2m or 1m30s")
    return seconds
