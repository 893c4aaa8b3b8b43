"""What a plugin returns about a run of identical pods, where its scores follow pods on other nodes as well."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Protocol, runtime_checkable

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_info import PodInfo


class ScoreGroups(Protocol):
    """Groups of feasible nodes that have equal normalized scores, after each pod of the run."""

    def group_of(self, row: int) -> Hashable:
        """The group of a feasible node."""

    def scores(self) -> Iterable[tuple[Hashable, int]]:
        """The normalized score of each group that has a node."""

    def place(self, row: int, *, feasible: bool) -> None:
        """Count a pod of the run on the node, which then still takes another one, or not."""


@runtime_checkable
class GroupingPlugin(Protocol):
    """A Score plugin whose scores in a run of identical pods are known by group of nodes."""

    def score_groups(self, state: Any, pod: PodInfo, feasible: RowColumn) -> ScoreGroups | None:
        """The groups before a run of copies of the pod; None where there are none. `state` is that of `score`. The
        scores may depend on the feasible nodes and on the pods of the run, and on nothing else that a run changes."""


class OneGroup:
    """All nodes in one group, where no plugin follows pods on other nodes."""

    def group_of(self, row: int) -> Hashable:
        return 0

    def scores(self) -> Iterable[tuple[Hashable, int]]:
        return ((0, 0),)

    def place(self, row: int, *, feasible: bool) -> None:
        return
