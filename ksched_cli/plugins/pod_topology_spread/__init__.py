"""PodTopologySpread: keeps the pods that a selector matches evenly spread over zones, hosts, ... (podtopologyspread)

First the rules that changed between minors, the reasons, the queueing hints and the texts of `explain`, then the
plugin. Soft constraints are scored in `soft.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.json_patch import add, drop
from ksched_cli.api.object_facts import holds_place, is_same_pod
from ksched_cli.api.selectors import RequiredNodeAffinity, SelectorError, find_untolerated
from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column, RowColumn, joined_rows
from ksched_cli.cluster.nodes import ABSENT, LabelColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import PodTopologySpreadArgs
from ksched_cli.errors import named
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
from ksched_cli.framework.reasons import (
    C,
    FieldPath,
    Figures,
    Reason,
    ReasonCode,
    ReasonKind,
    ReasonTable,
    RejectedPod,
    RejectionGuide,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import NAMED, Spec
from ksched_cli.plugins.lib.topology_spread import (
    HARD,
    HOSTNAME,
    SOFT,
    SYSTEM_DEFAULTS,
    CountedNodes,
    DefaultSelectors,
    SpreadConstraint,
    TemplateValues,
    constraints_of,
    default_constraints_of,
)
from ksched_cli.plugins.pod_topology_spread.soft import (
    NO_SOFT,
    SoftConstraint,
    SoftConstraints,
    SoftDomains,
    SoftState,
    normalized_scores,
    topology_weight,
)
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import EVEN_PODS_SPREAD, INTER_POD_AFFINITY, SELECTOR_SPREAD

_FIELDS = {
    EVEN_PODS_SPREAD: "topologySpreadConstraints of pods count; without the gate, they do not.",
    "MatchLabelKeysInPodTopologySpread": "matchLabelKeys of constraints count; without the gate, they do not.",
    "MinDomainsInPodTopologySpread": "minDomains of constraints counts; without the gate, it does not.",
    "NodeInclusionPolicyInPodTopologySpread": (
        "nodeAffinityPolicy and nodeTaintsPolicy of constraints count; without the gate, they do not."
    ),
}


class PodTopologySpreadRules(ReleaseRules, plugins="PodTopologySpread"):
    empty_selector_counts_no_pods = Rule(
        "1.27",
        "filter score",
        "A constraint with an empty selector counts no pods; before, it counted all of the namespace.",
    )
    counts_eligible_nodes_only = Rule(
        "1.24",
        "filter",
        "Of a domain only pods on nodes that the pod itself may go to count, and only such nodes make up domains; "
        "before, the other nodes of such a domain counted too.",
    )
    skips_without_constraints = Rule(
        "1.28",
        "score",
        "Does not score where nothing is to be spread or preferred; before, all nodes got the same.",
        plugins=f"PodTopologySpread {INTER_POD_AFFINITY}",
    )
    spreads_over_nodes_without_zone = Rule(
        "1.20",
        "score",
        "Nodes without a zone are spread over by host where a pod has no constraints; before, such nodes scored 0.",
        plugins=f"PodTopologySpread {SELECTOR_SPREAD}",
    )
    rounds_scores = Rule("1.24", "score", "The sum over the constraints is rounded; before, it was cut off.")
    notes = (
        Rule(
            "1.18",
            "filter score",
            "Pods that are leaving count no more, and scores count the pod's own namespace; before, all pods counted, "
            "and scores those of every namespace.",
        ),
        Rule(
            "1.19",
            "filter score preemption",
            "A node that lacks a label has a reason of its own, and preemption is no help there; scores weigh each "
            "topology by its size, and are 100 where nothing is to be spread; before, the reason was that of a skew, "
            "and scores were plain sums, or 0.",
        ),
        Rule(
            "DefaultPodTopologySpread",
            "filter score",
            "Pods without constraints are spread by PodTopologySpread's defaults; without the gate, by "
            f"{SELECTOR_SPREAD}.",
            plugins=f"PodTopologySpread {SELECTOR_SPREAD}",
        ),
        *(Rule(gate, "fields", sentence) for gate, sentence in _FIELDS.items()),
    )


def counts_for(other: Pod, pod: Pod) -> bool:
    """involvedInTopologySpreading: the pod itself, or one of its namespace that has a place."""
    if is_same_pod(other, pod):
        return True
    return holds_place(other) and other.metadata.namespace == pod.metadata.namespace


def spread_pod_may_help(constraints: Sequence[SpreadConstraint], pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """Whether the event of a pod changes which pods a constraint counts (isSchedulableAfterPodChange)."""
    if old is None or new is None:
        changed = new or old
        return changed is not None and any(each.selector.matches(changed.metadata.labels) for each in constraints)
    tolerates_more = is_same_pod(new, pod) and new.spec.tolerations != old.spec.tolerations
    if tolerates_more and any(each.honor_taints for each in constraints):
        return True
    before, now = old.metadata.labels, new.metadata.labels
    return any(each.selector.matches(before) != each.selector.matches(now) for each in constraints)


def spread_node_may_help(constraints: Sequence[SpreadConstraint], old: Node | None, new: Node | None) -> bool:
    """A node with all topology keys came, left, moved to another domain or got other taints."""
    was, now = _has_keys(constraints, old), _has_keys(constraints, new)
    if old is None or new is None or was != now:
        return was or now
    before, after = old.metadata.labels, new.metadata.labels
    moved = any(before.get(each.topology_key, "") != after.get(each.topology_key, "") for each in constraints)
    return now and (moved or old.spec.taints != new.spec.taints)


def _has_keys(constraints: Sequence[SpreadConstraint], node: Node | None) -> bool:
    return node is not None and all(each.topology_key in node.metadata.labels for each in constraints)


_SKEWED_CODE = ReasonCode(
    "KS111",
    "topology-spread",
    "the pods would be spread too unevenly",
    "One more pod in any domain that has room would be more than maxSkew above the domain with the fewest.",
    ("raise maxSkew", "whenUnsatisfiable: ScheduleAnyway", "make room in the domain with the fewest pods"),
)
_KEY_MISSING = ReasonCode(
    "KS112",
    "topology-key-missing",
    "the nodes lack the label that pods are spread by",
    "A node without the topologyKey of a DoNotSchedule constraint takes none of the pods.",
    ("correct the topologyKey", "label the nodes", "whenUnsatisfiable: ScheduleAnyway"),
)


def _skew_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The constraint that one more pod would break on the node."""
    broken = {(each["topologyKey"], each.get("maxSkew")) for each in detail.get("constraints", ())}
    for index, constraint in enumerate(pod.spec.topology_spread_constraints):
        hard = constraint.when_unsatisfiable != "ScheduleAnyway"
        if hard and (not broken or (constraint.topology_key, constraint.max_skew) in broken):
            return ("spec", "topologySpreadConstraints", index, "maxSkew")
    return ("spec", "topologySpreadConstraints")


def _key_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The first hard constraint whose label the node lacks; the first hard one if it is not known which these are."""
    missing = {each["topologyKey"] for each in detail.get("constraints", ()) if each["domain"] is None}
    for index, each in enumerate(pod.spec.topology_spread_constraints):
        if each.when_unsatisfiable != "ScheduleAnyway" and (not missing or each.topology_key in missing):
            return ("spec", "topologySpreadConstraints", index, "topologyKey")
    return ("spec", "topologySpreadConstraints")


class PodTopologySpreadReasons(ReasonTable, plugins="PodTopologySpread"):
    label_missing = ReasonKind(
        "node(s) didn't match pod topology spread constraints (missing required label)",
        _KEY_MISSING,
        field=_key_field,
        problem="lack a label of its topology spread",
    )
    skewed = ReasonKind(
        "node(s) didn't match pod topology spread constraints",
        _SKEWED_CODE,
        field=_skew_field,
        problem="would break its topology spread",
    )


class SpreadGuide(RejectionGuide):
    ends_without_pods = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(map(_constraint, figures["constraints"]))

    describe_briefly = describe

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        for each in figures.get("constraints", ()):
            key, lacks = each["topologyKey"], each["domain"] is None
            yield f"lack label {key} to spread over" if lacks else f"would break the spread over {key}"

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        raised, softened, fewer = [], [], []
        for broken in figures["constraints"]:
            # A pod has at most one hard constraint of each key.
            wanted, constraints = (broken["topologyKey"], "DoNotSchedule"), place.pod.spec.topology_spread_constraints
            keys = [(each.topology_key, each.when_unsatisfiable) for each in constraints]
            if wanted not in keys:
                return
            index = keys.index(wanted)
            softened.append(_softened(place, index, broken["topologyKey"]))
            if "minDomains" in broken:
                fewer.append(_fewer_domains(place, index, broken))
            if "skew" in broken:
                raised.append(_raised(place, index, broken))
        if fewer and len(fewer) == len(softened):
            yield fewer
        if len(raised) == len(softened):
            yield raised
        yield softened


def _softened(place: RejectedPod[C], index: int, key: str) -> C:
    at = ("spec", "topologySpreadConstraints", index)
    operations = [add("ScheduleAnyway", *at, "whenUnsatisfiable")]
    if place.pod.spec.topology_spread_constraints[index].min_domains is not None:
        # Only a hard constraint may have it.
        operations.append(drop(*at, "minDomains"))
    return place.patch(f"only prefer the spread over {key}", "soft spread", 4, *operations)


def _fewer_domains(place: RejectedPod[C], index: int, broken: Mapping[str, Any]) -> C:
    """The spread over as many domains as there are."""
    least, there = broken["minDomains"], max(broken["domains"], 1)
    text = f"lower minDomains from {least} to {there} over {broken['topologyKey']}: there are no more"
    return place.patch(text, "minDomains", 3, add(there, "spec", "topologySpreadConstraints", index, "minDomains"))


def _raised(place: RejectedPod[C], index: int, broken: Mapping[str, Any]) -> C:
    text = f"raise maxSkew from {broken['maxSkew']} to {broken['skew']} over {broken['topologyKey']}"
    cost = 3.5 + (broken["skew"] - broken["maxSkew"]) / 10
    return place.patch(text, "skew", cost, add(broken["skew"], "spec", "topologySpreadConstraints", index, "maxSkew"))


def _constraint(each: Mapping[str, Any]) -> str:
    if each["domain"] is None:
        return f"no label {each['topologyKey']} to spread over"
    if "minDomains" in each:
        least = (
            f"and minDomains is {each['minDomains']} while there are {each['domains']} of {each['topologyKey']}, "
            "so that the least counts as 0"
        )
    else:
        least = f"{each['minimum']} in {named(each['emptiest']) or 'no domain'}"
    return (
        f"{each['topologyKey']}={each['domain']} has {each['matching']} matching, {least}: "
        f"skew {each['skew']} over {each['maxSkew']}"
    )


_STATUSES = (
    SUCCESS,
    unresolvable(PodTopologySpreadReasons.label_missing()),
    unschedulable(PodTopologySpreadReasons.skewed()),
)
_MISSING, _SKEWED = 1, 2
# What Go starts looking for the least count with; it shows where no node is eligible.
_NO_MINIMUM = 2**31 - 1

V = TypeVar("V")


class Domains(Struct):
    """A hard constraint's topology: matching pods by label value id, and which values have an eligible node. `known`
    are the outcomes of these counts, once they are computed."""

    constraint: SpreadConstraint
    column: LabelColumn
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
        self.counts[self.column.ids[row]] += amount
        self.known = None

    def copy(self) -> Domains:
        return replace(self, counts=self.counts.copy(), known=None)


class HardConstraint(Struct, frozen=True):
    """A hard constraint of the pods of one template. `counts_pods`: whether its selector counts any."""

    constraint: SpreadConstraint
    column: LabelColumn
    counts_pods: bool
    nodes: CountedNodes
    matches_itself: bool


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
        self._rules = PodTopologySpreadRules.of(handle.release)
        self._selectors = DefaultSelectors(handle.cluster.catalog, handle.release)
        self._defaults = SYSTEM_DEFAULTS if args.defaulting_type == "System" else args.default_constraints
        self._default_actions = {each.when_unsatisfiable for each in self._defaults}
        self._constraints_of: TemplateValues[tuple[SpreadConstraint, ...]] = TemplateValues(handle.cluster)
        self._hard_of: TemplateValues[tuple[HardConstraint, ...]] = TemplateValues(handle.cluster)
        self._soft_of: TemplateValues[SoftConstraints] = TemplateValues(handle.cluster)

    # Constraints

    def _constraints(self, info: PodInfo, action: str) -> tuple[SpreadConstraint, ...]:
        return self._known(info, action, self._constraints_of, lambda: self._compiled(info, action), ())

    def _known(self, info: PodInfo, action: str, values: TemplateValues[V], make: Callable[[], V], none: V) -> V:
        """What is known of the pod's constraints of one kind, `none` for a pod without constraints."""
        if not info.pod.spec.topology_spread_constraints and (
            action not in self._default_actions or self._selectors.of(info.pod).everything
        ):
            return none
        return values.of(info, action, make)

    def _compiled(self, info: PodInfo, action: str) -> tuple[SpreadConstraint, ...]:
        own = info.pod.spec.topology_spread_constraints
        if own:
            keys = self.handle.gates.enabled("MatchLabelKeysInPodTopologySpread")
            return constraints_of(own, info.labels, action, match_label_keys=keys)
        return default_constraints_of(self._defaults, info.pod, self._selectors, action)

    def _included(self, constraint: SpreadConstraint, info: PodInfo) -> BoolColumn:
        """matchNodeInclusionPolicies for every node."""
        cluster = self.handle.cluster
        included = np.ones(len(cluster.nodes), dtype=np.bool_)
        if constraint.honor_affinity:
            included &= cluster.selection.matching(RequiredNodeAffinity.of(info.pod.spec))
        if constraint.honor_taints:
            comparison = self.handle.gates.enabled("TaintTolerationComparisonOperators")
            tolerated = [
                find_untolerated(taints, info.pod.spec.tolerations, ("NoSchedule", "NoExecute"), comparison=comparison)
                is None
                for taints in cluster.nodes.taint_sets.values
            ]
            included &= np.array(tolerated, dtype=np.bool_)[cluster.nodes.taint_set]
        return included

    def _fully_labelled(self, constraints: Iterable[SpreadConstraint]) -> BoolColumn:
        """Nodes that have every topology key."""
        nodes = self.handle.cluster.nodes
        labelled = np.ones(len(nodes), dtype=np.bool_)
        for each in constraints:
            labelled &= nodes.labels.column(each.topology_key).present
        return labelled

    def _counts_pods(self, constraint: SpreadConstraint) -> bool:
        return not (constraint.selector.everything and self._rules.empty_selector_counts_no_pods)

    def depends(self, info: PodInfo) -> Depends | None:
        if not info.pod.spec.topology_spread_constraints and self._selectors.of(info.pod).everything:
            # The defaults spread the pods of services and controllers alone.
            return NOTHING
        try:
            hard, soft = self._constraints(info, HARD), self._constraints(info, SOFT)
        except SelectorError:
            return None
        if not hard and not soft:
            return NOTHING
        spec, namespace = info.pod.spec, info.namespace
        selectors = tuple(dict.fromkeys(each.selector for each in (*hard, *soft)))
        chosen = RequiredNodeAffinity.of(spec), spec.tolerations, bool(spec.topology_spread_constraints)
        return Depends(
            "pods anywhere",
            (namespace, tuple(info.labels.items()), hard, soft, *chosen),
            partial(self.handle.cluster.counts.versions, namespace, selectors),
        )

    def changed_rows(self, info: PodInfo, before: SpreadState, now: SpreadState) -> RowColumn | None:
        """The nodes of the domains whose outcome differs."""
        changed = []
        for old, new in zip(before.domains, now.domains, strict=True):
            differs = old.outcomes() != new.outcomes()
            if np.count_nonzero(differs):
                changed.append(new.column.rows_of(differs.nonzero()[0].tolist()))
        return joined_rows(len(self.handle.cluster.nodes.objects), changed)

    # Queueing hints

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        try:
            constraints = self._constraints(info, HARD)
        except SelectorError:
            # kube-scheduler cannot decide either, and tries again.
            constraints = None
        if event.resource == "Node":
            return constraints is None or spread_node_may_help(constraints, old, new)
        if not all(counts_for(each, info.pod) for each in (old, new) if each is not None):
            return False
        return constraints is None or spread_pod_may_help(constraints, info.pod, old, new)

    # Filter

    def pre_filter(self, info: PodInfo) -> PreFilterResult[SpreadState] | Status:
        try:
            hard = self._known(info, HARD, self._hard_of, lambda: self._hard(info), ())
        except SelectorError as problem:
            return error(f"get constraints from pod: obtaining pod's hard topology spread constraints: {problem}")
        if not hard:
            return SKIP
        domains = [
            Domains(
                *(each.constraint, each.column, self._by_value(each, info)),
                *(each.nodes.present, each.nodes.eligible, each.matches_itself),
            )
            for each in hard
        ]
        return PreFilterResult(SpreadState(tuple(domains)))

    def _hard(self, info: PodInfo) -> tuple[HardConstraint, ...]:
        constraints, columns = self._constraints(info, HARD), self.handle.cluster.nodes.labels
        labelled = self._fully_labelled(constraints)
        return tuple(
            HardConstraint(
                each,
                columns.column(each.topology_key),
                self._counts_pods(each),
                self._counted_nodes(each, info, labelled),
                each.selector.matches(info.labels),
            )
            for each in constraints
        )

    def _by_value(self, each: HardConstraint | SoftConstraint, info: PodInfo) -> Int64Column:
        """The matching pods of each label value."""
        if not each.counts_pods:
            return np.zeros(len(each.nodes.present), dtype=np.int64)
        return each.nodes.matching(self.handle.cluster.counts.current(info.namespace, each.constraint.selector))

    def _counted_nodes(self, constraint: SpreadConstraint, info: PodInfo, labelled: BoolColumn) -> CountedNodes:
        column = self.handle.cluster.nodes.labels.column(constraint.topology_key)
        eligible = labelled & self._included(constraint, info)
        size = len(column.values)
        present = np.bincount(column.ids[eligible], minlength=size) > 0
        counted = eligible
        if not self._rules.counts_eligible_nodes_only:
            # Nodes that the pod may not go to count too, where a domain has one that it may go to.
            counted, eligible = present[column.ids], labelled & present[column.ids]
        return CountedNodes(present, eligible, counted, column.ids)

    def clone_state(self, state: SpreadState) -> SpreadState:
        return SpreadState(tuple(each.copy() for each in state.domains))

    def add_pod(self, state: SpreadState, info: PodInfo, other: int, row: int) -> None:
        self._update(state, info, other, row, 1)

    def remove_pod(self, state: SpreadState, info: PodInfo, other: int, row: int) -> None:
        self._update(state, info, other, row, -1)

    def _update(self, state: SpreadState, info: PodInfo, other: int, row: int, delta: int) -> None:
        """updateWithPod. Pods that are leaving count here, as in Go."""
        other_info = self.handle.cluster.pods.infos[other]
        if other_info.namespace != info.namespace:
            return
        for each in state.domains:
            if each.eligible[row] and each.constraint.selector.matches(other_info.labels):
                each.move(row, delta)

    def filter(self, state: SpreadState | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        if state is None:
            return Verdict.of_all(len(nodes), error('reading "PreFilterPodTopologySpread" from cycleState: not found'))
        failing: IdColumn | None = None
        for each in state.domains:
            found = each.outcomes().take(nodes.take(each.column.ids))
            failing = found if failing is None else np.where(failing == 0, found, failing)
        if failing is None or not np.count_nonzero(failing):
            return Verdict.passing(len(nodes))
        return Verdict.by_group(failing, self.statuses)

    def explain(self, state: SpreadState | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The constraints that the node breaks, with the matching pods of its domain and of the emptiest one."""
        row = int(nodes.rows[index])
        broken = [each for each in (state.domains if state else ()) if each.outcomes()[each.column.ids[row]]]
        return {"constraints": [self._explained(each, row) for each in broken]}

    def _explained(self, each: Domains, row: int) -> dict[str, Any]:
        column = each.column
        domain = column.ids[row]
        found: dict[str, Any] = {"topologyKey": each.constraint.topology_key, "domain": column.values[domain]}
        if domain == ABSENT:
            return found
        skew = int(each.counts[domain]) + int(each.matches_itself) - each.minimum
        emptiest = [column.values[value] for value in np.nonzero(each.present & (each.counts == each.minimum))[0]]
        found |= {"matching": int(each.counts[domain]), "minimum": each.minimum, "emptiest": emptiest[:NAMED]}
        found |= {"skew": skew, "maxSkew": each.constraint.max_skew}
        if int(each.present.sum()) < each.constraint.min_domains:
            found |= {"domains": int(each.present.sum()), "minDomains": each.constraint.min_domains}
        return found

    # Score

    def pre_score(self, state: SpreadState | None, info: PodInfo, nodes: NodeRows) -> SoftState | Status:
        try:
            soft = self._known(info, SOFT, self._soft_of, lambda: self._soft(info), NO_SOFT)
        except SelectorError as problem:
            return error(f"calculating preScoreState: obtaining pod's soft topology spread constraints: {problem}")
        if not soft.each and self._rules.skips_without_constraints:
            return SKIP
        labelled = soft.labelled
        scored = nodes if labelled is None else nodes.select(nodes.take(labelled))
        domains = [self._domains(each, info, scored) for each in soft.each]
        return SoftState(tuple(domains), None if labelled is None else ~labelled)

    def _soft(self, info: PodInfo) -> SoftConstraints:
        constraints = self._constraints(info, SOFT)
        # Under the system's defaults a node without a zone is still spread over by host.
        require_all = bool(info.pod.spec.topology_spread_constraints) or self.args.defaulting_type != "System"
        require_all |= not self._rules.spreads_over_nodes_without_zone
        labelled = self._fully_labelled(constraints if require_all else ())
        found = []
        for each in constraints:
            column = self.handle.cluster.nodes.labels.column(each.topology_key)
            ids = _by_text(column) if (labelled & ~column.present).any() else column.ids
            counted, labels = labelled & self._included(each, info), None if column.ids.all() else column.present
            present = np.bincount(ids, minlength=len(column.values)) > 0
            nodes = CountedNodes(present, counted, counted, ids)
            found.append(SoftConstraint(each, self._counts_pods(each), nodes, labels))
        return SoftConstraints(tuple(found), None if labelled.all() else labelled)

    def _domains(self, soft: SoftConstraint, info: PodInfo, scored: NodeRows) -> SoftDomains:
        constraint, nodes = soft.constraint, soft.nodes
        if constraint.topology_key == HOSTNAME:
            # A host is its own domain, and is counted whether or not the policies would include it.
            counts = self._scored_counts(soft, info)
            seen = np.zeros_like(counts) if scored.bare else counts
            return SoftDomains(constraint, seen, soft.labels, topology_weight(len(scored.rows)))
        present = nodes.present
        if not scored.whole:
            present = np.bincount(scored.take(nodes.ids), minlength=len(present)) > 0
        weight = topology_weight(int(np.count_nonzero(present)))
        return SoftDomains(constraint, self._by_value(soft, info).take(nodes.ids), soft.labels, weight)

    def _scored_counts(self, soft: SoftConstraint, info: PodInfo) -> Int64Column:
        """countPodsMatchSelector for every node. Not to be written to."""
        if not soft.counts_pods:
            return np.zeros(len(soft.nodes.counted), dtype=np.int64)
        return self.handle.cluster.counts.current(info.namespace, soft.constraint.selector).per_node

    def score(self, state: SoftState | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """The matching pods of the node's domains, each topology with its weight."""
        if not isinstance(state, SoftState):
            return error('error reading "PreScorePodTopologySpread" from cycleState: not found')
        return state.scores(nodes, rounds=self._rules.rounds_scores)

    def normalize(self, state: SoftState, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        """Fewer matching pods score higher; nodes that lack a label get nothing."""
        ignored = None if state.ignored is None else nodes.take(state.ignored)
        counted = scores if ignored is None else scores[~ignored]
        highest = max(counted.item(counted.argmax()), 0) if len(counted) else 0
        if highest == 0:
            normalized = np.full(len(scores), MAX_NODE_SCORE, dtype=np.int64)
        else:
            normalized = normalized_scores(scores, highest, counted.item(counted.argmin()))
        return normalized if ignored is None else np.where(ignored, 0, normalized)


def _by_text(column: LabelColumn) -> IdColumn:
    """A node without the label and one with an empty value are of one domain, as in Go's map of strings. They meet
    only where nodes that lack a label are spread over all the same."""
    empty = np.array([value == "" for value in column.values], dtype=np.bool_)
    return np.where(empty[column.ids], np.int32(ABSENT), column.ids)


SPEC = Spec(plugins=(PodTopologySpread,), reasons=(PodTopologySpreadReasons,), guide=SpreadGuide())
