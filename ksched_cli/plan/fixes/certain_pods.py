"""Pending pods that find a node in any case, so that a trial needs no cycles for them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController
from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.controlplane.controllers.replicaset import selector_of, wanted_replicas
from ksched_cli.controlplane.controllers.tainteviction import no_execute
from ksched_cli.controlplane.store import Identity, owner_identity
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.runtime import Runtime
from ksched_cli.framework.interfaces import LASTING, Plugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.in_tree import IN_TREE
from ksched_cli.world.world import World


class CertainPods:
    """The pending pods of a world that is about to run, with the number of nodes that each fits on.

    `are_independent`: the node of one of these pods decides nothing about another pod but by the room that is left on
    it. Then a cycle changes the verdict of one node at most, and a pod that fits on more nodes than change before its
    turn finds a node, wherever the pods before it go. A pod that has found none finds none later either: more pods on
    a node never help. No controller does more than write statuses when these pods get their nodes.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._store, self._controllers = world.plane.store, world.plane.controllers
        self._nodes = {id(node): node for node in world.cluster.nodes.objects}
        self._quiet_owners: dict[Identity, bool] = {}
        self._fits_on: dict[int, tuple[PodInfo, int]] = {}
        scheduler = world.scheduler
        self.are_independent = (
            scheduler.extenders is None
            and world.cluster.reuse
            and all(map(_is_known, (each.profile for each in scheduler.runtimes.values())))
            and not any(map(no_execute, self._nodes.values()))
            and all(self._take(pod.info, pod.row, is_gated=pod.gated) for pod in world.loop.queue)
        )

    def _take(self, pod: PodInfo, row: int, *, is_gated: bool) -> bool:
        """Count the nodes that the pod fits on. Returns whether it is independent of the other pods."""
        runtime = self._world.scheduler.runtimes[pod.pod.spec.scheduler_name]
        if group_of(pod) is not None or not self._is_quiet(pod.pod):
            return False
        if is_gated:
            return runtime.lets_copies_in(pod)
        try:
            feasible = _feasible_nodes(runtime, pod)
        except CycleError:
            return False
        self._fits_on[row] = pod, feasible or 0
        return feasible is not None

    def all_find_nodes(self, cycles: int) -> bool:
        """Whether each pod that is still to be tried finds a node after so many cycles, and nothing else happens."""
        world = self._world
        nodes = world.cluster.nodes.objects
        changed = [node for node in nodes if id(node) not in self._nodes]
        untried = list(world.loop.queue.active)
        bound = sum(life.bound is not None for life in world.recorder.lives.values())
        if len(nodes) < len(self._nodes) or any(map(no_execute, changed)) or len(world.loop.queue.backoff):
            return False
        # The kubelets of the bound pods wait, and no one else.
        if world.scheduler.nominator.nodes() or world.plane.queue.timers != bound:
            return False
        needed = cycles + len(changed) + len(untried)
        return all(not pod.attempts and self._fits(pod.row, pod.info, needed) for pod in untried)

    def _fits(self, row: int, pod: PodInfo, needed: int) -> bool:
        known, feasible = self._fits_on.get(row, (None, 0))
        return known is pod and feasible >= needed

    def _is_quiet(self, pod: Pod) -> bool:
        """Whether no controller does more than write statuses when the pod gets a node and starts."""
        owner = owner_identity(pod)
        if owner is None:
            every = self._controllers
            adopting = (*every.replica_sets.concerned(pod, pod), *every.stateful_sets.concerned(pod, pod))
            return not any(map(self._store.find, adopting)) and not every.daemon_sets.adopters(pod)
        if owner not in self._quiet_owners:
            self._quiet_owners[owner] = owner[0] != "Job" and self._is_at_rest(self._store.find(owner))
        return self._quiet_owners[owner]

    def _is_at_rest(self, item: Any) -> bool:
        """Whether the set has the pods that it wants, and is the only set of its Deployment that wants pods. The input
        may lack the owner of a pod."""
        if item is None:
            return True
        if not isinstance(item, ReplicaSet | ReplicationController):
            return False
        if self._store.count_active(item, selector_of(item))[0] != wanted_replicas(item):
            return False
        owner = owner_identity(item)
        above = self._store.find(owner) if owner is not None else None
        if above is None:
            return True
        if not isinstance(above, Deployment) or above.spec.template is None:
            return False
        sets = self._controllers.deployments.replica_sets(above)
        wanted = [wanted_replicas(above) if each is item else 0 for each in sets]
        newest = self._controllers.deployments.new_replica_set(above, sets)
        return newest is item and list(map(wanted_replicas, sets)) == wanted


def _is_known(profile: Profile) -> bool:
    """Whether all plugins of the profile are those that kube-scheduler brings along."""
    return not profile.checks_all_filters and all(type(plugin) in IN_TREE for plugin in profile.plugins)


def _feasible_nodes(runtime: Runtime, pod: PodInfo) -> int | None:
    """How many nodes pass all filters. None where more than a node itself decides about it, or where binding the pod
    changes more than the room of its node."""
    state, profile = CycleState(), runtime.profile
    outcome = runtime.pre_filters.run(state, pod)
    if outcome.status is not None:
        return None
    points: tuple[Collection[Plugin], ...] = (
        profile.pre_enqueue,
        profile.pre_filter,
        profile.filter,
        profile.reserve,
        profile.permit,
        profile.pre_bind,
        profile.bind,
        profile.post_bind,
    )
    for plugin in (each for point in points for each in point if not each.lasting):
        if plugin.name not in state.skip_filter and plugin.placements_version(pod) != LASTING:
            return None
    if outcome.node_names is not None:
        return 0
    return len(runtime.filters.run(state, pod, NodeRows(runtime.cluster), None))
