"""A pod's claims, and which devices are taken by whom (resourceclaim, allocateddevices.go)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from msgspec import Struct, field

from ksched_cli.api.core import Pod, PodResourceClaim
from ksched_cli.api.dynamic_resources import (
    DeviceRequestAllocationResult,
    ResourceClaim,
    is_controlled_by,
    is_controlled_by_group,
)
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.framework.reasons import Reason
from ksched_cli.plugins.lib.devices.reasons import DeviceReasons

DeviceID = tuple[str, str, str]
PoolID = tuple[str, str]
Capacity = dict[str, Fraction]


class ClaimError(Exception):
    """A claim that cannot be used."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


def claim_name(pod: Pod, reference: PodResourceClaim) -> tuple[str | None, bool]:
    """resourceclaim.Name: the claim's name, None if none was made on purpose; and whether its owner must be checked."""
    if reference.resource_claim_name is not None:
        return reference.resource_claim_name, False
    where = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if reference.resource_claim_template_name is None:
        raise ClaimError(DeviceReasons.without_fields(pod=where, reference=reference.name))
    for status in pod.status.resource_claim_statuses:
        if status.name == reference.name:
            return status.resource_claim_name, True
    raise ClaimError(DeviceReasons.not_created(pod=where))


def pod_claims(pod: Pod, catalog: Catalog, group: str = "") -> list[ResourceClaim]:
    """foreachPodResourceClaim: every claim that the pod refers to; ClaimError for the first that cannot be used. A
    claim that was made for the pod `group` is one that was made for the pod."""
    found: list[ResourceClaim] = []
    namespace = pod.metadata.namespace
    for reference in pod.spec.resource_claims:
        name, owned = claim_name(pod, reference)
        if name is None:
            continue
        claim = catalog.get(ResourceClaim, name, namespace)
        if claim is None:
            raise ClaimError(DeviceReasons.claim_missing(namespace=namespace, claim=name))
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimError(DeviceReasons.being_deleted(claim=name))
        if owned and not is_controlled_by(claim, pod):
            parts = {"namespace": namespace, "claim": name, "pod": pod.metadata.name}
            if not group:
                raise ClaimError(DeviceReasons.of_other_pod(**parts))
            if not is_controlled_by_group(claim, group):
                raise ClaimError(DeviceReasons.of_other_group(**parts, group=group))
        found.append(claim)
    return found


def key_of(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


class AllocatedState(Struct):
    """structured.AllocatedState: exclusive devices, and the shares and capacity taken of shared devices."""

    devices: set[DeviceID] = field(default_factory=set)
    shares: dict[DeviceID, int] = field(default_factory=dict)
    capacity: dict[DeviceID, Capacity] = field(default_factory=dict)

    def is_allocated(self, device: DeviceID) -> bool:
        """IsDeviceAllocated."""
        return device in self.devices or device in self.shares or device in self.capacity

    def add(self, results: Iterable[DeviceRequestAllocationResult], *, shareable: bool) -> None:
        """foreachAllocatedDevice: admin access takes nothing."""
        for result in results:
            if result.admin_access:
                continue
            device = (result.driver, result.pool, result.device)
            if not (shareable and result.share_id is not None):
                self.devices.add(device)
                continue
            self.shares[device] = self.shares.get(device, 0) + 1
            if result.consumed_capacity:
                consumed = {name: parse_quantity(amount) for name, amount in result.consumed_capacity.items()}
                add_capacity(self.capacity.setdefault(device, {}), consumed)


def add_capacity(total: Capacity, more: Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


class ClaimTracker:
    """What all claims of the cluster have taken. The catalog holds the claims; changes made here are followed without
    counting everything again."""

    def __init__(self, catalog: Catalog, *, shareable: bool) -> None:
        self._catalog = catalog
        self._shareable = shareable
        self._version = -1
        self._state = AllocatedState()
        self._counted: dict[int, ResourceClaim] = {}
        self._changes: dict[PoolID, int] = {}
        self.epoch = 0

    def allocated(self) -> AllocatedState:
        """The state of all claims now. Callers do not change it."""
        if self._version != self._catalog.version:
            claims = {id(claim): claim for claim in self._catalog.all(ResourceClaim) if claim.status.allocation}
            if self._version < 0 or claims.keys() != self._counted.keys():
                self._count(claims)
            self._version = self._catalog.version
        return self._state

    def _count(self, claims: dict[int, ResourceClaim]) -> None:
        self._state, self._counted = AllocatedState(), claims
        for claim in claims.values():
            self._add(claim)
        self.epoch += 1

    def _add(self, claim: ResourceClaim) -> None:
        results = claim.status.allocation.devices.results if claim.status.allocation else ()
        self._state.add(results, shareable=self._shareable)
        for pool in {(result.driver, result.pool) for result in results}:
            self._changes[pool] = self._changes.get(pool, 0) + 1

    def changes_in(self, driver: str, pool: str) -> int:
        """How often devices of the pool were taken within this epoch; it ends when everything is counted anew."""
        return self._changes.get((driver, pool), 0)

    def allocate(self, claim: ResourceClaim) -> None:
        """Stores a claim that has just been allocated."""
        if self._put(claim):
            self._add(claim)

    def replace(self, claim: ResourceClaim) -> None:
        """Stores a claim whose allocation does not change."""
        self._put(claim)

    def _put(self, claim: ResourceClaim) -> bool:
        """Stores the claim; returns whether the state was up to date, so that adding the claim is enough."""
        current = self._version == self._catalog.version
        before = self._catalog.get(ResourceClaim, claim.metadata.name, claim.metadata.namespace)
        self._catalog.put(claim)
        if current:
            self._counted.pop(id(before), None)
            self._counted[id(claim)] = claim
            self._version = self._catalog.version
        return current
