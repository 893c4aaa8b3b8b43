"""Fields of a configuration that came or went with some minor or version of it: at other times they are unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ksched_cli.config.releases import Release, has_multi_point

# (path in the document, what is wrong, since when it is there)
Unknown = tuple[tuple[str | int, ...], str, str]


class Later(NamedTuple):
    """A field and the first minor that has it."""

    field: str
    since: str


_DOCUMENT = (Later("parallelism", "1.20"), Later("delayCacheUntilActive", "1.28"))
# With the addresses went the port that they were about; flags of kube-scheduler say where the secure one is.
_WITHOUT_ADDRESSES = ("v1beta3", "v1")
_ADDRESSES = ("healthzBindAddress", "metricsBindAddress")
_PROFILE = (Later("percentageOfNodesToScore", "1.26"),)
_PLUGINS = (Later("preEnqueue", "1.26"), Later("placementGenerate", "1.36"), Later("placementScore", "1.36"))
_ARGS = {
    "NodeResourcesFit": (Later("scoringStrategy", "1.22"),),
    "NodeResourcesBalancedAllocation": (Later("resources", "1.22"),),
    "PodTopologySpread": (Later("defaultingType", "1.20"),),
    "VolumeBinding": (Later("shape", "1.22"),),
    "InterPodAffinity": (Later("ignorePreferredTermsOfExistingPods", "1.27"),),
    "DynamicResources": (Later("filterTimeout", "1.34"), Later("bindingTimeout", "1.35")),
}


def unknown_fields(document: dict[str, Any], release: Release, config_version: str) -> Iterator[Unknown]:
    """Those that the document has and the minor, or the version it is written in, does not know."""
    yield from _later(document, _DOCUMENT, (), release)
    for field in _ADDRESSES if config_version in _WITHOUT_ADDRESSES else ():
        if field in document:
            yield (field,), f'unknown field "{field}"', "it went away with v1beta3: see --bind-address, --secure-port"
    for index, profile in _listed(document, "profiles"):
        steps: tuple[str | int, ...] = ("profiles", index)
        yield from _later(profile, _PROFILE, steps, release)
        plugins = profile.get("plugins")
        yield from _later(plugins, _PLUGINS, (*steps, "plugins"), release)
        if isinstance(plugins, dict) and "multiPoint" in plugins and not has_multi_point(config_version):
            yield (*steps, "plugins", "multiPoint"), 'unknown field "multiPoint"', "it came with v1beta3"
        for at, config in _listed(profile, "pluginConfig"):
            later = _ARGS.get(str(config.get("name")), ())
            yield from _later(config.get("args"), later, (*steps, "pluginConfig", at, "args"), release)


def known_args(plugin: str, args: dict[str, Any], release: Release) -> dict[str, Any]:
    """Without the arguments that came later."""
    later = {field for field, since in _ARGS.get(plugin, ()) if not release.at_least(since)}
    return {field: value for field, value in args.items() if field not in later}


def _listed(document: Any, field: str) -> Iterator[tuple[int, dict[str, Any]]]:
    found = document.get(field)
    for index, each in enumerate(found if isinstance(found, list) else ()):
        if isinstance(each, dict):
            yield index, each


def _later(
    document: Any, fields: tuple[Later, ...], steps: tuple[str | int, ...], release: Release
) -> Iterator[Unknown]:
    for field, since in fields:
        if isinstance(document, dict) and field in document and not release.at_least(since):
            yield (*steps, field), f'unknown field "{field}"', f"it came with Kubernetes {since}"
