"""The Kubernetes minors that are modelled, and the default plugins, gates and configuration versions of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ksched_cli.errors import UsageError
from ksched_cli.releases import NEWEST_VERSION
from ksched_cli.releases.default_plugins import BEFORE_PLUGINS, BY_POINT, MULTI_POINT, DefaultPlugin
from ksched_cli.releases.gate_history import Gate, minor_of
from ksched_cli.releases.gates import FeatureGates, gates_of, is_there, parse_gates

GROUP = "kubescheduler.config.k8s.io"


@dataclass(frozen=True)
class Release:
    """One minor; `recorded` where answers are held against recordings of its kube-scheduler, else its rules were read
    from its source."""

    version: str
    recorded: bool = False

    @cached_property
    def minor(self) -> int:
        return minor_of(self.version)

    def at_least(self, version: str) -> bool:
        """Whether this is that minor or a later one."""
        return self.minor >= minor_of(version)

    def within(self, since: str, until: str) -> bool:
        """Whether it is one of these minors, both included; an empty string is no bound."""
        return (not since or self.minor >= minor_of(since)) and (not until or self.minor <= minor_of(until))

    @property
    def before_plugins(self) -> bool:
        """Whether the scheduler is made of predicates and priorities, which became plugins later."""
        return not self.at_least("1.17")

    @property
    def max_node_score(self) -> int:
        """The best score that a node can get; priorities gave up to 10."""
        return 10 if self.before_plugins else 100

    # Configuration

    @property
    def config_versions(self) -> tuple[str, ...]:
        """The apiVersions of configurations that it reads, the newest first."""
        return tuple(f"{GROUP}/{name}" for name, since, until in _CONFIG_VERSIONS if self.within(since, until))

    def knows_later(self, api_version: str) -> bool:
        """Whether this version of the configuration came after all that the minor reads."""
        group, _, name = api_version.rpartition("/")
        since = {each: minor for each, minor, _ in _CONFIG_VERSIONS}
        return group == GROUP and name in since and not self.within(since[name], "")

    def knows_no_more(self, api_version: str) -> bool:
        """Whether it was read by earlier minors."""
        group, _, name = api_version.rpartition("/")
        until = {each: minor for each, _, minor in _CONFIG_VERSIONS}
        return group == GROUP and bool(until.get(name)) and not self.within("", until[name])

    @property
    def newest_config_version(self) -> str:
        """Without the group."""
        return self.config_versions[0].rpartition("/")[2]

    def removed_plugins(self, config_version: str = "") -> frozenset[str]:
        """No plugin of these names may be enabled or configured any more (invalidPluginsByVersion)."""
        version = config_version or self.newest_config_version
        return frozenset(
            name for name, (first, since) in _REMOVED_PLUGINS.items() if version == first and self.at_least(since)
        )

    # Gates

    @property
    def known_gates(self) -> Mapping[str, Gate]:
        """The gates that can be set."""
        return gates_of(self.minor)

    def gates(self, overrides: str = "") -> FeatureGates:
        """`A=true,B=false` over the defaults; unknown and locked gates are refused, all at once."""
        return parse_gates(self.minor, overrides)

    # Default plugins

    def plugin_names(self) -> tuple[str, ...]:
        """Every default plugin of a configuration version that the minor reads, gated or not."""
        if self.before_plugins:
            return tuple(each.name for each in BEFORE_PLUGINS)
        read = {each.rpartition("/")[2] for each in self.config_versions}
        by_point = BY_POINT if not all(map(has_multi_point, read)) else {}
        listed = (*MULTI_POINT, *(plugin for own in by_point.values() for plugin in own))
        there = (
            each
            for each in listed
            if self.within(each.since, each.until) and (not each.config_version or each.config_version in read)
        )
        return tuple(dict.fromkeys(each.name for each in there if not each.gate or is_there(self.minor, each.gate)))

    def default_plugins(
        self, listed: Iterable[DefaultPlugin], gates: FeatureGates, config_version: str
    ) -> Iterator[DefaultPlugin]:
        """Of the listed default plugins those that the minor enables with these gates."""
        for each in listed:
            if (
                self.within(each.since, each.until)
                and (not each.gate or gates.enabled(each.gate))
                and not (each.unless and gates.enabled(each.unless))
                and each.config_version in ("", config_version)
            ):
                yield each


# The version of KubeSchedulerConfiguration, from and to which minor it is read; the newest first.
_CONFIG_VERSIONS = (
    ("v1", "1.25", ""),
    ("v1beta3", "1.23", "1.28"),
    ("v1beta2", "1.22", "1.27"),
    ("v1beta1", "1.19", "1.22"),
    ("v1alpha1", "", "1.18"),
)


def has_multi_point(config_version: str) -> bool:
    """Older versions list the plugins of each extension point."""
    return config_version not in ("v1beta1", "v1beta2")


# The configuration version that may not name these any more, and since which minor.
_REMOVED_PLUGINS = {
    "AzureDiskLimits": ("v1", "1.31"),
    "CinderLimits": ("v1", "1.31"),
    "EBSLimits": ("v1", "1.31"),
    "GCEPDLimits": ("v1", "1.31"),
    "NodeLabel": ("v1beta2", "1.22"),
    "NodePreferAvoidPods": ("v1beta2", "1.22"),
    "NodeResourcesLeastAllocated": ("v1beta2", "1.22"),
    "NodeResourcesMostAllocated": ("v1beta2", "1.22"),
    "RequestedToCapacityRatio": ("v1beta2", "1.22"),
    "SelectorSpread": ("v1", "1.25"),
    "ServiceAffinity": ("v1beta2", "1.22"),
}

# Minors that are modelled, and of which there are recordings.
_MODELLED = ("1.16", *(f"1.{minor}" for minor in range(19, minor_of(NEWEST_VERSION) + 1)))
_RECORDED = frozenset({"1.16", "1.21", "1.28", "1.33", "1.34", "1.35", "1.36"})

RELEASES: Mapping[str, Release] = {version: Release(version, version in _RECORDED) for version in _MODELLED}
NEWEST = RELEASES[NEWEST_VERSION]

_VERSION = re.compile(r"v?1\.(\d{1,3})\+?(?:[.+-].*)?", re.ASCII)


def release(version: str) -> Release:
    """A minor that is modelled."""
    found = RELEASES.get(version)
    if found is None:
        raise UsageError(f"Kubernetes {version} is not modelled; there is {', '.join(RELEASES)}")
    return found


def minor_in(version: str) -> int | None:
    """The minor of a version as people and servers write it: 1.34, v1.34.2, 1.34+; None where it is no version."""
    match = _VERSION.fullmatch(version.strip())
    return int(match[1]) if match else None


def nearest_release(version: str) -> Release:
    """The modelled minor that is nearest to the version; of two that are as near the later one."""
    wanted = minor_in(version)
    if wanted is None:
        modelled = ", ".join(RELEASES)
        raise UsageError(f"--kube-version {version}: write it as 1.36, or auto; modelled are {modelled}")
    return min(RELEASES.values(), key=lambda each: (abs(each.minor - wanted), -each.minor))
