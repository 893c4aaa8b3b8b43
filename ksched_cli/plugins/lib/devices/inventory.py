"""What there is to allocate: pools by node, classes, and which device each selector fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ksched_cli.api.dynamic_resources import Device, DeviceClass, DeviceSelector, DeviceTaintRule, ResourceSlice
from ksched_cli.cluster.cache import Cluster
from ksched_cli.plugins.lib.cel.values import CelCompileError, CelError
from ksched_cli.plugins.lib.devices.errors import AllocationError
from ksched_cli.plugins.lib.devices.pools import PoolIndex
from ksched_cli.plugins.lib.devices.requests import device_id
from ksched_cli.plugins.lib.devices.rules import DeviceRules
from ksched_cli.plugins.lib.devices.taints import with_taint_rules
from ksched_cli.releases.gates import FeatureGates

_NO_SUCH_KEY_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() "
    "for optional fields"
)


class Features(Struct, frozen=True):
    """structured.Features (AllocatorFeatures)."""

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable: bool = True
    taints: bool = True
    binding_conditions: bool = True
    consumable: bool = True
    list_attributes: bool = False
    taint_rules: bool = False
    fractional_ranges: bool = False

    @classmethod
    def of(cls, gates: FeatureGates) -> Features:
        return cls(
            gates.enabled("DRAAdminAccess"),
            gates.enabled("DRAPrioritizedList"),
            gates.enabled("DRAPartitionableDevices"),
            gates.enabled("DRADeviceTaints"),
            gates.enabled("DRADeviceBindingConditions") and gates.enabled("DRAResourceClaimDeviceStatus"),
            gates.enabled("DRAConsumableCapacity"),
            gates.enabled("DRAListTypeAttributes"),
            gates.enabled("DRADeviceTaintRules"),
            gates.enabled("DRAFractionalCapacityRange"),
        )


class Inventory:
    """Pools, classes and matches of selectors, computed again when a slice or a node changes."""

    def __init__(self, cluster: Cluster, features: Features) -> None:
        self._cluster = cluster
        self.features = features
        self.rules = DeviceRules.of(cluster.release)
        self._stamp: tuple[int, int] = (-1, -1)
        self._read: list[ResourceSlice | DeviceTaintRule] = []
        self._pools: PoolIndex | None = None
        self._matches: dict[tuple[str, int], bool | CelError] = {}

    @property
    def pools(self) -> PoolIndex:
        stamp = (self._cluster.catalog.version, self._cluster.structure)
        if self._pools is None or stamp != self._stamp:
            slices = list(self._cluster.catalog.all(ResourceSlice))
            rules = list(self._cluster.catalog.all(DeviceTaintRule)) if self.features.taint_rules else []
            read: list[ResourceSlice | DeviceTaintRule] = [*slices, *rules]
            if self._pools is None or stamp[1] != self._stamp[1] or not _same_objects(read, self._read):
                self._read, self._matches = read, {}
                tainted = [with_taint_rules(each, rules) for each in slices]
                self._pools = PoolIndex(self._cluster, tainted, partitionable=self.features.partitionable)
            self._stamp = stamp
        return self._pools

    def device_class(self, name: str) -> DeviceClass | None:
        return self._cluster.catalog.get(DeviceClass, name)

    def selected(self, selectors: Iterable[DeviceSelector], home: ResourceSlice, device: Device, whose: str) -> bool:
        """selectorsMatch: whether the device fits all of them; AllocationError where one cannot be evaluated."""
        for position, selector in enumerate(selectors):
            expression = selector.cel.expression if selector.cel else ""
            try:
                matches = self._match(expression, home.spec.driver, device)
            except CelCompileError as problem:
                raise AllocationError(f"{whose}: selector #{position}: CEL compile error: {problem}") from None
            except CelError as problem:
                raise AllocationError(
                    f"{whose}: selector #{position}{self._runtime_error(home, device, str(problem))}"
                ) from None
            if not matches:
                return False
        return True

    def _runtime_error(self, home: ResourceSlice, device: Device, problem: str) -> str:
        """The end of the message about a selector that failed on this device (EnhanceRuntimeError)."""
        if not self.rules.errors_name_the_device:
            return f": CEL runtime error: {problem}"
        hint = _NO_SUCH_KEY_HINT if "no such key:" in problem else ""
        return f" on device {'/'.join(device_id(home, device))}: CEL runtime error: {problem}{hint}"

    def _match(self, expression: str, driver: str, device: Device) -> bool:
        """Whether the device matches, computed once per expression and device."""
        key = (expression, id(device))
        found = self._matches.get(key)
        if found is None:
            # Only clusters with devices need CEL.
            from ksched_cli.plugins.lib.cel.expression import compile_cel_selector

            selector = compile_cel_selector(
                expression,
                shareable=self.features.consumable,
                lists=self.features.list_attributes or self.rules.selectors_see_lists,
            )
            try:
                found = selector.matches(driver, device)
            except CelError as problem:
                found = problem
            self._matches[key] = found
        if isinstance(found, CelError):
            raise found
        return found


def _same_objects(left: Sequence[object], right: Sequence[object]) -> bool:
    return len(left) == len(right) and all(one is other for one, other in zip(left, right, strict=True))
