"""The scheduler of a run, before there is a cluster: its version, gates, plugins and configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.engine.registry import Registry
from ksched_cli.releases.default_plugins import plugin_names
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import NEWEST, Release, minor_in


def plugin_points(registry: Registry, current: Release) -> dict[str, tuple[str, ...]]:
    """The extension points of each plugin. A plugin of kube-scheduler that is not modelled has none."""
    return {**dict.fromkeys(plugin_names(current), ()), **registry.points(current)}


class SchedulerSpec(Struct, frozen=True):
    """`requested` is the version that the user or the server named, `points` the extension points of each plugin."""

    requested: str
    release: Release
    gates: FeatureGates
    registry: Registry
    points: Mapping[str, Collection[str]]
    configuration: SchedulerConfiguration

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self._about_version(), *self.configuration.notes)

    def _about_version(self) -> Iterator[str]:
        if not self.modelled:
            answered = f"the answers are those of {self.release.version}, the nearest that is"
            yield f"Kubernetes {self.requested} is not modelled; {answered}"
        if self.not_read:
            yield f"{self.not_read}; it is taken for what {self.release.config.newest} would say"

    @property
    def not_read(self) -> str:
        """The reason why kube-scheduler of that minor rejects the configuration, if its version is a later one."""
        later = self.configuration.restated_from
        return f"Kubernetes {self.release.version} does not read apiVersion {later}" if later else ""

    @property
    def warnings_of_runs(self) -> tuple[str, ...]:
        """The warnings, with those about given plugins that no profile of the configuration enables."""
        used = {
            plugin.name
            for profile in self.configuration.profiles
            for own in (profile.plugins.multi_point, *(each for _, each in profile.plugins.points()))
            for plugin in own.enabled
        }
        idle = sorted(self.registry.named - used)
        hint = "name it in the configuration (plugins.multiPoint)"
        return (*self.warnings, *(f"plugin {name} is given and no profile enables it: {hint}" for name in idle))

    @property
    def modelled(self) -> bool:
        """Whether results are those of the requested minor, and not of the nearest."""
        return minor_in(self.requested) == self.release.minor

    @property
    def stores_all_fields(self) -> bool:
        """Whether the API server of that minor and these gates stores every field of a pod."""
        return self.release is NEWEST and not self.gates.changed
