"""Which pods belong together (backend/cache.podGroupState), and their PodGroup objects. How a group is scheduled is in
`engine/gang.py`, whether enough of it is there in `engine/quorum.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ksched_cli.api.workloads import PodGroup
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.cluster.pod_info import PodInfo


class GroupKey(NamedTuple):
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def group_of(info: PodInfo) -> GroupKey | None:
    """The group that the pod names. The API server lets no pod through that names none."""
    named = info.pod.spec.scheduling_group
    return GroupKey(info.namespace, named.pod_group_name) if named and named.pod_group_name else None


def group_preemptor(info: PodInfo) -> str:
    """The name of the preemptor of pods that make room for the whole group of this pod."""
    return f"pod group {group_of(info)}"


class PodGroups:
    """Members of every group as the scheduler has them. Pod rows stay until a roll back, and a pod's group never
    changes, so that only rows that came since the last question are looked at."""

    def __init__(self, cluster: Cluster, scheduler_names: Collection[str]) -> None:
        self._cluster = cluster
        self._scheduler_names = scheduler_names
        self._members: dict[GroupKey, list[int]] = {}
        self._seen = 0
        self._epoch = cluster.pods.epoch

    def get(self, key: GroupKey) -> PodGroup | None:
        return self._cluster.catalog.get(PodGroup, key.name, key.namespace)

    def members(self, key: GroupKey) -> Sequence[int]:
        """AllPods: pods with a node, and pending ones that one of our profiles is responsible for."""
        infos = self._cluster.pods.infos
        if self._epoch != self._cluster.pods.epoch:
            self._members, self._seen, self._epoch = {}, 0, self._cluster.pods.epoch
        for row in range(self._seen, len(infos)):
            spec, named = infos[row].pod.spec, group_of(infos[row])
            if named is not None and (spec.node_name or spec.scheduler_name in self._scheduler_names):
                self._members.setdefault(named, []).append(row)
        self._seen = len(infos)
        members, gone = self._members.get(key, []), self._cluster.pods.gone
        return [row for row in members if row not in gone] if gone else members

    def scheduled(self, key: GroupKey) -> list[int]:
        """ScheduledPods: those that have a node or are assumed to have one."""
        placed = self._cluster.pods.node_row
        infos = self._cluster.pods.infos
        return [row for row in self.members(key) if placed[row] != NOWHERE or infos[row].pod.spec.node_name]

    def pending(self, key: GroupKey) -> list[int]:
        """Members without a node."""
        scheduled = set(self.scheduled(key))
        return [row for row in self.members(key) if row not in scheduled]

    def bound(self, key: GroupKey) -> list[int]:
        """Members that the API server has on a node; those that are assumed in a cycle are left out."""
        return [row for row in self.members(key) if self._cluster.pods.infos[row].pod.spec.node_name]

    def in_order_of_attempts(self, key: GroupKey, rows: Iterable[int]) -> list[int]:
        """The rows in the order of QueuedPodInfo.InitialAttemptTimestamp: the order of creation, but the pod that
        completes the quorum of a gang comes first, because it enters the active queue before the pods that it frees.
        Those follow in the order of a Go map; here the oldest is first."""
        infos = self._cluster.pods.infos
        ordered = sorted(rows, key=lambda row: _arrival(infos[row]))
        group = self.get(key)
        gang = group.spec.scheduling_policy.gang if group else None
        if gang is None:
            return ordered
        scheduled = set(self.scheduled(key))
        waiting = sorted(set(self.members(key)) - scheduled, key=lambda row: _arrival(infos[row]))
        missing = gang.min_count - len(scheduled)
        completing = waiting[missing - 1] if 0 < missing <= len(waiting) else None
        return sorted(ordered, key=lambda row: row != completing)


def _arrival(info: PodInfo) -> tuple[float, str, str]:
    return info.created, info.namespace, info.name


def not_found(key: GroupKey) -> str:
    """The lister's error for a group that does not exist."""
    return f'podgroup.scheduling.k8s.io "{key.name}" not found'
