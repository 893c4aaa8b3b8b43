"""Values of one node in a cycle: failures and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from ksched_cli.cluster.columns import RowColumn


class NodeNames(Sequence[str]):
    """Names of nodes by their rows. A cycle may tie hundreds of nodes, and most names are never read."""

    __slots__ = ("_names", "_rows")

    def __init__(self, names: Sequence[str], rows: RowColumn) -> None:
        self._names = names
        self._rows = rows.astype(np.int32)

    @property
    def column(self) -> Sequence[str]:
        """The names of all rows."""
        return self._names

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return tuple(self._names[row] for row in self._rows[index].tolist())
        name: str = self._names[self._rows[index]]
        return name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[tuple[str, ...]], tuple[tuple[str, ...]]]:
        return tuple, (tuple(self),)

    def __repr__(self) -> str:
        return repr(tuple(self))


@dataclass(frozen=True, slots=True)
class Failure:
    """One plugin's rejection: of a node, or of the pod as a whole."""

    plugin: str
    code: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """A failure and how many nodes have it, with a few of their names."""

    failure: Failure
    nodes: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    raw: int
    normalized: int
    weighted: int


@dataclass(frozen=True, slots=True, eq=False)
class NodeScores(Mapping[str, Score]):
    """Every plugin's score of one node, kept as numbers: of most nodes the total alone is read."""

    names: tuple[str, ...]
    raw: tuple[int, ...]
    normalized: tuple[int, ...]
    weighted: tuple[int, ...]

    def __getitem__(self, name: str) -> Score:
        if name not in self.names:
            raise KeyError(name)
        at = self.names.index(name)
        return Score(self.raw[at], self.normalized[at], self.weighted[at])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class ScoredNode:
    """A feasible node with every plugin's score, in the plugins' order."""

    node: str
    total: int
    scores: Mapping[str, Score]
