"""Loads a KubeSchedulerConfiguration: decoded strictly and checked, with every mistake in it at once.

A profile of a newer configuration version can be rewritten for a minor that does not read that version (`restate`).
`configuration_schema` is the JSON Schema of the file, for editors and CI.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import schema_components
from msgspec.structs import replace

from ksched_cli.api.conversion import path_steps
from ksched_cli.api.defaults import DEFAULT_SCHEDULER
from ksched_cli.config.model import (
    Extender,
    KubeSchedulerProfile,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
    ResolvedProfile,
    SchedulerConfiguration,
    default_plugins,
    expand_profile,
    merge_with_defaults,
)
from ksched_cli.config.plugin_args import (
    ARGS_OF,
    CPU_AND_MEMORY,
    LATE_ARGS,
    STRATEGY_OF,
    NodeResourcesFitArgs,
    args_of,
    completed,
    needs_arguments,
    own_args,
)
from ksched_cli.config.reading import (
    ADDRESSES,
    ALPHA_VERSIONS,
    KIND,
    MIGRATE,
    ClientConnection,
    LeaderElection,
    Reading,
    address_complaints,
    is_policy,
    known_args,
    read_one,
    unknown_fields,
)
from ksched_cli.config.validate_args import args_complaints
from ksched_cli.errors import ConfigError, did_you_mean
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release, has_multi_point
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT, REQUESTED_TO_CAPACITY_RATIO

if TYPE_CHECKING:
    from ksched_cli.api.yaml_reader import Document


class _ProfileDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ConfigDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """A file as it is decoded. Addresses and profiling are ignored: they do not decide where a pod goes."""

    api_version: str = ""
    kind: str = ""
    parallelism: int = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    healthz_bind_address: str | None = None
    metrics_bind_address: str | None = None
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: int | None = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: tuple[_ProfileDocument, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False


def load_config(
    text: str | bytes,
    source: str,
    release: Release,
    gates: FeatureGates,
    extension_points_of: Mapping[str, Collection[str]],
    own_models: Mapping[str, type[Any]] | None = None,
) -> SchedulerConfiguration:
    """The configuration of the file. ConfigError has all its problems. `own_models` check arguments of plugins."""
    document = read_one(text, source)
    if is_policy(document.value):
        from ksched_cli.config.legacy.load import PolicyReading

        return PolicyReading(document, source, release, gates).load()
    if release.before_plugins and document.value.get("apiVersion") in release.config.read:
        from ksched_cli.config.legacy.load import AlphaReading

        return AlphaReading(document, source, release, gates).load(extension_points_of, own_models or {})
    return _Loader(document, source, release, gates, extension_points_of, own_models or {}).load()


class _Loader(Reading):
    """Reads one file, and collects its mistakes."""

    def __init__(
        self,
        document: Document,
        source: str,
        release: Release,
        gates: FeatureGates,
        points_of: Mapping[str, Collection[str]],
        own_models: Mapping[str, type[Any]],
    ) -> None:
        super().__init__(document, source, release, gates)
        self._points_of = points_of
        self._own_models = own_models
        self._restated_from = ""
        # What has no effect.
        self._notes: list[str] = []

    def load(self) -> SchedulerConfiguration:
        self._check_identity()
        self._read_first_profiles()
        self._check_fields()
        raw = self.decode(self.document.value, ConfigDocument, ())
        self.stop_if_mistaken()
        profiles = self._profiles(raw.profiles or (_ProfileDocument(),))
        if self._restated_from:
            self.stop_if_mistaken()
            profiles = self._restated(profiles)
        self._check_serving(raw)
        self._check_numbers(raw)
        self.check_extenders(raw.extenders)
        for index, profile in enumerate(profiles):
            self._check_profile(profile, index)
            self._note_unknown_plugins(profile, index)
        self._check_common_queue_sort(profiles)
        self.stop_if_mistaken()
        return SchedulerConfiguration(
            profiles=tuple(profiles),
            parallelism=raw.parallelism,
            percentage_of_nodes_to_score=raw.percentage_of_nodes_to_score,
            pod_initial_backoff_seconds=raw.pod_initial_backoff_seconds,
            pod_max_backoff_seconds=raw.pod_max_backoff_seconds,
            extenders=raw.extenders,
            restated_from=self._restated_from,
            notes=tuple(self._notes),
        )

    def _check_identity(self) -> None:
        value = self.document.value
        # A value that is no text is no version; the message shows the value.
        version, kind = str(value.get("apiVersion") or ""), value.get("kind", "")
        if kind != KIND:
            self.complain(f"expected kind {KIND}, got {kind or 'none'}", ("kind",))
        if self.release.config.came_later(version):
            # kube-scheduler would refuse it. To compare minors it is rewritten for the newest version that it reads.
            self._restated_from = version
        elif version not in self.release.config.read:
            accepted = " or ".join(self.release.config.read)
            text = f"Kubernetes {self.release.version} does not read apiVersion {version or 'none'}"
            rewritten = f"; {MIGRATE}" if self.release.config.was_removed(version) else ""
            self.complain(text, ("apiVersion",), f"use {accepted}{rewritten}")
        self.stop_if_mistaken()

    def _read_first_profiles(self) -> None:
        """Rewrite the fields that only the alpha versions have as the fields of later versions."""
        value = self.document.value
        if self._restated_from or self._version not in ALPHA_VERSIONS:
            return
        from ksched_cli.config.legacy.algorithm import with_later_fields

        later, mistakes = with_later_fields(value)
        for steps, text in mistakes:
            self.complain(text, steps)
        self.document = dataclasses.replace(self.document, value=later)

    def _check_fields(self) -> None:
        """Complain about fields that came later. A file of a later version may have those that older fields replace."""
        if not self._restated_from:
            version = self._config_version or self.release.config.newest
            for steps, text, hint in unknown_fields(self.document.value, self.release, version):
                self.complain(text, steps, hint)
            self.stop_if_mistaken()

    # Profiles

    def _profiles(self, raw: Sequence[_ProfileDocument]) -> list[KubeSchedulerProfile]:
        profiles = []
        for index, each in enumerate(raw):
            name = each.scheduler_name
            if name is None:
                # Several profiles must all be named; only a lone one has a name to fall back on.
                name = DEFAULT_SCHEDULER if len(raw) == 1 else ""
            args = self._args(each.plugin_config, index)
            profiles.append(
                KubeSchedulerProfile(name, each.percentage_of_nodes_to_score, each.plugins, args, self._config_version)
            )
        return profiles

    @property
    def _version(self) -> str:
        """The apiVersion of the file without its group."""
        return str(self.document.value["apiVersion"]).rpartition("/")[2]

    @property
    def _config_version(self) -> str:
        """Empty for the newest version that the minor reads, to which newer ones are rewritten."""
        return "" if self._restated_from or self._version == self.release.config.newest else self._version

    def _restated(self, profiles: Sequence[KubeSchedulerProfile]) -> list[KubeSchedulerProfile]:
        restated = []
        if len(profiles) > 1 and not ConfigurationRules.of(self.release).has_profiles:
            text = f"Kubernetes {self.release.version} has one profile, and this configuration has {len(profiles)}"
            self.complain(text, ("profiles",), "keep the profile of one scheduler")
        for index, profile in enumerate(profiles):
            older, not_expressed = restate(profile, self.release, self.gates, self._points_of)
            restated.append(older)
            for plugin, text in not_expressed:
                problem = f"Kubernetes {self.release.version} cannot express {text} of {plugin}"
                self.complain(problem, ("profiles", index, "pluginConfig"))
        return restated

    def _args(self, configs: Sequence[PluginConfig], profile: int) -> dict[str, Any]:
        args: dict[str, Any] = {}
        for index, each in enumerate(configs):
            steps: tuple[str | int, ...] = ("profiles", profile, "pluginConfig", index)
            if each.name in args:
                self.complain(f'plugin "{each.name}" is configured twice', steps)
            if each.name in self.release.config.removed_plugins(self._config_version):
                self.complain(f'plugin "{each.name}" does not exist any more', steps)
            args[each.name] = self._typed_args(each, (*steps, "args"))
        return args

    def _typed_args(self, config: PluginConfig, steps: tuple[str | int, ...]) -> Any:
        if config.name in self._own_models:
            return self.own_args(self._own_models[config.name], config.args, steps)
        struct = args_of(config.name, self.release)
        if struct is None:
            return config.args
        takes_args = config.name not in LATE_ARGS or ConfigurationRules.of(self.release).every_plugin_takes_args
        if not takes_args and not self._restated_from:
            text = f"{config.name} takes no arguments in Kubernetes {self.release.version}: they have no effect"
            self._notes.append(self.warning(text, steps))
            return struct()
        before = len(self.problems)
        typed = self.decode(config.args, struct, steps)
        if len(self.problems) > before:
            return None
        typed = completed(typed, config.args, self.gates, self._version)
        for path, text in args_complaints(typed, self.gates, self.release):
            self.complain(text, (*steps, *path_steps(path)))
        return typed

    def _check_profile(self, profile: KubeSchedulerProfile, index: int) -> None:
        steps = ("profiles", index)
        if not profile.scheduler_name:
            self.complain("a profile needs a schedulerName", (*steps, "schedulerName"))
        self.check_percentage(profile.percentage_of_nodes_to_score, steps)
        for name, own in profile.plugins.points():
            for at, plugin in enumerate(own.enabled):
                if plugin.name in self.release.config.removed_plugins(profile.config_version):
                    path = (*steps, "plugins", name, "enabled", at)
                    self.complain(f'plugin "{plugin.name}" does not exist any more', path)
        where = f"profiles[{index}]"
        try:
            resolved = expand_profile(profile, self.release, self.gates, self._points_of, self.source, where)
            self._check_scorers(profile, steps, resolved)
            self._check_own_args(profile, steps, resolved)
        except ConfigError as mistake:
            for problem in mistake.problems:
                self.complain(problem.message, tuple(path_steps(problem.path)), problem.hint)

    def _note_unknown_plugins(self, profile: KubeSchedulerProfile, index: int) -> None:
        """Note plugins that do not exist and are disabled or configured, which kube-scheduler ignores in silence."""
        steps: tuple[str | int, ...] = ("profiles", index)
        for point, own in (("multiPoint", profile.plugins.multi_point), *profile.plugins.points()):
            for at, plugin in enumerate(own.disabled):
                if plugin.name != "*" and plugin.name not in self._points_of:
                    where = (*steps, "plugins", point, "disabled", at)
                    self._note_unknown(plugin.name, "to disable it has", where)
        for at, name in enumerate(profile.args):
            if name not in self._points_of:
                self._note_unknown(name, "its arguments have", (*steps, "pluginConfig", at))

    def _note_unknown(self, name: str, setting: str, steps: tuple[str | int, ...]) -> None:
        hint = did_you_mean(name, self._points_of, cutoff=0.7)
        self._notes.append(self.warning(f'plugin "{name}" does not exist: {setting} no effect', steps, hint))

    def _check_scorers(
        self, profile: KubeSchedulerProfile, steps: Sequence[str | int], resolved: ResolvedProfile
    ) -> None:
        """Check that either plugins or a strategy score resources in v1beta1, and the arguments without a default."""
        scorers = [name for name in resolved.points["score"] if name in STRATEGY_OF]
        if profile.config_version == "v1beta1" and scorers and NODE_RESOURCES_FIT in resolved.points["score"]:
            text = f"{NODE_RESOURCES_FIT} cannot score beside {' and '.join(scorers)}"
            self.complain(text, (*steps, "plugins", "score"), "disable one or the other")
        if REQUESTED_TO_CAPACITY_RATIO in scorers and REQUESTED_TO_CAPACITY_RATIO not in profile.args:
            self.complain(
                f"{REQUESTED_TO_CAPACITY_RATIO} cannot do without a shape among its arguments", (*steps, "pluginConfig")
            )

    def _check_own_args(
        self, profile: KubeSchedulerProfile, steps: Sequence[str | int], resolved: ResolvedProfile
    ) -> None:
        """A plugin that is in use and has arguments of its own may have some that must be given."""
        for name in resolved.args:
            if name in self._own_models and name not in profile.args:
                _, mistakes = own_args(self._own_models[name], {})
                if mistakes:
                    self.complain(needs_arguments(name, mistakes), (*steps, "pluginConfig"))

    def _check_common_queue_sort(self, profiles: Sequence[KubeSchedulerProfile]) -> None:
        """Check that all profiles sort the queue with the same plugins, and that their names differ."""
        seen: dict[str, int] = {}
        for index, profile in enumerate(profiles):
            path: tuple[str | int, ...] = ("profiles", index, "schedulerName")
            if profile.scheduler_name in seen:
                first = seen[profile.scheduler_name]
                self.complain(f'"{profile.scheduler_name}" is the name of profiles[{first}] too', path)
            seen.setdefault(profile.scheduler_name, index)
        merged = [merge_with_defaults(each, self.release, self.gates).queue_sort for each in profiles]
        for index, own in enumerate(merged[1:], start=1):
            if own != merged[0]:
                path = ("profiles", index, "plugins", "queueSort")
                self.complain("must be the same for all profiles", path)

    # Numbers and extenders

    def _check_serving(self, raw: ConfigDocument) -> None:
        self.check_serving(raw.client_connection, raw.leader_election)
        addresses = (raw.healthz_bind_address, raw.metrics_bind_address)
        for name, text in address_complaints(dict(zip(ADDRESSES, addresses, strict=True)), self.release):
            self.complain(text, (name,))

    def _check_numbers(self, raw: ConfigDocument) -> None:
        if raw.parallelism <= 0:
            self.complain(f"{raw.parallelism} is not greater than zero", ("parallelism",))
        self.check_percentage(raw.percentage_of_nodes_to_score, ())
        if raw.pod_initial_backoff_seconds <= 0:
            text = f"{raw.pod_initial_backoff_seconds} is not greater than zero"
            self.complain(text, ("podInitialBackoffSeconds",))
        if raw.pod_max_backoff_seconds < raw.pod_initial_backoff_seconds:
            text = f"{raw.pod_max_backoff_seconds} is less than podInitialBackoffSeconds"
            self.complain(text, ("podMaxBackoffSeconds",))


# (plugin, setting)
NotExpressed = tuple[str, str]
_ALL = PluginRef("*")
_PLUGIN_OF = {strategy: plugin for plugin, strategy in STRATEGY_OF.items()}
_DEFAULT = _PLUGIN_OF["LeastAllocated"]


def restate(
    profile: KubeSchedulerProfile, release: Release, gates: FeatureGates, points_of: Mapping[str, Collection[str]]
) -> tuple[KubeSchedulerProfile, list[NotExpressed]]:
    """The rewritten profile, and the settings that the minor cannot express."""
    if release.before_plugins:
        from ksched_cli.config.legacy.load import restate_algorithm

        return restate_algorithm(profile, release, gates)
    not_expressed: list[NotExpressed] = []
    rules = ConfigurationRules.of(release)
    if not has_multi_point(release.config.newest):
        defaults = default_plugins(release, gates)
        profile = replace(profile, plugins=_spread_out(profile.plugins, defaults, points_of))
    if not rules.fit_has_strategies:
        profile = _with_strategy_as_plugin(profile, not_expressed)
    if not rules.every_plugin_takes_args:
        added = profile.args.get(names.NODE_AFFINITY)
        if added is not None and added.added_affinity is not None:
            not_expressed.append((names.NODE_AFFINITY, "addedAffinity"))
    affinity, ignores = profile.args.get(names.INTER_POD_AFFINITY), "ignorePreferredTermsOfExistingPods"
    is_known = known_args(names.INTER_POD_AFFINITY, {ignores: True}, release)
    if affinity is not None and affinity.ignore_preferred_terms_of_existing_pods and not is_known:
        not_expressed.append((names.INTER_POD_AFFINITY, ignores))
    return profile, not_expressed


def _spread_out(plugins: Plugins, defaults: Plugins, points_of: Mapping[str, Collection[str]]) -> Plugins:
    """The content of MultiPoint, written at every point that it covers. The point's own lists come first."""
    everywhere, default_sets = plugins.multi_point, dict(defaults.points())
    sets = {}
    for point, own in plugins.points():
        spoken_for = {plugin.name for plugin in (*own.enabled, *own.disabled)}
        by_default = {plugin.name for plugin in default_sets[point].enabled}
        enabled, disabled = list(own.enabled), list(own.disabled)
        about = {_ALL.name, *by_default}
        disabled += [each for each in everywhere.disabled if each.name in about and each.name not in spoken_for]
        for plugin in everywhere.enabled:
            here = point in points_of.get(plugin.name, ()) and plugin.name not in spoken_for
            # A default plugin is where it was; only its weight may be another one.
            if here and (plugin.name not in by_default or (point == "score" and plugin.weight)):
                enabled.append(plugin)
        sets[point] = PluginSet(tuple(enabled), tuple(disabled))
    return Plugins.of(sets)


def _with_strategy_as_plugin(profile: KubeSchedulerProfile, not_expressed: list[NotExpressed]) -> KubeSchedulerProfile:
    fit = profile.args.get(names.NODE_RESOURCES_FIT) or NodeResourcesFitArgs()
    strategy = fit.scoring_strategy
    plugin = _PLUGIN_OF[strategy.type]
    is_ratio = plugin == names.REQUESTED_TO_CAPACITY_RATIO
    args: dict[str, Any] = dict(profile.args)
    args[plugin] = strategy.ratio_args() if is_ratio else ARGS_OF[plugin](resources=strategy.resources)
    if names.NODE_RESOURCES_FIT in args:
        args[names.NODE_RESOURCES_FIT] = replace(fit, scoring_strategy=NodeResourcesFitArgs().scoring_strategy)
    balanced = args.pop(names.NODE_RESOURCES_BALANCED_ALLOCATION, None)
    if balanced is not None and set(balanced.resources) != set(CPU_AND_MEMORY):
        not_expressed.append((names.NODE_RESOURCES_BALANCED_ALLOCATION, "resources other than cpu and memory"))
    score = _renamed(profile.plugins.score, plugin)
    return replace(profile, plugins=replace(profile.plugins, score=score), args=args)


def _renamed(score: PluginSet, plugin: str) -> PluginSet:
    """The strategy scores under a name of its own."""
    enabled = tuple(
        replace(each, name=plugin) if each.name == names.NODE_RESOURCES_FIT else each for each in score.enabled
    )
    disabled = tuple(
        replace(each, name=_DEFAULT) if each.name == names.NODE_RESOURCES_FIT else each for each in score.disabled
    )
    off = {each.name for each in disabled}
    if plugin != _DEFAULT and not off & {_DEFAULT, _ALL.name}:
        disabled = (*disabled, PluginRef(_DEFAULT))
        if plugin not in {each.name for each in enabled}:
            enabled = (*enabled, PluginRef(plugin, 1))
    return PluginSet(enabled, disabled)


DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"


def configuration_schema(release: Release, models: Mapping[str, type[Any]] | None = None) -> dict[str, Any]:
    """The JSON Schema, derived from the types that decode a file. `models` are the models of arguments in the rooms of
    plugins. Every field may be null: Go reads null as an absent field."""
    # Before there were profiles a file had no arguments of plugins but one's own.
    document_type: type[Struct] = ConfigDocument
    if release.before_plugins:
        from ksched_cli.config.legacy.load import AlphaDocument

        document_type = AlphaDocument
    named = () if release.before_plugins else ARGS_OF
    args = {name: struct for name in named if (struct := args_of(name, release)) is not None} | dict(models or {})
    (root, *_), components = schema_components([document_type, *args.values()], ref_template=_REF)
    definitions = {name: _nullable(component) for name, component in components.items()}
    document = dict(definitions.pop(root["$ref"].rpartition("/")[2]))
    document["properties"] = {
        **document["properties"],
        "apiVersion": {"enum": list(release.config.read)},
        "kind": {"const": "KubeSchedulerConfiguration"},
    }
    document["required"] = ["apiVersion", "kind"]
    definitions["PluginConfig"] = _typed_by_name(definitions["PluginConfig"], args)
    title = f"KubeSchedulerConfiguration of Kubernetes {release.version}"
    return {"$schema": DIALECT, **document, "title": title, "$defs": definitions}


def _nullable(component: dict[str, Any]) -> dict[str, Any]:
    """Every optional field may be null; an editor has no use for defaults and Python's docstrings."""
    component = {key: value for key, value in component.items() if key != "description"}
    properties = {
        name: _or_null({key: value for key, value in each.items() if key != "default"})
        for name, each in component.get("properties", {}).items()
    }
    return {**component, "properties": properties} if properties else component


def _or_null(each: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [each, {"type": "null"}]}


def _typed_by_name(component: dict[str, Any], args: Mapping[str, type[Any]]) -> dict[str, Any]:
    """The arguments of an in-tree plugin have that plugin's type."""
    cases = [
        {
            "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
            "then": {"properties": {"args": _or_null({"$ref": _REF.format(name=struct.__name__)})}},
        }
        for name, struct in args.items()
    ]
    return {**component, "allOf": cases}
