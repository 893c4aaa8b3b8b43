"""Configurations that speak of predicates and priorities: a Policy, and v1alpha1, which names one or a provider."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.defaults import DEFAULT_SCHEDULER
from ksched_cli.config.legacy.algorithm import DEFAULT_PROVIDER, PROVIDERS, Algorithm
from ksched_cli.config.legacy.policy import Complaint, Policy, policy_complaints, policy_document
from ksched_cli.config.legacy.profile import policy_profile
from ksched_cli.config.model import (
    EXTENSION_POINT_FIELDS,
    KubeSchedulerProfile,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
    SchedulerConfiguration,
)
from ksched_cli.config.reading import KIND, MIGRATE, ClientConnection, LeaderElection, Reading, read_one
from ksched_cli.config.resolved_profile import expand_profile
from ksched_cli.errors import ConfigError
from ksched_cli.releases.configuration import POLICY, ConfigurationRules


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
