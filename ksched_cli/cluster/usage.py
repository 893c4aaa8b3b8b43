"""What placed pods take from each node: the half of NodeInfo that changes with every placement."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from ksched_cli.cluster.columns import NOWHERE, Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pod_shapes import ShapeAmounts
from ksched_cli.cluster.ports import PortIndex
from ksched_cli.cluster.undo import LoggedDict, UndoLog

if TYPE_CHECKING:
    from ksched_cli.cluster.pods import PodTable


class Usage:
    """`requested[resource, row]`, the non-zero requests that scoring uses, pod counts, ports and pods by node. `copies`
    are pods that have no row of their own: by the row of the pod that they are copies of, how many a node has."""

    def __init__(self, resources: int, nodes: int, undo: UndoLog | None = None) -> None:
        self._undo = undo or UndoLog()
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
        self.shift(table.shapes.of(placed), rows, 1)
        # Without a note for a roll back: the usage is new.
        pods, put = self.pods, dict.__setitem__
        for pod_row, row in zip(placed.tolist(), rows.tolist(), strict=True):
            put(pods[row], pod_row, None)
        for pod_row in placed[table.has_ports[placed]].tolist():
            self.ports.take(int(table.node_row[pod_row]), table.infos[pod_row].host_ports)

    def add(self, info: PodInfo, pod_row: int, row: int) -> None:
        self._undo.note(self._take_off, info, row)
        self._put_on(info, row)
        if info.host_ports:
            self.ports.take(row, info.host_ports)
        self.pods[row][pod_row] = None

    def remove(self, info: PodInfo, pod_row: int, row: int) -> None:
        self._undo.note(self._put_on, info, row)
        self._take_off(info, row)
        if info.host_ports:
            self.ports.free(row, info.host_ports)
        del self.pods[row][pod_row]

    def put_last(self, pod_row: int, row: int) -> None:
        """Make the pod the latest of its node, as if it had left and come back."""
        del self.pods[row][pod_row]
        self.pods[row][pod_row] = None

    def _put_on(self, info: PodInfo, row: int) -> None:
        for resource, amount in info.requests:
            self.requested[resource, row] += amount
        self.nonzero[0, row] += info.nonzero_cpu
        self.nonzero[1, row] += info.nonzero_memory
        self.pod_count[row] += 1

    def _take_off(self, info: PodInfo, row: int) -> None:
        for resource, amount in info.requests:
            self.requested[resource, row] -= amount
        self.nonzero[0, row] -= info.nonzero_cpu
        self.nonzero[1, row] -= info.nonzero_memory
        self.pod_count[row] -= 1

    def shift(self, shapes: ShapeAmounts, rows: RowColumn, sign: int) -> None:
        """Add (1) or take away (-1) the amounts of many pods at once, each on its row; a row may occur repeatedly.
        A larger number adds or takes away so many of each."""
        if len(rows) == 0:
            return
        if len(rows) == 1:
            row, shape = int(rows[0]), int(shapes.ids[0])
            for resource, amounts in shapes.requests.items():
                amount = amounts.item(shape)
                if amount:
                    self.requested[resource, row] += sign * amount
            for measure in (0, 1):
                self.nonzero[measure, row] += sign * shapes.nonzero.item(measure, shape)
            self.pod_count[row] += sign
            return
        for resource, amounts in shapes.requests.items():
            np.add.at(self.requested[resource], rows, sign * amounts[shapes.ids])
        for measure in (0, 1):
            np.add.at(self.nonzero[measure], rows, sign * shapes.nonzero[measure][shapes.ids])
        np.add.at(self.pod_count, rows, sign)

    def shift_copies(self, pod_row: int, shapes: ShapeAmounts, rows: RowColumn, sign: int) -> None:
        """Add (1) or take away (-1) copies of a pod, each on its row. `shapes` are their amounts."""
        if pod_row not in self.copies:
            self.copies[pod_row] = np.zeros(len(self.pod_count), dtype=np.int64)
        np.add.at(self.copies[pod_row], rows, sign)
        if not self.copies[pod_row].any():
            # After a roll back the row of the pod may be that of another pod, or of none.
            del self.copies[pod_row]
        self.shift(shapes, rows, sign)

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
