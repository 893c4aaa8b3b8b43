"""Runs a profile's PreFilter plugins and their extensions (RunPreFilterPlugins, PreFilterExtensions)."""

from __future__ import annotations

from typing import Any, TypeGuard

from msgspec import Struct, field

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.claims import problem_of_claims
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.faults import Calling, CycleError
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.reasons import EngineReasons
from ksched_cli.engine.wording import error_of
from ksched_cli.framework.interfaces import FilterPlugin, Plugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.status import SKIP, Code, Status, unresolvable, unschedulable
from ksched_cli.releases.engine_rules import EngineRules


class PreFilterOutcome(Struct):
    """The rejection if there is one; else the nodes that are left, None for all, and which plugins narrowed them."""

    status: Status | None = None
    node_names: frozenset[str] | None = None
    narrowed_by: set[str] = field(default_factory=set)


class PreFilters:
    """The PreFilter plugins of a profile."""

    def __init__(self, profile: Profile, cluster: Cluster, calling: Calling) -> None:
        self._profile = profile
        self._cluster = cluster
        self._calling = calling
        rules = EngineRules.of(cluster.release)
        # Before this rule any rejection by PreFilter ended the cycle, and an empty set of nodes led to preemption.
        self._runs_all = rules.all_pre_filters_are_run
        # A predicate that failed did so for every node, and the errors of all nodes were counted.
        self._counts_errors = rules.errors_are_counted
        self._rejection_is_an_error = rules.rejection_by_pre_filter_is_an_error
        # podPassesBasicChecks checked the claims before a plugin did.
        self._checks_claims = rules.claims_are_checked_first
        names = {plugin.name for plugin in profile.pre_filter}
        self._only_filters = [
            plugin
            for plugin in profile.filter
            if type(plugin).is_indifferent is not FilterPlugin.is_indifferent and plugin.name not in names
        ]

    def run(self, state: CycleState, pod: PodInfo) -> PreFilterOutcome:
        """RunPreFilterPlugins: an unresolvable rejection ends it, a plain one is kept while the others still run."""
        if self._checks_claims and (problem := problem_of_claims(pod.pod, self._cluster.catalog)):
            raise CycleError(problem)
        outcome = PreFilterOutcome()
        state.skip_filter.update(plugin.name for plugin in self._only_filters if plugin.is_indifferent(pod))
        for plugin in self._profile.pre_filter:
            answer = self.call(plugin, pod)
            if answer is SKIP:
                state.skip_filter.add(plugin.name)
                continue
            if self._rejection_is_an_error and isinstance(answer, Status) and answer.rejected:
                raise CycleError(f'rejected by "{plugin.name}" at prefilter: {answer.message}')
            if isinstance(answer, PreFilterResult):
                state.filter_states[plugin.name] = answer.state
                if answer.skip:
                    state.skip_filter.add(plugin.name)
                if self._narrow(outcome, plugin.name, answer.node_names):
                    return outcome
            elif answer.skipped:
                state.skip_filter.add(plugin.name)
            elif answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE or (answer.rejected and not self._runs_all):
                return PreFilterOutcome(answer.by(plugin.name))
            elif answer.code is Code.UNSCHEDULABLE:
                outcome.status = answer.by(plugin.name)
            else:
                framed = error_of("preFilter", plugin.name, pod.name, answer.message, self._cluster.release)
                raise CycleError(answer.message if self._counts_errors else framed)
        return outcome

    def call(self, plugin: PreFilterPlugin[Any], pod: PodInfo) -> PreFilterResult[Any] | Status:
        with self._calling(plugin.name, "preFilter"):
            return plugin.pre_filter(pod)

    def _narrow(self, outcome: PreFilterOutcome, plugin: str, names: frozenset[str] | None) -> bool:
        """Merge the plugin's node names; True when that leaves none."""
        if names is None:
            return False
        outcome.narrowed_by.add(plugin)
        outcome.node_names = names if outcome.node_names is None else outcome.node_names & names
        if outcome.node_names:
            return False
        by = sorted(outcome.narrowed_by)
        kind = EngineReasons.left_no_node if len(by) == 1 else EngineReasons.left_none_in_common
        refuse = unresolvable if self._runs_all else unschedulable
        outcome.status = refuse(kind(plugins=" ".join(by)))
        return True

    def followers(self, state: CycleState) -> list[PreFilterPlugin[Any]]:
        """Plugins in force that follow pods that come and go in a trial (PreFilterExtensions)."""
        return [
            plugin
            for plugin in self._profile.pre_filter
            if plugin.name in state.filter_states and plugin.name not in state.skip_filter and follows(plugin)
        ]

    def unnoticed(self, state: CycleState, pod: PodInfo, other: int) -> bool:
        """Whether none of these plugins cares about this pod."""
        states = state.filter_states
        return not any(plugin.concerns(states[plugin.name], pod, other) for plugin in self.followers(state))

    def clone(self, state: CycleState) -> CycleState:
        """CycleState.Clone, for trials that change the pods on nodes."""
        copies = {
            plugin.name: plugin.clone_state(state.filter_states[plugin.name])
            for plugin in self._profile.pre_filter
            if plugin.name in state.filter_states
        }
        return CycleState({**state.filter_states, **copies}, {}, set(state.skip_filter), set())

    def add_pod(self, state: CycleState, pod: PodInfo, other: int, row: int) -> None:
        """RunPreFilterExtensionAddPod."""
        for plugin in self._profile.pre_filter:
            if plugin.name in state.filter_states and plugin.name not in state.skip_filter:
                plugin.add_pod(state.filter_states[plugin.name], pod, other, row)

    def remove_pod(self, state: CycleState, pod: PodInfo, other: int, row: int) -> None:
        """RunPreFilterExtensionRemovePod."""
        for plugin in self._profile.pre_filter:
            if plugin.name in state.filter_states and plugin.name not in state.skip_filter:
                plugin.remove_pod(state.filter_states[plugin.name], pod, other, row)


def follows(plugin: Plugin) -> TypeGuard[PreFilterPlugin[Any]]:
    """Whether the plugin has PreFilterExtensions."""
    return isinstance(plugin, PreFilterPlugin) and (
        type(plugin).add_pod is not PreFilterPlugin.add_pod or type(plugin).remove_pod is not PreFilterPlugin.remove_pod
    )
