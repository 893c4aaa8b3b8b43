"""DefaultPreemption: makes room for a pod by evicting pods of lower priority."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from ksched_cli.api.policy import PodGroup
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_groups import GroupKey, group_of, not_found
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pods import NOT_STARTED
from ksched_cli.config.plugin_args import DefaultPreemptionArgs
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import CycleHandle, GroupTrial, Handle
from ksched_cli.framework.interfaces import (
    Detail,
    PodGroupPostFilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
)
from ksched_cli.framework.status import SUCCESS, Code, Status, as_reasons, error, unschedulable
from ksched_cli.plugins.default_preemption.evaluator import Evaluator, PreemptionSearch
from ksched_cli.plugins.default_preemption.group_victims import GroupEvaluator
from ksched_cli.plugins.default_preemption.outcomes import PRIORITY_OFFSET, Outcomes
from ksched_cli.plugins.default_preemption.rules import DefaultPreemptionRules
from ksched_cli.plugins.lib.spec import Spec

NEVER = "not eligible due to preemptionPolicy=Never."
STILL_LEAVING = "not eligible due to a terminating pod on the nominated node."
NO_GROUP = "pod group for pod not found"
NO_CANDIDATE = "no candidate node for preemption"
WORKLOAD_AWARE = "not eligible due to workload aware preemption enabled"
CONSTRAINED = "workload aware preemption is not supported for pod groups with scheduling constraints"
PLACEMENT_BASED = "not eligible due to placement-based pod group scheduling limitation"


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin[None], PodGroupPostFilterPlugin):
    name = "DefaultPreemption"
    points_since = (("preEnqueue", "1.32"), ("podGroupPostFilter", "1.37"))
    summary = "When no node fits, looks for a node where evicting pods of lower priority makes room."
    args: DefaultPreemptionArgs
    events = (ClusterEvent("Pod", Action.DELETE),)

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        # A scheduler that has the gate off reads no budgets.
        self._rules = DefaultPreemptionRules.of(handle.release)
        blind = self._rules.budgets_have_a_gate and not handle.gates.enabled("PodDisruptionBudget")
        self._evaluator = Evaluator(
            handle.cluster, handle.nominator, self.is_preemption_allowed, heeds_budgets=not blind
        )
        self._group_evaluator = GroupEvaluator(handle.cluster)

    def events_to_register(self) -> Sequence[ClusterEvent]:
        return self.events if self.handle.gates.enabled("SchedulerAsyncPreemption") else ()

    def is_schedulable_after(self, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        # A pod that waits for its victims was rejected by other plugins, and those decide when it is due.
        return False

    def depends(self, pod: PodInfo) -> Depends:
        # PostFilter runs whenever no node fits. It depends on nothing that filters do not depend on.
        return NOTHING

    def pre_enqueue(self, pod: PodInfo) -> Status:
        # kube-scheduler holds a pod back here while its victims are being deleted in the background. Here a
        # preemption is over when its cycle is.
        return SUCCESS

    def post_filter(self, state: None, pod: PodInfo, cycle: CycleHandle) -> tuple[PostFilterResult | None, Status]:
        """Evaluator.Preempt."""
        reason = self._leaves_it_to_the_group(pod) or self._ineligible(pod, cycle)
        if reason:
            return None, unschedulable(f"preemption: {reason}")
        found = self._evaluator.find_candidates(cycle, pod)
        candidates = self._shortlist(found)
        if not len(candidates):
            return self._without_candidate(found)
        nodes = self.handle.cluster.nodes
        if self.handle.extenders is None:
            best = found.outcomes.best(candidates, nodes.name_rank)
        else:
            left = self.handle.extenders.preempt(pod, {row: found.candidate(row) for row in candidates.tolist()})
            if isinstance(left, Status):
                return None, replace(left, reasons=as_reasons([f"preemption: {left.message}"]))
            if not left:
                return None, unschedulable(f"preemption: {NO_CANDIDATE}")
            best = self._evaluator.best_of(left)
        node, status = nodes.names[best.row], SUCCESS
        if self._rules.reports_its_node:
            text = f"found a potential placement for pod on node {node}, preempting {len(best.victims)} victims"
            status = Status(Code.SUCCESS, as_reasons([f"preemption: {text}"]))
        return PostFilterResult(node, best.victims, best.pdb_violations), status

    def _without_candidate(self, found: PreemptionSearch) -> tuple[PostFilterResult | None, Status]:
        # Else a pod keeps its nomination where eviction is tried and does not help.
        loses = self._rules.failed_pods_lose_nomination or not len(found.potential)
        lost = PostFilterResult("") if loses else None
        if not self._rules.explains_failure:
            return lost, unschedulable("")
        problem = found.errors()
        if problem:
            return None, error(f"preemption: {problem}")
        return lost, unschedulable(f"preemption: {found.failure()}")

    def explain_post_filter(self, state: None, pod: PodInfo, cycle: CycleHandle) -> Detail:
        """The candidates from the best to the worst with the figures they are chosen by, and what is wrong with the
        other nodes that were tried."""
        reason = self._leaves_it_to_the_group(pod) or self._ineligible(pod, cycle)
        if reason:
            return {"ineligible": reason}
        found = self._evaluator.find_candidates(cycle, pod)
        names, outcomes = self.handle.cluster.nodes.names, found.outcomes
        ranked = outcomes.ranked(self._shortlist(found), self.handle.cluster.nodes.name_rank)
        others = [row for row in found.potential.tolist() if not outcomes.helps[row]]
        return {
            "candidates": [self._figures(outcomes, row) for row in ranked],
            "others": {
                names[row]: [reason.plain for reason in outcomes.statuses.status(row).reasons] for row in others
            },
            "beyondHelp": len(names) - len(found.potential),
        }

    def _figures(self, outcomes: Outcomes, row: int) -> dict[str, Any]:
        infos, candidate = self.handle.cluster.pods.infos, outcomes.candidate(row)
        started = float(outcomes.earliest[row])
        return {
            "node": self.handle.cluster.nodes.names[row],
            "victims": [infos[victim].key for victim in candidate.victims],
            "pdbViolations": candidate.pdb_violations,
            "highestPriority": int(outcomes.highest[row]),
            "sumOfPriorities": int(outcomes.priorities[row]) - int(outcomes.count[row]) * PRIORITY_OFFSET,
            "highestStarted": None if started == NOT_STARTED else started,
        }

    def _leaves_it_to_the_group(self, pod: PodInfo) -> str:
        """Why a pod of a group may not preempt by itself, or an empty string."""
        key, gates = group_of(pod), self.handle.gates
        if key is None:
            return ""
        if gates.enabled("TopologyAwareWorkloadScheduling"):
            group = self.handle.cluster.catalog.get(PodGroup, key.name, key.namespace)
            if group is None:
                return NO_GROUP
            if group.spec.scheduling_constraints is not None:
                return PLACEMENT_BASED
        return WORKLOAD_AWARE if gates.enabled("WorkloadAwarePreemption") else ""

    def pod_group_post_filter(
        self, key: GroupKey, pods: Sequence[PodInfo], trial: GroupTrial
    ) -> tuple[int, ...] | Status:
        """PodGroupEvaluator.Preempt, for a group without scheduling constraints."""
        group = self.handle.cluster.catalog.get(PodGroup, key.name, key.namespace)
        if group is None:
            return error(f"failed to get pod group object: {not_found(key)}")
        constraints = group.spec.scheduling_constraints
        if constraints is not None and constraints.topology:
            return unschedulable(CONSTRAINED)
        if any(pod.pod.spec.preemption_policy == "Never" for pod in pods):
            return unschedulable(NEVER)
        return self._group_evaluator.victims(group.spec.priority or 0, trial)

    def is_preemption_allowed(self, pod: PodInfo, others: RowColumn) -> BoolColumn:
        """Which of the other pods (rows) the pod may evict."""
        allowed: BoolColumn = self.handle.cluster.pods.priority[others] < pod.priority
        return allowed

    def _ineligible(self, pod: PodInfo, cycle: CycleHandle) -> str:
        """PodEligibleToPreemptOthers: why the pod may not preempt, or an empty string."""
        if pod.pod.spec.preemption_policy == "Never":
            return NEVER
        cluster = self.handle.cluster
        row = cluster.nodes.row_of.get(self.handle.nominator.node_of(cluster.pods.row_of[pod.uid]))
        if row is None:
            return ""
        hopeless = cycle.diagnosis.nodes.status(row).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        if hopeless and self._rules.hopeless_node_ends_waiting:
            return ""
        others = np.array(cluster.pods_on(row), dtype=np.int64)
        lower = others[self.is_preemption_allowed(pod, others)]
        return STILL_LEAVING if any(map(self._terminating_by_preemption, lower.tolist())) else ""

    def _terminating_by_preemption(self, pod_row: int) -> bool:
        """podTerminatingByPreemption: evicted in this run, or marked so by a scheduler."""
        cluster = self.handle.cluster
        if pod_row in cluster.preempted:
            return True
        if not cluster.pods.terminating[pod_row]:
            return False
        if not self.handle.gates.enabled("PodDisruptionConditions"):
            return True
        for condition in cluster.pods.infos[pod_row].pod.status.conditions:
            if condition.type == "DisruptionTarget":
                return condition.status == "True" and condition.reason == "PreemptionByScheduler"
        return False

    def _shortlist(self, found: PreemptionSearch) -> RowColumn:
        """With sampling the search ends at as many candidates as the arguments allow, one of them within budgets
        (calculateNumCandidates; Go starts at a random node, here it is the first). Else it goes on to the end."""
        candidates = found.candidates
        if not self.handle.sampling or not self._rules.search_ends_early:
            return candidates
        share = len(found.potential) * self.args.min_candidate_nodes_percentage // 100
        wanted = min(max(share, self.args.min_candidate_nodes_absolute), len(found.potential))
        within = np.maximum.accumulate(found.outcomes.pdb_violations[candidates] == 0)
        enough = np.nonzero(within & (np.arange(1, len(candidates) + 1) >= wanted))[0]
        return candidates[: enough[0] + 1] if len(enough) else candidates


SPEC = Spec(plugins=(DefaultPreemption,))
