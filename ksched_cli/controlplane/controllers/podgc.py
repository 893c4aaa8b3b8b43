"""The pod garbage collector (pkg/controller/podgc): pods of nodes that are gone, or that are out of service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import is_terminal, uid_of_pod
from ksched_cli.controlplane.work import Controller

# quarantineTime: how long a node has to be gone. The loop runs every 20 s, from a moment that no input contains.
QUARANTINE_SECONDS = 40.0
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class PodGarbageCollector(Controller):
    """Keys are names of nodes. Pods of nodes that were absent from the input stay: the input may hold pods only."""

    informers = (Node, Pod)
    pod_changes = frozenset(("created", "metadata", "other"))

    def concerned(self, old: Any, new: Any) -> Iterable[str]:
        if isinstance(old, Node) and new is None:
            self.queue.add_after(self, old.metadata.name, QUARANTINE_SECONDS)
        if isinstance(new, Node) and _is_out_of_service(new):
            return (new.metadata.name,)
        if isinstance(new, Pod) and new.metadata.deletion_timestamp is not None and new.spec.node_name:
            node = self.store.get(Node, new.spec.node_name)
            if node is not None and _is_out_of_service(node):
                return (node.metadata.name,)
        return ()

    def reconcile(self, key: str) -> None:
        node = self.store.get(Node, key)
        if node is None:
            self._force_delete(self.store.pods_on(key), f"node {key} no longer exists")
        elif _is_out_of_service(node):
            terminating = [pod for pod in self.store.pods_on(key) if pod.metadata.deletion_timestamp is not None]
            self._force_delete(terminating, f"node {key} is out of service")

    def _force_delete(self, pods: Iterable[Pod], why: str) -> None:
        """markFailedAndDeletePod."""
        for pod in pods:
            self.api.disrupted.add(uid_of_pod(pod))
            if not is_terminal(pod):
                pod = self.api.update(replace(pod, status=replace(pod.status, phase="Failed")))
            self.api.delete(pod, grace=0, why=why)


def _is_out_of_service(node: Node) -> bool:
    """gcTerminating: a node that is not ready and has the out-of-service taint."""
    if _OUT_OF_SERVICE not in [taint.key for taint in node.spec.taints]:
        return False
    return not any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)
