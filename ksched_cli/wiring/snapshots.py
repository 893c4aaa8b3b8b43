"""From any source to a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from ksched_cli.wiring import Setup, read_sources


@dataclass(frozen=True)
class Taken:
    """A snapshot's bytes, how many objects of which kind are in it, and which are not."""

    data: bytes
    counts: Mapping[str, int]
    not_read: Mapping[str, int]
    warnings: tuple[str, ...]
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def take_snapshot(setup: Setup, stdin: BinaryIO | None, time: str, *, redacted: bool = False) -> Taken:
    """`names` of the result says who is who, when it is redacted."""
    from ksched_cli.sources.redaction.redact import redact
    from ksched_cli.sources.snapshot import write_snapshot

    loaded = read_sources(setup, stdin)
    warnings, names = tuple(loaded.warnings), {}
    if redacted:
        done = redact(loaded)
        loaded, names = done.loaded, {role.value: dict(each) for role, each in done.names.items() if each}
    counts = {kind.__name__: len(items) for kind, items in loaded.objects.items()}
    return Taken(
        write_snapshot(loaded, time, redacted=redacted),
        dict(sorted(counts.items())),
        dict(sorted(loaded.unknown.items())),
        warnings,
        names,
    )
