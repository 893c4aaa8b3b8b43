"""DynamicResources: devices that pods claim. Only pods without claims are modelled so far; the others end in an error
that says so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import CycleHandle
from ksched_cli.framework.interfaces import (
    PostFilterPlugin,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
    ScorePlugin,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import default_normalize_score
from ksched_cli.framework.status import Status, error, unschedulable


@dataclass(frozen=True)
class ClaimState:
    """That PreFilter has looked at the pod and found no claims."""


class DynamicResources(PreFilterPlugin[ClaimState], PostFilterPlugin[ClaimState], ScorePlugin[ClaimState]):
    name = "DynamicResources"
    summary = "Allocates the devices that a pod's resource claims ask for."
    normalizes = True

    def pre_filter(self, pod: PodInfo) -> PreFilterResult[ClaimState] | Status:
        if pod.pod.spec.resource_claims:
            return error("the pod has resourceClaims, and allocating devices is not modelled yet")
        return PreFilterResult(ClaimState(), skip=True)

    def post_filter(
        self, state: ClaimState | None, pod: PodInfo, cycle: CycleHandle
    ) -> tuple[PostFilterResult | None, Status]:
        # Go keeps its state under a key; another plugin's final rejection means it was never written.
        if state is None:
            return None, error("not found")
        return None, unschedulable("no new claims to deallocate")

    def score(self, state: ClaimState, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        return np.zeros(len(nodes), dtype=np.int64)

    def normalize(self, state: ClaimState, pod: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        return default_normalize_score(scores, reverse=False)
