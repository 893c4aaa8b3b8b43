"""PodTopologySpread: keeps the pods that a selector matches evenly spread over zones, hosts, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.selectors import RequiredNodeAffinity, SelectorError
from ksched_cli.api.tolerations import find_untolerated
from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column, RowColumn, joined_rows
from ksched_cli.cluster.labels import ABSENT, LabelColumn
from ksched_cli.cluster.pod_counts import PodCount
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.template_values import TemplateValues
from ksched_cli.config.plugin_args import PodTopologySpreadArgs
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import (
    Detail,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.blocking_pods import NAMED
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.lib.topology_spread import (
    HARD,
    HOSTNAME,
    SOFT,
    SYSTEM_DEFAULTS,
    DefaultSelectors,
    SpreadConstraint,
    constraints_of,
    default_constraints_of,
)
from ksched_cli.plugins.pod_topology_spread.guide import SpreadGuide
from ksched_cli.plugins.pod_topology_spread.hints import counts_for, spread_node_may_help, spread_pod_may_help
from ksched_cli.plugins.pod_topology_spread.reasons import PodTopologySpreadReasons
from ksched_cli.plugins.pod_topology_spread.rules import PodTopologySpreadRules
from ksched_cli.plugins.pod_topology_spread.soft import SoftDomains, SoftState, normalized_scores, topology_weight

_STATUSES = (
    SUCCESS,
    unresolvable(PodTopologySpreadReasons.label_missing()),
    unschedulable(PodTopologySpreadReasons.skewed()),
)
_MISSING, _SKEWED = 1, 2
# What Go starts looking for the least count with; it shows where no node is eligible.
_NO_MINIMUM = 2**31 - 1


class Domains(Struct):
    """A hard constraint's topology: matching pods by label value id, and which values have an eligible node. `known`
    are the outcomes of these counts, once they are computed."""

    constraint: SpreadConstraint
    ids: IdColumn
    counts: Int64Column
    present: BoolColumn
    eligible: BoolColumn
    matches_itself: bool
    known: IdColumn | None = None

    @property
    def minimum(self) -> int:
        """minMatchNum: 0 while there are fewer domains than the constraint requires."""
        if np.count_nonzero(self.present) < self.constraint.min_domains:
            return 0
        counts = self.counts[self.present]
        return min(counts.item(counts.argmin()), _NO_MINIMUM) if len(counts) else _NO_MINIMUM

    def outcomes(self) -> IdColumn:
        """The index of a node's status by the id of its label value: 0 where the pod may go."""
        if self.known is None:
            skewed = self.counts + int(self.matches_itself) - self.minimum > self.constraint.max_skew
            self.known = skewed * np.int32(_SKEWED)
            self.known[ABSENT] = _MISSING
        return self.known

    def move(self, row: int, amount: int) -> None:
        """Counts a matching pod that came to the node or left it."""
        self.counts[self.ids[row]] += amount
        self.known = None

    def copy(self) -> Domains:
        return replace(self, counts=self.counts.copy(), known=None)


class CountedNodes(Struct):
    """Which nodes count for a hard constraint, and the label value ids of these. `known` are the last counts by value,
    and how many of the changes of `count` they include."""

    present: BoolColumn
    eligible: BoolColumn
    counted: BoolColumn
    ids: IdColumn
    count: PodCount | None = None
    known: tuple[Int64Column, int] | None = None

    def matching(self, count: PodCount, column: LabelColumn) -> Int64Column:
        """The matching pods of the nodes that count, by label value id. Not to be written to."""
        known = self.known if self.count is count else None
        if known is None:
            by_value = self.summed_up(count.per_node, column)
        else:
            by_value, done = known
            new = [change for change in count.changes[done:] if self.counted[change[0]]]
            if new:
                # States of earlier pods hold the old counts.
                by_value = by_value.copy()
            for row, difference in new:
                by_value[column.ids.item(row)] += difference
        self.count, self.known = count, (by_value, len(count.changes))
        return by_value

    def summed_up(self, per_node: Int64Column, column: LabelColumn) -> Int64Column:
        """The numbers of the nodes that count, by label value id."""
        counting = per_node if self.ids is column.ids else per_node[self.counted]
        return np.bincount(self.ids, weights=counting, minlength=len(column.values)).astype(np.int64)


class SpreadState(Struct, frozen=True):
    """preFilterState."""

    domains: tuple[Domains, ...]


class PodTopologySpread(
    PreFilterPlugin[SpreadState],
    FilterPlugin[SpreadState],
    PreScorePlugin[SpreadState, SoftState],
    ScorePlugin[SoftState],
):
    name = "PodTopologySpread"
    since = "1.19"
    statuses: ClassVar[tuple[Status, ...]] = _STATUSES
    column = "Spread"
    summary = "Honours topologySpreadConstraints, and spreads the pods of a service or controller that has none."
    args: PodTopologySpreadArgs
    events = (
        ClusterEvent("Pod", Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION),
        ClusterEvent("Node", Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT),
    )

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._selectors = DefaultSelectors(handle.cluster.catalog, handle.release)
        self._defaults = SYSTEM_DEFAULTS if args.defaulting_type == "System" else args.default_constraints
        self._default_actions = {each.when_unsatisfiable for each in self._defaults}
        self._known_constraints: TemplateValues[tuple[SpreadConstraint, ...]] = TemplateValues(handle.cluster)
        self._known_nodes: TemplateValues[CountedNodes] = TemplateValues(handle.cluster)
        self._known_included: TemplateValues[BoolColumn] = TemplateValues(handle.cluster)
        self._known_labelled: TemplateValues[BoolColumn] = TemplateValues(handle.cluster)

    # Constraints

    def _constraints(self, pod: PodInfo, action: str) -> tuple[SpreadConstraint, ...]:
        if action not in self._default_actions and not pod.pod.spec.topology_spread_constraints:
            return ()
        return self._known_constraints.of(pod, action, lambda: self._compiled(pod, action))

    def _compiled(self, pod: PodInfo, action: str) -> tuple[SpreadConstraint, ...]:
        own = pod.pod.spec.topology_spread_constraints
        if own:
            keys = self.handle.gates.enabled("MatchLabelKeysInPodTopologySpread")
            return constraints_of(own, pod.labels, action, match_label_keys=keys)
        return default_constraints_of(self._defaults, pod.pod, self._selectors, action)

    def _included(self, constraint: SpreadConstraint, pod: PodInfo) -> BoolColumn:
        """matchNodeInclusionPolicies for every node. Not to be written to."""
        policies = constraint.honor_affinity, constraint.honor_taints
        return self._known_included.of(pod, policies, lambda: self._matching_policies(constraint, pod))

    def _matching_policies(self, constraint: SpreadConstraint, pod: PodInfo) -> BoolColumn:
        cluster = self.handle.cluster
        included = np.ones(len(cluster.nodes), dtype=np.bool_)
        if constraint.honor_affinity:
            included &= cluster.selection.matching(RequiredNodeAffinity.of(pod.pod.spec))
        if constraint.honor_taints:
            comparison = self.handle.gates.enabled("TaintTolerationComparisonOperators")
            tolerated = [
                find_untolerated(taints, pod.pod.spec.tolerations, ("NoSchedule", "NoExecute"), comparison=comparison)
                is None
                for taints in cluster.nodes.taint_sets.values
            ]
            included &= np.array(tolerated, dtype=np.bool_)[cluster.nodes.taint_set]
        return included

    def _fully_labelled(self, pod: PodInfo, constraints: Sequence[SpreadConstraint]) -> BoolColumn:
        """Nodes that have every topology key. Not to be written to."""
        keys = tuple(each.topology_key for each in constraints)
        return self._known_labelled.of(pod, keys, lambda: self._with_labels(keys))

    def _with_labels(self, keys: Sequence[str]) -> BoolColumn:
        nodes = self.handle.cluster.nodes
        labelled = np.ones(len(nodes), dtype=np.bool_)
        for key in keys:
            labelled &= nodes.labels.column(key).present
        return labelled

    def _counts(self, constraint: SpreadConstraint, pod: PodInfo) -> Int64Column:
        if not self._counts_some(constraint):
            return np.zeros(len(self.handle.cluster.nodes), dtype=np.int64)
        return self.handle.cluster.counts.per_node(pod.namespace, constraint.selector)

    def _counts_some(self, constraint: SpreadConstraint) -> bool:
        """Whether the constraint counts any pods."""
        rules = PodTopologySpreadRules.of(self.handle.release)
        return not (constraint.selector.everything and rules.empty_selector_counts_no_pods)

    def depends(self, pod: PodInfo) -> Depends | None:
        try:
            hard, soft = self._constraints(pod, HARD), self._constraints(pod, SOFT)
        except SelectorError:
            return None
        if not hard and not soft:
            return NOTHING
        spec, namespace, version = pod.pod.spec, pod.namespace, self.handle.cluster.counts.version
        selectors = tuple(dict.fromkeys(each.selector for each in (*hard, *soft)))
        chosen = RequiredNodeAffinity.of(spec), spec.tolerations, bool(spec.topology_spread_constraints)
        return Depends(
            "pods anywhere",
            (namespace, tuple(pod.labels.items()), hard, soft, *chosen),
            lambda: tuple([version(namespace, each) for each in selectors]),
        )

    def changed_rows(self, pod: PodInfo, before: SpreadState, now: SpreadState) -> RowColumn | None:
        """The nodes of the domains whose outcome differs."""
        nodes, changed = self.handle.cluster.nodes, []
        for old, new in zip(before.domains, now.domains, strict=True):
            column = nodes.labels.column(new.constraint.topology_key)
            rows = column.rows_with(old.outcomes() != new.outcomes())
            if len(rows):
                changed.append(rows)
        return joined_rows(len(nodes), changed)

    # Queueing hints

    def is_schedulable_after(self, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        try:
            constraints = self._constraints(pod, HARD)
        except SelectorError:
            # kube-scheduler cannot decide either, and tries again.
            constraints = None
        if event.resource == "Node":
            return constraints is None or spread_node_may_help(constraints, old, new)
        if not all(counts_for(each, pod.pod) for each in (old, new) if each is not None):
            return False
        return constraints is None or spread_pod_may_help(constraints, pod.pod, old, new)

    # Filter

    def pre_filter(self, pod: PodInfo) -> PreFilterResult[SpreadState] | Status:
        try:
            constraints = self._constraints(pod, HARD)
        except SelectorError as problem:
            return error(f"get constraints from pod: obtaining pod's hard topology spread constraints: {problem}")
        if not constraints:
            return SKIP
        return PreFilterResult(SpreadState(tuple(self._domains(each, pod, constraints) for each in constraints)))

    def _domains(self, constraint: SpreadConstraint, pod: PodInfo, constraints: Sequence[SpreadConstraint]) -> Domains:
        column = self.handle.cluster.nodes.labels.column(constraint.topology_key)
        nodes = self._known_nodes.of(pod, constraint, lambda: self._counted_nodes(constraint, pod, constraints))
        matching = self._by_value(constraint, pod, nodes, column)
        matches_itself = constraint.selector.matches(pod.labels)
        return Domains(constraint, column.ids, matching, nodes.present, nodes.eligible, matches_itself)

    def _by_value(
        self, constraint: SpreadConstraint, pod: PodInfo, nodes: CountedNodes, column: LabelColumn
    ) -> Int64Column:
        """The matching pods of each label value."""
        if not self._counts_some(constraint):
            return np.zeros(len(column.values), dtype=np.int64)
        return nodes.matching(self.handle.cluster.counts.current(pod.namespace, constraint.selector), column)

    def _counted_nodes(
        self, constraint: SpreadConstraint, pod: PodInfo, constraints: Sequence[SpreadConstraint]
    ) -> CountedNodes:
        column = self.handle.cluster.nodes.labels.column(constraint.topology_key)
        labelled = self._fully_labelled(pod, constraints)
        eligible = labelled & self._included(constraint, pod)
        size = len(column.values)
        present = np.bincount(column.ids[eligible], minlength=size) > 0
        counted = eligible
        if not PodTopologySpreadRules.of(self.handle.release).counts_eligible_nodes_only:
            # Nodes that the pod may not go to count too, where a domain has one that it may go to.
            counted, eligible = present[column.ids], labelled & present[column.ids]
        return CountedNodes(present, eligible, counted, column.ids if counted.all() else column.ids[counted])

    def clone_state(self, state: SpreadState) -> SpreadState:
        return SpreadState(tuple(each.copy() for each in state.domains))

    def add_pod(self, state: SpreadState, pod: PodInfo, other: int, row: int) -> None:
        self._update(state, pod, other, row, 1)

    def remove_pod(self, state: SpreadState, pod: PodInfo, other: int, row: int) -> None:
        self._update(state, pod, other, row, -1)

    def _update(self, state: SpreadState, pod: PodInfo, other: int, row: int, delta: int) -> None:
        """updateWithPod. Pods that are leaving count here, as in Go."""
        info = self.handle.cluster.pods.infos[other]
        if info.namespace != pod.namespace:
            return
        for each in state.domains:
            if each.eligible[row] and each.constraint.selector.matches(info.labels):
                each.move(row, delta)

    def filter(self, state: SpreadState | None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        if state is None:
            return Verdict.of_all(len(nodes), error('reading "PreFilterPodTopologySpread" from cycleState: not found'))
        failing: IdColumn | None = None
        for each in state.domains:
            found = each.outcomes().take(nodes.take(each.ids))
            failing = found if failing is None else np.where(failing == 0, found, failing)
        if failing is None or not np.count_nonzero(failing):
            return Verdict.passing(len(nodes))
        return Verdict.by_group(failing, self.statuses)

    def explain(self, state: SpreadState | None, pod: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The constraints that the node breaks, with the matching pods of its domain and of the emptiest one."""
        row = int(nodes.rows[index])
        broken = [each for each in (state.domains if state else ()) if each.outcomes()[each.ids[row]]]
        return {"constraints": [self._explained(each, row) for each in broken]}

    def _explained(self, each: Domains, row: int) -> dict[str, Any]:
        column = self.handle.cluster.nodes.labels.column(each.constraint.topology_key)
        domain = each.ids[row]
        found: dict[str, Any] = {"topologyKey": each.constraint.topology_key, "domain": column.values[domain]}
        if domain == ABSENT:
            return found
        skew = int(each.counts[domain]) + int(each.matches_itself) - each.minimum
        emptiest = [
            column.values[value]
            for value in np.nonzero(each.present & (each.counts == each.minimum))[0].tolist()
            if value != ABSENT
        ]
        found |= {"matching": int(each.counts[domain]), "minimum": each.minimum, "emptiest": emptiest[:NAMED]}
        found |= {"skew": skew, "maxSkew": each.constraint.max_skew}
        if int(each.present.sum()) < each.constraint.min_domains:
            found |= {"domains": int(each.present.sum()), "minDomains": each.constraint.min_domains}
        return found

    # Score

    def pre_score(self, state: SpreadState | None, pod: PodInfo, nodes: NodeRows) -> SoftState | Status:
        try:
            constraints = self._constraints(pod, SOFT)
        except SelectorError as problem:
            return error(f"calculating preScoreState: obtaining pod's soft topology spread constraints: {problem}")
        if not constraints and PodTopologySpreadRules.of(self.handle.release).skips_without_constraints:
            return SKIP
        # Under the system's defaults a node without a zone is still spread over by host.
        require_all = bool(pod.pod.spec.topology_spread_constraints) or self.args.defaulting_type != "System"
        require_all |= not PodTopologySpreadRules.of(self.handle.release).spreads_over_nodes_without_zone
        labelled = self._fully_labelled(pod, constraints if require_all else ())
        everywhere = _all(labelled)
        scored = nodes if everywhere else nodes.select(nodes.take(labelled))
        domains = tuple(self._soft(each, pod, scored, labelled) for each in constraints)
        return SoftState(domains, None if everywhere else ~labelled)

    def _soft(self, constraint: SpreadConstraint, pod: PodInfo, scored: NodeRows, labelled: BoolColumn) -> SoftDomains:
        column = self.handle.cluster.nodes.labels.column(constraint.topology_key)
        counts = self._counts(constraint, pod)
        labels = None if column.is_complete else column.present
        if constraint.topology_key == HOSTNAME:
            # A host is its own domain, and is counted whether or not the policies would include it.
            seen = np.zeros_like(counts) if scored.bare else counts
            return SoftDomains(constraint, seen, labels, topology_weight(len(scored)))
        ids = _by_text(column) if (labelled & ~column.present).any() else column.ids
        wanted = np.bincount(scored.take(ids), minlength=len(column.values)) > 0
        counted = labelled & self._included(constraint, pod)
        by_value = np.bincount(ids[counted], weights=counts[counted], minlength=len(column.values)).astype(np.int64)
        weight = topology_weight(int(np.count_nonzero(wanted)))
        return SoftDomains(constraint, by_value[ids], labels, weight, ids, counted)

    def score(self, state: SoftState | None, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """The matching pods of the node's domains, each topology with its weight."""
        if state is None:
            return error('error reading "PreScorePodTopologySpread" from cycleState: not found')
        return state.scores(nodes, rounds=PodTopologySpreadRules.of(self.handle.release).rounds_scores)

    def normalize(self, state: SoftState, pod: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        """Fewer matching pods score higher; nodes that lack a label get nothing."""
        ignored = None if state.ignored is None else nodes.take(state.ignored)
        counted = scores if ignored is None else scores[~ignored]
        highest = max(counted.item(counted.argmax()), 0) if len(counted) else 0
        if highest == 0:
            normalized = np.full(len(scores), MAX_NODE_SCORE, dtype=np.int64)
        else:
            normalized = normalized_scores(scores, highest, counted.item(counted.argmin()))
        return normalized if ignored is None else np.where(ignored, 0, normalized)


def _all(column: BoolColumn) -> bool:
    """Whether no entry is zero."""
    return bool(np.count_nonzero(column) == len(column))


def _by_text(column: LabelColumn) -> IdColumn:
    """A node without the label and one with an empty value are of one domain, as in Go's map of strings. They meet
    only where nodes that lack a label are spread over all the same."""
    empty = np.array([value == "" for value in column.values], dtype=np.bool_)
    return np.where(empty[column.ids], np.int32(ABSENT), column.ids)


SPEC = Spec(plugins=(PodTopologySpread,), reasons=(PodTopologySpreadReasons,), guide=SpreadGuide())
