"""Runs a profile's plugins over nodes (framework/runtime.frameworkImpl)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pods import NOWHERE
from ksched_cli.cluster.sandbox import Sandbox
from ksched_cli.engine.faults import CycleError, PluginFault, blamed
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.profile import Profile
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import FilterPlugin, PreFilterPlugin, PreFilterResult, ReservePlugin
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
        for plugin in self._asked(state):
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
        rivals = self._rivals(pod, nodes)
        if not rivals:
            return feasible
        together = self.row_scoped(state)
        for batch in [rivals] if together else [{row: others} for row, others in rivals.items()]:
            refused = self._refused_with_nominated(state, pod, batch, statuses)
            feasible = feasible.select(~np.isin(feasible.rows, refused))
        return feasible

    def _rivals(self, pod: PodInfo, nodes: NodeRows) -> dict[int, list[int]]:
        """Of these nodes the rows that have nominated pods which the pod must yield to, with those pods."""
        pods, row_of = self.cluster.pods, self.cluster.nodes.row_of
        nominated = {row_of[name]: name for name in self.nominator.nodes() if name in row_of}
        contested = np.fromiter(nominated, dtype=np.int64, count=len(nominated))
        rivals: dict[int, list[int]] = {}
        for row in contested[nodes.mask()[contested]].tolist():
            others = [
                other
                for other in self.nominator.nominated_on(nominated[row])
                if pods.priority[other] >= pod.priority
                and pods.node_row[other] == NOWHERE
                and pods.infos[other].uid != pod.uid
            ]
            if others:
                rivals[row] = others
        return rivals

    def _refused_with_nominated(
        self, state: CycleState, pod: PodInfo, rivals: Mapping[int, list[int]], statuses: NodeStatuses
    ) -> RowColumn:
        """addGENominatedPods and the filters after it; the rows that do not pass, their statuses noted."""
        crowded = self.clone(state)
        come = [(other, row) for row, others in rivals.items() for other in others]
        added, where = np.array(come, dtype=np.int64).T
        rows = np.fromiter(rivals, dtype=np.int64, count=len(rivals))
        own = NodeStatuses(len(self.cluster.nodes))
        with Sandbox(self.cluster) as sandbox:
            if not self.follows_pods(state):
                sandbox.add(added, where)
            else:
                for index, (other, row) in enumerate(come):
                    sandbox.add(added[index : index + 1], where[index : index + 1])
                    self.add_pod(crowded, pod, other, row)
            passed = self.run_filter(crowded, pod, NodeRows(self.cluster, rows), own)
        refused: RowColumn = np.setdiff1d(rows, passed.rows)
        statuses.take_over(own, refused)
        return refused

    def row_scoped(self, state: CycleState) -> bool:
        """Whether every filter that is not skipped looks at one node alone."""
        return all(plugin.scope == "row" for plugin in self._asked(state))

    def signature(self, state: CycleState, pod: PodInfo) -> Hashable | None:
        """What the filters in force go by, None where a verdict may change while its row does not: plugins that
        reserve something of their own, such as volumes and devices, are why it could."""
        asked = self._asked(state)
        if any(plugin.scope != "row" or isinstance(plugin, ReservePlugin) for plugin in asked):
            return None
        return tuple((plugin.name, plugin.sign(pod)) for plugin in asked)

    def follows_pods(self, state: CycleState) -> bool:
        """Whether any plugin in force wants to hear of pods that come and go in a trial (PreFilterExtensions)."""
        return any(
            type(plugin).add_pod is not PreFilterPlugin.add_pod
            or type(plugin).remove_pod is not PreFilterPlugin.remove_pod
            for plugin in self.profile.pre_filter
            if plugin.name in state.filter_states and plugin.name not in state.skip_filter
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
