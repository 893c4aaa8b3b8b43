"""Nodes that exist or are starting, as rows: which of them takes a pod first.

Mirrors existingnode.go. A label that a node does not have is missing, also a well-known one; what a pod requires of it
becomes part of the node's requirements, so that a pod with NotIn on a label defines the label for the pods that follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.api.core import Pod
from ksched_cli.autoscale.karpenter.daemons import DaemonPod
from ksched_cli.autoscale.karpenter.host_ports import HostPortUsage, held_ports_of
from ksched_cli.autoscale.karpenter.pods import PendingPod, Stage
from ksched_cli.autoscale.karpenter.requirements import HOSTNAME, LabelRequirements, States
from ksched_cli.autoscale.karpenter.resources import Columns, ResourceAmount, requests_for_pods, subtracted
from ksched_cli.autoscale.karpenter.state import StateNode, is_owned_by
from ksched_cli.autoscale.karpenter.taints import Taints
from ksched_cli.autoscale.karpenter.topology import Hosts, TopologyRules
from ksched_cli.autoscale.karpenter.volumes import Volumes, VolumeUsage


class ExistingNode(Struct, eq=False):
    """One node. `pods`: those that were added."""

    row: int
    node: StateNode
    host: int
    state: LabelRequirements
    taints: Taints
    ports: HostPortUsage
    volumes: VolumeUsage
    pods: list[PendingPod] = []


class NodePods(Struct):
    """The pods that hold resources of one node, with their claims by CSI driver, and the limits of the drivers."""

    pods: Sequence[tuple[Pod, Volumes]] = ()
    volume_limits: Mapping[str, int] = {}


class ExistingNodes:
    """All nodes, initialized ones first, then by name (sortExistingNodes)."""

    def __init__(
        self,
        nodes: Iterable[tuple[StateNode, NodePods]],
        daemons: Sequence[DaemonPod],
        states: States,
        topology: TopologyRules,
        hosts: Hosts,
        columns: Columns,
    ) -> None:
        self._states, self._topology, self._hosts = states, topology, hosts
        ordered = sorted(nodes, key=lambda each: (not each[0].is_initialized, each[0].name))
        self.nodes: list[ExistingNode] = []
        left = np.zeros((len(ordered), len(columns.names)), np.int64)
        overcommitted = []
        for row, (node, on_node) in enumerate(ordered):
            free = _free(node, on_node, daemons)
            left[row] = columns.vector(free)
            overcommitted.append(any(each.milli < 0 for each in free.values()))
            ports, volumes = HostPortUsage(), VolumeUsage(on_node.volume_limits)
            for pod, claims in on_node.pods:
                ports.set((pod.metadata.namespace, pod.metadata.name), held_ports_of(pod))
                volumes.add(claims)
            state = states.numbered(LabelRequirements.of_labels(node.labels).without(HOSTNAME))
            host = hosts.number(node.hostname)
            self.nodes.append(ExistingNode(row, node, host, state, node.taints, ports, volumes, []))
            hosts.register(host)
        self._left = left
        # A node with less than nothing of some resource fits no pod.
        self._closed = np.array(overcommitted, bool)
        self._state_of: NDArray[np.int64] = np.array([each.state.number for each in self.nodes], np.int64)
        self._host_of: NDArray[np.int64] = np.array([each.host for each in self.nodes], np.int64)
        self._distinct_taints = list(dict.fromkeys(each.taints for each in self.nodes))
        self._taints_of = np.array([self._distinct_taints.index(each.taints) for each in self.nodes], np.int64)

    def first(self, pod: PendingPod, stage: Stage) -> tuple[ExistingNode, LabelRequirements] | None:
        """The first node that takes the pod, and its requirements then (addToExistingNode)."""
        if not self.nodes:
            return None
        may = ~self._closed & (self._left >= pod.of.requests).all(axis=1)
        tolerated = np.array([not stage.untolerated(taints) for taints in self._distinct_taints], bool)
        may &= tolerated[self._taints_of] & stage.compatible_with(self._state_of, strict=True)
        allowed = self._topology.allowed_hosts(pod.of, stage, self._host_of)
        rows = np.flatnonzero(may if allowed is None else may & allowed)
        is_alike = stage.hostname is None and not pod.of.volumes.alternatives
        while len(rows):
            node = self.nodes[rows[0]]
            if node.volumes.exceeds_limits(pod.of.volumes.claims) or (
                pod.of.ports and node.ports.conflict(pod.key, pod.of.ports) is not None
            ):
                rows = rows[1:]
                continue
            state = self._after(node, pod, stage)
            if state is not None:
                return node, state
            # Nodes of equal requirements refuse the pod alike.
            rows = rows[self._state_of[rows] != self._state_of[rows[0]]] if is_alike else rows[1:]
        return None

    def _after(self, node: ExistingNode, pod: PendingPod, stage: Stage) -> LabelRequirements | None:
        """The second half of CanAdd: the requirements of the node with the pod, None if they cannot be met."""
        name = self._hosts.names[node.host]
        base = self._states.added(node.state, stage.requirements, strict=True)
        if base is None or (stage.hostname is not None and not stage.hostname.has(name)):
            return None
        for volumes in pod.of.volumes.alternatives or (None,):
            before = self._topology.with_volumes(base, volumes, node.host, strict=True)
            if before is not None:
                found, _ = self._topology.narrowed(pod.of, stage, before, node.host, strict=True)
                if found is not None:
                    return found
        return None

    def add(self, node: ExistingNode, pod: PendingPod, state: LabelRequirements) -> None:
        node.pods.append(pod)
        self._left[node.row] -= pod.of.requests
        node.state = state
        self._state_of[node.row] = state.number
        self._topology.record(pod.of, node.taints, state, node.host)
        node.ports.set(pod.key, pod.of.ports)
        node.volumes.add(pod.of.volumes.claims)


def _free(node: StateNode, on_node: NodePods, daemons: Sequence[DaemonPod]) -> dict[str, ResourceAmount]:
    """What the node has for more pods: without its pods, and without the DaemonSet pods that are still to come."""
    taints, labels = node.taints, LabelRequirements.of_labels(node.labels)
    pods = [pod for pod, _ in on_node.pods]
    running = requests_for_pods(pod for pod in pods if is_owned_by(pod, "apps/v1", "DaemonSet"))
    to_come = subtracted(requests_for_pods(each.pod for each in daemons if each.runs_on(taints, labels)), running)
    missing = {name: ResourceAmount(max(each.milli, 0), each.form) for name, each in to_come.items()}
    available = subtracted(node.allocatable, requests_for_pods(pods)) if pods else node.allocatable
    return subtracted(available, missing)
