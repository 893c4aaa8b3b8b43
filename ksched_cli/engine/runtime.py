"""Runs a profile's plugins over nodes (framework/runtime.frameworkImpl)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.faults import CycleError, PluginFault, blamed
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.profile import Profile
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import PreFilterResult
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE, MIN_NODE_SCORE
from ksched_cli.framework.status import Code, Status, unresolvable
from ksched_cli.framework.verdict import Verdict


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
    """One per profile. Holds no state of a cycle: that is in CycleState."""

    def __init__(self, profile: Profile, cluster: Cluster, nominator: NominatedPods) -> None:
        self.profile = profile
        self.cluster = cluster
        self.nominator = nominator

    def run_pre_enqueue(self, pod: PodInfo) -> Status | None:
        """The first refusal, or None."""
        for plugin in self.profile.pre_enqueue:
            with blamed(plugin.name, "preEnqueue"):
                status = plugin.pre_enqueue(pod)
            if not status.ok:
                return status.by(plugin.name)
        return None

    def run_pre_filter(self, state: CycleState, pod: PodInfo) -> PreFilterOutcome:
        """RunPreFilterPlugins: an unresolvable rejection ends it, a plain one is kept while the others still run."""
        outcome = PreFilterOutcome()
        for plugin in self.profile.pre_filter:
            with blamed(plugin.name, "preFilter"):
                answer = plugin.pre_filter(pod)
            if isinstance(answer, PreFilterResult):
                state.filter_states[plugin.name] = answer.state
                if answer.skip:
                    state.skip_filter.add(plugin.name)
                if self._narrow(outcome, plugin.name, answer.node_names):
                    return outcome
            elif answer.skipped:
                state.skip_filter.add(plugin.name)
            elif answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(answer.by(plugin.name))
            elif answer.code is Code.UNSCHEDULABLE:
                outcome.status = answer.by(plugin.name)
            else:
                raise CycleError(f'running PreFilter plugin "{plugin.name}": {answer.message}')
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
        outcome.status = unresolvable(f"node(s) didn't satisfy {text}")
        return True

    def run_filter(self, state: CycleState, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses) -> NodeRows:
        """The rows that pass every filter; the others are charged to the first that failed them."""
        for plugin in self.profile.filter:
            if plugin.name in state.skip_filter:
                continue
            if not len(nodes):
                break
            with blamed(plugin.name, "filter"):
                verdict = plugin.filter(state.filter_states.get(plugin.name), pod, nodes)
            self._check_verdict(plugin.name, verdict, nodes)
            if verdict.codes.any():
                statuses.record(plugin.name, nodes.rows, verdict)
                nodes = nodes.select(verdict.passed)
        return nodes

    def _check_verdict(self, plugin: str, verdict: Verdict, nodes: NodeRows) -> None:
        if len(verdict) != len(nodes):
            raise PluginFault(plugin, "filter", f"{len(verdict)} verdicts for {len(nodes)} nodes")
        failed = np.nonzero(verdict.codes == Code.ERROR)[0]
        if len(failed):
            node = nodes.names[failed[0]]
            raise CycleError(
                f'running "{plugin}" filter plugin: {verdict.status(int(failed[0])).message} (node {node})'
            )

    def run_filter_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses
    ) -> NodeRows:
        """RunFilterPluginsWithNominatedPods: a node must do both with and without the pods nominated to it."""
        feasible = self.run_filter(state, pod, nodes, statuses)
        contested = [row for row in self._contested(pod) if row in set(nodes.rows.tolist())]
        refused = [row for row in contested if not self._passes_with_nominated(state, pod, row, statuses)]
        return feasible.select(~np.isin(feasible.rows, refused)) if refused else feasible

    def _contested(self, pod: PodInfo) -> list[int]:
        rows = (self.cluster.nodes.row_of.get(node) for node in self.nominator.nodes())
        return [row for row in rows if row is not None and self._rivals(pod, row)]

    def _rivals(self, pod: PodInfo, row: int) -> list[int]:
        """Nominated pods that the pod must yield to."""
        pods = self.cluster.pods
        return [
            other
            for other in self.nominator.nominated_on(self.cluster.nodes.names[row])
            if pods.priority[other] >= pod.priority and pods.infos[other].uid != pod.uid
        ]

    def _passes_with_nominated(self, state: CycleState, pod: PodInfo, row: int, statuses: NodeStatuses) -> bool:
        crowded = self.clone(state)
        rivals = [other for other in self._rivals(pod, row) if self.cluster.pods.node_row[other] < 0]
        for other in rivals:
            self.cluster.place(other, row)
            self.add_pod(crowded, pod, other, row)
        try:
            own = NodeStatuses(len(self.cluster.nodes))
            passed = self.run_filter(crowded, pod, NodeRows(self.cluster, np.array([row])), own)
        finally:
            for other in reversed(rivals):
                self.cluster.displace(other)
        if not len(passed):
            statuses.set(row, own.status(row))
        return bool(len(passed))

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
            with blamed(plugin.name, "preScore"):
                answer = plugin.pre_score(state.filter_states.get(plugin.name), pod, nodes)
            if not isinstance(answer, Status):
                state.score_states[plugin.name] = answer
            elif answer.skipped:
                state.skip_score.add(plugin.name)
            else:
                raise CycleError(f'running PreScore plugin "{plugin.name}": {answer.message}')

    def run_score(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> ScoreTable:
        """RunScorePlugins: raw, normalised, weighted, and the sum."""
        table = ScoreTable(nodes.rows, {}, {}, {}, np.zeros(len(nodes), dtype=np.int64))
        for plugin in self.profile.score:
            name = plugin.name
            if name in state.skip_score:
                continue
            handed = state.score_states.get(name, state.filter_states.get(name))
            with blamed(name, "score"):
                raw = plugin.score(handed, pod, nodes)
            if isinstance(raw, Status):
                raise CycleError(f'running Score plugins: plugin "{name}" failed with: {raw.message}')
            if raw.shape != (len(nodes),):
                raise PluginFault(name, "score", f"scores of shape {raw.shape} for {len(nodes)} nodes")
            with blamed(name, "normalizeScore"):
                normalized = plugin.normalize(handed, pod, nodes, raw) if plugin.normalizes else raw
            self._check_range(name, normalized, nodes)
            weighted = normalized * self.profile.weights[name]
            table.raw[name], table.normalized[name], table.weighted[name] = raw, normalized, weighted
            np.add(table.totals, weighted, out=table.totals)
        return table

    def _check_range(self, plugin: str, scores: Int64Column, nodes: NodeRows) -> None:
        outside = np.nonzero((scores > MAX_NODE_SCORE) | (scores < MIN_NODE_SCORE))[0]
        if len(outside):
            raise CycleError(
                f'applying score defaultWeights on Score plugins: plugin "{plugin}" returns an invalid score '
                f"{scores[outside[0]]}, it should in the range of [{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] "
                f"after normalizing (node {nodes.names[outside[0]]})"
            )
