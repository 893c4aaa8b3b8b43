"""`snapshot`: writes the objects of any source to one file, redacted or not. What is removed from a redacted one is
decided in `sources/redaction/`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from ksched_cli.config.plugin_args import ARGS_OF
from ksched_cli.config.reading import is_policy, read_one
from ksched_cli.errors import ConfigError, Problem
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.own_documents import left_out, write_snapshot
from ksched_cli.sources.redaction.redact import RedactableConfig, redact, take

_WHY_NO_KARPENTER = "with pseudonyms for zones and instance types Karpenter would choose other nodes"


class SnapshotResult(Struct, frozen=True):
    """A snapshot's bytes, how many objects of each kind are in it, and how many of each kind are not. For a redacted
    one also the pseudonym of each name by role, and the configuration under these pseudonyms."""

    data: bytes
    counts: Mapping[str, int]
    not_read: Mapping[str, int]
    warnings: tuple[str, ...]
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None


def take_snapshot(loaded: Loaded, time: str) -> SnapshotResult:
    return _taken(loaded, loaded, time)


def take_redacted_snapshot(
    loaded: Loaded, time: str, config: str | None = None, rooms: Collection[str] = ()
) -> SnapshotResult:
    """`config` is the file of a configuration that is redacted with the same pseudonyms; `rooms` are the in-tree
    plugins that declare a model of their arguments."""
    taken = _configuration(config, rooms) if config is not None else None
    done = redact(loaded, taken.affinities if taken else ())
    names = {role.value: dict(each) for role, each in done.names.items() if each}
    kinds = sorted(kind.__name__ for kind in loaded.karpenter)
    about = [f"objects of the kinds {', '.join(kinds)} are left out: {_WHY_NO_KARPENTER}"] if kinds else []
    if taken is None:
        return _taken(done.loaded, loaded, time, names=names, warnings=about)
    why = "ksched does not know what is private in them"
    warnings = about + [
        f"the arguments of plugin {each} are left out of the configuration: {why}" for each in taken.left_out
    ]
    config_document = taken.with_affinities(done.parts)
    return _taken(done.loaded, loaded, time, names=names, config=config_document, warnings=warnings)


def _taken(loaded: Loaded, read: Loaded, time: str, **rest: Any) -> SnapshotResult:
    """`read` is the cluster under its own names."""
    counts = {kind.__name__: len(items) for kind, items in (*loaded.objects.items(), *loaded.karpenter.items())}
    unknown = left_out(read) if loaded is read else read.unknown
    return SnapshotResult(
        write_snapshot(loaded, time, redacted=loaded is not read),
        dict(sorted(counts.items())),
        dict(sorted(unknown.items())),
        (*read.warnings, *rest.pop("warnings", ())),
        **rest,
    )


def _configuration(config: str, rooms: Collection[str]) -> RedactableConfig:
    document = read_one(Path(config).read_bytes(), config).value
    if is_policy(document) or "alpha" in document["apiVersion"]:
        hint = "rewrite it with `ksched config migrate` and redact the result"
        raise ConfigError(Problem("only a configuration with profiles can be redacted", config, hint=hint))
    return take(document, ARGS_OF, rooms)
