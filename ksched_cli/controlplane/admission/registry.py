"""What the registries of the API server refuse of an object because of others (pkg/registry): addresses and ports of
services that are taken or outside of the cluster's ranges (core/service/storage/alloc.go), families that the cluster
does not have, and admin access to devices (resource/utils.go). The expressions of device selectors belong here, too:
the API server compiles them before it stores an object.

The ranges are those of the ServiceCIDRs of the input, the families those of the ServiceCIDR that the API server makes
of its flags; without ServiceCIDRs both are those of the flag in the pod of kube-apiserver. The Service `kubernetes`
shows only the first family of a cluster. The range of node ports is in no object: it is the flag's, else the default
one, with the ports that services of the cluster have. What the input does not show is a gap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from ksched_cli.api.conversion import Path
from ksched_cli.api.dynamic_resources import DeviceClass, ResourceClaim, ResourceClaimTemplate
from ksched_cli.api.validation import checks
from ksched_cli.api.validation.errors import FieldError, forbidden, invalid
from ksched_cli.api.validation.fields import items_at, number_at, object_at, text_at, texts_at
from ksched_cli.sources.loaded import ADDRESS_FLAG, NODE_PORT_FLAG, Identity

_OF_FLAGS = "kubernetes"
_MISMATCH = "the provided network does not match the current range"
_DEFAULT_PORTS = (30000, 32767)
_ADMIN_LABEL = "resource.kubernetes.io/admin-access"


def addresses_of(spec: Mapping[str, Any]) -> list[str]:
    """The valid addresses of a service, without None."""
    own = text_at(spec, "clusterIP")
    found = texts_at(spec, "clusterIPs") or ([own] if own else [])
    return [each for each in found if each and not checks.ip(each)] if text_at(spec, "type") != "ExternalName" else []


class ServiceRanges:
    """The ranges that are ready, and the families of the cluster; both are empty if the input has no ServiceCIDR and no
    flag. `ports` is the flag's range of node ports, None if that is not known."""

    def __init__(self, documents: Mapping[str, Mapping[str, Any]], flags: Mapping[str, str]) -> None:
        self.networks: list[IPv4Network | IPv6Network] = []
        self.families: set[str] = set()
        self.ports = _port_range(flags.get(NODE_PORT_FLAG, ""))
        if not documents and ADDRESS_FLAG in flags:
            documents = {_OF_FLAGS: {"spec": {"cidrs": flags[ADDRESS_FLAG].split(",")}}}
        for name, document in documents.items():
            written = texts_at(object_at(document, "spec"), "cidrs")
            found = [ip_network(each, strict=False) for each in written if not _is_wrong(each)]
            if name == _OF_FLAGS or _OF_FLAGS not in documents:
                self.families.update(f"IPv{each.version}" for each in found)
            if _is_ready(document):
                self.networks += found

    def has(self, address: str) -> bool:
        """PrefixContainsIP: neither the address of the network nor the last one of IPv4 belongs to services."""
        wanted = checks.parse_ip(address)
        return any(
            wanted in each
            and wanted != each.network_address
            and (each.version == 6 or wanted != each.broadcast_address)
            for each in self.networks
        )


def _is_wrong(network: str) -> bool:
    return any(not each.since for each in checks.network(network, ()))


def _port_range(text: str) -> tuple[int, int] | None:
    """PortRange.Set of apimachinery: `30000-32767`, `30000+2767`, or one port."""
    found = re.fullmatch(r"(\d{1,5})(?:([-+])(\d{1,5}))?", text.strip(), re.ASCII)
    if found is None:
        return None
    first, sign, second = int(found[1]), found[2], int(found[3] or 0)
    return first, {"-": second, "+": min(first + second, 65535)}.get(sign, first)


def _is_ready(document: Mapping[str, Any]) -> bool:
    if object_at(document, "metadata").get("deletionTimestamp"):
        return False
    conditions = [each for _, each in items_at(object_at(document, "status"), "conditions")]
    return all(text_at(each, "status") == "True" for each in conditions if text_at(each, "type") == "Ready")


class Allocations:
    """The addresses and node ports of services, in the order in which services are applied. The specs of the `services`
    of the cluster are read with the first one."""

    def __init__(self, ranges: ServiceRanges, services: Iterable[tuple[Identity, Mapping[str, Any]]]) -> None:
        self._ranges, self._services = ranges, services

    @cached_property
    def _specs(self) -> dict[Identity, Mapping[str, Any]]:
        return dict(self._services)

    @cached_property
    def known_ports(self) -> tuple[int, int]:
        """The range of node ports that is known or assumed. A service of the cluster with a port outside of the
        default range proves another one: then the ports between are assumed to belong to it."""
        if self._ranges.ports is not None:
            return self._ranges.ports
        taken = [port for spec in self._specs.values() for _, port in _node_ports(spec)]
        return min((_DEFAULT_PORTS[0], *taken)), max((_DEFAULT_PORTS[1], *taken))

    def new_ports(self, identity: Identity, spec: Mapping[str, Any]) -> dict[Path, int]:
        """The node ports that a service asks for and does not have, by their fields."""
        wanted = dict(_node_ports(spec))
        own = {port for _, port in _node_ports(self._specs.get(identity, {}))} if wanted else ()
        return {path: port for path, port in wanted.items() if port not in own}

    def refusals(self, identity: Identity, spec: Mapping[str, Any]) -> list[FieldError]:
        """Why the API server does not store a service with this spec; without a reason the service has it now."""
        before = self._specs.get(identity, {})
        found = [] if text_at(spec, "type") == "ExternalName" else [*self._families(spec, before)]
        if not found:
            found = [*self._addresses(identity, spec, before), *self._ports(identity, spec)]
        if not found:
            self._specs[identity] = spec
        return found

    def _families(self, spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[FieldError]:
        """initIPFamilyFields. A headless service without a selector may have every family."""
        known = self._ranges.families
        fields = ("ipFamilies", "ipFamilyPolicy", "clusterIPs")
        if not known or (before and all(spec.get(each) == before.get(each) for each in fields)):
            return
        families, addresses = texts_at(spec, "ipFamilies"), addresses_of(spec)
        for index, address in enumerate(addresses[len(families) :], start=len(families)):
            family = f"IPv{checks.parse_ip(address).version}"
            if family not in known:
                path = ("spec", "clusterIPs", index)
                yield invalid(path, addresses, f"{family} is not configured on this cluster")
        is_headless = "None" in (text_at(spec, "clusterIP"), *texts_at(spec, "clusterIPs"))
        if is_headless and not object_at(spec, "selector"):
            return
        if text_at(spec, "ipFamilyPolicy") == "RequireDualStack" and len(known) < 2:
            text = "this cluster is not configured for dual-stack services"
            yield invalid(("spec", "ipFamilyPolicy"), "RequireDualStack", text)
        for index, family in enumerate(families):
            if family not in known:
                yield invalid(("spec", "ipFamilies", index), family, "not configured on this cluster")

    def _addresses(
        self, identity: Identity, spec: Mapping[str, Any], before: Mapping[str, Any]
    ) -> Iterator[FieldError]:
        """allocIPs."""
        own = addresses_of(before)
        addresses = [each for each in addresses_of(spec) if each not in own]
        others = {checks.parse_ip(each) for found in self._others(identity, addresses) for each in addresses_of(found)}
        for address in addresses:
            reason = "provided IP is already allocated" if checks.parse_ip(address) in others else ""
            if not reason and self._ranges.networks and not self._ranges.has(address):
                reason = _MISMATCH
            if reason:
                yield invalid(("spec", "clusterIPs"), addresses, f"failed to allocate IP {address}: {reason}")

    def _ports(self, identity: Identity, spec: Mapping[str, Any]) -> Iterator[FieldError]:
        """updateNodePorts: a port belongs to one service, with all protocols. A port that stays is not allocated anew,
        and so may be outside of the range."""
        wanted = self.new_ports(identity, spec)
        others = {port for found in self._others(identity, wanted) for _, port in _node_ports(found)}
        for path, port in wanted.items():
            first, last = self.known_ports
            if not first <= port <= last:
                text = f"provided port is not in the valid range. The range of valid ports is {first}-{last}"
                yield invalid(path, port, text)
            elif port in others:
                yield invalid(path, port, "provided port is already allocated")

    def _others(self, identity: Identity, wanted: Collection[Any]) -> Iterator[Mapping[str, Any]]:
        """The other services, if anything is wanted."""
        yield from (spec for other, spec in self._specs.items() if other != identity) if wanted else ()


def _node_ports(spec: Mapping[str, Any]) -> Iterator[tuple[Path, int]]:
    """The node ports of a service with their fields. A load balancer that keeps to the node may have one for checks."""
    kind = text_at(spec, "type")
    for index, each in items_at(spec, "ports") if kind in ("NodePort", "LoadBalancer") else ():
        port = number_at(each, "nodePort")
        if port:
            yield ("spec", "ports", index, "nodePort"), port
    checked = number_at(spec, "healthCheckNodePort")
    if checked and kind == "LoadBalancer" and text_at(spec, "externalTrafficPolicy") == "Local":
        yield ("spec", "healthCheckNodePort"), checked


def refused_admin_access(item: Any, labels: Mapping[str, str]) -> Iterator[FieldError]:
    """AuthorizedForAdmin: the error of a claim or claim template whose namespace lacks the label."""
    for index in admin_requests(item)[:1] if labels.get(_ADMIN_LABEL) != "true" else ():
        text = f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
        yield forbidden((*_base_of(item), "devices", "requests", index, "exactly", "adminAccess"), text)


def admin_requests(item: Any) -> list[int]:
    """The requests with adminAccess of a claim or claim template."""
    if not isinstance(item, ResourceClaim | ResourceClaimTemplate):
        return []
    claim = item.spec.spec if isinstance(item, ResourceClaimTemplate) else item.spec
    requests = enumerate(claim.devices.requests)
    return [index for index, each in requests if each.exactly is not None and each.exactly.admin_access]


def wrong_expressions(item: Any, live: Any, gates: Collection[str]) -> Iterator[FieldError]:
    """validateCELSelector of the selectors of a device class, claim or claim template; expressions of the live object
    are valid."""
    if not isinstance(item, DeviceClass | ResourceClaim | ResourceClaimTemplate):
        return
    # Imported here: few runs have devices.
    from ksched_cli.plugins.lib.cel.expression import compile_cel_selector
    from ksched_cli.plugins.lib.cel.values import CelCompileError, CelNotModelled

    known = {expression for _, expression in _expressions(live)} if live is not None else ()
    for path, expression in _expressions(item):
        try:
            if expression not in known:
                compile_cel_selector(
                    expression, shareable="DRAConsumableCapacity" in gates, lists="DRAListTypeAttributes" in gates
                )
        except CelNotModelled:
            continue
        except CelCompileError as mistake:
            yield invalid(path, expression, str(mistake))


def _expressions(item: DeviceClass | ResourceClaim | ResourceClaimTemplate) -> Iterator[tuple[Path, str]]:
    """The expressions of selectors, each with its path."""
    places: list[tuple[Path, Any]] = [(("spec",), item.spec)] if isinstance(item, DeviceClass) else []
    if not isinstance(item, DeviceClass):
        claim = item.spec.spec if isinstance(item, ResourceClaimTemplate) else item.spec
        for index, request in enumerate(claim.devices.requests):
            here = (*_base_of(item), "devices", "requests", index)
            places += [((*here, "exactly"), request.exactly)] if request.exactly is not None else []
            places += [((*here, "firstAvailable", at), each) for at, each in enumerate(request.first_available)]
    for path, holder in places:
        for index, selector in enumerate(holder.selectors):
            if selector.cel is not None:
                yield (*path, "selectors", index, "cel", "expression"), selector.cel.expression


def _base_of(item: ResourceClaim | ResourceClaimTemplate) -> Path:
    """The path of the spec of the claim."""
    return ("spec", "spec") if isinstance(item, ResourceClaimTemplate) else ("spec",)


# The fields of a service that ranges decide, and whether a service has them.
_RANGED: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "clusterIP": lambda spec: bool(addresses_of(spec)),
    "ipFamilies": lambda spec: bool(spec.get("ipFamilies")) and text_at(spec, "type") != "ExternalName",
    "ipFamilyPolicy": lambda spec: text_at(spec, "ipFamilyPolicy") == "RequireDualStack",
}


def ranged_fields(spec: Mapping[str, Any]) -> list[str]:
    """The fields of a new service for which the API server looks at the ranges of the cluster."""
    return [name for name, has in _RANGED.items() if has(spec)]
