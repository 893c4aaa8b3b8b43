"""What the devices of a pod's claims take of the node's own resources, such as cpu and memory
(nodeallocatabledynamicresources.go, gate DRANodeAllocatableResources)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec.structs import replace

from ksched_cli.api.core import NodeAllocatableResourceClaimStatus, Pod
from ksched_cli.api.dynamic_resources import Device, NodeAllocatableResourceMapping, ResourceClaim
from ksched_cli.api.pod_resources import requests_of, requests_over_pod_level
from ksched_cli.api.quantity import parse_quantity, quantity_of
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.status import Code, Status, error, unresolvable
from ksched_cli.plugins.lib.devices.claims import claim_name
from ksched_cli.plugins.lib.devices.errors import AllocationError
from ksched_cli.plugins.lib.devices.inventory import Inventory
from ksched_cli.plugins.lib.devices.pools import PoolIndex
from ksched_cli.plugins.lib.devices.reasons import DeviceReasons
from ksched_cli.plugins.lib.devices.requests import Pick

ClaimStatuses = tuple[NodeAllocatableResourceClaimStatus, ...]

_ALWAYS_COUNTED = ("cpu", "memory", "ephemeral-storage")
_HUGEPAGES = "hugepages-"


class TakenDevice(NamedTuple):
    """A device of an allocation. `consumed` is None where the device is not shared."""

    pool: str
    name: str
    consumed: Mapping[str, Fraction] | None


# The claims that a pod's cycle allocates, by key, each with its devices.
TakenDevices = Mapping[str, tuple[ResourceClaim, Sequence[TakenDevice]]]


def picked(picks: Iterable[Pick]) -> list[TakenDevice]:
    return [TakenDevice(each.slice.spec.pool.name, each.device.name, each.consumed) for each in picks]


def held(claim: ResourceClaim) -> list[TakenDevice]:
    """The devices of an allocated claim."""
    results = claim.status.allocation.devices.results if claim.status.allocation else ()
    return [
        TakenDevice(
            each.pool,
            each.device,
            None
            if each.share_id is None
            else {name: parse_quantity(amount) for name, amount in each.consumed_capacity.items()},
        )
        for each in results
    ]


class NodeResources:
    """Counts devices that stand for resources of the node, and checks that the node has as much free."""

    def __init__(self, cluster: Cluster, inventory: Inventory) -> None:
        self._cluster = cluster
        self._inventory = inventory
        self._indexed: PoolIndex | None = None
        self._devices: dict[tuple[str, str], Device] = {}

    def sharing_refusal(self, claim: ResourceClaim, pod: PodInfo, row: int) -> Status | None:
        """validateNodeAllocatableDRAClaimSharing: an allocated claim may count for one pod of the node."""
        name = claim.metadata.name
        infos = self._cluster.pods.infos
        users = {
            info.uid
            for info in (infos[other] for other in self._cluster.usage.pods[row])
            if info.pod.status.node_allocatable_resource_claim_statuses
            and info.namespace == pod.namespace
            and any(
                each.resource_claim_name == name for each in info.pod.status.node_allocatable_resource_claim_statuses
            )
        }
        if len(users) > 1:
            return unresolvable(DeviceReasons.used_by_several(claim=name))
        return unresolvable(DeviceReasons.used_by_other(claim=name)) if users - {pod.uid} else None

    def check(self, pod: Pod, taken: TakenDevices, row: int) -> ClaimStatuses | Status:
        """calculateAndCheckNodeAllocatableResources: the entries for the pod's status, or why the node is refused."""
        claimed = self._claimed(pod, taken)
        if claimed is None:
            return ()
        if isinstance(claimed, Status):
            return claimed
        lacking = self._lacking(claimed, row)
        if not lacking:
            return claimed.status.node_allocatable_resource_claim_statuses
        hopeless = any(each["asked"] > each["allocatable"] for each in lacking.values())
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
        return Status(code, tuple(DeviceReasons.node_lacks(resource=name) for name in lacking))

    def _claimed(self, pod: Pod, taken: TakenDevices) -> Pod | Status | None:
        """getPodNodeAllocatableResourceFootprint: the pod with the entries in its status; None where none of the
        devices stands for resources of the node."""
        mapped = {key: each for key, each in taken.items() if any(map(self._is_mapped, each[1]))}
        if not mapped:
            return None
        try:
            statuses = self._statuses(pod, mapped)
        except AllocationError as problem:
            return error(str(problem))
        for each in statuses:
            if not each.containers:
                return unresolvable(DeviceReasons.in_no_container(claim=each.resource_claim_name))
        claimed = replace(pod, status=replace(pod.status, node_allocatable_resource_claim_statuses=statuses))
        # Go checks the resources in the order of a map.
        for name in requests_over_pod_level(claimed):
            return unresolvable(DeviceReasons.over_pod_level(resource=name))
        return claimed

    def shortages(self, pod: Pod, taken: TakenDevices, row: int) -> dict[str, dict[str, Any]]:
        """The figures behind a refusal of `check` for what the node lacks; none where it refuses for another reason."""
        claimed = self._claimed(pod, taken)
        return self._lacking(claimed, row) if isinstance(claimed, Pod) else {}

    def _lacking(self, claimed: Pod, row: int) -> dict[str, dict[str, Any]]:
        """nodeFitsResources: of each resource that is short how much is requested, used and there. Huge pages come by
        name, which Go has in the order of a map."""
        demand = requests_of(claimed, use_status=False, with_claims=True)
        names = [name for name in _ALWAYS_COUNTED if demand.get(name, 0) > 0]
        names += sorted(name for name in demand if name.startswith(_HUGEPAGES))
        short: dict[str, dict[str, Any]] = {}
        for name in names:
            resource, requested = self._cluster.resources.find(name), demand[name]
            there = used = 0
            if resource is not None and resource < len(self._cluster.usage.requested):
                there = int(self._cluster.nodes.allocatable[resource, row])
                used = int(self._cluster.usage.requested[resource, row])
            if requested > there - used:
                free = there - used
                short[name] = {
                    "asked": requested,
                    "used": used,
                    "allocatable": there,
                    "free": free,
                    "short": requested - free,
                }
        return short

    def _is_mapped(self, taken: TakenDevice) -> bool:
        device = self._device(taken)
        return device is not None and bool(device.node_allocatable_resource_mappings)

    def _device(self, taken: TakenDevice) -> Device | None:
        """getDeviceFromManager, which ignores the driver. Of several slices with such a device the first by name counts
        here, and any in Go."""
        pools = self._inventory.pools
        if self._indexed is not pools:
            self._indexed, self._devices = pools, {}
            for home in pools.slices:
                for device in home.spec.devices:
                    self._devices.setdefault((home.spec.pool.name, device.name), device)
        return self._devices.get((taken.pool, taken.name))

    def _statuses(self, pod: Pod, mapped: TakenDevices) -> ClaimStatuses:
        """buildNodeAllocatableDRAInfo: one entry per claim, by name."""
        amounts = {
            key: self._amounts(f"{pod.metadata.namespace}/{claim.metadata.name}", devices)
            for key, (claim, devices) in mapped.items()
        }
        users: dict[str, list[str]] = {key: [] for key, found in amounts.items() if found}
        keys = {
            reference.name: f"{pod.metadata.namespace}/{claim_name(pod, reference)[0]}"
            for reference in pod.spec.resource_claims
        }
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            for each in container.resources.claims:
                users.get(keys.get(each.name, ""), []).append(container.name)
        entries = (
            NodeAllocatableResourceClaimStatus(
                mapped[key][0].metadata.name,
                tuple(containers),
                {name: quantity_of(amount) for name, amount in amounts[key].items()},
            )
            for key, containers in users.items()
        )
        return tuple(sorted(entries, key=lambda entry: entry.resource_claim_name))

    def _amounts(self, claim: str, devices: Sequence[TakenDevice]) -> dict[str, Fraction]:
        total: dict[str, Fraction] = {}
        for taken in devices:
            where = f"claim {claim}, device {taken.name}"
            device = self._device(taken)
            if device is None:
                raise AllocationError(f"{where}: device {taken.name} not found in pool {taken.pool}")
            for name, mapping in sorted(device.node_allocatable_resource_mappings.items()):
                amount = _amount(mapping, taken, f"{where}: ", name)
                if amount is not None:
                    total[name] = total.get(name, Fraction(0)) + amount
        return total


def _amount(mapping: NodeAllocatableResourceMapping, taken: TakenDevice, where: str, resource: str) -> Fraction | None:
    """What the device takes of the resource; None where the allocation consumes nothing of the mapped capacity."""
    multiplier = parse_quantity(mapping.allocation_multiplier)
    if not mapping.capacity_key:
        return multiplier
    if taken.consumed is None:
        raise AllocationError(
            f"{where}ConsumedCapacity is nil, but Capacity key '{mapping.capacity_key}' is set in "
            f"NodeAllocatableResourceMappings for resource {resource}"
        )
    consumed = taken.consumed.get(mapping.capacity_key)
    return None if consumed is None else consumed * multiplier


__all__ = ["ClaimStatuses", "NodeResources", "TakenDevice", "TakenDevices", "held", "picked"]
