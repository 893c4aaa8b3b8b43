"""The effective configuration as a document, after defaults, for `ksched config view`. To read the document gives the
same configuration again. Comments and the order of a file are not kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ksched_cli.config.model import KubeSchedulerProfile, PluginSet, SchedulerConfiguration, merge_with_defaults
from ksched_cli.config.plugin_args import LATE_ARGS, args_by_default, args_of, default_args
from ksched_cli.config.reading import ALPHA_VERSIONS, known_args
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release, has_multi_point


def configuration_document(
    configuration: SchedulerConfiguration,
    release: Release,
    gates: FeatureGates,
    own_models: Mapping[str, type[Any]] | None = None,
) -> dict[str, Any]:
    """The configuration with all defaults, also of out-of-tree plugins; a Policy for predicates and priorities."""
    if release.before_plugins:
        from ksched_cli.config.legacy.algorithm import algorithm_document

        return algorithm_document(configuration, release, gates)
    document: dict[str, Any] = {
        "apiVersion": release.config.read[0],
        "kind": "KubeSchedulerConfiguration",
        **({"parallelism": configuration.parallelism} if ConfigurationRules.of(release).has_parallelism else {}),
        "percentageOfNodesToScore": configuration.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": configuration.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": configuration.pod_max_backoff_seconds,
        "profiles": [_profile_view(each, release, gates, own_models or {}) for each in configuration.profiles],
    }
    if configuration.extenders:
        document["extenders"] = [_filled(msgspec.to_builtins(each)) for each in configuration.extenders]
    if release.config.newest not in ALPHA_VERSIONS:
        return document
    from ksched_cli.config.legacy.algorithm import with_first_fields

    return with_first_fields(document)


def _profile_view(
    profile: KubeSchedulerProfile, release: Release, gates: FeatureGates, own_models: Mapping[str, type[Any]]
) -> dict[str, Any]:
    merged = merge_with_defaults(profile, release, gates)
    plugins = {name: plugin_set(own) for name, own in merged.points() if own.enabled or own.disabled}
    # The default plugins are switched off as a whole and listed one by one, so that the list is all there is.
    if has_multi_point(release.config.newest):
        plugins["multiPoint"] = {**plugin_set(merged.multi_point), "disabled": [{"name": "*"}]}
    else:
        plugins = {name: {**own, "disabled": [{"name": "*"}]} for name, own in plugins.items()}
    named = {plugin.name for plugin in merged.multi_point.enabled}
    named |= {plugin.name for _, own in merged.points() for plugin in own.enabled} | set(profile.args)
    named -= frozenset() if ConfigurationRules.of(release).every_plugin_takes_args else LATE_ARGS
    document: dict[str, Any] = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    document["plugins"] = plugins
    args = {name: _args(name, profile.args, release, gates, own_models) for name in sorted(named)}
    document["pluginConfig"] = [{"name": name, "args": own} for name, own in args.items() if own is not None]
    return document


def plugin_set(own: PluginSet) -> dict[str, Any]:
    """The lists of one extension point, as a profile has them."""
    document: dict[str, Any] = {}
    if own.enabled:
        document["enabled"] = [
            {"name": plugin.name, **({"weight": plugin.weight} if plugin.weight else {})} for plugin in own.enabled
        ]
    if own.disabled:
        document["disabled"] = [{"name": plugin.name} for plugin in own.disabled]
    return document


def _args(
    name: str, given: Mapping[str, Any], release: Release, gates: FeatureGates, own_models: Mapping[str, type[Any]]
) -> Any:
    """Typed arguments with their defaults, or what a plugin without a model was given."""
    if name in own_models:
        own = given.get(name)
        return _filled(msgspec.to_builtins(default_args(name, own_models[name]) if own is None else own))
    args = given.get(name, args_by_default(name, gates) if args_of(name, release) is not None else None)
    if not isinstance(args, msgspec.Struct):
        return args
    known = known_args(name, _filled(msgspec.to_builtins(args)), release)
    return known if known or name in given else None


def _filled(document: dict[str, Any]) -> dict[str, Any]:
    """The value without empty fields."""
    return {key: value for key, value in document.items() if value not in (None, "", [], {}, ())}
