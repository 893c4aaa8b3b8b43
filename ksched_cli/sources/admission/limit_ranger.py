"""LimitRanger: defaults for containers that ask for nothing, and bounds for what is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from msgspec.structs import replace

from ksched_cli.api.core import Container, Pod, PodSpec, Quantities
from ksched_cli.api.policy import LimitRange, LimitRangeItem
from ksched_cli.api.quantity import NANO, parse_quantity
from ksched_cli.api.resources import container_requests

_CONTAINER = "Container"
_POD = "Pod"
_Amounts = Mapping[str, Fraction]


class LimitRanges:
    def __init__(self, ranges: Iterable[LimitRange]) -> None:
        self._items: defaultdict[str, list[LimitRangeItem]] = defaultdict(list)
        for each in sorted(ranges, key=lambda each: each.metadata.name):
            self._items[each.metadata.namespace] += each.spec.limits

    def fill_in(self, pod: Pod) -> None:
        """mergePodResourceRequirements."""
        for item in self._items.get(pod.metadata.namespace, ()):
            if item.type == _CONTAINER:
                limits, requests = container_defaults(item)
                for container in (*pod.spec.containers, *pod.spec.init_containers):
                    _fill(container.resources.limits, limits)
                    _fill(container.resources.requests, requests)

    def validate(self, pod: Pod) -> str:
        """PodValidateLimitFunc: everything that is out of bounds."""
        found = [text for item in self._items.get(pod.metadata.namespace, ()) for text in _violations(pod, item)]
        return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def container_defaults(item: LimitRangeItem) -> tuple[Quantities, Quantities]:
    """SetDefaults_LimitRangeItem: limits from the maximum, requests from the limits and then from the minimum."""
    limits = {**item.max, **item.default}
    return limits, {**item.min, **limits, **item.default_request}


def _fill(given: Quantities, defaults: Quantities) -> None:
    for name, quantity in defaults.items():
        given.setdefault(name, quantity)


def _violations(pod: Pod, item: LimitRangeItem) -> Iterator[str]:
    if item.type == _CONTAINER:
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            resources = container.resources
            yield from _out_of_bounds(item, _amounts(resources.requests), _amounts(resources.limits))
    elif item.type == _POD:
        yield from _out_of_bounds(item, pod_requests(pod), pod_limits(pod))


def _amounts(quantities: Quantities) -> _Amounts:
    return {name: parse_quantity(quantity) for name, quantity in quantities.items()}


def pod_requests(pod: Pod) -> _Amounts:
    """Containers together, or the largest init container; what the pod asks for as a whole goes before both."""
    return _of_pod(pod, container_requests(pod), pod.spec.resources.requests if pod.spec.resources else {})


def pod_limits(pod: Pod) -> _Amounts:
    """Limits add up as requests do, so the sum is taken over a pod that asks for them."""
    asking = PodSpec(
        containers=tuple(_asking_for_limits(each) for each in pod.spec.containers),
        init_containers=tuple(_asking_for_limits(each) for each in pod.spec.init_containers),
    )
    return _of_pod(pod, container_requests(Pod(spec=asking)), pod.spec.resources.limits if pod.spec.resources else {})


def _of_pod(pod: Pod, sums: Mapping[str, int], own: Quantities) -> _Amounts:
    return {**{name: Fraction(amount, NANO) for name, amount in sums.items()}, **_amounts(own)}


def _asking_for_limits(container: Container) -> Container:
    return replace(container, resources=replace(container.resources, requests=container.resources.limits))


def _out_of_bounds(item: LimitRangeItem, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    for name, bound in sorted(item.min.items()):
        yield from _below(name, bound, item.type, requests, limits)
    for name, bound in sorted(item.max.items()):
        yield from _above(name, bound, item.type, requests, limits)
    for name, bound in sorted(item.max_limit_request_ratio.items()):
        yield from _too_far_apart(name, bound, item.type, requests, limits)


def _below(name: str, bound: str | int | float, kind: str, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    """minConstraint."""
    least, start = parse_quantity(bound), f"minimum {name} usage per {kind} is {bound}"
    if name not in requests:
        yield f"{start}.  No request is specified"
    elif requests[name] < least:
        yield f"{start}, but request is {written(name, requests[name])}"
    elif name in limits and limits[name] < least:
        yield f"{start}, but limit is {written(name, limits[name])}"


def _above(name: str, bound: str | int | float, kind: str, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    """maxConstraint."""
    most, start = parse_quantity(bound), f"maximum {name} usage per {kind} is {bound}"
    if name not in limits:
        yield f"{start}.  No limit is specified"
    elif limits[name] > most:
        yield f"{start}, but limit is {written(name, limits[name])}"
    elif name in requests and requests[name] > most:
        yield f"{start}, but request is {written(name, requests[name])}"


def _too_far_apart(
    name: str, bound: str | int | float, kind: str, requests: _Amounts, limits: _Amounts
) -> Iterator[str]:
    """limitRequestRatioConstraint."""
    start = f"{name} max limit to request ratio per {kind} is {bound}"
    if not requests.get(name):
        yield f"{start}, but no request is specified or request is 0"
    elif not limits.get(name):
        yield f"{start}, but no limit is specified or limit is 0"
    elif (ratio := limits[name] / requests[name]) > parse_quantity(bound):
        yield f"{start}, but provided ratio is {float(ratio):f}"


def written(name: str, amount: Fraction) -> str:
    """A sum as a quantity: bytes with a binary suffix, anything else in thousandths where it is not whole."""
    from ksched_cli.api.quantity import format_bytes, format_milli, whole_unbounded

    if amount.denominator == 1 and ("memory" in name or "storage" in name or "hugepages" in name):
        return format_bytes(int(amount))
    return format_milli(whole_unbounded(amount * 1000))
