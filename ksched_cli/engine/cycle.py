"""One scheduling cycle (Scheduler.ScheduleOne), serial and without binding anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.dynamic_resources import ResourceClaim
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.undo import Logged
from ksched_cli.engine.binding import bind, permit, reserve, unreserve
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.decision import Decision, no_rows
from ksched_cli.engine.faults import CycleError, ExtenderError
from ksched_cli.engine.lane import TemplateResult
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.reasons import EngineReasons
from ksched_cli.engine.runtime import Runtime
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.engine.selection import TieBreak, best_rows, lowest_name, num_feasible_nodes_to_find
from ksched_cli.engine.trial import CycleTrial
from ksched_cli.engine.waiting import WaitingPods, WaitingPodState
from ksched_cli.framework.diagnosis import EXTENDER, Diagnosis, NodeStatuses
from ksched_cli.framework.interfaces import PostFilterResult
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SUCCESS, Code, Status, unresolvable
from ksched_cli.releases.engine_rules import EngineRules, Wording
from ksched_cli.releases.plugin_names import DEFAULT_PREEMPTION

if TYPE_CHECKING:
    from ksched_cli.engine.extenders.chain import Extenders


class CycleContext(Struct):
    """CycleHandle for PostFilter plugins."""

    runtime: Runtime
    state: CycleState
    pod: PodInfo
    diagnosis: Diagnosis

    def trial(self) -> CycleTrial:
        return CycleTrial(self.runtime, self.state, self.pod)


class FeasibleNodes(Struct):
    """The result of the search for nodes. `kept` is what the lane keeps of it."""

    feasible: RowColumn
    diagnosis: Diagnosis
    bare: bool = False
    kept: TemplateResult | None = None


class Cycle(Logged):
    """Runs cycles one after the other on one cluster; remembers only where the next search starts."""

    def __init__(
        self,
        cluster: Cluster,
        nominator: NominatedPods,
        *,
        tie_break: TieBreak = lowest_name,
        sampling: bool = False,
        percentage_of_nodes_to_score: int = 0,
        extenders: Extenders | None = None,
        extenders_judge: bool = False,
        prefers_nominated_node: bool = True,
    ) -> None:
        """`extenders_judge` when some extender of the configuration filters or scores, whether or not it is called."""
        self.undo = cluster.undo
        self.cluster = cluster
        self.nominator = nominator
        self.tie_break = tie_break
        self.sampling = sampling
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score
        self.extenders = extenders
        self.extenders_judge = extenders_judge
        self.prefers_nominated_node = prefers_nominated_node
        self._rules = EngineRules.of(cluster.release)
        self._wording = Wording.of(cluster.release)
        # Where the next search starts.
        self.next_start = 0
        # Pods that Permit holds; None where no time passes.
        self.waiting: WaitingPods | None = None
        # The only nodes that a pod group's placement allows (Snapshot.AssumePlacement), None for all.
        self.placement: RowColumn | None = None
        # Whether PostFilter plugins are left out (SetSkipAllPostFilterPlugins).
        self.skips_post_filter = False

    def schedule_one(self, runtime: Runtime, pod_row: int) -> Decision:
        """The pod's one cycle. A placed pod is assumed; a victim of preemption is marked as leaving."""
        pod = self.cluster.pods.infos[pod_row]
        if pod.pod.metadata.deletion_timestamp is not None:
            return Decision(pod_row, pod, "skipped")
        decision = Decision(pod_row, pod, "error")
        state = CycleState()
        try:
            self._schedule(runtime, state, decision)
        except CycleError as problem:
            self.give_up(decision, problem)
        return decision

    def give_up(self, decision: Decision, problem: CycleError) -> None:
        """End the cycle of the decision with an error."""
        decision.result, decision.row, decision.message = "error", None, str(problem)
        self._drop_nomination(decision)
        self.cluster.displace(decision.pod_row)

    def _drop_nomination(self, decision: Decision) -> None:
        """Free the node of a pod whose cycle failed, as far as the minor does."""
        if self._rules.failed_pods_lose_nomination:
            self.nominator.delete(decision.pod_row)

    def _schedule(self, runtime: Runtime, state: CycleState, decision: Decision) -> None:
        self.choose(runtime, state, decision)
        if decision.row is not None:
            self._assume(runtime, state, decision, decision.row)

    def choose(self, runtime: Runtime, state: CycleState, decision: Decision) -> None:
        """schedulingAlgorithm: the node to go to, or what PostFilter made of there being none."""
        result = self._look(runtime, state, decision, self.tie_break)
        if decision.row is None:
            self._nominate(decision, result)

    def _look(
        self, runtime: Runtime, state: CycleState, decision: Decision, tie_break: TieBreak
    ) -> PostFilterResult | None:
        """Decide as `choose` does, and return the result of PostFilter without applying it."""
        if not len(self.cluster.nodes):
            decision.reason = EngineReasons.no_nodes()
            decision.result, decision.message = "unschedulable", decision.reason.text
            return PostFilterResult("")
        result = self._known_result(runtime, state, decision)
        found = self._feasible_of(result, state) if result else self._find_nodes(runtime, state, decision)
        decision.diagnosis, decision.feasible = found.diagnosis, found.feasible
        if not len(found.feasible):
            return self._post_filter(runtime, state, decision, found.diagnosis)
        if found.kept is not None and len(found.feasible) > 1:
            decision.scores = runtime.lane.score(found.kept, decision.pod)
            decision.ties = best_rows(decision.scores, self.cluster.nodes)
        else:
            self._prioritize(runtime, state, decision, bare=found.bare)
        decision.row = tie_break(decision.ties) if len(decision.ties) else int(found.feasible[0])
        return None

    def ask(self, runtime: Runtime, pod_row: int) -> Decision:
        """The decision that the pod's cycle would reach now, with ties to the lowest name. Nothing comes of it, and
        Reserve and the later points do not run."""
        pod, start = self.cluster.pods.infos[pod_row], self.next_start
        if pod.pod.metadata.deletion_timestamp is not None:
            return Decision(pod_row, pod, "skipped")
        decision, claims = Decision(pod_row, pod, "error"), Catalog()
        claims.follow(self.cluster.catalog, (ResourceClaim,))
        try:
            result = self._look(runtime, CycleState(), decision, lowest_name)
        except CycleError as problem:
            decision.row, decision.message = None, str(problem)
            return decision
        finally:
            self.next_start = start
            # A plugin may give claims up in PostFilter.
            self.cluster.catalog.follow(claims, (ResourceClaim,))
        if decision.row is not None:
            decision.result = "scheduled"
        elif result is not None and result.nominated_node:
            decision.preemption, decision.nominated_node = result, result.nominated_node
        return decision

    def scores_of(self, runtime: Runtime, pod_row: int, rows: RowColumn) -> ScoreTable | None:
        """How these nodes would score against each other, had the pod no others to go to; None where it cannot be
        computed. Extenders are not called."""
        state, pod = CycleState(), self.cluster.pods.infos[pod_row]
        nodes = NodeRows(self.cluster, rows)
        try:
            if runtime.pre_filters.run(state, pod).status is not None:
                return None
            # Some plugins score by what their filter has found on the node.
            runtime.nominated.run(state, pod, nodes, NodeStatuses(len(self.cluster.nodes)))
            runtime.scores.prepare(state, pod, nodes)
            return runtime.scores.run(state, pod, nodes)
        except CycleError:
            return None

    def rehearse(self, runtime: Runtime, pod_row: int) -> CycleContext | None:
        """The search alone, to be explained and not to be acted upon; None where it finds a node or does not end."""
        if not len(self.cluster.nodes):
            return None
        state, start = CycleState(), self.next_start
        pod = self.cluster.pods.infos[pod_row]
        try:
            found = self._find_nodes(runtime, state, Decision(pod_row, pod, "error"))
        except CycleError:
            return None
        finally:
            self.next_start = start
        return None if len(found.feasible) else CycleContext(runtime, state, pod, found.diagnosis)

    # What is known of the pod's template

    def _known_result(self, runtime: Runtime, state: CycleState, decision: Decision) -> TemplateResult | None:
        """The result of earlier pods of the template, where every cycle looks at all nodes in the same way."""
        if not self._looks_everywhere(runtime) or self.nominator.node_of(decision.pod_row):
            return None
        return runtime.lane.find(decision.pod)

    def _looks_everywhere(self, runtime: Runtime) -> bool:
        plain = self.placement is None and self.extenders is None and self.cluster.reuse and runtime.profile.score
        if not plain:
            return False
        return self._nodes_to_find(runtime, len(self.cluster.nodes)) >= len(self.cluster.nodes)

    def decides_alike(self, runtime: Runtime) -> bool:
        """Whether each cycle looks at all nodes, takes the lowest name, and is over when the pod is bound."""
        return self._looks_everywhere(runtime) and self.tie_break is lowest_name and self.waiting is None

    def fails_alike(self, runtime: Runtime, pod: PodInfo) -> bool:
        """Whether a copy of a pod without a node gets the same decision as long as nothing changes."""
        if not self._looks_everywhere(runtime):
            return False
        return all(each.placements_version(pod) is not None for each in runtime.profile.search_follows)

    def _feasible_of(self, result: TemplateResult, state: CycleState) -> FeasibleNodes:
        state.filter_states.update(result.state.filter_states)
        state.skip_filter.update(result.state.skip_filter)
        state.template = result
        diagnosis = Diagnosis(result.statuses.copy(), wording=self._wording)
        if result.feasible is None:
            return FeasibleNodes(self.cluster.nodes.all_rows, diagnosis, kept=result)
        diagnosis.unschedulable_plugins |= diagnosis.nodes.unschedulable_plugins()
        return FeasibleNodes(result.feasible, diagnosis, kept=result)

    # Filtering

    def _find_nodes(self, runtime: Runtime, state: CycleState, decision: Decision) -> FeasibleNodes:
        """findNodesThatFitPod."""
        diagnosis = Diagnosis(NodeStatuses(len(self.cluster.nodes)), wording=self._wording)
        if self.placement is not None:
            diagnosis.placement_nodes = len(self.placement)
        outcome = runtime.pre_filters.run(state, decision.pod)
        if self._rules.narrowing_plugins_are_blamed:
            diagnosis.unschedulable_plugins |= outcome.narrowed_by
        if outcome.status is not None:
            diagnosis.pre_filter = outcome.status
            if self._rules.rejection_reaches_nodes:
                diagnosis.nodes.set_absent(NodeRows(self.cluster, self.placement).mask(), outcome.status)
            diagnosis.blame(outcome.status)
            return FeasibleNodes(no_rows(), diagnosis)
        nominated = self._evaluate_nominated_node(runtime, state, decision, diagnosis)
        if len(nominated):
            return FeasibleNodes(nominated.rows, diagnosis, nominated.bare)
        nodes = self._candidates(outcome.node_names, outcome.narrowed_by, diagnosis)
        feasible = self._pass_filters(runtime, state, decision.pod, nodes, diagnosis)
        diagnosis.unschedulable_plugins |= diagnosis.nodes.unschedulable_plugins()
        kept = None
        if nodes.whole and self._looks_everywhere(runtime) and not self.nominator.node_of(decision.pod_row):
            state.template = kept = runtime.lane.keep(decision.pod, state, diagnosis.nodes, feasible)
        if self.extenders is None:
            return FeasibleNodes(feasible, diagnosis, kept=kept)
        left = self.extenders.filter(decision.pod, NodeRows(self.cluster, feasible), diagnosis.nodes)
        if len(left) != len(feasible) and self.extenders.is_blamed:
            diagnosis.unschedulable_plugins.add(EXTENDER)
        return FeasibleNodes(left.rows, diagnosis, left.bare)

    def _evaluate_nominated_node(
        self, runtime: Runtime, state: CycleState, decision: Decision, diagnosis: Diagnosis
    ) -> NodeRows:
        """The node that preemption cleared for this pod is tried first, and alone. What extenders return for it is
        dropped: they are called again with all nodes."""
        row = self.cluster.nodes.row_of.get(self.nominator.node_of(decision.pod_row))
        if not self.prefers_nominated_node:
            row = None
        if row is None or (self.placement is not None and row not in self.placement):
            return NodeRows(self.cluster, no_rows())
        nodes = NodeRows(self.cluster, np.array([row], dtype=np.int64))
        passed = runtime.nominated.run(state, decision.pod, nodes, diagnosis.nodes)
        diagnosis.unschedulable_plugins |= diagnosis.nodes.unschedulable_plugins()
        if self.extenders is None:
            return passed
        try:
            return self.extenders.filter(decision.pod, passed, NodeStatuses(len(self.cluster.nodes)))
        except ExtenderError:
            return NodeRows(self.cluster, no_rows())

    def _candidates(self, node_names: frozenset[str] | None, narrowed_by: set[str], diagnosis: Diagnosis) -> NodeRows:
        """The nodes that PreFilter left; the others get the common status of nodes that are not looked at."""
        allowed = NodeRows(self.cluster, self.placement)
        if node_names is None:
            return allowed
        row_of = self.cluster.nodes.row_of
        unknown = sorted(node_names - row_of.keys())
        if unknown and EngineRules.of(self.cluster.release).unknown_nodes_end_the_cycle:
            raise CycleError(f'nodeinfo not found for node name "{unknown[0]}"')
        rows = np.array(sorted(row_of[name] for name in node_names if name in row_of), dtype=np.int64)
        others = allowed.mask()
        rows = rows[others[rows]]
        others[rows] = False
        self._note_left_out(others, narrowed_by, diagnosis)
        return NodeRows(self.cluster, rows)

    def _note_left_out(self, others: BoolColumn, narrowed_by: set[str], diagnosis: Diagnosis) -> None:
        """The reasons of nodes that PreFilter ruled out: the plugin, a general text, or none, by minor."""
        reason = self._rules.nodes_left_out
        if reason == "plugin is named":
            by = " ".join(sorted(narrowed_by))
            diagnosis.nodes.set_absent(others, unresolvable(EngineReasons.left_out(plugins=by)))
        elif reason == "filtered out":
            for row in np.nonzero(others)[0].tolist():
                diagnosis.nodes.set(row, unresolvable(EngineReasons.filtered_out()))

    def _pass_filters(
        self, runtime: Runtime, state: CycleState, pod: PodInfo, nodes: NodeRows, diagnosis: Diagnosis
    ) -> RowColumn:
        """findNodesThatPassFilters. All nodes are evaluated; where kube-scheduler would have stopped, the rest is
        taken back as not looked at."""
        feasible = runtime.nominated.run(state, pod, nodes, diagnosis.nodes).rows
        wanted = self._nodes_to_find(runtime, len(nodes))
        processed = len(nodes)
        if wanted < len(feasible):
            feasible, processed = self._stop_early(nodes.rows, feasible, wanted, diagnosis)
        self.next_start = (self.next_start + processed) % len(NodeRows(self.cluster, self.placement))
        return feasible

    def _nodes_to_find(self, runtime: Runtime, size: int) -> int:
        judged = runtime.profile.score or self.extenders_judge
        if not judged and self._rules.first_fit_ends_search_without_scores:
            return 1
        return self.sample_size(runtime, size) if self.sampling else size

    def sample_size(self, runtime: Runtime, size: int) -> int:
        """How many feasible nodes of so many kube-scheduler looks for."""
        own = runtime.profile.percentage_of_nodes_to_score
        return num_feasible_nodes_to_find(self.percentage_of_nodes_to_score if own is None else own, size)

    def _stop_early(
        self, rows: RowColumn, feasible: RowColumn, wanted: int, diagnosis: Diagnosis
    ) -> tuple[RowColumn, int]:
        """In serial order the search ends when one feasible node more than wanted turns up."""
        start = self.next_start % len(rows)
        order = np.concatenate([rows[start:], rows[:start]])
        hits = np.nonzero(np.isin(order, feasible))[0]
        end = int(hits[wanted])
        diagnosis.nodes.forget(order[end:])
        return order[hits[:wanted]], end

    # Scoring and binding

    def _prioritize(self, runtime: Runtime, state: CycleState, decision: Decision, *, bare: bool) -> None:
        """prioritizeNodes; a single feasible node is taken without scoring. Without score plugins and extenders, the
        score of every node is 1."""
        if len(decision.feasible) == 1:
            return
        every = len(decision.feasible) == len(self.cluster.nodes) and not self.sampling
        nodes = NodeRows(self.cluster, None if every else decision.feasible, bare=bare)
        runtime.scores.prepare(state, decision.pod, nodes)
        decision.scores = runtime.scores.run(state, decision.pod, nodes)
        if not runtime.profile.score and not self.extenders_judge:
            np.add(decision.scores.totals, 1, out=decision.scores.totals)
        if self.extenders is not None:
            decision.scores = self.extenders.prioritize(decision.pod, nodes, decision.scores)
        decision.ties = best_rows(decision.scores, self.cluster.nodes)

    def _assume(self, runtime: Runtime, state: CycleState, decision: Decision, row: int) -> None:
        """prepareForBindingCycle and the binding cycle, with everything undone if a plugin refuses."""
        self.cluster.place(decision.pod_row, row)
        refusal = reserve(runtime, state, decision.pod, row)
        if refusal is None:
            self.nominator.delete(decision.pod_row)
            permission = permit(runtime, state, decision.pod, row)
            if not permission.refused:
                # Where nothing else can happen meanwhile, to wait is to be allowed.
                if permission.timeouts and self.waiting is not None:
                    node = self.cluster.nodes.names[row]
                    decision.result, decision.message = "waiting", permission.status.message
                    self.waiting.add(WaitingPodState(decision, runtime, state, node, permission.timeouts))
                else:
                    self._bind(runtime, state, decision, row)
                return
            refusal = permission.status
        self.cluster.displace(decision.pod_row)
        self.refuse(decision, row, refusal)

    def _bind(self, runtime: Runtime, state: CycleState, decision: Decision, row: int) -> None:
        """What is left of the binding cycle; a pod that is refused here has had its node for a while."""
        decision.let_go = self.cluster.nodes.names[row]
        refusal = bind(runtime, state, decision.pod, row)
        if refusal is None:
            decision.result, decision.row, decision.let_go = "scheduled", row, ""
            return
        self.cluster.displace(decision.pod_row)
        self.refuse(decision, row, refusal)

    def conclude(self, held: WaitingPodState) -> Decision:
        """WaitOnPermit is over, one way or the other: the rest of the pod's cycle."""
        decision, verdict = replace(held.decision, message="", let_go=held.node), held.verdict or SUCCESS
        found = decision.diagnosis
        if found is not None:
            # If nodes have come or gone since, what was found then is about other rows.
            same = len(found.nodes) == len(self.cluster.nodes)
            nodes = found.nodes.copy() if same else NodeStatuses(len(self.cluster.nodes))
            decision.diagnosis = replace(found, nodes=nodes) if same else Diagnosis(nodes)
        try:
            row = self.cluster.nodes.row_of.get(held.node)
            if row is None:
                raise CycleError(f'node "{held.node}" not found')
            if verdict.ok:
                self._bind(held.runtime, held.state, decision, row)
            else:
                self._turn_away(held, decision, row, verdict)
        except CycleError as problem:
            self.give_up(decision, problem)
        return decision

    def _turn_away(self, held: WaitingPodState, decision: Decision, row: int, verdict: Status) -> None:
        unreserve(held.runtime, held.state, decision.pod, row)
        self.cluster.displace(decision.pod_row)
        if not verdict.rejected:
            raise CycleError(f"waiting on permit for pod: {verdict.message}")
        self.refuse(decision, row, verdict)

    def refuse(self, decision: Decision, row: int, refusal: Status) -> None:
        """End the cycle of a pod that a plugin refused on the chosen node."""
        decision.row = None
        self.nominator.delete(decision.pod_row)
        if not refusal.rejected:
            raise CycleError(refusal.message)
        alone = Diagnosis(NodeStatuses(1))
        alone.nodes.set(0, refusal)
        decision.message = alone.message()
        decision.result = "unschedulable"
        if decision.diagnosis is not None:
            decision.diagnosis.nodes.set(row, refusal)
            decision.diagnosis.unschedulable_plugins = {refusal.plugin}

    # PostFilter

    def _post_filter(
        self, runtime: Runtime, state: CycleState, decision: Decision, diagnosis: Diagnosis
    ) -> PostFilterResult | None:
        """RunPostFilterPlugins, and the message with their text. Where there are none a nomination ends, as it does
        where they find no node."""
        decision.result = "unschedulable"
        loses = self._rules.failed_pods_lose_nomination
        result = PostFilterResult("") if loses else None
        if self.skips_post_filter:
            return None
        if runtime.profile.post_filter:
            result, status = self._run_post_filter(runtime, state, decision.pod, diagnosis)
            diagnosis.post_filter_message = status.message
        decision.message = diagnosis.message()
        return result

    def _run_post_filter(
        self, runtime: Runtime, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        context = CycleContext(runtime, state, pod, diagnosis)
        last: PostFilterResult | None = None
        reasons: list[Reason] = []
        for plugin in runtime.profile.post_filter:
            with runtime.calling(plugin.name, "postFilter"):
                result, status = plugin.post_filter(state.filter_states.get(plugin.name), pod, context)
            if status.ok or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return result, status
            if not status.rejected:
                return None, status
            last = result or last
            reasons.extend(status.reasons)
        return last, Status(Code.UNSCHEDULABLE, tuple(reasons))

    def _nominate(self, decision: Decision, result: PostFilterResult | None) -> None:
        """The victims are on their way out, the pod waits for their node, and weaker pods wait no longer. Without a
        result a nomination stays."""
        if result is None:
            return
        self.nominator.delete(decision.pod_row)
        if not result.nominated_node:
            return
        decision.preemption, decision.nominated_node = result, result.nominated_node
        for victim in result.victims:
            self._evict(victim)
        for other in list(self.nominator.nominated_on(result.nominated_node)):
            if self.cluster.pods.priority[other] < decision.pod.priority:
                self.nominator.delete(other)
        self.nominator.add(decision.pod_row, result.nominated_node)

    def _evict(self, victim: int) -> None:
        """Executor.PreemptPod: a pod that waits on its node goes back to the queue, any other is evicted."""
        held = self.waiting.get(self.cluster.pods.infos[victim].uid) if self.waiting is not None else None
        if held is None or not held.preempt(DEFAULT_PREEMPTION):
            self.cluster.preempt(victim)
