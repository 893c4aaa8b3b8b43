"""Preemption for a whole pod group (preemption.PodGroupEvaluator): the domain is the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.api.policy import PodGroup
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.cluster.pods import NOT_STARTED
from ksched_cli.framework.handle import GroupTrial
from ksched_cli.framework.status import Status, unresolvable
from ksched_cli.plugins.default_preemption.budgets import PreemptionBudgets
from ksched_cli.plugins.default_preemption.unstable_sort import sort_slice

NO_VICTIMS = unresolvable("No preemption victims found for incoming preemptor")


class Victim(Struct):
    """Pods that leave together: one pod, or all of a group whose disruption mode is PodGroup. `started` and
    `of_group` are those of the first pod, as in newVictim; `turn` is its place in the order of nodes and pods."""

    pods: list[int]
    name: str
    priority: int
    started: float
    turn: int
    of_group: bool

    @property
    def rank(self) -> tuple[Any, ...]:
        """moreImportantVictim as a sort key. A pod that has not started has the time at which it was looked at."""
        started = (self.started, self.turn if self.started == NOT_STARTED else 0)
        size = len(self.pods) if self.of_group else 0
        return (-self.priority, not self.of_group, -size, started)


class GroupEvaluator:
    """Chooses the victims of a pod group."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._budgets = PreemptionBudgets(cluster)

    def victims(self, priority: int, trial: GroupTrial) -> tuple[int, ...] | Status:
        """selectVictimsOnDomain: the pods that leave, the most important of them first."""
        potential = [victim for victim in self._all() if victim.priority < priority]
        if not potential:
            return NO_VICTIMS
        for victim in potential:
            trial.remove(victim.pods)
        status = trial.schedule()
        if not status.ok:
            return status
        leaving: list[Victim] = []
        for victim in self._in_order_of_reprieve(_by_importance(potential)):
            trial.put_back(victim.pods)
            if not trial.schedule().ok:
                trial.remove(victim.pods)
                leaving.append(victim)
        return tuple(pod for victim in _by_importance(leaving) for pod in victim.pods)

    def _all(self) -> list[Victim]:
        """newDomainForWorkloadPreemption. Go's order is that of a map; here it is that of the names."""
        infos = self._cluster.pods.infos
        found: dict[object, Victim] = {}
        for turn, pod in enumerate(self._placed()):
            info, group = infos[pod], self._leaving_as_one(pod)
            key = pod if group is None else (group.metadata.namespace, group.metadata.name)
            if key in found:
                found[key].pods.append(pod)
                continue
            started = float(self._cluster.pods.started(np.array([pod], dtype=np.int64))[0])
            priority = info.priority if group is None else group.spec.priority or 0
            found[key] = Victim([pod], info.key, priority, started, turn, info.pod.spec.scheduling_group is not None)
        return sorted(found.values(), key=lambda victim: victim.name)

    def _placed(self) -> Iterator[int]:
        for node_row in range(len(self._cluster.nodes)):
            yield from self._cluster.pods_on(node_row)

    def _leaving_as_one(self, pod: int) -> PodGroup | None:
        """isPodGroupPreemptiblePod."""
        key = group_of(self._cluster.pods.infos[pod])
        group = self._cluster.catalog.get(PodGroup, key.name, key.namespace) if key else None
        return group if group and group.spec.is_disrupted_as_a_whole else None

    def _in_order_of_reprieve(self, victims: Sequence[Victim]) -> Iterable[Victim]:
        """Those that a disruption budget protects first (filterVictimsWithPDBViolation)."""
        violating = self._budgets.violating_units([victim.pods for victim in victims])
        pairs = sorted(zip(victims, violating, strict=True), key=lambda pair: not pair[1])
        return [victim for victim, _ in pairs]


def _by_importance(victims: Sequence[Victim]) -> list[Victim]:
    return sort_slice(victims, lambda left, right: left.rank < right.rank)
