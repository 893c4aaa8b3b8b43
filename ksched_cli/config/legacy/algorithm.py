"""Profiles of 1.16 to 1.18, before and while plugins came: predicates, priorities and algorithm providers.

Each predicate and priority is a plugin here. `algorithm_document` writes such a profile as a document, with every
default. The second half reads fields of v1alpha1 and v1alpha2 in the terms of later versions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from ksched_cli.api.conversion import path_steps
from ksched_cli.config.legacy.policy import (
    GATED_PREDICATES,
    GATED_PRIORITIES,
    LAST_NAMES,
    PREDICATES,
    Complaint,
    Policy,
    PredicatePolicy,
    PriorityPolicy,
    plugin_args,
)
from ksched_cli.config.legacy.policy import PRIORITIES as LATER_PRIORITIES
from ksched_cli.config.model import (
    Extender,
    KubeSchedulerProfile,
    PluginRef,
    Plugins,
    PluginSet,
    SchedulerConfiguration,
    default_weights,
    merge_with_defaults,
    parse_duration,
)
from ksched_cli.config.plugin_args import (
    InterPodAffinityArgs,
    NodeLabelArgs,
    RequestedToCapacityRatioArgs,
    ServiceAffinityArgs,
    UtilizationShapePoint,
)
from ksched_cli.config.validate_args import shape_complaints
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import (
    DEFAULT_PREEMPTION,
    INTER_POD_AFFINITY,
    INTER_POD_AFFINITY_PRIORITY,
    NODE_RESOURCES_LEAST_ALLOCATED,
    NODE_RESOURCES_MOST_ALLOCATED,
    VOLUME_BINDING,
)

DEFAULT_PROVIDER, AUTOSCALER_PROVIDER = "DefaultProvider", "ClusterAutoscalerProvider"
PROVIDERS = (DEFAULT_PROVIDER, AUTOSCALER_PROVIDER)

# Entries with an argument, by the arguments of their plugin.
_CUSTOM_PREDICATES: Mapping[type, str] = {
    NodeLabelArgs: names.CHECK_NODE_LABEL_PRESENCE,
    ServiceAffinityArgs: names.CHECK_SERVICE_AFFINITY,
}
_CUSTOM_PRIORITIES: Mapping[type, str] = {
    NodeLabelArgs: names.NODE_LABEL_PRIORITY,
    RequestedToCapacityRatioArgs: names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY,
    ServiceAffinityArgs: names.SERVICE_ANTI_AFFINITY_PRIORITY,
}

# The order in which predicates run, in every Policy (predicates.Ordering).
_PRESSURE = (names.CHECK_NODE_MEMORY_PRESSURE, names.CHECK_NODE_PID_PRESSURE, names.CHECK_NODE_DISK_PRESSURE)
_LATER = [*PREDICATES]
_SPREAD = _LATER.index(names.EVEN_PODS_SPREAD)
ORDER = (names.CHECK_NODE_CONDITION, *_LATER[:_SPREAD], *_PRESSURE, *_LATER[_SPREAD:])
# These are no predicates before a Policy gives them an argument.
_WITH_ARGUMENT = frozenset(_CUSTOM_PREDICATES.values())
_BY_TAINTS = frozenset({names.CHECK_NODE_UNSCHEDULABLE})
_BY_CONDITIONS = frozenset({names.CHECK_NODE_CONDITION, *_PRESSURE})
# A name that the scheduler accepted and never called, for it has no place in the order.
_NEVER_ASKED = "PodFitsPorts"

# Priorities that need no argument: most of the later ones, and three that have another name or none later.
PRIORITIES = {
    *(LATER_PRIORITIES.keys() - GATED_PRIORITIES - set(LAST_NAMES.values())),
    *(names.EQUAL_PRIORITY, names.SELECTOR_SPREAD_PRIORITY, names.SERVICE_SPREADING_PRIORITY),
    names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY,
}

# The one that prefers room, and the one that takes its place under the autoscaler's provider.
_DEFAULT_SHAPE = (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))

ALWAYS = (names.PRIORITY_SORT, names.DEFAULT_BINDER)
PREEMPTION = names.DEFAULT_PREEMPTION


class Algorithm:
    """Predicates and priorities while they are put together."""

    def __init__(self, release: Release, gates: FeatureGates) -> None:
        self._gates = gates
        self._defaults = default_weights(release, gates)
        self._weights: dict[str, int] = {}
        self._predicates: set[str] = set(self._mandatory)
        self._implemented_by: dict[str, str] = {}
        self._args: dict[str, Any] = {
            names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY: RequestedToCapacityRatioArgs(shape=_DEFAULT_SHAPE)
        }
        self._checks_all = False
        self.complaints: list[Complaint] = []
        # Fields without an effect.
        self.idle: list[Complaint] = []

    @property
    def _by_taints(self) -> bool:
        return self._gates.enabled("TaintNodesByCondition")

    @property
    def _mandatory(self) -> tuple[str, ...]:
        """Predicates that run even if a Policy does not name them."""
        return (
            (names.CHECK_NODE_UNSCHEDULABLE, names.POD_TOLERATES_NODE_TAINTS)
            if self._by_taints
            else (names.CHECK_NODE_CONDITION,)
        )

    def profile(self, scheduler_name: str, hard_weight: int, *, preempts: bool = True) -> KubeSchedulerProfile:
        """Of everything that was put together."""
        named = [name for name in ORDER if name in self._predicates]
        enabled = [
            *map(PluginRef, (*ALWAYS, *named)),
            *(PluginRef(name, weight) for name, weight in sorted(self._weights.items())),
            *([PluginRef(PREEMPTION)] if preempts else []),
        ]
        args = dict(self._args)
        if hard_weight:
            args[names.INTER_POD_AFFINITY_PRIORITY] = InterPodAffinityArgs(hard_pod_affinity_weight=hard_weight)
        return KubeSchedulerProfile(
            scheduler_name,
            plugins=Plugins(multi_point=PluginSet(tuple(enabled), (PluginRef("*"),))),
            args={name: own for name, own in args.items() if name in self._weights or name in named},
            implemented_by=self._implemented_by,
            checks_all_filters=self._checks_all,
        )

    # Providers

    def add_provider(self, name: str) -> None:
        self.add_default_predicates()
        self.add_default_priorities()
        if name == AUTOSCALER_PROVIDER:
            self._weights[names.MOST_REQUESTED_PRIORITY] = self._weights.pop(names.LEAST_REQUESTED_PRIORITY)

    def add_default_predicates(self) -> None:
        self._predicates |= set(ORDER) & self._defaults.keys()

    def add_default_priorities(self) -> None:
        self._weights |= {name: weight for name, weight in self._defaults.items() if weight}

    # Policies

    def add_policy(self, policy: Policy) -> None:
        """CreateFromConfig."""
        self._checks_all = policy.always_check_all_predicates
        if policy.predicates is None:
            self.add_default_predicates()
        for index, predicate in enumerate(policy.predicates or ()):
            self._add_predicate(index, predicate)
        if policy.priorities is None:
            self.add_default_priorities()
        for index, priority in enumerate(policy.priorities or ()):
            self._add_priority(index, priority)
        if not self._weights and not policy.extenders:
            # Where nothing ranks the nodes they are all as good.
            self._weights[names.EQUAL_PRIORITY] = 1

    def _add_predicate(self, index: int, policy: PredicatePolicy) -> None:
        name, argument = policy.name, policy.argument
        steps = ("predicates", index, "name")
        if argument is None and name not in self._known_predicates() and name != _NEVER_ASKED:
            self.complaints.append((steps, f'there is no predicate "{name}"'))
            return
        if name not in ORDER:
            possible = ", ".join(sorted(_WITH_ARGUMENT))
            self.idle.append((steps, f'"{name}" never runs: only names in the fixed order do, such as {possible}'))
            return
        self._predicates.add(name)
        self._custom(name, plugin_args(argument), _CUSTOM_PREDICATES)

    def _known_predicates(self) -> set[str]:
        left_out = _BY_CONDITIONS if self._by_taints else _BY_TAINTS
        off = {name for name, gate in GATED_PREDICATES.items() if not self._gates.enabled(gate)}
        return set(ORDER) - _WITH_ARGUMENT - left_out - off

    def _add_priority(self, index: int, policy: PriorityPolicy) -> None:
        name, argument = policy.name, policy.argument
        if argument is None and name not in self._known_priorities():
            self.complaints.append((("priorities", index, "name"), f'there is no priority "{name}"'))
            return
        self._weights[name] = policy.weight
        args = plugin_args(argument)
        self._custom(name, args, _CUSTOM_PRIORITIES)
        if isinstance(args, RequestedToCapacityRatioArgs):
            # NewFunctionShape.
            steps = ("priorities", index, "argument", "requestedToCapacityRatioArguments")
            self.complaints += [
                ((*steps, *path_steps(where)), text) for where, text in shape_complaints(args.shape, "shape")
            ]

    def _known_priorities(self) -> set[str]:
        return {*PRIORITIES, *(name for name, gate in GATED_PRIORITIES.items() if self._gates.enabled(gate))}

    def _custom(self, name: str, args: Any, kinds: Mapping[type, str]) -> None:
        """Keep the arguments of an entry, if it has some. Such an entry may have any name."""
        if args is not None:
            self._args[name] = args
            if name != (kind := kinds[type(args)]):
                self._implemented_by[name] = kind


_NANOSECONDS = 10**9


def algorithm_document(configuration: SchedulerConfiguration, release: Release, gates: FeatureGates) -> dict[str, Any]:
    """The document: a v1alpha1 file as it was read; any other configuration as a Policy."""
    if configuration.alpha:
        return dict(configuration.alpha)
    profile = configuration.profiles[0]
    enabled = merge_with_defaults(profile, release, gates).multi_point.enabled
    document: dict[str, Any] = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [_named(each.name, profile, "predicates") for each in enabled if each.name in ORDER],
        "priorities": [
            {**_named(each.name, profile, "priorities"), "weight": each.weight} for each in enabled if each.weight
        ],
        "hardPodAffinitySymmetricWeight": _hard_weight(profile),
        "alwaysCheckAllPredicates": profile.checks_all_filters,
    }
    if configuration.extenders:
        document["extenders"] = [_extender(each) for each in configuration.extenders]
    return document


def _hard_weight(profile: KubeSchedulerProfile) -> int:
    args: InterPodAffinityArgs = profile.args.get(INTER_POD_AFFINITY_PRIORITY, InterPodAffinityArgs())
    return args.hard_pod_affinity_weight


def _named(name: str, profile: KubeSchedulerProfile, kind: str) -> dict[str, Any]:
    argument = _argument(profile.args.get(name), kind) if name in profile.args else {}
    return {"name": name, **({"argument": argument} if argument else {})}


def _argument(args: Any, kind: str) -> dict[str, Any]:
    match args:
        case NodeLabelArgs() if kind == "predicates":
            labels, presence = args.present_labels or args.absent_labels, bool(args.present_labels)
            return {"labelsPresence": {"labels": list(labels), "presence": presence}}
        case NodeLabelArgs():
            (label,) = args.present_labels_preference or args.absent_labels_preference
            return {"labelPreference": {"label": label, "presence": bool(args.present_labels_preference)}}
        case ServiceAffinityArgs() if kind == "predicates":
            return {"serviceAffinity": {"labels": list(args.affinity_labels)}}
        case ServiceAffinityArgs():
            (label,) = args.anti_affinity_labels_preference
            return {"serviceAntiAffinity": {"label": label}}
        case RequestedToCapacityRatioArgs():
            ratio = {"shape": list(args.shape), "resources": list(args.resources)}
            return {"requestedToCapacityRatioArguments": msgspec.to_builtins(ratio)}
    return {}


def _extender(extender: Extender) -> dict[str, Any]:
    """The extender with the spelling and the nanoseconds of a Policy."""
    document: Mapping[str, Any] = msgspec.to_builtins(extender)
    spelt = {**document, "enableHttps": document["enableHTTPS"]}
    del spelt["enableHTTPS"]
    spelt["httpTimeout"] = (
        round((parse_duration(extender.http_timeout) or 0.0) * _NANOSECONDS) if extender.http_timeout else 0
    )
    return {key: value for key, value in spelt.items() if value not in (None, "", [], {}, (), 0)}


WITHOUT_PROFILES = "v1alpha1"
_OWN = ("disablePreemption", "bindTimeoutSeconds")
_OWN_OF_ONE_PROFILE = ("schedulerName", "algorithmSource", "hardPodAffinitySymmetricWeight", "plugins", "pluginConfig")
_LOCK_NAMES = ("lockObjectNamespace", "lockObjectName")
# (path in the document, what is wrong)
Mistake = tuple[tuple[str | int, ...], str]


def with_later_fields(document: dict[str, Any]) -> tuple[dict[str, Any], list[Mistake]]:
    """The document in the fields of later versions, and what of it cannot be read or is not modelled."""
    mistakes: list[Mistake] = []
    alone = str(document["apiVersion"]).endswith(f"/{WITHOUT_PROFILES}")
    gone = (*_OWN, *_OWN_OF_ONE_PROFILE) if alone else _OWN
    later = {key: value for key, value in document.items() if key not in gone}
    election = document.get("leaderElection")
    if isinstance(election, dict):
        later["leaderElection"] = {key: value for key, value in election.items() if key not in _LOCK_NAMES}
    profiles = document.get("profiles") or [{}]
    if alone:
        if "profiles" in document:
            mistakes.append((("profiles",), "no such field"))
        profiles = [_only_profile(document, mistakes)]
    if not isinstance(profiles, list) or not all(isinstance(each, dict) for each in profiles):
        return later, mistakes
    disables, seconds = document.get("disablePreemption"), document.get("bindTimeoutSeconds")
    if disables not in (None, True, False):
        mistakes.append((("disablePreemption",), f"expected true or false, got {disables!r}"))
    if seconds is not None and not _is_number(seconds):
        mistakes.append((("bindTimeoutSeconds",), f"expected a number of seconds, got {seconds!r}"))
        seconds = None
    for index, each in enumerate(profiles):
        unreserve = _section(_section(each, "plugins"), "unreserve")
        if unreserve.get("enabled"):
            path = ("plugins", "unreserve") if alone else ("profiles", index, "plugins", "unreserve")
            mistakes.append((path, "the extension point unreserve is not modelled"))
    later["profiles"] = [_restated(each, disables=disables is True, seconds=seconds) for each in profiles]
    return later, mistakes


def with_first_fields(document: dict[str, Any]) -> dict[str, Any]:
    """The document in the fields of its version, v1alpha1 or v1alpha2: the inverse of `with_later_fields`. What these
    fields cannot express stays in the profiles."""
    profiles = [dict(each) for each in document["profiles"]]
    first = {key: value for key, value in document.items() if key != "profiles"}
    if (disables := _taken_from_all(profiles, _take_preemption)) is not None:
        first["disablePreemption"] = disables
    take_timeout = partial(_take_argument, plugin=VOLUME_BINDING, argument="bindTimeoutSeconds")
    if (seconds := _taken_from_all(profiles, take_timeout)) is not None:
        first["bindTimeoutSeconds"] = seconds
    if not str(document["apiVersion"]).endswith(f"/{WITHOUT_PROFILES}"):
        return {**first, "profiles": profiles}
    (only,) = profiles
    # PreScore had the name that PostFilter has now.
    old = {"preScore": "postFilter", "postFilter": "preScore"}
    only["plugins"] = {old.get(point, point): own for point, own in only["plugins"].items()}
    weight = _take_argument(only, INTER_POD_AFFINITY, "hardPodAffinityWeight")
    return {**first, **only, **({"hardPodAffinitySymmetricWeight": weight} if weight is not None else {})}


def _taken_from_all(profiles: list[dict[str, Any]], take: Callable[[dict[str, Any]], Any]) -> Any:
    """What all profiles have in common, taken out of each of them; None where they differ, and all keep theirs."""
    copies = [dict(each) for each in profiles]
    values = [take(each) for each in copies]
    if any(value != values[0] for value in values):
        return None
    profiles[:] = copies
    return values[0]


def _take_preemption(profile: dict[str, Any]) -> bool:
    plugins = dict(profile["plugins"])
    enabled = plugins.pop("postFilter", {}).get("enabled") or ()
    profile["plugins"] = plugins
    return DEFAULT_PREEMPTION not in {each["name"] for each in enabled}


def _take_argument(profile: dict[str, Any], plugin: str, argument: str) -> Any:
    """The argument, taken out of pluginConfig; None where it has none, or 0, which an alpha field cannot express."""
    args: dict[str, Any] = next((each["args"] for each in profile["pluginConfig"] if each["name"] == plugin), {})
    if not args.get(argument):
        return None
    rest = {key: value for key, value in args.items() if key != argument}
    others = [each for each in profile["pluginConfig"] if each["name"] != plugin]
    profile["pluginConfig"] = [*others, *([{"name": plugin, "args": rest}] if rest else [])]
    return args[argument]


def _only_profile(document: dict[str, Any], mistakes: list[Mistake]) -> dict[str, Any]:
    """The profile of a v1alpha1 file, in which PreScore had the name that PostFilter has now."""
    plugins = dict(_section(document, "plugins"))
    if "preScore" in plugins:
        mistakes.append((("plugins", "preScore"), "no such field"))
    if "postFilter" in plugins:
        plugins["preScore"] = plugins.pop("postFilter")
    config = [*(document.get("pluginConfig") or ())]
    weight = document.get("hardPodAffinitySymmetricWeight")
    if weight is not None and not (_is_number(weight) and weight <= 100):
        mistakes.append((("hardPodAffinitySymmetricWeight",), f"{weight!r} is not in the valid range [0-100]"))
    elif weight is not None:
        config.append({"name": INTER_POD_AFFINITY, "args": {"hardPodAffinityWeight": weight}})
    source = _section(document, "algorithmSource")
    if source.get("policy"):
        mistakes.append((("algorithmSource", "policy"), "not read from here: give --config the Policy itself"))
    provider = source.get("provider") or PROVIDERS[0]
    if provider not in PROVIDERS:
        mistakes.append((("algorithmSource", "provider"), f"there is no provider {provider!r}"))
    if provider == AUTOSCALER_PROVIDER:
        score = _section(plugins, "score")
        plugins["score"] = {
            "enabled": [{"name": NODE_RESOURCES_MOST_ALLOCATED}, *(score.get("enabled") or ())],
            "disabled": [{"name": NODE_RESOURCES_LEAST_ALLOCATED}, *(score.get("disabled") or ())],
        }
    named = {"schedulerName": document["schedulerName"]} if document.get("schedulerName") else {}
    return {**named, "plugins": plugins, "pluginConfig": config}


def _restated(profile: dict[str, Any], *, disables: bool, seconds: int | None) -> dict[str, Any]:
    restated = dict(profile)
    plugins = {point: own for point, own in _section(profile, "plugins").items() if point != "unreserve"}
    if disables:
        plugins["postFilter"] = {"disabled": [{"name": DEFAULT_PREEMPTION}]}
    if plugins != profile.get("plugins", {}):
        restated["plugins"] = plugins
    if seconds:
        binding = {"name": VOLUME_BINDING, "args": {"bindTimeoutSeconds": seconds}}
        restated["pluginConfig"] = [*(profile.get("pluginConfig") or ()), binding]
    return restated


def _section(document: dict[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
