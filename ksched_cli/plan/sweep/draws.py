"""Numbers drawn without a list: choices of k out of n, and a repeatable order of a large range."""

from __future__ import annotations

from hashlib import blake2b
from math import comb

_ROUNDS = 4


def choice(index: int, size: int) -> tuple[int, ...]:
    """The choice with this index among all choices of `size` different numbers, the smallest number first. Choices are
    counted by their largest number (the combinatorial number system), so that the index needs no upper bound."""
    chosen: list[int] = []
    for left in range(size, 0, -1):
        low, high = left - 1, left
        while comb(high, left) <= index:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if comb(middle, left) <= index else (low, middle)
        index -= comb(low, left)
        chosen.append(low)
    return tuple(reversed(chosen))


class Permutation:
    """The numbers below `size` in an order that the seed decides: number i comes from i alone, by a Feistel network
    over the next even number of bits, again and again until the number is below `size`."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._half = max((max(size - 1, 1).bit_length() + 1) // 2, 1)
        self._mask = (1 << self._half) - 1
        self._key = blake2b(str(seed).encode(), digest_size=16).digest()

    def __getitem__(self, index: int) -> int:
        number = self._mixed(index)
        while number >= self._size:
            number = self._mixed(number)
        return number

    def _mixed(self, number: int) -> int:
        left, right = number >> self._half, number & self._mask
        for turn in range(_ROUNDS):
            left, right = right, left ^ (self._hash(turn, right) & self._mask)
        return left << self._half | right

    def _hash(self, turn: int, number: int) -> int:
        size = self._half // 8 + 1
        data = turn.to_bytes(1, "big") + number.to_bytes(size, "big")
        return int.from_bytes(blake2b(data, key=self._key, digest_size=min(max(size, 8), 64)).digest(), "big")


def seed_of(seed: int, *parts: object) -> int:
    """A seed of its own for each purpose and number."""
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
