"""Replaces the names of a cluster by pseudonyms, and those in a KubeSchedulerConfiguration by the same ones. The walk
over the objects is in `walk.py`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.api.core import NodeAffinityTerms, Pod
from ksched_cli.api.dynamic_resources import CELDeviceSelector
from ksched_cli.cluster.pod_info import ANY_ADDRESS
from ksched_cli.sources.loaded import NODE_PORT_FLAG, Loaded
from ksched_cli.sources.redaction.unread import without_unread
from ksched_cli.sources.redaction.walk import NUMERIC, Role, Walk, only_compare_strings, structs_in

# Classes that Kubernetes itself creates, and that admission treats by name.
_BUILT_IN = "system-"
# Requests that the scheduler makes for containers' extended resources.
_EXTENDED_REQUEST = re.compile(r"container-\d+-request-\d+")

Names = Mapping[Role, Mapping[str, str]]


class Redacted(Struct, frozen=True):
    """`names`: the pseudonym of each name, by role. They can undo the redaction. `parts`: the given structs with the
    same pseudonyms."""

    loaded: Loaded
    names: Names
    parts: tuple[Any, ...] = ()


def redact(loaded: Loaded, parts: Sequence[Struct] = ()) -> Redacted:
    """The cluster and the parts with pseudonyms. Scheduling is the same. The given objects are not changed."""
    objects = {kind: [without_unread(item) for item in items] for kind, items in loaded.objects.items()}
    every = [item for items in objects.values() for item in items]
    numeric: set[str] = set()
    expressions: set[str] = set()
    for each in structs_in((*every, *parts)):
        if isinstance(each, CELDeviceSelector):
            expressions.add(each.expression)
        elif getattr(each, "operator", "") in NUMERIC:
            numeric.add(getattr(each, "key", ""))
    strings = only_compare_strings(expressions)
    found = _found((*every, *parts), loaded.unknown, numeric, strings)
    names = {role: _pseudonyms(role, each) for role, each in found.items()}
    _name_claims_after_pods(loaded, names)
    walk = Walk(lambda role, name: names[role][name], numeric, strings)
    redacted = Loaded(
        {kind: [walk.object(item) for item in items] for kind, items in objects.items()},
        unknown=Counter({_unknown(walk, kind): count for kind, count in loaded.unknown.items()}),
        missing=dict.fromkeys(loaded.missing, "not shown"),
        server_version=loaded.server_version,
        # The addresses of a cluster are private.
        api_server_flags={flag: each for flag, each in loaded.api_server_flags.items() if flag == NODE_PORT_FLAG},
    )
    return Redacted(redacted, names, tuple(map(walk.object, parts)))


def _found(items: Iterable[Any], unknown: Iterable[str], numeric: set[str], strings: bool) -> dict[Role, set[str]]:
    """All names by role. This walk renames nothing."""
    found: dict[Role, set[str]] = {role: set() for role in Role}

    def note(role: Role, name: str) -> str:
        found[role].add(name)
        return name

    walk = Walk(note, numeric, strings)
    for item in items:
        walk.object(item)
    for kind in unknown:
        _unknown(walk, kind)
    return found


def _unknown(walk: Walk, name: str) -> str:
    """The pseudonym of a kind such as `example.com/v1/Widget`, whose objects a snapshot only counts."""
    api_version, slash, kind = name.rpartition("/")
    return f"{walk.api_version(api_version)}{slash}{walk.kind(api_version, kind)}"


def _pseudonyms(role: Role, names: set[str]) -> dict[str, str]:
    """The pseudonym of each name. They are numbered in the order of the names."""
    if role is Role.IMAGE:
        return _image_names(names)
    kept = {name for name in names if _is_kept(role, name)}
    # Pods are sorted by namespace/name, with the slash.
    ordered = sorted(names - kept, key=lambda name: f"{name}/" if role is Role.NAMESPACE else name)
    width = len(str(len(ordered)))
    made = {name: _pseudonym(role, number, width) for number, name in enumerate(ordered, start=1)}
    return made | {name: name for name in kept}


def _pseudonym(role: Role, number: int, width: int) -> str:
    if role is Role.ADDRESS:
        return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return f"{role.value}-{number:0{width}}"


def _is_kept(role: Role, name: str) -> bool:
    """Whether the name is a word of Kubernetes and stays."""
    if role is Role.CLASS:
        return name.startswith(_BUILT_IN)
    if role is Role.REQUEST:
        return _EXTENDED_REQUEST.fullmatch(name) is not None
    return role is Role.ADDRESS and name == ANY_ADDRESS


def _image_names(names: set[str]) -> dict[str, str]:
    """The pseudonym of each image. An image without a tag and the one with the tag latest share a pseudonym."""
    full = {name: name if name.rfind(":") > name.rfind("/") else f"{name}:latest" for name in names}
    ordered = sorted(set(full.values()))
    width = len(str(len(ordered)))
    made = {name: f"{Role.IMAGE.value}-{number:0{width}}:v1" for number, name in enumerate(ordered, start=1)}
    return {name: made[full[name]] for name in names}


def _name_claims_after_pods(loaded: Loaded, names: dict[Role, dict[str, str]]) -> None:
    """Name claims of ephemeral volumes after the pseudonyms of pod and volume, by which they are found."""
    for pod in loaded.of(Pod):
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None:
                claim = f"{pod.metadata.name}-{volume.name}"
                own = f"{names[Role.POD][pod.metadata.name]}-{names[Role.LOCAL][volume.name]}"
                names[Role.CLAIM][claim] = own


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
    """A configuration without private text, except for the label values in the node affinities of `arguments`, which
    are part of the document. `left_out` are the plugins whose arguments may hold private text and are left out."""

    document: dict[str, Any]
    arguments: tuple[dict[str, Any], ...]
    left_out: tuple[str, ...]

    @property
    def affinities(self) -> tuple[NodeAffinityTerms, ...]:
        return tuple(msgspec.convert(each[_AFFINITY], NodeAffinityTerms) for each in self.arguments)

    def with_affinities(self, redacted: Collection[NodeAffinityTerms]) -> dict[str, Any]:
        """The document, after the redacted affinities have taken the place of `affinities`."""
        for arguments, each in zip(self.arguments, redacted, strict=True):
            arguments[_AFFINITY] = _without_empty(msgspec.to_builtins(each))
        return self.document


def take(document: Mapping[str, Any], known_plugins: Collection[str], rooms: Collection[str] = ()) -> RedactableConfig:
    """The parts of a valid configuration that may be shared. Arguments of `known_plugins` hold names only in
    affinities. Arguments of `rooms`, plugins that declare a model of them, are kept if they are numbers and truth
    values."""
    left_out: list[str] = []
    kept = {key: document[key] for key in _KEPT if document.get(key) is not None}
    if "profiles" in kept:
        known = {*known_plugins, *_with_numbers(kept["profiles"], rooms)}
        kept["profiles"] = [_profile(each, known, left_out) for each in kept["profiles"]]
    if document.get("extenders"):
        kept["extenders"] = [_extender(each, at) for at, each in enumerate(document["extenders"], start=1)]
    configs = (each for profile in kept.get("profiles", ()) for each in profile.get("pluginConfig") or ())
    arguments = (each["args"] for each in configs if (each.get("args") or {}).get(_AFFINITY))
    return RedactableConfig(kept, tuple(arguments), tuple(left_out))


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


def _profile(profile: Mapping[str, Any], known: Collection[str], left_out: list[str]) -> dict[str, Any]:
    configs = profile.get("pluginConfig") or ()
    left_out += [each["name"] for each in configs if each["name"] not in known and each.get("args")]
    return {**profile, "pluginConfig": [each for each in configs if each["name"] in known]} if configs else {**profile}


def _extender(extender: Mapping[str, Any], number: int) -> dict[str, Any]:
    kept = {key: extender[key] for key in _KEPT_OF_EXTENDER if key in extender}
    return {"urlPrefix": f"http://extender-{number}.example", **kept}


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        filled = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in filled.items() if each not in (None, [], "")}
    return [_without_empty(each) for each in value] if isinstance(value, list | tuple) else value
