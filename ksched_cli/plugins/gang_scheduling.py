"""GangScheduling: the pods of a gang are bound together or not at all."""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.pod_groups import PodGroups, group_of, not_found
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import PermitPlugin, PreEnqueuePlugin
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable, fixed_field
from ksched_cli.framework.status import SUCCESS, Code, Status, error, unresolvable
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule

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


_WAITING = Status(Code.WAIT, (GangSchedulingReasons.waits_for_nodes(),))


class GangSchedulingRules(ReleaseRules, plugins="GangScheduling"):
    notes = (Rule("GangScheduling", "queue search", "Gangs are placed as a whole; without the gate, pod by pod."),)


class GangScheduling(PreEnqueuePlugin, PermitPlugin[None]):
    name = "GangScheduling"
    since = "1.35"
    summary = "Holds the pods of a gang back until minCount of them exist, and binds none before minCount have a node."
    events = (ClusterEvent("Pod", Action.ADD), ClusterEvent("PodGroup", Action.ADD))

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = PodGroups(handle.cluster, handle.scheduler_names)

    def depends(self, pod: PodInfo) -> Depends | None:
        return NOTHING if group_of(pod) is None else None

    def is_schedulable_after(self, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        """Whether a pod of the same group, or the group itself, was created."""
        key = group_of(pod)
        if key is None or new.metadata.namespace != key.namespace:
            return False
        if event.resource == "PodGroup":
            return bool(new.metadata.name == key.name)
        named = new.spec.scheduling_group
        return named is not None and named.pod_group_name == key.name

    def pre_enqueue(self, pod: PodInfo) -> Status:
        key = group_of(pod)
        if key is None:
            return SUCCESS
        group = self._groups.get(key)
        if group is None:
            return unresolvable(GangSchedulingReasons.no_group(group=key.name))
        gang = group.spec.scheduling_policy.gang
        if gang is None or len(self._groups.members(key)) >= gang.min_count:
            return SUCCESS
        return unresolvable(GangSchedulingReasons.no_quorum())

    def permit(self, state: None, pod: PodInfo, row: int) -> tuple[Status, float]:
        """Waits until minCount pods have a node. In the cycle of a group earlier pods are assumed already."""
        key = group_of(pod)
        if key is None:
            return SUCCESS, 0
        group = self._groups.get(key)
        if group is None:
            return error(f"failed to get podGroup {key}: {not_found(key)}"), 0
        gang = group.spec.scheduling_policy.gang
        if gang is None or len(self._groups.scheduled(key)) >= gang.min_count:
            return SUCCESS, 0
        return _WAITING, PERMIT_TIMEOUT


SPEC = Spec(plugins=(GangScheduling,), reasons=(GangSchedulingReasons,))
