"""Expressions of device selectors, which the API server compiles before it stores an object."""

from __future__ import annotations

from typing import Any

from ksched_cli.api.dynamic_resources import DeviceClass, ResourceClaim, ResourceClaimTemplate
from ksched_cli.plugins.lib.cel.expression import compile_cel_selector
from ksched_cli.plugins.lib.cel.values import CelCompileError


def wrong_expression(item: Any) -> str:
    """validateCELSelector of the selectors of a device class, claim or claim template: the first that is wrong."""
    if not isinstance(item, DeviceClass | ResourceClaim | ResourceClaimTemplate):
        return ""
    places: list[tuple[str, Any]] = [("spec", item.spec)] if isinstance(item, DeviceClass) else []
    if not isinstance(item, DeviceClass):
        claim = item.spec.spec if isinstance(item, ResourceClaimTemplate) else item.spec
        base = "spec.spec.devices" if isinstance(item, ResourceClaimTemplate) else "spec.devices"
        for index, request in enumerate(claim.devices.requests):
            here = f"{base}.requests[{index}]"
            places += [(f"{here}.exactly", request.exactly)] if request.exactly is not None else []
            places += [(f"{here}.firstAvailable[{at}]", each) for at, each in enumerate(request.first_available)]
    for where, holder in places:
        for index, selector in enumerate(holder.selectors):
            try:
                compile_cel_selector(selector.cel.expression if selector.cel is not None else "true")
            except CelCompileError as mistake:
                return f"{where}.selectors[{index}].cel.expression: Invalid value: {mistake}"
    return ""
