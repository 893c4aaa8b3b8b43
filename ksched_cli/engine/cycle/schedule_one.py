"""One scheduling cycle (schedule_one.go), serial: PreFilter, Filter, PostFilter, PreScore, Score, select, assume,
Reserve, Permit and the binding cycle with its plugins. Nothing is written to an API server.

The cycle evaluates all nodes. The statuses of nodes that kube-scheduler would not reach are cleared. With a `Memory` of
earlier cycles, the same steps take their results from there; every result is the same without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.dynamic_resources import ResourceClaim
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.undo import Logged
from ksched_cli.engine.cycle.runtime import CycleState, Runtime
from ksched_cli.engine.decision import (
    EXTENDER,
    NO_ROWS,
    Decision,
    ScoreTable,
    TieBreak,
    best_rows,
    lowest_name,
    num_feasible_nodes_to_find,
)
from ksched_cli.engine.faults import CycleError, EngineReasons, ExtenderError, raise_plugin_fault
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.waiting import WaitingPods, WaitingPodState
from ksched_cli.framework.depends import ANYWHERE
from ksched_cli.framework.diagnosis import Diagnosis, NodeStatuses
from ksched_cli.framework.interfaces import PostFilterResult
from ksched_cli.framework.reasons import Reason, free_text
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SUCCESS, Code, Status, error, unresolvable
from ksched_cli.releases.engine_rules import EngineRules, Wording
from ksched_cli.releases.plugin_names import DEFAULT_PREEMPTION

if TYPE_CHECKING:
    from ksched_cli.engine.cycle.trial import CycleTrial
    from ksched_cli.engine.extenders.client import Extenders


A = TypeVar("A")

# A Permit plugin may want more time, and gets no more.
MAX_WAIT = 15 * 60.0

SOME_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


class Permission(Struct, frozen=True):
    """The result of Permit, and how long the plugins that want to wait will wait at most, in seconds."""

    status: Status
    timeouts: Mapping[str, float] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return not self.status.ok and self.status.code is not Code.WAIT


PERMITTED = Permission(SUCCESS)


def _answers(
    calls: Iterable[tuple[str, Callable[[Any, PodInfo, int], A]]],
    point: str,
    state: CycleState,
    info: PodInfo,
    row: int,
) -> Iterator[tuple[str, A]]:
    """The answers of the plugins of one point about the pod on its node, each with the name of the plugin."""
    for name, call in calls:
        try:
            answer = call(state.filter_states.get(name), info, row)
        except Exception as problem:
            raise_plugin_fault(problem, name, point)
        yield name, answer


def _first(refusals: Iterator[Status], runtime: Runtime, state: CycleState, info: PodInfo, row: int) -> Status | None:
    """The first refusal. Then, and if a plugin fails, everything is unreserved."""
    try:
        refusal = next(refusals, None)
    except CycleError:
        unreserve(runtime, state, info, row)
        raise
    if refusal is not None:
        unreserve(runtime, state, info, row)
    return refusal


def reserve(runtime: Runtime, state: CycleState, info: PodInfo, row: int) -> Status | None:
    """RunReservePluginsReserve; a refusal takes back, in reverse order, what every plugin has reserved."""
    answers = _answers(((each.name, each.reserve) for each in runtime.profile.reserve), "reserve", state, info, row)
    return _first((status.by(name) for name, status in answers if not status.ok), runtime, state, info, row)


def unreserve(runtime: Runtime, state: CycleState, info: PodInfo, row: int) -> None:
    """RunReservePluginsUnreserve."""
    calls = ((each.name, each.unreserve) for each in reversed(runtime.profile.reserve))
    for _ in _answers(calls, "unreserve", state, info, row):
        pass


def permit(runtime: Runtime, state: CycleState, info: PodInfo, row: int) -> Permission:
    """RunPermitPlugins: the first refusal, after everything was unreserved; else the wait that a plugin wants
    last, else success."""
    waits: dict[str, tuple[Status, float]] = {}

    def refusals() -> Iterator[Status]:
        calls = ((each.name, each.permit) for each in runtime.profile.permit)
        for name, (status, timeout) in _answers(calls, "permit", state, info, row):
            if status.code is Code.WAIT:
                waits[name] = status, min(timeout, MAX_WAIT)
            elif not status.ok:
                yield status.by(name)

    refusal = _first(refusals(), runtime, state, info, row)
    if refusal is not None or not waits:
        return PERMITTED if refusal is None else Permission(refusal)
    *_, (last, _) = waits.values()
    status = Status(Code.WAIT, (*last.reasons, free_text(SOME_WAIT)), last.plugin)
    return Permission(status, {name: timeout for name, (_, timeout) in waits.items()})


def bind(runtime: Runtime, state: CycleState, info: PodInfo, row: int) -> Status | None:
    """PreBind, Bind and PostBind, for a pod that Permit has let through. The first refusal, after everything was
    unreserved; None when bound."""
    refusal = _first(_refusals_to_bind(runtime, state, info, row), runtime, state, info, row)
    if refusal is None:
        calls = ((each.name, each.post_bind) for each in runtime.profile.post_bind)
        for _ in _answers(calls, "postBind", state, info, row):
            pass
    return refusal


def _refusals_to_bind(runtime: Runtime, state: CycleState, info: PodInfo, row: int) -> Iterator[Status]:
    """Of PreBind, and of Bind up to the plugin that binds the pod."""
    before = ((each.name, each.pre_bind) for each in runtime.profile.pre_bind)
    for name, status in _answers(before, "preBind", state, info, row):
        if not (status.ok or status.skipped):
            yield status.by(name)
    for name, status in _answers(((each.name, each.bind) for each in runtime.profile.bind), "bind", state, info, row):
        if status.ok:
            return
        if not status.skipped:
            yield status.by(name)
    yield error("no plugin bound the pod")


class CycleContext(Struct):
    """CycleHandle for PostFilter plugins."""

    runtime: Runtime
    state: CycleState
    pod: PodInfo
    diagnosis: Diagnosis

    def trial(self) -> CycleTrial:
        from ksched_cli.engine.cycle.trial import CycleTrial

        return CycleTrial(self.runtime, self.state, self.pod, self.diagnosis.nodes)


class FeasibleNodes(Struct):
    """The result of the search for nodes. `is_kept`: the runtime's memory has it."""

    feasible: RowColumn
    diagnosis: Diagnosis
    bare: bool = False
    is_kept: bool = False


class LocalVerdict(Struct, frozen=True):
    """What the filters that look at one node alone find: the rows that none rejects, and why the others are rejected.
    `pre_filter`: the pod is rejected before any node is looked at."""

    passed: RowColumn
    statuses: NodeStatuses
    pre_filter: Status | None = None

    def reason(self, row: int) -> str:
        """Why the node is rejected, empty if it is not."""
        status = self.pre_filter or self.statuses.status(row)
        return "" if status.ok else ", ".join(status.texts)


class Cycle(Logged):
    """Runs cycles one after the other on one cluster. From one cycle to the next it keeps where the search starts
    (`next_start`) and which pods Permit holds (`waiting`)."""

    def __init__(
        self,
        cluster: Cluster,
        nominator: NominatedPods,
        *,
        tie_break: TieBreak,
        sampling: bool,
        percentage_of_nodes_to_score: int,
        extenders: Extenders | None,
        extenders_judge: bool,
        prefers_nominated_node: bool,
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
        """The pod's one cycle. A placed pod is assumed; a victim of preemption is marked as terminating."""
        info = self.cluster.pods.infos[pod_row]
        if info.pod.metadata.deletion_timestamp is not None:
            return Decision(pod_row, info, "skipped")
        # `error` until the cycle reaches a result.
        decision, state = Decision(pod_row, info, "error"), CycleState()
        try:
            self.choose(runtime, state, decision)
            if decision.row is not None:
                self._reserve_and_bind(runtime, state, decision, decision.row)
        except CycleError as problem:
            self.give_up(decision, problem)
        return decision

    def choose(
        self, runtime: Runtime, state: CycleState, decision: Decision, *, dry: bool = False
    ) -> PostFilterResult | None:
        """schedulingAlgorithm: the node to go to, or what PostFilter made of there being none. `dry`: the result of
        PostFilter is not applied."""
        result: PostFilterResult | None
        if not len(self.cluster.nodes.objects):
            decision.reason = EngineReasons.no_nodes()
            decision.result, decision.message = "unschedulable", decision.reason.text
            result = PostFilterResult("")
            if not dry:
                self._nominate(decision, result)
            return result
        found = self._find_nodes(runtime, state, decision)
        feasible = found.feasible
        decision.diagnosis, decision.feasible = found.diagnosis, feasible
        if not len(feasible):
            result = self._post_filter(runtime, state, decision, found.diagnosis)
            if result is not None and not dry:
                self._nominate(decision, result)
            return result
        if len(feasible) == 1:
            # A single feasible node is taken without scoring.
            decision.row = int(feasible[0])
            return None
        decision.scores = self._prioritize(runtime, state, decision.pod, found)
        decision.ties = best_rows(decision.scores, self.cluster.nodes)
        decision.row = self.tie_break(decision.ties)
        return None

    def give_up(self, decision: Decision, problem: CycleError) -> None:
        """End the cycle of the decision with an error."""
        decision.result, decision.row, decision.message = "error", None, str(problem)
        decision.failed_plugin = problem.plugin
        if self._rules.failed_pods_lose_nomination:
            self.nominator.delete(decision.pod_row)
        self.cluster.displace(decision.pod_row)

    # Dry cycles

    @contextmanager
    def dry(self) -> Iterator[None]:
        """Changes of the search inside the block are undone: the next cycle begins as if there had been none. Ties go
        to the lowest name."""
        start, tie_break = self.next_start, self.tie_break
        claims = Catalog()
        claims.copy_kinds(self.cluster.catalog, (ResourceClaim,))
        self.tie_break = lowest_name
        try:
            yield
        finally:
            self.next_start, self.tie_break = start, tie_break
            # A plugin may give claims up in PostFilter.
            self.cluster.catalog.copy_kinds(claims, (ResourceClaim,))

    def decide_dry(self, runtime: Runtime, pod_row: int) -> Decision:
        """The decision that the pod's cycle would reach now. Reserve and the later points do not run."""
        info = self.cluster.pods.infos[pod_row]
        if info.pod.metadata.deletion_timestamp is not None:
            return Decision(pod_row, info, "skipped")
        decision = Decision(pod_row, info, "error")
        with self.dry():
            try:
                result = self.choose(runtime, CycleState(), decision, dry=True)
            except CycleError as problem:
                decision.row, decision.message = None, str(problem)
                return decision
        if decision.row is not None:
            decision.result = "scheduled"
        elif result is not None and result.nominated_node:
            decision.preemption, decision.nominated_node = result, result.nominated_node
        return decision

    def dry_search(self, runtime: Runtime, pod_row: int) -> CycleContext | None:
        """The search alone, to be explained and not to be acted upon; None where it finds a node or does not end."""
        if not len(self.cluster.nodes):
            return None
        state, info = CycleState(), self.cluster.pods.infos[pod_row]
        with self.dry():
            try:
                found = self._find_nodes(runtime, state, Decision(pod_row, info, "error"))
            except CycleError:
                return None
        return None if len(found.feasible) else CycleContext(runtime, state, info, found.diagnosis)

    def scores_of(self, runtime: Runtime, pod_row: int, rows: RowColumn) -> ScoreTable | None:
        """How these nodes would score against each other, had the pod no others to go to; None where it cannot be
        computed. Extenders are not called."""
        state, info = CycleState(), self.cluster.pods.infos[pod_row]
        nodes = NodeRows(self.cluster, rows)
        try:
            if runtime.run_pre_filter(state, info).status is not None:
                return None
            # Some plugins score by what their filter has found on the node.
            statuses = NodeStatuses(len(self.cluster.nodes))
            runtime.run_filter_with_nominated(runtime.in_force(state), state, info, nodes, statuses)
            return _scored(runtime, state, info, nodes)
        except CycleError:
            return None

    def judge_locally(self, runtime: Runtime, pod_row: int, rows: RowColumn) -> LocalVerdict:
        """What the filters that look at one node alone find on these nodes: the rest of a cluster does not change it.
        CycleError if a plugin fails."""
        cluster, state = self.cluster, CycleState()
        info, statuses = cluster.pods.infos[pod_row], NodeStatuses(len(cluster.nodes))
        outcome = runtime.run_pre_filter(state, info)
        if outcome.status is not None:
            return LocalVerdict(NO_ROWS, statuses, outcome.status)
        if outcome.node_names is not None:
            row_of = cluster.nodes.row_of
            named = [row_of[name] for name in outcome.node_names if name in row_of]
            rows = np.intersect1d(rows, np.array(named, dtype=np.int64))
        depends = runtime.depends_of(state, info)
        plugins = [
            each
            for each in runtime.in_force(state)
            if (found := depends[each.name]) is not None and found.on != ANYWHERE
        ]
        nodes = runtime.run_filter(plugins, state, info, NodeRows(cluster, rows), statuses) if len(rows) else None
        return LocalVerdict(NO_ROWS if nodes is None else nodes.rows, statuses)

    # Filtering

    def _find_nodes(self, runtime: Runtime, state: CycleState, decision: Decision) -> FeasibleNodes:
        """findNodesThatFitPod."""
        info, nominated_to, memory = decision.pod, self.nominator.node_of(decision.pod_row), runtime.memory
        if self.placement is not None or nominated_to:
            # Not all nodes are looked at alike.
            memory = None
        known = memory.recall(info, state) if memory is not None else None
        if known is not None:
            diagnosis = Diagnosis(known.statuses.copy(), wording=self._wording)
            all_rows = self.cluster.nodes.all_rows
            feasible = all_rows if known.feasible is None else known.feasible
            feasible = self._stop_early(runtime, all_rows, feasible, diagnosis)
            return self._pass_extenders(info, feasible, diagnosis, is_kept=memory is not None)
        diagnosis = Diagnosis(NodeStatuses(len(self.cluster.nodes)), wording=self._wording)
        if self.placement is not None:
            diagnosis.placement_nodes = len(self.placement)
        outcome = runtime.run_pre_filter(state, info)
        if self._rules.narrowing_plugins_are_blamed:
            diagnosis.blamed |= outcome.narrowed_by
        if outcome.status is not None:
            diagnosis.pre_filter = outcome.status
            if self._rules.rejection_reaches_nodes:
                diagnosis.nodes.set_absent(NodeRows(self.cluster, self.placement).mask(), outcome.status)
            diagnosis.add_plugin_status(outcome.status)
            return FeasibleNodes(NO_ROWS, diagnosis)
        if nominated_to and self.prefers_nominated_node:
            passed = self._evaluate_nominated_node(runtime, state, info, nominated_to, diagnosis)
            if passed is not None:
                return FeasibleNodes(passed.rows, diagnosis, passed.bare)
        nodes = self._candidates(outcome.node_names, outcome.narrowed_by, diagnosis)
        if not nodes.whole:
            memory = None
        if memory is None:
            filters = runtime.in_force(state)
            feasible = runtime.run_filter_with_nominated(filters, state, info, nodes, diagnosis.nodes).rows
        else:
            feasible = memory.filter(state, info, diagnosis.nodes).rows
            memory.keep(state, info, diagnosis.nodes, feasible)
        feasible = self._stop_early(runtime, nodes.rows, feasible, diagnosis)
        return self._pass_extenders(info, feasible, diagnosis, is_kept=memory is not None)

    def _pass_extenders(
        self, info: PodInfo, feasible: RowColumn, diagnosis: Diagnosis, *, is_kept: bool
    ) -> FeasibleNodes:
        """findNodesThatPassExtenders."""
        if self.extenders is None:
            diagnosis.blames_nodes = True
            return FeasibleNodes(feasible, diagnosis, is_kept=is_kept)
        # Collected before the extenders record nodes under their own names.
        diagnosis.blamed |= diagnosis.nodes.unschedulable_plugins()
        left = self.extenders.filter(info, NodeRows(self.cluster, feasible), diagnosis.nodes)
        if len(left) != len(feasible) and self.extenders.is_blamed:
            diagnosis.blamed |= {EXTENDER}
        return FeasibleNodes(left.rows, diagnosis, left.bare, is_kept and not left.bare)

    def _evaluate_nominated_node(
        self, runtime: Runtime, state: CycleState, info: PodInfo, node: str, diagnosis: Diagnosis
    ) -> NodeRows | None:
        """The node that preemption cleared for this pod is tried first, and alone. What extenders return for it is
        dropped: they are called again with all nodes. None if the pod does not go there."""
        row = self.cluster.nodes.row_of.get(node)
        if row is None or (self.placement is not None and row not in self.placement):
            return None
        nodes = NodeRows(self.cluster, np.array([row], dtype=np.int64))
        filters = runtime.in_force(state)
        passed = runtime.run_filter_with_nominated(filters, state, info, nodes, diagnosis.nodes)
        diagnosis.blamed |= diagnosis.nodes.unschedulable_plugins()
        if self.extenders is not None:
            try:
                passed = self.extenders.filter(info, passed, NodeStatuses(len(self.cluster.nodes)))
            except ExtenderError:
                return None
        return passed if len(passed) else None

    def _candidates(self, node_names: frozenset[str] | None, narrowed_by: set[str], diagnosis: Diagnosis) -> NodeRows:
        """The nodes that PreFilter left; the others get the common status of nodes that are not looked at."""
        allowed = NodeRows(self.cluster, self.placement)
        if node_names is None:
            return allowed
        row_of = self.cluster.nodes.row_of
        unknown = sorted(node_names - row_of.keys())
        if unknown and self._rules.unknown_nodes_end_the_cycle:
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

    def sample_size(self, runtime: Runtime, size: int) -> int:
        """How many feasible nodes of so many kube-scheduler looks for (numFeasibleNodesToFind)."""
        own = runtime.profile.percentage_of_nodes_to_score
        return num_feasible_nodes_to_find(self.percentage_of_nodes_to_score if own is None else own, size)

    def _stop_early(self, runtime: Runtime, rows: RowColumn, feasible: RowColumn, diagnosis: Diagnosis) -> RowColumn:
        """findNodesThatPassFilters in serial order: the search ends at one feasible node more than wanted."""
        processed = wanted = len(rows)
        if not (runtime.profile.score or self.extenders_judge) and self._rules.first_fit_ends_search_without_scores:
            wanted = 1
        elif self.sampling:
            wanted = self.sample_size(runtime, len(rows))
        if wanted < len(feasible):
            start = self.next_start % len(rows)
            order = np.concatenate([rows[start:], rows[:start]])
            hits = np.nonzero(np.isin(order, feasible))[0]
            processed = int(hits[wanted])
            diagnosis.nodes.forget(order[processed:])
            feasible = order[hits[:wanted]]
        of = len(self.cluster.nodes.objects) if self.placement is None else len(self.placement)
        self.next_start = (self.next_start + processed) % of
        return feasible

    # Scoring and binding

    def _prioritize(self, runtime: Runtime, state: CycleState, info: PodInfo, found: FeasibleNodes) -> ScoreTable:
        """prioritizeNodes. Without score plugins and extenders, the score of every node is 1."""
        if found.is_kept and runtime.memory is not None:
            table = runtime.memory.score(state, info, found.feasible)
        else:
            every = len(found.feasible) == len(self.cluster.nodes) and not self.sampling
            nodes = NodeRows(self.cluster, None if every else found.feasible, bare=found.bare)
            table = _scored(runtime, state, info, nodes)
        if not runtime.profile.score and not self.extenders_judge:
            table.totals = table.totals + 1
        if self.extenders is not None:
            table = self.extenders.prioritize(info, NodeRows(self.cluster, found.feasible, bare=found.bare), table)
        return table

    def _reserve_and_bind(self, runtime: Runtime, state: CycleState, decision: Decision, row: int) -> None:
        """prepareForBindingCycle and the binding cycle, with everything undone if a plugin refuses."""
        self.cluster.place(decision.pod_row, row)
        if state.binds_alike:
            self.nominator.delete(decision.pod_row)
            decision.result = "scheduled"
            return
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
        if verdict.ok and decision.pod_row in self.cluster.pods.gone:
            # The API server refuses its binding.
            verdict = error(f'pods "{decision.pod.name}" not found')
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
                unreserve(held.runtime, held.state, decision.pod, row)
                if self.cluster.pods.node_of(decision.pod_row) == row:
                    # Else another scheduler has bound the pod meanwhile.
                    self.cluster.displace(decision.pod_row)
                if not verdict.rejected:
                    raise CycleError(f"waiting on permit for pod: {verdict.message}")
                self.refuse(decision, row, verdict)
        except CycleError as problem:
            self.give_up(decision, problem)
        return decision

    def refuse(self, decision: Decision, row: int, refusal: Status) -> None:
        """End the cycle of a pod that a plugin refused on the chosen node."""
        decision.row = None
        self.nominator.delete(decision.pod_row)
        if not refusal.rejected:
            raise CycleError(refusal.message, refusal.plugin)
        alone = Diagnosis(NodeStatuses(1))
        alone.nodes.set(0, refusal)
        decision.message = alone.message()
        decision.result = "unschedulable"
        if decision.diagnosis is not None:
            decision.diagnosis.nodes.set(row, refusal)
            decision.diagnosis.blamed, decision.diagnosis.blames_nodes = frozenset({refusal.plugin}), False

    # PostFilter

    def _post_filter(
        self, runtime: Runtime, state: CycleState, decision: Decision, diagnosis: Diagnosis
    ) -> PostFilterResult | None:
        """RunPostFilterPlugins, and the message with their text. Where there are none a nomination ends, as it does
        where they find no node."""
        decision.result = "unschedulable"
        if self.skips_post_filter:
            return None
        result = PostFilterResult("") if self._rules.failed_pods_lose_nomination else None
        if runtime.profile.post_filter:
            result, status = self._run_post_filter(runtime, state, decision.pod, diagnosis)
            diagnosis.post_filter_message = status.message
        decision.message = diagnosis.message()
        return result

    def _run_post_filter(
        self, runtime: Runtime, state: CycleState, info: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        context = CycleContext(runtime, state, info, diagnosis)
        last: PostFilterResult | None = None
        reasons: list[Reason] = []
        for plugin in runtime.profile.post_filter:
            try:
                result, status = plugin.post_filter(state.filter_states.get(plugin.name), info, context)
            except Exception as problem:
                raise_plugin_fault(problem, plugin.name, "postFilter")
            if status.ok or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return result, status
            if not status.rejected:
                return None, status
            last = result or last
            reasons.extend(status.reasons)
        return last, Status(Code.UNSCHEDULABLE, tuple(reasons))

    def _nominate(self, decision: Decision, result: PostFilterResult) -> None:
        """The victims terminate, the pod waits for their node, and weaker pods wait no longer. Without a
        result a nomination stays."""
        if not result.nominated_node:
            self.nominator.delete(decision.pod_row)
            return
        decision.preemption, decision.nominated_node = result, result.nominated_node
        victims, waiting = result.victims, self.waiting
        if waiting is not None:
            # Executor.PreemptPod: a pod that waits on its node goes back to the queue, any other is evicted.
            infos = self.cluster.pods.infos
            victims = tuple(
                victim
                for victim in victims
                if (held := waiting.get(infos[victim].uid)) is None or not held.preempt(DEFAULT_PREEMPTION)
            )
        self.cluster.preempt(victims)
        for other in list(self.nominator.nominated_on(result.nominated_node)):
            if self.cluster.pods.priority[other] < decision.pod.priority:
                self.nominator.delete(other)
        self.nominator.add(decision.pod_row, result.nominated_node)


def _scored(runtime: Runtime, state: CycleState, info: PodInfo, nodes: NodeRows) -> ScoreTable:
    """RunPreScorePlugins and RunScorePlugins."""
    runtime.run_pre_score(runtime.profile.pre_score, state, info, nodes)
    scores = runtime.run_score(runtime.profile.score, state, info, nodes)
    return ScoreTable(nodes.rows, scores.raw, scores.normalized, runtime.profile.weights, scores.total)
