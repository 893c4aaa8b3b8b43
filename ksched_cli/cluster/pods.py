"""The pod table: one row per pod that the cluster knows, placed or pending."""

from __future__ import annotations

from typing import cast

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column, RowColumn, Vocabulary, grown
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pod_shapes import PodShapes

NOWHERE = -1

LabelSet = frozenset[tuple[str, str]]


class PodTable:
    """Rows are given once and stay. `node_row` is NOWHERE while a pod is pending, removed, or on an unknown node."""

    def __init__(self) -> None:
        self.infos: list[PodInfo] = []
        self.row_of: dict[str, int] = {}
        self.gone: set[int] = set()
        self.namespaces: Vocabulary[str] = Vocabulary()
        self.label_sets: Vocabulary[LabelSet] = Vocabulary()
        self.shapes = PodShapes()
        self._node_row: RowColumn = np.empty(0, dtype=np.int64)
        self._namespace: IdColumn = np.empty(0, dtype=np.int32)
        self._label_set: IdColumn = np.empty(0, dtype=np.int32)
        self._priority: Int64Column = np.empty(0, dtype=np.int64)
        self._terminating: BoolColumn = np.empty(0, dtype=np.bool_)
        self._has_ports: BoolColumn = np.empty(0, dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.infos)

    @property
    def node_row(self) -> RowColumn:
        return self._node_row[: len(self)]

    @property
    def namespace(self) -> IdColumn:
        return self._namespace[: len(self)]

    @property
    def label_set(self) -> IdColumn:
        return self._label_set[: len(self)]

    @property
    def priority(self) -> Int64Column:
        return self._priority[: len(self)]

    @property
    def terminating(self) -> BoolColumn:
        return self._terminating[: len(self)]

    @property
    def has_ports(self) -> BoolColumn:
        """Which pods hold host ports."""
        return self._has_ports[: len(self)]

    def register(self, info: PodInfo) -> int:
        """The row of a pod; a new one at first sight, nowhere yet."""
        known = self.row_of.get(info.uid)
        if known is not None:
            return known
        row = len(self.infos)
        if row >= len(self._node_row):
            self._grow(row + 1)
        self.infos.append(info)
        self.row_of[info.uid] = row
        self._node_row[row] = NOWHERE
        self._describe(row, info)
        return row

    def replace(self, row: int, info: PodInfo) -> None:
        """Another version of the pod; it is where it was."""
        self.infos[row] = info
        self._describe(row, info)

    def forget(self, row: int) -> None:
        """The pod is gone. Its row stays, and a pod of its name will have another."""
        self.row_of.pop(self.infos[row].uid, None)
        self.gone.add(row)

    def _describe(self, row: int, info: PodInfo) -> None:
        self._namespace[row] = self.namespaces.id(info.namespace)
        self._label_set[row] = self.label_sets.id(frozenset(info.labels.items()))
        self._priority[row] = info.priority
        self._terminating[row] = info.pod.metadata.deletion_timestamp is not None
        self._has_ports[row] = bool(info.host_ports)
        self.shapes.note(row, info)

    def _grow(self, size: int) -> None:
        self._node_row = cast(RowColumn, grown(self._node_row, size, NOWHERE))
        self._namespace = cast(IdColumn, grown(self._namespace, size))
        self._label_set = cast(IdColumn, grown(self._label_set, size))
        self._priority = cast(Int64Column, grown(self._priority, size))
        self._terminating = cast(BoolColumn, grown(self._terminating, size))
        self._has_ports = cast(BoolColumn, grown(self._has_ports, size))
