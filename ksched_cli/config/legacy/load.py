"""Loads configurations of predicates and priorities: a Policy, and v1alpha1, which names a Policy or a provider.

`restate_algorithm` goes the other way: it rewrites a profile of plugins as predicates and priorities, as far as these
can express it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.defaults import DEFAULT_SCHEDULER
from ksched_cli.config.legacy.algorithm import ALWAYS, DEFAULT_PROVIDER, ORDER, PREEMPTION, PROVIDERS, Algorithm
from ksched_cli.config.legacy.policy import (
    PLUGIN_OF_PREDICATE,
    PLUGIN_OF_PRIORITY,
    PREDICATES,
    Complaint,
    Policy,
    policy_complaints,
    policy_document,
    policy_profile,
)
from ksched_cli.config.model import (
    EXTENSION_POINT_FIELDS,
    KubeSchedulerProfile,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
    SchedulerConfiguration,
    default_weights,
    expand_profile,
)
from ksched_cli.config.plugin_args import (
    ARGS_OF,
    CPU_AND_MEMORY,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
    with_defaults,
)
from ksched_cli.config.reading import KIND, MIGRATE, ClientConnection, LeaderElection, Reading, read_one
from ksched_cli.errors import ConfigError
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.configuration import POLICY, ConfigurationRules
from ksched_cli.releases.default_plugins import MULTI_POINT, plugin_names
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import NEWEST, Release

if TYPE_CHECKING:
    from ksched_cli.config.load import NotExpressed


class PolicyReading(Reading):
    """A Policy, alone or in its ConfigMap."""

    def load(self) -> SchedulerConfiguration:
        """The configuration of a kube-scheduler whose only configuration is this file."""
        policy, notes = self.policy(), tuple[str, ...]()
        if self.release.before_plugins:
            algorithm = Algorithm(self.release, self.gates)
            algorithm.add_policy(policy)
            profile = algorithm.profile(DEFAULT_SCHEDULER, policy.hard_pod_affinity_symmetric_weight)
            mistakes, notes = algorithm.complaints, self.warnings(algorithm.idle)
        else:
            profile, mistakes = policy_profile(policy, self.release, self.gates)
        self.check(policy, mistakes)
        return SchedulerConfiguration(profiles=(profile,), extenders=policy.as_extenders(), notes=notes)

    def policy(self) -> Policy:
        if not ConfigurationRules.of(self.release).reads_policy:
            text = f"Kubernetes {self.release.version} reads no Policy: it went away with {POLICY}"
            self.complain(text, ("kind",), MIGRATE)
        self.stop_if_mistaken()
        policy: Policy = self.decode(policy_document(self.document.value, self.source), Policy, ())
        self.stop_if_mistaken()
        return policy

    def check(self, policy: Policy, mistakes: list[Complaint]) -> None:
        for steps, text in (*policy_complaints(policy, self.release), *mistakes):
            self.complain(text, steps)
        self.check_extenders(policy.as_extenders())
        self.stop_if_mistaken()

    def warnings(self, notes: list[Complaint]) -> tuple[str, ...]:
        """Warnings about settings that have no effect."""
        return tuple(self.warning(text, steps) for steps, text in notes)


class _PolicyFile(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    path: str = ""


class _PolicyConfigMap(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    namespace: str = ""
    name: str = ""


class _PolicySource(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    file: _PolicyFile | None = None
    config_map: _PolicyConfigMap | None = None


class _AlgorithmSource(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    provider: str | None = None
    policy: _PolicySource | None = None


class _AlphaLeaderElection(LeaderElection, frozen=True, forbid_unknown_fields=True):
    lock_object_namespace: str = ""
    lock_object_name: str = ""


class _AlphaPlugins(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Out-of-tree plugins of v1alpha1, which come after predicates and priorities. There were no others yet."""

    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    unreserve: PluginSet = PluginSet()


class AlphaDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """KubeSchedulerConfiguration of v1alpha1. Addresses and profiling are ignored."""

    api_version: str = ""
    kind: str = ""
    scheduler_name: str = ""
    algorithm_source: _AlgorithmSource = _AlgorithmSource()
    hard_pod_affinity_symmetric_weight: int = 0
    leader_election: _AlphaLeaderElection = _AlphaLeaderElection()
    client_connection: ClientConnection = ClientConnection()
    healthz_bind_address: str | None = None
    metrics_bind_address: str | None = None
    enable_profiling: bool = False
    enable_contention_profiling: bool = False
    disable_preemption: bool = False
    percentage_of_nodes_to_score: int = 0
    bind_timeout_seconds: int | None = None
    plugins: _AlphaPlugins = _AlphaPlugins()
    plugin_config: tuple[PluginConfig, ...] = ()


# Points that were something else then, or went away.
_NOT_MODELLED = {"post_filter": "postFilter", "unreserve": "unreserve"}


class AlphaReading(Reading):
    """A v1alpha1 file of the time of predicates."""

    def load(
        self, points_of: Mapping[str, Collection[str]], own_models: Mapping[str, type[Any]]
    ) -> SchedulerConfiguration:
        if self.document.value.get("kind") != KIND:
            self.complain(f"expected kind {KIND}, got {self.document.value.get('kind') or 'none'}", ("kind",))
        raw: AlphaDocument = self.decode(self.document.value, AlphaDocument, ())
        self.stop_if_mistaken()
        self._check_numbers(raw)
        self._check_plugins(raw.plugins)
        algorithm = Algorithm(self.release, self.gates)
        policy, notes = self._add_source(raw.algorithm_source, algorithm)
        # The weight that a Policy gives comes before that of the file.
        weight = (policy.hard_pod_affinity_symmetric_weight if policy else 0) or raw.hard_pod_affinity_symmetric_weight
        name = raw.scheduler_name or DEFAULT_SCHEDULER
        profile = algorithm.profile(name, weight, preempts=not raw.disable_preemption)
        profile = replace(
            profile,
            plugins=_with_own(profile.plugins, raw.plugins),
            args={**profile.args, **self._own_args(raw, own_models)},
        )
        self._check_profile(profile, points_of)
        self.stop_if_mistaken()
        return SchedulerConfiguration(
            profiles=(profile,),
            percentage_of_nodes_to_score=raw.percentage_of_nodes_to_score,
            extenders=policy.as_extenders() if policy else (),
            notes=notes,
            alpha=_written_out(raw, name),
        )

    # The algorithm

    def _add_source(self, given: _AlgorithmSource, algorithm: Algorithm) -> tuple[Policy | None, tuple[str, ...]]:
        """The Policy, or None for a provider, and notes about its settings that have no effect."""
        if given.policy is None:
            provider = given.provider or DEFAULT_PROVIDER
            if provider not in PROVIDERS:
                steps = ("algorithmSource", "provider")
                self.complain(f'there is no provider "{provider}"', steps, f"there are {' and '.join(PROVIDERS)}")
            algorithm.add_provider(provider)
            return None, ()
        if given.provider:
            self.complain("give a provider or a policy, not both", ("algorithmSource",))
        path = self._policy_path(given.policy)
        if path is None:
            return None, ()
        reading = PolicyReading(read_one(path.read_bytes(), str(path)), str(path), self.release, self.gates)
        policy = reading.policy()
        algorithm.add_policy(policy)
        reading.check(policy, algorithm.complaints)
        return policy, reading.warnings(algorithm.idle)

    def _policy_path(self, given: _PolicySource) -> Path | None:
        steps: tuple[str, ...] = ("algorithmSource", "policy")
        if given.config_map is not None:
            where = f"{given.config_map.namespace or 'kube-system'}/{given.config_map.name}"
            hint = f"give --config the ConfigMap: kubectl get configmap {given.config_map.name} -o yaml"
            self.complain(f"the Policy is in the ConfigMap {where}, which is not at hand", (*steps, "configMap"), hint)
            return None
        if given.file is None or not given.file.path:
            self.complain("a policy needs a file or a configMap", steps)
            return None
        # The scheduler's own file system is another one: what is beside the configuration does as well.
        named = Path(given.file.path)
        beside = Path(self.source).parent / named.name
        found = next((each for each in (named, beside) if each.is_file()), None)
        if found is None:
            hint = f"put it beside the configuration, as {beside}"
            self.complain(f"missing policy config file {named}", (*steps, "file", "path"), hint)
        return found

    # Plugins of one's own

    def _check_plugins(self, plugins: _AlphaPlugins) -> None:
        for field, point in _NOT_MODELLED.items():
            if getattr(plugins, field).enabled:
                hint = "it was another extension point then, which has gone"
                self.complain(f"{point} of v1alpha1 is not modelled", ("plugins", point), hint)

    def _own_args(self, raw: AlphaDocument, own_models: Mapping[str, type[Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for index, each in enumerate(raw.plugin_config):
            model, steps = own_models.get(each.name), ("pluginConfig", index, "args")
            found[each.name] = each.args if model is None else self.own_args(model, each.args, steps)
        return found

    def _check_profile(self, profile: KubeSchedulerProfile, points_of: Mapping[str, Collection[str]]) -> None:
        try:
            expand_profile(profile, self.release, self.gates, points_of, self.source)
        except ConfigError as mistake:
            for problem in mistake.problems:
                hint = "the scheduler of that time has predicates and priorities; plugins are one's own, see --plugin"
                self.complain(problem.message, tuple(problem.path.split(".")[:2]), hint)

    # Numbers

    def _check_numbers(self, raw: AlphaDocument) -> None:
        weight = raw.hard_pod_affinity_symmetric_weight
        if not 0 <= weight <= 100:
            self.complain(f"{weight} is not in the valid range [0-100]", ("hardPodAffinitySymmetricWeight",))
        self.check_percentage(raw.percentage_of_nodes_to_score, ())
        self.check_serving(
            raw.client_connection, raw.leader_election if raw.leader_election.leader_elect else LeaderElection()
        )


def _written_out(raw: AlphaDocument, scheduler_name: str) -> dict[str, Any]:
    """The fields that have an effect, with defaults for missing ones."""
    source = raw.algorithm_source
    if source.policy is None:
        source = _AlgorithmSource(provider=source.provider or DEFAULT_PROVIDER)
    document = {
        "apiVersion": raw.api_version,
        "kind": raw.kind,
        "schedulerName": scheduler_name,
        "algorithmSource": source,
        "hardPodAffinitySymmetricWeight": raw.hard_pod_affinity_symmetric_weight or 1,
        "disablePreemption": raw.disable_preemption,
        "percentageOfNodesToScore": raw.percentage_of_nodes_to_score,
        "plugins": raw.plugins,
        "pluginConfig": raw.plugin_config,
    }
    filled: dict[str, Any] = _without_nothing(msgspec.to_builtins(document))
    return filled


def _without_nothing(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    filled = {key: _without_nothing(each) for key, each in value.items()}
    return {key: each for key, each in filled.items() if each not in (None, "", [], {}, ())}


def _with_own(plugins: Plugins, own: _AlphaPlugins) -> Plugins:
    fields = (field for field in EXTENSION_POINT_FIELDS.values() if field not in _NOT_MODELLED)
    given = {field: getattr(own, field, PluginSet()) for field in fields}
    if own.queue_sort.enabled:
        # One's own sorts instead of what always did.
        given["queue_sort"] = PluginSet(own.queue_sort.enabled, (PluginRef("*"),))
    return replace(plugins, **{field: each for field, each in given.items() if each.enabled or each.disabled})


_ALL = "*"
_TODAY = frozenset(plugin_names(NEWEST))
# The parts of the general predicate, and the name of each where it runs by itself.
_GENERAL = {
    parts[0][1]: name
    for name, parts in PREDICATES.items()
    if len(parts) == 1 and parts[0] in PREDICATES[names.GENERAL_PREDICATES]
}
# The limits of clouds were predicates of their own. Today this plugin counts them.
_CLOUDS = (names.MAX_EBS_VOLUME_COUNT, names.MAX_GCEPD_VOLUME_COUNT, names.MAX_AZURE_DISK_VOLUME_COUNT)
_PREDICATES: Mapping[str, tuple[str, ...]] = {
    plugin: (name, *(_CLOUDS if plugin == names.NODE_VOLUME_LIMITS else ()))
    for name, plugin in PLUGIN_OF_PREDICATE.items()
    if plugin in _TODAY and plugin not in _GENERAL and name != names.EVEN_PODS_SPREAD
}
_PRIORITIES = {
    plugin: name
    for name, plugin in PLUGIN_OF_PRIORITY.items()
    if plugin in _TODAY and name != names.EVEN_PODS_SPREAD_PRIORITY
}
_STRATEGIES = {
    "LeastAllocated": names.LEAST_REQUESTED_PRIORITY,
    "MostAllocated": names.MOST_REQUESTED_PRIORITY,
    names.REQUESTED_TO_CAPACITY_RATIO: names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY,
}
_MANDATORY = (names.NODE_UNSCHEDULABLE, names.TAINT_TOLERATION)
# Arguments that may be anything, for nothing follows from them or from what they are about.
_NO_MATTER = (DefaultPreemptionArgs, DynamicResourcesArgs, VolumeBindingArgs)


def restate_algorithm(
    profile: KubeSchedulerProfile, release: Release, gates: FeatureGates
) -> tuple[KubeSchedulerProfile, list[NotExpressed]]:
    """The rewritten profile, and the settings that could not be expressed."""
    settings = _Settings(profile)
    not_expressed = list(settings.not_expressed())
    defaults = default_weights(release, gates)
    predicates = settings.predicates(defaults)
    weights, args = settings.priorities(defaults)
    affinity = profile.args.get(names.INTER_POD_AFFINITY)
    if isinstance(affinity, InterPodAffinityArgs) and names.INTER_POD_AFFINITY_PRIORITY in weights:
        args[names.INTER_POD_AFFINITY_PRIORITY] = affinity
    enabled = [
        *map(PluginRef, (*ALWAYS, *predicates)),
        *(PluginRef(name, weight) for name, weight in sorted(weights.items())),
        *([PluginRef(PREEMPTION)] if settings.is_on(PREEMPTION, "postFilter") else []),
    ]
    plugins = Plugins(multi_point=PluginSet((*enabled, *settings.own()), (PluginRef(_ALL),)))
    own_args = {name: given for name, given in profile.args.items() if name not in ARGS_OF}
    return replace(profile, plugins=plugins, args={**own_args, **args}), not_expressed


class _Settings:
    """The settings of a profile about default plugins."""

    def __init__(self, profile: KubeSchedulerProfile) -> None:
        self._profile = profile
        self._points = dict(profile.plugins.points())

    def is_on(self, plugin: str, point: str) -> bool:
        """Whether the default plugin takes part."""
        for own in (self._points[point], self._profile.plugins.multi_point):
            if plugin in {each.name for each in own.enabled}:
                return True
            if {plugin, _ALL} & {each.name for each in own.disabled}:
                return False
        return True

    def weight(self, plugin: str) -> int:
        """The weight that the profile sets, or 0."""
        sets = (self._points["score"], self._profile.plugins.multi_point)
        return next((each.weight for own in sets for each in own.enabled if each.name == plugin and each.weight), 0)

    def own(self) -> Iterator[PluginRef]:
        """Explicitly enabled plugins that are not default plugins."""
        named = dict.fromkeys(
            each for own in (self._profile.plugins.multi_point, *self._points.values()) for each in own.enabled
        )
        default = {each.name for each in MULTI_POINT}
        return (each for each in named if each.name not in default)

    def predicates(self, defaults: Mapping[str, int]) -> list[str]:
        wanted = {name for plugin, names in _PREDICATES.items() if self.is_on(plugin, "filter") for name in names}
        parts = [name for plugin, name in _GENERAL.items() if self.is_on(plugin, "filter")]
        wanted |= {names.GENERAL_PREDICATES} if len(parts) == len(_GENERAL) else set(parts)
        mandatory = {name for plugin in _MANDATORY for name in _PREDICATES[plugin]}
        # What a plugin never was, such as looking at conditions, stays as it is by default.
        others = (name for names in _PREDICATES.values() for name in names)
        settings = {*mandatory, *others, names.GENERAL_PREDICATES, *_GENERAL.values()}
        return [name for name in ORDER if name in (wanted if name in settings else defaults)]

    def priorities(self, defaults: Mapping[str, int]) -> tuple[dict[str, int], dict[str, Any]]:
        """Names with weights, and arguments. A weight that is not given is the default of the time."""
        weights: dict[str, int] = {
            names.NODE_PREFER_AVOID_PODS_PRIORITY: defaults[names.NODE_PREFER_AVOID_PODS_PRIORITY]
        }
        for plugin, name in _PRIORITIES.items():
            if self.is_on(plugin, "score"):
                weights[name] = self.weight(plugin) or defaults[name]
        fit, args = self._profile.args.get(names.NODE_RESOURCES_FIT) or NodeResourcesFitArgs(), dict[str, Any]()
        if self.is_on(names.NODE_RESOURCES_FIT, "score"):
            name = _STRATEGIES[fit.scoring_strategy.type]
            weights[name] = self.weight(names.NODE_RESOURCES_FIT) or 1
            if fit.scoring_strategy.type == names.REQUESTED_TO_CAPACITY_RATIO:
                args[name] = with_defaults(fit.scoring_strategy.ratio_args())
        return weights, args

    def not_expressed(self) -> Iterator[NotExpressed]:
        for plugin in _MANDATORY:
            if not self.is_on(plugin, "filter"):
                yield plugin, "the switching off"
        for plugin in filter(ARGS_OF.__contains__, self._profile.args):
            yield from ((plugin, text) for text in _not_said(self._profile.args[plugin]))


def _not_said(args: Any) -> Iterator[str]:
    match args:
        case NodeResourcesFitArgs():
            strategy = args.scoring_strategy
            if args.ignored_resources or args.ignored_resource_groups:
                yield "ignoredResources"
            if strategy.type != names.REQUESTED_TO_CAPACITY_RATIO and set(strategy.resources) != set(CPU_AND_MEMORY):
                yield "scoringStrategy.resources other than cpu and memory alike"
        case NodeResourcesBalancedAllocationArgs():
            if set(args.resources) != set(CPU_AND_MEMORY):
                yield "resources other than cpu and memory"
        case InterPodAffinityArgs():
            if args.ignore_preferred_terms_of_existing_pods:
                yield "ignorePreferredTermsOfExistingPods"
        case NodeAffinityArgs():
            if args.added_affinity is not None:
                yield "addedAffinity"
        case PodTopologySpreadArgs():
            if args.default_constraints:
                yield "defaultConstraints"
        case Struct() if not isinstance(args, _NO_MATTER):
            yield "its arguments"
