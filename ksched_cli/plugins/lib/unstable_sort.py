"""The order in which Go's sort.Slice (sort/zsortfunc.go) leaves pods by importance, and Karpenter leaves its claims.

sort.Slice is followed step by step: from 13 elements on it is not stable, so that its steps decide where elements
tie. It is a pattern-defeating quicksort whose "random" shuffles depend on nothing but the length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
Less = Callable[[T, T], bool]

MAX_INSERTION = 12
_SHORTEST_NINTHER = 50
SHORTEST_SHIFTING = 50
_MAX_SHIFTS = 5
_MAX_SWAPS = 4 * 3
_WORD = (1 << 64) - 1


def sort_slice(items: Sequence[T], less: Less[T]) -> list[T]:
    """The items as sort.Slice leaves them. `less` may contradict itself; Go does not notice either."""
    sorting = UnstableSort(list(items), less)
    sorting.quicksort(0, len(items), len(items).bit_length())
    return sorting.data


class UnstableSort(Generic[T]):
    """The slice while it is being sorted; ranges are from `low` up to and without `high`."""

    def __init__(self, data: list[T], less: Less[T]) -> None:
        self.data = data
        self._less = less

    def less(self, left: int, right: int) -> bool:
        return self._less(self.data[left], self.data[right])

    def swap(self, left: int, right: int) -> None:
        data = self.data
        data[left], data[right] = data[right], data[left]

    def quicksort(self, low: int, high: int, bad_pivots: int) -> None:
        balanced = partitioned = True
        while high - low > MAX_INSERTION:
            if bad_pivots == 0:
                self._heap_sort(low, high)
                return
            if not balanced:
                self._shuffle(low, high)
                bad_pivots -= 1
            pivot, increasing = self.choose_pivot(low, high)
            if balanced and partitioned and increasing and self._is_nearly_sorted(low, high):
                return
            if low > 0 and not self.less(low - 1, pivot):
                low = self._skip_equal(low, high, pivot)
                continue
            size = high - low
            middle, partitioned = self._partition(low, high, pivot)
            left, right = middle - low, high - middle
            balanced = min(left, right) >= size // 8
            if left < right:
                self.quicksort(low, middle, bad_pivots)
                low = middle + 1
            else:
                self.quicksort(middle + 1, high, bad_pivots)
                high = middle
        self._insertion_sort(low, high)

    def _insertion_sort(self, low: int, high: int) -> None:
        for start in range(low + 1, high):
            at = start
            while at > low and self.less(at, at - 1):
                self.swap(at, at - 1)
                at -= 1

    def _heap_sort(self, low: int, high: int) -> None:
        size = high - low
        for root in range((size - 1) // 2, -1, -1):
            self._sift_down(root, size, low)
        for last in range(size - 1, -1, -1):
            self.swap(low, low + last)
            self._sift_down(0, last, low)

    def _sift_down(self, root: int, size: int, first: int) -> None:
        while (child := 2 * root + 1) < size:
            if child + 1 < size and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def _shuffle(self, low: int, high: int) -> None:
        """breakPatterns: swaps three elements around the middle."""
        size = high - low
        state, mask = size, (1 << size.bit_length()) - 1
        middle = low + size // 4 * 2
        for at in range(middle - 1, middle + 2):
            state ^= (state << 13) & _WORD
            state ^= state >> 7
            state ^= (state << 17) & _WORD
            other = state & mask
            self.swap(at, low + (other - size if other >= size else other))

    def choose_pivot(self, low: int, high: int) -> tuple[int, bool]:
        """The pivot, and whether the range looks sorted. A range that looks sorted in reverse is reversed."""
        size = high - low
        first, middle, last = (low + size // 4 * share for share in (1, 2, 3))
        swaps = 0
        if size >= _SHORTEST_NINTHER:
            first, swaps = self._median(first - 1, first, first + 1, swaps)
            middle, swaps = self._median(middle - 1, middle, middle + 1, swaps)
            last, swaps = self._median(last - 1, last, last + 1, swaps)
        pivot, swaps = self._median(first, middle, last, swaps)
        if swaps < _MAX_SWAPS:
            return pivot, swaps == 0
        self.data[low:high] = self.data[low:high][::-1]
        return high - 1 - (pivot - low), True

    def _median(self, first: int, second: int, third: int, swaps: int) -> tuple[int, int]:
        if self.less(second, first):
            first, second, swaps = second, first, swaps + 1
        if self.less(third, second):
            second, third, swaps = third, second, swaps + 1
        if self.less(second, first):
            first, second, swaps = second, first, swaps + 1
        return second, swaps

    def _is_nearly_sorted(self, low: int, high: int) -> bool:
        """partialInsertionSort: true if a few shifts were enough to sort the range."""
        at = low + 1
        for _ in range(_MAX_SHIFTS):
            while at < high and not self.less(at, at - 1):
                at += 1
            if at == high:
                return True
            if high - low < SHORTEST_SHIFTING:
                return False
            self.swap(at, at - 1)
            self._shift_left(at - 1, low, at)
            self._shift_right(at + 1, high)
        return False

    def _shift_left(self, start: int, low: int, at: int) -> None:
        if at - low < 2:
            return
        while start >= 1 and self.less(start, start - 1):
            self.swap(start, start - 1)
            start -= 1

    def _shift_right(self, start: int, high: int) -> None:
        while start < high and self.less(start, start - 1):
            self.swap(start, start - 1)
            start += 1

    def _skip_equal(self, low: int, high: int, pivot: int) -> int:
        """partitionEqual: puts elements that equal the pivot first, and returns where the greater ones start."""
        self.swap(low, pivot)
        left, right = low + 1, high - 1
        while True:
            while left <= right and not self.less(low, left):
                left += 1
            while left <= right and self.less(low, right):
                right -= 1
            if left > right:
                return left
            self.swap(left, right)
            left, right = left + 1, right - 1

    def _partition(self, low: int, high: int, pivot: int) -> tuple[int, bool]:
        """Puts smaller elements before the pivot; returns the place of the pivot, and whether nothing moved."""
        self.swap(low, pivot)
        left, right, moved = low + 1, high - 1, False
        while True:
            while left <= right and self.less(left, low):
                left += 1
            while left <= right and not self.less(right, low):
                right -= 1
            if left > right:
                self.swap(right, low)
                return right, not moved
            self.swap(left, right)
            left, right, moved = left + 1, right - 1, True
