"""How much of a device's capacity a request takes (consumable_capacity.go)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ksched_cli.api.dynamic_resources import Device, DeviceCapacity
from ksched_cli.api.quantity import parse_quantity, whole
from ksched_cli.plugins.lib.devices.claims import Capacity

_NONE: Mapping[str, Fraction] = {}
# The parts of a unit in which ranges are counted: with the gate DRAFractionalCapacityRange thousandths.
WHOLE, THOUSANDTHS = 1, 1000


def fits(
    device: Device,
    requested: Mapping[str, Fraction],
    allocated: Mapping[str, Fraction] = _NONE,
    allocating: Mapping[str, Fraction] = _NONE,
    *,
    parts: int = WHOLE,
) -> bool:
    """CmpRequestOverCapacity: room for the request beside what is taken already. A request for a capacity that the
    device does not have never fits. Ranges of policies are counted in `parts` of a unit."""
    if any(name not in device.capacity for name in requested):
        return False
    for name, capacity in device.capacity.items():
        consumed = _consumed(requested.get(name), capacity, parts)
        if _violates(consumed, capacity.request_policy, parts):
            return False
        taken = allocated.get(name, 0) + allocating.get(name, 0)
        if taken + consumed > parse_quantity(capacity.value):
            return False
    return True


def consumed_capacity(device: Device, requested: Mapping[str, Fraction], *, parts: int = WHOLE) -> Capacity:
    """GetConsumedCapacityFromRequest."""
    return {name: _consumed(requested.get(name), capacity, parts) for name, capacity in device.capacity.items()}


def _consumed(requested: Fraction | None, capacity: DeviceCapacity, parts: int) -> Fraction:
    """The request rounded up to what the policy allows; without a request the default, or else all capacity."""
    policy = capacity.request_policy or {}
    if requested is None:
        default = policy.get("default")
        return parse_quantity(capacity.value if default is None else default)
    valid_range = policy.get("validRange")
    if valid_range is not None and valid_range.get("min") is not None:
        return _rounded_up(requested, valid_range, parts)
    if policy.get("validValues") is not None:
        return next((value for value in map(parse_quantity, policy["validValues"]) if requested <= value), requested)
    return requested


def _rounded_up(requested: Fraction, valid_range: Mapping[str, Any], parts: int) -> Fraction:
    least = parse_quantity(valid_range["min"])
    if requested < least:
        return least
    if valid_range.get("step") is None:
        return requested
    start, step = whole(least, parts), whole(parse_quantity(valid_range["step"]), parts)
    return Fraction(start - (start - whole(requested, parts)) // step * step, parts)


def _violates(consumed: Fraction, policy: Mapping[str, Any] | None, parts: int) -> bool:
    """violatesPolicy."""
    if policy is None:
        return False
    default = policy.get("default")
    if default is not None and consumed == parse_quantity(default):
        return False
    valid_range = policy.get("validRange")
    if valid_range is not None:
        return _outside(consumed, valid_range, parts)
    valid_values = policy.get("validValues") or ()
    return bool(valid_values) and consumed not in map(parse_quantity, valid_values)


def _outside(consumed: Fraction, valid_range: Mapping[str, Any], parts: int) -> bool:
    most, step = valid_range.get("max"), valid_range.get("step")
    if most is not None and consumed > parse_quantity(most):
        return True
    if step is None:
        return False
    least = whole(parse_quantity(valid_range.get("min") or 0), parts)
    return (whole(consumed, parts) - least) % whole(parse_quantity(step), parts) != 0
