"""What was read, before it becomes a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import Struct

from ksched_cli.api.core import Node, Pod

K = TypeVar("K", bound=Struct)


@dataclass
class Loaded:
    """Typed objects by kind, and what was passed over."""

    objects: dict[type[Struct], list[Any]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)

    def add(self, item: Struct) -> None:
        self.objects.setdefault(type(item), []).append(item)

    def of(self, kind: type[K]) -> list[K]:
        return self.objects.get(kind, [])

    def others(self) -> Iterator[Any]:
        """Everything but nodes and pods, which the cache keeps in tables of its own."""
        for kind, items in self.objects.items():
            if kind not in (Node, Pod):
                yield from items

    def __len__(self) -> int:
        return sum(len(items) for items in self.objects.values())
