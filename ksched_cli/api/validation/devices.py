"""Rows for devices: classes, claims, claim templates and slices (pkg/apis/resource/validation). The expressions of
selectors are compiled in `controlplane/admission/registry.py`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.conversion import Path
from ksched_cli.api.label_names import domain_problems, key_problems, value_problems
from ksched_cli.api.validation import checks
from ksched_cli.api.validation.checks import DOMAIN, LABEL, NEEDED, Rows
from ksched_cli.api.validation.containers import is_extended_name
from ksched_cli.api.validation.errors import Errors, duplicate, forbidden, invalid, invalid_all, required
from ksched_cli.api.validation.fields import (
    amount_in,
    each_at,
    fields_of,
    items_at,
    number_at,
    object_at,
    text_at,
    texts_at,
)
from ksched_cli.api.validation.volumes import driver_name

_MOST_ATTRIBUTES = 32


def _device_count(request: Mapping[str, Any], path: Path) -> Errors:
    """validateDeviceAllocationMode."""
    is_all, count = text_at(request, "allocationMode") == "All", number_at(request, "count") or 0
    if is_all and count:
        return [invalid((*path, "count"), count, "must not be specified when allocationMode is 'All'")]
    # By default the count is 1 (SetDefaults_ExactDeviceRequest), also if it is written as 0.
    return [invalid((*path, "count"), count, "must be greater than zero")] if count < 0 else ()


def _device_claim(claim: Mapping[str, Any], path: Path) -> Errors:
    """validateDeviceClaim: constraints and configuration name requests of the claim."""
    known: set[str] = set()
    for _, request in items_at(claim, "requests"):
        own = text_at(request, "name")
        known |= {own, *(f"{own}/{text_at(each, 'name')}" for _, each in items_at(request, "firstAvailable"))}
    for field in ("constraints", "config"):
        for here, found in each_at(claim, path, field):
            names = texts_at(found, "requests")
            for at, request_name in checks.repeated(names):
                yield duplicate((*here, "requests", at), request_name)
            for at, request_name in enumerate(names):
                if request_name not in known:
                    text = "must be the name of a request in the claim or the name of a request and a subrequest"
                    yield invalid((*here, "requests", at), request_name, text)


def _device_toleration(found: Mapping[str, Any], path: Path) -> Errors:
    """validateDeviceToleration, and the check of the operator that its declarative rules add."""
    value = text_at(found, "value")
    if text_at(found, "operator") == "Exists":
        return [invalid((*path, "value"), value, "must be empty for operator `Exists`")] if value else ()
    return invalid_all((*path, "value"), value, value_problems(value))


def _parameters(found: Mapping[str, Any], path: Path) -> Errors:
    """validateRawExtension."""
    value, here = found.get("parameters"), (*path, "parameters")
    if value is None:
        return [required(here)]
    return () if isinstance(value, dict) else [invalid(here, "<value omitted>", "must be a valid JSON object")]


def _qualified(text: str) -> list[str]:
    """validateFullyQualifiedName."""
    domain, slash, own = text.partition("/")
    if not slash:
        return ["a fully qualified name must be a domain and a name separated by a slash"]
    return [*domain_problems(domain), *_identifier(own)]


def _identifier(text: str) -> list[str]:
    """validateCIdentifier."""
    found = ["must be no more than 32 bytes"] if len(text.encode()) > 32 else []
    if not (text.isidentifier() and text.isascii()):
        found.append("a valid C identifier must start with a letter or an underscore")
    return found


def _device_node(spec: Mapping[str, Any], path: Path) -> Errors:
    """validateResourceSliceSpec: the fields that choose the nodes of the devices."""
    if spec.get("nodeName") == "":
        yield invalid((*path, "nodeName"), "", "must be either unset or set to a non-empty string")
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field) is False:
            yield invalid((*path, field), False, "must be either unset or set to true")
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        yield invalid(path, "", "only one of `sharedCounters` or `devices` is allowed")
    terms = object_at(spec, "nodeSelector").get("nodeSelectorTerms")
    if spec.get("nodeSelector") is not None and len(terms or ()) != 1:
        yield invalid((*path, "nodeSelector", "nodeSelectorTerms"), terms, "must have exactly one node selector term")
    for here, device in each_at(spec, path, "devices"):
        yield from _of_gate("DRAPartitionableDevices", _own_node(device, here, spec.get("perDeviceNodeSelection")))


def _of_gate(gate: str, found: Errors) -> Errors:
    """Errors of fields that the API server drops while the gate is off."""
    return (replace(each, gate=(gate, True)) for each in found)


def _own_node(device: Mapping[str, Any], path: Path, is_selected: Any) -> Errors:
    """validateDevice: the fields that choose the nodes of one device."""
    given = [field for field in ("nodeName", "nodeSelector", "allNodes") if device.get(field) is not None]
    text = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set"
    if not is_selected and given:
        text = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true"
        yield invalid(path, None, f"{text} in the ResourceSlice spec")
    elif is_selected and not given:
        yield required(path, f"{text} to true in the ResourceSlice spec")
    elif is_selected and len(given) > 1:
        fields = ", ".join(f"`{field}`" for field in given)
        yield invalid(path, f"{{{fields}}}", f"{text} to true in the ResourceSlice spec")


def _device(device: Mapping[str, Any], path: Path) -> Errors:
    """validateDevice, without the fields that choose its nodes."""
    count = len(object_at(device, "attributes")) + len(object_at(device, "capacity"))
    if count > _MOST_ATTRIBUTES:
        text = f"the total number of attributes and capacities must not exceed {_MOST_ATTRIBUTES}"
        yield invalid(path, count, text)
    for name, capacity in object_at(device, "capacity").items():
        policy, here = object_at(capacity, "requestPolicy"), (*path, "capacity", name, "requestPolicy")
        if not object_at(capacity).get("requestPolicy"):
            continue
        if device.get("allowMultipleAllocations") is True:
            found = _request_policy(policy, amount_in(capacity.get("value")), here)
        else:
            found = [forbidden(here, "allowMultipleAllocations must be true")]
        yield from _of_gate("DRAConsumableCapacity", found)
    yield from _of_gate("DRADeviceBindingConditions", _binding(device, path))


def _request_policy(policy: Mapping[str, Any], most: Fraction | None, path: Path) -> Errors:
    """validateRequestPolicy: the default and the values that it allows."""
    values, bounds = policy.get("validValues") or [], policy.get("validRange")
    if values and bounds is not None:
        text = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        yield forbidden(path, text)
        return
    usual = amount_in(policy.get("default"))
    if usual is None:
        for field in ("validValues", "validRange"):
            if policy.get(field):
                yield required((*path, "default"), f"required when {field} is defined")
        return
    amounts = [amount_in(each) for each in values]
    for at, each in enumerate(amounts):
        here = (*path, "validValues", at)
        if each is None or most is None:
            continue
        if each > most:
            yield invalid(here, str(values[at]), "option is larger than capacity value")
        if at and (before := amounts[at - 1]) is not None and before > each:
            yield invalid(here, str(values[at]), "values must be sorted in ascending order")
    if values and usual not in amounts:
        text = "default value is not valid according to the requestPolicy"
        yield invalid((*path, "validValues"), str(policy["default"]), text)
    if bounds is not None:
        least, largest = amount_in(object_at(bounds).get("min")), amount_in(object_at(bounds).get("max"))
        if least is None:
            yield required((*path, "validRange", "min"), "required when validRange is defined")
        elif usual < least:
            yield invalid(
                (*path, "validRange", "min"), str(policy["default"]), f"default is less than min: {bounds['min']}"
            )
        if largest is not None and usual > largest:
            yield invalid(
                (*path, "validRange", "max"), str(policy["default"]), f"default is more than max: {bounds['max']}"
            )


def _binding(device: Mapping[str, Any], path: Path) -> Errors:
    """validateDeviceBindingParameters."""
    fields = ("bindingConditions", "bindingFailureConditions")
    first, second = (texts_at(device, field) for field in fields)
    for field, names in zip(fields, (first, second), strict=True):
        for at, name in checks.repeated(names):
            yield duplicate((*path, field, at), name)
    for at, name in enumerate(second):
        if name in first:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            yield invalid((*path, fields[1], at), name, text)
    for field, own, other in ((fields[0], first, second), (fields[1], second, first)):
        if other and not own:
            needed = fields[0] if field == fields[1] else fields[1]
            yield invalid((*path, field), own, f"{field} are required to use {needed}")


_VERSION_PART = "(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = (
    rf"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){{2}}(-{_VERSION_PART}(\.{_VERSION_PART})*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_VALUE = (invalid, "", "exactly one value must be specified")

_ONE_REQUEST = "exactly one of `exactly` or `firstAvailable` is required"
_REQUEST: Mapping[str, Any] = {
    "": _device_count,
    "deviceClassName!": DOMAIN,
    "selectors": checks.not_more_than(32),
    "allocationMode": "All|ExactCount",
}


ROWS: Rows = {
    "DeviceClassSpec": {
        "selectors": checks.not_more_than(32),
        "extendedResourceName": checks.form(
            lambda text: [] if is_extended_name(text) else ["must be a valid extended resource name"]
        ),
    },
    "DeviceSelector": {"cel": NEEDED},
    "CELDeviceSelector": {"expression!": checks.no_longer(10 * 1024)},
    "DeviceClassConfiguration DeviceClaimConfiguration": {"opaque": NEEDED},
    "OpaqueDeviceConfiguration": {"": _parameters, "driver!": checks.name(driver_name)},
    "DeviceClaim": {
        "": _device_claim,
        "requests": (checks.not_more_than(32), checks.unique("name")),
        "constraints config": checks.not_more_than(32),
    },
    "DeviceRequest": {
        "": checks.choice(
            *("exactly", "firstAvailable"),
            none=(required, _ONE_REQUEST),
            many=(invalid, "", _ONE_REQUEST),
            at="exactly",
        ),
        "name!": LABEL,
        "firstAvailable": (checks.not_more_than(8), checks.unique("name")),
    },
    "ExactDeviceRequest": _REQUEST,
    "DeviceSubRequest": {**_REQUEST, "name!": LABEL},
    "DeviceConstraint": {
        "": checks.choice(
            *("matchAttribute", "distinctAttribute"),
            none=(required, "matchAttribute or distinctAttribute is required"),
            many=(forbidden, "may not specify more than one attribute"),
        ),
        "matchAttribute distinctAttribute": checks.form(_qualified),
    },
    "DeviceToleration": {
        "": _device_toleration,
        "key": checks.name(key_problems),
        "operator": "*Equal|Exists",
        "effect": "NoExecute|NoSchedule|None",
    },
    "DeviceTaint": {
        "key!": checks.name(key_problems),
        "value": checks.name(value_problems),
        "effect!": "NoExecute|NoSchedule|None",
    },
    "ResourceSliceSpec": {
        "": (
            checks.choice(
                *("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"),
                none=(required, _ONE_PLACE),
                many=(invalid, "", f"{_ONE_PLACE}, but multiple fields are set"),
                empty="",
            ),
            _device_node,
        ),
        "driver!": checks.name(driver_name),
        "nodeName": DOMAIN,
        "devices": (checks.not_more_than(128), checks.unique("name", of_item=True)),
    },
    "ResourcePool": {
        "": checks.always("resourceSliceCount", 0, checks.no_less_than(1, "must be greater than zero")),
        "name!": (
            checks.name(lambda text: [problem for part in text.split("/") for problem in domain_problems(part)]),
            checks.no_longer(253),
        ),
        "generation": checks.no_less_than(0, "must be greater than or equal to zero"),
    },
    "Device": {
        "": _device,
        "name!": LABEL,
        "attributes capacity": checks.each_key(lambda key: _qualified(key) if "/" in key else _identifier(key)),
    },
    "DeviceAttribute": {
        "": checks.choice(*fields_of("DeviceAttribute"), none=_ONE_VALUE, many=_ONE_VALUE),
        "string": checks.no_longer(64),
        "version": (
            checks.matches(_VERSION, "must be a string compatible with semver.org spec 2.0.0"),
            checks.no_longer(64),
        ),
    },
    "ResourceClaimTemplate": {"spec": NEEDED},
}
