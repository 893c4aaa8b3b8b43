"""From the devices that were picked to the claim's new status, and what can be read back from one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ksched_cli.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ksched_cli.api.dynamic_resources import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from ksched_cli.api.quantity import quantity_of
from ksched_cli.plugins.lib.devices.errors import AllocationError
from ksched_cli.plugins.lib.devices.requests import Pick

# resourceapi.FirstAvailableDeviceRequestMaxSize
MAX_ALTERNATIVES = 8


def allocation_of(picks: Sequence[Pick], claim: ResourceClaim, node: str) -> AllocationResult:
    results = tuple(_result(pick, f"{claim.metadata.uid}-{at}") for at, pick in enumerate(picks))
    return AllocationResult(DeviceAllocationResult(results), node_selector(picks, claim, node))


def _result(pick: Pick, share: str) -> DeviceRequestAllocationResult:
    shared = pick.consumed is not None
    return DeviceRequestAllocationResult(
        request=pick.request.full_name,
        driver=pick.slice.spec.driver,
        pool=pick.slice.spec.pool.name,
        device=pick.device.name,
        admin_access=True if pick.request.admin else None,
        tolerations=pick.request.tolerations,
        share_id=share if shared else None,
        consumed_capacity={name: quantity_of(amount) for name, amount in (pick.consumed or {}).items()},
        binding_conditions=pick.device.binding_conditions,
        binding_failure_conditions=pick.device.binding_failure_conditions,
    )


def node_selector(picks: Iterable[Pick], claim: ResourceClaim, node: str) -> NodeSelector | None:
    """createNodeSelector: where the devices can be used; None for everywhere."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for pick in picks:
        where = pick.device if pick.slice.spec.per_device_node_selection else pick.slice.spec
        if where.node_name is not None or pick.device.binds_to_node:
            only = NodeSelectorRequirement("metadata.name", "In", (node,))
            return NodeSelector((NodeSelectorTerm(match_fields=(only,)),))
        terms = where.node_selector.node_selector_terms if where.node_selector is not None else ()
        if len(terms) > 1:
            raise AllocationError(
                f"create NodeSelector for claim {claim.metadata.name}: "
                f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            )
        for term in terms:
            _add_new(term.match_fields, fields)
            _add_new(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


def _add_new(wanted: Iterable[NodeSelectorRequirement], into: list[NodeSelectorRequirement]) -> None:
    for each in wanted:
        if not any(_same(each, other) for other in into):
            into.append(each)


def _same(left: NodeSelectorRequirement, right: NodeSelectorRequirement) -> bool:
    return (left.key, left.operator, set(left.values)) == (right.key, right.operator, set(right.values))


def alternatives_score(claim: ResourceClaim, granted: Iterable[str]) -> int:
    """computeScore for one claim: 8 for a first choice, 7 for a second, and so on. `granted` are the names of the
    requests that got devices, alternatives as request/alternative."""
    names = set(granted)
    return sum(
        MAX_ALTERNATIVES - at
        for request in claim.spec.devices.requests
        for at, alternative in enumerate(request.first_available)
        if request.exactly is None and f"{request.name}/{alternative.name}" in names
    )


def binding_failed(claim: ResourceClaim) -> bool:
    """isClaimReadyForBinding's error: a driver reports that a device cannot be bound. No timeout is modelled."""
    results = claim.status.allocation.devices.results if claim.status.allocation else ()
    for result in results:
        if not result.binding_conditions:
            continue
        conditions = _conditions_of(claim, result)
        if conditions is None:
            return False
        if any(conditions.get(each) == "True" for each in result.binding_failure_conditions):
            return True
        if any(conditions.get(each) != "True" for each in result.binding_conditions):
            return False
    return False


def _conditions_of(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> dict[str, str] | None:
    for device in claim.status.devices:
        if (device.driver, device.pool, device.device) == (result.driver, result.pool, result.device):
            return {condition.type: condition.status for condition in device.conditions}
    return None
