"""Device taints and what tolerates them (resourceclaim.ToleratesTaint)."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.api.dynamic_resources import DeviceTaint, DeviceToleration

# Other effects keep no pod away.
_PREVENTING = frozenset({"NoSchedule", "NoExecute"})


def taint_prevents_allocation(taints: Iterable[DeviceTaint], tolerations: Iterable[DeviceToleration]) -> bool:
    return any(
        taint.effect in _PREVENTING and not any(tolerates_device_taint(toleration, taint) for toleration in tolerations)
        for taint in taints
    )


def tolerates_device_taint(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """An empty effect or key stands for all, an empty operator for Equal."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
