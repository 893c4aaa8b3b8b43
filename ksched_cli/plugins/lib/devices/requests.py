"""One view of exact requests and of subrequests, and one of what was picked for them (requestAccessor)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct

from ksched_cli.api.dynamic_resources import (
    Device,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceSlice,
)
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.plugins.lib.devices.claims import DeviceID

EXACT_COUNT, ALL = "ExactCount", "All"


class RequestView(Struct, frozen=True, eq=False):
    """`parent` is the request's name where this is one of its alternatives, else empty."""

    name: str
    parent: str
    device_class_name: str
    mode: str
    count: int
    admin_access: bool | None
    selectors: tuple[DeviceSelector, ...]
    tolerations: tuple[DeviceToleration, ...]
    has_capacity: bool
    capacity: Mapping[str, Fraction]

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def admin(self) -> bool:
        return bool(self.admin_access)


def views_of(request: DeviceRequest) -> tuple[RequestView, ...]:
    """The exact request, or its alternatives in order of preference."""
    if request.first_available:
        return tuple(_view(each, each.name, request.name, None) for each in request.first_available)
    exactly = request.exactly or ExactDeviceRequest()
    return (_view(exactly, request.name, "", exactly.admin_access),)


def _view(
    request: ExactDeviceRequest | DeviceSubRequest, name: str, parent: str, admin_access: bool | None
) -> RequestView:
    """The API server fills in an omitted mode with ExactCount and an omitted count with 1."""
    mode = request.allocation_mode or EXACT_COUNT
    capacity = request.capacity.requests if request.capacity else {}
    return RequestView(
        name,
        parent,
        request.device_class_name,
        mode,
        request.count or (1 if mode == EXACT_COUNT else 0),
        admin_access,
        request.selectors,
        request.tolerations,
        request.capacity is not None,
        {key: parse_quantity(amount) for key, amount in capacity.items()},
    )


class Pick(Struct, frozen=True, eq=False):
    """A device chosen for a request. `charged`: it took its shared counters; `was_shared`: this search had given out
    another share of it already."""

    request: RequestView
    device: Device
    slice: ResourceSlice
    consumed: Mapping[str, Fraction] | None
    charged: bool = False
    was_shared: bool = False


def device_id(home: ResourceSlice, device: Device) -> DeviceID:
    return home.spec.driver, home.spec.pool.name, device.name
