"""How much less a pod would have to request, container by container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from ksched_cli.api.core import Container, Pod
from ksched_cli.api.json_patch import Operation, PodPatch, add, patch_pod
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import amount_text, is_bytes, parse_quantity, quantity_text
from ksched_cli.cluster.resources import is_extended

# A lowered request must stay useful: a pod that requests a tenth is another pod.
_LEAST_SHARE = 10
_ROUND = 2**20


def lower_requests(pod: Pod, free: Mapping[str, int]) -> tuple[PodPatch, ...]:
    """Changes that lower the requests to what is free of each resource; none where one cannot be lowered."""
    changes: list[PodPatch] = []
    for resource, most in free.items():
        change = _lower(pod, resource, most)
        if change is None:
            return ()
        changes.append(change)
        # The next resource of the same container starts from what is left.
        pod = patch_pod(pod, change.operations)
    return tuple(changes)


def _lower(pod: Pod, resource: str, free: int) -> PodPatch | None:
    """Lowers the largest requests of the resource until the pod fits; None where too little would be left."""
    request = requests_of(pod, use_status=False).get(resource, 0)
    if free * _LEAST_SHARE < request or free <= 0:
        return None
    target = _rounded(resource, free)
    operations: list[Operation] = []
    current, total = pod, request
    # A container may share the total with others, or be an init container that alone decides: one at a time.
    while total > target:
        step = next(_steps(current, resource, total - target, total), None)
        if step is None:
            return None
        operations += step
        current = patch_pod(current, step)
        total = requests_of(current, use_status=False).get(resource, 0)
    text = f"lower the {resource} request from {amount_text(resource, request)} to {amount_text(resource, total)}"
    # A tenth less is small, and half as much is another pod.
    return PodPatch(text, f"request {resource}", 1 + 4 * (request - total) / request, tuple(operations))


def _rounded(resource: str, amount: int) -> int:
    """Bytes to whole mebibytes, if there are any."""
    return amount - amount % _ROUND if is_bytes(resource) and amount >= _ROUND else amount


def _steps(pod: Pod, resource: str, over: int, total: int) -> Iterator[list[Operation]]:
    """Ways to lower the total by lowering one request, the largest first."""
    own = pod.spec.resources
    if own is not None and resource in own.requests:
        lowered = quantity_text(resource, _amount(resource, own.requests[resource]) - over)
        yield [add(lowered, "spec", "resources", "requests", resource)]
        return
    lists = (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers))
    choices = sorted(
        (
            (_amount(resource, each.resources.requests.get(resource, 0)), where, index, each)
            for where, containers in lists
            for index, each in enumerate(containers)
        ),
        key=lambda choice: (-choice[0], choice[1], choice[2]),
    )
    for amount, where, index, container in choices:
        less = amount - min(over, amount - max(amount // _LEAST_SHARE, 1))
        if less >= amount:
            continue
        step = _lowered(resource, less, where, index, container)
        if requests_of(patch_pod(pod, step), use_status=False).get(resource, 0) < total:
            yield step


def _lowered(resource: str, amount: int, where: str, index: int, container: Container) -> list[Operation]:
    """Operations that lower one request, and its limit for extended resources and huge pages, which must be equal."""
    quantity, resources = quantity_text(resource, amount), container.resources
    at = ("spec", where, index, "resources")
    # Requests that are all like the limits may have been filled in from them, and are in no manifest.
    filled_in = all(resources.limits.get(name) == each for name, each in resources.requests.items())
    step = [
        add({**resources.requests, resource: quantity}, *at, "requests")
        if filled_in
        else add(quantity, *at, "requests", resource)
    ]
    if resource in resources.limits and (is_extended(resource) or resource.startswith("hugepages-")):
        step.append(add(quantity, *at, "limits", resource))
    return step


def _amount(resource: str, quantity: str | int | float) -> int:
    """The quantity in the units of the scheduler, rounded up."""
    exact = parse_quantity(quantity) * (1000 if resource == "cpu" else 1)
    return -(-Fraction(exact).numerator // Fraction(exact).denominator)
