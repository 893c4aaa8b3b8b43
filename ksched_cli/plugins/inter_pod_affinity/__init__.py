"""InterPodAffinity: pods that want to be with or apart from other pods, zone by zone or host by host
(interpodaffinity).

First the rules that changed between minors, the reasons, the queueing hints and the texts of `explain`, then the
plugin. Its counts are in `index.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import count
from typing import Any

import numpy as np
from msgspec import Struct, field

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.json_patch import drop
from ksched_cli.api.object_facts import holds_place, is_same_pod
from ksched_cli.cluster.affinity_terms import AffinityTerm, Labels, PodMatcher, PodTerms, TermParser
from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column, RowColumn, joined_rows
from ksched_cli.cluster.nodes import ABSENT
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import InterPodAffinityArgs
from ksched_cli.errors import joined, named
from ksched_cli.framework.depends import Depends
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
    FieldFinder,
    FieldPath,
    Figures,
    Reason,
    ReasonCode,
    ReasonKind,
    ReasonTable,
    RejectedPod,
    RejectionGuide,
    fixed_field,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.inter_pod_affinity.index import AffinityIndex, PodMatching, TopologyCounts, TrialCounts
from ksched_cli.plugins.lib.spec import Spec, pods_that
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import Release


class InterPodAffinityRules(ReleaseRules, plugins="InterPodAffinity"):
    follows_nominated_pods = Rule(
        "1.17",
        "filter",
        "The first pod of a group needs nodes with the topology's label, and pods that are nominated count; before, "
        "it could go anywhere, and they did not.",
    )
    first_pod_needs_labels = Rule("1.17", described_by="InterPodAffinity")
    own_rules_come_first = Rule(
        "1.19",
        "message",
        "Where a node breaks several rules, those of the pod itself come first in the reason; before, the "
        "anti-affinity of other pods did.",
    )
    shown_reasons = (
        Rule("1.17", before="both", now="the gravest", described_by="kube-scheduler")
        .then("1.18", now="both", described_by="kube-scheduler")
        .then(
            "1.22",
            "message",
            "A node's reason is the one rule that it breaks; before, a second reason came first that was about any.",
            now="the rule",
        )
    )
    any_anti_affinity_term_wakes = Rule(
        "1.37",
        "queue",
        "A pod that leaves, or no longer matches, wakes pods if one of their anti-affinity terms was about it; before, "
        "only if all were.",
    )
    skips_without_preferences = Rule("1.28", described_by="InterPodAffinity")
    scores_from_the_lowest = Rule(
        "1.21",
        "score",
        "The lowest sum of preferences scores 0 and the highest 100; before, having no preference was one of the ends.",
    )
    notes = (
        Rule("1.17", "score", "Nodes score 0 to 100; before, 0 to 10, and small differences were lost."),
        Rule("1.23", "weight", "Its score weighs 2; before, 1."),
        Rule(
            "PodAffinityNamespaceSelector",
            "fields",
            "namespaceSelector of terms counts; without the gate, it does not.",
        ),
    )


def affinity_pod_may_help(
    terms: PodTerms, pod: Pod, old: Pod | None, new: Pod | None, parser: TermParser, *, any_term: bool
) -> bool:
    """A pod came that the pod has affinity to, or a pod left that anti-affinity is about; a change can be either. With
    `any_term` (since 1.37) one term of anti-affinity is enough."""
    parts = _match_any if any_term else _match_all
    near, far = terms.required_affinity, terms.required_anti_affinity
    if old is None:
        return new is not None and _match_all(near, new)
    if new is not None:
        comes = not _match_all(near, old) and _match_all(near, new)
        return comes or (parts(far, old) and not parts(far, new))
    if parts(far, old):
        return True
    if old.spec.affinity is None:
        return False
    theirs = parser.parse(old.metadata.namespace, old.spec.affinity)
    return bool(theirs.error) or parts(theirs.required_anti_affinity, pod)


def _match_all(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    """podMatchesAllAffinityTerms: no terms match nothing."""
    return bool(terms) and all(term.matches(pod) for term in terms)


def _match_any(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    """podMatchesAnyAffinityTerms."""
    return any(term.matches(pod) for term in terms)


def affinity_node_may_help(terms: PodTerms, old: Node | None, new: Node) -> bool:
    """A node got a topology value that affinity needs, or lost one that anti-affinity is about."""
    if old is None:
        near = any(term.topology_key in new.metadata.labels for term in terms.required_affinity)
        return near or bool(terms.required_anti_affinity)
    return any(
        key in new.metadata.labels and old.metadata.labels.get(key) != new.metadata.labels[key]
        for key in _keys(terms.required_affinity)
    ) or any(
        key in old.metadata.labels and old.metadata.labels[key] != new.metadata.labels.get(key)
        for key in _keys(terms.required_anti_affinity)
    )


def _keys(terms: Iterable[AffinityTerm]) -> Iterable[str]:
    return (term.topology_key for term in terms)


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

_AFFINITY_CODE = ReasonCode(
    "KS113",
    "pod-affinity",
    "the pods that it wants to be near to are not there",
    "A required podAffinity term needs a pod that matches its selector, in the same domain of topologyKey.",
    ("correct the selector, namespaces or topologyKey", "deploy the other workload first", "make it preferred"),
)
_ANTI_AFFINITY_CODE = ReasonCode(
    "KS114",
    "pod-anti-affinity",
    "pods that it must not be near to are everywhere",
    "A required podAntiAffinity term allows no domain of topologyKey that has a pod which matches. Replicas that keep "
    "away from each other need as many domains as replicas, and one more for a surge.",
    ("make it preferred", "fewer replicas, or more nodes", "maxSurge: 0 with maxUnavailable: 1"),
)
_EXISTING_CODE = ReasonCode(
    "KS115",
    "existing-anti-affinity",
    "pods that run already do not want it near to them",
    "The required podAntiAffinity of pods that run matches the labels of this one.",
    ("change the labels of the pod", "change the anti-affinity of the others"),
)
_EITHER = ReasonCode(
    "KS161",
    "pod-affinity-rules",
    "rules about other pods keep it away",
    "A required podAffinity or podAntiAffinity term of the pod, or of pods that run, is not met. Older schedulers say "
    "no more than that.",
    ("correct the selector, namespaces or topologyKey", "make the term preferred"),
)
_INVALID = ReasonCode(
    "KS117",
    "invalid-affinity",
    "a term of the pod's affinity cannot be read",
    "A selector has an operator, key or value that selectors cannot have.",
    ("correct the selector",),
)


def _term_field(affinity: str) -> FieldFinder:
    def find(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
        """The first required term that is broken on the node."""
        own = getattr(pod.spec.affinity, "pod_affinity" if affinity == "podAffinity" else "pod_anti_affinity", None)
        terms = own.required_during_scheduling_ignored_during_execution if own else ()
        broken = {each["topologyKey"] for each in detail.get(affinity, ())}
        index = next((at for at, term in enumerate(terms) if term.topology_key in broken or not broken), None)
        path: FieldPath = ("spec", "affinity", affinity, REQUIRED)
        return path if index is None else (*path, index, "topologyKey")

    return find


class InterPodAffinityReasons(ReasonTable, plugins="InterPodAffinity"):
    no_pod_to_be_with = ReasonKind(
        "node(s) didn't match pod affinity rules",
        _AFFINITY_CODE,
        field=_term_field("podAffinity"),
        problem="lack the pods that it wants to be with",
    )
    pods_to_keep_away_from = ReasonKind(
        "node(s) didn't match pod anti-affinity rules",
        _ANTI_AFFINITY_CODE,
        field=_term_field("podAntiAffinity"),
        problem="have pods near that it keeps away from",
    )
    kept_away_by_others = ReasonKind(
        "node(s) didn't satisfy existing pods anti-affinity rules",
        _EXISTING_CODE,
        field=fixed_field("metadata", "labels"),
        problem="have pods near that keep it away",
    )
    # For a while every rejection came with this reason, too.
    any_rule = ReasonKind(
        Rule(
            "1.21",
            before="node(s) didn't match pod affinity/anti-affinity",
            now="node(s) didn't match pod affinity/anti-affinity rules",
            described_by="InterPodAffinity",
        ),
        _EITHER,
    )
    unreadable = ReasonKind("parsing pod: {problem}", _INVALID, field=fixed_field("spec", "affinity"))


class PodAffinityGuide(RejectionGuide):
    ends_without_pods = True

    def describe(self, figures: Figures) -> str:
        parts = [
            f"no label {each['topologyKey']}"
            if each["topologyValue"] is None
            else f"no pod to be with in {each['topologyKey']}={each['topologyValue']}"
            for each in figures.get("podAffinity", ())
        ]
        for name, text in (("podAntiAffinity", "keeps away from"), ("existingAntiAffinity", "is kept away by")):
            for each in figures.get(name, ()):
                pods = named(each["pods"]) or f"{each['matchingPods']} pods"
                parts.append(f"{text} {pods} in {each['topologyKey']}={each['topologyValue']}")
        return "; ".join(parts)

    describe_briefly = describe

    def describe_nodes(self, figures: Sequence[Figures]) -> str:
        """`keeps away from shop/web-1`, with the pods of all nodes."""
        away, kept = (
            sorted({pod for each in figures for term in each.get(name, ()) for pod in term["pods"]})
            for name in ("podAntiAffinity", "existingAntiAffinity")
        )
        parts = ["no pod to be with"] if any("podAffinity" in each for each in figures) else []
        if away and away == kept:
            return "; ".join([*parts, f"the pod and {named(away)} keep away from each other"])
        parts += [f"keeps away from {named(away)}"] if away else []
        parts += [f"is kept away by {named(kept)}"] if kept else []
        return "; ".join(parts)

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        if "podAffinity" in figures:
            yield "lack the pods that it wants to be with"
        if "podAntiAffinity" in figures:
            yield "have pods near that it keeps away from"
        if "existingAntiAffinity" in figures:
            yield "have pods near that keep it away"

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        own: list[C] = []
        if "podAffinity" in figures:
            operation = drop("spec", "affinity", "podAffinity", REQUIRED)
            own.append(place.patch("do without its required pod affinity", "pod affinity", 5, operation))
        affinity = place.pod.spec.affinity
        if "podAntiAffinity" in figures and affinity and affinity.pod_anti_affinity:
            keys = {each["topologyKey"] for each in figures["podAntiAffinity"]}
            terms = affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution
            at = ("spec", "affinity", "podAntiAffinity", REQUIRED)
            broken = [index for index, term in enumerate(terms) if term.topology_key in keys]
            operations = [drop(*at)] if len(broken) == len(terms) else [drop(*at, index) for index in reversed(broken)]
            text = f"do without its required pod anti-affinity over {joined(sorted(keys))}"
            own.append(place.patch(text, "pod anti-affinity", 5, *operations))
        if "existingAntiAffinity" not in figures:
            yield own
        in_the_way = [*figures.get("podAntiAffinity", ()), *figures.get("existingAntiAffinity", ())]
        if in_the_way and "podAffinity" not in figures:
            yield place.remove({pod for each in in_the_way for pod in each["pods"]})


_AFFINITY, _ANTI_AFFINITY, _EXISTING = 1, 2, 3


def _answers(release: Release) -> tuple[Status, ...]:
    """Statuses by the rule that a node breaks. Up to 1.21 another reason came first that named no rule."""
    statuses = (
        unresolvable(InterPodAffinityReasons.no_pod_to_be_with()),
        unschedulable(InterPodAffinityReasons.pods_to_keep_away_from()),
        unschedulable(InterPodAffinityReasons.kept_away_by_others()),
    )
    shown = InterPodAffinityRules.of(release).shown_reasons
    if shown == "the rule":
        return (SUCCESS, *statuses)
    any_rule = InterPodAffinityReasons.of(release).any_rule()
    if shown == "the gravest":
        return (SUCCESS, statuses[0], unschedulable(any_rule), unschedulable(any_rule))
    return (SUCCESS, *(Status(each.code, (any_rule, *each.reasons)) for each in statuses))


class IncomingTerms(Struct, frozen=True, dict=True):
    """The pod's terms with their namespaces looked up, and who matches them. Good until labels of namespaces change."""

    affinity: tuple[PodMatcher, ...]
    affinity_keys: tuple[str, ...]
    affinity_tallies: tuple[TopologyCounts, ...]
    anti_affinity: tuple[tuple[PodMatcher, str, TopologyCounts], ...]
    preferred: tuple[tuple[TopologyCounts, int], ...]

    @cached_property
    def anti_affinity_tallies(self) -> tuple[TopologyCounts, ...]:
        return tuple(tally for _, _, tally in self.anti_affinity)

    def affinity_matches(self, info: PodInfo) -> bool:
        """podMatchesAllAffinityTerms."""
        return bool(self.affinity) and all(each.matches(info.namespace, info.labels) for each in self.affinity)


class AffinityState(Struct):
    """preFilterState. `sources` are the counts that it was made from, each with how many turns it had by then. The
    `index` has the counts for scores."""

    terms: IncomingTerms
    namespace_labels: Labels
    affinity: TrialCounts
    anti_affinity: TrialCounts
    existing: TrialCounts
    index: AffinityIndex
    sources: tuple[tuple[TopologyCounts, int], ...] = ()
    # For explain: pods by kind of rule, topology key and value.
    named: dict[tuple[str, str, int], list[str]] = field(default_factory=dict)


Concerned = Callable[[AffinityState, PodInfo, PodInfo, str], bool]


def _avoided(state: AffinityState, info: PodInfo, other: PodInfo, key: str) -> bool:
    """Whether the pod keeps away from the other one."""
    return any(
        matcher.matches(other.namespace, other.labels) for matcher, of, _ in state.terms.anti_affinity if of == key
    )


class Preferences(Struct, frozen=True):
    """preScoreState: what a topology value is worth, as (label ids of the nodes, worth by id)."""

    worth: tuple[tuple[IdColumn, Int64Column], ...]


class InterPodAffinity(
    PreFilterPlugin[AffinityState],
    FilterPlugin[AffinityState],
    PreScorePlugin[AffinityState, Preferences],
    ScorePlugin[Preferences],
):
    name = "InterPodAffinity"
    column = "PodAffinity"
    summary = (
        "Rejects nodes that break required pod affinity or anti-affinity, the pod's own or that of running pods; "
        "scores by the preferred."
    )
    args: InterPodAffinityArgs
    events = (
        ClusterEvent("Pod", Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE),
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
    )

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._parser, self._matching, self._versions = TermParser(), PodMatching(handle.cluster.pods), count()
        self._answers = _answers(handle.release)
        # Otherwise affinity does not count pods that are only nominated to a node.
        self._rules = InterPodAffinityRules.of(handle.release)

    # Queueing hints

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        if event.resource == "Pod" and old is not None and new is not None and is_same_pod(new, info.pod):
            return True
        if event.resource == "Pod" and not all(holds_place(each) for each in (old, new) if each is not None):
            return False
        terms = self._parser.of(info)
        if terms.error:
            return True
        if event.resource == "Node":
            return affinity_node_may_help(terms, old, new)
        any_term = self._rules.any_anti_affinity_term_wakes
        return affinity_pod_may_help(terms, info.pod, old, new, self._parser, any_term=any_term)

    def depends(self, info: PodInfo) -> Depends:
        signature = info.namespace, tuple(info.labels.items()), self._parser.of(info)
        return Depends("pods anywhere", signature, self._version)

    def _version(self) -> Hashable:
        return self.handle.cluster.derived(self, self._new_index).sync().version

    def changed_rows(self, info: PodInfo, before: AffinityState, now: AffinityState) -> RowColumn | None:
        """The nodes of the topology values where a count has become positive or zero."""
        if before.terms is not now.terms or len(before.sources) != len(now.sources):
            return None
        affinity = now.terms.affinity
        if affinity and before.affinity.empty != now.affinity.empty and now.terms.affinity_matches(info):
            # The pod was the first of its group, or is so now.
            return None
        turned: dict[str, set[int]] = {}
        for (counts, start), (same, end) in zip(before.sources, now.sources, strict=True):
            if counts is not same:
                # Other terms of placed pods match the pod.
                return None
            if start < end:
                turned.setdefault(counts.key, set()).update(counts.turns[start:end])
        nodes = self.handle.cluster.nodes
        changed = [nodes.labels.column(key).rows_of(values) for key, values in turned.items()]
        return joined_rows(len(nodes.objects), changed)

    # PreFilter

    def pre_filter(self, info: PodInfo) -> PreFilterResult[AffinityState] | Status:
        terms = self._parser.of(info)
        if terms.error:
            return unresolvable(InterPodAffinityReasons.unreadable(problem=terms.error))
        index = self.handle.cluster.derived(self, self._new_index).sync()
        namespace_labels = index.namespaces.get(info.namespace, {})
        avoiding = index.anti_affinity.matching(info, namespace_labels)
        if not avoiding and not terms.required_affinity and not terms.required_anti_affinity:
            return SKIP
        incoming = self._resolve(index, terms)
        carried = [each.counts for each in avoiding]
        sources = (*incoming.affinity_tallies, *incoming.anti_affinity_tallies, *carried)
        state = AffinityState(
            incoming,
            namespace_labels,
            TrialCounts.sum_of(incoming.affinity_tallies),
            TrialCounts.sum_of(incoming.anti_affinity_tallies),
            TrialCounts.sum_of(carried),
            index,
            tuple([(each, len(each.turns)) for each in sources]),
        )
        return PreFilterResult(state)

    def _new_index(self) -> AffinityIndex:
        weight = self.args.hard_pod_affinity_weight
        return AffinityIndex(self.handle.cluster, self._parser, self._matching, self._versions, weight)

    def _resolve(self, index: AffinityIndex, terms: PodTerms) -> IncomingTerms:
        """The incoming terms, computed once per template."""
        known: IncomingTerms | None = index.resolved.get(terms)
        if known is not None:
            return known
        catalog, tallies = self.handle.cluster.catalog, index.tallies
        affinity = tuple(term.matcher(catalog) for term in terms.required_affinity)
        keys = tuple(dict.fromkeys(term.topology_key for term in terms.required_affinity))
        anti = [(term.matcher(catalog), term.topology_key) for term in terms.required_anti_affinity]
        preferred = [(each.term.matcher(catalog), each.term.topology_key, each.weight) for each in terms.preferred]
        found = index.resolved[terms] = IncomingTerms(
            affinity,
            keys,
            tuple(tallies.of(affinity, key) for key in keys),
            tuple((matcher, key, tallies.of((matcher,), key)) for matcher, key in anti),
            tuple((tallies.of((matcher,), key), weight) for matcher, key, weight in preferred),
        )
        return found

    # PreFilterExtensions

    def clone_state(self, state: AffinityState) -> AffinityState:
        counts = (state.affinity.copy(), state.anti_affinity.copy(), state.existing.copy())
        return AffinityState(state.terms, state.namespace_labels, *counts, state.index)

    def add_pod(self, state: AffinityState, info: PodInfo, other: int, row: int) -> None:
        self._update(state, info, other, row, 1)

    def remove_pod(self, state: AffinityState, info: PodInfo, other: int, row: int) -> None:
        self._update(state, info, other, row, -1)

    def concerns(self, state: AffinityState, info: PodInfo, other: int) -> bool:
        other_info = self.handle.cluster.pods.infos[other]
        carried = self._parser.of(other_info).required_anti_affinity if state.existing.by_key else ()
        return (
            any(term.matches(info.pod, state.namespace_labels) for term in carried)
            or state.terms.affinity_matches(other_info)
            or any(
                matcher.matches(other_info.namespace, other_info.labels) for matcher, _, _ in state.terms.anti_affinity
            )
        )

    def _update(self, state: AffinityState, info: PodInfo, other: int, row: int, amount: int) -> None:
        """preFilterState.updateWithPod."""
        cluster = self.handle.cluster
        column, other_info = cluster.nodes.labels.column, cluster.pods.infos[other]
        for term in self._parser.of(other_info).required_anti_affinity:
            if term.matches(info.pod, state.namespace_labels):
                state.existing.update(column(term.topology_key), term.topology_key, row, amount)
        if not self._rules.follows_nominated_pods and self.handle.nominator.node_of(other):
            return
        if state.terms.affinity_matches(other_info):
            for key in state.terms.affinity_keys:
                state.affinity.update(column(key), key, row, amount)
        for matcher, key, _ in state.terms.anti_affinity:
            if matcher.matches(other_info.namespace, other_info.labels):
                state.anti_affinity.update(column(key), key, row, amount)

    # Filter

    def filter(self, state: AffinityState | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        """Of several broken rules the pod's affinity counts, then its anti-affinity, then that of other pods."""
        if state is None:
            return Verdict.of_all(
                len(nodes), error('error reading "PreFilterInterPodAffinity" from cycleState: not found')
            )
        group = np.zeros(len(nodes), dtype=np.int32)
        crowded = state.existing.crowded(nodes) if state.existing.by_key else None
        if crowded is not None:
            group[crowded] = _EXISTING
        if state.anti_affinity.by_key:
            group[state.anti_affinity.crowded(nodes)] = _ANTI_AFFINITY
        if state.terms.affinity:
            group[self._lacks_affinity(state, info, nodes)] = _AFFINITY
        if crowded is not None and not self._rules.own_rules_come_first:
            # The others' anti-affinity comes first.
            group[crowded] = _EXISTING
        return Verdict.by_group(group, self._answers)

    def _lacks_affinity(self, state: AffinityState, info: PodInfo, nodes: NodeRows) -> BoolColumn:
        """satisfyPodAffinity. The first pod of a group that wants to be together only needs the topology keys, and up
        to 1.16 not even those."""
        first = state.affinity.empty and state.terms.affinity_matches(info)
        lacks = np.zeros(len(nodes), dtype=np.bool_)
        if first and not self._rules.first_pod_needs_labels:
            return lacks
        for key in state.terms.affinity_keys:
            column = nodes.cluster.nodes.labels.column(key)
            ids = nodes.take(column.ids)
            lacks |= ids == ABSENT if first else state.affinity.of(key, column).take(ids, mode="clip") <= 0
        return lacks

    def explain(self, state: AffinityState | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The topologies of the node that break a rule, by kind of rule, with the number of pods that count."""
        if state is None:
            return {}
        one = NodeRows(nodes.cluster, nodes.rows[index : index + 1])
        row, found = int(one.rows[0]), {}
        if state.terms.affinity and self._lacks_affinity(state, info, one)[0]:
            topologies = self._topologies(state.affinity, state.terms.affinity_keys, row)
            found["podAffinity"] = [each for each in topologies if not each["matchingPods"]]
        for name, counts, has in (
            ("podAntiAffinity", state.anti_affinity, _avoided),
            ("existingAntiAffinity", state.existing, self._avoiding),
        ):
            crowded = [each for each in self._topologies(counts, counts.by_key, row) if each["matchingPods"]]
            for each in crowded:
                each["pods"] = self._named(state, info, each["topologyKey"], row, has)
            if crowded:
                found[name] = crowded
        return found

    def _topologies(self, counts: TrialCounts, keys: Iterable[str], row: int) -> list[dict[str, Any]]:
        listed = []
        for key in keys:
            column = self.handle.cluster.nodes.labels.column(key)
            value = column.ids[row]
            matching = int(counts.of(key, column)[value])
            listed.append({"topologyKey": key, "topologyValue": column.values[value], "matchingPods": matching})
        return listed

    def _named(self, state: AffinityState, info: PodInfo, key: str, row: int, has: Concerned) -> list[str]:
        """Some of the pods that are counted in the node's topology."""
        cluster = self.handle.cluster
        ids = cluster.nodes.labels.column(key).ids
        memory = has.__name__, key, int(ids[row])
        if memory not in state.named:
            rows = np.nonzero(ids == ids[row])[0].tolist()
            state.named[memory] = pods_that(cluster, rows, lambda other: has(state, info, other, key))
        return state.named[memory]

    def _avoiding(self, state: AffinityState, info: PodInfo, other: PodInfo, key: str) -> bool:
        terms = self._parser.of(other).required_anti_affinity
        return any(term.topology_key == key and term.matches(info.pod, state.namespace_labels) for term in terms)

    # Score

    def pre_score(self, state: AffinityState | None, info: PodInfo, nodes: NodeRows) -> Preferences | Status:
        """Sums the weights of matching terms of the pod and of existing pods by topology value."""
        skips = self._rules.skips_without_preferences
        if self.args.ignore_preferred_terms_of_existing_pods and not _has_preferences(info):
            return SKIP if skips else Preferences(())
        if state is not None:
            # The counts of PreFilter, which has run in the same cycle or has nothing new to find.
            index, incoming = state.index, state.terms
        else:
            terms = self._parser.of(info)
            if terms.error:
                return error(f"failed to parse pod: {terms.error}")
            index = self.handle.cluster.derived(self, self._new_index).sync()
            incoming = self._resolve(index, terms)
        weighted = [(tally, weight) for tally, weight in incoming.preferred if tally.total]
        matching = index.preferences.matching(info, index.namespaces.get(info.namespace, {}))
        weighted += [(carried.counts, carried.weight) for carried in matching]
        if not weighted and skips:
            return SKIP
        worth: dict[str, tuple[IdColumn, Int64Column]] = {}
        for tally, weight in weighted:
            counted: Int64Column = tally.counts * np.int64(weight)
            _, before = worth.get(tally.key, (tally.ids, None))
            worth[tally.key] = tally.ids, counted if before is None else before + counted
        return Preferences(tuple(worth.values()))

    def score(self, state: Preferences | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        if not isinstance(state, Preferences):
            return error('failed to read "PreScoreInterPodAffinity" from cycleState: not found')
        if not state.worth:
            return np.zeros(len(nodes), dtype=np.int64)
        # All ids are in range: "clip" leaves out the check.
        first, *others = (worth.take(nodes.take(ids), mode="clip") for ids, worth in state.worth)
        return sum(others, first)

    def normalize(self, state: Preferences, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        """The least score becomes 0 and the highest 100, in float64 and cut off as Go does. Up to 1.20 the least was 0
        at most and the highest 0 at least."""
        from_zero = not self._rules.scores_from_the_lowest
        if not len(scores):
            return np.zeros(len(scores), dtype=np.int64)
        lowest, highest = int(scores[scores.argmin()]), int(scores[scores.argmax()])
        if from_zero:
            lowest, highest = min(lowest, 0), max(highest, 0)
        spread = highest - lowest
        if spread <= 0:
            return np.zeros(len(scores), dtype=np.int64)
        distances, best = scores - lowest, self.handle.release.max_node_score
        if spread < len(scores):
            return _normalized_up_to(spread, best).take(distances, mode="clip")
        return _normalized(distances, spread, best)


@lru_cache(maxsize=64)
def _normalized_up_to(spread: int, best: int) -> Int64Column:
    """The normalized score for each distance from the least score. Not to be written to."""
    return _normalized(np.arange(spread + 1), spread, best)


def _normalized(distances: Int64Column, spread: int, best: int) -> Int64Column:
    normalized: Int64Column = (best * (distances.astype(np.float64) / np.float64(spread))).astype(np.int64)
    return normalized


def _has_preferences(info: PodInfo) -> bool:
    affinity = info.pod.spec.affinity
    kinds = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ()
    return any(each is not None and each.preferred_during_scheduling_ignored_during_execution for each in kinds)


SPEC = Spec(plugins=(InterPodAffinity,), reasons=(InterPodAffinityReasons,), guide=PodAffinityGuide())
