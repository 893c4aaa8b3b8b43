"""Runs a profile's Filter plugins over nodes (RunFilterPlugins)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.sandbox import Sandbox, UsageSandbox
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.faults import Calling, CycleError, PluginFault, aggregate, errors_in
from ksched_cli.engine.filters_in_force import FiltersInForce
from ksched_cli.engine.pre_filters import follows
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.reuse import FilterMemory
from ksched_cli.engine.wording import error_of
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import FilterPlugin, ReservePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Code
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.engine_rules import EngineRules

# As a plain number: numpy takes its time with members of an enum.
_ERROR = int(Code.ERROR)


class Filters:
    """The Filter plugins of a profile. Caches across cycles never change a result."""

    def __init__(self, profile: Profile, cluster: Cluster, calling: Calling) -> None:
        self._profile = profile
        self._cluster = cluster
        self._calling = calling
        self._known = FilterMemory(cluster)
        # A predicate that failed did so for every node, and the errors of all nodes were counted.
        self._counts_errors = EngineRules.of(cluster.release).errors_are_counted
        self._first_reason_only = EngineRules.of(cluster.release).nodes_have_one_reason
        self._in_force: dict[frozenset[str], FiltersInForce] = {}
        self.fixed = frozenset(plugin.name for plugin in profile.filter if not plugin.follows_pods)

    def in_force(self, state: CycleState) -> FiltersInForce:
        """The plugins that PreFilter did not skip; called when all of PreFilter is over."""
        if state.in_force is None:
            skipped = frozenset(state.skip_filter)
            known = self._in_force.get(skipped)
            if known is None:
                plugins = [plugin for plugin in self._profile.filter if plugin.name not in skipped]
                known = self._in_force[skipped] = FiltersInForce.of(plugins)
            state.in_force = known
        return state.in_force

    def run(self, state: CycleState, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses | None) -> NodeRows:
        """The rows that pass every filter; the others are charged to the first that failed them."""
        return self._run(self.in_force(state).plugins, state, pod, nodes, statuses)

    def run_local(self, state: CycleState, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses) -> NodeRows:
        """`run` with the filters that look at one node alone: what they reject, pods on other nodes do not change."""
        plugins = [plugin for plugin in self.in_force(state).plugins if plugin.scope == "row"]
        return self._run(plugins, state, pod, nodes, statuses)

    def open_state(self, state: CycleState) -> CycleState:
        """The state without the filters at the front that only node objects decide, for nodes that pass these."""
        front = takewhile(lambda each: not each.follows_pods, self.in_force(state).plugins)
        return replace(state, skip_filter=state.skip_filter.union(each.name for each in front))

    def run_everywhere(self, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> NodeRows:
        """`run` over all nodes. Filters at the front that sign for what they look at run for a node
        once per template and placement there."""
        in_force = self.in_force(state)
        fixed, following = in_force.fixed, in_force.following
        one_by_one = self._cluster.reuse and not self._profile.checks_all_filters
        if not one_by_one or not (fixed or following):
            return self._run(in_force.plugins, state, pod, NodeRows(self._cluster), statuses)
        known = self._known.recall(
            self.signatures(fixed, pod),
            lambda nodes, own: self._run(fixed, state, pod, nodes, own),
            self.signatures(following, pod),
            lambda nodes, own: self._run(following, state, pod, nodes, own),
        )
        statuses.copy_from(known.statuses)
        return self._run(in_force.others, state, pod, known.nodes(self._cluster), statuses)

    def _run(
        self,
        plugins: Sequence[FilterPlugin[Any]],
        state: CycleState,
        pod: PodInfo,
        nodes: NodeRows,
        statuses: NodeStatuses | None,
    ) -> NodeRows:
        if self._profile.checks_all_filters:
            return self._run_all(plugins, state, pod, nodes, statuses)
        errors: list[str] = []
        for plugin in plugins:
            if not len(nodes):
                break
            verdict = self._call(plugin, state, pod, nodes)
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

    def _call(self, plugin: FilterPlugin[Any], state: CycleState, pod: PodInfo, nodes: NodeRows) -> Verdict:
        with self._calling(plugin.name, "filter"):
            verdict = plugin.filter(state.filter_states.get(plugin.name), pod, nodes)
        if len(verdict) != len(nodes):
            raise PluginFault(plugin.name, "filter", f"{len(verdict)} verdicts for {len(nodes)} nodes")
        if self._first_reason_only:
            return Verdict(verdict.codes, verdict.reason_ids, [each[:1] for each in verdict.reasons])
        return verdict

    def _run_all(
        self,
        plugins: Sequence[FilterPlugin[Any]],
        state: CycleState,
        pod: PodInfo,
        nodes: NodeRows,
        statuses: NodeStatuses | None,
    ) -> NodeRows:
        """RunFilterPlugins where a Policy wants all reasons (alwaysCheckAllPredicates), and in patches that give all
        of them. A node is charged to the first of the plugins with the gravest code."""
        verdicts = [self._call(plugin, state, pod, nodes) for plugin in plugins] if len(nodes) else []
        if not verdicts:
            return nodes
        together = Verdict.together(verdicts)
        if self._counts_errors and (errors := Counter(errors_in(together))):
            raise CycleError(aggregate(errors))
        for plugin, verdict in zip(plugins, verdicts, strict=True):
            self._check_verdict(plugin.name, pod, verdict, nodes)
        blamed_at = np.full(len(nodes), -1)
        for index in reversed(range(len(plugins))):
            blamed_at[(verdicts[index].codes == together.codes) & ~together.passed] = index
        if statuses is not None:
            for index in np.unique(blamed_at[blamed_at >= 0]).tolist():
                here = np.nonzero(blamed_at == index)[0]
                part = Verdict(together.codes[here], together.reason_ids[here], together.reasons)
                statuses.record(plugins[index].name, nodes.rows[here], part)
        return nodes.select(together.passed)

    def _check_verdict(self, plugin: str, pod: PodInfo, verdict: Verdict, nodes: NodeRows) -> None:
        failed = (verdict.codes == _ERROR).nonzero()[0]
        if len(failed):
            text = error_of("filter", plugin, pod.name, verdict.status(int(failed[0])).message, self._cluster.release)
            raise CycleError(text)

    def sandbox(self, state: CycleState) -> Sandbox | UsageSandbox:
        """Where pods can come and go for a while, as far as the filters in force see it."""
        return UsageSandbox(self._cluster) if self.in_force(state).reads_usage_only else Sandbox(self._cluster)

    def signature(self, state: CycleState, pod: PodInfo) -> Hashable | None:
        """What the filters in force go by, None where a verdict may change while its row does not: plugins that
        reserve something of their own, such as volumes and devices, are why it could."""
        in_force = self.in_force(state)
        if not in_force.row_scoped or any(isinstance(plugin, ReservePlugin) for plugin in in_force.plugins):
            return None
        return self.signatures(in_force.plugins, pod)

    def stays_local(self, state: CycleState, pod: PodInfo, other: int) -> bool:
        """Whether the verdicts on other nodes are the same wherever `other` is."""
        return not any(
            plugin.scope != "row"
            and (not follows(plugin) or plugin.concerns(state.filter_states.get(plugin.name), pod, other))
            for plugin in self.in_force(state).plugins
        )

    def signatures(self, plugins: Iterable[FilterPlugin[Any]], pod: PodInfo) -> tuple[Hashable, ...]:
        signed = []
        for plugin in plugins:
            with self._calling(plugin.name, "sign"):
                signed.append((plugin.name, plugin.sign(pod)))
        return tuple(signed)
