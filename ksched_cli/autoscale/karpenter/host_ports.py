"""Host ports of the pods on one node (pkg/scheduling/hostportusage.go). It is Karpenter's own rule, which may differ
from that of kube-scheduler: ports of init containers do not count."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from msgspec import Struct

from ksched_cli.api.core import Pod

PodKey = tuple[str, str]


class HeldPort(Struct, frozen=True):
    ip: str
    port: int
    protocol: str

    def matches(self, other: HeldPort) -> bool:
        """Two ports of one protocol and number clash where their addresses are equal or one is unspecified."""
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        own, others = _address(self.ip), _address(other.ip)
        return own == others or any(each is not None and each.is_unspecified for each in (own, others))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """net.ParseIP: an IPv4 address in IPv6 is that IPv4 address."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found


def held_ports_of(pod: Pod) -> tuple[HeldPort, ...]:
    """GetHostPorts: ports of containers, not of init containers. No address means all addresses."""
    return tuple(
        HeldPort(port.host_ip or "0.0.0.0", port.host_port, port.protocol or "TCP")
        for container in pod.spec.containers
        for port in container.ports
        if port.host_port
    )


class HostPortUsage:
    """The host ports that pods hold on a node, by pod."""

    __slots__ = ("_reserved",)

    def __init__(self, reserved: dict[PodKey, tuple[HeldPort, ...]] | None = None) -> None:
        self._reserved = dict(reserved or {})

    def copy(self) -> HostPortUsage:
        return HostPortUsage(self._reserved)

    def set(self, pod: PodKey, ports: tuple[HeldPort, ...]) -> None:
        """The ports of a pod replace those that were set under its name."""
        if ports or pod in self._reserved:
            self._reserved[pod] = ports

    def conflict(self, pod: PodKey, ports: Iterable[HeldPort]) -> tuple[HeldPort, HeldPort] | None:
        """A port of the pod, and that of another pod with which it clashes."""
        for port in ports:
            for holder in sorted(self._reserved):
                for existing in self._reserved[holder]:
                    if holder != pod and port.matches(existing):
                        return port, existing
        return None
