"""All objects of a cluster under pseudonyms, and which they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ksched_cli.api.core import Pod
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.redaction.fields import Role
from ksched_cli.sources.redaction.walk import Walk, numeric_keys

# Classes that Kubernetes brings along, and that admission knows by name.
_BUILT_IN = "system-"


@dataclass(frozen=True)
class Redacted:
    """`names`: for each role the pseudonym of each name. Whoever has these can undo it."""

    loaded: Loaded
    names: Mapping[Role, Mapping[str, str]]


def redact(loaded: Loaded) -> Redacted:
    """The same cluster for everything that scheduling looks at. What was given stays as it is."""
    numeric = set().union(*(numeric_keys(item) for items in loaded.objects.values() for item in items))
    names = {role: _pseudonyms(role, found) for role, found in _found(loaded, numeric).items()}
    _name_claims_after_pods(loaded, names)
    walk = Walk(lambda role, name: names[role][name], numeric)
    redacted = Loaded(
        {kind: [walk.object(item) for item in items] for kind, items in loaded.objects.items()},
        unknown=loaded.unknown.copy(),
        missing=dict(loaded.missing),
        server_version=loaded.server_version,
    )
    return Redacted(redacted, names)


def _found(loaded: Loaded, numeric: set[str]) -> dict[Role, set[str]]:
    """A first walk, which renames nothing, to see what there is."""
    found: dict[Role, set[str]] = {role: set() for role in Role}

    def note(role: Role, name: str) -> str:
        found[role].add(name)
        return name

    walk = Walk(note, numeric)
    for items in loaded.objects.values():
        for item in items:
            walk.object(item)
    return found


def _pseudonyms(role: Role, names: set[str]) -> dict[str, str]:
    """Numbered in the order of the names."""
    if role is Role.IMAGE:
        return _image_names(names)
    kept = {name for name in names if role is Role.CLASS and name.startswith(_BUILT_IN)}
    # Pods are taken in the order of namespace/name, in which the slash counts.
    ordered = sorted(names - kept, key=lambda name: f"{name}/" if role is Role.NAMESPACE else name)
    width = len(str(len(ordered)))
    made = {name: f"{role.value}-{number:0{width}}" for number, name in enumerate(ordered, start=1)}
    return made | {name: name for name in kept}


def _image_names(names: set[str]) -> dict[str, str]:
    """An image without a tag is the one with the tag latest, and has to stay so."""
    full = {name: name if name.rfind(":") > name.rfind("/") else f"{name}:latest" for name in names}
    ordered = sorted(set(full.values()))
    width = len(str(len(ordered)))
    made = {name: f"{Role.IMAGE.value}-{number:0{width}}:v1" for number, name in enumerate(ordered, start=1)}
    return {name: made[full[name]] for name in names}


def _name_claims_after_pods(loaded: Loaded, names: dict[Role, dict[str, str]]) -> None:
    """The claim of an ephemeral volume is found by the names of its pod and volume."""
    for pod in loaded.of(Pod):
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None:
                claim = f"{pod.metadata.name}-{volume.name}"
                own = f"{names[Role.POD][pod.metadata.name]}-{names[Role.LOCAL][volume.name]}"
                names[Role.CLAIM][claim] = own
