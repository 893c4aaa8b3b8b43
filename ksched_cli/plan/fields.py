"""Which field of a pod decides: the path of what a person would change first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ksched_cli.api.core import Container, Pod
from ksched_cli.api.quantity import QuantityError, approximate, parse_quantity
from ksched_cli.plan.deciding import RejectionCause

# From the pod down. A text where an index belongs is the name of a volume.
Path = tuple[str | int, ...]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_QUOTED = re.compile(r'"([^"]*)"')


def field_of(cause: RejectionCause, pod: Pod) -> Path:
    """The deciding field; the pod's spec where none is known."""
    find = _FIELDS.get(cause.code.code) or _BY_PLUGIN.get(cause.plugin)
    return find(cause, pod) if find else ("spec",)


def _resources(cause: RejectionCause, pod: Pod) -> Path:
    """The request of the container that asks for most of it."""
    wanted = [reason.removeprefix("Insufficient ") for reason in cause.reasons]
    name = next((each for each in (*cause.detail, *wanted) if each in wanted), "")
    return _largest(pod, name)


def _largest(pod: Pod, name: str) -> Path:
    asked = [
        (_amount(container, name), ("spec", field, index, "resources", _where(container, name), name))
        for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers))
        for index, container in enumerate(containers)
    ]
    amount, path = max(asked, key=lambda each: each[0], default=(0.0, ("spec",)))
    if amount:
        return path
    if pod.spec.resources is not None and name in pod.spec.resources.requests:
        return ("spec", "resources", "requests", name)
    return ("spec", "containers")


def _amount(container: Container, name: str) -> float:
    try:
        return approximate(parse_quantity(container.resources.requests.get(name, 0)))
    except QuantityError:
        return 0.0


def _where(container: Container, name: str) -> str:
    """A limit alone is the request too."""
    same = container.resources.limits.get(name) == container.resources.requests.get(name)
    return "limits" if same and name in container.resources.limits else "requests"


def _node_selector(cause: RejectionCause, pod: Pod) -> Path:
    """The first label that the closest node lacks, else the terms."""
    unmet = [each["key"] for each in cause.detail.get("nodeSelector", ())]
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if unmet or (pod.spec.node_selector and required is None):
        return ("spec", "nodeSelector", *unmet[:1])
    terms: Path = ("spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    return (*terms, 0) if required is not None and len(required.node_selector_terms) == 1 else terms


def _tolerations(cause: RejectionCause, pod: Pod) -> Path:
    return ("spec", "tolerations")


def _host_port(cause: RejectionCause, pod: Pod) -> Path:
    taken = (each["port"] for each in cause.detail.get("ports", ()))
    clashing = {int(port.rpartition(":")[2].split("/")[0]) for port in taken}
    for index, container in enumerate(pod.spec.containers):
        for at, port in enumerate(container.ports):
            if port.host_port and (port.host_port in clashing or not clashing):
                return ("spec", "containers", index, "ports", at, "hostPort")
    return ("spec", "containers")


def _max_skew(cause: RejectionCause, pod: Pod) -> Path:
    """The constraint that one more pod would break on the closest node."""
    broken = {(each["topologyKey"], each.get("maxSkew")) for each in cause.detail.get("constraints", ())}
    for index, constraint in enumerate(pod.spec.topology_spread_constraints):
        hard = constraint.when_unsatisfiable != "ScheduleAnyway"
        if hard and (not broken or (constraint.topology_key, constraint.max_skew) in broken):
            return ("spec", "topologySpreadConstraints", index, "maxSkew")
    return ("spec", "topologySpreadConstraints")


def _topology_key(cause: RejectionCause, pod: Pod) -> Path:
    missing = {each["topologyKey"] for each in cause.detail.get("constraints", ()) if each["domain"] is None}
    for index, constraint in enumerate(pod.spec.topology_spread_constraints):
        if constraint.when_unsatisfiable != "ScheduleAnyway" and constraint.topology_key in missing:
            return ("spec", "topologySpreadConstraints", index, "topologyKey")
    hard = [at for at, each in enumerate(pod.spec.topology_spread_constraints) if each.when_unsatisfiable[:2] == "Do"]
    return ("spec", "topologySpreadConstraints", *hard[:1], *(["topologyKey"] if hard else []))


def _pod_terms(field: str) -> Callable[[RejectionCause, Pod], Path]:
    def find(cause: RejectionCause, pod: Pod) -> Path:
        affinity = pod.spec.affinity
        own = affinity and (affinity.pod_affinity if field == "podAffinity" else affinity.pod_anti_affinity)
        terms = own.required_during_scheduling_ignored_during_execution if own else ()
        broken = {each["topologyKey"] for each in cause.detail.get(field, ())}
        index = next((at for at, term in enumerate(terms) if term.topology_key in broken or not broken), None)
        path: Path = ("spec", "affinity", field, _REQUIRED)
        return path if index is None else (*path, index, "topologyKey")

    return find


def _labels(cause: RejectionCause, pod: Pod) -> Path:
    return ("metadata", "labels")


def _claims(cause: RejectionCause, pod: Pod) -> Path:
    """The volume whose claim the reason names, else the first that has one."""
    named = {name for reason in cause.reasons for name in _QUOTED.findall(reason)}
    by_claim = {
        volume.persistent_volume_claim.claim_name
        if volume.persistent_volume_claim
        else f"{pod.metadata.name}-{volume.name}": volume.name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim or volume.ephemeral
    }
    chosen = next((volume for claim, volume in by_claim.items() if claim in named), next(iter(by_claim.values()), None))
    return ("spec", "volumes") if chosen is None else ("spec", "volumes", chosen)


def _devices(cause: RejectionCause, pod: Pod) -> Path:
    if not pod.spec.resource_claims:
        return ("spec", "containers")
    for index, claim in enumerate(pod.spec.resource_claims):
        if any(claim.resource_claim_name and claim.resource_claim_name in reason for reason in cause.reasons):
            return ("spec", "resourceClaims", index)
    return ("spec", "resourceClaims", 0)


def _fixed(*path: str | int) -> Callable[[RejectionCause, Pod], Path]:
    return lambda cause, pod: path


def _refused_resources(cause: RejectionCause, pod: Pod) -> Path:
    """The resource that the message names first, in the container that asks for most of it."""
    text = " ".join(cause.reasons)
    names = dict.fromkeys(
        name for each in (*pod.spec.containers, *pod.spec.init_containers) for name in each.resources.requests
    )
    found = sorted((text.find(name), name) for name in names if name in text)
    return _largest(pod, found[0][1]) if found else ("spec", "containers")


_VOLUME_PLUGINS = ("VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits")
_BY_PLUGIN: Mapping[str, Callable[[RejectionCause, Pod], Path]] = {
    **dict.fromkeys(_VOLUME_PLUGINS, _claims),
    "DynamicResources": _devices,
    "GangScheduling": _fixed("spec", "schedulingGroup"),
}
_FIELDS: Mapping[str, Callable[[RejectionCause, Pod], Path]] = {
    "KS101": _resources,
    "KS102": _resources,
    "KS104": _node_selector,
    "KS106": _fixed("spec", "affinity", "nodeAffinity", _REQUIRED),
    "KS107": _tolerations,
    "KS109": _fixed("spec", "nodeName"),
    "KS110": _host_port,
    "KS111": _max_skew,
    "KS112": _topology_key,
    "KS113": _pod_terms("podAffinity"),
    "KS114": _pod_terms("podAntiAffinity"),
    "KS115": _labels,
    "KS117": _fixed("spec", "affinity"),
    "KS120": _fixed("spec", "initContainers"),
    "KS201": _fixed("spec", "schedulingGates"),
    "KS202": _fixed("spec", "schedulerName"),
    "KS203": _fixed("spec", "priorityClassName"),
    "KS204": _fixed("spec", "priorityClassName"),
    "KS301": _refused_resources,
    "KS302": _refused_resources,
    "KS303": _fixed("spec", "priorityClassName"),
    "KS304": _fixed("spec", "runtimeClassName"),
    "KS305": _fixed("spec", "nodeSelector"),
}
