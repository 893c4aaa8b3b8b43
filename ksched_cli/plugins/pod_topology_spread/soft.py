"""Soft spread constraints: what the domains of a node add to its score."""

from __future__ import annotations

from functools import cache

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.columns import BoolColumn, FloatColumn, IdColumn, Int64Column
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.lib.arithmetic import go_log, go_round
from ksched_cli.plugins.lib.topology_spread import SpreadConstraint


class SoftDomains(Struct, frozen=True):
    """A soft constraint's counts as the nodes see them, and the weight of its topology. `labelled` is None where all
    nodes have the label. `ids` are the domains of the nodes, and `counted` the nodes whose pods count; None where each
    node is a domain of its own."""

    constraint: SpreadConstraint
    seen: Int64Column
    labelled: BoolColumn | None
    weight: float
    ids: IdColumn | None = None
    counted: BoolColumn | None = None

    def shares(self, nodes: NodeRows) -> FloatColumn:
        """What the domain of each node adds to its score."""
        shares = self.shares_of(nodes.take(self.seen))
        return shares if self.labelled is None else np.where(nodes.take(self.labelled), shares, 0.0)

    def shares_of(self, counts: Int64Column) -> FloatColumn:
        """What a domain with so many matching pods adds."""
        return counts.astype(np.float64) * self.weight + float(self.constraint.max_skew - 1)


class SoftState(Struct, frozen=True):
    """preScoreState. `ignored` is None where all nodes have all labels."""

    domains: tuple[SoftDomains, ...]
    ignored: BoolColumn | None

    def scores(self, nodes: NodeRows, *, rounds: bool) -> Int64Column:
        """The sum of the shares of each node as a whole number. Of one constraint it is computed for each count."""
        counts = None
        if len(self.domains) == 1 and self.domains[0].labelled is None:
            seen = nodes.take(self.domains[0].seen)
            counts = all_up_to(seen)
        if counts is not None:
            total = self.domains[0].shares_of(counts)
        else:
            total = np.zeros(len(nodes))
            for each in self.domains:
                total = total + each.shares(nodes)
        whole = go_round(total) if rounds else total.astype(np.int64)
        if counts is not None:
            whole = whole.take(seen, mode="clip")
        return whole if self.ignored is None else np.where(nodes.take(self.ignored), 0, whole)


def all_up_to(numbers: Int64Column) -> Int64Column | None:
    """All numbers from 0 to the highest of these, none of which is negative; None where there are more of those."""
    highest = int(numbers[numbers.argmax()]) if len(numbers) else 0
    return np.arange(highest + 1) if highest < len(numbers) else None


@cache
def topology_weight(size: int) -> float:
    """topologyNormalizingWeight: small topologies must not be drowned by large ones."""
    return go_log(float(size + 2))
