"""What the order of manifests decides. kubectl applies them in the order of the files, one after the other: an object
whose namespace comes later is refused, and so is a pod whose PriorityClass, RuntimeClass or ServiceAccount comes later.
A LimitRange or a ResourceQuota that comes after a pod does not hold for it.
Workloads are accepted, and their controllers try again until the pods are accepted too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.api.decode import CLUSTER_SCOPED
from ksched_cli.api.validation.fields import object_at, text_at
from ksched_cli.api.workloads import LimitRange, PriorityClass, ResourceQuota, RuntimeClass
from ksched_cli.controlplane.store import Store, identity_of
from ksched_cli.errors import Level, Problem, did_you_mean
from ksched_cli.sources.loaded import UNKNOWN_NAMESPACE, Loaded


def in_order(manifests: Loaded) -> list[Any]:
    """Everything in the order of the files."""
    place = _places(manifests)
    items = (item for items in manifests.objects.values() for item in items)
    return sorted(items, key=lambda item: place[id(item)])


def _places(manifests: Loaded) -> dict[int, int]:
    """By the id of an object its place in the order of the files."""
    return {identity: number for number, identity in enumerate(manifests.origins)}


# A kind, None for service accounts; a namespace and a name.
_Need = tuple[Any, str, str]


def needed_too_early(store: Store, manifests: Loaded) -> Collection[int]:
    """The ids of new classes and service accounts that come after a pod which names them, and of limits and quotas that
    come after a pod of their namespace."""
    made: dict[_Need, Any] = {
        (kind, "", each.metadata.name): each
        for kind in (PriorityClass, RuntimeClass)
        for each in manifests.of(kind)
        if store.current(each) is None
    }
    made |= {(None, *key): each for key, each in manifests.accounts.items() if key not in store.accounts}
    made |= {
        (kind, each.metadata.namespace, each.metadata.name): each
        for kind in (LimitRange, ResourceQuota)
        for each in manifests.of(kind)
    }
    if not made:
        return ()
    place, first = _places(manifests), dict[_Need, int]()
    bounds = [need for need in made if need[0] in (LimitRange, ResourceQuota)]
    for pod in manifests.of(Pod):
        own = (need for need in bounds if need[1] == pod.metadata.namespace)
        for need in (*_needs(pod, manifests), *own):
            first.setdefault(need, place[id(pod)])
    return {id(each) for need, each in made.items() if need in first and first[need] < place[id(each)]}


def _needs(pod: Pod, manifests: Loaded) -> Iterator[_Need]:
    """What must exist before the pod. The typed pod does not name its service account."""
    yield PriorityClass, "", pod.spec.priority_class_name or ""
    yield RuntimeClass, "", pod.spec.runtime_class_name or ""
    known = manifests.documents.get(identity_of(pod))
    if known is not None:
        yield None, pod.metadata.namespace, text_at(object_at(known.document, "spec"), "serviceAccountName")


# They exist in every cluster, whether the input names them or not.
_BUILT_IN = ("default", "kube-system", "kube-public", "kube-node-lease")


def unknown_namespaces(existing: Iterable[Namespace], pods: Iterable[Pod], manifests: Loaded) -> Iterator[Problem]:
    """A problem for each namespace that neither the cluster nor an earlier manifest has, and that is not assumed to
    exist: an error if the input has Namespace objects, as kubectl reports it. Else the namespaces of its pods are those
    that exist, and others are a warning. An input with neither has no problems."""
    level: Level = "error"
    missing, assumed = "the input has no namespace {}", ""
    names = {each.metadata.name for each in existing}
    if not names:
        names, level = {pod.metadata.namespace for pod in pods}, "warning"
        missing = "the input has no Namespace objects, and no pod in namespace {}"
        assumed = ": it is assumed to exist, without quotas and limits"
    known = {*names, *_BUILT_IN, *manifests.assumed_namespaces}
    own = {each.metadata.name: manifests.origins[id(each)] for each in manifests.of(Namespace)}
    if level == "warning":
        known |= own.keys()
    made = {id(each): each.metadata.name for each in manifests.of(Namespace)}
    items = (item for items in manifests.objects.values() for item in items if type(item) not in CLUSTER_SCOPED)
    needed = {id(item): item.metadata.namespace for item in items}
    needed |= {id(account): namespace for (namespace, _), account in manifests.accounts.items()}
    for identity, origin in manifests.origins.items() if names else ():
        known.add(made.get(identity, ""))
        namespace = needed.get(identity, "")
        if namespace and namespace not in known:
            known.add(namespace)
            if namespace in own:
                text = f"namespace {namespace} comes later, in {own[namespace].source}"
                hint = "kubectl applies objects in this order: name the file of the Namespace first"
                yield Problem(text, origin.source, origin.line, "", hint, UNKNOWN_NAMESPACE, level)
                continue
            hint = f"--create-namespace, or --assume-namespace {namespace}, if that is meant"
            near = did_you_mean(namespace, names, cutoff=0.75)
            hint = f"{near} Else {hint}" if near else hint
            text = f"{missing.format(namespace)}{assumed}"
            yield Problem(text, origin.source, origin.line, "", hint, UNKNOWN_NAMESPACE, level)
