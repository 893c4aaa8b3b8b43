"""Which nodes reject a pod and why, in short form: a thousand pods times 5,000 nodes in less than a megabyte.

In a document an entry of `pods` has `nodeAnswers`:

    {"like": 3, "nodes": {"0": "7,12-14", "2": "20"}}

The answers of nodes are those of `pods[3]`, but nodes 7 and 12 to 14 (of `nodeTable.names`) are feasible, and node 20
has the failure `failureKinds[1]`. Without `like` the answer of all other nodes is unknown: they were not looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ksched_cli.cluster.columns import IdColumn
from ksched_cli.plan.results.nodes import Failure, NodeDetail

_UNKNOWN, _FEASIBLE = -1, 0
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
