"""Pods that wait for a place that preemption made for them (backend/queue.nominator). Each nomination changes the
journal of the cluster, so that results about the node are computed again."""

from __future__ import annotations

from collections.abc import Collection

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.undo import LoggedDict


class NominatedPods:
    """Pod rows by the name of the node they are nominated to, in the order of nomination. What is known of a node
    depends on them too: the cluster's journal gets an entry when one comes or goes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._by_node: dict[str, dict[int, None]] = LoggedDict(cluster.undo)
        self._node_of: dict[int, str] = LoggedDict(cluster.undo)

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
        if node not in self._by_node:
            self._by_node[node] = LoggedDict(self._cluster.undo)
        self._by_node[node][pod_row] = None
        self._node_of[pod_row] = node
        self._cluster.touch(node)

    def follow_status(self, pod_row: int, node: str) -> None:
        """addNominatedPod for a pod that comes from the API server: as its status has it."""
        self.delete(pod_row)
        if node:
            self.add(pod_row, node)

    def update(self, pod_row: int, before: str, now: str) -> None:
        """UpdateNominatedPod: an update without a nomination does not end the one that is stored here,
        for it may have been under way when the pod was nominated."""
        if before or now:
            self.follow_status(pod_row, now)

    def known(self) -> dict[int, str]:
        """Every nominated pod and its node, as of now."""
        return dict(self._node_of)

    def delete(self, pod_row: int) -> None:
        """DeleteNominatedPodIfExists."""
        node = self._node_of.pop(pod_row, None)
        if node is None:
            return
        self._cluster.touch(node)
        waiting = self._by_node[node]
        del waiting[pod_row]
        if not waiting:
            del self._by_node[node]
