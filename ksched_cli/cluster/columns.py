"""Names for the numpy columns of the cluster, small tables that give strings numbers, and quick forms of a few numpy
functions for the sizes that a cycle has. Nothing here knows pods or nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Int64Column = NDArray[np.int64]
RowColumn = NDArray[np.int64]
IdColumn = NDArray[np.int32]
CodeColumn = NDArray[np.int8]
BoolColumn = NDArray[np.bool_]
FloatColumn = NDArray[np.float64]

T = TypeVar("T", bound=Hashable)
D = TypeVar("D", bound=np.generic)

# In a column of rows: there is none.
NOWHERE = -1


class Vocabulary(Generic[T]):
    """Gives every distinct value an id, counting from 0 in order of first sight."""

    __slots__ = ("_ids", "values")

    def __init__(self) -> None:
        self._ids: dict[T, int] = {}
        self.values: list[T] = []

    def id(self, value: T) -> int:
        found = self._ids.get(value)
        if found is None:
            found = self._ids[value] = len(self.values)
            self.values.append(value)
        return found

    def find(self, value: T) -> int | None:
        return self._ids.get(value)

    def find_all(self, values: Iterable[T]) -> IdColumn:
        """The ids of the values, -1 for those that have none."""
        return np.array([self._ids.get(value, -1) for value in values], dtype=np.int32)

    def copy(self) -> Vocabulary[T]:
        twin: Vocabulary[T] = Vocabulary()
        twin._ids, twin.values = dict(self._ids), list(self.values)
        return twin

    def __len__(self) -> int:
        return len(self.values)


def rows_in_any(size: int, parts: Iterable[RowColumn]) -> RowColumn:
    """The rows, of so many, that are in any of the parts, in ascending order."""
    there = np.zeros(size, dtype=np.bool_)
    for part in parts:
        there[part] = True
    return np.nonzero(there)[0]


def joined_rows(size: int, parts: Sequence[RowColumn]) -> RowColumn:
    """`rows_in_any` of parts that are in ascending order, each row once: nothing is done for one part or none."""
    if len(parts) > 1:
        return rows_in_any(size, parts)
    return parts[0] if parts else np.empty(0, dtype=np.int64)


def equal(first: NDArray[D], second: NDArray[D]) -> bool:
    """np.array_equal for columns of one type, in a tenth of the time where there are few entries."""
    return first.tobytes() == second.tobytes()


# Numbers up to so much more than there are of them are counted and not sorted.
_COUNTED = 1024
_FEW = 16


def distinct(numbers: Int64Column) -> tuple[Int64Column, RowColumn]:
    """np.unique with the inverse: by hand where there are few numbers, by counting where they are small."""
    if len(numbers) <= _FEW:
        each: list[int] = numbers.tolist()
        few = sorted(set(each))
        places = {number: place for place, number in enumerate(few)}
        return np.array(few, dtype=np.int64), np.array([places[number] for number in each], dtype=np.int64)
    top = int(numbers.max())
    if top > len(numbers) + _COUNTED:
        found, inverse = np.unique(numbers, return_inverse=True)
        return found, inverse
    there = np.bincount(numbers) > 0
    position: RowColumn = np.cumsum(there) - 1
    return np.nonzero(there)[0], position[numbers]


def grown(column: NDArray[np.generic], size: int, fill: float = 0) -> NDArray[np.generic]:
    """The column with room for `size` entries in its last axis, at least doubled so that appends stay cheap."""
    old = column.shape[-1]
    bigger = np.full((*column.shape[:-1], max(size, 2 * old, 16)), fill, dtype=column.dtype)
    bigger[..., :old] = column
    return bigger


def truncated_divide(dividend: Int64Column, divisor: Int64Column | int) -> Int64Column:
    """Integer division that drops the fraction, as Go's does; numpy's // rounds towards minus infinity."""
    quotient = np.floor_divide(dividend, divisor)
    inexact = np.multiply(quotient, divisor) != dividend
    truncated: Int64Column = quotient + (inexact & (quotient < 0))
    return truncated
