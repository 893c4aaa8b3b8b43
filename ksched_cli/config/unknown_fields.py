"""Fields of a configuration that came or went with some minor or version of it: at other times they are unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ksched_cli.config.serving import ADDRESSES
from ksched_cli.releases.config_versions import has_multi_point
from ksched_cli.releases.configuration import ARGUMENTS, DOCUMENT_FIELDS, PLUGINS_FIELDS, PROFILE_FIELDS, Later
from ksched_cli.releases.minors import Release

# (path in the document, what is wrong, since when it is there)
Unknown = tuple[tuple[str | int, ...], str, str]


# The addresses were removed together with their port; flags of kube-scheduler set the secure one.
_WITHOUT_ADDRESSES = ("v1beta3", "v1")


def unknown_fields(document: dict[str, Any], release: Release, config_version: str) -> Iterator[Unknown]:
    """Fields of the document that the minor, or the version of the document, does not have."""
    yield from _later(document, DOCUMENT_FIELDS, (), release)
    for field in ADDRESSES if config_version in _WITHOUT_ADDRESSES else ():
        if field in document:
            yield (field,), f'unknown field "{field}"', "it went away with v1beta3: see --bind-address, --secure-port"
    for index, profile in _listed(document, "profiles"):
        steps: tuple[str | int, ...] = ("profiles", index)
        yield from _later(profile, PROFILE_FIELDS, steps, release)
        plugins = profile.get("plugins")
        yield from _later(plugins, PLUGINS_FIELDS, (*steps, "plugins"), release)
        if isinstance(plugins, dict) and "multiPoint" in plugins and not has_multi_point(config_version):
            yield (*steps, "plugins", "multiPoint"), 'unknown field "multiPoint"', "it came with v1beta3"
        for at, config in _listed(profile, "pluginConfig"):
            later = ARGUMENTS.get(str(config.get("name")), ())
            yield from _later(config.get("args"), later, (*steps, "pluginConfig", at, "args"), release)


def known_args(plugin: str, args: dict[str, Any], release: Release) -> dict[str, Any]:
    """The arguments without those that came with a later minor."""
    later = {each.field for each in ARGUMENTS.get(plugin, ()) if not each.is_in(release)}
    return {field: value for field, value in args.items() if field not in later}


def _listed(document: Any, field: str) -> Iterator[tuple[int, dict[str, Any]]]:
    found = document.get(field)
    for index, each in enumerate(found if isinstance(found, list) else ()):
        if isinstance(each, dict):
            yield index, each


def _later(
    document: Any, fields: tuple[Later, ...], steps: tuple[str | int, ...], release: Release
) -> Iterator[Unknown]:
    for later in fields:
        if isinstance(document, dict) and later.field in document and not later.is_in(release):
            yield (*steps, later.field), f'unknown field "{later.field}"', f"it came with Kubernetes {later.since}"
