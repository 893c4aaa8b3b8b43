"""The nodes that a plugin evaluates, as rows of the columns. kube-scheduler calls Filter and Score once for each node;
here one call has all of them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import RowColumn

D = TypeVar("D", bound=np.generic)


class NodeRows:
    """A selection of node rows. A plugin answers for these, in this order, and its answer for a row must not
    depend on which other rows are evaluated.

    They are `bare` when an extender sent node objects back: kube-scheduler scores these, and not its cached state of
    the nodes, so that they hold no pods and no images.
    """

    __slots__ = ("bare", "cluster", "rows", "whole")

    def __init__(self, cluster: Cluster, rows: RowColumn | None = None, *, bare: bool = False) -> None:
        self.cluster = cluster
        self.bare = bare
        self.whole = rows is None
        self.rows: RowColumn = cluster.nodes.all_rows if rows is None else rows

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, column: NDArray[D]) -> NDArray[D]:
        """The column's entries of these rows (last axis), unchecked; the column itself where all rows are meant."""
        return column if self.whole else column.take(self.rows, axis=-1, mode="clip")

    def mask(self) -> NDArray[np.bool_]:
        """One entry per node of the cluster: whether it is among these."""
        mask = np.full(len(self.cluster.nodes), self.whole, dtype=np.bool_)
        if not self.whole:
            mask[self.rows] = True
        return mask

    @property
    def names(self) -> list[str]:
        return [self.cluster.nodes.names[row] for row in self.rows]

    def select(self, kept: NDArray[np.bool_]) -> NodeRows:
        return self if np.count_nonzero(kept) == len(kept) else NodeRows(self.cluster, self.rows[kept], bare=self.bare)
