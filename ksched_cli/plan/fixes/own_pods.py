"""The pods of the workload that a fix is for."""

from __future__ import annotations

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import is_terminal, pod_key, uid_of_pod
from ksched_cli.controlplane.store import identity_of, owner_identity
from ksched_cli.controlplane.workloads import top_owner
from ksched_cli.plan.fixes.proposed_changes import ProposedChanges
from ksched_cli.world.world import World


class OwnPods:
    """The pods of the workload of a pod, as the world is now."""

    def __init__(self, pod: Pod, world: World, changes: ProposedChanges) -> None:
        self._pod, self._world, self._changes = pod, world, changes
        self._store = store = world.plane.store
        owners = {owner_identity(each) for each in store.of(Pod) if top_owner(store, each) == changes.owner}
        self._owners = [each for each in owners if each is not None]

    def now(self) -> list[Pod]:
        """The pods of the workload, and of what the workload owns by now."""
        if owner_identity(self._pod) is None:
            found = [self._store.current(self._pod)]
            return [pod for pod in found if pod is not None and not is_terminal(pod)]
        controller = self._changes.controller
        dependents = self._store.dependents(controller) if controller is not None else []
        owners = dict.fromkeys([self._changes.owner, *self._owners, *map(identity_of, dependents)])
        pods = [pod for owner in owners for pod in self._store.pods_of_identity(owner) if not is_terminal(pod)]
        return sorted(pods, key=pod_key)

    def leading_cycles(self) -> int:
        """In how many cycles all of them are tried; 0 where other pods are few or something else waits."""
        active, row_of = self._world.loop.queue.active, self._world.cluster.pods.row_of
        if self._world.plane.queue.timers:
            return 0
        cycles = active.turns_of({row_of.get(uid_of_pod(pod)) for pod in self.now()})
        return cycles if 2 * cycles <= len(active) else 0
