"""The versions of KubeSchedulerConfiguration that each minor reads."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.gates import minor_of

GROUP = "kubescheduler.config.k8s.io"

# The version, and from and to which minor it is read; the newest first.
_CONFIG_VERSIONS = (
    ("v1", "1.25", ""),
    ("v1beta3", "1.23", "1.28"),
    ("v1beta2", "1.22", "1.27"),
    ("v1beta1", "1.19", "1.22"),
    ("v1alpha2", "1.18", "1.18"),
    ("v1alpha1", "", "1.18"),
)


def within(minor: int, since: str, until: str) -> bool:
    """Whether the minor is one of these, both included; an empty string is no bound."""
    return (not since or minor >= minor_of(since)) and (not until or minor <= minor_of(until))


def has_multi_point(config_version: str) -> bool:
    """Older versions list the plugins of each extension point."""
    return config_version not in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2")


# The configuration version that may not name these any more, and since which minor.
_REMOVED_PLUGINS = {
    names.AZURE_DISK_LIMITS: ("v1", "1.31"),
    names.CINDER_LIMITS: ("v1", "1.31"),
    names.EBS_LIMITS: ("v1", "1.31"),
    names.GCEPD_LIMITS: ("v1", "1.31"),
    names.NODE_LABEL: ("v1beta2", "1.22"),
    names.NODE_PREFER_AVOID_PODS: ("v1beta2", "1.22"),
    names.NODE_RESOURCES_LEAST_ALLOCATED: ("v1beta2", "1.22"),
    names.NODE_RESOURCES_MOST_ALLOCATED: ("v1beta2", "1.22"),
    names.REQUESTED_TO_CAPACITY_RATIO: ("v1beta2", "1.22"),
    names.SELECTOR_SPREAD: ("v1", "1.25"),
    names.SERVICE_AFFINITY: ("v1beta2", "1.22"),
}


class ConfigVersions(Struct, frozen=True, dict=True):
    """The versions that one minor reads."""

    minor: int

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The apiVersions, the newest first."""
        return tuple(f"{GROUP}/{name}" for name, since, until in _CONFIG_VERSIONS if within(self.minor, since, until))

    @property
    def newest(self) -> str:
        """Without the group."""
        return self.read[0].rpartition("/")[2]

    def came_later(self, api_version: str) -> bool:
        """Whether this apiVersion came after all that the minor reads."""
        group, _, name = api_version.rpartition("/")
        since = {each: minor for each, minor, _ in _CONFIG_VERSIONS}
        return group == GROUP and name in since and not within(self.minor, since[name], "")

    def was_removed(self, api_version: str) -> bool:
        """Whether earlier minors read this apiVersion and this one does not."""
        group, _, name = api_version.rpartition("/")
        until = {each: minor for each, _, minor in _CONFIG_VERSIONS}
        return group == GROUP and bool(until.get(name)) and not within(self.minor, "", until[name])

    def removed_plugins(self, version: str = "") -> frozenset[str]:
        """Names of plugins that may not be enabled or configured any more (invalidPluginsByVersion)."""
        version = version or self.newest
        return frozenset(
            name
            for name, (first, since) in _REMOVED_PLUGINS.items()
            if version == first and within(self.minor, since, "")
        )
