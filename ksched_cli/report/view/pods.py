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
from itertools import chain, repeat
from typing import Any, Self

import numpy as np
from msgspec import to_builtins

from ksched_cli.cluster.columns import IdColumn
from ksched_cli.plan.results.nodes import ByKind, Failure, FailureGroup, NodeDetail, Score, ScoredNode
from ksched_cli.plan.results.outcomes import PodOutcome, Preemption
from ksched_cli.report.encoding import plain
from ksched_cli.report.view.documents import DocumentPart

_MOST_NODES = 10
# Answers of nodes; that of a node that rejects the pod is the number of its failure.
_UNKNOWN, _FEASIBLE = -1, 0


class NodeCountPart(DocumentPart, frozen=True, kw_only=True):
    total: int
    feasible: int


class PodPart(DocumentPart, frozen=True, kw_only=True, gc=False):
    """A pod that was tried. `nodes`, `failures` and `top` are there without --detail, and `feasible`, `filters`,
    `scores` and `totals` with it; `nodeAnswers` is the short form of these."""

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
            **others,
        )

    @property
    def verdict(self) -> str:
        """The result; `preempts` for a pod that waits until its victims have left."""
        return "preempts" if self.nominated_node and not self.node else self.result

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


def entry_of_pod(part: PodPart) -> dict[str, Any]:
    """The pod as dicts and lists."""
    found: dict[str, Any] = to_builtins(part, enc_hook=plain)
    return found


def copies_of(pod: str) -> str:
    """`shop/web-7c9d-*` for a pod `shop/web-7c9d-2d8fl`: the pods of one controller are copies of each other. Their
    names show it without a look at every object."""
    name, dash, _ = pod.rpartition("-")
    return f"{name}-*" if dash and "/" in name else ""


class PodDetails:
    """The details of each pod that was tried, and the lists that these details refer to by number."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._answers = PodAnswers(document)
        self._plugins: dict[str, int] = {}

    @property
    def legend(self) -> dict[str, Any]:
        """`failures` has plugin and text of failure 1 and so on, `plugins` the names of plugins from 0 on."""
        return {"failures": self._answers.failures, "plugins": list(self._plugins)}

    def of(self, number: int, entry: Mapping[str, Any]) -> dict[str, Any]:
        """The details of a pod. `number` is its place in the document."""
        found = self._answers.of(number, entry)
        detail = {
            "message": entry.get("message", ""),
            "to": entry.get("node", ""),
            "nominated": entry.get("nominatedNode", ""),
            "ties": len(entry.get("ties", ())),
            "whole": _texts(entry["preFilter"]) if "preFilter" in entry else None,
            "answers": found,
            "groups": [] if found else [_group(each) for each in entry.get("failures", [])],
            "top": [self._scored(each) for each in _top(entry)],
            "preemption": entry.get("preemption"),
            "missing": entry.get("missing", ()),
        }
        return {key: value for key, value in detail.items() if value}

    def _scored(self, node: Mapping[str, Any]) -> list[Any]:
        """The name and total of a node, and the number of each plugin with its raw, normalised and weighted score."""
        scores = [
            [self._plugins.setdefault(plugin, len(self._plugins)), each["raw"], each["normalized"], each["weighted"]]
            for plugin, each in node["scores"].items()
        ]
        return [node["node"], node["total"], scores]


def _texts(failure: Mapping[str, Any]) -> list[str]:
    return [failure["plugin"], ", ".join(failure["reasons"])]


def _group(group: Mapping[str, Any]) -> list[Any]:
    return [*_texts(group), group["nodes"], group["examples"]]


def _top(entry: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The best nodes, in the form of a document without full detail."""
    if "top" in entry:
        top: Sequence[Mapping[str, Any]] = entry["top"]
        return top
    best = sorted(entry.get("totals", {}).items(), key=lambda item: (-item[1], item[0]))[:_MOST_NODES]
    return [{"node": node, "total": total, "scores": entry["scores"][node]} for node, total in best]


class PodAnswers:
    """The results of nodes for the pods of a page. A document has them in short form, in full, or as examples."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        names = document.get("nodeTable", {}).get("names", [])
        self._place = {name: number for number, name in enumerate(names)}
        self._answers = NodeAnswers(names)
        self._packed: Sequence[Mapping[str, Any]] | None = document.get("failureKinds")

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Plugin and text of each failure, by number from 1."""
        if self._packed is not None:
            return [(each["plugin"], ", ".join(each["reasons"])) for each in self._packed]
        return [(each.plugin, ", ".join(each.reasons)) for each in self._answers.kinds]

    def of(self, number: int, entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The results for the pod with this number, or None if the document has none."""
        if "nodeAnswers" in entry:
            answers: Mapping[str, Any] = entry["nodeAnswers"]
            return answers
        filters, feasible = entry.get("filters"), entry.get("feasible")
        if filters is None and feasible is None:
            return None
        return self.pack(number, {node: _failure(each) for node, each in (filters or {}).items()}, feasible or ())

    def pack(self, number: int, rejected: Mapping[str, Failure], feasible: Iterable[str]) -> dict[str, Any] | None:
        """The entry of the results of nodes, without nodes that the document does not have. None for a document without
        nodes."""
        if not self._place:
            return None
        column = np.full(len(self._place), _UNKNOWN, dtype=np.int32)
        answers = {node: self._answers.number(failure) for node, failure in rejected.items()}
        for node, answer in chain(zip(feasible, repeat(_FEASIBLE)), answers.items()):
            if (place := self._place.get(node)) is not None:
                column[place] = answer
        return self._answers.pack_column(number, column)


def _failure(entry: Mapping[str, Any]) -> Failure:
    return Failure(entry["plugin"], entry["code"], tuple(entry["reasons"]))


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

    def number(self, failure: Failure) -> int:
        return self._kinds.setdefault(failure, len(self._kinds) + 1)

    def pack(self, pod: int, detail: NodeDetail) -> dict[str, Any]:
        """The entry of the pod with this number in the document."""
        return self.pack_column(pod, self._aligned(detail, detail.numbers_of_failures(self.number)))

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
        place = {name: number for number, name in enumerate(self._names)}
        aligned = np.full(len(self._names), _UNKNOWN, dtype=np.int32)
        kept = [(place[name], number) for number, name in enumerate(own) if name in place]
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
