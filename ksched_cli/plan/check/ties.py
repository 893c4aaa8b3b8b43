"""Ties between nodes: kube-scheduler takes one of the best nodes by chance, ksched the first by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.controlplane.draws import Alternative, Choices, Draw, DrawKey
from ksched_cli.engine.decision import Decision

WHAT = "node"
# So many nodes of a tie and so many ties of a run are kept.
_MOST_NODES, _MOST_TIES = 16, 256


@dataclass(frozen=True, slots=True)
class Tie:
    draw: Draw
    rows: tuple[int, ...]


class Ties:
    """The ties of one run, and the nodes that it takes in them."""

    def __init__(self, cluster: Cluster, choices: Choices) -> None:
        self._cluster = cluster
        self._chosen = {key: turn for key, turn in choices.items() if key[0] == WHAT}
        self._numbers: dict[str, int] = {}
        self._pod = ""
        self.made: list[Tie] = []

    @property
    def are_chosen(self) -> bool:
        """Whether this run takes another node in some tie."""
        return bool(self._chosen)

    def trying(self, rows: Sequence[int]) -> None:
        """A pod is about to have its cycle. Pods of a group share one: their ties are left alone."""
        self._pod = self._cluster.pods.infos[rows[0]].key if len(rows) == 1 else ""

    def choose(self, ties: RowColumn) -> int:
        """The node of the tie (TieBreak): the first by name, unless the run takes another one."""
        turn = self._chosen.get(self._key(self._pod), 0)
        return int(ties[turn % len(ties)])

    def decided(self, decision: Decision) -> None:
        key, names = self._key(decision.pod.key), self._cluster.nodes.names
        self._numbers[decision.pod.key] = key[2] + 1
        if len(decision.ties) < 2 or decision.row is None or len(self.made) == _MOST_TIES:
            return
        rows = tuple(decision.ties[:_MOST_NODES].tolist())
        draw = Draw(WHAT, decision.pod.key, tuple(names[row] for row in rows), (names[decision.row],), key[2])
        self.made.append(Tie(draw, rows))

    def _key(self, pod: str) -> DrawKey:
        return WHAT, pod, self._numbers.get(pod, 0)

    def alternatives(self, wanted: Sequence[BoolColumn]) -> Iterator[Alternative]:
        """The first other node of each tie that leaves a wanted node to a pod that waits for it. `wanted` has the nodes
        of each such pod."""
        for tie in self.made:
            for mask in wanted:
                others = [place for place, row in enumerate(tie.rows) if not mask[row]]
                if mask[tie.rows[0]] and others:
                    yield Alternative(tie.draw, others[0])
                    break
