"""Checks the connection to the API server and the leader election. They decide nothing about pods, but kube-scheduler
refuses a file for their mistakes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ksched_cli.config.durations import parse_duration
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.minors import Release

Complaint = tuple[str, str]

LOCK = "leases"
# Locks that older minors allow, too.
_OLD_LOCKS = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")
# The fields of the addresses at which kube-scheduler serves without encryption.
ADDRESSES = ("healthzBindAddress", "metricsBindAddress")
_DEFAULTS = {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"}


class LeaderElection(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    leader_elect: bool | None = None
    lease_duration: str = ""
    renew_deadline: str = ""
    retry_period: str = ""
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnection(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 0.0
    burst: int = 0


def leader_election_complaints(election: LeaderElection, release: Release) -> Iterator[Complaint]:
    """ValidateLeaderElectionConfiguration, after defaults. Without an election nothing of it is looked at."""
    given_texts = (election.lease_duration, election.renew_deadline, election.retry_period)
    texts = dict(zip(_DEFAULTS, given_texts, strict=True))
    given = {name: parse_duration(text) if text else 0.0 for name, text in texts.items()}
    unread = [name for name, seconds in given.items() if seconds is None]
    yield from ((name, f"{texts[name]!r} is not a duration, such as 15s or 1m30s") for name in unread)
    if election.leader_elect is False or unread:
        return
    seconds = {name: given[name] or parse_duration(default) or 0.0 for name, default in _DEFAULTS.items()}
    yield from ((name, f"{texts[name]} is not greater than zero") for name, length in seconds.items() if length <= 0)
    if seconds["leaseDuration"] <= seconds["renewDeadline"]:
        lease, renew = (texts[name] or _DEFAULTS[name] for name in ("leaseDuration", "renewDeadline"))
        yield "leaseDuration", f"{lease} is not greater than renewDeadline, {renew}"
    locks = (LOCK, *_OLD_LOCKS) if ConfigurationRules.of(release).locks_other_than_leases else (LOCK,)
    if election.resource_lock not in ("", *locks):
        allowed = " or ".join(f'"{each}"' for each in locks)
        yield "resourceLock", f"{election.resource_lock!r} must be {allowed}"


def address_complaints(addresses: Mapping[str, str | None], release: Release) -> Iterator[Complaint]:
    """Complaints where the minor has no port without encryption: an address must be empty or have port 0."""
    if not ConfigurationRules.of(release).serves_http:
        for name, address in addresses.items():
            if address and not _is_no_port(address):
                yield name, f"{address!r} must be empty, or an address with port 0"


def _is_no_port(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return port == "0"
