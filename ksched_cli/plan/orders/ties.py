"""Ties between nodes: kube-scheduler takes one of the best nodes by chance, ksched the first by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.controlplane.draws import Alternative, Choices, Draw, DrawKey
from ksched_cli.engine.decision import Decision

WHAT = "node"
# So many nodes of a tie and so many ties of a run are kept.
_MOST_NODES, _MOST_TIES = 16, 256
# Pods that at most so many nodes would take are kept, at most so many of them.
_FEW_NODES, _MOST_NARROW = 16, 256


class Tie(Struct, frozen=True):
    """`pod` is the pod before it is bound, `pod_row` its row, `rows` are the nodes of the tie, and `turn` is the place
    of the taken one. `cycle` is the number of the cycle in the run."""

    draw: Draw
    pod: PodInfo
    pod_row: int
    rows: tuple[int, ...]
    turn: int
    cycle: int


class _Narrow(Struct, frozen=True):
    """A pod that only a few nodes would take, with the node that it got."""

    pod: PodInfo
    pod_row: int
    node: int
    nodes: frozenset[int]
    cycle: int


class Ties:
    """The ties of one run, and the nodes that it takes in them."""

    def __init__(self, cluster: Cluster, choices: Choices) -> None:
        self._cluster = cluster
        self._chosen = {key: turn for key, turn in choices.items() if key[0] == WHAT}
        self._numbers: dict[str, int] = {}
        self._pod = ""
        self._cycle = 0
        self._narrow: list[_Narrow] = []
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
        pod, names = decision.pod.key, self._cluster.nodes.names
        key = self._key(pod)
        self._numbers[pod] = key[2] + 1
        self._cycle += 1
        if decision.row is None:
            return
        if 0 < len(decision.feasible) <= _FEW_NODES and len(self._narrow) < _MOST_NARROW:
            nodes = frozenset(decision.feasible.tolist())
            self._narrow.append(_Narrow(decision.pod, decision.pod_row, decision.row, nodes, self._cycle))
        if len(decision.ties) < 2 or len(self.made) == _MOST_TIES:
            return
        rows = tuple(decision.ties[:_MOST_NODES].tolist())
        if decision.row in rows:
            draw = Draw(WHAT, pod, tuple(names[row] for row in rows), (names[decision.row],), key[2])
            self.made.append(Tie(draw, decision.pod, decision.pod_row, rows, rows.index(decision.row), self._cycle))

    def _key(self, pod: str) -> DrawKey:
        return WHAT, pod, self._numbers.get(pod, 0)

    def alternatives(self, wanted: Sequence[BoolColumn]) -> Iterator[Alternative]:
        """The first other node of each tie that leaves a wanted node to a pod that waits for it. `wanted` has the nodes
        of each such pod."""
        for tie in self.made:
            for mask in wanted:
                others = [place for place, row in enumerate(tie.rows) if not mask[row]]
                if mask[tie.rows[tie.turn]] and others:
                    yield Alternative(tie.draw, others[0])
                    break

    def risky(self, fits: Callable[[PodInfo, tuple[int, ...], int], bool]) -> Iterator[Alternative]:
        """Other nodes of ties that a later pod got which few nodes would take: it may find no node if the tie falls on
        its node. `fits`: whether the pod fits on the node in the end if the pods of these rows were not there."""
        for tie in self.made:
            taken = tie.rows[tie.turn]
            later = [
                each
                for each in self._narrow
                if each.cycle > tie.cycle and each.pod_row != tie.pod_row and taken not in each.nodes
            ]
            for turn, row in enumerate(tie.rows):
                losing = [each for each in later if each.node == row]
                if not losing or fits(tie.pod, (tie.pod_row,), row):
                    continue
                if any(not fits(each.pod, (tie.pod_row, each.pod_row), taken) for each in losing):
                    yield Alternative(tie.draw, turn)


def decisive_ties(first: object, others: Iterable[tuple[Alternative, object]]) -> tuple[Draw, ...]:
    """The ties between nodes without which the outcome would be the first one."""
    draws = (each.draw for each, outcome in others if outcome != first)
    return tuple(dict.fromkeys(draw for draw in draws if draw.what == WHAT))
