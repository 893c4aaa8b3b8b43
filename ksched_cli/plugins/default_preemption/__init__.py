"""DefaultPreemption: makes room for a pod by evicting pods of lower priority (framework/preemption.Evaluator), and
for a whole pod group (preemption.PodGroupEvaluator, whose domain is the cluster).

Nodes whose pods matter to them alone are all tried in one trial, their pods put back in rounds; each of the others
has a trial of its own. An outcome holds for pods of the same priority and signature until something on the node
changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.workloads import PodGroup
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_groups import GroupKey, group_of, not_found
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pods import NOT_STARTED
from ksched_cli.config.plugin_args import DefaultPreemptionArgs
from ksched_cli.errors import aggregated
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.diagnosis import Diagnosis, NodeStatuses
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import Candidate, CycleHandle, GroupTrial, Handle, Nominator
from ksched_cli.framework.interfaces import (
    Detail,
    PodGroupPostFilterPlugin,
    PodGroupPostFilterResult,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
)
from ksched_cli.framework.status import SUCCESS, Code, Status, as_reasons, error, unresolvable, unschedulable
from ksched_cli.plugins.default_preemption.dry_run import (
    PRIORITY_OFFSET,
    Allowed,
    DefaultPreemptionRules,
    DryRun,
    Outcomes,
    PreemptionBudgets,
)
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.lib.unstable_sort import sort_slice

NOT_HELPFUL = unresolvable("Preemption is not helpful for scheduling")

# How many kinds of pods are remembered; each takes some columns over all nodes.
_KINDS = 16

_Key = tuple[int, Hashable]


class _Remembered(Struct):
    """The outcomes of a kind of pod, with the version of the catalog and the position in the journal."""

    outcomes: Outcomes
    catalog: int
    journal: int = 0


class PreemptionSearch(Struct):
    """The nodes that preemption could help (`potential`), and of these the candidates."""

    potential: RowColumn
    outcomes: Outcomes

    @property
    def candidates(self) -> RowColumn:
        helps = self.outcomes.helps
        if len(self.potential) == len(helps):
            return helps.nonzero()[0]
        rows: RowColumn = self.potential[helps[self.potential]]
        return rows

    def words(self) -> tuple[str, str]:
        """The errors of the dry run, each text once (utilerrors.NewAggregate), and the message about the nodes where
        none is a candidate (FitError.Error). They are kept for a kind of pod until its nodes change."""
        known = self.outcomes.words
        if known is None or not (known[0] is self.potential or len(known[0]) == len(self.potential) == 0):
            # Nodes that were not tried have the common status.
            statuses = NodeStatuses(len(self.outcomes.tried))
            statuses.set_absent(np.ones(len(statuses), dtype=np.bool_), NOT_HELPFUL)
            statuses.take_over(self.outcomes.statuses, self.potential[~self.outcomes.helps[self.potential]])
            rows = statuses.rows_with(Code.ERROR).tolist()
            errors = aggregated(statuses.status(row).message for row in rows)
            known = self.outcomes.words = (self.potential, (errors, Diagnosis(statuses).message()))
        return known[1]


class Evaluator:
    """The search for one cluster and one rule of which pods may be evicted."""

    def __init__(self, cluster: Cluster, nominator: Nominator, allowed: Allowed, *, heeds_budgets: bool) -> None:
        self._cluster = cluster
        self._nominator = nominator
        self._dry_run = DryRun(cluster, allowed, heeds_budgets=heeds_budgets)
        self._skips_nodes_left_out = DefaultPreemptionRules.of(cluster.release).skips_nodes_left_out

    def find_candidates(self, cycle: CycleHandle, info: PodInfo, *, afresh: bool = False) -> PreemptionSearch:
        """findCandidates and DryRunPreemption. `afresh` tries node by node and remembers nothing."""
        found = cycle.diagnosis
        if found.pre_filter is not None and not found.nodes.absent.any():
            # In some patches no node has the status of PreFilter.
            return self._tried_without_states(info)
        potential = self._potential(found.nodes)
        if not len(potential):
            return PreemptionSearch(potential, _none_tried(len(found.nodes)))
        with cycle.trial() as trial:
            outcomes = self._known(info, None if afresh else trial.signature)
            todo = outcomes.untried(potential)
            together = np.zeros(len(todo), dtype=np.bool_) if afresh else self._dry_run.can_share(trial, info, todo)
            if np.count_nonzero(together):
                self._dry_run.run(trial, info, todo[together], outcomes)
        for row in todo[~together].reshape(-1, 1):
            with cycle.trial() as trial:
                self._dry_run.run(trial, info, row, outcomes)
        return PreemptionSearch(potential, outcomes)

    def _tried_without_states(self, info: PodInfo) -> PreemptionSearch:
        """The dry run where PreFilter rejected the pod, so that plugins have no state to take a pod's removal from."""
        rows = np.arange(len(self._cluster.nodes))
        outcomes = Outcomes(len(rows))
        self._dry_run.fail_without_states(info, rows, outcomes)
        return PreemptionSearch(rows, outcomes)

    def _potential(self, statuses: NodeStatuses) -> RowColumn:
        """nodesWherePreemptionMightHelp. Nodes that PreFilter left out count unless the minor skips them."""
        if self._skips_nodes_left_out:
            return statuses.rows_with(Code.UNSCHEDULABLE)
        hopeless = statuses.rows_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        return statuses.once("helpable", lambda: np.setdiff1d(np.arange(len(statuses)), hopeless))

    def best_of(self, candidates: Mapping[int, Candidate]) -> Candidate:
        """SelectCandidate among candidates whose victims extenders may have changed."""
        cluster = self._cluster
        outcomes = Outcomes(len(cluster.nodes))
        for candidate in candidates.values():
            victims = np.array(candidate.victims, dtype=np.int64)
            outcomes.put(candidate, cluster.pods.priority[victims], cluster.pods.started(victims))
        return outcomes.best(np.array(sorted(candidates), dtype=np.int64), cluster.nodes.name_rank)

    def _known(self, info: PodInfo, signature: Hashable | None) -> Outcomes:
        """Outcomes of earlier pods of the kind that still hold; none for a nominated pod, which filters count."""
        cluster = self._cluster
        size = len(cluster.nodes)
        if signature is None or self._nominator.node_of(cluster.pods.row_of[info.uid]):
            return Outcomes(size)
        key = (info.priority, signature)
        remembered: OrderedDict[_Key, _Remembered] = cluster.derived(self, OrderedDict)
        kept = remembered.pop(key, None)
        if kept is None or kept.catalog != cluster.catalog.version:
            kept = _Remembered(Outcomes(size), cluster.catalog.version)
        else:
            kept.outcomes.forget(list(set(cluster.journal[kept.journal :])))
        kept.journal = len(cluster.journal)
        remembered[key] = kept
        if len(remembered) > _KINDS:
            remembered.popitem(last=False)
        return kept.outcomes


@lru_cache(maxsize=16)
def _none_tried(size: int) -> Outcomes:
    """The outcomes where preemption helps none of so many nodes: all such pods share them, and nothing changes them."""
    return Outcomes(size)


NO_VICTIMS_FOR_GROUP = unresolvable("No preemption victims found for incoming preemptor")


class Victim(Struct):
    """Pods that leave together: one pod, or all of a group whose disruption mode is PodGroup. `started` and
    `of_group` are those of the first pod, as in newVictim; `turn` is its place in the order of nodes and pods."""

    pods: list[int]
    name: str
    priority: int
    started: float
    turn: int
    of_group: bool

    @property
    def rank(self) -> tuple[Any, ...]:
        """moreImportantVictim as a sort key. A pod that has not started has the time at which it was looked at."""
        started = (self.started, self.turn if self.started == NOT_STARTED else 0)
        size = len(self.pods) if self.of_group else 0
        return (-self.priority, not self.of_group, -size, started)


class GroupEvaluator:
    """Chooses the victims of a pod group."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._budgets = PreemptionBudgets(cluster)
        self._rules = DefaultPreemptionRules.of(cluster.release)

    def victims(self, priority: int, trial: GroupTrial) -> PodGroupPostFilterResult | Status:
        """selectVictimsOnDomain: the pods that leave, the most important of them first, and the places of the group."""
        potential = [victim for victim in self._all() if victim.priority < priority]
        if not potential:
            return NO_VICTIMS_FOR_GROUP
        for victim in potential:
            trial.remove(victim.pods)
        places = trial.schedule()
        if isinstance(places, Status):
            return places
        leaving: list[Victim] = []
        for victim in self._in_order_of_reprieve(_by_importance(potential)):
            trial.put_back(victim.pods)
            fits = trial.fit(places) if self._rules.groups_keep_places else not isinstance(trial.schedule(), Status)
            if not fits:
                trial.remove(victim.pods)
                leaving.append(victim)
        pods = tuple(pod for victim in _by_importance(leaving) for pod in victim.pods)
        text = f"found a placement for podgroup, preempting {len(pods)} victims"
        return PodGroupPostFilterResult(pods, places if self._rules.groups_are_nominated else None, text)

    def _all(self) -> list[Victim]:
        """newDomainForWorkloadPreemption. Go's order is that of a map; here it is that of the names."""
        infos = self._cluster.pods.infos
        found: dict[object, Victim] = {}
        for turn, pod in enumerate(self._placed()):
            info, group = infos[pod], self._leaving_as_one(pod)
            key = pod if group is None else (group.metadata.namespace, group.metadata.name)
            if key in found:
                found[key].pods.append(pod)
                continue
            started = float(self._cluster.pods.started(np.array([pod], dtype=np.int64))[0])
            priority = info.priority if group is None else group.spec.priority or 0
            found[key] = Victim([pod], info.key, priority, started, turn, info.pod.spec.scheduling_group is not None)
        return sorted(found.values(), key=lambda victim: victim.name)

    def _placed(self) -> Iterator[int]:
        for node_row in range(len(self._cluster.nodes)):
            yield from self._cluster.pods_on(node_row)

    def _leaving_as_one(self, pod: int) -> PodGroup | None:
        """isPodGroupPreemptiblePod."""
        key = group_of(self._cluster.pods.infos[pod])
        group = self._cluster.catalog.get(PodGroup, key.name, key.namespace) if key else None
        return group if group and group.spec.is_disrupted_as_a_whole else None

    def priority_of(self, pod_row: int) -> int:
        """getPodPriority: that of the pod's group, where it has one."""
        info = self._cluster.pods.infos[pod_row]
        key = group_of(info)
        group = self._cluster.catalog.get(PodGroup, key.name, key.namespace) if key else None
        return info.priority if group is None else group.spec.priority or 0

    def _in_order_of_reprieve(self, victims: Sequence[Victim]) -> Iterable[Victim]:
        """Those that a disruption budget protects first (filterVictimsWithPDBViolation)."""
        violating = self._budgets.violating_units([victim.pods for victim in victims])
        pairs = sorted(zip(victims, violating, strict=True), key=lambda pair: not pair[1])
        return [victim for victim, _ in pairs]


def _by_importance(victims: Sequence[Victim]) -> list[Victim]:
    return sort_slice(victims, lambda left, right: left.rank < right.rank)


NEVER = "not eligible due to preemptionPolicy=Never."
STILL_LEAVING = "not eligible due to a terminating pod on the nominated node."
NO_GROUP = "pod group for pod not found"
NO_CANDIDATE = "no candidate node for preemption"
WORKLOAD_AWARE = "not eligible due to workload aware preemption enabled"
CONSTRAINED = "workload aware preemption is not supported for pod groups with scheduling constraints"
ONGOING = "ongoing preemption on nominated nodes"
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

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        # A pod that waits for its victims was rejected by other plugins, and those decide when it is due.
        return False

    def depends(self, info: PodInfo) -> Depends:
        # PostFilter runs whenever no node fits. It depends on nothing that filters do not depend on.
        return NOTHING

    def pre_enqueue(self, info: PodInfo) -> Status:
        # kube-scheduler holds a pod back here while its victims are being deleted in the background. Here a
        # preemption is over when its cycle is.
        return SUCCESS

    def post_filter(self, state: None, info: PodInfo, cycle: CycleHandle) -> tuple[PostFilterResult | None, Status]:
        """Evaluator.Preempt."""
        reason = self._leaves_it_to_the_group(info) or self._ineligible(info, cycle)
        if reason:
            return None, unschedulable(f"preemption: {reason}")
        found = self._evaluator.find_candidates(cycle, info)
        candidates = self._shortlist(found)
        if not len(candidates):
            return self._without_candidate(found)
        nodes = self.handle.cluster.nodes
        if self.handle.extenders is None:
            best = found.outcomes.best(candidates, nodes.name_rank)
        else:
            listed = {row: found.outcomes.candidate(row) for row in candidates.tolist()}
            left = self.handle.extenders.preempt(info, listed)
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
        problem, failure = found.words()
        if problem:
            return None, error(f"preemption: {problem}")
        return lost, unschedulable(f"preemption: {failure}")

    def explain_post_filter(self, state: None, info: PodInfo, cycle: CycleHandle) -> Detail:
        """The candidates from the best to the worst with the figures they are chosen by, and what is wrong with the
        other nodes that were tried. Of a pod whose policy is Never, `ifAllowed` has the candidates without it."""
        reason = self._leaves_it_to_the_group(info) or self._ineligible(info, cycle)
        if reason and reason != NEVER:
            return {"ineligible": reason}
        found = self._evaluator.find_candidates(cycle, info)
        names, outcomes = self.handle.cluster.nodes.names, found.outcomes
        ranked = outcomes.ranked(self._shortlist(found), self.handle.cluster.nodes.name_rank)
        candidates = [self._figures(outcomes, row) for row in ranked]
        if reason:
            return {"ineligible": reason, "ifAllowed": candidates}
        others = [row for row in found.potential.tolist() if not outcomes.helps[row]]
        return {
            "candidates": candidates,
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

    def _leaves_it_to_the_group(self, info: PodInfo) -> str:
        """Why a pod of a group may not preempt by itself, or an empty string."""
        key, gates = group_of(info), self.handle.gates
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
    ) -> PodGroupPostFilterResult | Status:
        found = self._preempt_for_group(key, pods, trial)
        if not self._rules.reports_preemption_of_groups:
            return found
        if isinstance(found, Status):
            return replace(found, reasons=as_reasons([f"pod group preemption: {found.message}"]))
        return replace(found, message=f"pod group preemption: {found.message}")

    def _preempt_for_group(
        self, key: GroupKey, pods: Sequence[PodInfo], trial: GroupTrial
    ) -> PodGroupPostFilterResult | Status:
        """PodGroupEvaluator.Preempt."""
        group = self.handle.cluster.catalog.get(PodGroup, key.name, key.namespace)
        if group is None:
            return error(f"failed to get pod group object: {not_found(key)}")
        constraints = group.spec.scheduling_constraints
        if constraints is not None and constraints.topology and not self._rules.constrained_groups_preempt:
            return unschedulable(CONSTRAINED)
        if any(info.pod.spec.preemption_policy == "Never" for info in pods):
            return unschedulable(NEVER)
        priority = group.spec.priority or 0
        if self._rules.groups_preempt_once and self._awaits_victims(pods, priority):
            return PodGroupPostFilterResult(message=ONGOING)
        return self._group_evaluator.victims(priority, trial)

    def _awaits_victims(self, pods: Sequence[PodInfo], priority: int) -> bool:
        """isOngoingPreemption: whether weaker pods are leaving the nodes that pods of the group are nominated to."""
        cluster, nominator = self.handle.cluster, self.handle.nominator
        nominated = {nominator.node_of(cluster.pods.row_of[info.uid]) for info in pods}
        rows = [row for node in sorted(nominated) if (row := cluster.nodes.row_of.get(node)) is not None]
        return any(
            self._group_evaluator.priority_of(pod_row) < priority and self._terminating_by_preemption(pod_row)
            for row in rows
            for pod_row in cluster.pods_on(row)
        )

    def is_preemption_allowed(self, info: PodInfo, others: RowColumn) -> BoolColumn:
        """Which of the other pods (rows) the pod may evict."""
        allowed: BoolColumn = self.handle.cluster.pods.priority[others] < info.priority
        return allowed

    def _ineligible(self, info: PodInfo, cycle: CycleHandle) -> str:
        """PodEligibleToPreemptOthers: why the pod may not preempt, or an empty string."""
        if info.pod.spec.preemption_policy == "Never":
            return NEVER
        cluster = self.handle.cluster
        row = cluster.nodes.row_of.get(self.handle.nominator.node_of(cluster.pods.row_of[info.uid]))
        if row is None:
            return ""
        hopeless = cycle.diagnosis.nodes.status(row).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        if hopeless and self._rules.hopeless_node_ends_waiting:
            return ""
        others = np.array(cluster.pods_on(row), dtype=np.int64)
        lower = others[self.is_preemption_allowed(info, others)]
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
