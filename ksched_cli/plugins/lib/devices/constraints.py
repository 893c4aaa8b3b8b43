"""matchAttribute and distinctAttribute over the devices of one claim."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection

from ksched_cli.api.dynamic_resources import Device, DeviceAttribute, DeviceConstraint
from ksched_cli.plugins.lib.devices.requests import RequestView
from ksched_cli.plugins.lib.devices.rules import DeviceRules

_Values = frozenset[tuple[str, object]]


def constraint_of(constraint: DeviceConstraint, rules: DeviceRules, *, lists: bool = False) -> ClaimConstraint | None:
    """The constraint; None for an unknown kind. With `lists` (DRAListTypeAttributes) attributes are sets of values."""
    if constraint.match_attribute is not None:
        if not lists:
            return MatchAttribute(constraint.requests, constraint.match_attribute)
        return MatchAnyOf(constraint.requests, constraint.match_attribute, returns=rules.common_values_come_back)
    if constraint.distinct_attribute is not None:
        clash = _share_a_value if lists else _clash
        kind = DistinctDevices if rules.every_device_is_distinct else DistinctAttribute
        return kind(constraint.requests, constraint.distinct_attribute, clash)
    return None


def look_up(device: Device, driver: str, attribute: str) -> DeviceAttribute | None:
    """lookupAttribute: by its full name, or by its identifier where the domain is the driver."""
    found = device.attributes.get(attribute)
    if found is not None:
        return found
    domain, slash, identifier = attribute.partition("/")
    return device.attributes.get(identifier) if slash and domain == driver else None


class ClaimConstraint:
    """A constraint on one attribute of a claim's devices. Without request names it is for all requests."""

    def __init__(self, requests: Collection[str], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute
        self._devices = 0

    def add(self, request: RequestView, device: Device, driver: str) -> bool:
        """Refuses the device or counts it in; `remove` takes back an `add` that succeeded."""
        if not self._concerns(request):
            return True
        found = look_up(device, driver, self._attribute)
        if found is None or not self._take(request, found):
            return False
        self._devices += 1
        return True

    def remove(self, request: RequestView, device: Device, driver: str) -> None:
        if self._concerns(request):
            self._forget(request)
            self._devices -= 1

    def _concerns(self, request: RequestView) -> bool:
        if not self._requests:
            return True
        if not request.parent:
            return request.name in self._requests
        return request.parent in self._requests or request.full_name in self._requests

    @abstractmethod
    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        """Whether the attribute of one more device satisfies the constraint."""

    def _forget(self, request: RequestView) -> None:
        """Forget what `_take` noted of the request."""


class MatchAttribute(ClaimConstraint):
    """All devices have the attribute, with one value."""

    _value: DeviceAttribute | None = None

    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        if self._devices == 0:
            self._value = found
        return self._devices == 0 or (self._value is not None and same_value(found, self._value))


class MatchAnyOf(ClaimConstraint):
    """All devices have the attribute, with at least one value that they share. Without `returns` (up to 1.36), values
    that a device has ruled out stay ruled out when it is given back, until no device is left."""

    def __init__(self, requests: Collection[str], attribute: str, *, returns: bool) -> None:
        super().__init__(requests, attribute)
        self._returns = returns
        # What the devices up to each one share.
        self._common: list[_Values] = []

    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        values = _values(found)
        if self._devices and self._common and values is not None:
            values &= self._common[-1]
        if not values:
            return False
        self._common.append(values)
        return True

    def _forget(self, request: RequestView) -> None:
        if self._returns:
            self._common.pop()


class DistinctAttribute(ClaimConstraint):
    """All devices have the attribute, each with a value of its own. As in kube-scheduler, a device is compared with
    the last one of each request."""

    def __init__(
        self, requests: Collection[str], attribute: str, clash: Callable[[DeviceAttribute, DeviceAttribute], bool]
    ) -> None:
        super().__init__(requests, attribute)
        self._clash = clash
        self._values: dict[str, DeviceAttribute] = {}

    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        if self._devices and any(self._clash(found, other) for other in self._values.values()):
            return False
        self._values[request.parent or request.name] = found
        return True

    def _forget(self, request: RequestView) -> None:
        self._values.pop(request.parent or request.name, None)


class DistinctDevices(DistinctAttribute):
    """DistinctAttribute, but each device is compared with all others."""

    def __init__(
        self, requests: Collection[str], attribute: str, clash: Callable[[DeviceAttribute, DeviceAttribute], bool]
    ) -> None:
        super().__init__(requests, attribute, clash)
        self._taken: list[DeviceAttribute] = []

    def _take(self, request: RequestView, found: DeviceAttribute) -> bool:
        if any(self._clash(found, other) for other in self._taken):
            return False
        self._taken.append(found)
        return True

    def _forget(self, request: RequestView) -> None:
        self._taken.pop()


def _typed(attribute: DeviceAttribute) -> tuple[str, object] | None:
    if attribute.string is not None:
        return "string", attribute.string
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    if attribute.version is not None:
        return "version", attribute.version
    return None


def same_value(left: DeviceAttribute, right: DeviceAttribute) -> bool:
    """Whether the values are equal. Versions are compared as texts."""
    value = _typed(left)
    return value is not None and value == _typed(right)


def _clash(found: DeviceAttribute, other: DeviceAttribute) -> bool:
    """Whether the values are equal, or one has an unknown type."""
    return _typed(found) is None or same_value(found, other)


def _values(attribute: DeviceAttribute) -> _Values | None:
    """attributeAsSet: a single value is a list of one; None where there is no value at all."""
    lists = {"int": attribute.ints, "bool": attribute.bools, "string": attribute.strings, "version": attribute.versions}
    for kind, values in lists.items():
        if values:
            return frozenset((kind, value) for value in values)
    single = _typed(attribute)
    return None if single is None else frozenset({single})


def _share_a_value(found: DeviceAttribute, other: DeviceAttribute) -> bool:
    values, others = _values(found), _values(other)
    return values is None or (others is not None and bool(values & others))
