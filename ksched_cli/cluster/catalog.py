"""Every other object of the cluster, by kind and by name, as the informers' listers of kube-scheduler have them; and
the claims that a pod's volumes name (ephemeral.VolumeClaimName, podPassesBasicChecks)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from ksched_cli.api.core import ObjectMeta, Pod, Volume
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.cluster.undo import LoggedDict, UndoLog


class HasMetadata(Protocol):
    metadata: ObjectMeta


K = TypeVar("K", bound=HasMetadata)


class Catalog:
    """Objects keyed by (namespace, name) within their kind; a kind that was never read lists nothing. `version` is
    another number after each change. A roll back restores it together with the objects."""

    def __init__(self, objects: Iterable[HasMetadata] = (), undo: UndoLog | None = None) -> None:
        self.undo = undo or UndoLog()
        self._kinds: LoggedDict[type[Any], LoggedDict[tuple[str, str], Any]] = LoggedDict(self.undo)
        self.version = self._versions = 0
        for item in objects:
            self.put(item)

    def _count_change(self) -> None:
        self.undo.note(self._set_version, self.version)
        self._versions += 1
        self.version = self._versions

    def _set_version(self, version: int) -> None:
        self.version = version

    def put(self, item: HasMetadata) -> None:
        """Add the object, or take the place of the one with its name."""
        items = self._kinds.get(type(item))
        if items is None:
            items = self._kinds[type(item)] = LoggedDict(self.undo)
        items[item.metadata.namespace, item.metadata.name] = item
        self._count_change()

    def remove(self, item: HasMetadata) -> None:
        items = self._kinds.get(type(item))
        if items is not None:
            items.pop((item.metadata.namespace, item.metadata.name), None)
        self._count_change()

    def copy_kinds(self, other: Catalog, kinds: Iterable[type[Any]]) -> None:
        """Hold the objects of these kinds that the other holds."""
        for kind in kinds:
            theirs: Mapping[tuple[str, str], Any] = other._kinds.get(kind, {})
            mine: Mapping[tuple[str, str], Any] = self._kinds.get(kind, {})
            same = mine.keys() == theirs.keys() and all(mine[name] is item for name, item in theirs.items())
            if not same:
                self._kinds[kind] = LoggedDict(self.undo, theirs)
                self._count_change()

    def get(self, kind: type[K], name: str, namespace: str = "") -> K | None:
        items = self._kinds.get(kind)
        return items.get((namespace, name)) if items is not None else None

    def all(self, kind: type[K]) -> Iterator[K]:
        return iter(self._kinds.get(kind, {}).values())

    def has(self, kind: type[Any]) -> bool:
        """Whether there is an object of the kind."""
        return bool(self._kinds.get(kind))

    def kinds(self) -> list[type[Any]]:
        """The kinds of which there are objects."""
        return [kind for kind, items in self._kinds.items() if items]

    def kept(self) -> dict[type[Any], dict[tuple[str, str], Any]]:
        """All objects as they are now, by kind and by name."""
        return {kind: dict.copy(items) for kind, items in self._kinds.items()}

    def in_namespace(self, kind: type[K], namespace: str) -> Iterator[K]:
        return (item for item in self.all(kind) if item.metadata.namespace == namespace)


class ClaimName(NamedTuple):
    """A claim that a pod's volume names; that of an ephemeral volume is made by a controller of its own."""

    name: str
    ephemeral: bool


def claim_names(pod: Pod) -> Iterator[ClaimName]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimName(volume.persistent_volume_claim.claim_name, False)
        elif volume.ephemeral is not None:
            yield ClaimName(f"{pod.metadata.name}-{volume.name}", True)


# Where volumes come from that a node has itself, or that API objects have.
_OF_THE_NODE = frozenset({"name", "host_path", "empty_dir", "image"})
_STORAGE = attrgetter(*(name for name in Volume.__struct_fields__ if name not in _OF_THE_NODE))


def uses_storage(pod: Pod) -> bool:
    """Whether a volume of the pod is a claim, a disk or of a driver. Most pods have a token and other files only."""
    volumes = pod.spec.volumes
    return bool(volumes) and any(any(source is not None for source in _STORAGE(volume)) for volume in volumes)


def mounted_claims(pod: Pod) -> list[str]:
    """Claims that volumes of the pod name themselves; those of ephemeral volumes belong to the pod alone anyway."""
    claims = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return [claim.claim_name for claim in claims if claim is not None]


def find_claim(catalog: Catalog, pod: Pod, name: str) -> PersistentVolumeClaim | None:
    return catalog.get(PersistentVolumeClaim, name, pod.metadata.namespace)


def problem_of_claims(pod: Pod, catalog: Catalog) -> str | None:
    """podPassesBasicChecks: why the pod's claims cannot be used, None if they can. In older minors no filter runs
    then."""
    for name, ephemeral in claim_names(pod):
        claim = find_claim(catalog, pod, name)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and is_foreign(pod, claim):
            return f'persistentvolumeclaim "{name}" was not created for the pod'
    return None


def is_foreign(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether a claim of another owner has the name of the pod's claim (ephemeral.VolumeIsForPod)."""
    controllers = (each for each in claim.metadata.owner_references if each.controller)
    controller = next(controllers, None)
    return controller is None or controller.uid != pod.metadata.uid
