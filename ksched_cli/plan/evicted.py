"""Who pays for preemption: the workloads whose running pods were evicted, and how many of those are Pending then."""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import pod_key, uid_of_pod
from ksched_cli.controlplane.pods import is_active
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.controlplane.workloads import top_owner
from ksched_cli.world.recorder import PreemptedPod
from ksched_cli.world.world import World


@dataclass(frozen=True, slots=True)
class WorkloadLoss:
    """A workload that lost running pods. `pending`: how many of the pods that replace them have no node in the end.
    `recreated` is False for pods without a controller: they are deleted for good. `budgets`: the PodDisruptionBudgets
    that did not allow it."""

    workload: str
    evicted: tuple[str, ...]
    pending: int
    recreated: bool = True
    budgets: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        name = " ".join(self.workload.split("/", 1))
        noun = "PodDisruptionBudget" if len(self.budgets) == 1 else "PodDisruptionBudgets"
        against = f" against {noun} {', '.join(self.budgets)}" if self.budgets else ""
        if not self.recreated:
            return f"{name} is deleted for good{against}: no controller recreates it"
        pods = f"{len(self.evicted)} evicted{against}"
        end = f"{self.pending} Pending in the end" if self.pending else "all of them run again"
        return f"{name}: {pods}, {end}"


class Losses:
    """The evictions of a world that has come to rest."""

    def __init__(self, world: World) -> None:
        self._store, self._replaced = world.plane.store, world.plane.api.successors.replaced
        self.evictions: list[PreemptedPod] = world.recorder.preempted
        self._victims = {uid_of_pod(each.pod): each.pod for each in self.evictions}
        self._pending: dict[Identity, int] | None = None

    def of_workload(self, owners: Set[Identity]) -> list[PreemptedPod]:
        return [each for each in self.evictions if is_of(each.pod, owners)]

    def victim_before(self, pod: Pod) -> Pod | None:
        """The evicted pod whose place this pod takes, directly or through others."""
        while (before := self._replaced.get(pod.metadata.uid)) is not None and before is not pod:
            if uid_of_pod(before) in self._victims:
                return before
            pod = before
        return None

    def caused_by(self, preemptors: Collection[str] | None = None) -> list[WorkloadLoss]:
        """The losses of each workload by these preemptors, or by all."""
        found: dict[Identity, list[Pod]] = {}
        budgets: dict[Identity, set[str]] = {}
        for each in self.evictions:
            if preemptors is None or each.by in preemptors:
                owner = top_owner(self._store, each.pod)
                found.setdefault(owner, []).append(each.pod)
                budgets.setdefault(owner, set()).update(each.budgets)
        return [
            WorkloadLoss(
                "/".join(workload),
                tuple(map(pod_key, pods)),
                self._pending_of(workload),
                any(owner_identity(pod) is not None for pod in pods),
                tuple(sorted(budgets[workload])),
            )
            for workload, pods in sorted(found.items())
        ]

    def _pending_of(self, workload: Identity) -> int:
        if self._pending is None:
            self._pending = {}
            for pod in self._store.of(Pod):
                if not pod.spec.node_name and is_active(pod) and self.victim_before(pod) is not None:
                    owner = top_owner(self._store, pod)
                    self._pending[owner] = self._pending.get(owner, 0) + 1
        return self._pending.get(workload, 0)


def is_of(pod: Pod, owners: Set[Identity]) -> bool:
    """Whether one of these controls the pod, or is the pod."""
    return owner_identity(pod) in owners or identity_of(pod) in owners
