"""How kube-scheduler talks to the API server and takes turns with its like. None of it decides where a pod goes; it is
read so that a file is refused for what kube-scheduler refuses it for."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ksched_cli.config.durations import parse

Complaint = tuple[str, str]

_LOCK = "leases"
_LEASE, _RENEW, _RETRY = "15s", "10s", "2s"


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


def leader_election_complaints(election: LeaderElection) -> Iterator[Complaint]:
    """ValidateLeaderElectionConfiguration, after defaults. Without an election nothing of it is looked at."""
    texts = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    given = {name: parse(text) if text else 0.0 for name, text in texts.items()}
    unread = [name for name, seconds in given.items() if seconds is None]
    yield from ((name, f"{texts[name]!r} is not a duration, such as 15s or 1m30s") for name in unread)
    if election.leader_elect is False or unread:
        return
    defaults = {"leaseDuration": _LEASE, "renewDeadline": _RENEW, "retryPeriod": _RETRY}
    seconds = {name: given[name] or parse(default) or 0.0 for name, default in defaults.items()}
    yield from ((name, f"{texts[name]} is not greater than zero") for name, length in seconds.items() if length <= 0)
    if seconds["leaseDuration"] <= seconds["renewDeadline"]:
        lease, renew = (texts[name] or defaults[name] for name in ("leaseDuration", "renewDeadline"))
        yield "leaseDuration", f"{lease} is not greater than renewDeadline, {renew}"
    if election.resource_lock not in ("", _LOCK):
        yield "resourceLock", f'{election.resource_lock!r} must be "{_LOCK}"'


def client_connection_complaints(connection: ClientConnection) -> Iterator[Complaint]:
    if connection.burst < 0:
        yield "burst", f"{connection.burst} is negative"
