"""Predicates and priorities as a Policy, or the v1alpha1 file that names them, with every default written out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ksched_cli.config.durations import parse_duration
from ksched_cli.config.model import Extender, KubeSchedulerProfile, SchedulerConfiguration
from ksched_cli.config.plugin_args import (
    InterPodAffinityArgs,
    NodeLabelArgs,
    RequestedToCapacityRatioArgs,
    ServiceAffinityArgs,
)
from ksched_cli.config.policy.predicates import ORDER
from ksched_cli.config.resolved_profile import merge_with_defaults
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import INTER_POD_AFFINITY_PRIORITY

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
    argument = _argument(name, profile.args.get(name), kind) if name in profile.args else {}
    return {"name": name, **({"argument": argument} if argument else {})}


def _argument(name: str, args: Any, kind: str) -> dict[str, Any]:
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
