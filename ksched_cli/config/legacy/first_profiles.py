"""Fields of v1alpha1 and v1alpha2 in the first minors with plugins, in the terms of later versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ksched_cli.config.legacy.algorithm import AUTOSCALER_PROVIDER, PROVIDERS
from ksched_cli.releases.plugin_names import (
    DEFAULT_PREEMPTION,
    INTER_POD_AFFINITY,
    NODE_RESOURCES_LEAST_ALLOCATED,
    NODE_RESOURCES_MOST_ALLOCATED,
    VOLUME_BINDING,
)

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
    if (seconds := _taken_from_all(profiles, _take_bind_timeout)) is not None:
        first["bindTimeoutSeconds"] = seconds
    if not str(document["apiVersion"]).endswith(f"/{WITHOUT_PROFILES}"):
        return {**first, "profiles": profiles}
    (only,) = profiles
    # PreScore had the name that PostFilter has now.
    old = {"preScore": "postFilter", "postFilter": "preScore"}
    only["plugins"] = {old.get(point, point): own for point, own in only["plugins"].items()}
    weight = _take_argument(only, INTER_POD_AFFINITY, "hardPodAffinityWeight")
    return {**first, **only, **({"hardPodAffinitySymmetricWeight": weight} if weight else {})}


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


def _take_bind_timeout(profile: dict[str, Any]) -> Any:
    return _take_argument(profile, VOLUME_BINDING, "bindTimeoutSeconds")


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
    elif weight:
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
            "enabled": [{"name": NODE_RESOURCES_MOST_ALLOCATED, "weight": 1}, *(score.get("enabled") or ())],
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
