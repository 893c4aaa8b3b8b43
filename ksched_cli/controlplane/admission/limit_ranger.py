"""LimitRanger: defaults for containers without requests, and bounds for the requests of containers, pods and claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ksched_cli.api.core import Pod, Quantities
from ksched_cli.api.policy import LimitRange, LimitRangeItem
from ksched_cli.api.quantity import approximate
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.controlplane.admission.amounts import NOTHING, Amount, Amounts, amounts, pod_limits, pod_requests

_CONTAINER = "Container"
_POD = "Pod"
_CLAIM = "PersistentVolumeClaim"


class LimitRanges:
    def __init__(self, ranges: Iterable[LimitRange]) -> None:
        self._ranges: defaultdict[str, list[LimitRange]] = defaultdict(list)
        for each in sorted(ranges, key=lambda each: each.metadata.name):
            self._ranges[each.metadata.namespace].append(each)

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def fill_in(self, pod: Pod) -> None:
        """mergePodResourceRequirements."""
        for each in self._ranges.get(pod.metadata.namespace, ()):
            for item in each.spec.limits:
                if item.type == _CONTAINER:
                    limits, requests = container_defaults(item)
                    for container in (*pod.spec.containers, *pod.spec.init_containers):
                        _fill(container.resources.limits, limits)
                        _fill(container.resources.requests, requests)

    def validate(self, pod: Pod) -> str:
        """PodValidateLimitFunc: everything that is out of the bounds of the first LimitRange that it is not within."""
        for each in self._ranges.get(pod.metadata.namespace, ()):
            found = list(dict.fromkeys(text for item in each.spec.limits for text in _violations(pod, item)))
            if found:
                return found[0] if len(found) == 1 else f"[{', '.join(found)}]"
        return ""

    def validate_claim(self, claim: PersistentVolumeClaim) -> str:
        """PersistentVolumeClaimValidateLimitFunc."""
        storage = amounts({key: each for key, each in claim.spec.resources.requests.items() if key == "storage"})
        for each in self._ranges.get(claim.metadata.namespace, ()):
            for item in each.spec.limits:
                if item.type != _CLAIM or not storage:
                    continue
                start, request = f"storage usage per {_CLAIM} is", storage["storage"]
                least, most = amounts(item.min).get("storage"), amounts(item.max).get("storage")
                if least is not None and request.value < least.value:
                    return f"minimum {start} {least}, but request is {request}"
                if most is not None and request.value > most.value:
                    return f"maximum {start} {most}, but request is {request}"
        return ""


def container_defaults(item: LimitRangeItem) -> tuple[Quantities, Quantities]:
    """SetDefaults_LimitRangeItem: limits from the maximum, requests from the limits and then from the minimum."""
    limits = {**item.max, **item.default}
    return limits, {**item.min, **limits, **item.default_request}


def invalid_requests(pod: Pod) -> str:
    """ValidateContainerResourceRequirements once more: a default limit may be below the request of the pod."""
    for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for index, container in enumerate(containers):
            limits = amounts(container.resources.limits)
            for name, request in amounts(container.resources.requests).items():
                if name in limits and request.value > limits[name].value:
                    where = f"spec.{field}[{index}].resources.requests"
                    text = f"must be less than or equal to {name} limit of {limits[name]}"
                    return f'Pod is invalid: {where}: Invalid value: "{request}": {text}'
    return ""


def _fill(given: Quantities, defaults: Quantities) -> None:
    for name, quantity in defaults.items():
        given.setdefault(name, quantity)


def _violations(pod: Pod, item: LimitRangeItem) -> Iterator[str]:
    if item.type == _CONTAINER:
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            resources = container.resources
            yield from _out_of_bounds(item, amounts(resources.requests), amounts(resources.limits))
    elif item.type == _POD:
        yield from _out_of_bounds(item, pod_requests(pod), pod_limits(pod))


def _out_of_bounds(item: LimitRangeItem, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, bound in sorted(amounts(item.min).items()):
        yield from _below(name, bound, item.type, requests, limits)
    for name, bound in sorted(amounts(item.max).items()):
        yield from _above(name, bound, item.type, requests, limits)
    for name, bound in sorted(amounts(item.max_limit_request_ratio).items()):
        yield from _too_far_apart(name, bound, item.type, requests, limits)


def _below(name: str, bound: Amount, kind: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    """minConstraint."""
    start = f"minimum {name} usage per {kind} is {bound}"
    if name not in requests:
        yield f"{start}.  No request is specified"
    elif requests[name].value < bound.value:
        yield f"{start}, but request is {requests[name]}"
    elif name in limits and limits[name].value < bound.value:
        yield f"{start}, but limit is {limits[name]}"


def _above(name: str, bound: Amount, kind: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    """maxConstraint."""
    start = f"maximum {name} usage per {kind} is {bound}"
    if name not in limits:
        yield f"{start}.  No limit is specified"
    elif limits[name].value > bound.value:
        yield f"{start}, but limit is {limits[name]}"
    elif name in requests and requests[name].value > bound.value:
        yield f"{start}, but request is {requests[name]}"


def _too_far_apart(name: str, bound: Amount, kind: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    """limitRequestRatioConstraint."""
    start = f"{name} max limit to request ratio per {kind} is {bound}"
    if not requests.get(name, NOTHING).value:
        yield f"{start}, but no request is specified or request is 0"
    elif not limits.get(name, NOTHING).value:
        yield f"{start}, but no limit is specified or limit is 0"
    elif (ratio := limits[name].value / requests[name].value) > bound.value:
        yield f"{start}, but provided ratio is {approximate(ratio):f}"
