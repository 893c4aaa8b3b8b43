"""Runs a profile's plugins over nodes (framework/runtime.frameworkImpl)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, TypeGuard

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.claims import problem_of_claims
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pods import NOWHERE
from ksched_cli.cluster.sandbox import Sandbox
from ksched_cli.engine.faults import CycleError, PluginFault, aggregate, blamed, errors_in
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.reuse import FilterMemory, NodeMemory, ScoreMemory
from ksched_cli.engine.rules import EngineRules
from ksched_cli.engine.timings import Timings
from ksched_cli.engine.wording import error_of
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE, MIN_NODE_SCORE
from ksched_cli.framework.status import Code, Status, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict

# Looked up so often that the look-up counts.
_SUCCESS, _ERROR = Code.SUCCESS, Code.ERROR


@dataclass
class CycleState:
    """What the plugins handed over, each to itself only (fwk.CycleState without the string keys in between)."""

    filter_states: dict[str, Any] = field(default_factory=dict)
    score_states: dict[str, Any] = field(default_factory=dict)
    skip_filter: set[str] = field(default_factory=set)
    skip_score: set[str] = field(default_factory=set)


@dataclass
class PreFilterOutcome:
    """The rejection if there is one; else the nodes that are left, None for all, and which plugins narrowed them."""

    status: Status | None = None
    node_names: frozenset[str] | None = None
    narrowed_by: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class ScoreTable:
    """Scores of the feasible rows, in their order; one entry per plugin that did not skip."""

    rows: RowColumn
    raw: dict[str, Int64Column]
    normalized: dict[str, Int64Column]
    weighted: dict[str, Int64Column]
    totals: Int64Column


class Runtime:
    """One per profile. Holds no state of a cycle: that is in CycleState. What it remembers from one to the next is
    the same with and without."""

    def __init__(
        self, profile: Profile, cluster: Cluster, nominator: NominatedPods, timings: Timings | None = None
    ) -> None:
        self.profile = profile
        self.calling: Callable[[str, str], blamed] = blamed if timings is None else timings.calling
        self.cluster = cluster
        self.nominator = nominator
        self._filtered = FilterMemory(cluster)
        self._scored = ScoreMemory(cluster)
        self._crowded: NodeMemory[NodeStatuses] = NodeMemory(cluster)
        rules = EngineRules.of(cluster.release)
        # Else any rejection by PreFilter is the last word, and an empty set of nodes is worth a preemption.
        self._hears_all_pre_filters = rules.all_pre_filters_are_run
        # A predicate that failed did so for every node, and the errors of all were told.
        self._counts_errors = rules.errors_are_counted
        # podPassesBasicChecks. Then VolumeBinding asked for the claims.
        self._checks_claims = rules.claims_are_checked_first
        asked_before = {plugin.name for plugin in profile.pre_filter}
        self._without_pre_filter = [
            plugin
            for plugin in profile.filter
            if type(plugin).is_indifferent is not FilterPlugin.is_indifferent and plugin.name not in asked_before
        ]
        self.fixed_filters = frozenset(plugin.name for plugin in profile.filter if not plugin.follows_pods)

    def run_pre_enqueue(self, pod: PodInfo, first: str = "") -> Status | None:
        """The first refusal, or None; the plugin that held the pod back until now is asked before the others."""
        plugins = self.profile.pre_enqueue
        for plugin in sorted(plugins, key=lambda each: each.name != first) if first else plugins:
            with self.calling(plugin.name, "preEnqueue"):
                status = plugin.pre_enqueue(pod)
            if not status.ok:
                return status.by(plugin.name)
        return None

    def run_pre_filter(self, state: CycleState, pod: PodInfo) -> PreFilterOutcome:
        """RunPreFilterPlugins: an unresolvable rejection ends it, a plain one is kept while the others still run."""
        if self._checks_claims and (problem := problem_of_claims(pod.pod, self.cluster.catalog)):
            raise CycleError(problem)
        outcome = PreFilterOutcome()
        state.skip_filter.update(plugin.name for plugin in self._without_pre_filter if plugin.is_indifferent(pod))
        for plugin in self.profile.pre_filter:
            with self.calling(plugin.name, "preFilter"):
                answer = plugin.pre_filter(pod)
            if isinstance(answer, PreFilterResult):
                state.filter_states[plugin.name] = answer.state
                if answer.skip:
                    state.skip_filter.add(plugin.name)
                if self._narrow(outcome, plugin.name, answer.node_names):
                    return outcome
            elif answer.skipped:
                state.skip_filter.add(plugin.name)
            elif answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE or (
                answer.rejected and not self._hears_all_pre_filters
            ):
                return PreFilterOutcome(answer.by(plugin.name))
            elif answer.code is Code.UNSCHEDULABLE:
                outcome.status = answer.by(plugin.name)
            else:
                told = self._framed("preFilter", plugin.name, pod, answer.message)
                raise CycleError(answer.message if self._counts_errors else told)
        return outcome

    def _narrow(self, outcome: PreFilterOutcome, plugin: str, names: frozenset[str] | None) -> bool:
        """Merge the plugin's node names; True when that leaves none."""
        if names is None:
            return False
        outcome.narrowed_by.add(plugin)
        outcome.node_names = names if outcome.node_names is None else outcome.node_names & names
        if outcome.node_names:
            return False
        by = sorted(outcome.narrowed_by)
        text = f"plugin {by[0]}" if len(by) == 1 else f"plugin(s) [{' '.join(by)}] simultaneously"
        refuse = unresolvable if self._hears_all_pre_filters else unschedulable
        outcome.status = refuse(f"node(s) didn't satisfy {text}")
        return True

    def run_filter(self, state: CycleState, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses | None) -> NodeRows:
        """The rows that pass every filter; the others are charged to the first that failed them."""
        return self._run_filters(self._asked(state), state, pod, nodes, statuses)

    def _run_filter_everywhere(self, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> NodeRows:
        """`run_filter` over all nodes. Filters at the front that sign for what they look at are asked about a node
        once per template and placement there."""
        asked = self._asked(state)
        one_by_one = self.cluster.reuse and not self.profile.checks_all_filters
        front = list(takewhile(_signs_filter, asked)) if one_by_one else []
        if not front:
            return self._run_filters(asked, state, pod, NodeRows(self.cluster), statuses)
        fixed = list(takewhile(lambda plugin: not plugin.follows_pods, front))
        following = front[len(fixed) :]
        known = self._filtered.recall(
            self._signatures(fixed, pod),
            lambda nodes, own: self._run_filters(fixed, state, pod, nodes, own),
            self._signatures(following, pod),
            lambda nodes, own: self._run_filters(following, state, pod, nodes, own),
        )
        statuses.copy_from(known.statuses)
        return self._run_filters(asked[len(front) :], state, pod, known.nodes(self.cluster), statuses)

    def _run_filters(
        self,
        plugins: Sequence[FilterPlugin[Any]],
        state: CycleState,
        pod: PodInfo,
        nodes: NodeRows,
        statuses: NodeStatuses | None,
    ) -> NodeRows:
        if self.profile.checks_all_filters:
            return self._run_all_filters(plugins, state, pod, nodes, statuses)
        errors: list[str] = []
        for plugin in plugins:
            if not len(nodes):
                break
            verdict = self._ask(plugin, state, pod, nodes)
            # In C all the way, unlike any().
            if np.count_nonzero(verdict.codes):
                if self._counts_errors:
                    errors += errors_in(verdict)
                else:
                    self._check_verdict(plugin.name, pod, verdict, nodes)
                if statuses is not None:
                    statuses.record(plugin.name, nodes.rows, verdict)
                nodes = nodes.select(verdict.passed)
        if errors and statuses is not None:
            raise CycleError(aggregate(Counter(errors)))
        return nodes

    def _ask(self, plugin: FilterPlugin[Any], state: CycleState, pod: PodInfo, nodes: NodeRows) -> Verdict:
        with self.calling(plugin.name, "filter"):
            verdict = plugin.filter(state.filter_states.get(plugin.name), pod, nodes)
        if len(verdict) != len(nodes):
            raise PluginFault(plugin.name, "filter", f"{len(verdict)} verdicts for {len(nodes)} nodes")
        return verdict

    def _run_all_filters(
        self,
        plugins: Sequence[FilterPlugin[Any]],
        state: CycleState,
        pod: PodInfo,
        nodes: NodeRows,
        statuses: NodeStatuses | None,
    ) -> NodeRows:
        """RunFilterPlugins where a Policy asks for all reasons (alwaysCheckAllPredicates). A node is charged to the
        first of the plugins that say the gravest of it."""
        verdicts = [self._ask(plugin, state, pod, nodes) for plugin in plugins] if len(nodes) else []
        if not verdicts:
            return nodes
        together = Verdict.together(verdicts)
        if self._counts_errors and (errors := Counter(errors_in(together))):
            raise CycleError(aggregate(errors))
        blamed_at = np.full(len(nodes), -1)
        for index in reversed(range(len(plugins))):
            self._check_verdict(plugins[index].name, pod, verdicts[index], nodes)
            blamed_at[(verdicts[index].codes == together.codes) & ~together.passed] = index
        if statuses is not None:
            for index in np.unique(blamed_at[blamed_at >= 0]).tolist():
                here = np.nonzero(blamed_at == index)[0]
                part = Verdict(together.codes[here], together.reason_ids[here], together.reasons)
                statuses.record(plugins[index].name, nodes.rows[here], part)
        return nodes.select(together.passed)

    def _check_verdict(self, plugin: str, pod: PodInfo, verdict: Verdict, nodes: NodeRows) -> None:
        failed = np.nonzero(verdict.codes == _ERROR)[0]
        if len(failed):
            text = self._framed("filter", plugin, pod, verdict.status(int(failed[0])).message)
            raise CycleError(f"{text} (node {nodes.names[failed[0]]})")

    def _framed(self, point: str, plugin: str, pod: PodInfo, text: str) -> str:
        return error_of(point, plugin, pod.name, text, self.cluster.release)

    def run_filter_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses
    ) -> NodeRows:
        """RunFilterPluginsWithNominatedPods: a node must do both with and without the pods nominated to it."""
        if nodes.whole:
            feasible = self._run_filter_everywhere(state, pod, statuses)
            refused = self._refused_everywhere(state, pod)
            if refused is None:
                return feasible
            statuses.take_over(refused, np.nonzero(refused.codes)[0])
            return feasible.select(refused.codes[feasible.rows] == _SUCCESS)
        refused = self.refused_beside(state, pod, nodes)
        if refused is not None:
            # As in Go: where the pod does not fit beside the others it is not tried without them.
            statuses.take_over(refused, np.nonzero(refused.codes)[0])
            nodes = nodes.select(refused.codes[nodes.rows] == _SUCCESS)
        return self.run_filter(state, pod, nodes, statuses)

    def pass_with_nominated(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> NodeRows:
        """The rows that `run_filter_with_nominated` passes, without noting why the others fail."""
        rivals = self.rivals(pod, nodes)
        for batch in self._batches(state, rivals):
            passed = self._run_filter_beside(state, pod, batch, None)
            if len(passed) < len(batch):
                nodes = nodes.select(~np.isin(nodes.rows, [row for row in batch if row not in passed.rows]))
        return self._run_filters(self._asked(state), state, pod, nodes, None)

    def _refused_everywhere(self, state: CycleState, pod: PodInfo) -> NodeStatuses | None:
        """`refused_beside` for all nodes, remembered where that depends on what a node holds and who is nominated
        to it."""
        if not self.nominator.nodes():
            return None
        asked = self._asked(state)
        everywhere = NodeRows(self.cluster)
        reusable = self.cluster.reuse and all(map(_signs_filter, asked))
        if not reusable or self.nominator.node_of(self.cluster.pods.row_of[pod.uid]):
            return self.refused_beside(state, pod, everywhere)

        def afresh() -> NodeStatuses:
            return self.refused_beside(state, pod, everywhere) or NodeStatuses(len(everywhere))

        def renew(known: NodeStatuses, rows: RowColumn) -> NodeStatuses:
            known.forget(rows)
            found = self.refused_beside(state, pod, NodeRows(self.cluster, rows))
            if found is not None:
                known.take_over(found, np.nonzero(found.codes)[0])
            return known

        key = (pod.priority, self._signatures(asked, pod))
        return self._crowded.recall(key, afresh, renew)

    def refused_beside(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> NodeStatuses | None:
        """The statuses of nodes that do not take the pod beside those that are nominated to them; None if no such pod
        is in the way anywhere."""
        rivals = self.rivals(pod, nodes)
        if not rivals:
            return None
        statuses = NodeStatuses(len(self.cluster.nodes))
        for batch in self._batches(state, rivals):
            self._run_filter_beside(state, pod, batch, statuses)
        return statuses

    def _batches(self, state: CycleState, rivals: dict[int, list[int]]) -> list[dict[int, list[int]]]:
        """All at once where what comes to one node means nothing to another."""
        if not rivals:
            return []
        return [rivals] if self.row_scoped(state) else [{row: others} for row, others in rivals.items()]

    def rivals(self, pod: PodInfo, nodes: NodeRows) -> dict[int, list[int]]:
        """Of these nodes the rows that have nominated pods which the pod must yield to, with those pods."""
        pods = self.cluster.pods
        priority, node_row = pods.priority, pods.node_row
        rivals: dict[int, list[int]] = {}
        for row, node in self._contested(nodes):
            others = [
                other
                for other in self.nominator.nominated_on(node)
                if priority[other] >= pod.priority and node_row[other] == NOWHERE and pods.infos[other].uid != pod.uid
            ]
            if others:
                rivals[row] = others
        return rivals

    def _contested(self, nodes: NodeRows) -> list[tuple[int, str]]:
        """Those of the nodes that have nominated pods, from whichever side there is less to look through."""
        waiting, table = self.nominator.nodes(), self.cluster.nodes
        if len(nodes) < len(waiting):
            asked = [(row, table.names[row]) for row in nodes.rows.tolist()]
            return [(row, node) for row, node in asked if node in waiting]
        known = [(table.row_of[node], node) for node in waiting if node in table.row_of]
        mask = nodes.mask()
        return [(row, node) for row, node in known if mask[row]]

    def _run_filter_beside(
        self, state: CycleState, pod: PodInfo, rivals: Mapping[int, list[int]], statuses: NodeStatuses | None
    ) -> NodeRows:
        """addGENominatedPods and the filters after it."""
        come = [(other, row) for row, others in rivals.items() for other in others]
        added = np.array([other for other, _ in come], dtype=np.int64)
        where = np.array([row for _, row in come], dtype=np.int64)
        nodes = NodeRows(self.cluster, np.array(list(rivals), dtype=np.int64))
        with Sandbox(self.cluster) as sandbox:
            if not self.followers(state):
                sandbox.add(added, where)
                return self._run_filters(self._asked(state), state, pod, nodes, statuses)
            crowded = self.clone(state)
            for index, (other, row) in enumerate(come):
                sandbox.add(added[index : index + 1], where[index : index + 1])
                self.add_pod(crowded, pod, other, row)
            return self._run_filters(self._asked(state), crowded, pod, nodes, statuses)

    def row_scoped(self, state: CycleState) -> bool:
        """Whether every filter that is not skipped looks at one node alone."""
        return all(plugin.scope == "row" for plugin in self._asked(state))

    def signature(self, state: CycleState, pod: PodInfo) -> Hashable | None:
        """What the filters in force go by, None where a verdict may change while its row does not: plugins that
        reserve something of their own, such as volumes and devices, are why it could."""
        asked = self._asked(state)
        if any(plugin.scope != "row" or isinstance(plugin, ReservePlugin) for plugin in asked):
            return None
        return self._signatures(asked, pod)

    def _signatures(self, plugins: Iterable[FilterPlugin[Any]], pod: PodInfo) -> tuple[Hashable, ...]:
        signed = []
        for plugin in plugins:
            with self.calling(plugin.name, "sign"):
                signed.append((plugin.name, plugin.sign(pod)))
        return tuple(signed)

    def followers(self, state: CycleState) -> list[PreFilterPlugin[Any]]:
        """Plugins in force that want to hear of pods that come and go in a trial (PreFilterExtensions)."""
        return [
            plugin
            for plugin in self.profile.pre_filter
            if plugin.name in state.filter_states and plugin.name not in state.skip_filter and _follows(plugin)
        ]

    def unnoticed(self, state: CycleState, pod: PodInfo, other: int) -> bool:
        """Whether none of these plugins cares about this pod."""
        states = state.filter_states
        return not any(plugin.concerns(states[plugin.name], pod, other) for plugin in self.followers(state))

    def stays_local(self, state: CycleState, pod: PodInfo, other: int) -> bool:
        """Whether the verdicts on other nodes are the same wherever `other` is."""
        return not any(
            plugin.scope != "row"
            and (not _follows(plugin) or plugin.concerns(state.filter_states.get(plugin.name), pod, other))
            for plugin in self._asked(state)
        )

    def _asked(self, state: CycleState) -> list[FilterPlugin[Any]]:
        return [plugin for plugin in self.profile.filter if plugin.name not in state.skip_filter]

    def clone(self, state: CycleState) -> CycleState:
        """CycleState.Clone, for trials that change the pods on nodes."""
        copies = {
            plugin.name: plugin.clone_state(state.filter_states[plugin.name])
            for plugin in self.profile.pre_filter
            if plugin.name in state.filter_states
        }
        return CycleState({**state.filter_states, **copies}, {}, set(state.skip_filter), set())

    def add_pod(self, state: CycleState, pod: PodInfo, other: int, row: int) -> None:
        """RunPreFilterExtensionAddPod."""
        for plugin in self.profile.pre_filter:
            if plugin.name in state.filter_states and plugin.name not in state.skip_filter:
                plugin.add_pod(state.filter_states[plugin.name], pod, other, row)

    def remove_pod(self, state: CycleState, pod: PodInfo, other: int, row: int) -> None:
        """RunPreFilterExtensionRemovePod."""
        for plugin in self.profile.pre_filter:
            if plugin.name in state.filter_states and plugin.name not in state.skip_filter:
                plugin.remove_pod(state.filter_states[plugin.name], pod, other, row)

    def run_pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> None:
        for plugin in self.profile.pre_score:
            with self.calling(plugin.name, "preScore"):
                answer = plugin.pre_score(state.filter_states.get(plugin.name), pod, nodes)
            if not isinstance(answer, Status):
                state.score_states[plugin.name] = answer
            elif answer.skipped:
                state.skip_score.add(plugin.name)
            else:
                raise CycleError(self._framed("preScore", plugin.name, pod, answer.message))

    def run_score(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> ScoreTable:
        """RunScorePlugins: raw, normalised, weighted, and the sum."""
        table = ScoreTable(nodes.rows, {}, {}, {}, np.zeros(len(nodes), dtype=np.int64))
        for plugin in self.profile.score:
            name = plugin.name
            if name in state.skip_score:
                continue
            # A plugin that has a PreScore scores by what that found; None where the profile leaves its PreScore out.
            states = state.score_states if isinstance(plugin, PreScorePlugin) else state.filter_states
            handed = states.get(name)
            with self.calling(name, "score"):
                raw = self._raw_score(plugin, handed, pod, nodes)
            if isinstance(raw, Status):
                raise CycleError(self._framed("score", name, pod, raw.message))
            if raw.shape != (len(nodes),):
                raise PluginFault(name, "score", f"scores of shape {raw.shape} for {len(nodes)} nodes")
            with self.calling(name, "normalizeScore"):
                normalized = plugin.normalize(handed, pod, nodes, raw) if plugin.normalizes else raw
            self._check_range(name, pod, normalized, nodes)
            weight = self.profile.weights[name]
            weighted = normalized if weight == 1 else normalized * weight
            table.raw[name], table.normalized[name], table.weighted[name] = raw, normalized, weighted
            np.add(table.totals, weighted, out=table.totals)
        return table

    def _raw_score(self, plugin: ScorePlugin[Any], handed: Any, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        sign = plugin.sign_score(handed, pod) if self.cluster.reuse and not nodes.bare else None
        if sign is None:
            return plugin.score(handed, pod, nodes)
        known = self._scored.recall(
            plugin.name, sign, lambda rows: plugin.score(handed, pod, rows), follows_pods=plugin.follows_pods
        )
        return known if isinstance(known, Status) else nodes.take(known)

    def _check_range(self, plugin: str, pod: PodInfo, scores: Int64Column, nodes: NodeRows) -> None:
        # As unsigned numbers, negative ones are the largest: one look for both ends.
        if len(scores) and scores.view(np.uint64).max() > MAX_NODE_SCORE:
            outside = np.nonzero((scores > MAX_NODE_SCORE) | (scores < MIN_NODE_SCORE))[0]
            text = (
                f"returns an invalid score {scores[outside[0]]}, it should in the range of [{MIN_NODE_SCORE}, "
                f"{MAX_NODE_SCORE}] after normalizing (node {nodes.names[outside[0]]})"
            )
            raise CycleError(self._framed("range", plugin, pod, text))


def _signs_filter(plugin: FilterPlugin[Any]) -> bool:
    """Whether the verdict on a node holds until the node changes, for all pods that sign alike. What a Reserve plugin
    has promised may change a verdict while the node stays as it is."""
    signs = type(plugin).sign is not FilterPlugin.sign
    return signs and plugin.scope == "row" and not isinstance(plugin, ReservePlugin)


def _follows(plugin: Plugin) -> TypeGuard[PreFilterPlugin[Any]]:
    """Whether the plugin has PreFilterExtensions."""
    return isinstance(plugin, PreFilterPlugin) and (
        type(plugin).add_pod is not PreFilterPlugin.add_pod or type(plugin).remove_pod is not PreFilterPlugin.remove_pod
    )
