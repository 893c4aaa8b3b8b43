"""Values about all nodes, brought up to date from the cluster's journal."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.columns import RowColumn

if TYPE_CHECKING:
    from ksched_cli.cluster.cache import Cluster

# Above this share of touched nodes, reading all nodes is less work than choosing the touched ones.
_AFRESH_SHARE = 8
# Most runs have few templates; a run of pods that are all different must not fill the memory with columns.
_KEPT = 64

V = TypeVar("V")


class _Entry(Struct, Generic[V]):
    """`value` is None when only the key is remembered."""

    value: V | None
    position: int


class NodeMemory(Generic[V]):
    """Values about all nodes by what they depend on, the longest unused given up first. Of the values that have to be
    renewed and that were never used again only the latest is kept: where every pod is different, columns that are not
    read again would push those that are out of the processor's cache."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._latest: _Entry[V] | None = None

    def recall(self, key: Hashable, afresh: Callable[[], V], renew: Callable[[V, RowColumn], V] | None = None) -> V:
        """The value as of now; without `renew` placements do not matter to it. An entry about which something fails
        is gone, so that it fails again next time."""
        cluster = self._cluster
        entries: OrderedDict[Hashable, _Entry[V]] = cluster.derived(self, OrderedDict)
        entry = entries.pop(key, None)
        now = len(cluster.journal)
        value = None if entry is None else entry.value
        if entry is None:
            entry = _Entry(None, now)
            if renew is not None:
                if self._latest is not None:
                    self._latest.value = None
                self._latest = entry
        elif entry is self._latest:
            self._latest = None
        if value is None:
            value = afresh()
        elif entry.position < now and renew is not None:
            touched = cluster.journal[entry.position :]
            if len(touched) * _AFRESH_SHARE > len(cluster.nodes):
                value = afresh()
            else:
                value = renew(value, np.array(sorted(set(touched)) if len(touched) > 1 else touched, dtype=np.int64))
        entry.value, entry.position = value, now
        entries[key] = entry
        if len(entries) > _KEPT:
            entries.popitem(last=False)
        return value
