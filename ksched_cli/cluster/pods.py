"""The pod table: one row per pod of the cluster, placed or pending."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np

from ksched_cli.api.pod_facts import parse_time
from ksched_cli.cluster.columns import (
    NOWHERE,
    BoolColumn,
    FloatColumn,
    IdColumn,
    Int64Column,
    RowColumn,
    Vocabulary,
    grown,
)
from ksched_cli.cluster.pod_info import PodInfo, PodSums
from ksched_cli.cluster.pod_shapes import PodShapes
from ksched_cli.cluster.undo import LoggedSet, LoggedTable, UndoLog

LabelSet = frozenset[tuple[str, str]]

# The start time of pods that have not started: they are the youngest, because Go takes the current time for them.
NOT_STARTED = float("inf")
# The start time of a pod has not been parsed.
_UNREAD = float("nan")


class PodTable:
    """Rows are given once and stay, but a roll back takes back the rows of pods that came since the mark, and counts up
    `epoch`. `node_row` is NOWHERE while a pod is pending, removed, or on an unknown node. Only the methods write to the
    columns, and dry runs, which restore them."""

    def __init__(self, undo: UndoLog | None = None) -> None:
        self._undo = undo or UndoLog()
        self.epoch = 0
        self._undo.after_roll_back(self._count_roll_back)
        self.infos: list[PodInfo] = []
        self.row_of: dict[str, int] = LoggedTable(self._undo)
        self.gone: set[int] = LoggedSet(self._undo)
        self.namespaces: Vocabulary[str] = Vocabulary()
        self.label_sets: Vocabulary[LabelSet] = Vocabulary()
        # The ids of label sets by the labels in the order of a pod.
        self._known_labels: dict[tuple[tuple[str, str], ...], int] = {}
        self.shapes = PodShapes()
        self._node_row: RowColumn = np.empty(0, dtype=np.int64)
        self._namespace: IdColumn = np.empty(0, dtype=np.int32)
        self._label_set: IdColumn = np.empty(0, dtype=np.int32)
        self._priority: Int64Column = np.empty(0, dtype=np.int64)
        self._terminating: BoolColumn = np.empty(0, dtype=np.bool_)
        # Only preemption reads it: most stamps are never parsed.
        self._started: FloatColumn = np.empty(0)
        self._has_ports: BoolColumn = np.empty(0, dtype=np.bool_)
        self._has_affinity: BoolColumn = np.empty(0, dtype=np.bool_)

    def _count_roll_back(self) -> None:
        self.epoch += 1

    def __len__(self) -> int:
        return len(self.infos)

    @property
    def node_row(self) -> RowColumn:
        return self._node_row[: len(self)]

    def node_of(self, row: int) -> int:
        """The node row of one pod, as `node_row` has it."""
        return self._node_row.item(row)

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

    @property
    def has_affinity(self) -> BoolColumn:
        """Which pods have affinity or anti-affinity to other pods."""
        return self._has_affinity[: len(self)]

    def started(self, rows: RowColumn) -> FloatColumn:
        """GetPodStartTime of these pods, in seconds since the epoch."""
        found: FloatColumn = self._started[rows]
        unread = np.isnan(found)
        if np.count_nonzero(unread):
            stamps = [self.infos[row].pod.status.start_time for row in rows[unread].tolist()]
            times = {stamp: parse_time(stamp) if stamp else NOT_STARTED for stamp in set(stamps)}
            self._started[rows[unread]] = found[unread] = [times[stamp] for stamp in stamps]
        return found

    def names_of(self, rows: Iterable[int]) -> tuple[str, ...]:
        """The pods as `namespace/name`."""
        return tuple(self.infos[row].key for row in rows)

    def begin_with(self, infos: Iterable[PodInfo], node_row_of: Mapping[str, int]) -> bool:
        """Fill an empty table with pods, each on its node if that is known. If pods share a uid, the table stays empty
        and this returns False. All facts of a pod are read at once, while it is in the processor's cache."""
        kept: list[PodInfo] = []
        node_rows: list[int] = []
        leaving: list[bool] = []
        # Many pods have the same facts. The ids of sums hold, because the infos keep their sums.
        kinds: dict[tuple[int, ...], int] = {}
        kind_of: list[int] = []
        sums: list[PodSums] = []
        for info in infos:
            if not kept or info.parts is not kept[-1].parts:
                facts = (*self._facts(info), id(info.parts.sums))
                kind = kinds.setdefault(facts, len(kinds))
                if kind == len(sums):
                    sums.append(info.parts.sums)
            kept.append(info)
            kind_of.append(kind)
            node_rows.append(node_row_of.get(info.pod.spec.node_name, NOWHERE))
            leaving.append(_is_leaving(info))
        row_of = dict(zip((info.uid for info in kept), range(len(kept)), strict=True))
        if len(row_of) < len(kept):
            return False
        self.infos.extend(kept)
        self.row_of = LoggedTable(self._undo, row_of)
        kinds_of_pods = np.array(kind_of, dtype=np.int64)
        facts_of_kinds = np.array([facts[:-1] for facts in kinds], dtype=np.int64).reshape(len(kinds), 5)
        namespaces, label_sets, priorities, has_ports, has_affinity = facts_of_kinds[kinds_of_pods].T
        self._node_row = np.array(node_rows, dtype=np.int64)
        self._namespace, self._label_set = namespaces.astype(np.int32), label_sets.astype(np.int32)
        self._priority = priorities.copy()
        self._terminating = np.array(leaving, dtype=np.bool_)
        self._started = np.full(len(kept), _UNREAD)
        self._has_ports, self._has_affinity = has_ports.astype(np.bool_), has_affinity.astype(np.bool_)
        self.shapes.begin_with(sums, kinds_of_pods)
        return True

    def _facts(self, info: PodInfo) -> tuple[int, int, int, bool, bool]:
        """The pod's namespace, label set, priority, and whether it has host ports and affinity to pods."""
        return (
            self.namespaces.id(info.namespace),
            self._label_set_of(tuple(info.labels.items())),
            info.priority,
            bool(info.host_ports),
            _is_about_pods(info),
        )

    def _label_set_of(self, labels: tuple[tuple[str, str], ...]) -> int:
        """Most pods share their labels, and a tuple is made faster than a set."""
        found = self._known_labels.get(labels)
        if found is None:
            found = self._known_labels[labels] = self.label_sets.id(frozenset(labels))
        return found

    def register(self, info: PodInfo) -> int:
        """The row of a pod; a new one at first sight, nowhere yet."""
        known = self.row_of.get(info.uid)
        if known is not None:
            return known
        row = len(self.infos)
        if row >= len(self._node_row):
            self._grow(row + 1)
        self._undo.note(self._take_back, row)
        self.infos.append(info)
        self.row_of[info.uid] = row
        self._node_row[row] = NOWHERE
        self._started[row] = _UNREAD
        self._describe(row, info)
        return row

    def replace(self, row: int, info: PodInfo) -> None:
        """Another version of the pod; it is where it was."""
        before = self.infos[row]
        self._undo.note(self._restore, row, before, bool(self._terminating[row]))
        self._set_info(row, info)
        same_spec = info.pod.spec is before.pod.spec and info.labels is before.labels
        if same_spec and info.takes_as_much_as(before):
            self._terminating[row] = _is_leaving(info)
        else:
            self._describe(row, info)

    def confirm(self, row: int, info: PodInfo) -> None:
        """A version of the pod that differs in nothing that is in the columns, but for the time of its start."""
        self._undo.note(self._set_info, row, self.infos[row])
        self._set_info(row, info)

    def move(self, row: int, node_row: int) -> None:
        self._undo.note(self._set_node_row, row, int(self._node_row[row]))
        self._node_row[row] = node_row

    def renumber(self, new_row: RowColumn) -> None:
        """Nodes have other rows now; NOWHERE for those that are gone."""
        self._undo.note(self._set_node_rows, self.node_row.copy())
        placed = self.node_row != NOWHERE
        self.node_row[placed] = new_row[self.node_row[placed]]

    def terminate(self, row: int) -> None:
        self._undo.note(self._set_terminating, row, bool(self._terminating[row]))
        self._terminating[row] = True

    def forget(self, row: int) -> None:
        """The pod is gone. Its row stays, and a pod of its name will have another."""
        self.row_of.pop(self.infos[row].uid, None)
        self.gone.add(row)

    # Rolling back

    def _take_back(self, row: int) -> None:
        del self.infos[row:]

    def _set_info(self, row: int, info: PodInfo) -> None:
        self.infos[row] = info
        self._started[row] = _UNREAD

    def _restore(self, row: int, info: PodInfo, terminating: bool) -> None:
        self._set_info(row, info)
        self._describe(row, info)
        self._terminating[row] = terminating

    def _set_node_row(self, row: int, node_row: int) -> None:
        self._node_row[row] = node_row

    def _set_node_rows(self, node_rows: RowColumn) -> None:
        self._node_row[: len(node_rows)] = node_rows

    def _set_terminating(self, row: int, terminating: bool) -> None:
        self._terminating[row] = terminating

    def _describe(self, row: int, info: PodInfo) -> None:
        facts = self._facts(info)
        self._namespace[row], self._label_set[row], self._priority[row] = facts[:3]
        self._has_ports[row], self._has_affinity[row] = facts[3:]
        self._terminating[row] = _is_leaving(info)
        self.shapes.note(row, info)

    def _grow(self, size: int) -> None:
        self._node_row = cast(RowColumn, grown(self._node_row, size, NOWHERE))
        self._namespace = cast(IdColumn, grown(self._namespace, size))
        self._label_set = cast(IdColumn, grown(self._label_set, size))
        self._priority = cast(Int64Column, grown(self._priority, size))
        self._terminating = cast(BoolColumn, grown(self._terminating, size))
        self._started = cast(FloatColumn, grown(self._started, size, _UNREAD))
        self._has_ports = cast(BoolColumn, grown(self._has_ports, size))
        self._has_affinity = cast(BoolColumn, grown(self._has_affinity, size))


def _is_leaving(info: PodInfo) -> bool:
    return info.pod.metadata.deletion_timestamp is not None


def _is_about_pods(info: PodInfo) -> bool:
    affinity = info.pod.spec.affinity
    return affinity is not None and affinity.is_about_pods
