"""DefaultPreemption: makes room for a pod by evicting pods of lower priority."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import DefaultPreemptionArgs
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import CycleHandle
from ksched_cli.framework.interfaces import PostFilterPlugin, PostFilterResult, PreEnqueuePlugin
from ksched_cli.framework.preemption import Candidate, Evaluator, blocked_by_terminating, failure_message, pick_one
from ksched_cli.framework.status import SUCCESS, Status, unschedulable


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin[None]):
    name = "DefaultPreemption"
    summary = "When no node fits, looks for a node where evicting pods of lower priority makes room."
    args: DefaultPreemptionArgs
    events = (ClusterEvent("Pod", Action.DELETE),)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        # kube-scheduler holds a pod back here while its victims are being deleted in the background. Here a
        # preemption is over when its cycle is.
        return SUCCESS

    def post_filter(self, state: None, pod: PodInfo, cycle: CycleHandle) -> tuple[PostFilterResult | None, Status]:
        """Evaluator.Preempt."""
        reason = self._ineligible(pod, cycle)
        if reason:
            return None, unschedulable(f"preemption: {reason}")
        cluster = self.handle.cluster
        candidates, statuses = Evaluator(cluster, self._may_evict).find_candidates(cycle, pod)
        if not candidates:
            return PostFilterResult(""), unschedulable(f"preemption: {failure_message(statuses)}")
        best = pick_one(cluster, self._shortlist(candidates, len(candidates)))
        return PostFilterResult(cluster.nodes.names[best.row], best.victims, best.pdb_violations), SUCCESS

    def _may_evict(self, pod: PodInfo, other: int) -> bool:
        return int(self.handle.cluster.pods.priority[other]) < pod.priority

    def _ineligible(self, pod: PodInfo, cycle: CycleHandle) -> str:
        """PodEligibleToPreemptOthers: why the pod may not preempt, or an empty string."""
        if pod.pod.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        cluster = self.handle.cluster
        node = self.handle.nominator.node_of(cluster.pods.row_of[pod.uid])
        row = cluster.nodes.row_of.get(node)
        if row is None:
            return ""
        status = cycle.diagnosis.nodes.status(row)
        if blocked_by_terminating(cluster, pod, node, status, lambda other: self._may_evict(pod, other)):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _shortlist(self, candidates: Sequence[Candidate], potential: int) -> Sequence[Candidate]:
        """With sampling the search ends at as many candidates as the arguments ask for, one of them within budgets
        (calculateNumCandidates; Go starts at a random node, here it is the first)."""
        if not self.handle.sampling:
            return candidates
        share = potential * self.args.min_candidate_nodes_percentage // 100
        wanted = min(max(share, self.args.min_candidate_nodes_absolute), potential)
        within = False
        for count, candidate in enumerate(candidates, start=1):
            within |= candidate.pdb_violations == 0
            if within and count >= wanted:
                return candidates[:count]
        return candidates
