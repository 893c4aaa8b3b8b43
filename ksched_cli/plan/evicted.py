"""Who pays for preemption: the workloads whose running pods were evicted, and how many of those are Pending then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Set

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import pod_key, uid_of_pod
from ksched_cli.controlplane.pods import is_active
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.controlplane.workloads import top_owner
from ksched_cli.world.recorder import PreemptedPod
from ksched_cli.world.world import World


class WorkloadLoss(Struct, frozen=True):
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
    """The evictions of a world that has come to rest. `caused_by` and `same_elsewhere` stay valid when the world is
    rolled back."""

    def __init__(self, world: World) -> None:
        self._store, self._replaced = world.plane.store, world.plane.api.successors.replaced
        self.evictions: list[PreemptedPod] = list(world.recorder.preempted)
        self._victims = {uid_of_pod(each.pod): each.pod for each in self.evictions}
        self._invented = world.plane.api.draws.invented_uids & set(self._victims)
        self._owners = {uid: top_owner(self._store, pod) for uid, pod in self._victims.items()}
        self._pending = self._pending_pods() if self.evictions else {}

    def of_workload(self, owners: Set[Identity]) -> list[PreemptedPod]:
        return [each for each in self.evictions if is_of(each.pod, owners)]

    def victim_before(self, pod: Pod) -> Pod | None:
        """The evicted pod whose place this pod takes, directly or through others."""
        while (before := self._replaced.get(pod.metadata.uid)) is not None and before is not pod:
            if uid_of_pod(before) in self._victims:
                return before
            pod = before
        return None

    def same_elsewhere(self, other: Losses, own: Collection[str]) -> list[PreemptedPod]:
        """The evictions that another world of the same cluster has too. Evictions by `own` preemptors are not among
        them. Pods that a run has created are compared by workload."""
        others = Counter(other._name_of(each) for each in other.evictions)
        found = []
        for each in self.evictions:
            name = self._name_of(each)
            if each.by not in own and others[name]:
                others[name] -= 1
                found.append(each)
        return found

    def _name_of(self, eviction: PreemptedPod) -> Identity | str:
        uid = uid_of_pod(eviction.pod)
        return self._owners[uid] if uid in self._invented else uid

    def caused_by(
        self, preemptors: Collection[str] | None = None, without: Collection[PreemptedPod] = ()
    ) -> list[WorkloadLoss]:
        """The losses of each workload by these preemptors, or by all."""
        left_out = {id(each) for each in without}
        found: dict[Identity, list[Pod]] = {}
        budgets: dict[Identity, set[str]] = {}
        for each in self.evictions:
            if id(each) not in left_out and (preemptors is None or each.by in preemptors):
                owner = self._owners[uid_of_pod(each.pod)]
                found.setdefault(owner, []).append(each.pod)
                budgets.setdefault(owner, set()).update(each.budgets)
        return [
            WorkloadLoss(
                "/".join(workload),
                tuple(map(pod_key, pods)),
                self._pending.get(workload, 0),
                any(owner_identity(pod) is not None for pod in pods),
                tuple(sorted(budgets[workload])),
            )
            for workload, pods in sorted(found.items())
        ]

    def _pending_pods(self) -> Counter[Identity]:
        """By workload, the pods without a node in the place of an evicted pod."""
        waiting = (pod for pod in self._store.of(Pod) if not pod.spec.node_name and is_active(pod))
        return Counter(top_owner(self._store, pod) for pod in waiting if self.victim_before(pod) is not None)


def is_of(pod: Pod, owners: Set[Identity]) -> bool:
    """Whether one of these controls the pod, or is the pod."""
    return owner_identity(pod) in owners or identity_of(pod) in owners
