"""The what-if inside a pod group's cycle that workload-aware preemption works with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ksched_cli.cluster.cache import Cluster
from ksched_cli.framework.status import Status


class CacheGroupTrial:
    """GroupTrial on the cache itself. Its maker restores the cache with the undo log of the cluster."""

    def __init__(self, cluster: Cluster, schedule: Callable[[], Status]) -> None:
        self._cluster = cluster
        self._schedule = schedule
        self._home: dict[int, int] = {}

    def remove(self, pod_rows: Sequence[int]) -> None:
        for pod_row in pod_rows:
            self._home[pod_row] = self._cluster.displace(pod_row)

    def put_back(self, pod_rows: Sequence[int]) -> None:
        for pod_row in pod_rows:
            self._cluster.place(pod_row, self._home[pod_row])

    def schedule(self) -> Status:
        return self._schedule()
