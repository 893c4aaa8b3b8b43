"""What follows from a pod's template, the node objects and the API objects, computed once for each template."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ksched_cli.cluster.cache import Cluster
    from ksched_cli.cluster.pod_info import PodInfo

V = TypeVar("V")

# Runs have few templates, or so many that none of them returns.
_KEPT = 512


class TemplateValues(Generic[V]):
    """Values by pod template and key. All are dropped when a node object or an API object changes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._stamp = (-1, -1)
        self._values: dict[tuple[bytes, Hashable], V] = {}

    def of(self, pod: PodInfo, key: Hashable, make: Callable[[], V]) -> V:
        stamp = self._cluster.structure, self._cluster.catalog.version
        if stamp != self._stamp or len(self._values) >= _KEPT:
            self._stamp = stamp
            self._values.clear()
        place = pod.template, key
        if place not in self._values:
            self._values[place] = make()
        return self._values[place]
