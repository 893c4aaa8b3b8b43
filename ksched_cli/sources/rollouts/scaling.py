"""Numbers and choices that the controllers share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ksched_cli.api.pod_facts import parse_time
from ksched_cli.api.workloads import IntOrPercent
from ksched_cli.sources.rollouts.rollout import Member

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def scaled(value: IntOrPercent, total: int, *, up: bool) -> int:
    """intstr.GetScaledValueFromIntOrPercent; nothing counts as 0."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    percent = int(value.removesuffix("%"))
    return -(-percent * total // 100) if up else percent * total // 100


def doomed(candidates: Sequence[Member], related: Sequence[Member], count: int) -> list[Member]:
    """getPodsToDelete: pods that are not placed or not ready go first, then the cheapest to delete, then those on
    nodes with most of the workload's other pods, then the youngest. Go compares ages in powers of two and then goes
    by uid; here the age itself and then the name decide."""
    beside = Counter(member.node for member in related if not member.leaving)

    def rank(member: Member) -> tuple[bool, bool, int, int, float, str]:
        metadata = member.pod.metadata
        cost = metadata.annotations.get(_DELETION_COST, "0")
        born = parse_time(metadata.creation_timestamp) if metadata.creation_timestamp else 0.0
        return (
            bool(member.node),
            member.available,
            int(cost) if cost.lstrip("-").isdecimal() else 0,
            -beside[member.node],
            -born,
            member.name,
        )

    return sorted(candidates, key=rank)[:count]


def release(members: Sequence[Member]) -> list[Member]:
    """They are told to go."""
    for member in members:
        member.leaving = True
    return list(members)
