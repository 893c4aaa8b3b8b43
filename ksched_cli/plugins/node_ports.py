"""NodePorts: host ports that another pod of the node holds."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from ksched_cli.api.pod_facts import holds_place
from ksched_cli.cluster.pod_info import PodInfo, PodInfoRules, host_ports_of
from ksched_cli.cluster.ports import ANY_ADDRESS, HostPort, PortIndex
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, Status, error, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.blocking_pods import pods_that

WantedPorts = tuple[HostPort, ...]


class NodePorts(PreFilterPlugin[WantedPorts], FilterPlugin[WantedPorts]):
    name = "NodePorts"
    lasting = True
    summary = "Rejects nodes where a host port that the pod wants is taken."
    events = (ClusterEvent("Pod", Action.DELETE), ClusterEvent("Node", Action.ADD))

    def is_schedulable_after(self, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        """A pod that held one of the ports is gone."""
        if event.resource == "Node":
            return True
        freed = PortIndex()
        freed.take(0, host_ports_of(old, sidecars=PodInfoRules.of(self.handle.release).sidecar_ports_count))
        return holds_place(old) and bool(freed.conflicts(pod.host_ports, 1)[0])

    def pre_filter(self, pod: PodInfo) -> PreFilterResult[WantedPorts] | Status:
        return PreFilterResult(pod.host_ports) if pod.host_ports else SKIP

    def filter(self, state: WantedPorts | None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        if state is None:
            # A profile may switch off PreFilter and leave Filter on; kube-scheduler has nothing to go by then.
            return Verdict.from_statuses(
                [error('reading "PreFilterNodePorts" from cycleState: not found')] * len(nodes)
            )
        taken = nodes.cluster.usage.ports.conflicts(state, len(nodes.cluster.nodes))
        return Verdict.rejecting(
            nodes.take(taken), unschedulable("node(s) didn't have free ports for the requested pod ports")
        )

    def sign(self, pod: PodInfo) -> Hashable:
        return pod.host_ports

    def explain(self, state: WantedPorts | None, pod: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The ports that are taken, and by whom."""
        row, cluster = int(nodes.rows[index]), nodes.cluster
        clashing = [port for port in pod.host_ports if cluster.usage.ports.conflicts([port], len(cluster.nodes))[row]]
        return {
            "ports": [
                {
                    "port": f"{port.address}:{port.port}/{port.protocol}",
                    "heldBy": pods_that(cluster, [row], partial(_clashes, port)),
                }
                for port in clashing
            ]
        }


def _clashes(wanted: HostPort, other: PodInfo) -> bool:
    return any(
        (port.protocol, port.port) == (wanted.protocol, wanted.port)
        and (port.address == wanted.address or ANY_ADDRESS in (port.address, wanted.address))
        for port in other.host_ports
    )


PLUGINS = (NodePorts,)
