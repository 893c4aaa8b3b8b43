"""How much of a device's capacity a request takes, and whether the device has it (consumable_capacity.go). Ranges of
policies are counted as Go does: in int64, up to 1.36 with its overflow."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct

from ksched_cli.api.dynamic_resources import Device, DeviceCapacity
from ksched_cli.api.quantity import MAX_INT64, parse_quantity, quantity_of, whole_unbounded
from ksched_cli.plugins.lib.devices.claims import Capacity, DeviceRules

_NONE: Mapping[str, Fraction] = {}
_WHOLE, _THOUSANDTHS = 1, 1000


class UncountableCapacity(Exception):
    """The capacity that a request takes is negative, or beyond what kube-scheduler counts with. The text gives why."""


class Counting(Struct, frozen=True):
    """How ranges of policies are counted: in thousandths of a unit with the gate DRAFractionalCapacityRange. `exact`
    (since 1.37): a request that cannot be counted is an error."""

    fractional: bool = False
    exact: bool = False

    @classmethod
    def of(cls, rules: DeviceRules, *, fractional: bool) -> Counting:
        return cls(fractional, rules.capacity_is_counted_exactly)

    def parts_of(self, valid_range: Mapping[str, Any]) -> int:
        """useMilli: whole units are counted if one of the bounds is finer than a thousandth."""
        if not self.fractional:
            return _WHOLE
        given = (valid_range.get(name) for name in ("min", "max", "step"))
        bounds = [parse_quantity(each) for each in given if each is not None]
        return _THOUSANDTHS if all(_is_whole(each, _THOUSANDTHS) for each in bounds) else _WHOLE


def _is_whole(number: Fraction, parts: int) -> bool:
    """Whether the number is so many parts of a unit, and fits into an int64."""
    return (number * parts).denominator == 1 and abs(number * parts) <= MAX_INT64


PLAIN = Counting()


def fits(
    device: Device,
    requested: Mapping[str, Fraction],
    allocated: Mapping[str, Fraction] = _NONE,
    allocating: Mapping[str, Fraction] = _NONE,
    *,
    counting: Counting = PLAIN,
) -> bool:
    """CmpRequestOverCapacity: room for the request beside what is taken already. A request for a capacity that the
    device does not have never fits. UncountableCapacity comes before a lack of room for another capacity."""
    if any(name not in device.capacity for name in requested):
        return False
    consumed = consumed_capacity(device, requested, counting=counting)
    for name, capacity in device.capacity.items():
        if _violates(consumed[name], capacity.request_policy, counting):
            return False
        taken = allocated.get(name, 0) + allocating.get(name, 0)
        if taken + consumed[name] > parse_quantity(capacity.value):
            return False
    return True


def consumed_capacity(device: Device, requested: Mapping[str, Fraction], *, counting: Counting = PLAIN) -> Capacity:
    """GetConsumedCapacityFromRequest."""
    found: Capacity = {}
    for name, capacity in device.capacity.items():
        try:
            found[name] = _consumed(requested.get(name), capacity, counting)
            if counting.exact and found[name] < 0:
                raise UncountableCapacity("capacity value is negative")
        except UncountableCapacity as problem:
            raise UncountableCapacity(f'capacity "{name}": {problem}') from None
    return found


def _consumed(requested: Fraction | None, capacity: DeviceCapacity, counting: Counting) -> Fraction:
    """The request rounded up to what the policy allows; without a request the default, or else all capacity."""
    policy = capacity.request_policy or {}
    if requested is None:
        default = policy.get("default")
        return parse_quantity(capacity.value if default is None else default)
    valid_range = policy.get("validRange")
    if valid_range is not None and valid_range.get("min") is not None:
        return _rounded_up(requested, valid_range, counting)
    if policy.get("validValues") is not None:
        return next((value for value in map(parse_quantity, policy["validValues"]) if requested <= value), requested)
    return requested


def _rounded_up(requested: Fraction, valid_range: Mapping[str, Any], counting: Counting) -> Fraction:
    """roundUpRange."""
    least = parse_quantity(valid_range["min"])
    if requested < least:
        return least
    if valid_range.get("step") is None:
        return requested
    parts = counting.parts_of(valid_range)
    if counting.exact:
        _check_countable(requested, parts)
    start, step = _int64(least, parts), _int64(parse_quantity(valid_range["step"]), parts)
    if step == 0:
        raise _uncountable("its step is 0")
    steps, rest = divmod(_wrapped(_int64(requested, parts) - start), step)
    rounded = start + step * (steps + (rest != 0))
    if counting.exact and start >= 0 and rounded > MAX_INT64:
        limit = "MaxInt64" if parts == _WHOLE else "the milli-value range"
        raise _uncountable(f"rounding request {quantity_of(requested)} up to the next step passes {limit}")
    return Fraction(_wrapped(rounded), parts)


def _int64(number: Fraction, parts: int) -> int:
    """Quantity.Value or MilliValue."""
    return _wrapped(whole_unbounded(number, parts))


def _wrapped(number: int) -> int:
    """The number as an int64 of Go holds it: beyond its range it begins anew at the other end."""
    return (number + MAX_INT64 + 1) % (2 * (MAX_INT64 + 1)) - MAX_INT64 - 1


def _check_countable(requested: Fraction, parts: int) -> None:
    if parts == _THOUSANDTHS and not _is_whole(requested, parts):
        raise _uncountable(f"request {quantity_of(requested)} is not a representable milli value")
    if parts == _WHOLE and whole_unbounded(requested) > MAX_INT64:
        raise _uncountable(f"request {quantity_of(requested)} exceeds MaxInt64")


def _uncountable(why: str) -> UncountableCapacity:
    return UncountableCapacity(f"capacity request cannot be represented in the device's range arithmetic: {why}")


def _violates(consumed: Fraction, policy: Mapping[str, Any] | None, counting: Counting) -> bool:
    """violatesPolicy."""
    if policy is None:
        return False
    default = policy.get("default")
    if default is not None and consumed == parse_quantity(default):
        return False
    valid_range = policy.get("validRange")
    if valid_range is not None:
        return _outside(consumed, valid_range, counting)
    valid_values = policy.get("validValues") or ()
    return bool(valid_values) and consumed not in map(parse_quantity, valid_values)


def _outside(consumed: Fraction, valid_range: Mapping[str, Any], counting: Counting) -> bool:
    """violateValidRange."""
    most, step = valid_range.get("max"), valid_range.get("step")
    if most is not None and consumed > parse_quantity(most):
        return True
    if step is None:
        return False
    parts = counting.parts_of(valid_range)
    if counting.exact and parts == _THOUSANDTHS and not _is_whole(consumed, parts):
        return True
    least, every = _int64(parse_quantity(valid_range.get("min") or 0), parts), _int64(parse_quantity(step), parts)
    return every == 0 or _wrapped(_int64(consumed, parts) - least) % every != 0
