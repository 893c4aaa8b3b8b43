"""The plugins of pod groups. GangScheduling holds pods until enough of their group can run
(gangscheduling/gangscheduling.go), TopologyPlacementGenerator proposes the domains in which a whole group may stay
(topologyaware/topology_placement.go), and PodGroupPodsCount prefers the domain with most of its pods
(podgrouppodscount/podgroup_pods_count.go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ksched_cli.api.workloads import PodGroup
from ksched_cli.cluster.columns import NOWHERE, RowColumn
from ksched_cli.cluster.pod_groups import GroupKey, PodGroups, group_of, not_found
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import (
    PermitPlugin,
    Placement,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    PreEnqueuePlugin,
)
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable, fixed_field
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import SUCCESS, Code, Status, error, unresolvable, unschedulable
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import DEFAULT_PREEMPTION, NODE_RESOURCES_FIT, POD_GROUP_PODS_COUNT

# permitTimeoutDuration, in seconds.
PERMIT_TIMEOUT = 300.0

_INCOMPLETE = ReasonCode(
    "KS151",
    "pod-group-incomplete",
    "the pod group does not have enough pods yet",
    "Its PodGroup is missing, or has fewer pods than its gang needs.",
    ("make as many pods as minCount", "add the PodGroup"),
    level="note",
)


class GangSchedulingReasons(ReasonTable, plugins="GangScheduling"):
    field = fixed_field("spec", "schedulingGroup")
    no_group = ReasonKind('waiting for pods\'s pod group "{group}" to appear in scheduling queue', _INCOMPLETE)
    no_quorum = ReasonKind("waiting for minCount pods from a gang to appear in scheduling queue", _INCOMPLETE)
    waits_for_nodes = ReasonKind("waiting for minCount pods from a gang to be scheduled", _INCOMPLETE)
    out_of_reach = ReasonKind(
        "minCount ({min_count}) cannot be satisfied: {scheduled} scheduled, {remaining} remaining", _INCOMPLETE
    )
    not_yet = ReasonKind(
        "minCount ({min_count}) is not yet satisfied: {scheduled} scheduled, {remaining} remaining", _INCOMPLETE
    )


_WAITING = Status(Code.WAIT, (GangSchedulingReasons.waits_for_nodes(),))


class GangSchedulingRules(ReleaseRules, plugins="GangScheduling"):
    smaller_quorum_wakes_pods = Rule(
        "1.37", "queue", "A PodGroup whose minCount gets smaller wakes its pods; before, no update of it did."
    )
    notes = (Rule("GangScheduling", "queue search", "Gangs are placed as a whole; without the gate, pod by pod."),)


class GroupPlugin(Plugin):
    """A plugin that looks up the members of pod groups."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = PodGroups(handle.cluster, handle.scheduler_names)


class GangScheduling(GroupPlugin, PreEnqueuePlugin, PermitPlugin[None]):
    name = "GangScheduling"
    since = "1.35"
    summary = "Holds the pods of a gang back until minCount of them exist, and binds none before minCount have a node."
    events = (ClusterEvent("Pod", Action.ADD), ClusterEvent("PodGroup", Action.ADD))

    def depends(self, info: PodInfo) -> Depends | None:
        return NOTHING if group_of(info) is None else None

    def events_to_register(self) -> Sequence[ClusterEvent]:
        updates = (ClusterEvent("PodGroup", Action.UPDATE),)
        rules = GangSchedulingRules.of(self.handle.release)
        return (*self.events, *updates) if rules.smaller_quorum_wakes_pods else self.events

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        """Whether a pod of the same group, or the group itself, was created, or the group needs fewer pods."""
        key = group_of(info)
        if key is None or new.metadata.namespace != key.namespace:
            return False
        if event.resource == "PodGroup":
            return bool(new.metadata.name == key.name) and (old is None or _needs_fewer(old, new))
        named = new.spec.scheduling_group
        return named is not None and named.pod_group_name == key.name

    def pre_enqueue(self, info: PodInfo) -> Status:
        key = group_of(info)
        if key is None:
            return SUCCESS
        group = self._groups.get(key)
        if group is None:
            return unresolvable(GangSchedulingReasons.no_group(group=key.name))
        gang = group.spec.scheduling_policy.gang
        if gang is None or len(self._groups.members(key)) >= gang.min_count:
            return SUCCESS
        return unresolvable(GangSchedulingReasons.no_quorum())

    def placement_feasible(self, key: GroupKey, scheduled: int, remaining: int) -> Status:
        """Whether enough pods have a node, or may still find one, as the cycle of a group asks (PlacementFeasible)."""
        group = self._groups.get(key)
        if group is None:
            return error(f"failed to get podGroup {key} to compute gang feasibility: {not_found(key)}")
        gang = group.spec.scheduling_policy.gang
        if gang is None or scheduled >= gang.min_count:
            return SUCCESS
        figures = {"min_count": gang.min_count, "scheduled": scheduled, "remaining": remaining}
        if scheduled + remaining < gang.min_count:
            return unschedulable(GangSchedulingReasons.out_of_reach(**figures))
        return Status(Code.WAIT, (GangSchedulingReasons.not_yet(**figures),))

    def permit(self, state: None, info: PodInfo, row: int) -> tuple[Status, float]:
        """Waits until minCount pods have a node. In the cycle of a group earlier pods are assumed already."""
        key = group_of(info)
        if key is None:
            return SUCCESS, 0
        group = self._groups.get(key)
        if group is None:
            return error(f"failed to get podGroup {key}: {not_found(key)}"), 0
        gang = group.spec.scheduling_policy.gang
        if gang is None or len(self._groups.scheduled(key)) >= gang.min_count:
            return SUCCESS, 0
        return _WAITING, PERMIT_TIMEOUT


def _needs_fewer(old: PodGroup, new: PodGroup) -> bool:
    """Whether minCount has become smaller. Basic groups do not change."""
    before, now = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
    return before is None or now is None or now.min_count < before.min_count


class TopologyPlacementGeneratorRules(ReleaseRules, plugins="TopologyPlacementGenerator"):
    notes = (
        Rule(
            "TopologyAwareWorkloadScheduling",
            "preemption search",
            "Pod groups with constraints are placed in one topology; without the gate, anywhere.",
            plugins=f"TopologyPlacementGenerator {POD_GROUP_PODS_COUNT} {NODE_RESOURCES_FIT} {DEFAULT_PREEMPTION}",
        ),
    )


class TopologyPlacementGenerator(GroupPlugin, PlacementGeneratePlugin):
    name = "TopologyPlacementGenerator"
    since = "1.36"
    summary = "Proposes the nodes of each domain of a pod group's topology constraint as places for the whole group."

    def generate_placements(self, key: GroupKey, nodes: RowColumn) -> Sequence[Placement] | Status:
        """The nodes of each domain, in the order of the domains' names; Go has the order of a map."""
        group = self._groups.get(key)
        if group is None:
            return error(not_found(key))
        constraints = group.spec.scheduling_constraints
        if constraints is None or not constraints.topology:
            return [Placement("", nodes)]
        topology = constraints.topology[0].key
        required = self._domain_of_scheduled(key, topology)
        if isinstance(required, Status):
            return required
        column = self.handle.cluster.nodes.labels.column(topology)
        ids = column.ids[nodes]
        domains = ((value, index) for index, value in enumerate(column.values) if value is not None)
        return [
            Placement(value, nodes[ids == index])
            for value, index in sorted(domains)
            if required in (None, value) and bool(np.any(ids == index))
        ]

    def _domain_of_scheduled(self, key: GroupKey, topology: str) -> str | Status | None:
        """getScheduledPodsTopologyDomain: where pods of the group are already, the others have to go."""
        cluster = self.handle.cluster
        found: str | None = None
        for pod_row in self._groups.scheduled(key):
            info, row = cluster.pods.infos[pod_row], int(cluster.pods.node_row[pod_row])
            if row == NOWHERE:
                name = info.pod.spec.node_name
                return _undetermined(f'getting node for pod {info.key}: nodeinfo not found for node name "{name}"')
            domain = cluster.nodes.objects[row].metadata.labels.get(topology)
            if domain is None:
                return _undetermined(f"no topology domain found for pod {info.key}")
            if found and found != domain:
                return _undetermined(f"more than 1 domain found for pod group: {found}, {domain}")
            found = domain
        return found


def _undetermined(why: str) -> Status:
    return error(f"cannot determine domain for already scheduled pods: {why}")


class PodGroupPodsCount(GroupPlugin, PlacementScorePlugin):
    name = "PodGroupPodsCount"
    since = "1.36"
    summary = "Prefers the placement in which most pods of the group have a node."

    def score_placement(self, key: GroupKey, placement: Placement, proposed: Sequence[PodInfo]) -> int:
        return len(self._groups.scheduled(key)) + len(proposed)

    def normalize_placements(self, scores: Sequence[int]) -> Sequence[int] | Status:
        most = max(scores)
        if most == 0:
            return error("no pods from pod group are assigned to any of the candidate placements")
        return [score * MAX_NODE_SCORE // most for score in scores]


SPEC = Spec(
    plugins=(GangScheduling, TopologyPlacementGenerator, PodGroupPodsCount),
    reasons=(GangSchedulingReasons,),
)
