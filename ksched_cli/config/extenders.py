"""What a configured extender decides, and what is wrong with its settings, without a call of the extender; and Go
durations, as the configuration writes them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ksched_cli.config.model import Extender

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


Complaint = tuple[tuple[str, ...], str]


def extender_name(extender: Extender) -> str:
    """The URL of the extender, as in kube-scheduler, without a password."""
    try:
        parts = urlsplit(extender.url_prefix)
    except ValueError:
        return extender.url_prefix.rpartition("@")[2]
    user, at, host = parts.netloc.rpartition("@")
    if not at or ":" not in user:
        return extender.url_prefix
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}:xxxxx@{host}"))


def ignored_resources(extenders: Sequence[Extender]) -> tuple[str, ...]:
    """Resources that the filter for resources leaves to extenders (buildExtenders)."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def decides(extender: Extender) -> list[str]:
    """What the answers of the extender can change."""
    found = ["which nodes fit"] if extender.filter_verb else []
    found += [f"scores (weight {extender.weight})"] if extender.prioritize_verb else []
    found += ["victims of preemption"] if extender.preempt_verb else []
    return found


def not_called(extender: Extender) -> dict[str, Any]:
    """Text for the coverage of a run that did not call the extender."""
    managed = [resource.name for resource in extender.managed_resources]
    return {
        "extender": extender_name(extender),
        "couldChange": decides(extender),
        **({"podsThatAskFor": managed} if managed else {}),
    }


def extender_complaints(extender: Extender) -> Iterator[Complaint]:
    """Complaints about settings that kube-scheduler cannot decode."""
    if extender.http_timeout and parse_duration(extender.http_timeout) is None:
        yield ("httpTimeout",), f"{extender.http_timeout!r} is not a duration such as 5s or 100ms"
    if extender.tls_config is not None:
        for name in ("cert_data", "key_data", "ca_data"):
            if not _is_base64(getattr(extender.tls_config, name)):
                yield ("tlsConfig", name.replace("_d", "D")), "is not base64"


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error:
        return False
    return True
