"""Whether the requests of a claim ask for something that exists (DynamicResources.PreFilter)."""

from __future__ import annotations

from ksched_cli.api.dynamic_resources import DeviceRequest, ResourceClaim
from ksched_cli.framework.status import Status, error, unresolvable
from ksched_cli.plugins.lib.devices.inventory import Inventory
from ksched_cli.plugins.lib.devices.reasons import DeviceReasons


def check_requests(claim: ResourceClaim, inventory: Inventory) -> Status | None:
    """What is wrong with the first bad request, or None."""
    refusals = (_check_request(claim, request, inventory) for request in claim.spec.devices.requests)
    return next((refusal for refusal in refusals if refusal is not None), None)


def _check_request(claim: ResourceClaim, request: DeviceRequest, inventory: Inventory) -> Status | None:
    if request.exactly is not None:
        return _check_class(request.exactly.device_class_name, request.name, inventory)
    where = {"namespace": claim.metadata.namespace, "claim": claim.metadata.name, "request": request.name}
    if not request.first_available:
        return unresolvable(DeviceReasons.unknown_request(**where))
    if not inventory.features.prioritized_list:
        return unresolvable(DeviceReasons.subrequests_off(**where))
    refusals = (
        _check_class(each.device_class_name, f"{request.name}/{each.name}", inventory)
        for each in request.first_available
    )
    return next((refusal for refusal in refusals if refusal is not None), None)


def _check_class(name: str, request: str, inventory: Inventory) -> Status | None:
    """validateDeviceClass."""
    if not name:
        return error(f"request {request}: unsupported request type")
    if inventory.device_class(name) is None:
        return unresolvable(DeviceReasons.class_missing(request=request, name=name))
    return None
