"""What the room of a plugin declares in one place (`Spec`), and helpers for the figures of a rejection that several
rooms share. The registry, `explain` and the table of codes read the declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, field

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.framework.reasons import Reason, ReasonKind, ReasonTable, RejectionGuide


class Spec(Struct, frozen=True, kw_only=True):
    """A room. `plugins` have one class each; names, arguments, columns and minors stand there. `reasons` are the
    tables that the plugins take their reasons from. `narrowing` is the kind of reason by which a pod is rejected where
    the plugin alone leaves it no node in PreFilter."""

    plugins: tuple[type[Plugin], ...]
    reasons: tuple[type[ReasonTable], ...] = ()
    guide: RejectionGuide = field(default_factory=RejectionGuide)
    narrowing: ReasonKind | None = None


class ReasonError(Exception):
    """Something that the pod names cannot be used, for this reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


def shortage(requested: int, used: int, allocatable: int) -> dict[str, Any]:
    """The figures of a resource that a node has too little of."""
    free = allocatable - used
    return {"asked": requested, "used": used, "allocatable": allocatable, "free": free, "short": requested - free}


# So many are named; the others are counted.
NAMED = 5


def largest_blocking_pods(cluster: Cluster, row: int, resource: int) -> dict[str, Any]:
    """The pods that hold most of a resource on a node, and what the others hold together."""
    held = [(dict(cluster.pods.infos[pod].requests).get(resource, 0), pod) for pod in cluster.pods_on(row)]
    held = sorted((each for each in held if each[0]), key=lambda each: (-each[0], cluster.pods.infos[each[1]].key))
    found: dict[str, Any] = {
        "heldBy": [{"pod": cluster.pods.infos[pod].key, "amount": amount} for amount, pod in held[:NAMED]]
    }
    if len(held) > NAMED:
        found["heldByOthers"] = {"pods": len(held) - NAMED, "amount": sum(amount for amount, _ in held[NAMED:])}
    return found


def pods_that(cluster: Cluster, rows: Iterable[int], holds: Callable[[PodInfo], bool]) -> list[str]:
    """The first few pods on these nodes for which `holds` is true."""
    found: list[str] = []
    for row in rows:
        for pod in cluster.pods_on(row):
            if holds(cluster.pods.infos[pod]):
                found.append(cluster.pods.infos[pod].key)
                if len(found) == NAMED:
                    return found
    return found
