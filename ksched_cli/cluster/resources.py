"""Resource names as matrix rows, and which names the scheduler counts at all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

CPU, MEMORY, EPHEMERAL_STORAGE = 0, 1, 2
FIRST_SCALAR = 3

_NATIVE_PREFIX = "kubernetes.io/"
_HUGEPAGES_PREFIX = "hugepages-"
_ATTACHABLE_PREFIX = "attachable-volumes-"
_QUOTA_PREFIX = "requests."


def is_native(name: str) -> bool:
    """helper.IsNativeResource: no domain, or one under kubernetes.io."""
    return "/" not in name or _NATIVE_PREFIX in name


def is_extended(name: str) -> bool:
    """helper.IsExtendedResourceName."""
    return not is_native(name) and not name.startswith(_QUOTA_PREFIX)


def is_scalar(name: str) -> bool:
    """schedutil.IsScalarResourceName: resources other than cpu, memory and storage that the scheduler adds up."""
    return is_extended(name) or name.startswith((_HUGEPAGES_PREFIX, _ATTACHABLE_PREFIX)) or _NATIVE_PREFIX in name


class ResourceIndex:
    """Which row of the resource matrices a resource name has. Rows are added as names are met."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": EPHEMERAL_STORAGE}
        self.names: list[str] = list(self._rows)
        # Sums of pods by the requests of their containers. They hold rows of this index.
        self.known_sums: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.names)

    def find(self, name: str) -> int | None:
        return self._rows.get(name)

    def row(self, name: str) -> int:
        found = self._rows.get(name)
        if found is None:
            found = self._rows[name] = len(self.names)
            self.names.append(name)
        return found

    def amounts(self, quantities: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
        """(matrix row, amount) of every resource that the scheduler counts, zero amounts left out."""
        return tuple(
            (self.row(name), amount)
            for name, amount in quantities.items()
            if amount and (name in ("cpu", "memory", "ephemeral-storage") or is_scalar(name))
        )
