"""Everything about every node in one cycle, kept as columns until it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column, RowColumn, distinct
from ksched_cli.plan.node_values import Failure, NodeNames, Score, ScoredNode

if TYPE_CHECKING:
    from ksched_cli.cluster.nodes import NodeTable
    from ksched_cli.engine.score_table import ScoreTable

K = TypeVar("K")


class ByKind(Generic[K]):
    """Nodes, many of which have the same value: the name and the value's number of each, and the values."""

    __slots__ = ("kinds", "names", "numbers")

    def __init__(self, names: Sequence[str], numbers: Sequence[int], kinds: Sequence[K]) -> None:
        self.names = names
        self.numbers = numbers
        self.kinds = kinds

    def __iter__(self) -> Iterator[tuple[str, K]]:
        return ((name, self.kinds[number]) for name, number in zip(self.names, self.numbers, strict=True))


class NodeDetail:
    """Everything about every node, for `--detail full`."""

    def __init__(
        self,
        nodes: NodeTable,
        feasible: RowColumn,
        failures: Sequence[tuple[Failure, RowColumn]],
        unknown_nodes: Mapping[str, Failure],
        table: ScoreTable | None,
    ) -> None:
        self._nodes = nodes
        self._feasible = feasible
        self._failures = failures
        self._unknown_nodes = unknown_nodes
        self._table = table

    @property
    def feasible(self) -> Sequence[str]:
        return NodeNames(self._nodes.names, self._feasible)

    @cached_property
    def filters(self) -> Mapping[str, Failure]:
        """The first failure of each node that is not feasible, by name."""
        found = dict(self.filters_by_kind())
        return dict(sorted({**found, **self._unknown_nodes}.items())) if self._unknown_nodes else found

    @cached_property
    def scored(self) -> tuple[ScoredNode, ...]:
        """The feasible nodes with every plugin's score."""
        scores = self.scores_by_kind()
        return tuple(
            ScoredNode(name, total, each) for (name, each), total in zip(scores, self.totals.values(), strict=True)
        )

    @property
    def totals(self) -> dict[str, int]:
        """By name."""
        if self._table is None:
            return {}
        return dict(zip(NodeNames(self._nodes.names, self._table.rows), self._table.totals.tolist(), strict=True))

    @property
    def node_names(self) -> Sequence[str]:
        """All nodes, by name."""
        return self._nodes.names_in_order

    def numbers_of_failures(self, number: Callable[[Failure], int]) -> IdColumn:
        """For each node by name: 0 where it is feasible, the number of its first failure where it is not, -1 where the
        cycle did not look at it."""
        numbers = np.full(len(self._nodes), -1, dtype=np.int32)
        ranks = self._nodes.name_rank
        for failure, rows in self._failures:
            numbers[ranks[rows]] = number(failure)
        for name, failure in self._unknown_nodes.items():
            if (row := self._nodes.row_of.get(name)) is not None:
                numbers[ranks[row]] = number(failure)
        numbers[ranks[self._feasible]] = 0
        return numbers

    def scores_by_name(self) -> tuple[BoolColumn, Int64Column, dict[str, tuple[Int64Column, ...]]]:
        """For each node by name: whether it has no scores, its total, and by plugin its raw, normalized and weighted
        scores."""
        missing, table = np.ones(len(self._nodes), dtype=np.bool_), self._table
        if table is None:
            return missing, np.zeros(len(missing), dtype=np.int64), {}
        at = self._nodes.name_rank[table.rows]
        missing[at] = False

        def by_name(column: Int64Column) -> Int64Column:
            spread = np.zeros(len(missing), dtype=np.int64)
            spread[at] = column
            return spread

        kinds = (table.raw, table.normalized, table.weighted)
        return (
            missing,
            by_name(table.totals),
            {name: tuple(by_name(kind[name]) for kind in kinds) for name in table.raw},
        )

    def filters_by_kind(self) -> ByKind[Failure]:
        """Nodes by name; those that only an extender named are not among them."""
        kinds = [failure for failure, _ in self._failures]
        if not kinds:
            return ByKind((), (), ())
        rows = np.concatenate([rows for _, rows in self._failures])
        numbers = np.repeat(np.arange(len(kinds)), [len(rows) for _, rows in self._failures])
        order = np.argsort(self._nodes.name_rank[rows])
        return ByKind(NodeNames(self._nodes.names, rows[order])[:], numbers[order].tolist(), kinds)

    def scores_by_kind(self) -> ByKind[Mapping[str, Score]]:
        """Feasible nodes in their order, with the scores of each plugin. Most of them score like many others."""
        table = self._table
        if table is None:
            return ByKind((), (), ())
        numbers: Int64Column = np.zeros(len(table.rows), dtype=np.int64)
        for name, raw in table.raw.items():
            numbers = _split(numbers, raw)
            if not np.array_equal(normalized := table.normalized[name], raw):
                numbers = _split(numbers, normalized)
        examples = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.int64)
        examples[numbers] = np.arange(len(numbers))
        kinds = [
            {name: Score(raw, normalized, weighted) for name, raw, normalized, weighted in table.scores_at(index)}
            for index in examples.tolist()
        ]
        return ByKind(NodeNames(self._nodes.names, table.rows)[:], numbers.tolist(), kinds)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeDetail):
            return NotImplemented
        mine, theirs = ((each.feasible, each.filters, each.scored) for each in (self, other))
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NodeDetail(feasible={self.feasible}, filters={self.filters}, scored={self.scored})"


def _split(numbers: Int64Column, column: Int64Column) -> Int64Column:
    """Other numbers for nodes of one number that differ in the column."""
    lowest = column.min(initial=0) if not len(column) else column.min()
    values = column - lowest
    highest = int(values.max(initial=0))
    if highest == 0:
        return numbers
    values = distinct(values)[1]
    return distinct(numbers * (int(values.max()) + 1) + values)[1]
