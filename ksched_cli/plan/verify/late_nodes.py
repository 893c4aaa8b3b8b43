"""Nodes that may not have been candidates yet: cordoned, not ready, or created later in the same second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ksched_cli.api.core import Node
from ksched_cli.api.pod_facts import parse_time
from ksched_cli.plan.verify.history import BindingSecond, History, version_of

_NEVER = float("inf")


class LateNodes:
    """Nodes that may have been late: no pod was bound to them, and they changed after the second in question. The
    result shows this as an assumption."""

    def __init__(self, nodes: Iterable[Node], history: History) -> None:
        self._nodes = {node.metadata.name: node for node in nodes}
        self._first_pod: dict[str, float] = {}
        for placed in (*history.tried, *history.others):
            first = self._first_pod.get(placed.node, _NEVER)
            self._first_pod[placed.node] = min(first, placed.bound.second)

    def among(self, names: Iterable[str], step: BindingSecond) -> list[str]:
        """The nodes of these that may have been late in this second."""
        return [
            name
            for name in names
            if self._first_pod.get(name, _NEVER) > step.second and self._changed_later(self._nodes[name], step)
        ]

    def _changed_later(self, node: Node, step: BindingSecond) -> bool:
        written = [version_of(each.pod.metadata) for each in step.tried]
        # A pod's version is that of its last change, which is after its binding.
        if all(written) and version_of(node.metadata) > min(written):
            return True
        return any(at >= step.second for at in _changes(node))


def _changes(node: Node) -> Iterator[float]:
    """The times at which the node was created and last became ready."""
    if node.metadata.creation_timestamp:
        yield parse_time(node.metadata.creation_timestamp)
    for condition in node.status.conditions:
        if condition.type == "Ready" and condition.last_transition_time:
            yield parse_time(condition.last_transition_time)


def assumption(names: Sequence[str]) -> str:
    took = "took no pods yet: it holds none of that time and was changed later"
    if len(names) > 1:
        took = "took no pods yet: they hold none of that time and were changed later"
    return f"{', '.join(names)} {took}" if names else ""
