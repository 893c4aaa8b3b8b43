"""SchedulingGates: keeps a pod out of the active queue while it has gates (schedulinggates/scheduling_gates.go). The
controller that removes a gate is outside of Kubernetes: no run removes one."""

from __future__ import annotations

from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import PodPatch, add
from ksched_cli.api.object_facts import is_same_pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import PreEnqueuePlugin
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable, RejectionGuide, fixed_field
from ksched_cli.framework.status import SUCCESS, Status, unresolvable
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule

_GATED = ReasonCode(
    "KS201",
    "scheduling-gates",
    "the pod is held back by scheduling gates",
    "The controller that set the gates removes them when the pod may be scheduled.",
    ("nothing, if that is meant",),
    level="note",
)


class SchedulingGatesReasons(ReasonTable, plugins="SchedulingGates"):
    gated = ReasonKind("waiting for scheduling gates: [{gates}]", _GATED, field=fixed_field("spec", "schedulingGates"))


class GatesGuide(RejectionGuide):
    def let_in(self, pod: Pod) -> PodPatch | None:
        if not pod.spec.scheduling_gates:
            return None  # Those of another pod of its group hold it back.
        gates = ", ".join(each.name for each in pod.spec.scheduling_gates)
        return PodPatch(f"remove its scheduling gates ({gates})", "gates", 1, (add([], "spec", "schedulingGates"),))


class SchedulingGatesRules(ReleaseRules, plugins="SchedulingGates"):
    notes = (
        Rule(
            "PodSchedulingReadiness",
            "fields queue",
            "Pods with schedulingGates are held back until these are gone; without the gate, they are tried.",
        ),
    )


class SchedulingGates(PreEnqueuePlugin):
    name = "SchedulingGates"
    since = "1.26"
    summary = "Keeps a pod out of the queue while its spec.schedulingGates is not empty."
    events = (ClusterEvent("Pod", Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),)

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        return is_same_pod(new, info.pod)

    def depends(self, info: PodInfo) -> Depends:
        return NOTHING

    def pre_enqueue(self, info: PodInfo) -> Status:
        gates = info.pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        return unresolvable(SchedulingGatesReasons.gated(gates=" ".join(gate.name for gate in gates)))


SPEC = Spec(plugins=(SchedulingGates,), reasons=(SchedulingGatesReasons,), guide=GatesGuide())
