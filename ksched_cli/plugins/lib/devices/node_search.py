"""One pod's claims on node after node, for the plugin's Filter: each distinct search runs once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.dynamic_resources import DeviceClass, DeviceRequest, ResourceClaim
from ksched_cli.api.quantity import value
from ksched_cli.cluster.cache import Cluster
from ksched_cli.framework.status import Code, Status, error, unresolvable
from ksched_cli.plugins.lib.devices.allocator import Allocator, Picks
from ksched_cli.plugins.lib.devices.claims import ClaimTracker
from ksched_cli.plugins.lib.devices.errors import AllocationError, AllocationTimeout, NodeAllocationFailed
from ksched_cli.plugins.lib.devices.extended import ExtendedResourceIndex, lacking
from ksched_cli.plugins.lib.devices.inventory import Inventory
from ksched_cli.plugins.lib.devices.pools import Pool, PoolIndex
from ksched_cli.plugins.lib.devices.reasons import DeviceReasons
from ksched_cli.plugins.lib.devices.requests import views_of
from ksched_cli.plugins.lib.devices.results import node_selector

CANNOT_ALLOCATE = unresolvable(DeviceReasons.cannot_allocate())


class NodeAllocation(Struct, frozen=True, eq=False):
    """nodeAllocation: one entry of `picks` per claim that has no allocation yet."""

    picks: Picks
    extended_requests: tuple[DeviceRequest, ...] = ()


class _Question(Struct, frozen=True, eq=False):
    """The claims to allocate on nodes that lack the same extended resources."""

    claims: Sequence[ResourceClaim]
    extended_requests: tuple[DeviceRequest, ...]
    known: dict[int, tuple[int, NodeAllocation | Status]]


class ExtendedWish(Struct, frozen=True, eq=False):
    """The pod's device-backed resources, and the claim that stands for them."""

    index: ExtendedResourceIndex
    pod: Pod
    amounts: Mapping[str, int]
    claim: ResourceClaim


class ClaimMemory:
    """Results of earlier attempts for claims with equal specs, until claims, classes or pools change."""

    def __init__(self, inventory: Inventory, tracker: ClaimTracker) -> None:
        self.inventory = inventory
        self.tracker = tracker
        self._epoch = -1
        # Held on to, so that no other class comes to have the same id.
        self._classes: dict[int, DeviceClass | None] = {}
        self._pools: PoolIndex | None = None
        self._answers: dict[tuple[Any, ...], dict[int, tuple[int, NodeAllocation | Status]]] = {}

    def of(self, claims: Sequence[ResourceClaim]) -> dict[int, tuple[int, NodeAllocation | Status]]:
        """Known results for the claims, each with the value of `taken_from` at that time."""
        self.tracker.allocated()
        if self._epoch != self.tracker.epoch or self._pools is not self.inventory.pools:
            self._answers.clear()
            self._epoch, self._pools = self.tracker.epoch, self.inventory.pools
        wording = msgspec.json.encode([claim.spec for claim in claims])
        names = {name for claim in claims for name in _class_names(claim)}
        classes = [self.inventory.device_class(name) for name in sorted(names)]
        self._classes.update((id(each), each) for each in classes)
        return self._answers.setdefault((wording, *map(id, classes)), {})

    def taken_from(self, pools: tuple[Pool, ...]) -> int:
        """A number that grows with every device that is taken from the pools."""
        return sum(self.tracker.changes_in(pool.driver, pool.name) for pool in pools)


def _class_names(claim: ResourceClaim) -> Iterator[str]:
    for request in claim.spec.devices.requests:
        for view in views_of(request):
            yield view.device_class_name


class NodeSearch:
    """`claims` are all of the pod's, the one for extended resources included."""

    def __init__(
        self,
        cluster: Cluster,
        memory: ClaimMemory,
        claims: tuple[ResourceClaim, ...],
        wish: ExtendedWish | None,
        timeout: float,
    ) -> None:
        self._cluster = cluster
        self._memory = memory
        self._allocator = Allocator(memory.inventory, memory.tracker.allocated())
        self._to_allocate = [claim for claim in claims if claim.status.allocation is None]
        self._only_extended = wish is not None and len(claims) == 1
        self._wish = wish
        self._timeout = timeout
        self._questions: dict[frozenset[str], _Question] = {}

    def of(self, row: int) -> NodeAllocation | Status | None:
        """The devices on the node, the status that rejects it, or None where nothing has to be allocated."""
        missing = self.missing(row)
        if not isinstance(missing, frozenset):
            return missing
        if not self._to_allocate:
            return None
        question = self._questions.get(missing)
        if question is None:
            question = self._questions[missing] = self._question(missing)
        return self._answer(row, question)

    def missing(self, row: int) -> frozenset[str] | Status | None:
        """filterExtendedResources: the extended resources that devices of the node have to provide; a status where
        nothing provides them, None where the node provides all and the pod has no claims of its own."""
        if self._wish is None:
            return frozenset()
        if self._wish.claim.spec.devices.requests:
            return unresolvable(DeviceReasons.cannot_schedule_extended())
        wanted, allocatable = self._wish.amounts, self._cluster.nodes.objects[row].status.allocatable
        announced = {name: value(allocatable[name]) for name in wanted if name in allocatable}
        found = lacking(wanted, announced, self._wish.index)
        if found is None:
            return unresolvable(DeviceReasons.cannot_fit())
        return None if not found and self._only_extended else frozenset(found)

    def _question(self, missing: frozenset[str]) -> _Question:
        if self._wish is None:
            return _Question(self._to_allocate, (), self._memory.of(self._to_allocate))
        requests = self._wish.index.requests(self._wish.pod, missing)
        claims = [_with_requests(each, requests) if each is self._wish.claim else each for each in self._to_allocate]
        return _Question(claims, requests, self._memory.of(claims))

    def _answer(self, row: int, question: _Question) -> NodeAllocation | Status:
        """The result for the node. Nodes with the same pools share it, unless devices select their nodes."""
        index = self._allocator.inventory.pools
        try:
            pools = index.pools_of(row)
        except AllocationError as problem:
            return error(str(problem))
        key = -1 - row if index.is_personal(pools) else id(pools)
        taken = self._memory.taken_from(pools)
        known = question.known.get(key)
        if known is not None and known[0] == taken:
            return known[1]
        answer = self._allocate(row, question)
        if not (isinstance(answer, Status) and answer.code is Code.ERROR):
            question.known[key] = taken, answer
        return answer

    def _allocate(self, row: int, question: _Question) -> NodeAllocation | Status:
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else math.inf
        try:
            picks = self._allocator.allocate(row, question.claims, deadline)
            for claim, picked in zip(question.claims, picks or (), strict=False):
                node_selector(picked, claim, "")
        except AllocationError as problem:
            return error(str(problem))
        except NodeAllocationFailed as problem:
            return unresolvable(DeviceReasons.failed_on_node(problem=problem))
        except AllocationTimeout:
            return error(f"node {self._cluster.nodes.names[row]}: timed out trying to allocate devices")
        return CANNOT_ALLOCATE if picks is None else NodeAllocation(picks, question.extended_requests)


def _with_requests(claim: ResourceClaim, requests: tuple[DeviceRequest, ...]) -> ResourceClaim:
    return replace(claim, spec=replace(claim.spec, devices=replace(claim.spec.devices, requests=requests)))


def instantiated(claim: ResourceClaim, requests: tuple[DeviceRequest, ...]) -> ResourceClaim:
    """The claim for extended resources as it would be created."""
    name = f"{claim.metadata.generate_name}ksched"
    metadata = replace(claim.metadata, name=name, uid=f"{claim.metadata.namespace}/{name}")
    return replace(_with_requests(claim, requests), metadata=metadata)
