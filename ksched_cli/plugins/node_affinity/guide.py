"""Texts about NodeAffinity's rejections, and changes that may end them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import add, drop
from ksched_cli.api.listing import joined
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.rejections import C, Figures, RejectedPod, RejectionGuide
from ksched_cli.plugins.node_affinity.reasons import REQUIRED

_OPERATORS = {"In": "in", "NotIn": "not in", "Exists": "exists", "DoesNotExist": "does not exist", "Gt": ">", "Lt": "<"}
# Labels that state where a node is. No fix proposes to change them.
_OF_THE_PLACE = ("kubernetes.io/", "topology.", "node.kubernetes.io/", "failure-domain.")

Terms = Sequence[Sequence[Mapping[str, Any]]]


class AffinityGuide(RejectionGuide):
    def describe(self, figures: Figures) -> str:
        parts = [
            f"{each['key']} should be {each['wanted']} and {_has(each['has'])}"
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

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        if "enforced" in figures:
            return
        unmet, terms = figures.get("nodeSelector", ()), figures.get("terms")
        relaxed = [_unselect(each, place) for each in unmet]
        if terms is None:
            yield relaxed
        else:
            for way in _relaxed_terms(terms, place):
                yield [*relaxed, way]
        wanted = {each["key"]: each["wanted"] for each in unmet}
        for more in _labels_for(terms) if terms is not None else [{}]:
            labels = {**wanted, **more}
            if labels and not any(key.startswith(_OF_THE_PLACE) for key in labels):
                yield [place.label(key, value) for key, value in labels.items()]


def _has(value: str | None) -> str:
    return "is not there" if value is None else f"is {value}"


def _requirement(each: Mapping[str, Any]) -> str:
    values = f" ({', '.join(each['values'])})" if each["values"] else ""
    return f"{each['key']} {_OPERATORS.get(each['operator'], each['operator'])}{values}: it {_has(each['has'])}"


def _unselect(each: Mapping[str, Any], place: RejectedPod[C]) -> C:
    text = f"leave {each['key']}={each['wanted']} out of the node selector"
    return place.patch(text, "node selector", 2, drop("spec", "nodeSelector", each["key"]))


def _relaxed_terms(terms: Terms, place: RejectedPod[C]) -> Iterator[C]:
    """Changes of the term with the fewest unmet requirements, so that it matches the node."""
    if not terms:
        return
    nearest = min(range(len(terms)), key=lambda index: (len(terms[index]), index))
    found = _expressions_of(terms[nearest], place.pod, nearest)
    if found is None:
        return
    expressions, all_unmet, others_are_met = found
    if expressions and all_unmet:
        here = (*REQUIRED, "nodeSelectorTerms", nearest, "matchExpressions")
        if all(each["operator"] == "In" and each["has"] is not None for _, each in expressions):
            texts = [f"{each['key']}={each['has']}" for _, each in expressions]
            yield place.patch(
                f"let its node affinity take {joined(texts)} too",
                "affinity value",
                1 * len(expressions),
                *(add(each["has"], *here, index, "values", "-") for index, each in expressions),
            )
        if others_are_met:
            texts = [f"{each['key']} {each['operator']}" for _, each in expressions]
            yield place.patch(
                f"leave {joined(texts)} out of its node affinity",
                "node affinity",
                2 * len(expressions),
                *(drop(*here, index) for index, _ in reversed(expressions)),
            )
    yield place.patch("do without its required node affinity", "no node affinity", 4, drop(*REQUIRED))


def _expressions_of(
    unmet_term: Sequence[Mapping[str, Any]], pod: Pod, index: int
) -> tuple[list[tuple[int, Mapping[str, Any]]], bool, bool] | None:
    """The unmet expressions of the pod's term with their positions, whether these are all that is unmet, and whether
    the term has others."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is None:
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
