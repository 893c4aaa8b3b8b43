"""Moves of pods that leave no trace: what a dry run does to the columns, and how it is taken back."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from ksched_cli.cluster.columns import NOWHERE, Int64Column, RowColumn
from ksched_cli.cluster.ports import HostPort

if TYPE_CHECKING:
    from ksched_cli.cluster.cache import Cluster


class Sandbox:
    """Pods leave nodes and come to nodes in the columns themselves; leaving the block restores every one of them,
    the order of pods on nodes and shared host ports included, as a copy of the NodeInfo would in kube-scheduler.

    The journal does not list these changes. Values derived from the columns must not be updated inside.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._home: dict[int, int] = {}
        self._pods: dict[int, dict[int, None]] = {}
        self._ports: list[tuple[int, HostPort, bool]] = []

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._home:
            return
        usage, pods = self._cluster.usage, self._cluster.pods
        moved = np.fromiter(self._home, dtype=np.int64, count=len(self._home))
        home = np.fromiter(self._home.values(), dtype=np.int64, count=len(self._home))
        now = pods.node_row[moved]
        away = now != home
        for there, sign in ((home, 1), (now, -1)):
            concerned = away & (there != NOWHERE)
            usage.shift(pods.shapes.of(moved[concerned]), there[concerned], sign)
        pods.node_row[moved] = home
        for row, order in self._pods.items():
            usage.pods[row] = order
        for row, port, taken in reversed(self._ports):
            (usage.ports.take if taken else usage.ports.free)(row, (port,))

    def remove(self, pod_rows: RowColumn) -> RowColumn:
        """Take the pods off their nodes; the rows they were on."""
        table, usage = self._cluster.pods, self._cluster.usage
        node_rows: RowColumn = table.node_row[pod_rows]
        usage.shift(table.shapes.of(pod_rows), node_rows, -1)
        on = self._changing(pod_rows, node_rows, node_rows)
        for pod_row, node_row in zip(pod_rows.tolist(), node_rows.tolist(), strict=True):
            del on[node_row][pod_row]
        for index in self._with_ports(pod_rows):
            self._note_ports(int(pod_rows[index]), int(node_rows[index]))
            usage.ports.free(int(node_rows[index]), table.infos[pod_rows[index]].host_ports)
        table.node_row[pod_rows] = NOWHERE
        return node_rows

    def add(self, pod_rows: RowColumn, node_rows: RowColumn) -> None:
        """Put pods that are nowhere on nodes."""
        table, usage = self._cluster.pods, self._cluster.usage
        usage.shift(table.shapes.of(pod_rows), node_rows, 1)
        on = self._changing(pod_rows, node_rows, table.node_row[pod_rows])
        for pod_row, node_row in zip(pod_rows.tolist(), node_rows.tolist(), strict=True):
            on[node_row][pod_row] = None
        for index in self._with_ports(pod_rows):
            self._note_ports(int(pod_rows[index]), int(node_rows[index]))
            usage.ports.take(int(node_rows[index]), table.infos[pod_rows[index]].host_ports)
        table.node_row[pod_rows] = node_rows

    def put_back(self, pod_rows: RowColumn) -> RowColumn:
        """Return pods to the nodes they were removed from; the rows of these."""
        node_rows = self.homes(pod_rows)
        self.add(pod_rows, node_rows)
        return node_rows

    def homes(self, pod_rows: RowColumn) -> RowColumn:
        """The nodes that removed pods were on."""
        return np.array([self._home[pod_row] for pod_row in pod_rows.tolist()], dtype=np.int64)

    def kinds(self, pod_rows: RowColumn) -> RowColumn:
        """A number for each pod, the same for pods that make no difference to the columns: here each has its own."""
        return pod_rows

    def _changing(self, pod_rows: RowColumn, node_rows: RowColumn, home: RowColumn) -> list[dict[int, None]]:
        """Remember where the pods belong if they move for the first time; the pods by node, in copies where these
        nodes are concerned."""
        homes = dict(zip(pod_rows.tolist(), home.tolist(), strict=True))
        if self._home:
            homes.update((pod_row, self._home[pod_row]) for pod_row in homes.keys() & self._home.keys())
        self._home.update(homes)
        pods = self._cluster.usage.pods
        for node_row in set(node_rows.tolist()) - self._pods.keys():
            self._pods[node_row], pods[node_row] = pods[node_row], dict(pods[node_row])
        return pods

    def _with_ports(self, pod_rows: RowColumn) -> list[int]:
        having = self._cluster.pods.has_ports[pod_rows]
        return np.nonzero(having)[0].tolist() if having.any() else []

    def _note_ports(self, pod_row: int, node_row: int) -> None:
        ports = self._cluster.usage.ports
        for port in self._cluster.pods.infos[pod_row].host_ports:
            self._ports.append((node_row, port, ports.holds(node_row, port)))


class UsageSandbox:
    """`Sandbox` for filters that read of the pods on a node nothing but what they request together and how many they
    are: nothing else is changed, so that each move costs a few additions."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # The nodes that pods have come to or left, and what was in their columns before.
        self._changed: set[int] = set()
        self._before: list[tuple[RowColumn, Int64Column, Int64Column, Int64Column]] = []
        # Where pods have come to that are nowhere in the table.
        self._come: dict[int, int] = {}

    def __enter__(self) -> UsageSandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        usage = self._cluster.usage
        for rows, requested, nonzero, pod_count in self._before:
            usage.requested[:, rows], usage.nonzero[:, rows], usage.pod_count[rows] = requested, nonzero, pod_count

    def remove(self, pod_rows: RowColumn) -> RowColumn:
        """Take the pods off their nodes; the rows they were on."""
        node_rows = self.homes(pod_rows)
        self._shift(pod_rows, node_rows, -1)
        return node_rows

    def add(self, pod_rows: RowColumn, node_rows: RowColumn) -> None:
        """Put pods that are nowhere on nodes."""
        self._come.update(zip(pod_rows.tolist(), node_rows.tolist(), strict=True))
        self._shift(pod_rows, node_rows, 1)

    def put_back(self, pod_rows: RowColumn) -> RowColumn:
        """Return pods to the nodes they were removed from; the rows of these."""
        node_rows = self.homes(pod_rows)
        self._shift(pod_rows, node_rows, 1)
        return node_rows

    def homes(self, pod_rows: RowColumn) -> RowColumn:
        """The nodes that the pods are on, or were on until they were removed."""
        node_rows: RowColumn = self._cluster.pods.node_row[pod_rows]
        if self._come:
            for index, pod_row in enumerate(pod_rows.tolist()):
                node_rows[index] = self._come.get(pod_row, node_rows[index])
        return node_rows

    def kinds(self, pod_rows: RowColumn) -> RowColumn:
        """A number for each pod, the same for pods that request the same."""
        return self._cluster.pods.shapes.of(pod_rows).ids.astype(np.int64)

    def _shift(self, pod_rows: RowColumn, node_rows: RowColumn, sign: int) -> None:
        usage = self._cluster.usage
        if new := set(node_rows.tolist()) - self._changed:
            self._changed |= new
            rows = np.fromiter(new, dtype=np.int64, count=len(new))
            self._before.append((rows, usage.requested[:, rows], usage.nonzero[:, rows], usage.pod_count[rows]))
        usage.shift(self._cluster.pods.shapes.of(pod_rows), node_rows, sign)
