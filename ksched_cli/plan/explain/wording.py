"""A rejection in words: what lacks on one node, and who is in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksched_cli.plan.explain.amounts import amount_text
from ksched_cli.plan.explain.results import Rejection

_OPERATORS = {"In": "in", "NotIn": "not in", "Exists": "exists", "DoesNotExist": "does not exist", "Gt": ">", "Lt": "<"}
_NAMED = 3


def describe(rejection: Rejection) -> str:
    """One line with the numbers; the plugin's own reasons where nothing better is known."""
    teller = _TELLERS.get(rejection.rule)
    text = teller(rejection.detail) if teller and rejection.detail else ""
    text = text or "; ".join(plain_reason(reason) for reason in rejection.reasons)
    return f"{text}, with the pods nominated there" if rejection.beside else text


def briefly(rejection: Rejection) -> str:
    """The same without the names of other pods, to go on from "closest is node-7, "."""
    if rejection.rule == "NodeResourcesFit" and rejection.detail:
        return f"short by {_list([_short(name, each) for name, each in rejection.detail.items()])}"
    teller = _BRIEF.get(rejection.rule)
    text = teller(rejection.detail) if teller and rejection.detail else ""
    return text or "; ".join(plain_reason(reason) for reason in rejection.reasons)


def plain_reason(reason: str) -> str:
    """kube-scheduler's reasons are made for counting nodes: "node(s) had no available disk"."""
    return reason.removeprefix("node(s) ")


def _short(resource: str, figures: Mapping[str, Any]) -> str:
    if resource == "pods":
        return f"{figures['short']} pod{'' if figures['short'] == 1 else 's'}"
    return f"{amount_text(resource, figures['short'])} {resource}"


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


def named(pods: Sequence[str], most: int = _NAMED) -> str:
    more = f" and {len(pods) - most} more" if len(pods) > most else ""
    return ", ".join(pods[:most]) + more


def _resources(detail: Mapping[str, Any]) -> str:
    return "; ".join(_resource(name, figures) for name, figures in detail.items())


def _resource(name: str, figures: Mapping[str, Any]) -> str:
    if name == "pods":
        return f"full: {figures['used']} of {figures['allocatable']} pods"

    def text(amount: int) -> str:
        return amount_text(name, amount)

    if not figures["allocatable"]:
        return f"{name}: asks {text(figures['asked'])}, the node has none"
    line = (
        f"{name}: asks {text(figures['asked'])}, {text(max(figures['free'], 0))} free of {text(figures['allocatable'])}"
    )
    if figures["asked"] > figures["allocatable"]:
        return f"{line}, too much even if it were empty"
    holders = [f"{each['pod']} {text(each['amount'])}" for each in figures.get("heldBy", ())]
    rest = figures.get("heldByOthers", {"pods": 0})["pods"] + max(len(holders) - _NAMED, 0)
    more = f", {rest} more" if rest else ""
    return f"{line} (held by {', '.join(holders[:_NAMED])}{more})" if holders else line


def _taints(detail: Mapping[str, Any]) -> str:
    return f"taint{'s' if len(detail['taints']) > 1 else ''} {', '.join(detail['taints'])} not tolerated"


def _labels(detail: Mapping[str, Any]) -> str:
    parts = [
        f"{each['key']} should be {each['wanted']} and {_has(each['has'])}" for each in detail.get("nodeSelector", ())
    ]
    for name, whose in (("terms", ""), ("enforced", "the profile wants ")):
        alternatives = [" and ".join(map(_requirement, term)) for term in detail.get(name, ())]
        if alternatives:
            parts.append(whose + " or ".join(each or "an empty term" for each in alternatives))
    return "; ".join(parts)


def _has(value: str | None) -> str:
    return "is not there" if value is None else f"is {value}"


def _requirement(each: Mapping[str, Any]) -> str:
    values = f" ({', '.join(each['values'])})" if each["values"] else ""
    return f"{each['key']} {_OPERATORS.get(each['operator'], each['operator'])}{values}: it {_has(each['has'])}"


def _ports(detail: Mapping[str, Any]) -> str:
    return "; ".join(
        f"host port {each['port'].removeprefix('0.0.0.0:')} is held by {named(each['heldBy']) or 'another pod'}"
        for each in detail["ports"]
    )


def _spread(detail: Mapping[str, Any]) -> str:
    return "; ".join(map(_constraint, detail["constraints"]))


def _constraint(each: Mapping[str, Any]) -> str:
    if each["domain"] is None:
        return f"no label {each['topologyKey']} to spread over"
    if "minDomains" in each:
        least = f"0 count while there are {each['domains']} of at least {each['minDomains']} domains"
    else:
        least = f"{each['minimum']} in {named(each['emptiest']) or 'no domain'}"
    return (
        f"{each['topologyKey']}={each['domain']} has {each['matching']} matching, {least}: "
        f"skew {each['skew']} over {each['maxSkew']}"
    )


def _pod_affinity(detail: Mapping[str, Any]) -> str:
    parts = [
        f"no label {each['topologyKey']}"
        if each["topologyValue"] is None
        else f"no pod to be with in {each['topologyKey']}={each['topologyValue']}"
        for each in detail.get("podAffinity", ())
    ]
    for name, text in (("podAntiAffinity", "keeps away from"), ("existingAntiAffinity", "is kept away by")):
        for each in detail.get(name, ()):
            pods = named(each["pods"], _NAMED) or f"{each['matchingPods']} pods"
            parts.append(f"{text} {pods} in {each['topologyKey']}={each['topologyValue']}")
    return "; ".join(parts)


def _volume_use(detail: Mapping[str, Any]) -> str:
    parts = []
    if "exclusiveClaims" in detail:
        users = named(detail["usedBy"]) or "another pod"
        parts.append(f"claim {', '.join(detail['exclusiveClaims'])} is for one pod only, and {users} uses it")
    if "disksHeldBy" in detail:
        parts.append(f"its disk is mounted by {named(detail['disksHeldBy'])}")
    return "; ".join(parts)


def _volumes(detail: Mapping[str, Any]) -> str:
    parts = [
        f"volume {volume} of claim {claim} is not reached" for claim, volume in detail.get("unreachable", {}).items()
    ]
    parts += [f"volume {volume} of claim {claim} does not exist" for claim, volume in detail.get("missing", {}).items()]
    return "; ".join(parts)


def _zones(detail: Mapping[str, Any]) -> str:
    return "; ".join(
        f"volume {volume} is in {key}={' or '.join(values)}"
        for volume, where in detail.items()
        for key, values in where.items()
    )


def _attached(detail: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{driver}: {each['attached']} of {each['limit']} volumes attached, {each['new']} more asked"
        for driver, each in detail.items()
        if each["attached"] + each["new"] > each["limit"]
    )


def _devices(detail: Mapping[str, Any]) -> str:
    return f"{', '.join(detail['claims'])}: {detail['free']} of {detail['devices']} devices free, none that fits"


_TELLERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "NodeUnschedulable": lambda detail: "cordoned",
    "NodeName": lambda detail: f"the pod names node {detail['requested']}",
    "NodeResourcesFit": _resources,
    "TaintToleration": _taints,
    "NodeAffinity": _labels,
    "NodePorts": _ports,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _pod_affinity,
    "VolumeRestrictions": _volume_use,
    "VolumeBinding": _volumes,
    "VolumeZone": _zones,
    "NodeVolumeLimits": _attached,
    "DynamicResources": _devices,
    "NodeDeclaredFeatures": lambda detail: f"its kubelet does not declare {', '.join(detail['missing'])}",
}

_BRIEF: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "NodeUnschedulable": lambda detail: "cordoned",
    "TaintToleration": lambda detail: f"tainted {', '.join(detail['taints'])}",
    "NodeAffinity": _labels,
    "NodePorts": lambda detail: (
        f"host port {', '.join(each['port'].removeprefix('0.0.0.0:') for each in detail['ports'])} taken"
    ),
    "PodTopologySpread": _spread,
    "InterPodAffinity": _pod_affinity,
    "VolumeRestrictions": _volume_use,
    "VolumeBinding": _volumes,
    "VolumeZone": _zones,
    "NodeVolumeLimits": _attached,
}
