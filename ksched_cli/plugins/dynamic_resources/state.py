"""What DynamicResources keeps of a pod from PreFilter to PreBind."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from ksched_cli.api.dynamic_resources import AllocationResult, ResourceClaim
from ksched_cli.cluster.columns import BoolColumn
from ksched_cli.plugins.lib.devices.claims import key_of
from ksched_cli.plugins.lib.devices.node_resources import ClaimStatuses, TakenDevices, held, picked
from ksched_cli.plugins.lib.devices.node_search import NodeAllocation, NodeSearch
from ksched_cli.plugins.lib.devices.results import alternatives_score, binding_failed


class ClaimState(Struct, eq=False):
    """stateData. `claims` are the pod's own, then the one for its extended resources if it needs one."""

    claims: tuple[ResourceClaim, ...] = ()
    extended: ResourceClaim | None = None
    # Per claim the nodes where its allocation can be used; None where it is not bound to any.
    available: tuple[BoolColumn | None, ...] = ()
    search: NodeSearch | None = None
    unavailable: set[int] = field(default_factory=set)
    allocations: dict[int, NodeAllocation] = field(default_factory=dict)
    # Per node what the pod's status would list of the node's own resources.
    node_claims: dict[int, ClaimStatuses] = field(default_factory=dict)
    # What Reserve has put in place of which claim; None where there was none before.
    pending: list[tuple[ResourceClaim, ResourceClaim | None]] = field(default_factory=list)
    created: ResourceClaim | None = None
    # Claims whose devices another pod of the group has taken in the same cycle. kube-scheduler does not check whether
    # the node reaches these devices.
    pending_elsewhere: set[str] = field(default_factory=set)

    @property
    def to_allocate(self) -> list[ResourceClaim]:
        return [claim for claim in self.claims if claim.status.allocation is None]

    def unavailable_at(self, row: int, *, checks_binding: bool) -> list[int]:
        """Indexes of the claims whose devices the node does not reach, or that could not be bound."""
        return [
            at
            for at, (claim, mask) in enumerate(zip(self.claims, self.available, strict=True))
            if (mask is not None and not mask[row])
            or (
                checks_binding
                and claim.status.allocation is not None
                and key_of(claim) not in self.pending_elsewhere
                and binding_failed(claim)
            )
        ]

    def in_order_of_go(self, made: Sequence[AllocationResult]) -> list[AllocationResult]:
        """The allocations as Reserve of kube-scheduler gives them to the claims of `to_allocate`. It puts those that
        pods of the group share behind the new ones and counts through all claims, so claims may swap allocations."""
        waiting = [
            claim for claim in self.claims if claim in self.to_allocate or key_of(claim) in self.pending_elsewhere
        ]
        shared = [claim.status.allocation for claim in waiting if claim.status.allocation is not None]
        given = zip(waiting, [*made, *shared], strict=True)
        return [allocation for claim, allocation in given if claim.status.allocation is None]

    def taken(self, found: NodeAllocation | None) -> TakenDevices:
        """The devices that the cycle gives to claims of the pod, with those that pods of the group share."""
        waiting = [claim for claim in self.to_allocate if found is not None]
        devices = {
            key_of(claim): (claim, picked(picks))
            for claim, picks in zip(waiting, found.picks if found else (), strict=True)
        }
        shared = [claim for claim in self.claims if key_of(claim) in self.pending_elsewhere]
        return {**devices, **{key_of(claim): (claim, held(claim)) for claim in shared}}

    def score_of(self, allocation: NodeAllocation) -> int:
        """computeScore."""
        total, found = 0, iter(allocation.picks)
        for claim in self.claims:
            if claim.status.allocation is not None:
                granted = [result.request for result in claim.status.allocation.devices.results]
            else:
                granted = [pick.request.full_name for pick in next(found, ())]
            total += alternatives_score(claim, granted)
        return total
