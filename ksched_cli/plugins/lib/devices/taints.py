"""Device taints and what tolerates them (resourceclaim.ToleratesTaint)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ksched_cli.api.dynamic_resources import DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceSlice

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


def with_taint_rules(resource_slice: ResourceSlice, rules: Sequence[DeviceTaintRule]) -> ResourceSlice:
    """The slice with the taints that DeviceTaintRules add to its devices (Tracker.applyPatches). A rule without a
    selector selects every device, as in kube-scheduler."""
    spec, added = resource_slice.spec, [rule.spec for rule in rules if _covers(rule, resource_slice)]
    if not added:
        return resource_slice
    devices = []
    for device in spec.devices:
        names = ((each.taint, each.device_selector.device if each.device_selector else None) for each in added)
        taints = tuple(taint for taint, name in names if name in (None, device.name))
        devices.append(replace(device, taints=(*device.taints, *taints)) if taints else device)
    return replace(resource_slice, spec=replace(spec, devices=tuple(devices)))


def _covers(rule: DeviceTaintRule, resource_slice: ResourceSlice) -> bool:
    selector, spec = rule.spec.device_selector, resource_slice.spec
    if selector is None:
        return True
    return selector.driver in (None, spec.driver) and selector.pool in (None, spec.pool.name)
