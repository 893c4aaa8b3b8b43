"""How far the reading of a live cluster is: one line on stderr that goes away."""

from __future__ import annotations

import sys
from typing import TextIO


class ListProgress:
    """Called with a resource, the number read and the server's guess of how many are left."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._read: dict[str, int] = {}
        self._left: dict[str, int] = {}

    def __call__(self, resource: str, read: int, remaining: int) -> None:
        self._read[resource], self._left[resource] = read, remaining
        total = sum(self._read.values())
        left = sum(self._left.values())
        of = f" of about {total + left:,}" if left else ""
        self._out.write(f"\r\033[Kreading {resource}: {total:,}{of} objects")
        self._out.flush()

    def close(self) -> None:
        if self._read:
            self._out.write("\r\033[K")
            self._out.flush()
