"""A KubeSchedulerConfiguration under the pseudonyms of the cluster that it schedules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ksched_cli.api.affinity import NodeAffinityTerms

# Everything else at the top is about kube-scheduler's addresses and its connection to the API server.
_KEPT = (
    "apiVersion",
    "kind",
    "parallelism",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "profiles",
)
# The address and the certificates of an extender are left out.
_KEPT_OF_EXTENDER = (
    "filterVerb",
    "prioritizeVerb",
    "preemptVerb",
    "bindVerb",
    "weight",
    "enableHTTPS",
    "httpTimeout",
    "nodeCacheCapable",
    "managedResources",
    "ignorable",
)
_AFFINITY = "addedAffinity"


@dataclass(frozen=True)
class RedactableConfig:
    """A configuration without private text. `affinities` are the node affinities in it, whose label values still have
    to be replaced. `left_out` are the plugins whose arguments are unknown and so left out."""

    document: dict[str, Any]
    affinities: tuple[NodeAffinityTerms, ...]
    left_out: tuple[str, ...]

    def with_affinities(self, redacted: Collection[NodeAffinityTerms]) -> dict[str, Any]:
        """The whole document, with these in the place of `affinities`."""
        left = iter(redacted)
        profiles = [_with_args(each, left) for each in self.document.get("profiles") or ()]
        return {**self.document, "profiles": profiles} if profiles else self.document


def take(document: Mapping[str, Any], known_plugins: Collection[str]) -> RedactableConfig:
    """`document` is a valid configuration; the arguments of `known_plugins` hold names only in affinities."""
    affinities: list[NodeAffinityTerms] = []
    left_out: list[str] = []
    kept = {key: document[key] for key in _KEPT if document.get(key) is not None}
    if "profiles" in kept:
        kept["profiles"] = [_profile(each, known_plugins, affinities, left_out) for each in kept["profiles"]]
    if document.get("extenders"):
        kept["extenders"] = [_extender(each, at) for at, each in enumerate(document["extenders"], start=1)]
    return RedactableConfig(kept, tuple(affinities), tuple(left_out))


def _profile(
    profile: Mapping[str, Any], known: Collection[str], affinities: list[NodeAffinityTerms], left_out: list[str]
) -> dict[str, Any]:
    configs = profile.get("pluginConfig") or ()
    left_out += [each["name"] for each in configs if each["name"] not in known and each.get("args")]
    kept = [each for each in configs if each["name"] in known]
    found = ((each.get("args") or {}).get(_AFFINITY) for each in kept)
    affinities += [msgspec.convert(each, NodeAffinityTerms) for each in found if each]
    return {**profile, "pluginConfig": kept} if configs else dict(profile)


def _extender(extender: Mapping[str, Any], number: int) -> dict[str, Any]:
    kept = {key: extender[key] for key in _KEPT_OF_EXTENDER if key in extender}
    return {"urlPrefix": f"http://extender-{number}.example", **kept}


def _with_args(profile: Mapping[str, Any], affinities: Any) -> dict[str, Any]:
    configs = []
    for each in profile.get("pluginConfig") or ():
        args = each.get("args") or {}
        if args.get(_AFFINITY):
            written = _without_empty(msgspec.to_builtins(next(affinities)))
            configs.append({**each, "args": {**args, _AFFINITY: written}})
        else:
            configs.append(each)
    return {**profile, "pluginConfig": configs} if configs else dict(profile)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        filled = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in filled.items() if each not in (None, [], "")}
    return [_without_empty(each) for each in value] if isinstance(value, list | tuple) else value
