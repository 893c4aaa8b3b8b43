"""NodeAffinity: spec.nodeSelector, spec.affinity.nodeAffinity and the profile's addedAffinity
(nodeaffinity/node_affinity.go).

First the reasons and the texts and changes of `explain`, then the plugin. How one requirement matches is in
`api/selectors.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ksched_cli.api.core import Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, PreferredSchedulingTerm
from ksched_cli.api.core import NodeAffinityTerms as NodeAffinitySpec
from ksched_cli.api.json_patch import add, drop
from ksched_cli.api.selectors import (
    FIELD_OPERATORS,
    NODE_OPERATORS,
    RequiredNodeAffinity,
    SelectorError,
    any_term_selects,
    make_requirement,
)
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.errors import joined
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
    fixed_field,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import default_normalize_score
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import INTER_POD_AFFINITY, NODE_NAME

REQUIRED: FieldPath = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")

_NODE_SELECTOR = ReasonCode(
    "KS104",
    "node-selector",
    "no node has the labels that the pod requires",
    "nodeSelector and the required terms of nodeAffinity have to match the labels of the node. All labels of "
    "nodeSelector have to match, and one of the terms.",
    ("correct the label or its value", "label a node so that it matches", "make the term a preferred one"),
)
_ENFORCED = ReasonCode(
    "KS105",
    "enforced-node-affinity",
    "the scheduler's configuration keeps the pod off the node",
    "The profile's NodeAffinityArgs have an addedAffinity that every pod of the profile must match.",
    ("use another profile (spec.schedulerName)", "label the nodes", "change addedAffinity"),
)
_CONFLICTING = ReasonCode(
    "KS106",
    "conflicting-affinity",
    "the required node affinity contradicts itself",
    "The terms name nodes (matchFields metadata.name) of which none can match all of them.",
    ("leave one of the names out",),
)


def _unmet_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The first label that the node lacks, else the terms."""
    unmet = [each["key"] for each in detail.get("nodeSelector", ())]
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if unmet or (pod.spec.node_selector and required is None):
        return ("spec", "nodeSelector", *unmet[:1])
    terms = (*REQUIRED, "nodeSelectorTerms")
    return (*terms, 0) if required is not None and len(required.node_selector_terms) == 1 else terms


class NodeAffinityReasons(ReasonTable, plugins="NodeAffinity"):
    unmatched = ReasonKind(
        Rule(
            "1.20",
            "message",
            "The reason of node selectors names node affinity; before, affinity was called a selector.",
            before="node(s) didn't match node selector",
            now="node(s) didn't match Pod's node affinity",
        ).then(
            "1.21",
            "message",
            "Node selectors are spoken of beside node affinity, and node names as such; before, node affinity "
            "alone, and host names.",
            now="node(s) didn't match Pod's node affinity/selector",
            plugins=f"NodeAffinity {NODE_NAME} {INTER_POD_AFFINITY}",
        ),
        _NODE_SELECTOR,
        field=_unmet_field,
        problem="do not match its node selector or affinity",
    )
    unmatched_profile = ReasonKind(
        "node(s) didn't match scheduler-enforced node affinity",
        _ENFORCED,
        problem="do not match the profile's node affinity",
    )
    conflicting = ReasonKind("pod affinity terms conflict", _CONFLICTING, field=fixed_field(*REQUIRED))


_OPERATORS = {"In": "in", "NotIn": "not in", "Exists": "exists", "DoesNotExist": "does not exist", "Gt": ">", "Lt": "<"}

Terms = Sequence[Sequence[Mapping[str, Any]]]


class AffinityGuide(RejectionGuide):
    is_about_the_place = True

    def describe(self, figures: Figures) -> str:
        parts = [
            f"{each['key']} should be {each['wanted'] or 'there, without a value,'} and {_has(each['has'])}"
            for each in figures.get("nodeSelector", ())
        ]
        for name, whose in (("terms", ""), ("enforced", "the profile wants ")):
            alternatives = [" and ".join(map(_requirement, term)) for term in figures.get(name, ())]
            if alternatives:
                parts.append(whose + " or ".join(each or "an empty term" for each in alternatives))
        return "; ".join(parts)

    describe_briefly = describe

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        for unmet in figures.get("nodeSelector", ()):
            yield f"lack label {unmet['key']}={unmet['wanted']}"
        if "terms" in figures:
            yield "do not match its node affinity"
        if "enforced" in figures:
            yield "do not match the profile's node affinity"

    def is_other_kind_of_node(self, reasons: Sequence[Reason], *, unresolvable: bool) -> bool:
        return True

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C | None]]:
        if "enforced" in figures:
            return
        unmet, terms = figures.get("nodeSelector", ()), figures.get("terms")
        if all(place.may_leave_out(each["key"]) for each in unmet):
            relaxed: list[C | None] = [_unselect(each, place) for each in unmet]
            if terms is None:
                yield relaxed
            else:
                for way in _relaxed_terms(terms, place):
                    yield [*relaxed, way]
        wanted = {each["key"]: each["wanted"] for each in unmet}
        for more in _labels_for(terms) if terms is not None else [{}]:
            labels = {**wanted, **more}
            if labels:
                yield [place.label(key, value) for key, value in labels.items()]


def _has(value: str | None) -> str:
    return "is not there" if value is None else f"is {value}"


def _requirement(each: Mapping[str, Any]) -> str:
    values = f" ({', '.join(each['values'])})" if each["values"] else ""
    return f"{each['key']} {_OPERATORS.get(each['operator'], each['operator'])}{values}: it {_has(each['has'])}"


def _unselect(each: Mapping[str, Any], place: RejectedPod[C]) -> C:
    text = f"leave {each['key']}={each['wanted']} out of the node selector"
    return place.patch(text, "node selector", 4, drop("spec", "nodeSelector", each["key"]))


def _relaxed_terms(terms: Terms, place: RejectedPod[C]) -> Iterator[C]:
    """Changes of the term with the fewest unmet requirements, so that it matches the node."""
    if not terms:
        return
    nearest = min(range(len(terms)), key=lambda index: (len(terms[index]), index))
    found = _expressions_of(terms[nearest], place.pod, nearest)
    if found is None or not all(place.may_leave_out(each["key"]) for each in terms[nearest]):
        return
    expressions, all_unmet, others_are_met = found
    if expressions and all_unmet:
        here = (*REQUIRED, "nodeSelectorTerms", nearest, "matchExpressions")
        if all(each["operator"] == "In" and each["has"] is not None for _, each in expressions):
            texts = [f"{each['key']}={each['has']}" for _, each in expressions]
            yield place.patch(
                f"let its node affinity take {joined(texts)} too",
                "affinity value",
                3 + len(expressions) / 2,
                *(add(each["has"], *here, index, "values", "-") for index, each in expressions),
            )
        if others_are_met:
            texts = [f"{each['key']} {each['operator']}" for _, each in expressions]
            yield place.patch(
                f"leave {joined(texts)} out of its node affinity",
                "node affinity",
                4 * len(expressions),
                *(drop(*here, index) for index, _ in reversed(expressions)),
            )
    yield place.patch("do without its required node affinity", "no node affinity", 5, drop(*REQUIRED))


def _expressions_of(
    unmet_term: Sequence[Mapping[str, Any]], pod: Pod, index: int
) -> tuple[list[tuple[int, Mapping[str, Any]]], bool, bool] | None:
    """The unmet expressions of the pod's term with their positions, whether these are all that is unmet, and whether
    the term has others."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is None or index >= len(required.node_selector_terms):
        return None
    term = required.node_selector_terms[index]
    unmet = {(each["key"], each["operator"], tuple(each["values"])): each for each in unmet_term}
    found = [
        (position, unmet[each.key, each.operator, each.values])
        for position, each in enumerate(term.match_expressions)
        if (each.key, each.operator, each.values) in unmet
    ]
    return found, len(found) == len(unmet), len(found) < len(term.match_expressions) + len(term.match_fields)


def _labels_for(terms: Terms) -> Iterator[dict[str, str]]:
    """Labels that would meet a term, for each that labels can meet."""
    for term in terms:
        if term and all(each["operator"] in ("In", "Exists") and each["key"] != "metadata.name" for each in term):
            yield {each["key"]: each["values"][0] if each["values"] else "true" for each in term}


_NODE_NAME_FIELD = "metadata.name"
_NO_TERM = NodeSelectorTerm()


class NodeAffinityRules(ReleaseRules, plugins="NodeAffinity"):
    narrows_to_named_nodes = Rule(
        "1.24",
        "filter",
        "A pod that names its nodes (metadata.name) is tried on those alone; before, on all, to the same end.",
    )
    skips_without_preferences = Rule(
        "1.30", "score", "Does not score where nothing is preferred; before, all nodes got 0."
    )
    errors_name_the_path = Rule("1.21", described_by="NodeAffinity")
    preferences_may_be_about_fields = Rule(
        "1.20", "score", "Preferences can be about fields; before, labels alone counted."
    )
    notes = (
        Rule("1.17", "score", "Nodes score 0 to 100; before, 0 to 10, and small differences were lost."),
        Rule("1.23", "weight", "Its score weighs 2; before, 1."),
    )


# The pod's preferred terms that are not empty.
PreferredTerms = tuple[PreferredSchedulingTerm, ...]


class NodeAffinity(
    PreFilterPlugin[RequiredNodeAffinity],
    FilterPlugin[RequiredNodeAffinity],
    PreScorePlugin[RequiredNodeAffinity, PreferredTerms],
    ScorePlugin[PreferredTerms],
):
    name = "NodeAffinity"
    column = "Affinity"
    summary = "Honours nodeSelector and node affinity, required and preferred, of the pod and of the profile."
    events = (ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),)

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        added: NodeAffinitySpec | None = args.added_affinity if args is not None else None
        self._enforced = added.required_during_scheduling_ignored_during_execution if added else None
        self._preferred_by_profile = added.preferred_during_scheduling_ignored_during_execution if added else ()
        reasons = NodeAffinityReasons.of(handle.release)
        # By what a node fails: nothing, the pod's own affinity or the profile's.
        self._answers = (SUCCESS, unresolvable(reasons.unmatched()), unresolvable(reasons.unmatched_profile()))

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        """Whether the node matches the pod now, and did not before."""
        if self._enforced and not any_term_selects(self._enforced.node_selector_terms, new):
            return False
        wanted = RequiredNodeAffinity.of(info.pod.spec)
        try:
            return wanted.selects(new) and (old is None or not wanted.selects(old))
        except SelectorError:
            return True

    def pre_filter(self, info: PodInfo) -> PreFilterResult[RequiredNodeAffinity] | Status:
        affinity = _node_affinity(info)
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        if required is None and not self._enforced and not info.pod.spec.node_selector:
            return SKIP
        narrows = NodeAffinityRules.of(self.handle.release).narrows_to_named_nodes
        names = _named_nodes(required.node_selector_terms) if narrows and required is not None else None
        if names is not None and not names:
            return unresolvable(NodeAffinityReasons.conflicting())
        return PreFilterResult(RequiredNodeAffinity.of(info.pod.spec), names)

    def filter(self, state: RequiredNodeAffinity | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        selection = nodes.cluster.selection
        # With PreFilter switched off by the profile the pod's own affinity is read here instead.
        wanted = state or RequiredNodeAffinity.of(info.pod.spec)
        failing = np.where(selection.matching(wanted), 0, 1)
        if self._enforced:
            failing = np.where(selection.terms_mask(self._enforced.node_selector_terms), failing, 2)
        groups = nodes.take(failing.astype(np.int32))
        return Verdict.by_group(groups, self._answers)

    def depends(self, info: PodInfo) -> Depends:
        affinity, spec = _node_affinity(info), info.pod.spec
        if affinity is None and not spec.node_selector:
            return NOTHING
        return Depends("node", (RequiredNodeAffinity.of(spec), affinity))

    def explain(self, state: RequiredNodeAffinity | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """Labels of nodeSelector that the node lacks, and the unmet requirements of each required term."""
        node, found = nodes.cluster.nodes.objects[nodes.rows[index]], dict[str, Any]()
        wanted = state or RequiredNodeAffinity.of(info.pod.spec)
        labels = node.metadata.labels
        unmet = [(key, value) for key, value in wanted.node_selector if labels.get(key) != value]
        if unmet:
            found["nodeSelector"] = [{"key": key, "wanted": value, "has": labels.get(key)} for key, value in unmet]
        if wanted.terms is not None and not _any_holds(wanted.terms, node):
            found["terms"] = [unmet_of_term(term, node) for term in wanted.terms]
        if self._enforced and not _any_holds(self._enforced.node_selector_terms, node):
            found["enforced"] = [unmet_of_term(term, node) for term in self._enforced.node_selector_terms]
        return found

    def pre_score(self, state: RequiredNodeAffinity | None, info: PodInfo, nodes: NodeRows) -> PreferredTerms | Status:
        affinity = _node_affinity(info)
        preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
        skips = NodeAffinityRules.of(self.handle.release).skips_without_preferences
        if skips and not preferred and not self._preferred_by_profile:
            return SKIP
        return self._preferred(info, nodes)

    @staticmethod
    def _preferred(info: PodInfo, nodes: NodeRows) -> PreferredTerms | Status:
        """getPodPreferredNodeAffinity."""
        affinity = _node_affinity(info)
        preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
        try:
            # An empty term or one of weight 0 is skipped, and keeps its number.
            nodes.cluster.selection.check((each.preference if each.weight else _NO_TERM for each in preferred), path="")
        except SelectorError as problem:
            has_paths = NodeAffinityRules.of(nodes.cluster.release).errors_name_the_path
            return error(str(problem) if has_paths else _without_paths(problem))
        return tuple(term for term in preferred if term.weight and not _is_empty(term.preference))

    def score(self, state: PreferredTerms | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """The sum of the weights of the terms that match."""
        if not isinstance(state, tuple):
            found = self._preferred(info, nodes)
            if isinstance(found, Status):
                return found
            state = found
        total = np.zeros(len(nodes.cluster.nodes), dtype=np.int64)
        for term in (*self._preferred_by_profile, *state):
            if not _is_empty(term.preference):
                total += term.weight * self._matching(term.preference, nodes)
        return nodes.take(total)

    @staticmethod
    def _matching(term: NodeSelectorTerm, nodes: NodeRows) -> BoolColumn:
        if not NodeAffinityRules.of(nodes.cluster.release).preferences_may_be_about_fields:
            # A preference is about labels, and its field requirements are not read.
            term = NodeSelectorTerm(match_expressions=term.match_expressions)
        return nodes.cluster.selection.terms_mask((term,))

    def normalize(self, state: PreferredTerms, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        return default_normalize_score(scores, self.handle.release.max_node_score, reverse=False)


def _node_affinity(info: PodInfo) -> NodeAffinitySpec | None:
    affinity = info.pod.spec.affinity
    return affinity.node_affinity if affinity else None


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _named_nodes(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """The nodes that the terms name, None when a term leaves the name open: terms are alternatives."""
    if not terms:
        return None
    named: set[str] = set()
    for term in terms:
        values = [
            set(each.values) for each in term.match_fields if each.key == _NODE_NAME_FIELD and each.operator == "In"
        ]
        if not values:
            return None
        named |= set.intersection(*values)
    return frozenset(named)


# A text, a list or nothing: the value that an error of today names before the problem.
_VALUE = re.compile(r'^Invalid value: (?:".*"|\[.*\]|null): ')


def _without_paths(problem: SelectorError) -> str:
    """The text up to 1.20: the first problem of each term, without its path and value."""
    first: dict[str, str] = {}
    for path, text in problem.problems:
        first.setdefault(path.partition("]")[0], _VALUE.sub("", text))
    return str(SelectorError(*(("", text) for text in first.values())))


def _any_holds(terms: Iterable[NodeSelectorTerm], node: Node) -> bool:
    return any(not _is_empty(term) and not unmet_of_term(term, node) for term in terms)


def unmet_of_term(term: NodeSelectorTerm, node: Node) -> list[dict[str, Any]]:
    """The requirements of a term that the node does not meet, with what it has instead."""
    checks: list[tuple[NodeSelectorRequirement, str | None, tuple[str, ...]]] = [
        (each, node.metadata.labels.get(each.key), NODE_OPERATORS) for each in term.match_expressions
    ]
    for each in term.match_fields:
        checks.append((each, node.metadata.name if each.key == _NODE_NAME_FIELD else "", FIELD_OPERATORS))
    return [
        {"key": each.key, "operator": each.operator, "values": list(each.values), "has": has}
        for each, has, operators in checks
        if not _holds(each, has, operators)
    ]


def _holds(each: NodeSelectorRequirement, value: str | None, operators: tuple[str, ...]) -> bool:
    try:
        return make_requirement(each.key, each.operator, each.values, operators).holds(value)
    except SelectorError:
        return False


SPEC = Spec(
    plugins=(NodeAffinity,),
    reasons=(NodeAffinityReasons,),
    guide=AffinityGuide(),
    narrowing=NodeAffinityReasons.unmatched,
)
