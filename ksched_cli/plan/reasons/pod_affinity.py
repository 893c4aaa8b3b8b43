"""Terms of required pod affinity that no pod of the cluster satisfies: which selector, in which namespaces, and which
label may have been meant.

Nodes are rejected for lack of a pod to be with. Where no pod matches at all, no node ever fits: a person changes the
term. A pod that matches its own term needs no other pod (`satisfyPodAffinity`), and is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ksched_cli.api.core import LabelSelector, Namespace, Pod
from ksched_cli.api.json_patch import Operation, add, drop, put
from ksched_cli.api.object_facts import is_terminal, pod_key
from ksched_cli.api.selectors import SelectorError
from ksched_cli.api.spelling import nearest
from ksched_cli.cluster.affinity_terms import make_term
from ksched_cli.errors import named
from ksched_cli.plan.reasons.typos import Typo
from ksched_cli.plugins.inter_pod_affinity import REQUIRED

_NO_LABELS: Mapping[str, str] = {}
# So many namespaces and pods are named.
_NAMED = 3


class UnmatchedTerm(Struct, frozen=True):
    """A term that matches no pod with a node. The pods of `waiting` match and have no node. The namespaces of
    `elsewhere` have pods with these labels, and the term does not search them."""

    selector: str
    where: str
    waiting: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    typos: tuple[Typo, ...] = ()

    def __str__(self) -> str:
        needs = "its required pod affinity needs one"
        if self.waiting:
            have = "has" if len(self.waiting) == 1 else "have"
            pods = named(self.waiting, _NAMED)
            return f"no pod with a node matches {self.selector} in {self.where}, and {needs}: {pods} {have} no node yet"
        text = f"its required pod affinity needs a pod with {self.selector} and searches no namespace"
        if self.where:
            text = f"no pod matches {self.selector} in {self.where}, and {needs}"
        if self.typos:
            return f"{text}: did you mean {' and '.join(each.nearest for each in self.typos)}?"
        if self.elsewhere:
            have = "namespace {} has such pods" if len(self.elsewhere) == 1 else "namespaces {} have such pods"
            return f"{text}: {have.format(named(self.elsewhere, _NAMED))}"
        return text


def unmatched_terms(pod: Pod, pods: Sequence[Pod], namespaces: Iterable[Namespace]) -> Iterator[UnmatchedTerm]:
    """The terms of required pod affinity of the pod that no pod with a node satisfies."""
    affinity = pod.spec.affinity.pod_affinity if pod.spec.affinity is not None else None
    terms = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else ()
    for number, term in enumerate(terms):
        try:
            compiled = make_term(pod.metadata.namespace, term)
        except SelectorError:
            return
        selector, of_namespaces = compiled.selector, compiled.namespace_selector
        everywhere = of_namespaces.matches(_NO_LABELS)
        searched = compiled.namespaces.union(
            each.metadata.name for each in namespaces if of_namespaces.matches(each.metadata.labels)
        )
        present = [each for each in pods if each is not pod and not is_terminal(each)]
        alike = [each for each in present if selector.matches(each.metadata.labels)]
        inside = [each for each in alike if everywhere or each.metadata.namespace in searched]
        if selector.matches(pod.metadata.labels) or any(each.spec.node_name for each in inside):
            continue
        plural = "" if len(searched) == 1 else "s"
        where = f"namespace{plural} {named(sorted(searched), _NAMED)}" if searched else ""
        near = [each for each in present if everywhere or each.metadata.namespace in searched]
        yield UnmatchedTerm(
            _selector_text(term.label_selector),
            "any namespace" if everywhere else where,
            tuple(sorted(map(pod_key, inside))),
            tuple(sorted({each.metadata.namespace for each in alike})),
            () if inside else tuple(_typos(number, term.label_selector, near)),
        )


def _selector_text(selector: LabelSelector | None) -> str:
    """As `kubectl get -l` takes it."""
    if selector is None:
        return "a term without a labelSelector"
    parts = [f"{key}={value}" for key, value in selector.match_labels.items()]
    for each in selector.match_expressions:
        values = f"({','.join(each.values)})"
        known = {"Exists": each.key, "DoesNotExist": f"!{each.key}"}
        parts.append(known.get(each.operator, f"{each.key} {each.operator.lower()} {values}"))
    return ",".join(parts)


def _typos(number: int, selector: LabelSelector | None, pods: Iterable[Pod]) -> Iterator[Typo]:
    """Labels of the selector that no pod has, and that are near to those of these pods."""
    if selector is None:
        return
    values: dict[str, set[str]] = {}
    for pod in pods:
        for key, value in pod.metadata.labels.items():
            values.setdefault(key, set()).add(value)
    here = ("spec", "affinity", "podAffinity", REQUIRED, number, "labelSelector")
    for key, value in selector.match_labels.items():
        near_key, near = _nearest(key, value, values)
        if near_key:
            moved = drop(*here, "matchLabels", key), add(value, *here, "matchLabels", near_key)
            yield _typo(key, value, f"{near_key}={value}", *moved)
        elif near:
            yield _typo(key, value, f"{key}={near}", put(near, *here, "matchLabels", key))
    for at, each in enumerate(selector.match_expressions):
        if each.operator != "In" or len(each.values) != 1:
            continue
        place = (*here, "matchExpressions", at)
        near_key, near = _nearest(each.key, each.values[0], values)
        if near_key or near:
            to = put(near_key, *place, "key") if near_key else put(near, *place, "values", 0)
            yield _typo(each.key, each.values[0], f"{near_key or each.key}={near or each.values[0]}", to)


def _typo(key: str, value: str, near: str, *operations: Operation) -> Typo:
    return Typo(key, near, f"let its pod affinity want {near} and not {key}={value}", operations)


def _nearest(key: str, value: str, values: Mapping[str, set[str]]) -> tuple[str, str]:
    """The near key that some pod has with this value, or the near value of this key; empty for what is right."""
    if key in values:
        return "", "" if value in values[key] else nearest(value, values[key])
    return nearest(key, [each for each in values if value in values[each]]), ""
