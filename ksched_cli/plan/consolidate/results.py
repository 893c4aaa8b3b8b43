"""What a consolidation came to, by name."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from ksched_cli.plan.displayed import Displayed
from ksched_cli.plan.node_columns import NodeChanges
from ksched_cli.plan.results import Stats

# local: no single step is left that saves money; time: the time limit ended the search; optimal: the cost is the bound.
ConsolidationEnd = Literal["optimal", "local", "time"]


class PodMove(Struct, frozen=True):
    """An evicted pod, the pod that its controller creates in its place, and the node of that."""

    pod: str
    successor: str
    to: str


class ConsolidationStep(Struct, frozen=True):
    """One node that is drained and deleted. `shape` is what is bought before it, empty if nothing is. `uncordon`: nodes
    that are opened again before this step. `commands` do it with kubectl; the new node is for the cloud provider."""

    node: str
    saving: Decimal
    moves: tuple[PodMove, ...]
    commands: tuple[str, ...]
    shape: str = ""
    new_node: str = ""
    rounds: int = 0
    uncordon: tuple[str, ...] = ()


class KeptNode(Struct, frozen=True):
    """A node that stays, and why."""

    node: str
    why: str


class Consolidation(Displayed, Struct, frozen=True):
    """`cordon` are the nodes to cordon before the first step, so that no pod moves twice, and `uncordon` those to open
    again after the last. `lower_bound`: no cluster of these nodes and shapes that holds the pods costs less."""

    steps: tuple[ConsolidationStep, ...]
    cordon: tuple[str, ...]
    uncordon: tuple[str, ...]
    cost_before: Decimal
    cost_after: Decimal
    lower_bound: Decimal
    unit: str
    nodes_before: int
    nodes_after: int
    kept: tuple[KeptNode, ...]
    ended: ConsolidationEnd
    seconds: float
    time_limit: float
    tried: int
    conditions: tuple[str, ...]
    coverage: Mapping[str, Any]
    stats: Stats
    warnings: tuple[str, ...] = ()
    columns: NodeChanges | None = None

    @property
    def saving(self) -> Decimal:
        return self.cost_before - self.cost_after

    @property
    def gap(self) -> Decimal:
        """How far the cost may be above the optimum, in per cent of the cost."""
        if not self.cost_after:
            return Decimal(0)
        return ((self.cost_after - self.lower_bound) * 100 / self.cost_after).quantize(Decimal("0.01"))
