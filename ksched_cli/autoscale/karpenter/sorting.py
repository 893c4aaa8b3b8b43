"""The order in which open claims are tried: fewest pods first, as Go's `sort.Slice` leaves it.

Karpenter sorts its open claims by the number of their pods before every attempt (Scheduler.add). `sort.Slice` is
pdqsort (sort/zsortfunc.go), which is not stable: from 13 claims on, the order of claims with
equally many pods depends on the order before. It is determined, so it is carried over here step by step.

Between two sorts one claim is new or has one pod more. With 50 claims or more, pdqsort then mostly ends after one move
(`partialInsertionSort`). That move is a bisection here, so that a sort does not look at every claim.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

# Up to so many elements insertion sort is used, and from so many on partialInsertionSort moves elements.
_MAX_INSERTION = 12
_SHORTEST_SHIFTING = 50
_MOST_STEPS = 5
# choosePivot: from so many elements on it takes medians of three, from so many on medians of neighbours first.
_SHORTEST_MEDIAN = 8
_SHORTEST_NINTHER = 50
_MOST_SWAPS = 12
_UNKNOWN, _INCREASING, _DECREASING = range(3)


class ClaimOrder:
    """Rows of claims by their number of pods. Call `sort` after each `add` or `raised`."""

    def __init__(self) -> None:
        self._counts: list[int] = []
        self._rows: list[int] = []
        self._array: NDArray[np.int64] = np.empty(64, np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows in order."""
        return self._array[: len(self._rows)]

    def add(self, row: int) -> None:
        """A new claim with one pod goes to the end and is sorted in."""
        size = len(self._rows)
        if size == len(self._array):
            self._array = np.concatenate((self._array, self._array))
        self._rows.append(row)
        self._counts.append(1)
        self._array[size] = row
        if size and self._counts[size - 1] > 1:
            self._sort(size, bisect_right(self._counts, 1, 0, size))

    def raised(self, place: int) -> None:
        """The claim at this place has one pod more."""
        counts = self._counts
        counts[place] += 1
        if place + 1 < len(counts) and counts[place + 1] < counts[place]:
            self._sort(place, bisect_left(counts, counts[place], place + 1) - 1)

    def _sort(self, changed: int, to: int) -> None:
        """sort.Slice of rows in order but for one. `to`: where one move of it ends."""
        counts, rows, size = self._counts, self._rows, len(self._rows)
        if size >= _SHORTEST_SHIFTING and _choose_pivot(counts, 0, size)[1] == _INCREASING:
            counts.insert(to, counts.pop(changed))
            rows.insert(to, rows.pop(changed))
            low, high = min(changed, to), max(changed, to) + 1
            self._array[low:high] = rows[low:high]
            return
        _pdqsort(counts, rows, 0, size, size.bit_length())
        self._array[:size] = rows


def _pdqsort(counts: list[int], rows: list[int], a: int, b: int, limit: int) -> None:
    """pdqsort_func."""
    was_balanced = was_partitioned = True
    while True:
        length = b - a
        if length <= _MAX_INSERTION:
            _insertion_sort(counts, rows, a, b)
            return
        if limit == 0:
            _heap_sort(counts, rows, a, b)
            return
        if not was_balanced:
            _break_patterns(counts, rows, a, b)
            limit -= 1
        pivot, hint = _choose_pivot(counts, a, b)
        if hint == _DECREASING:
            counts[a:b] = counts[a:b][::-1]
            rows[a:b] = rows[a:b][::-1]
            pivot = (b - 1) - (pivot - a)
            was_balanced = was_partitioned = True
            hint = _INCREASING
        if was_balanced and was_partitioned and hint == _INCREASING and _partial_insertion_sort(counts, rows, a, b):
            return
        if a > 0 and not counts[a - 1] < counts[pivot]:
            a = _partition_equal(counts, rows, a, b, pivot)
            continue
        mid, was_partitioned = _partition(counts, rows, a, b, pivot)
        left, right = mid - a, b - mid
        if left < right:
            was_balanced = left >= length // 8
            _pdqsort(counts, rows, a, mid, limit)
            a = mid + 1
        else:
            was_balanced = right >= length // 8
            _pdqsort(counts, rows, mid + 1, b, limit)
            b = mid


def _choose_pivot(counts: list[int], a: int, b: int) -> tuple[int, int]:
    length = b - a
    quarter = length // 4
    i, j, k = a + quarter, a + quarter * 2, a + quarter * 3
    swaps = 0
    if length >= _SHORTEST_MEDIAN:
        if length >= _SHORTEST_NINTHER:
            i, first = _median(counts, i - 1, i, i + 1)
            j, second = _median(counts, j - 1, j, j + 1)
            k, third = _median(counts, k - 1, k, k + 1)
            swaps = first + second + third
        j, last = _median(counts, i, j, k)
        swaps += last
    return j, _INCREASING if swaps == 0 else _DECREASING if swaps == _MOST_SWAPS else _UNKNOWN


def _median(counts: list[int], a: int, b: int, c: int) -> tuple[int, int]:
    """The index of the median, and how many pairs were out of order."""
    swaps = 0
    if counts[b] < counts[a]:
        a, b, swaps = b, a, 1
    if counts[c] < counts[b]:
        b, c = c, b
        swaps += 1
    if counts[b] < counts[a]:
        a, b = b, a
        swaps += 1
    return b, swaps


def _swap(counts: list[int], rows: list[int], i: int, j: int) -> None:
    counts[i], counts[j] = counts[j], counts[i]
    rows[i], rows[j] = rows[j], rows[i]


def _insertion_sort(counts: list[int], rows: list[int], a: int, b: int) -> None:
    for i in range(a + 1, b):
        j = i
        while j > a and counts[j] < counts[j - 1]:
            _swap(counts, rows, j, j - 1)
            j -= 1


def _partial_insertion_sort(counts: list[int], rows: list[int], a: int, b: int) -> bool:
    """Whether at most five moves put the slice in order."""
    i = a + 1
    for _ in range(_MOST_STEPS):
        while i < b and not counts[i] < counts[i - 1]:
            i += 1
        if i == b:
            return True
        if b - a < _SHORTEST_SHIFTING:
            return False
        _swap(counts, rows, i, i - 1)
        if i - a >= 2:
            # Go compares down to the beginning of the whole slice, not of this part.
            j = i - 1
            while j >= 1 and counts[j] < counts[j - 1]:
                _swap(counts, rows, j, j - 1)
                j -= 1
        if b - i >= 2:
            j = i + 1
            while j < b and counts[j] < counts[j - 1]:
                _swap(counts, rows, j, j - 1)
                j += 1
    return False


def _partition(counts: list[int], rows: list[int], a: int, b: int, pivot: int) -> tuple[int, bool]:
    """The place of the pivot, and whether everything was on its side before."""
    _swap(counts, rows, a, pivot)
    own = counts[a]
    i, j = a + 1, b - 1
    swapped = False
    while True:
        while i <= j and counts[i] < own:
            i += 1
        while i <= j and not counts[j] < own:
            j -= 1
        if i > j:
            break
        _swap(counts, rows, i, j)
        swapped = True
        i += 1
        j -= 1
    _swap(counts, rows, j, a)
    return j, not swapped


def _partition_equal(counts: list[int], rows: list[int], a: int, b: int, pivot: int) -> int:
    """The end of the elements that equal the pivot."""
    _swap(counts, rows, a, pivot)
    own = counts[a]
    i, j = a + 1, b - 1
    while True:
        while i <= j and not own < counts[i]:
            i += 1
        while i <= j and own < counts[j]:
            j -= 1
        if i > j:
            return i
        _swap(counts, rows, i, j)
        i += 1
        j -= 1


def _break_patterns(counts: list[int], rows: list[int], a: int, b: int) -> None:
    """Swap three elements of the middle with elements that an xorshift chooses."""
    length = b - a
    random = length
    modulus = 1 << length.bit_length()
    middle = a + (length // 4) * 2 - 1
    for step in range(3):
        random ^= (random << 13) & (2**64 - 1)
        random ^= random >> 7
        random ^= (random << 17) & (2**64 - 1)
        other = random & (modulus - 1)
        _swap(counts, rows, middle + step, a + (other - length if other >= length else other))


def _heap_sort(counts: list[int], rows: list[int], a: int, b: int) -> None:
    size = b - a
    for i in range((size - 1) // 2, -1, -1):
        _sift_down(counts, rows, i, size, a)
    for i in range(size - 1, -1, -1):
        _swap(counts, rows, a, a + i)
        _sift_down(counts, rows, 0, i, a)


def _sift_down(counts: list[int], rows: list[int], root: int, end: int, first: int) -> None:
    while (child := 2 * root + 1) < end:
        if child + 1 < end and counts[first + child] < counts[first + child + 1]:
            child += 1
        if not counts[first + root] < counts[first + child]:
            return
        _swap(counts, rows, first + root, first + child)
        root = child
