"""For plugins that look at one node at a time: the simplest way to write one of your own, and the slowest, as Python
runs once for each node. A plugin over columns implements `FilterPlugin` and `ScorePlugin` itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ksched_cli.api.core import Node
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import FilterPlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.framework.verdict import Verdict

A = TypeVar("A")
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


class PerNodeFilter(FilterPlugin[Any]):
    """Override `filter_one`."""

    def filter_one(self, info: PodInfo, node: Node) -> Status:
        return SUCCESS

    def filter(self, state: Any, info: PodInfo, nodes: NodeRows) -> Verdict:
        return Verdict.from_statuses(_results_of_each(self.filter_one, _check_status, info, nodes))


class PerNodeScore(ScorePlugin[Any]):
    """Override `score_one`: 0 to 100, or anything if `normalize` brings it there."""

    def score_one(self, info: PodInfo, node: Node) -> int:
        return 0

    def score(self, state: Any, info: PodInfo, nodes: NodeRows) -> Int64Column:
        return np.array(_results_of_each(self.score_one, _check_score, info, nodes), dtype=np.int64)


class PerNodePlugin(PerNodeFilter, PerNodeScore):
    """Both: override `filter_one`, `score_one` or the two of them."""


def _results_of_each(
    ask: Callable[[PodInfo, Node], A], check: Callable[[Any], None], info: PodInfo, nodes: NodeRows
) -> list[A]:
    """One answer a node; what goes wrong carries the node's name."""
    objects, answers = nodes.cluster.nodes.objects, []
    for row in nodes.rows.tolist():
        try:
            answer = ask(info, objects[row])
            check(answer)
        except Exception as problem:
            problem.add_note(f"node {objects[row].metadata.name}")
            raise
        answers.append(answer)
    return answers


def _check_status(answer: object) -> None:
    if not isinstance(answer, Status):
        raise TypeError(f"filter_one returned {answer!r:.60}, not a Status")


def _check_score(answer: object) -> None:
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
        raise TypeError(f"score_one returned {answer!r:.60}, not a whole number")
    if not _LOWEST <= answer <= _HIGHEST:
        raise OverflowError(f"score_one returned {answer}")
