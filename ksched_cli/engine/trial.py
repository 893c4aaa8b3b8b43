"""What-if inside a cycle: pods leave, the filters are asked, everything is put back (preemption's dry run)."""

from __future__ import annotations

from types import TracebackType

import numpy as np

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.runtime import CycleState, Runtime
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.verdict import Verdict


class CycleTrial:
    """Works on the cache itself and on copies of the plugins' states; leaving the block restores the cache."""

    def __init__(self, runtime: Runtime, state: CycleState, pod: PodInfo) -> None:
        self._runtime = runtime
        self._cluster = runtime.cluster
        self._state = runtime.clone(state)
        self._pod = pod
        self._taken: dict[int, int] = {}
        self._orders: dict[int, dict[int, None]] = {}

    def __enter__(self) -> CycleTrial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pod_row, node_row in self._taken.items():
            self._cluster.place(pod_row, node_row)
        for node_row, order in self._orders.items():
            self._cluster.usage.pods[node_row] = order

    @property
    def row_scoped(self) -> bool:
        return all(
            plugin.scope == "row" or plugin.name in self._state.skip_filter for plugin in self._runtime.profile.filter
        )

    def remove(self, pod_row: int) -> None:
        node_row = int(self._cluster.pods.node_row[pod_row])
        self._orders.setdefault(node_row, dict(self._cluster.usage.pods[node_row]))
        self._cluster.displace(pod_row)
        self._taken[pod_row] = node_row
        self._runtime.remove_pod(self._state, self._pod, pod_row, node_row)

    def put_back(self, pod_row: int) -> None:
        node_row = self._taken.pop(pod_row)
        self._cluster.place(pod_row, node_row)
        self._runtime.add_pod(self._state, self._pod, pod_row, node_row)

    def filter(self, rows: RowColumn) -> Verdict:
        statuses = NodeStatuses(len(self._cluster.nodes))
        nodes = NodeRows(self._cluster, np.asarray(rows, dtype=np.int64))
        self._runtime.run_filter_with_nominated(self._state, self._pod, nodes, statuses)
        return Verdict(statuses.codes[rows], statuses.reason_ids[rows], statuses.reasons.values)
