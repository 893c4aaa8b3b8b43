"""A KubeSchedulerConfiguration under the pseudonyms of the cluster that it schedules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.api.affinity import NodeAffinityTerms

# The other fields hold addresses of kube-scheduler and its connection to the API server.
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


class RedactableConfig(Struct, frozen=True):
    """A configuration without private text, except for the label values in `affinities`, its node affinities.
    `left_out` are the plugins whose arguments may hold private text and are left out."""

    document: dict[str, Any]
    affinities: tuple[NodeAffinityTerms, ...]
    left_out: tuple[str, ...]

    def with_affinities(self, redacted: Collection[NodeAffinityTerms]) -> dict[str, Any]:
        """The document with the redacted affinities in place of `affinities`."""
        left = iter(redacted)
        profiles = [_with_args(each, left) for each in self.document.get("profiles") or ()]
        return {**self.document, "profiles": profiles} if profiles else self.document


def take(document: Mapping[str, Any], known_plugins: Collection[str], rooms: Collection[str] = ()) -> RedactableConfig:
    """The parts of a valid configuration that may be shared. Arguments of `known_plugins` hold names only in
    affinities. Arguments of `rooms`, plugins that declare a model of them, are kept if they are numbers and truth
    values."""
    affinities: list[NodeAffinityTerms] = []
    left_out: list[str] = []
    kept = {key: document[key] for key in _KEPT if document.get(key) is not None}
    if "profiles" in kept:
        known = {*known_plugins, *_with_numbers(kept["profiles"], rooms)}
        kept["profiles"] = [_profile(each, known, affinities, left_out) for each in kept["profiles"]]
    if document.get("extenders"):
        kept["extenders"] = [_extender(each, at) for at, each in enumerate(document["extenders"], start=1)]
    return RedactableConfig(kept, tuple(affinities), tuple(left_out))


def _with_numbers(profiles: Sequence[Mapping[str, Any]], rooms: Collection[str]) -> set[str]:
    """The rooms whose arguments are numbers and truth values in every profile."""
    given = [each for profile in profiles for each in profile.get("pluginConfig") or ()]
    texts = {each["name"] for each in given if not _is_number(list((each.get("args") or {}).values()))}
    return set(rooms) - texts


def _is_number(value: Any) -> bool:
    """Whether the value is a number or a truth value, or a list of such values."""
    if isinstance(value, list):
        return all(map(_is_number, value))
    return value is None or isinstance(value, bool | int | float)


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
