"""The effective configuration with all defaults, its validation, and its migration to a newer minor.

A file of any version is migrated: this module finds the minor that reads it and the plugins of both minors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct

from ksched_cli.config.carrying import Minor
from ksched_cli.config.model import EXTENSION_POINT_FIELDS
from ksched_cli.config.reading import is_policy, read_file, read_one
from ksched_cli.config.view import configuration_document
from ksched_cli.engine.registry import Registry
from ksched_cli.errors import ConfigError, Problem, UsageError
from ksched_cli.plan.run.loaded_input import SchedulerSpec, plugin_points
from ksched_cli.releases.configuration import LAST_WITH_POLICY, ConfigurationRules
from ksched_cli.releases.minors import DEFAULT, RELEASES, Release, latest, nearest_release

if TYPE_CHECKING:
    from ksched_cli.config.migrate import Migration


class EffectiveConfiguration(Struct, frozen=True):
    """A configuration with every default written out, as a document."""

    document: Mapping[str, Any]
    warnings: tuple[str, ...]


def effective_configuration(spec: SchedulerSpec) -> EffectiveConfiguration:
    document = configuration_document(spec.configuration, spec.release, spec.gates, spec.registry.models())
    return EffectiveConfiguration(document, spec.warnings)


def validate_configuration(spec: SchedulerSpec, file: str) -> tuple[str, ...]:
    """Warnings about the configuration. ConfigError where the minor does not read its version."""
    if spec.not_read:
        hint = f"use {spec.release.config.read[0]}"
        raise ConfigError(Problem(spec.not_read, file, path="apiVersion", hint=hint))
    return spec.warnings


STDIN = "-"


MakeRegistry = Callable[[Sequence[Any], Release], Registry]


def migrate_file(
    file: str,
    stdin: BinaryIO | None,
    kube_version: str | None,
    to_kube_version: str,
    feature_gates: str,
    plugins: Sequence[Any],
    make_registry: MakeRegistry,
) -> Migration:
    """Migrate the file from the minor that reads it, by default the newest that does, to `to_kube_version`.

    Without one the target is the minor that answers by default, or the reader if it is later. The feature gates are of
    the reader. A plugin that is given by its name alone is carried over as the file lists it."""
    from ksched_cli.config.migrate import migrate

    text, source = (stdin.read(), "stdin") if file == STDIN and stdin is not None else (read_file(file), file)
    document = read_one(text, source).value
    release = reader_of(document) if kube_version is None else nearest_release(kube_version)
    _check_reader(document, release, source)
    classes = [each for each in plugins if not isinstance(each, str) or ":" in each]
    registry = make_registry(classes, release)
    by_name = {each: _points_listed(document, each) for each in plugins if isinstance(each, str) and ":" not in each}
    old = _minor(release, feature_gates, registry, by_name)
    target = _target_of(release, to_kube_version)
    new = old if release == target else _minor(target, "", make_registry(classes, target), by_name)
    return migrate(text, source, old, new, registry.models())


def _target_of(reader: Release, to_kube_version: str) -> Release:
    """The minor to migrate to. UsageError if it is earlier than the minor that reads the file."""
    if not to_kube_version:
        return latest((reader, DEFAULT))
    target = nearest_release(to_kube_version)
    if reader.is_later_than(target) or target.config.newest != DEFAULT.config.newest:
        text = f"a file of {reader.version} migrates to v1 of that minor or a later one"
        raise UsageError(f"--to-kube-version {to_kube_version}: {text}")
    return target


def reader_of(document: dict[str, Any]) -> Release:
    """The minor that answers by default if it reads a file of this kind and version, else the newest that does."""
    if is_policy(document):
        return LAST_WITH_POLICY
    version = document.get("apiVersion")
    readers = (each for each in RELEASES.values() if version in each.config.read)
    return DEFAULT if version in DEFAULT.config.read else latest(readers)


def _minor(release: Release, gates: str, registry: Registry, by_name: Mapping[str, Collection[str]]) -> Minor:
    points = {**by_name, **plugin_points(registry, release)}
    return Minor(release, release.gates(gates), points, frozenset(by_name))


def _points_listed(document: dict[str, Any], plugin: str) -> tuple[str, ...]:
    """The extension points at which the file names a plugin; all points if it names the plugin in MultiPoint."""
    profiles = [document, *(each for each in document.get("profiles") or () if isinstance(each, dict))]
    found = {point for profile in profiles for point in _naming(profile.get("plugins"), plugin)}
    if not found:
        raise UsageError(f"--plugin {plugin}: the file does not name it; a class is given as module:Class")
    if "multiPoint" in found:
        found |= set(EXTENSION_POINT_FIELDS) - {"queueSort"}
    return tuple(point for point in EXTENSION_POINT_FIELDS if point in found)


def _naming(plugins: Any, plugin: str) -> Iterator[str]:
    """The extension points at which a part of a profile, of any type, names the plugin."""
    for point, own in plugins.items() if isinstance(plugins, dict) else ():
        listed = (own.get("enabled"), own.get("disabled")) if isinstance(own, dict) else ()
        if any(isinstance(each, dict) and each.get("name") == plugin for part in listed for each in part or ()):
            yield str(point)


def _check_reader(document: dict[str, Any], release: Release, source: str) -> None:
    """ConfigError if the minor does not read the file. A run would convert a later version, a migration does not."""
    newest = reader_of(document)
    if is_policy(document):
        reads, what, steps = ConfigurationRules.of(release).reads_policy, "a Policy", "kind"
    else:
        version = document.get("apiVersion")
        reads, what, steps = version in release.config.read, f"apiVersion {version}", "apiVersion"
        if version not in newest.config.read:
            return
    if not reads:
        text = f"Kubernetes {release.version} does not read {what}"
        hint = f"the newest that does is {newest.version}, which is what --kube-version auto takes"
        raise ConfigError(Problem(text, source, path=steps, hint=hint))
