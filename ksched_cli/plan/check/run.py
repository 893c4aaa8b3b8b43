"""One run of the manifests of `check` in a world: until rest, then in waves while Jobs finish their pods."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.cluster.pod_groups import group_preemptor
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.workloads import top_owner
from ksched_cli.engine.decision import Decision
from ksched_cli.plan.check.workloads import WorkloadState, jobs_of, state_of
from ksched_cli.plan.evicted import is_of
from ksched_cli.plan.node_columns import NodeColumns
from ksched_cli.sources.custom.labels import resource_of
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.manifests import WORKLOADS, in_order
from ksched_cli.world.results import Ending, Limits, WorldResult
from ksched_cli.world.world import World

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
