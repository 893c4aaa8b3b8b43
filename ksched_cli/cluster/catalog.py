"""Every other object of the cluster, by kind and by name: what the informers' listers are to kube-scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from ksched_cli.api.meta import ObjectMeta
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

    def follow(self, other: Catalog, kinds: Iterable[type[Any]]) -> None:
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
