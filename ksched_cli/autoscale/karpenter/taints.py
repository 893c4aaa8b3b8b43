"""Taints and tolerations as Karpenter reads them (pkg/scheduling/taints.go). Unlike for kube-scheduler,
PreferNoSchedule rejects a node until the preference is relaxed."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ksched_cli.api.core import Taint, Toleration
from ksched_cli.api.selectors import tolerates

Taints = tuple[Taint, ...]
Tolerations = tuple[Toleration, ...]

# KnownEphemeralTaints: Karpenter expects that these go away while a node starts.
_EPHEMERAL = frozenset(
    {
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoSchedule"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
        ("karpenter.sh/unregistered", "NoExecute"),
    }
)
_EPHEMERAL_PREFIX = "readiness.k8s.io/"
_PREFER_NO_SCHEDULE = "PreferNoSchedule"


def untolerated(taints: Iterable[Taint], tolerations: Collection[Toleration]) -> list[Taint]:
    """Taints.Tolerates: the taints that nothing tolerates. Each effect counts, also PreferNoSchedule."""
    return [taint for taint in taints if not any(tolerates(each, taint, comparison=True) for each in tolerations)]


def lasting(taints: Iterable[Taint], startup_taints: Iterable[Taint]) -> Taints:
    """The taints that a starting node keeps: not those that its controllers remove."""
    passing = {(each.key, each.effect) for each in startup_taints} | _EPHEMERAL
    return tuple(
        each for each in taints if (each.key, each.effect) not in passing and not each.key.startswith(_EPHEMERAL_PREFIX)
    )


def with_preferences_tolerated(tolerations: Tolerations) -> Tolerations | None:
    """toleratePreferNoScheduleTaints: with a toleration for all PreferNoSchedule taints, None if there is one."""
    if any((each.key, each.operator, each.value, each.effect) == _ADDED for each in tolerations):
        return None
    return (*tolerations, Toleration(operator="Exists", effect=_PREFER_NO_SCHEDULE))


_ADDED = ("", "Exists", "", _PREFER_NO_SCHEDULE)
