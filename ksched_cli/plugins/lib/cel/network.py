"""Kubernetes' ip() and cidr() in device selectors (apiserver's cel/library: ip.go, cidr.go)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, ClassVar

from ksched_cli.plugins.lib.cel.values import CelError, CelType, need, succeeds

_LINK_LOCAL_4, _LINK_LOCAL_6 = ip_network("169.254.0.0/16"), ip_network("fe80::/10")
_LOCAL_CONTROL_4 = ip_network("224.0.0.0/24")
_BROADCAST = IPv4Address("255.255.255.255")


@dataclass(frozen=True, slots=True)
class Address(CelType):
    """net.IP."""

    type_name: ClassVar[str] = "net.IP"
    value: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Network(CelType):
    """net.CIDR: an address, which may have bits after the mask, and how many bits the mask has."""

    type_name: ClassVar[str] = "net.CIDR"
    address: Address
    bits: int

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def masked(self) -> Network:
        whole = ip_network(str(self), strict=False)
        return Network(Address(whole.network_address), self.bits)

    def holds(self, address: Address) -> bool:
        return Network(address, self.bits).masked() == self.masked() if self._alike(address) else False

    def covers(self, other: Network) -> bool:
        return self.bits <= other.bits and self.holds(other.address)

    def _alike(self, address: Address) -> bool:
        return self.address.value.version == address.value.version


def _parsed(text: str) -> IPv4Address | IPv6Address | str:
    """The address, or the error of netip.ParseAddr."""
    try:
        return ip_address(text)
    except ValueError:
        return f'ParseAddr("{text}"): {_reason(text)}'


def _reason(text: str) -> str:
    if ":" in text or "." not in text:
        return "unable to parse IP" if ":" not in text else "unexpected character"
    fields = text.split(".")
    if any(field and not field.isdigit() for field in fields):
        return "unexpected character"
    if "" in fields:
        return "IPv4 field must have at least one digit"
    if any(len(field) > 1 and field[0] == "0" for field in fields):
        return "IPv4 field has octet with leading zero"
    if any(int(field) > 255 for field in fields):
        return "IPv4 field has value >255"
    return "IPv4 address too long" if len(fields) > 4 else "IPv4 address too short"


def to_address(text: Any) -> Address:
    found = _parsed(need(text, str))
    if isinstance(found, str):
        raise CelError(f'IP Address "{text}" parse error during conversion from string: {found}')
    if isinstance(found, IPv6Address) and found.scope_id:
        raise CelError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Address(found)


def to_network(text: Any) -> Network:
    start = "network address parse error during conversion from string: "
    written, slash, mask = need(text, str).rpartition("/")
    if not slash:
        raise CelError(f"{start}{start}netip.ParsePrefix(\"{text}\"): no '/'")
    found = _parsed(written)
    if isinstance(found, str):
        raise CelError(f'{start}{start}netip.ParsePrefix("{text}"): {found}')
    if not mask.isdigit() or (len(mask) > 1 and mask[0] == "0"):
        raise CelError(f'{start}{start}netip.ParsePrefix("{text}"): bad bits after slash: "{mask}"')
    if int(mask) > found.max_prefixlen:
        raise CelError(f'{start}{start}netip.ParsePrefix("{text}"): prefix length out of range')
    if isinstance(found, IPv6Address) and found.scope_id:
        raise CelError(f'{start}{start}netip.ParsePrefix("{text}"): IPv6 zones cannot be present in a prefix')
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        raise CelError(f'{start}IPv4-mapped IPv6 address "{text}" is not allowed')
    return Network(Address(found), int(mask))


def _is_link_local(address: IPv4Address | IPv6Address) -> bool:
    return address in (_LINK_LOCAL_4 if address.version == 4 else _LINK_LOCAL_6)


def _is_link_local_multicast(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in _LOCAL_CONTROL_4
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    """netip.Addr.IsGlobalUnicast, which includes private addresses."""
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address == _BROADCAST
    return not special and not _is_link_local(address)


def _contains_address(network: Any, other: Any) -> bool:
    wanted: Address = to_address(other) if isinstance(other, str) else need(other, Address)
    return bool(need(network, Network).holds(wanted))


def _contains_network(network: Any, other: Any) -> bool:
    wanted: Network = to_network(other) if isinstance(other, str) else need(other, Network)
    return bool(need(network, Network).covers(wanted))


NETWORK_GLOBAL: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "ip": (to_address, (1,)),
    "isIP": (succeeds(to_address), (1,)),
    "cidr": (to_network, (1,)),
    "isCIDR": (succeeds(to_network), (1,)),
}
NETWORK_METHODS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "family": (lambda value: need(value, Address).value.version, (0,)),
    "isUnspecified": (lambda value: need(value, Address).value.is_unspecified, (0,)),
    "isLoopback": (lambda value: need(value, Address).value.is_loopback, (0,)),
    "isLinkLocalMulticast": (lambda value: _is_link_local_multicast(need(value, Address).value), (0,)),
    "isLinkLocalUnicast": (lambda value: _is_link_local(need(value, Address).value), (0,)),
    "isGlobalUnicast": (lambda value: _is_global(need(value, Address).value), (0,)),
    "containsIP": (_contains_address, (1,)),
    "containsCIDR": (_contains_network, (1,)),
    "ip": (lambda value: need(value, Network).address, (0,)),
    "prefixLength": (lambda value: need(value, Network).bits, (0,)),
    "masked": (lambda value: need(value, Network).masked(), (0,)),
}
NETWORK_QUALIFIED: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "ip.isCanonical": (lambda text: str(to_address(text)) == text, (1,))
}
