"""Where in a pod a resource is requested."""

from __future__ import annotations

from ksched_cli.api.core import Container, Pod
from ksched_cli.api.quantity import QuantityError, approximate, parse_quantity


def largest_request(pod: Pod, resource: str) -> tuple[str | int, ...]:
    """The request of the container that requests most of the resource."""
    requests = [
        (_amount(container, resource), ("spec", field, index, "resources", _where(container, resource), resource))
        for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers))
        for index, container in enumerate(containers)
    ]
    amount, path = max(requests, key=lambda each: each[0], default=(0.0, ("spec",)))
    if amount:
        return path
    if pod.spec.resources is not None and resource in pod.spec.resources.requests:
        return ("spec", "resources", "requests", resource)
    return ("spec", "containers")


def _amount(container: Container, resource: str) -> float:
    try:
        return approximate(parse_quantity(container.resources.requests.get(resource, 0)))
    except QuantityError:
        return 0.0


def _where(container: Container, resource: str) -> str:
    """A limit alone is the request too."""
    resources = container.resources
    same = resources.limits.get(resource) == resources.requests.get(resource)
    return "limits" if same and resource in resources.limits else "requests"
