"""What one scheduling cycle decided, still in rows and columns."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.framework.diagnosis import Diagnosis
from ksched_cli.framework.interfaces import PostFilterResult
from ksched_cli.framework.reasons import Reason

Result = Literal["scheduled", "unschedulable", "error", "skipped", "waiting"]

# So many of the best nodes are named where a line has room for few.
TIES_NAMED = 4

_NO_ROWS: RowColumn = np.empty(0, dtype=np.int64)


def no_rows() -> RowColumn:
    return _NO_ROWS


class Decision(Struct):
    """`ties` are all rows with the highest total, in name order; empty when nothing was scored. `nominated_node` is
    where this cycle nominated the pod to; earlier nominations are in the nominator. A pod that Permit plugins
    hold is `waiting`, if the run has a clock. `let_go` is the node that the pod had
    and lost when it was to be bound. `group_victims` are the pods that leave for the whole pod group. `reason`: why it
    has no node, where no plugin rejects it. `repeats` is the decision about a copy of the pod that this one equals in
    all else."""

    pod_row: int
    pod: PodInfo
    result: Result
    row: int | None = None
    ties: RowColumn = field(default_factory=no_rows)
    feasible: RowColumn = field(default_factory=no_rows)
    diagnosis: Diagnosis | None = None
    scores: ScoreTable | None = None
    message: str = ""
    reason: Reason | None = None
    preemption: PostFilterResult | None = None
    nominated_node: str = ""
    let_go: str = ""
    group_victims: tuple[int, ...] = ()
    repeats: Decision | None = None
