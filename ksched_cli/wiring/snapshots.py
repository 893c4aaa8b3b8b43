"""Takes a snapshot of any source, redacted or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ksched_cli.errors import ConfigError, Problem
from ksched_cli.wiring import RunOptions, make_setting, read_sources

if TYPE_CHECKING:
    from ksched_cli.sources.loaded import Loaded
    from ksched_cli.sources.redaction.configuration import RedactableConfig as TakenConfig


@dataclass(frozen=True)
class SnapshotResult:
    """A snapshot's bytes, how many objects of each kind are in it, and how many of each kind are not. For a redacted
    one also the pseudonym of each name by role, and the configuration under these pseudonyms."""

    data: bytes
    counts: Mapping[str, int]
    not_read: Mapping[str, int]
    warnings: tuple[str, ...]
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None


def take_snapshot(setup: RunOptions, stdin: BinaryIO | None, time: str, *, redacted: bool = False) -> SnapshotResult:
    """A configuration in `setup` is read only if the snapshot is redacted."""
    loaded = read_sources(setup, stdin)
    return _redacted(setup, loaded, time) if redacted else _taken(loaded, loaded, time)


def _taken(loaded: Loaded, read: Loaded, time: str, **rest: Any) -> SnapshotResult:
    """`read` is the cluster under its own names."""
    from ksched_cli.sources.snapshot import write_snapshot

    counts = {kind.__name__: len(items) for kind, items in loaded.objects.items()}
    return SnapshotResult(
        write_snapshot(loaded, time, redacted=loaded is not read),
        dict(sorted(counts.items())),
        dict(sorted(read.unknown.items())),
        (*read.warnings, *rest.pop("warnings", ())),
        **rest,
    )


def _redacted(setup: RunOptions, loaded: Loaded, time: str) -> SnapshotResult:
    from ksched_cli.sources.redaction.redact import redact

    taken = _configuration(setup)
    done = redact(loaded, taken.affinities if taken else ())
    names = {role.value: dict(each) for role, each in done.names.items() if each}
    if taken is None:
        return _taken(done.loaded, loaded, time, names=names)
    why = "ksched does not know what is private in them"
    left_out = taken.left_out
    warnings = [f"the arguments of plugin {each} are left out of the configuration: {why}" for each in left_out]
    config = taken.with_affinities(done.parts)
    return _taken(done.loaded, loaded, time, names=names, config=config, warnings=warnings)


def _configuration(setup: RunOptions) -> TakenConfig | None:
    from ksched_cli.config.plugin_args import ARGS_OF
    from ksched_cli.config.policy.model import is_policy
    from ksched_cli.config.reading import read_one
    from ksched_cli.sources.redaction.configuration import take

    if not isinstance(setup.config, str):
        return None
    make_setting(setup)  # reports every mistake of the file
    document = read_one(Path(setup.config).read_bytes(), setup.config).value
    if is_policy(document) or "alpha" in document["apiVersion"]:
        hint = "rewrite it with `ksched config migrate` and redact the result"
        raise ConfigError(Problem("only a configuration with profiles can be redacted", setup.config, hint=hint))
    return take(document, ARGS_OF)
