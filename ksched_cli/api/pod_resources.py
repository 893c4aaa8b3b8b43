"""All requests of a pod (component-helpers resource.PodRequests and framework.PodInfo.CalculateResource).

Sums are exact, in billionths, and are rounded up once at the end, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ksched_cli.api.core import Container, ContainerStatus, Pod, Quantities
from ksched_cli.api.quantity import MAX_INT64, NANO, nano_value

Sums = dict[str, int]
T = TypeVar("T")

# schedutil.DefaultMilliCPURequest and DefaultMemoryRequest: stand in for a container without requests.
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024
_DEFAULTS: Mapping[str, int] = {"cpu": DEFAULT_MILLI_CPU * (NANO // 1000), "memory": DEFAULT_MEMORY * NANO}
_NONE: Mapping[str, int] = {}

_HUGEPAGES = "hugepages-"
_ALWAYS = "Always"


def requests_of(
    pod: Pod, *, use_status: bool, pod_level: bool = True, with_claims: bool = False, by_sums: bool = False
) -> dict[str, int]:
    """All requests of the pod: cpu in thousandths, other resources in whole units.

    With `use_status` a pod that is resized in place counts with all that it may still hold, as in the cache: the
    largest of what its spec requests, what is allocated and what is actuated, of each container or, with `by_sums`,
    of all together. `with_claims` adds the node resources that the devices of the pod's claims take, as
    its status lists them.
    """
    sums = _pod_requests(
        pod, _NONE, use_status=use_status, pod_level=pod_level, with_claims=with_claims, by_sums=by_sums
    )
    return {name: _milli(amount) if name == "cpu" else _whole(amount) for name, amount in sums.items()}


def nonzero_requests_of(pod: Pod, *, by_sums: bool = False) -> tuple[int, int]:
    """Cpu and memory as the cache counts them for scoring: containers without requests count with the defaults; with
    pod-level requests only if no container and not the pod requests the resource (getNonMissingContainerRequests)."""
    stand_ins = _DEFAULTS
    if _has_pod_level_requests(pod):
        requests = _pod_requests(pod, _NONE, use_status=True, pod_level=True, with_claims=True, by_sums=by_sums)
        stand_ins = {name: amount for name, amount in _DEFAULTS.items() if name not in requests}
    sums = _pod_requests(pod, stand_ins, use_status=True, pod_level=True, with_claims=True, by_sums=by_sums)
    return _cpu_and_memory(sums)


def requests_over_pod_level(pod: Pod) -> list[str]:
    """The resources of which the containers and the claims of the pod need more than the pod as a whole requests."""
    if pod.spec.resources is None or not pod.spec.resources.requests:
        return []
    parts = _pod_requests(pod, _NONE, use_status=False, pod_level=False, with_claims=True)
    whole = _pod_requests(pod, _NONE, use_status=False, pod_level=True)
    return sorted(name for name, amount in whole.items() if parts.get(name, amount) > amount)


def nonzero_requests_without_sidecars(pod: Pod) -> tuple[int, int]:
    """`nonzero_requests_of` in older minors: a sidecar is an init container beside which the next ones start, and a
    default is for a resource that such a group as a whole does not request."""
    together: Sums = {}
    for container in pod.spec.containers:
        _add(together, _with_defaults(_container(pod, container, _statuses(pod), _NONE)))
    started: Sums = {}
    for container in pod.spec.init_containers:
        requests = _container(pod, container, {}, _NONE)
        _add(requests, started)
        if container.restart_policy == _ALWAYS:
            started = dict(requests)
        _raise_to(together, {name: _with_defaults(requests)[name] for name in _DEFAULTS})
    _add(together, _nano(pod.spec.overhead))
    return _cpu_and_memory(together)


def _with_defaults(requests: Sums) -> Sums:
    return {**_DEFAULTS, **requests}


def scoring_requests_of(pod: Pod) -> tuple[int, int]:
    """Cpu and memory that the resource scores add for the pending pod: the requests of its containers, or the defaults,
    without pod-level requests."""
    return _cpu_and_memory(_pod_requests(pod, _DEFAULTS, use_status=False, pod_level=False))


def _cpu_and_memory(sums: Sums) -> tuple[int, int]:
    return _milli(sums.get("cpu", 0)), _whole(sums.get("memory", 0))


def _milli(nano: int) -> int:
    return min(-(-nano * 1000 // NANO), MAX_INT64)


def _whole(nano: int) -> int:
    return min(-(-nano // NANO), MAX_INT64)


def is_pod_level_resource(name: str) -> bool:
    """IsSupportedPodLevelResource."""
    return name in ("cpu", "memory") or name.startswith(_HUGEPAGES)


def _has_pod_level_requests(pod: Pod) -> bool:
    own = pod.spec.resources
    return own is not None and any(is_pod_level_resource(name) for name in own.requests)


def _pod_requests(
    pod: Pod,
    stand_ins: Mapping[str, int],
    *,
    use_status: bool,
    pod_level: bool,
    with_claims: bool = False,
    by_sums: bool = False,
) -> Sums:
    taken = pod.status.node_allocatable_resource_claim_statuses if with_claims else ()
    claims = [each.resources for each in taken]
    if by_sums and use_status:
        sums = _largest_sums(pod, stand_ins, claims)
    else:
        sums = container_requests(pod, stand_ins, use_status=use_status)
        for resources in claims:
            _add(sums, _nano(resources))
    own = pod.spec.resources
    if pod_level and own is not None and _has_pod_level_requests(pod):
        effective = _effective_pod_level(pod) if use_status else None
        if by_sums and effective is not None:
            sums.update({name: amount for name, amount in effective.items() if is_pod_level_resource(name)})
        else:
            for name, quantity in own.requests.items():
                if is_pod_level_resource(name):
                    sums[name] = nano_value(quantity) if effective is None else effective.get(name, 0)
    if pod.spec.overhead:
        _add(sums, _nano(pod.spec.overhead))
    return sums


def _largest_sums(pod: Pod, stand_ins: Mapping[str, int], claims: Iterable[Quantities]) -> Sums:
    """AggregateContainerRequests with the status, in newer minors: the largest of the three sums. The status of the
    pod as a whole has sums of its own; only the spec and what is allocated lack what the claims take."""
    infeasible, whole = _is_resize_infeasible(pod), pod.status.resources
    sums: list[Sums] = []
    if not infeasible:
        sums.append(container_requests(pod, stand_ins))
    if whole is not None and whole.requests and pod.status.allocated_resources:
        for resources in claims:
            for each in sums:
                _add(each, _nano(resources))
        sums += [_nano(pod.status.allocated_resources), _nano(whole.requests)]
    else:
        statuses = _statuses(pod)
        sums.append(_sum_of(pod, lambda each: _allocated(each, statuses, infeasible), stand_ins))
        for resources in claims:
            for each in sums:
                _add(each, _nano(resources))
        sums.append(_sum_of(pod, lambda each: _actuated(each, statuses, infeasible), stand_ins))
    largest: Sums = {}
    for each in sums:
        _raise_to(largest, each)
    return largest


def _allocated(container: Container, statuses: Mapping[str, ContainerStatus], infeasible: bool) -> Quantities:
    """containerAllocatedRequests."""
    status = statuses.get(container.name)
    if status is not None and status.allocated_resources:
        return status.allocated_resources
    return {} if infeasible else container.resources.requests


def _actuated(container: Container, statuses: Mapping[str, ContainerStatus], infeasible: bool) -> Quantities:
    """containerActuatedRequests."""
    status = statuses.get(container.name)
    if status is not None and status.resources is not None and status.resources.requests:
        return status.resources.requests
    return _allocated(container, statuses, infeasible)


def _sum_of(pod: Pod, requests: Callable[[Container], Quantities], stand_ins: Mapping[str, int]) -> Sums:
    """What the containers request together, each as `requests` returns it."""

    def of(container: Container) -> Sums:
        return {**stand_ins, **_nano(requests(container))}

    return combined(pod, of)


def _effective_pod_level(pod: Pod) -> Sums | None:
    """Pod-level requests of a pod that is being resized (gate InPlacePodLevelResourcesVerticalScaling)."""
    actuated = pod.status.resources
    if actuated is None or pod.spec.resources is None:
        return None
    return _effective(pod, pod.spec.resources.requests, actuated.requests, pod.status.allocated_resources)


def container_requests(pod: Pod, stand_ins: Mapping[str, int] = _NONE, *, use_status: bool = False) -> Sums:
    """AggregateContainerRequests."""
    statuses = _statuses(pod) if use_status else {}
    return combined(
        pod,
        lambda container: _container(pod, container, statuses, stand_ins),
        lambda container: _container(pod, container, {}, stand_ins),
    )


def combined(
    pod: Pod, of: Callable[[Container], dict[str, T]], of_init: Callable[[Container], dict[str, T]] | None = None
) -> dict[str, T]:
    """The larger of containers with sidecars, and the largest init container with the sidecars started before it.
    `of_init` is for init containers that end, where that differs."""
    sums: dict[str, T] = {}
    for container in pod.spec.containers:
        _add(sums, of(container))
    if pod.spec.init_containers:
        sidecars: dict[str, T] = {}
        peak: dict[str, T] = {}
        for container in pod.spec.init_containers:
            is_sidecar = container.restart_policy == _ALWAYS
            requests = of(container) if is_sidecar or of_init is None else of_init(container)
            if is_sidecar:
                _add(sums, requests)
                _add(sidecars, requests)
                _raise_to(peak, sidecars)
            else:
                _add(requests, sidecars)
                _raise_to(peak, requests)
        _raise_to(sums, peak)
    return sums


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    status = pod.status
    if not status.container_statuses and not status.init_container_statuses:
        return {}
    return {each.name: each for each in (*status.container_statuses, *status.init_container_statuses)}


def _container(
    pod: Pod, container: Container, statuses: Mapping[str, ContainerStatus], stand_ins: Mapping[str, int]
) -> Sums:
    spec = container.resources.requests
    status = statuses.get(container.name)
    if status is not None and status.resources is not None:
        requests = _effective(pod, spec, status.resources.requests, status.allocated_resources)
    else:
        requests = _nano(spec)
    for name, amount in stand_ins.items():
        requests.setdefault(name, amount)
    return requests


def _effective(pod: Pod, spec: Quantities, actuated: Quantities, allocated: Quantities) -> Sums:
    """determineEffectiveRequests: a resize under way counts as the most it may come to."""
    lists: Iterable[Quantities] = (actuated, allocated) if _is_resize_infeasible(pod) else (spec, actuated, allocated)
    largest: Sums = {}
    for quantities in lists:
        _raise_to(largest, _nano(quantities))
    return largest


def _is_resize_infeasible(pod: Pod) -> bool:
    reasons = (each.reason for each in pod.status.conditions if each.type == "PodResizePending")
    return next(reasons, "") == "Infeasible"


def _nano(quantities: Quantities) -> Sums:
    return {name: nano_value(quantity) for name, quantity in quantities.items()}


def _add(sums: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, amount in more.items():
        sums[name] = sums.get(name, 0) + amount


def _raise_to(sums: dict[str, Any], least: Mapping[str, Any]) -> None:
    for name, amount in least.items():
        sums[name] = max(sums[name], amount) if name in sums else amount
