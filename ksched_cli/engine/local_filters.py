"""Results of the filters that look at one node alone: the rest of a cluster does not change them."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.decision import no_rows
from ksched_cli.engine.runtime import Runtime
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status


class LocalVerdict(Struct, frozen=True):
    """The rows that no such filter rejects, and why the others are rejected. `pre_filter`: the pod is rejected before
    any node is looked at."""

    passed: RowColumn
    statuses: NodeStatuses
    pre_filter: Status | None = None

    def reason(self, row: int) -> str:
        """Why the node is rejected, empty if it is not."""
        status = self.pre_filter or self.statuses.status(row)
        return "" if status.ok else ", ".join(status.texts)


def judge_locally(runtime: Runtime, pod_row: int, rows: RowColumn) -> LocalVerdict:
    """Run the filters over these nodes. CycleError if a plugin fails."""
    cluster, state = runtime.cluster, CycleState()
    pod, statuses = cluster.pods.infos[pod_row], NodeStatuses(len(cluster.nodes))
    outcome = runtime.pre_filters.run(state, pod)
    if outcome.status is not None:
        return LocalVerdict(no_rows(), statuses, outcome.status)
    if outcome.node_names is not None:
        row_of = cluster.nodes.row_of
        named = [row_of[name] for name in outcome.node_names if name in row_of]
        rows = np.intersect1d(rows, np.array(named, dtype=np.int64))
    return LocalVerdict(runtime.filters.run_local(state, pod, NodeRows(cluster, rows), statuses).rows, statuses)
