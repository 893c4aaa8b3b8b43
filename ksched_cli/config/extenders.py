"""What a configured extender decides, and what is wrong with its settings, without a call of the extender."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ksched_cli.config.durations import parse_duration
from ksched_cli.config.model import Extender

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
