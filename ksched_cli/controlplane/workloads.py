"""Which workload a pod belongs to."""

from __future__ import annotations

from ksched_cli.api.core import Pod
from ksched_cli.api.decode import KINDS
from ksched_cli.controlplane.store import Identity, NamedObjects, identity_of, owner_identity

HASH_LABEL = "pod-template-hash"
_KIND_OF = {kind.__name__: kind for kind in KINDS.values()}


def top_owner(store: NamedObjects, pod: Pod) -> Identity:
    """The identity of the uppermost controller; a pod without one is by itself. A ReplicaSet that is not in the input
    still has its Deployment in its name."""
    owner = [identity_of(pod), *owners(store, pod)][-1]
    kind, namespace, name = owner
    digest = pod.metadata.labels.get(HASH_LABEL)
    if kind == "ReplicaSet" and digest and name.endswith(f"-{digest}"):
        return "Deployment", namespace, name.removesuffix(f"-{digest}")
    return owner


def owners(store: NamedObjects, pod: Pod) -> list[Identity]:
    """The controller of the pod, the controller of that controller, and so on."""
    found: list[Identity] = []
    owner = owner_identity(pod)
    while owner is not None and owner not in found:
        found.append(owner)
        owner = _owner_of(store, owner)
    return found


def _owner_of(store: NamedObjects, owner: Identity) -> Identity | None:
    kind = _KIND_OF.get(owner[0])
    item = store.get(kind, owner[2], owner[1]) if kind is not None else None
    return owner_identity(item) if item is not None else None


def workload_name(store: NamedObjects, pod: Pod) -> str:
    """`Deployment/shop/web`."""
    return "/".join(top_owner(store, pod))


class WorkloadNames:
    """`workload_name` of many pods of a store that does not change. The owners of each controller are found once."""

    def __init__(self, store: NamedObjects) -> None:
        self._store = store
        self._names: dict[tuple[Identity, str | None], str] = {}

    def __call__(self, pod: Pod) -> str:
        owner = owner_identity(pod)
        if owner is None:
            return "/".join(identity_of(pod))
        key = owner, pod.metadata.labels.get(HASH_LABEL)
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = workload_name(self._store, pod)
        return found
