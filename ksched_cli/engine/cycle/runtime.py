"""Runs a profile's plugins over nodes (framework/runtime.frameworkImpl): PreFilter with its extensions, Filter with and
without nominated pods, PreScore and Score.

A Runtime holds no state of a cycle: that is in CycleState. It adds nothing to its memory: engine/answers/ keeps what
holds for later pods, and calls the same methods for the nodes that have changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from ksched_cli.cluster.cache import Cluster, Sandbox, UsageSandbox
from ksched_cli.cluster.catalog import problem_of_claims
from ksched_cli.cluster.columns import NOWHERE, Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.faults import (
    CycleError,
    EngineReasons,
    aggregate,
    errors_in,
    plugin_faults,
    raise_plugin_fault,
)
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.registry import Profile
from ksched_cli.framework.depends import ANYWHERE, Depends
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
from ksched_cli.framework.status import SKIP, SUCCESS, Code, Status, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.engine_rules import EngineRules, ErrorTexts
from ksched_cli.releases.minors import Release

if TYPE_CHECKING:
    from ksched_cli.engine.decision import Decision, ScoreTable
    from ksched_cli.engine.timings import Timings


@dataclass
class CycleState:
    """The states of the plugins, each readable by its own plugin only (fwk.CycleState with plugin names as keys).
    `binds_alike`: a copy of the pod was bound, and the plugins from Reserve on do nothing for copies of it. `in_force`
    are the filters that are not skipped, once they are needed; a copy has none. `depends` is what the plugins depend
    on and `trial_rules` what follows from it, once they are needed; `pre_filter` is what PreFilter of each plugin
    returned."""

    filter_states: dict[str, Any] = field(default_factory=dict)
    score_states: dict[str, Any] = field(default_factory=dict)
    skip_filter: set[str] = field(default_factory=set)
    skip_score: set[str] = field(default_factory=set)
    binds_alike: bool = field(default=False, init=False)
    depends: dict[str, Depends | None] | None = field(default=None, init=False)
    pre_filter: dict[str, PreFilterResult[Any] | Status] = field(default_factory=dict, init=False)
    in_force: tuple[FilterPlugin[Any], ...] | None = field(default=None, init=False)
    trial_rules: TrialRules | None = field(default=None, init=False)


class TrialRules(msgspec.Struct, frozen=True):
    """What the filters in force (`names`) mean for a trial in which pods come and go. `followers` follow each move in
    their states. `row_scoped`: every filter looks at one node alone. `usage_only`: none reads more of the pods there
    than what they request and how many they are. `pod_dependent` are the filters that more than the node object matters
    to. `signature` is all of the pod that the filters go by, None where it does not settle their verdict on a row."""

    names: tuple[str, ...]
    followers: tuple[PreFilterPlugin[Any], ...]
    row_scoped: bool
    usage_only: bool
    pod_dependent: tuple[FilterPlugin[Any], ...]
    signature: Hashable | None


NOTHING_KNOWN: Mapping[str, Int64Column] = {}

# As plain numbers: numpy takes its time with members of an enum.
_SUCCESS, _ERROR = int(Code.SUCCESS), int(Code.ERROR)


class Filtered(Protocol):
    """The result of PreFilter and Filter for all nodes, as a memory keeps it. `feasible` is None for all nodes."""

    @property
    def statuses(self) -> NodeStatuses: ...

    @property
    def feasible(self) -> RowColumn | None: ...


class Memory(Protocol):
    """What a cycle may take from earlier cycles of one runtime (engine/answers)."""

    def recall(self, info: PodInfo, state: CycleState) -> Filtered | None:
        """The result for the pod as of now, with the states of the plugins put into `state`; None if it is not
        known."""

    def filter(self, state: CycleState, info: PodInfo, statuses: NodeStatuses) -> NodeRows:
        """RunFilterPluginsWithNominatedPods for all nodes."""

    def keep(self, state: CycleState, info: PodInfo, statuses: NodeStatuses, feasible: RowColumn) -> None:
        """Note the result of PreFilter and Filter for all nodes."""

    def repeated(self, pod_row: int, info: PodInfo, token: Hashable) -> Decision | None:
        """The decision about a copy of the pod that found no node, if nothing has changed since (`token` is equal)."""

    def note_failure(self, decision: Decision, token: Hashable) -> None:
        """Note a decision about a pod without a node."""

    def place_copies(self, pod_row: int, most: int) -> list[int]:
        """Place copies of a placed pod, and return their nodes."""

    def score(self, state: CycleState, info: PodInfo, feasible: RowColumn) -> ScoreTable:
        """RunPreScorePlugins and RunScorePlugins after one of the above. `feasible` may be fewer nodes."""


class PreFilterOutcome(msgspec.Struct):
    """The rejection if there is one; else the nodes that are left, None for all, and which plugins narrowed them."""

    status: Status | None = None
    node_names: frozenset[str] | None = None
    narrowed_by: set[str] = msgspec.field(default_factory=set)


class Scores(msgspec.Struct):
    """The scores of some nodes by plugin, and the weighted sum of the normalized ones, which may be one of them.
    Not to be written to."""

    raw: dict[str, Int64Column]
    normalized: dict[str, Int64Column]
    total: Int64Column


class Runtime:
    """The plugins of one profile."""

    def __init__(
        self, profile: Profile, cluster: Cluster, nominator: NominatedPods, timings: Timings | None = None
    ) -> None:
        self.profile = profile
        self.cluster = cluster
        self.nominator = nominator
        for plugin in profile.plugins:
            if timings is not None:
                timings.watch(plugin)
        self._rules = EngineRules.of(cluster.release)
        self._one_reason = self._rules.nodes_have_one_reason
        self._following = [plugin for plugin in profile.pre_filter if _follows(plugin)]
        self._cloning = [
            plugin for plugin in profile.pre_filter if type(plugin).clone_state is not PreFilterPlugin.clone_state
        ]
        self.pre_scores = {plugin.name: plugin for plugin in profile.pre_score}
        self.normalizing = frozenset(
            plugin.name for plugin in profile.score if type(plugin).normalize is not ScorePlugin.normalize
        )
        self._weights = profile.weights
        # None where every cycle works all out afresh.
        self.memory: Memory | None = None

    def depends(self, plugin: Plugin, info: PodInfo) -> Depends | None:
        try:
            return plugin.depends(info)
        except Exception as problem:
            raise_plugin_fault(problem, plugin.name, "depends")

    def depends_of(self, state: CycleState, info: PodInfo) -> dict[str, Depends | None]:
        """What the Filter plugins in force depend on."""
        if state.depends is None:
            state.depends = {each.name: self.depends(each, info) for each in self.in_force(state)}
        return state.depends

    # PreEnqueue

    def lets_copies_in(self, info: PodInfo) -> bool:
        """Whether PreEnqueue lets in every copy of a pod that it has let in."""
        return all(is_fixed(self.depends(plugin, info)) for plugin in self.profile.pre_enqueue)

    def run_pre_enqueue(self, info: PodInfo, first: str = "") -> Status | None:
        """The first refusal, or None; the plugin that held the pod back until now runs before the others."""
        plugins = self.profile.pre_enqueue
        for plugin in sorted(plugins, key=lambda each: each.name != first) if first else plugins:
            try:
                status = plugin.pre_enqueue(info)
            except Exception as problem:
                raise_plugin_fault(problem, plugin.name, "preEnqueue")
            if status is not SUCCESS and not status.ok:
                return status.by(plugin.name)
        return None

    # PreFilter

    def run_pre_filter(self, state: CycleState, info: PodInfo) -> PreFilterOutcome:
        """RunPreFilterPlugins: an unresolvable rejection ends it, a plain one is kept while the others still run. Up to
        some minor any rejection ended it, and an empty set of nodes led to preemption. Answers that are in `state`
        already are taken from there."""
        rules = self._rules
        if rules.claims_are_checked_first and (problem := problem_of_claims(info.pod, self.cluster.catalog)):
            raise CycleError(problem)
        outcome, answers = PreFilterOutcome(), state.pre_filter
        for plugin in self.profile.pre_filter:
            answer = answers.get(plugin.name)
            if answer is None:
                answer = answers[plugin.name] = self.pre_filter(plugin, info)
            if answer is SKIP:
                state.skip_filter.add(plugin.name)
                continue
            if isinstance(answer, PreFilterResult):
                state.filter_states[plugin.name] = answer.state
                if answer.skip:
                    state.skip_filter.add(plugin.name)
                if answer.node_names is not None and self._narrow(outcome, plugin.name, answer.node_names):
                    return outcome
            elif answer.skipped:
                state.skip_filter.add(plugin.name)
            elif answer.rejected and rules.rejection_by_pre_filter_is_an_error:
                raise CycleError(f'rejected by "{plugin.name}" at prefilter: {answer.message}', plugin.name)
            elif answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE or (
                answer.rejected and not rules.all_pre_filters_are_run
            ):
                return PreFilterOutcome(answer.by(plugin.name))
            elif answer.code is Code.UNSCHEDULABLE:
                outcome.status = answer.by(plugin.name)
            else:
                framed = error_of("pre_filter", plugin.name, info.name, answer.message, self.cluster.release)
                # A predicate that failed did so for every node, and the errors of all nodes were counted.
                raise CycleError(answer.message if rules.errors_are_counted else framed, plugin.name)
        return outcome

    def pre_filter(self, plugin: PreFilterPlugin[Any], info: PodInfo) -> PreFilterResult[Any] | Status:
        try:
            return plugin.pre_filter(info)
        except Exception as problem:
            raise_plugin_fault(problem, plugin.name, "preFilter")

    def _narrow(self, outcome: PreFilterOutcome, plugin: str, names: frozenset[str]) -> bool:
        """Merge the plugin's node names; True when that leaves none."""
        outcome.narrowed_by.add(plugin)
        outcome.node_names = names if outcome.node_names is None else outcome.node_names & names
        if outcome.node_names:
            return False
        by = sorted(outcome.narrowed_by)
        kind = EngineReasons.left_no_node if len(by) == 1 else EngineReasons.left_none_in_common
        refuse = unresolvable if self._rules.all_pre_filters_are_run else unschedulable
        outcome.status = refuse(kind(plugins=" ".join(by)))
        return True

    def followers(self, state: CycleState) -> list[PreFilterPlugin[Any]]:
        """Plugins in force that follow pods that come and go in a trial (PreFilterExtensions)."""
        states, skipped = state.filter_states, state.skip_filter
        return [each for each in self._following if each.name in states and each.name not in skipped]

    def is_irrelevant(self, state: CycleState, info: PodInfo, other: int) -> bool:
        """Whether no PreFilter extension in force (AddPod, RemovePod) changes its state for this other pod."""
        states = state.filter_states
        followers = self.trial_rules(state, info).followers
        return not any(plugin.concerns(states[plugin.name], info, other) for plugin in followers)

    def trial_rules(self, state: CycleState, info: PodInfo) -> TrialRules:
        """What the filters in force mean for trials with this pod."""
        if state.trial_rules is None:
            depends, filters = self.depends_of(state, info), self.in_force(state)
            found = [(plugin, depends[plugin.name]) for plugin in filters]
            anywhere = any(each is None or each.on == ANYWHERE for _, each in found)
            followers = tuple(self.followers(state))
            # What a plugin reserves may change a verdict while the node does not.
            signs = not anywhere and all(
                each is not None
                and each.signature is not None
                and (is_fixed(each) or not isinstance(plugin, ReservePlugin))
                for plugin, each in found
            )
            state.trial_rules = TrialRules(
                tuple([plugin.name for plugin in filters]),
                followers,
                not anywhere,
                not followers and all(reads_usage_only(each) for _, each in found),
                tuple([plugin for plugin, each in found if not is_fixed(each)]),
                tuple([(plugin.name, each.signature) for plugin, each in found if each is not None]) if signs else None,
            )
        return state.trial_rules

    def clone(self, state: CycleState) -> CycleState:
        """CycleState.Clone, for trials that change the pods on nodes."""
        twin = CycleState(state.filter_states.copy(), {}, state.skip_filter.copy(), set())
        for plugin in self._cloning:
            if plugin.name in twin.filter_states:
                twin.filter_states[plugin.name] = plugin.clone_state(twin.filter_states[plugin.name])
        twin.depends, twin.trial_rules = state.depends, state.trial_rules
        return twin

    def add_pod(self, state: CycleState, info: PodInfo, other: int, row: int) -> None:
        """RunPreFilterExtensionAddPod."""
        for plugin in self.trial_rules(state, info).followers:
            plugin.add_pod(state.filter_states[plugin.name], info, other, row)

    def remove_pod(self, state: CycleState, info: PodInfo, other: int, row: int) -> None:
        """RunPreFilterExtensionRemovePod."""
        for plugin in self.trial_rules(state, info).followers:
            plugin.remove_pod(state.filter_states[plugin.name], info, other, row)

    # Filter

    def in_force(self, state: CycleState) -> tuple[FilterPlugin[Any], ...]:
        """The Filter plugins that PreFilter did not skip; called when all of PreFilter is over."""
        if state.in_force is None:
            skipped = state.skip_filter
            state.in_force = tuple([each for each in self.profile.filter if each.name not in skipped])
        return state.in_force

    def run_filter(
        self,
        plugins: Sequence[FilterPlugin[Any]],
        state: CycleState,
        info: PodInfo,
        nodes: NodeRows,
        statuses: NodeStatuses | None,
    ) -> NodeRows:
        """RunFilterPlugins: the rows that pass every filter; the others are charged to the first that failed them."""
        if self.profile.checks_all_filters:
            return self._run_all(plugins, state, info, nodes, statuses)
        errors: list[str] = []
        states = state.filter_states
        for plugin in plugins:
            try:
                verdict = plugin.filter(states.get(plugin.name), info, nodes)
            except Exception as problem:
                raise_plugin_fault(problem, plugin.name, "filter")
            if self._one_reason:
                verdict = _with_first_reasons(verdict)
            # In C all the way, unlike any().
            if np.count_nonzero(verdict.codes):
                if self._rules.errors_are_counted:
                    errors += errors_in(verdict)
                else:
                    self._check_verdict(plugin.name, info, verdict)
                if statuses is not None:
                    statuses.record(plugin.name, nodes.rows, verdict)
                nodes = nodes.select(verdict.passed)
                if not len(nodes.rows):
                    break
        if errors and statuses is not None:
            raise CycleError(aggregate(Counter(errors)))
        return nodes

    def _run_all(
        self,
        plugins: Sequence[FilterPlugin[Any]],
        state: CycleState,
        info: PodInfo,
        nodes: NodeRows,
        statuses: NodeStatuses | None,
    ) -> NodeRows:
        """RunFilterPlugins where a Policy wants all reasons (alwaysCheckAllPredicates), and in patches that give all
        of them. A node is charged to the first of the plugins with the gravest code."""
        if not plugins:
            return nodes
        verdicts: list[Verdict] = []
        for plugin in plugins:
            with plugin_faults(plugin.name, "filter"):
                verdict = plugin.filter(state.filter_states.get(plugin.name), info, nodes)
            verdicts.append(_with_first_reasons(verdict) if self._one_reason else verdict)
        together = Verdict.together(verdicts)
        if self._rules.errors_are_counted and (errors := Counter(errors_in(together))):
            raise CycleError(aggregate(errors))
        for plugin, verdict in zip(plugins, verdicts, strict=True):
            self._check_verdict(plugin.name, info, verdict)
        blamed_at = np.full(len(nodes.rows), -1)
        for index in reversed(range(len(plugins))):
            blamed_at[(verdicts[index].codes == together.codes) & ~together.passed] = index
        if statuses is not None:
            for index in np.unique(blamed_at[blamed_at >= 0]).tolist():
                here = np.nonzero(blamed_at == index)[0]
                part = Verdict(together.codes[here], together.reason_ids[here], together.reasons)
                statuses.record(plugins[index].name, nodes.rows[here], part)
        return nodes.select(together.passed)

    def _check_verdict(self, plugin: str, info: PodInfo, verdict: Verdict) -> None:
        failed = (verdict.codes == _ERROR).nonzero()[0]
        if len(failed):
            text = error_of("filter", plugin, info.name, verdict.status(int(failed[0])).message, self.cluster.release)
            raise CycleError(text, plugin)

    # Filter, with the pods that are nominated to the nodes

    def run_filter_with_nominated(
        self,
        plugins: Sequence[FilterPlugin[Any]],
        state: CycleState,
        info: PodInfo,
        nodes: NodeRows,
        statuses: NodeStatuses | None,
    ) -> NodeRows:
        """RunFilterPluginsWithNominatedPods: a node must do both with and without the pods nominated to it. As in Go, a
        node where the pod does not fit beside the others is not tried without them."""
        if self.nominator.nodes():
            nominated = self.nominated_beside(info, nodes)
            if nominated:
                refused = self.refused_beside(plugins, state, info, nominated, statuses)
                if refused:
                    nodes = nodes.select(np.array([row not in refused for row in nodes.rows.tolist()], dtype=np.bool_))
                if not len(nodes.rows):
                    return nodes
        return self.run_filter(plugins, state, info, nodes, statuses)

    def refused_beside(
        self,
        plugins: Sequence[FilterPlugin[Any]],
        state: CycleState,
        info: PodInfo,
        nominated: Mapping[int, list[int]],
        statuses: NodeStatuses | None,
    ) -> set[int]:
        """addGENominatedPods and the filters after it: the nodes that do not take the pod beside those that are
        nominated to them."""
        rules, refused = self.trial_rules(state, info), set(nominated)
        # All at once where what comes to one node means nothing to another.
        for batch in [list(nominated)] if rules.row_scoped else [[row] for row in nominated]:
            come = [(other, row) for row in batch for other in nominated[row]]
            added, where = np.array(come, dtype=np.int64).T
            nodes = NodeRows(self.cluster, np.array(batch, dtype=np.int64))
            with UsageSandbox(self.cluster) if rules.usage_only else Sandbox(self.cluster) as sandbox:
                state_with_nominated = self.clone(state) if rules.followers else state
                if rules.followers:
                    for index, (other, row) in enumerate(come):
                        sandbox.move(added[index : index + 1], where[index : index + 1], 1)
                        self.add_pod(state_with_nominated, info, other, row)
                else:
                    sandbox.move(added, where, 1)
                passed = self.run_filter(plugins, state_with_nominated, info, nodes, statuses)
                refused.difference_update(passed.rows.tolist())
        return refused

    def nominated_beside(self, info: PodInfo, nodes: NodeRows) -> dict[int, list[int]]:
        """Of these nodes the rows that have nominated pods which the pod must yield to, with those pods."""
        waiting = self.nominator.nodes()
        if not waiting:
            return {}
        infos, node_row = self.cluster.pods.infos, self.cluster.pods.node_row
        names, row_of = self.cluster.nodes.names, self.cluster.nodes.row_of
        if len(nodes.rows) < len(waiting):
            contested = nodes.rows.tolist()
        else:
            mask = nodes.mask()
            contested = [row for node in waiting if (row := row_of.get(node)) is not None and mask[row]]
        mine, uid = info.priority, info.uid
        nominated: dict[int, list[int]] = {}
        for row in contested:
            for other in self.nominator.nominated_on(names[row]) if names[row] in waiting else ():
                if infos[other].priority >= mine and node_row.item(other) == NOWHERE and infos[other].uid != uid:
                    nominated.setdefault(row, []).append(other)
        return nominated

    # PreScore and Score

    def run_pre_score(
        self, plugins: Iterable[PreScorePlugin[Any, Any]], state: CycleState, info: PodInfo, nodes: NodeRows
    ) -> None:
        """RunPreScorePlugins for these plugins."""
        for plugin in plugins:
            name = plugin.name
            try:
                answer = plugin.pre_score(state.filter_states.get(name), info, nodes)
            except Exception as problem:
                raise_plugin_fault(problem, name, "preScore")
            if not isinstance(answer, Status):
                state.score_states[name] = answer
                state.skip_score.discard(name)
            elif answer is SKIP or answer.skipped:
                state.skip_score.add(name)
            else:
                raise CycleError(error_of("pre_score", name, info.name, answer.message, self.cluster.release), name)

    def run_score(
        self,
        plugins: Sequence[ScorePlugin[Any]],
        state: CycleState,
        info: PodInfo,
        nodes: NodeRows,
        known: Mapping[str, Int64Column] = NOTHING_KNOWN,
        *,
        normalizes: bool = True,
    ) -> Scores:
        """RunScorePlugins for these plugins: raw, normalized, and the weighted sum. A plugin scores by what its
        PreScore found; by what its PreFilter found if it has no PreScore in the profile. `known` are raw scores that
        are known. With `normalizes` off, a plugin that normalizes gives raw scores only, and no part of the sum."""
        raw: dict[str, Int64Column] = {}
        normalized: dict[str, Int64Column] = {}
        total, size = None, len(nodes.rows)
        for plugin in plugins:
            name = plugin.name
            if name in state.skip_score:
                continue
            states = state.score_states if name in self.pre_scores else state.filter_states
            scores = known.get(name)
            try:
                found = plugin.score(states.get(name), info, nodes) if scores is None else scores
            except Exception as problem:
                raise_plugin_fault(problem, name, "score")
            if isinstance(found, Status):
                raise CycleError(error_of("score", name, info.name, found.message, self.cluster.release), name)
            raw[name] = scores = found
            if name in self.normalizing:
                if not normalizes:
                    continue
                try:
                    scores = plugin.normalize(states.get(name), info, nodes, found)
                except Exception as problem:
                    raise_plugin_fault(problem, name, "normalizeScore")
            # As unsigned numbers, negative ones are the largest: one look for both ends.
            farthest = scores.item(scores.view(np.uint64).argmax()) if size else 0
            if not MIN_NODE_SCORE <= farthest <= MAX_NODE_SCORE:
                raise self._out_of_range(name, info, nodes, scores)
            normalized[name], weight = scores, self._weights[name]
            weighted = scores if weight == 1 else scores * weight
            total = weighted if total is None else total + weighted
        return Scores(raw, normalized, np.zeros(size, dtype=np.int64) if total is None else total)

    def _out_of_range(self, plugin: str, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> CycleError:
        outside = np.nonzero((scores > MAX_NODE_SCORE) | (scores < MIN_NODE_SCORE))[0]
        text = (
            f"returns an invalid score {scores[outside[0]]}, it should in the range of [{MIN_NODE_SCORE}, "
            f"{MAX_NODE_SCORE}] after normalizing (node {nodes.names[outside[0]]})"
        )
        return CycleError(error_of("score_range", plugin, info.name, text, self.cluster.release), plugin)


def is_fixed(depends: Depends | None) -> bool:
    """Whether the answers about a node change only when the node object does, for all pods that sign alike."""
    return depends is not None and depends.on == "node" and depends.signature is not None


def reads_usage_only(depends: Depends | None) -> bool:
    """Whether the pods on a node matter by what they request together and how many they are, if at all."""
    return is_fixed(depends) or (depends is not None and depends.on == "usage")


def _follows(plugin: PreFilterPlugin[Any]) -> bool:
    """Whether the plugin has PreFilterExtensions."""
    kind = type(plugin)
    return kind.add_pod is not PreFilterPlugin.add_pod or kind.remove_pod is not PreFilterPlugin.remove_pod


def _with_first_reasons(verdict: Verdict) -> Verdict:
    """The verdict as minors have it in which a node has one reason."""
    return Verdict(verdict.codes, verdict.reason_ids, [each[:1] for each in verdict.reasons])


def error_of(point: str, plugin: str, pod: str, text: str, release: Release) -> str:
    """The text of a plugin as the cycle's error."""
    return str(getattr(ErrorTexts.of(release), point)).format(plugin=plugin, pod=pod, text=text)
