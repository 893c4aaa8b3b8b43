"""A configuration file of any version, migrated: which minor reads it, and which plugins there are in both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ksched_cli.config.migration.carrying import Minor
from ksched_cli.config.migration.migrate import Migration, migrate
from ksched_cli.config.policy import LAST_MINOR, is_policy
from ksched_cli.config.reading import read_one
from ksched_cli.config.releases import NEWEST, RELEASES, Release, nearest
from ksched_cli.engine.registry import Registry
from ksched_cli.errors import ConfigError, InputError, Problem
from ksched_cli.wiring.setting import AUTO, PluginGiven, make_registry, plugin_points

STDIN = "-"


def migrate_file(
    file: str, stdin: BinaryIO, kube_version: str, feature_gates: str, plugins: Sequence[PluginGiven] = ()
) -> Migration:
    """`kube_version`: the minor that is to read the file; auto is the newest that does. The feature gates are its."""
    text, source = _text(file, stdin)
    document = read_one(text, source).value
    release = reader_of(document) if kube_version == AUTO else nearest(kube_version)
    _check_reader(document, release, source)
    registry = make_registry(plugins, release)
    old = _minor(release, feature_gates, registry)
    new = old if release == NEWEST else _minor(NEWEST, "", make_registry(plugins, NEWEST))
    return migrate(text, source, old, new, registry.models())


def reader_of(document: dict[str, Any]) -> Release:
    """The newest minor that reads a file of this kind and version; the newest of all refuses what none reads."""
    if is_policy(document):
        return RELEASES[LAST_MINOR]
    readers = (each for each in RELEASES.values() if document.get("apiVersion") in each.config_versions)
    return max(readers, key=lambda each: each.minor, default=NEWEST)


def _minor(release: Release, feature_gates: str, registry: Registry) -> Minor:
    return Minor(release, release.gates(feature_gates), plugin_points(registry, release))


def _text(file: str, stdin: BinaryIO) -> tuple[bytes, str]:
    if file == STDIN:
        return stdin.read(), "stdin"
    try:
        return Path(file).read_bytes(), file
    except OSError as problem:
        raise InputError(Problem(problem.strerror or str(problem), source=file)) from problem


def _check_reader(document: dict[str, Any], release: Release, source: str) -> None:
    """Where a run makes the best of a later version, a migration has nothing to go by."""
    newest = reader_of(document)
    if is_policy(document):
        reads, what, steps = not release.at_least("1.23"), "a Policy", "kind"
    else:
        version = document.get("apiVersion")
        reads, what, steps = version in release.config_versions, f"apiVersion {version}", "apiVersion"
        if version not in newest.config_versions:
            return
    if not reads:
        text = f"Kubernetes {release.version} does not read {what}"
        hint = f"the newest that does is {newest.version}, which is what --kube-version auto takes"
        raise ConfigError(Problem(text, source, path=steps, hint=hint))
