"""Every other object of the cluster, by kind and by name: what the informers' listers are to kube-scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeVar

from ksched_cli.api.meta import ObjectMeta


class HasMetadata(Protocol):
    metadata: ObjectMeta


K = TypeVar("K", bound=HasMetadata)


class Catalog:
    """Objects keyed by (namespace, name) within their kind; a kind that was never read lists nothing."""

    def __init__(self, objects: Iterable[HasMetadata] = ()) -> None:
        self._kinds: dict[type[Any], dict[tuple[str, str], Any]] = {}
        self.version = 0
        for item in objects:
            self.put(item)

    def put(self, item: HasMetadata) -> None:
        """Add the object, or take the place of the one with its name."""
        self._kinds.setdefault(type(item), {})[item.metadata.namespace, item.metadata.name] = item
        self.version += 1

    def remove(self, item: HasMetadata) -> None:
        self._kinds.get(type(item), {}).pop((item.metadata.namespace, item.metadata.name), None)
        self.version += 1

    def follow(self, other: Catalog, kinds: Iterable[type[Any]]) -> None:
        """Hold the objects of these kinds that the other holds."""
        for kind in kinds:
            theirs = other._kinds.get(kind, {})
            mine = self._kinds.get(kind, {})
            same = mine.keys() == theirs.keys() and all(mine[name] is item for name, item in theirs.items())
            if not same:
                self._kinds[kind] = dict(theirs)
                self.version += 1

    def get(self, kind: type[K], name: str, namespace: str = "") -> K | None:
        return self._kinds.get(kind, {}).get((namespace, name))

    def all(self, kind: type[K]) -> Iterator[K]:
        return iter(self._kinds.get(kind, {}).values())

    def kinds(self) -> list[type[Any]]:
        """The kinds of which there are objects."""
        return [kind for kind, items in self._kinds.items() if items]

    def in_namespace(self, kind: type[K], namespace: str) -> Iterator[K]:
        return (item for item in self.all(kind) if item.metadata.namespace == namespace)
