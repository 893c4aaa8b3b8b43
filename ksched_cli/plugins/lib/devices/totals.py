"""How many devices stand behind an extended resource on each node, for scores (calculateDRAResourceTotals)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from ksched_cli.api.affinity import NodeSelector
from ksched_cli.api.dynamic_resources import Device, DeviceClass, ResourceSlice
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.framework.handle import Handle
from ksched_cli.plugins.lib.cel.values import CelCompileError, CelError
from ksched_cli.plugins.lib.devices.claims import ClaimTracker
from ksched_cli.plugins.lib.devices.extended import ExtendedResourceIndex, may_be_device_backed
from ksched_cli.plugins.lib.devices.requests import device_id
from ksched_cli.plugins.lib.devices.rules import DeviceRules


class DeviceTotals:
    """Counts the devices of all slices. Scores ignore pools and generations."""

    def __init__(self, handle: Handle) -> None:
        gates = handle.gates
        self._cluster = handle.cluster
        self._shareable = gates.enabled("DRAConsumableCapacity")
        sees_lists = DeviceRules.of(handle.release).selectors_see_lists
        self._lists = gates.enabled("DRAListTypeAttributes") or sees_lists
        self._tracker = ClaimTracker(handle.cluster.catalog, shareable=self._shareable)
        self._index = ExtendedResourceIndex(handle.cluster.catalog, enabled=gates.enabled("DRAExtendedResource"))

    def backs(self, resource: str) -> bool:
        """Whether devices may stand behind the resource."""
        return may_be_device_backed(resource) and self._index.class_of(resource) is not None

    def of(self, resource: str) -> tuple[Int64Column, Int64Column] | None:
        """Devices, and devices in use, per node; None where no class stands behind the resource."""
        backing = self._index.class_of(resource) if self.backs(resource) else None
        if backing is None:
            return None
        size = len(self._cluster.nodes)
        there, used = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        unknown = np.zeros(size, dtype=np.bool_)
        taken = self._tracker.allocated()
        for home in self._cluster.catalog.all(ResourceSlice):
            for device, reach in self._devices(home):
                matches = self._matches(backing, home, device)
                if matches is None:
                    unknown |= reach
                elif matches:
                    there += reach
                    used += reach & taken.is_allocated(device_id(home, device))
        # A node with a device for which the class fails counts as one without devices.
        return np.where(unknown, 0, there), np.where(unknown, 0, used)

    def _devices(self, home: ResourceSlice) -> Iterator[tuple[Device, BoolColumn]]:
        spec = home.spec
        if not spec.per_device_node_selection:
            reach = self._reach(spec.node_name, spec.all_nodes, spec.node_selector, otherwise=not spec.node_name)
            for device in spec.devices:
                yield device, reach
            return
        for device in spec.devices:
            yield device, self._reach(device.node_name, device.all_nodes, device.node_selector, otherwise=False)

    def _reach(
        self, name: str | None, everywhere: bool | None, selector: NodeSelector | None, *, otherwise: bool
    ) -> BoolColumn:
        mask = np.full(len(self._cluster.nodes), bool(everywhere), dtype=np.bool_)
        if everywhere:
            return mask
        row = self._cluster.nodes.row_of.get(name or "")
        if row is not None:
            mask[row] = True
        elif not name and selector is not None:
            return self._cluster.selection.terms_mask(selector.node_selector_terms)
        elif otherwise:
            mask[:] = True
        return mask

    def _matches(self, backing: DeviceClass, home: ResourceSlice, device: Device) -> bool | None:
        """deviceMatchesClass, which ignores whether a device can be shared; None where a selector fails."""
        # Only clusters with devices need CEL.
        from ksched_cli.plugins.lib.cel.expression import compile_cel_selector

        anonymous = replace(device, allow_multiple_allocations=None)
        try:
            return all(
                compile_cel_selector(selector.cel.expression, shareable=self._shareable, lists=self._lists).matches(
                    home.spec.driver, anonymous
                )
                for selector in backing.spec.selectors
                if selector.cel is not None
            )
        except (CelCompileError, CelError):
            return None
