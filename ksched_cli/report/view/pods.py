"""Pods that were tried, as entries of documents, and their details for a page.

Which nodes reject a pod and why, in short form: a thousand pods times 5,000 nodes in less than a megabyte.

In a document an entry of `pods` has `nodeAnswers`:

    {"like": 3, "nodes": {"0": "7,12-14", "2": "20"}}

The answers of nodes are those of `pods[3]`, but nodes 7 and 12 to 14 (of `nodeTable.names`) are feasible, and node 20
has the failure `failureKinds[1]`. Without `like` the answer of all other nodes is unknown: they were not looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, repeat
from typing import Any, Self

import numpy as np
from msgspec import to_builtins

from ksched_cli.cluster.columns import IdColumn
from ksched_cli.plan.results.nodes import ByKind, Failure, FailureGroup, NodeDetail, Score, ScoredNode
from ksched_cli.plan.results.outcomes import PodOutcome, Preemption
from ksched_cli.report.view.documents import DocumentPart

_MOST_NODES = 10
# Answers of nodes; that of a node that rejects the pod is the number of its failure.
_UNKNOWN, _FEASIBLE = -1, 0


class NodeCountPart(DocumentPart, frozen=True, kw_only=True):
    total: int
    feasible: int


class PodPart(DocumentPart, frozen=True, kw_only=True, gc=False):
    """A pod that was tried. `nodes`, `failures` and `top` are there without --detail, and `feasible`, `filters`,
    `scores` and `totals` with it; `nodeAnswers` is the short form of these. `tied`: how many nodes tie, if `ties` has
    only the first of them."""

    pod: str
    result: str
    node: str = ""
    ties: Sequence[str] = ()
    nodes: NodeCountPart | None = None
    feasible: Sequence[str] = ()
    pre_filter: Failure | None = None
    filters: Mapping[str, Failure] | None = None
    failures: tuple[FailureGroup, ...] = ()
    scores: Mapping[str, Mapping[str, Score]] | None = None
    totals: Mapping[str, int] | None = None
    top: tuple[ScoredNode, ...] = ()
    message: str = ""
    preemption: Preemption | None = None
    nominated_node: str = ""
    pod_group: str = ""
    unschedulable_plugins: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    node_answers: dict[str, Any] | None = None
    tied: int = 0

    @classmethod
    def of(cls, outcome: PodOutcome, encode: Callable[[Any], Any] = lambda each: each, **others: Any) -> Self:
        """The part of an outcome, with `others` as further fields. `encode` is called once for each failure and each
        set of scores that nodes share. The names of ties are looked up where they are shown: there may be thousands."""
        detail = outcome.detail
        if detail is None:
            others["nodes"] = NodeCountPart(total=outcome.total_nodes, feasible=outcome.feasible_nodes)
            others |= {"failures": outcome.failures, "top": outcome.top}
        else:
            failures, scores = detail.filters_by_kind(), detail.scores_by_kind()
            filters = _by_name(failures, [encode(each) for each in failures.kinds])
            if len(detail.filters) > len(filters):
                filters = {name: encode(each) for name, each in detail.filters.items()}
            others |= {"feasible": tuple(detail.feasible), "filters": filters or None, "totals": detail.totals or None}
            others["scores"] = _by_name(scores, [encode(each) for each in scores.kinds]) or None
        return cls(
            pod=outcome.pod,
            result=outcome.result,
            node=outcome.node,
            ties=outcome.ties or (),
            pre_filter=outcome.pre_filter,
            message=outcome.message,
            preemption=outcome.preemption,
            nominated_node=outcome.nominated_node,
            pod_group=outcome.pod_group,
            unschedulable_plugins=outcome.unschedulable_plugins,
            missing=outcome.missing,
            tied=outcome.tied if outcome.tied > len(outcome.ties) else 0,
            **others,
        )

    @property
    def verdict(self) -> str:
        """The result; `preempts` for a pod that waits until its victims have left."""
        return "preempts" if self.nominated_node and not self.node else self.result

    @property
    def tie_count(self) -> int:
        return self.tied or len(self.ties)

    @property
    def feasible_nodes(self) -> int:
        return self.nodes.feasible if self.nodes is not None else len(self.feasible)

    @property
    def total_nodes(self) -> int:
        return self.nodes.total if self.nodes is not None else len(self.feasible) + len(self.filters or ())

    @property
    def best(self) -> Sequence[ScoredNode]:
        """The nodes with scores, the best first."""
        if self.top or not self.totals:
            return self.top
        order = sorted(self.totals.items(), key=lambda item: (-item[1], item[0]))
        return [ScoredNode(node, total, (self.scores or {})[node]) for node, total in order]

    def groups(self) -> list[FailureGroup]:
        """The failures with the number of their nodes, the most frequent first."""
        if self.failures or not self.filters:
            return list(self.failures)
        nodes: dict[Failure, list[str]] = {}
        for node, failure in self.filters.items():
            nodes.setdefault(failure, []).append(node)
        found = [
            FailureGroup(each.plugin, each.code, each.reasons, len(names), tuple(names))
            for each, names in nodes.items()
        ]
        return sorted(found, key=lambda each: -each.nodes)


def _by_name(nodes: ByKind[Any], entries: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(nodes.names, map(entries.__getitem__, nodes.numbers), strict=True))


def copies_of(pod: str) -> str:
    """`shop/web-7c9d-*` for a pod `shop/web-7c9d-2d8fl`: the pods of one controller are copies of each other. Their
    names show it without a look at every object."""
    name, dash, _ = pod.rpartition("-")
    return f"{name}-*" if dash and "/" in name else ""


class PodDetails:
    """The details of each pod that was tried, and the lists that these details refer to by number. `names` are the
    nodes of the document, `kinds` the failures that `nodeAnswers` of the pods refer to."""

    def __init__(self, names: Sequence[str], kinds: Sequence[Failure] | None = None) -> None:
        self._answers, self._kinds = NodeAnswers(names), kinds
        self._plugins: dict[str, int] = {}

    @property
    def legend(self) -> dict[str, Any]:
        """`failures` has plugin and text of failure 1 and so on, `plugins` the names of plugins from 0 on."""
        failures = map(_texts, self._answers.kinds if self._kinds is None else self._kinds)
        return {"failures": list(failures), "plugins": list(self._plugins)}

    def of(self, number: int, pod: PodPart) -> dict[str, Any]:
        """The details of a pod. `number` is its place in the document."""
        answers = pod.node_answers
        if answers is None and (pod.filters is not None or pod.feasible):
            answers = self._answers.pack_named(number, pod.filters or {}, pod.feasible)
        detail = {
            "message": pod.message,
            "to": pod.node,
            "nominated": pod.nominated_node,
            "ties": pod.tie_count,
            "whole": _texts(pod.pre_filter) if pod.pre_filter else None,
            "answers": answers,
            "groups": [] if answers else [[*_texts(each), each.nodes, each.examples] for each in pod.failures],
            "top": [self._scored(each) for each in pod.top or pod.best[:_MOST_NODES]],
            "preemption": to_builtins(pod.preemption),
            "missing": pod.missing,
        }
        return {key: value for key, value in detail.items() if value}

    def _scored(self, node: ScoredNode) -> list[Any]:
        """The name and total of a node, and the number of each plugin with its raw, normalised and weighted score."""
        scores = [
            [self._plugins.setdefault(plugin, len(self._plugins)), each.raw, each.normalized, each.weighted]
            for plugin, each in node.scores.items()
        ]
        return [node.node, node.total, scores]


def _texts(failure: Failure) -> tuple[str, str]:
    """The plugin and the text of a failure."""
    return failure.plugin, ", ".join(failure.reasons)


# An answer is compared with this many earlier ones.
_REMEMBERED = 32


class NodeAnswers:
    """Packs the answers for one pod after another. `names` are the nodes of the document; without them, the nodes of
    the first pod's cluster."""

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self._names = names
        self._kinds: dict[Failure, int] = {}
        self._known: deque[tuple[int, IdColumn]] = deque(maxlen=_REMEMBERED)

    @property
    def kinds(self) -> list[Failure]:
        """The failures by number; the first has number 1."""
        return list(self._kinds)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._names or ())}

    def number(self, failure: Failure) -> int:
        return self._kinds.setdefault(failure, len(self._kinds) + 1)

    def pack(self, pod: int, detail: NodeDetail) -> dict[str, Any]:
        """The entry of the pod with this number in the document."""
        return self.pack_column(pod, self._aligned(detail, detail.numbers_of_failures(self.number)))

    def pack_named(self, pod: int, rejected: Mapping[str, Failure], feasible: Iterable[str]) -> dict[str, Any] | None:
        """The same from the answers of nodes by name, without nodes that the document does not have. None for a
        document without nodes."""
        if not self._places:
            return None
        column = np.full(len(self._places), _UNKNOWN, dtype=np.int32)
        answers = {node: self.number(failure) for node, failure in rejected.items()}
        for node, answer in chain(zip(feasible, repeat(_FEASIBLE)), answers.items()):
            if (place := self._places.get(node)) is not None:
                column[place] = answer
        return self.pack_column(pod, column)

    def pack_column(self, pod: int, answers: IdColumn) -> dict[str, Any]:
        """The entry of the pod from the answers of all nodes in the order of the names."""
        others = np.full(len(answers), _UNKNOWN, dtype=np.int32)
        entry: dict[str, Any] = {}
        if self._known:
            matrix = np.stack([each for _, each in self._known])
            differences = np.count_nonzero(matrix != answers, axis=1)
            nearest = int(differences.argmin())
            if differences[nearest] < np.count_nonzero(others != answers):
                like, others = self._known[nearest]
                entry["like"] = like
        if "like" not in entry or (answers != others).any():
            self._known.append((pod, answers))
        entry["nodes"] = {str(number): _ranges(rows) for number, rows in _by_number(answers, others)}
        return entry

    def _aligned(self, detail: NodeDetail, answers: IdColumn) -> IdColumn:
        """The answers in the order of the names of the document."""
        own = detail.node_names
        if self._names is None or own == self._names:
            self._names = own
            return answers
        aligned = np.full(len(self._names), _UNKNOWN, dtype=np.int32)
        kept = [(self._places[name], number) for number, name in enumerate(own) if name in self._places]
        if kept:
            targets, sources = np.array(kept, dtype=np.int64).T
            aligned[targets] = answers[sources]
        return aligned


def _by_number(answers: IdColumn, others: IdColumn) -> list[tuple[int, IdColumn]]:
    """The nodes whose answers differ, by the number of their answer."""
    places = np.nonzero(answers != others)[0]
    numbers = answers[places]
    return [(number, places[numbers == number]) for number in np.unique(numbers).tolist()]


def _ranges(places: IdColumn) -> str:
    """`0-12,15`."""
    breaks = np.nonzero(np.diff(places) != 1)[0] + 1
    firsts = places[np.concatenate(([0], breaks))].tolist()
    lasts = places[np.concatenate((breaks - 1, [len(places) - 1]))].tolist()
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in zip(firsts, lasts, strict=True)
    )
