"""SchedulingGates: a pod with gates is not tried."""

from __future__ import annotations

from typing import Any

from ksched_cli.api.pod_facts import is_same_pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import PreEnqueuePlugin
from ksched_cli.framework.status import SUCCESS, Status, unresolvable
from ksched_cli.releases.changes import GateNote, ReleaseRules


class SchedulingGatesRules(ReleaseRules, plugins="SchedulingGates"):
    notes = (
        GateNote(
            "PodSchedulingReadiness",
            about="fields queue",
            sentence="Pods with schedulingGates are held back until these are gone; without the gate, they are tried.",
        ),
    )


class SchedulingGates(PreEnqueuePlugin):
    name = "SchedulingGates"
    since = "1.26"
    summary = "Keeps a pod out of the queue while its spec.schedulingGates is not empty."
    events = (ClusterEvent("Pod", Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),)

    def is_schedulable_after(self, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        return is_same_pod(new, pod.pod)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        gates = [gate.name for gate in pod.pod.spec.scheduling_gates]
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]") if gates else SUCCESS


PLUGINS = (SchedulingGates,)
