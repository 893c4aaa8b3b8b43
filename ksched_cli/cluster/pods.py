"""The pod table, one row per pod, and what placed pods take from each node (the half of framework.NodeInfo that
changes).

Most pods of a cluster are copies of a few, so that pods of one shape share their requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, cast

import numpy as np

from ksched_cli.api.object_facts import parse_time
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
from ksched_cli.cluster.pod_info import PodInfo, PodSums, PortIndex
from ksched_cli.cluster.undo import LoggedDict, LoggedSet, LoggedTable, UndoLog

Shape = tuple[tuple[tuple[int, int], ...], int, int]


def _shape(sums: PodSums) -> Shape:
    cpu, memory = sums.nonzero
    return sums.requests, cpu, memory


class PodShapes:
    """What each pod requests is `values[ids[pod_row]]`. As columns: `requests[resource][shape]` for the resources that
    any pod requests, and `nonzero[0 or 1, shape]`."""

    def __init__(self) -> None:
        self._shapes: Vocabulary[Shape] = Vocabulary()
        self.values = self._shapes.values
        self.ids: IdColumn = np.empty(0, dtype=np.int32)
        self._requests: dict[int, Int64Column] = {}
        self._nonzero: Int64Column = np.empty((2, 0), dtype=np.int64)

    def begin_with(self, sums: Sequence[PodSums], of_pods: RowColumn) -> None:
        """The shapes of the first pods: `of_pods` has for each of them the place of its sums."""
        shapes = np.array([self._shapes.id(_shape(each)) for each in sums], dtype=np.int32)
        self.ids = shapes[of_pods]

    def note(self, pod_row: int, info: PodInfo) -> None:
        if pod_row >= len(self.ids):
            self.ids = cast(IdColumn, grown(self.ids, pod_row + 1))
        self.ids[pod_row] = self._shapes.id(_shape(info.parts.sums))

    def tables(self) -> tuple[dict[int, Int64Column], Int64Column]:
        """`requests` and `nonzero`."""
        if self._nonzero.shape[1] != len(self._shapes.values):
            self._tabulate()
        return self._requests, self._nonzero

    def _tabulate(self) -> None:
        size = len(self._shapes)
        self._requests = {}
        self._nonzero = np.empty((2, size), dtype=np.int64)
        for shape, (requests, cpu, memory) in enumerate(self._shapes.values):
            self._nonzero[:, shape] = cpu, memory
            for resource, amount in requests:
                self._requests.setdefault(resource, np.zeros(size, dtype=np.int64))[shape] += amount


# So many pods are moved one by one: np.add.at takes some microseconds for each column.
_FEW = 4

LabelSet = frozenset[tuple[str, str]]

# The start time of pods that have not started: they are the youngest, because Go takes the current time for them.
NOT_STARTED = float("inf")
# The start time of a pod has not been parsed.
_UNREAD = float("nan")


class PodTable:
    """Rows are given once and stay, but a roll back takes back the rows of pods that came since the mark, and counts up
    `epoch`. `node_row` is NOWHERE while a pod is pending, removed, or on an unknown node. Only the methods write to the
    columns, and dry runs, which restore them."""

    def __init__(self, undo: UndoLog) -> None:
        self._undo = undo
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
        return self._node_row[: len(self.infos)]

    def node_of(self, row: int) -> int:
        """The node row of one pod, as `node_row` has it."""
        return self._node_row.item(row)

    @property
    def namespace(self) -> IdColumn:
        return self._namespace[: len(self.infos)]

    @property
    def label_set(self) -> IdColumn:
        return self._label_set[: len(self.infos)]

    @property
    def priority(self) -> Int64Column:
        return self._priority[: len(self.infos)]

    @property
    def terminating(self) -> BoolColumn:
        return self._terminating[: len(self.infos)]

    @property
    def has_ports(self) -> BoolColumn:
        """Which pods hold host ports."""
        return self._has_ports[: len(self.infos)]

    @property
    def has_affinity(self) -> BoolColumn:
        """Which pods have affinity or anti-affinity to other pods."""
        return self._has_affinity[: len(self.infos)]

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
        return tuple([self.infos[row].key for row in rows])

    def begin_with(self, infos: Iterable[PodInfo], node_row_of: Mapping[str, int]) -> bool:
        """Fill an empty table with pods, each on its node if that is known. If pods share a uid, the table stays empty
        and this returns False. All facts of a pod are read at once, while it is in the processor's cache."""
        kept: list[PodInfo] = []
        node_rows: list[int] = []
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
        row_of = {info.uid: row for row, info in enumerate(kept)}
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
        leaving = [info.pod.metadata.deletion_timestamp is not None for info in kept]
        self._terminating = np.array(leaving, dtype=np.bool_)
        self._started = np.full(len(kept), _UNREAD)
        self._has_ports, self._has_affinity = has_ports.astype(np.bool_), has_affinity.astype(np.bool_)
        self.shapes.begin_with(sums, kinds_of_pods)
        return True

    def _facts(self, info: PodInfo) -> tuple[int, int, int, bool, bool]:
        """The pod's namespace, label set, priority, and whether it has host ports and affinity to pods."""
        # Most pods share their labels, and a tuple is made faster than a set.
        labels, affinity = tuple(info.labels.items()), info.pod.spec.affinity
        label_set = self._known_labels.get(labels)
        if label_set is None:
            label_set = self._known_labels[labels] = self.label_sets.id(frozenset(labels))
        return (
            self.namespaces.id(info.namespace),
            label_set,
            info.priority,
            bool(info.parts.host_ports),
            affinity is not None and affinity.is_about_pods,
        )

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
            self._terminating[row] = _is_terminating(info)
        else:
            self._describe(row, info)

    def confirm(self, row: int, info: PodInfo) -> None:
        """A version of the pod that differs in nothing that is in the columns, but for the time of its start."""
        self._undo.note(self._set_info, row, self.infos[row])
        self._set_info(row, info)

    def move(self, row: int, node_row: int) -> None:
        if self._undo.recording:
            self._undo.note(self._set, "_node_row", row, int(self._node_row[row]))
        self._node_row[row] = node_row

    def renumber(self, new_row: RowColumn) -> None:
        """Nodes have other rows now; NOWHERE for those that are gone."""
        self._undo.note(self._set, "_node_row", slice(len(self)), self.node_row.copy())
        placed = self.node_row != NOWHERE
        self.node_row[placed] = new_row[self.node_row[placed]]

    def terminate(self, row: int) -> int:
        """Mark the pod as terminating; the node row that it is on."""
        self._undo.note(self._set, "_terminating", row, self._terminating.item(row))
        self._terminating[row] = True
        return self._node_row.item(row)

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

    def _set(self, column: str, rows: int | slice, values: Any) -> None:
        """The column may have grown since the change was noted."""
        getattr(self, column)[rows] = values

    def _describe(self, row: int, info: PodInfo) -> None:
        facts = self._facts(info)
        self._namespace[row], self._label_set[row], self._priority[row] = facts[:3]
        self._has_ports[row], self._has_affinity[row] = facts[3:]
        self._terminating[row] = _is_terminating(info)
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


def _is_terminating(info: PodInfo) -> bool:
    return info.pod.metadata.deletion_timestamp is not None


class Usage:
    """`requested[resource, row]`, the non-zero requests that scoring uses, pod counts, ports and pods by node. `copies`
    are pods that have no row of their own: by the row of the pod that they are copies of, how many a node has."""

    def __init__(self, resources: int, nodes: int, undo: UndoLog) -> None:
        self._undo = undo
        self.requested: Int64Column = np.zeros((resources, nodes), dtype=np.int64)
        self.nonzero: Int64Column = np.zeros((2, nodes), dtype=np.int64)
        self.pod_count: Int64Column = np.zeros(nodes, dtype=np.int64)
        self.ports = PortIndex(self._undo)
        self.pods: list[dict[int, None]] = [LoggedDict(self._undo) for _ in range(nodes)]
        self.copies: dict[int, Int64Column] = {}

    def begin_with(self, table: PodTable) -> None:
        """Count all pods of the table that are on a node."""
        placed = np.nonzero(table.node_row >= 0)[0]
        rows = table.node_row[placed]
        self.shift(table.shapes, placed, rows, 1)
        # Without a note for a roll back: the usage is new.
        pods, put = self.pods, dict.__setitem__
        for pod_row, row in zip(placed.tolist(), rows.tolist(), strict=True):
            put(pods[row], pod_row, None)
        for pod_row in placed[table.has_ports[placed]].tolist():
            self.ports.take(int(table.node_row[pod_row]), table.infos[pod_row].host_ports)

    def add(self, info: PodInfo, pod_row: int, row: int) -> None:
        if self._undo.recording:
            self._undo.note(self._count, info, row, -1)
        self._count(info, row, 1)
        if info.parts.host_ports:
            self.ports.take(row, info.parts.host_ports)
        self.pods[row][pod_row] = None

    def remove(self, info: PodInfo, pod_row: int, row: int) -> None:
        self._undo.note(self._count, info, row, 1)
        self._count(info, row, -1)
        if info.host_ports:
            self.ports.free(row, info.host_ports)
        del self.pods[row][pod_row]

    def put_last(self, pod_row: int, row: int) -> None:
        """Make the pod the latest of its node, as if it had left and come back."""
        del self.pods[row][pod_row]
        self.pods[row][pod_row] = None

    def _count(self, info: PodInfo, row: int, sign: int) -> None:
        """Add (1) or take away (-1) what the pod takes."""
        sums = info.parts.sums
        for resource, amount in sums.requests:
            self.requested[resource, row] += sign * amount
        self.nonzero[0, row] += sign * sums.nonzero[0]
        self.nonzero[1, row] += sign * sums.nonzero[1]
        self.pod_count[row] += sign

    def shift(self, shapes: PodShapes, pod_rows: RowColumn, rows: RowColumn, sign: int) -> None:
        """Add (1) or take away (-1) the amounts of many pods at once, each on its row; a row may occur repeatedly.
        A larger number adds or takes away so many of each."""
        if len(rows) <= _FEW:
            ids = shapes.ids.take(pod_rows)
            for shape, row in zip(ids.tolist(), rows.tolist(), strict=True):
                requests, cpu, memory = shapes.values[shape]
                for resource, amount in requests:
                    self.requested[resource, row] += sign * amount
                self.nonzero[0, row] += sign * cpu
                self.nonzero[1, row] += sign * memory
                self.pod_count[row] += sign
            return
        ids, (all_requests, nonzero) = shapes.ids.take(pod_rows), shapes.tables()
        for resource, amounts in all_requests.items():
            np.add.at(self.requested[resource], rows, sign * amounts[ids])
        for measure in (0, 1):
            np.add.at(self.nonzero[measure], rows, sign * nonzero[measure][ids])
        np.add.at(self.pod_count, rows, sign)

    def shift_copies(self, pod_row: int, shapes: PodShapes, rows: RowColumn, sign: int) -> None:
        """Add (1) or take away (-1) copies of a pod, each on its row."""
        if pod_row not in self.copies:
            self.copies[pod_row] = np.zeros(len(self.pod_count), dtype=np.int64)
        np.add.at(self.copies[pod_row], rows, sign)
        if not self.copies[pod_row].any():
            # After a roll back the row of the pod may be that of another pod, or of none.
            del self.copies[pod_row]
        self.shift(shapes, np.full(len(rows), pod_row), rows, sign)

    def widen(self, resources: int) -> None:
        missing = resources - self.requested.shape[0]
        if missing > 0:
            empty = np.zeros((missing, self.requested.shape[1]), dtype=np.int64)
            self.requested = np.concatenate([self.requested, empty])

    def renumbered(self, new_row: RowColumn, nodes: int) -> Usage:
        """The same usage after rows moved; `new_row[old]` is -1 where the node went away."""
        moved = copy(self)
        old = np.nonzero(new_row >= 0)[0]
        # The row of each new row before; new nodes take the amounts of some other row, which are cleared then.
        source = np.full(nodes, NOWHERE, dtype=np.int64)
        source[new_row[old]] = old
        new = np.nonzero(source == NOWHERE)[0]
        moved.requested = _gathered(self.requested, source, new)
        moved.nonzero = _gathered(self.nonzero, source, new)
        moved.pod_count = _gathered(self.pod_count, source, new)
        moved.copies = {pod_row: _gathered(copies, source, new) for pod_row, copies in self.copies.items()}
        moved.ports = self.ports.renumbered(new_row)
        pods = self.pods
        moved.pods = [pods[row] if row != NOWHERE else LoggedDict(self._undo) for row in source.tolist()]
        return moved


def _gathered(amounts: Int64Column, source: RowColumn, new: RowColumn) -> Int64Column:
    """The amounts of the source of each row, zero for new rows."""
    if not amounts.shape[-1]:
        return np.zeros((*amounts.shape[:-1], len(source)), dtype=np.int64)
    found: Int64Column = amounts.take(source, axis=-1)
    found[..., new] = 0
    return found
