"""NodePorts: rejects nodes where a pod holds a host port that the pod wants (nodeports/node_ports.go). Ports clash if
protocol and number are equal and the addresses are equal or one of them stands for all. Which containers count differs
between minors (`PodInfoRules`). Ports of processes outside of pods are unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import drop
from ksched_cli.api.object_facts import holds_place
from ksched_cli.cluster.pod_info import ANY_ADDRESS, HostPort, PodInfo, PortIndex, host_ports_of
from ksched_cli.errors import named
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.reasons import (
    C,
    FieldPath,
    Figures,
    Reason,
    ReasonCode,
    ReasonKind,
    ReasonTable,
    RejectedPod,
    RejectionGuide,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, Status, error, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec, pods_that
from ksched_cli.releases.engine_rules import PodInfoRules

WantedPorts = tuple[HostPort, ...]

_PORT_TAKEN = ReasonCode(
    "KS110",
    "host-port-taken",
    "the host port is taken on the nodes",
    "A host port can be held by one pod a node. Two replicas never share a node, and an old pod keeps its port until "
    "it is gone.",
    ("use a Service instead of a host port", "run as many replicas as nodes at most", "let old pods go first"),
)


def _port_field(pod: Pod, reasons: Sequence[Reason], detail: Detail) -> FieldPath:
    """The first host port that is taken."""
    taken = {int(each["port"].rpartition(":")[2].split("/")[0]) for each in detail.get("ports", ())}
    for index, container in enumerate(pod.spec.containers):
        for at, port in enumerate(container.ports):
            if port.host_port and (port.host_port in taken or not taken):
                return ("spec", "containers", index, "ports", at, "hostPort")
    return ("spec", "containers")


class NodePortsReasons(ReasonTable, plugins="NodePorts"):
    port_taken = ReasonKind(
        "node(s) didn't have free ports for the requested pod ports",
        _PORT_TAKEN,
        field=_port_field,
        problem="have its host port taken",
    )


class PortsGuide(RejectionGuide):
    ends_without_pods = True
    easily_mended = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(
            f"host port {_short(each['port'])} is held by {named(each['heldBy']) or 'another pod'}"
            for each in figures["ports"]
        )

    describe_briefly = describe

    def describe_nodes(self, figures: Sequence[Figures]) -> str:
        """Each node has a holder of its own."""
        texts = set(map(self.describe, figures))
        taken = {f"host port {', '.join(_short(each['port']) for each in of['ports'])} taken" for of in figures}
        return texts.pop() if len(texts) == 1 else taken.pop() if len(taken) == 1 else ""

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        return (f"have host port {_short(each['port'])} taken" for each in figures.get("ports", ()))

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        taken = {each["port"] for each in figures["ports"]}
        changes = []
        for index, container in enumerate(place.pod.spec.containers):
            for number, port in enumerate(container.ports):
                name = f"{port.host_ip or ANY_ADDRESS}:{port.host_port}/{port.protocol or 'TCP'}"
                if name in taken:
                    operation = drop("spec", "containers", index, "ports", number, "hostPort")
                    changes.append(place.patch(f"do without host port {_short(name)}", "host port", 4.5, operation))
        if len(changes) >= len(taken) and not place.pod.spec.host_network:
            yield changes
        yield place.remove({holder for each in figures["ports"] for holder in each["heldBy"]})


def _short(port: str) -> str:
    return port.removeprefix(f"{ANY_ADDRESS}:")


class NodePorts(PreFilterPlugin[WantedPorts], FilterPlugin[WantedPorts]):
    name = "NodePorts"
    summary = "Rejects nodes where a host port that the pod wants is taken."
    events = (ClusterEvent("Pod", Action.DELETE), ClusterEvent("Node", Action.ADD))

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        """A pod that held one of the ports is gone."""
        if event.resource == "Node":
            return True
        freed = PortIndex()
        freed.take(0, host_ports_of(old, sidecars=PodInfoRules.of(self.handle.release).sidecar_ports_count))
        return holds_place(old) and bool(freed.conflicts(info.host_ports, 1)[0])

    def pre_filter(self, info: PodInfo) -> PreFilterResult[WantedPorts] | Status:
        return PreFilterResult(info.host_ports) if info.host_ports else SKIP

    def filter(self, state: WantedPorts | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        if state is None:
            # A profile may switch off PreFilter and leave Filter on; kube-scheduler has nothing to go by then.
            return Verdict.of_all(len(nodes), error('reading "PreFilterNodePorts" from cycleState: not found'))
        taken = nodes.cluster.usage.ports.conflicts(state, len(nodes.cluster.nodes))
        return Verdict.rejecting(nodes.take(taken), unschedulable(NodePortsReasons.port_taken()))

    def depends(self, info: PodInfo) -> Depends:
        ports = info.parts.host_ports
        return Depends("pods on the node", ports) if ports else NOTHING

    def explain(self, state: WantedPorts | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The ports that are taken, and by whom."""
        row, cluster = int(nodes.rows[index]), nodes.cluster
        clashing = [port for port in info.host_ports if cluster.usage.ports.conflicts([port], len(cluster.nodes))[row]]
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


SPEC = Spec(plugins=(NodePorts,), reasons=(NodePortsReasons,), guide=PortsGuide())
