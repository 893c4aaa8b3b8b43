"""Shared counters that partitions of one device draw on (partitionable devices)."""

from __future__ import annotations

from fractions import Fraction

from ksched_cli.api.dynamic_resources import Device
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.plugins.lib.devices.claims import AllocatedState, DeviceID
from ksched_cli.plugins.lib.devices.pools import Pool
from ksched_cli.plugins.lib.devices.requests import device_id
from ksched_cli.plugins.lib.devices.rules import DeviceRules

CounterKey = tuple[str, str]
Counters = dict[CounterKey, Fraction]


class AvailableCounters:
    """What allocated devices leave of each pool's counters, for one pod's cycle. Up to 1.36 the name of the pool alone
    is the key."""

    def __init__(self, allocated: AllocatedState, rules: DeviceRules) -> None:
        self._allocated = allocated
        self._rules = rules
        self._pools: dict[str, Counters] = {}

    def key_of(self, pool: Pool) -> str:
        return pool.full_name if self._rules.pools_are_known_by_driver else pool.name

    def of(self, pool: Pool) -> Counters:
        key = self.key_of(pool)
        found = self._pools.get(key)
        if found is None:
            found = self._pools[key] = self._remaining(pool)
        return found

    def _remaining(self, pool: Pool) -> Counters:
        remaining: Counters = {
            (counter_set.name, name): parse_quantity(counter.value)
            for counter_set in pool.counter_sets.values()
            for name, counter in counter_set.counters.items()
        }
        for home in (*pool.slices, *pool.others):
            for device in home.spec.devices:
                if device.consumes_counters and self._holds(device_id(home, device)):
                    for key, amount in consumption_of(device):
                        if key in remaining:
                            remaining[key] -= amount
        return remaining

    def _holds(self, device: DeviceID) -> bool:
        """Whether the device has taken its counters."""
        if self._rules.held_shares_take_counters:
            return self._allocated.is_allocated(device)
        return device in self._allocated.devices


class ConsumedCounters:
    """Counters that the devices of the tried solution consume."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._pools: dict[str, Counters] = {}

    def take(self, pool: Pool, device: Device) -> bool:
        """checkAvailableCounters: False, and nothing taken, where any counter of the pool would be overdrawn."""
        available = self._available.of(pool)
        consumed = self._pools.setdefault(self._available.key_of(pool), {})
        for key, amount in consumption_of(device):
            consumed[key] = consumed.get(key, Fraction(0)) + amount
        if any(limit < consumed.get(key, 0) for key, limit in available.items()):
            self.give_back(pool, device)
            return False
        return True

    def give_back(self, pool: Pool, device: Device) -> None:
        consumed = self._pools.setdefault(self._available.key_of(pool), {})
        for key, amount in consumption_of(device):
            consumed[key] = consumed.get(key, Fraction(0)) - amount


def consumption_of(device: Device) -> list[tuple[CounterKey, Fraction]]:
    return [
        ((consumption.counter_set, name), parse_quantity(counter.value))
        for consumption in device.consumes_counters
        for name, counter in consumption.counters.items()
    ]
