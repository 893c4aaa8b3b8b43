"""What a run goes by, before any cluster: the version, its gates, the plugins that there are, and the configuration."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ksched_cli.config.load import default_config, load_config
from ksched_cli.errors import InputError, Problem
from ksched_cli.releases.default_plugins import plugin_names
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import NEWEST, Release, minor_in, nearest_release

if TYPE_CHECKING:
    from ksched_cli.config.model import SchedulerConfiguration
    from ksched_cli.engine.registry import Registry
    from ksched_cli.framework.interfaces import Plugin

AUTO = "auto"

# A file, a document, or nothing for the defaults.
Configuration: TypeAlias = "str | Mapping[str, Any] | None"
# A class, or where to find one.
PluginGiven: TypeAlias = "str | type[Plugin]"


def make_registry(given: Sequence[PluginGiven] = (), current: Release = NEWEST) -> Registry:
    """The minor's in-tree plugins, those that installed packages announce, and those given, as classes or as
    `module:Class`."""
    from ksched_cli.engine.registry import Registry, add_class, add_installed, add_named
    from ksched_cli.plugins.in_tree import plugins_of

    registry = Registry(plugins_of(current))
    add_installed(registry)
    for each in given:
        if isinstance(each, str):
            add_named(registry, each)
        else:
            add_class(registry, each)
    return registry


def plugin_points(registry: Registry, current: Release) -> dict[str, tuple[str, ...]]:
    """Where each plugin takes part. One of kube-scheduler's that is not modelled is known, and takes part nowhere."""
    return {**dict.fromkeys(plugin_names(current), ()), **registry.points(current)}


@dataclass(frozen=True)
class SchedulerSpec:
    """What a run goes by, before any cluster. `asked` is the version that the user or the server named."""

    asked: str
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
            yield f"Kubernetes {self.asked} is not modelled; {answered}"
        if self.not_read:
            yield f"{self.not_read}; it is taken for what {self.release.config.newest} would say"

    @property
    def not_read(self) -> str:
        """Why kube-scheduler of that minor would not take the configuration, which is of a later version."""
        later = self.configuration.restated_from
        return f"Kubernetes {self.release.version} does not read apiVersion {later}" if later else ""

    @property
    def warnings_of_runs(self) -> tuple[str, ...]:
        """Giving a plugin does not switch it on: a configuration does, as in kube-scheduler."""
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
        """Whether answers are those of the minor that was asked for, and not of the nearest."""
        return minor_in(self.asked) == self.release.minor


def setting_of(
    config: Configuration,
    kube_version: str,
    feature_gates: str,
    plugins: Sequence[PluginGiven],
    server_version: str = "",
) -> SchedulerSpec:
    asked = kube_version
    if asked == AUTO:
        # What a server calls itself is no mistake of the user's, even if it is no version at all.
        asked = server_version or NEWEST.version
        current = NEWEST if minor_in(asked) is None else nearest_release(asked)
    else:
        current = nearest_release(asked)
    gates = current.gates(feature_gates)
    registry = make_registry(plugins, current)
    points = plugin_points(registry, current)
    configuration = read_configuration(config, current, gates, points, registry.models())
    return SchedulerSpec(asked, current, gates, registry, points, configuration)


def read_configuration(
    given: Configuration,
    current: Release,
    gates: FeatureGates,
    points: Mapping[str, Collection[str]],
    own_models: Mapping[str, type[Any]],
) -> SchedulerConfiguration:
    """The configuration of the file or document, or the release's defaults."""
    if given is None:
        return default_config(current, gates)
    if isinstance(given, Mapping):
        return load_config(json.dumps(given), "configuration", current, gates, points, own_models)
    try:
        text = Path(given).read_bytes()
    except OSError as problem:
        raise InputError(Problem(problem.strerror or str(problem), source=given)) from problem
    return load_config(text, given, current, gates, points, own_models)
