"""Pods that wait for a place that preemption made for them (backend/queue.nominator)."""

from __future__ import annotations

from collections.abc import Collection


class NominatedPods:
    """Pod rows by the name of the node they are nominated to, in the order of nomination."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[int, None]] = {}
        self._node_of: dict[int, str] = {}
        self.changes: list[str] = []

    def nominated_on(self, node: str) -> Collection[int]:
        return self._by_node.get(node, {}).keys()

    def nodes(self) -> Collection[str]:
        return self._by_node.keys()

    def node_of(self, pod_row: int) -> str:
        """The node that the pod is nominated to, or an empty string."""
        return self._node_of.get(pod_row, "")

    def add(self, pod_row: int, node: str) -> None:
        """AddNominatedPod: a pod is nominated to one node at most, the latest."""
        self.delete(pod_row)
        self._by_node.setdefault(node, {})[pod_row] = None
        self._node_of[pod_row] = node
        self.changes.append(node)

    def delete(self, pod_row: int) -> None:
        """DeleteNominatedPodIfExists."""
        node = self._node_of.pop(pod_row, None)
        if node is None:
            return
        self.changes.append(node)
        waiting = self._by_node[node]
        del waiting[pod_row]
        if not waiting:
            del self._by_node[node]
