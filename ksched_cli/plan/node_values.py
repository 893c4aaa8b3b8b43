"""Values of one node in a cycle: failures and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.engine.decision import TIES_NAMED
from ksched_cli.framework.status import Status


class _Names(Sequence[str]):
    """Names that are looked up when they are read, and are equal to a tuple of them."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[tuple[str, ...]], tuple[tuple[str, ...]]]:
        return tuple, (tuple(self),)

    def __repr__(self) -> str:
        return repr(tuple(self))


class NodeNames(_Names):
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


# So many names are at hand; for the others the rows are sorted again.
_AT_HAND = TIES_NAMED


@dataclass(frozen=True, slots=True, eq=False)
class FirstNames(_Names):
    """The first of many names, for tables of which each line shows few: `len` counts all of them, the others are not
    kept."""

    first: tuple[str, ...]
    size: int

    @classmethod
    def of(cls, names: Sequence[str], rows: RowColumn) -> FirstNames:
        """`rows` are in the order of the names."""
        return cls(tuple(names[row] for row in rows[:_AT_HAND].tolist()), len(rows))

    def __reduce__(self) -> Any:
        return FirstNames, (self.first, self.size)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        wanted = range(self.size)[index]
        places = [wanted] if isinstance(wanted, int) else list(wanted)
        if places and max(places) >= len(self.first):
            raise LookupError(f"of {self.size} names the first {len(self.first)} are kept")
        found = tuple(self.first[place] for place in places)
        return found[0] if isinstance(index, int) else found


class TiedNames(_Names):
    """Names of nodes, in the order of the names. Long runs have many ties: each node of the cluster takes one bit."""

    __slots__ = ("_first", "_mask", "_names", "_size")

    def __init__(self, names: Sequence[str], rows: RowColumn) -> None:
        """`rows` are in the order of the names."""
        self._names = names
        self._size = len(rows)
        self._first: list[int] = rows[:_AT_HAND].tolist()
        mask = np.zeros(len(names) if self._size > _AT_HAND else 0, dtype=np.bool_)
        if len(mask):
            mask[rows] = True
        self._mask = np.packbits(mask).tobytes()

    @property
    def column(self) -> Sequence[str]:
        """The names of all rows."""
        return self._names

    def _rows(self) -> list[int]:
        if self._size <= _AT_HAND:
            return self._first
        mask = np.unpackbits(np.frombuffer(self._mask, dtype=np.uint8), count=len(self._names))
        return sorted(np.nonzero(mask)[0].tolist(), key=self._names.__getitem__)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return (self._names[row] for row in self._rows())

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            few = index.start is None and index.step is None and index.stop in range(_AT_HAND + 1)
            return tuple(self._names[row] for row in (self._first if few else self._rows())[index])
        return self._names[(self._first if 0 <= index < _AT_HAND else self._rows())[index]]


class Failure(Struct, frozen=True, gc=False):
    """One plugin's rejection: of a node, or of the pod as a whole."""

    plugin: str
    code: str
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, status: Status) -> Failure:
        return cls(status.plugin, status.code.go_name, status.texts)


class FailureGroup(Struct, frozen=True, gc=False):
    """A failure and how many nodes have it, with a few of their names."""

    failure: Failure
    nodes: int
    examples: tuple[str, ...]


class Score(Struct, frozen=True):
    raw: int
    normalized: int
    weighted: int


class NodeScores(Mapping[str, Score]):
    """Every plugin's score of one node, kept as numbers: of most nodes the total alone is read."""

    __slots__ = ("names", "normalized", "raw", "weighted")

    def __init__(
        self, names: tuple[str, ...], raw: tuple[int, ...], normalized: tuple[int, ...], weighted: tuple[int, ...]
    ) -> None:
        self.names = names
        self.raw = raw
        self.normalized = normalized
        self.weighted = weighted

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


class ScoredNode(Struct, frozen=True, gc=False):
    """A feasible node with every plugin's score, in the plugins' order."""

    node: str
    total: int
    scores: Mapping[str, Score]
