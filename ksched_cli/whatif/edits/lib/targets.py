"""Objects by the names that people give them, and the pods of workloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.api.meta import controller_of, metadata_of
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.workloads import Deployment, ReplicaSet
from ksched_cli.controlplane.admission.chain import HasObjects
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.lib.editor import name_hint
from ksched_cli.whatif.edits.lib.mistake import EditMistake

_HASH_LABEL = "pod-template-hash"


def matching(loaded: HasObjects, target: Reference, namespace: str) -> list[Any]:
    """Without a namespace: the one in kubectl's, else all."""
    items: list[Any] = loaded.of(target.kind)
    found = [
        item
        for item in items
        if item.metadata.name == target.name and target.namespace in ("", item.metadata.namespace)
    ]
    if len(found) > 1:
        return [item for item in found if item.metadata.namespace == namespace] or found
    return found


def find(loaded: HasObjects, target: Reference, namespace: str) -> Any:
    """The one object that is meant."""
    found = matching(loaded, target, namespace)
    if len(found) == 1:
        return found[0]
    kind = target.kind.__name__
    if found:
        places = " or ".join(sorted(f"{kind.lower()}/{each.metadata.namespace}/{target.name}" for each in found))
        raise EditMistake(f'there are {len(found)} of {kind} "{target.name}"', f"write {places}")
    where = f' in namespace "{target.namespace}"' if target.namespace else ""
    raise EditMistake(f'there is no {kind} "{target.name}"{where} in the input', _hint(loaded, target))


def _hint(loaded: HasObjects, target: Reference) -> str:
    hint = name_hint(target.name, _names(loaded.of(target.kind)))
    return hint or f"the input has none: add {target.kind.__name__.lower()}s to it"


def _names(items: Iterable[Struct]) -> Iterator[str]:
    for item in items:
        yield metadata_of(item).name


def pods_meant(loaded: Loaded, target: Reference, namespace: str) -> list[Pod]:
    """All pods of a workload or a namespace, or those with that name, in which * stands for anything. Finished pods
    are left out, and pods are enough: a workload that is not in the input is known by them."""
    pods = [pod for pod in loaded.of(Pod) if not is_terminal(pod)]
    if target.kind is Namespace:
        inside = [pod for pod in pods if pod.metadata.namespace == target.name]
        return inside or [] if loaded.named(Namespace, target.name) else _found(inside, loaded, target, namespace)
    places = {target.namespace} if target.namespace else {pod.metadata.namespace for pod in pods}
    if not target.namespace and namespace in places and matching(loaded, target, namespace):
        places = {item.metadata.namespace for item in matching(loaded, target, namespace)}
    near = [pod for pod in pods if pod.metadata.namespace in places]
    if target.kind is Pod:
        return _found([pod for pod in near if fnmatchcase(pod.metadata.name, target.name)], loaded, target, namespace)
    owners = owners_in(loaded)
    its = [pod for pod in near if _belongs(pod, target, owners)]
    return its if matching(loaded, target, namespace) else _found(its, loaded, target, namespace)


def _found(pods: list[Pod], loaded: Loaded, target: Reference, namespace: str) -> list[Pod]:
    if not pods:
        find(loaded, target, namespace)
    return pods


# Kind, namespace and name.
Owner = tuple[str, str, str]
Owners = dict[Owner, Owner]


def owners_in(loaded: Loaded) -> Owners:
    """Who owns whom, for everything that is owned and may own pods."""
    owners: Owners = {}
    for kind, items in loaded.objects.items():
        if kind is Pod:
            continue
        for item in items:
            owner = controller_of(item.metadata)
            if owner is not None:
                namespace = item.metadata.namespace
                owners[kind.__name__, namespace, item.metadata.name] = owner.kind, namespace, owner.name
    return owners


def workload_of(pod: Pod, owners: Owners) -> Owner:
    """The uppermost controller of the pod; a pod without one is by itself."""
    owner = controller_of(pod.metadata)
    if owner is None:
        return "Pod", pod.metadata.namespace, pod.metadata.name
    last: Owner = (owner.kind, pod.metadata.namespace, owner.name)
    while (above := owners.get(last)) is not None:
        last = above
    digest = pod.metadata.labels.get(_HASH_LABEL)
    if last[0] == ReplicaSet.__name__ and digest and last[2].endswith(f"-{digest}"):
        return Deployment.__name__, last[1], last[2].removesuffix(f"-{digest}")
    return last


def _belongs(pod: Pod, target: Reference, owners: Owners) -> bool:
    """By way of its controller and that one's. Without replica sets in the input, the name has the deployment."""
    owner = controller_of(pod.metadata)
    if owner is None:
        return False
    wanted = target.kind.__name__, pod.metadata.namespace, target.name
    above: Owner | None = (owner.kind, pod.metadata.namespace, owner.name)
    while above is not None:
        if above == wanted:
            return True
        last, above = above, owners.get(above)
    called = f"{target.name}-{pod.metadata.labels.get(_HASH_LABEL, '')}"
    return target.kind is Deployment and last[0] == ReplicaSet.__name__ and last[2] == called
