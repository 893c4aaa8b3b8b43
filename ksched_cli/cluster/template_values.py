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
    """Values by pod template and key, for the node objects and the API objects as they are."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def of(self, pod: PodInfo, key: Hashable, make: Callable[[], V]) -> V:
        values: dict[tuple[int, bytes, Hashable], V] = self._cluster.derived(self, dict)
        place = self._cluster.catalog.version, pod.template, key
        found = values.get(place)
        if found is None:
            if len(values) >= _KEPT:
                values.clear()
            found = values[place] = make()
        return found
