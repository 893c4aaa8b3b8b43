"""One run of the manifests of `check` in a world: until nothing moves, then in waves while Jobs finish their pods.

Two more runs answer questions about it: whether a rollout would finish without its old pods, and which evictions happen
without the manifests."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import Deployment, UpdateStrategy
from ksched_cli.cluster.pod_groups import group_preemptor
from ksched_cli.controlplane.controllers.deployment import RECREATE
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.workloads import top_owner
from ksched_cli.engine.decision import Decision
from ksched_cli.plan.check.results import Losses, is_of
from ksched_cli.plan.check.workloads import WorkloadState, jobs_of, state_of
from ksched_cli.plan.results.nodes import NodeColumns
from ksched_cli.sources.loaded import resource_of
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.manifests import WORKLOADS, in_order
from ksched_cli.world.recorder import PreemptedPod
from ksched_cli.world.results import Ending, Limits, WorldResult
from ksched_cli.world.world import World


def finishes_without_old(run: CheckRun, item: Any) -> bool:
    """Whether the rollout comes to its end once the old pods are gone, whatever its strategy is. The world is where the
    run has left it before and after."""
    with run.world.trial():
        api, live = run.plane.api, run.plane.store.current(item)
        if isinstance(live, Deployment):
            api.update(replace(live, spec=replace(live.spec, strategy=UpdateStrategy(RECREATE))))
        else:
            for pod in run.state(item).old:
                api.delete(pod, grace=0)
        run.world.run(LIMITS)
        return run.satisfied(item)


def evicted_anyway(begun: Callable[[], World], losses: Losses, own: set[str]) -> list[PreemptedPod]:
    """The evictions that happen without the manifests, whose pods are the preemptors `own`. `begun` returns the world
    as it is without the manifests."""
    if all(each.by in own for each in losses.evictions):
        return []
    world = begun()
    with world.trial():
        world.plane.api.draws.choices = {}
        world.run(LIMITS)
        return losses.same_elsewhere(Losses(world), own)


# A StatefulSet of a thousand pods, one grace period after the other, takes nine hours.
LIMITS = Limits(max_time=7 * 24 * 3600.0, max_cycles=1_000_000)
MOST_WAVES = 1000


class CheckRun:
    """`result` is the world and `nodes` are the nodes at its first rest, before any Job pod has finished. `waves` are
    the moments at which pods of Jobs finished. The run takes place in a trial of the world."""

    def __init__(self, world: World, changes: Changes) -> None:
        self.world, self.plane, self._changes = world, world.plane, changes
        self.items = [item for item in in_order(changes.manifests) if isinstance(item, (Pod, *WORKLOADS))]
        self._own = {*map(identity_of, self.items), *filter(None, map(resource_of, self.items))}
        # The last cycle of each pod of the manifests that has no node, by uid, and preemptors with their decisions.
        self.decisions: dict[str, Decision] = {}
        self.preempting: dict[str, Decision] = {}
        self.waves: list[float] = []

    def begin(self) -> None:
        """Apply the manifests and run to the end."""
        self.world.apply(self._changes)
        self._own.update(self.plane.pods_of_templates.values())
        self.before: dict[int, WorkloadState] = {id(item): state_of(self.plane, item) for item in self.items}
        self.ending: Ending = self.world.run(LIMITS)
        self.result: WorldResult = self.world.result(self.ending)
        self.nodes = NodeColumns.of(self.world.cluster)
        # Items that were not satisfied then.
        self.short = {id(item) for item in self.items if not self.satisfied(item)}
        self._finish_jobs()

    def is_own(self, pod: Pod) -> bool:
        """Whether the manifests bring the pod or its workload."""
        return identity_of(pod) in self._own or top_owner(self.plane.store, pod) in self._own

    def decided(self, decision: Decision) -> None:
        """Keep the decision about a pod of the manifests."""
        pod = decision.pod
        if decision.result == "scheduled":
            self.decisions.pop(pod.uid, None)
        else:
            self.decisions[pod.uid] = decision
        if decision.group_victims or (decision.preemption and decision.preemption.victims):
            self.preempting[pod.uid] = decision

    def preemptors(self, owners: Set[Identity] | None = None) -> set[str]:
        """The pods and pod groups of the manifests that preempt, of these owners or of all."""
        found = (each for each in self.preempting.values() if owners is None or is_of(each.pod.pod, owners))
        return {group_preemptor(each.pod) if each.group_victims else each.pod.key for each in found}

    def state(self, item: Any) -> WorkloadState:
        return state_of(self.plane, item)

    def satisfied(self, item: Any) -> bool:
        return self.state(item).satisfied

    def gaps(self) -> list[str]:
        return self._changes.gaps(self.plane.store.others_as_loaded())

    def warnings(self) -> list[str]:
        unsettled = [f"the cluster does not come to rest: {self.ending}"] if self.ending != "settled" else []
        return [*self.plane.warnings, *unsettled]

    def _finish_jobs(self) -> None:
        """Pods of Jobs that the manifests bring finish, as long as something waits for room."""
        waits = bool(self.short)
        for _ in range(MOST_WAVES):
            if self.ending != "settled" or not waits:
                return
            moment = self.world.clock.now
            if not self.plane.kubelets.finish_jobs(jobs_of(self.plane, self.items)):
                return
            self.waves.append(moment)
            self.ending = self.world.run(LIMITS)
            waits = not all(map(self.satisfied, self.items))
