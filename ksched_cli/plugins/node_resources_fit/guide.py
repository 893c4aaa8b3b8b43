"""Why NodeResourcesFit rejects a node, in words, and what may end it: lower requests, container by container. A
proposal is only a candidate: `plan/reasons/fixes/` tries it before anything is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ksched_cli.api.core import Container, Pod
from ksched_cli.api.json_patch import Operation, PodPatch, add, patch_pod
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import amount_text, is_bytes, largest_request, parse_quantity, quantity_text
from ksched_cli.cluster.pod_info import is_extended
from ksched_cli.errors import joined
from ksched_cli.framework.reasons import (
    C,
    FieldPath,
    Figures,
    Reason,
    ReasonCode,
    ReasonKind,
    ReasonTable,
    RejectedPod,
    RejectionGuide,
    fixed_field,
)
from ksched_cli.releases.changes import Rule

# A lowered request must stay useful. A pod with a quarter of its cpu is slow; a pod with less than half of its memory,
# or of anything else, is another pod.
_LEAST_SHARES = {"cpu": 4}
_LEAST_SHARE = 2
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
    if not 0 < request <= free * _LEAST_SHARES.get(resource, _LEAST_SHARE):
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
        total = requests_of(current, use_status=False)[resource]
    text = f"lower the {resource} request from {amount_text(resource, request)} to {amount_text(resource, total)}"
    return PodPatch(text, f"request {resource}", 3 + (request - total) / request, tuple(operations))


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
            (_amount(resource, each.resources.requests[resource]), where, index, each)
            for where, containers in lists
            for index, each in enumerate(containers)
            if resource in each.resources.requests
        ),
        key=lambda choice: (-choice[0], choice[1], choice[2]),
    )
    for amount, where, index, container in choices:
        least = max(amount // _LEAST_SHARES.get(resource, _LEAST_SHARE), 1)
        less = amount - min(over, amount - least)
        step = _lowered(resource, less, where, index, container)
        if less < amount and requests_of(patch_pod(pod, step), use_status=False)[resource] < total:
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


_INSUFFICIENT = ReasonCode(
    "KS101",
    "insufficient-resources",
    "the nodes do not have enough of a resource free",
    "The requests of the pod are more than what the pods that run there leave of the nodes' allocatable. Without them "
    "there would be room.",
    (
        "lower the request, or the number of replicas",
        "move or scale down what runs there, or add nodes",
        "give the pod a PriorityClass that may preempt",
    ),
)
_LARGER_THAN_NODE = ReasonCode(
    "KS102",
    "larger-than-node",
    "the pod requests more than a node has in all",
    "Even if they were empty the nodes would be too small, or they do not offer the resource at all.",
    ("lower the request", "add nodes of a larger type, or nodes that offer the resource"),
)
_TOO_MANY_PODS = ReasonCode(
    "KS103",
    "too-many-pods",
    "the nodes run as many pods as they may",
    "A node's allocatable has a number of pods (kubelet's maxPods), for pods of any size.",
    ("raise kubelet's maxPods if the network allows it", "add nodes"),
)
_FEATURE_OFF = ReasonCode(
    "KS120",
    "feature-off",
    "the pod uses a feature that is switched off",
    "This version of Kubernetes has the feature gate off, and the scheduler places no pod that relies on it.",
    ("switch the feature gate on, if the cluster has it on (--feature-gates)", "leave the field out"),
)


def _lacking_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    lacking = [reason.param("resource") for reason in reasons]
    return largest_request(pod, next((each for each in (*detail, *lacking) if each in lacking), ""))


class NodeResourcesFitReasons(ReasonTable, plugins="NodeResourcesFit"):
    too_many_pods = ReasonKind(
        Rule(
            "1.18",
            "message",
            "The reason is Too many pods; before, Insufficient pods.",
            before="Insufficient pods",
            now="Too many pods",
        ),
        _TOO_MANY_PODS,
        lacks="pods",
        problem="are full (pods)",
    )
    insufficient = ReasonKind(
        "Insufficient {resource}",
        _INSUFFICIENT,
        unresolvable_code=_LARGER_THAN_NODE,
        field=_lacking_field,
        lacks="{resource}",
        problem="lack {resource}",
    )
    sidecars_off = ReasonKind(
        "Pod has a restartable init container and the SidecarContainers feature is disabled",
        _FEATURE_OFF,
        field=fixed_field("spec", "initContainers"),
    )


_NAMED = 3


class FitGuide(RejectionGuide):
    easily_mended = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(_resource(name, each) for name, each in figures.items())

    def describe_briefly(self, figures: Figures) -> str:
        return f"short by {joined([_short(name, each) for name, each in figures.items()])}"

    def describe_limits(self, figures: Figures) -> str:
        """`The pod requests cpu 4; the closest node has 3920m in all.`"""
        over = {name: each for name, each in figures.items() if name != "pods" and each["asked"] > each["allocatable"]}
        wanted = [f"{name} {amount_text(name, each['asked'])}" for name, each in over.items()]
        there = [amount_text(name, each["allocatable"]) for name, each in over.items()]
        return f"The pod requests {joined(wanted)}; the closest node has {joined(there)} in all." if over else ""

    def describe_nodes(self, figures: Sequence[Figures]) -> str:
        """`Insufficient cpu: needs 2.5, free 0.3-2.1`."""
        names = dict.fromkeys(name for each in figures for name in each)
        return "; ".join(_resource_of_nodes(name, [each[name] for each in figures if name in each]) for name in names)

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        if not figures:
            yield from super().problems(reasons, figures, cordoned=cordoned)
        for name in figures:
            has_none = "/" in name and not figures[name]["allocatable"]
            yield "are full (pods)" if name == "pods" else f"{'have no' if has_none else 'lack'} {name}"

    def shortage(self, figures: Figures) -> float:
        """The shortage in proportion to the pod's requests."""
        return sum((float(each["short"]) / max(each["asked"], 1) for each in figures.values()), 0.0)

    def is_other_kind_of_node(self, reasons: Sequence[Reason], *, unresolvable: bool) -> bool:
        """Only some nodes offer an extended resource at all."""
        return unresolvable and any("/" in reason.param("resource") for reason in reasons)

    def ends_on_empty_node(self, figures: Figures) -> bool:
        return all(each["asked"] <= each["allocatable"] for each in figures.values())

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        if "pods" not in figures:
            lowered = lower_requests(place.pod, {name: each["free"] for name, each in figures.items()})
            yield [place.patch(each.text, each.kind, each.cost, *each.operations) for each in lowered]
        if self.ends_on_empty_node(figures):
            for change in place.make_room({name: each["short"] for name, each in figures.items()}):
                yield [change]


def _short(resource: str, figures: Mapping[str, Any]) -> str:
    if resource == "pods":
        return f"{figures['short']} pod{'' if figures['short'] == 1 else 's'}"
    return f"{amount_text(resource, figures['short'])} {resource}"


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


def _resource_of_nodes(name: str, figures: Sequence[Mapping[str, Any]]) -> str:
    """The range of what is free on several nodes."""
    if name == "pods":
        return f"full: {_range(name, [each['used'] for each in figures])} pods run"
    needed = _range(name, [each["asked"] for each in figures])
    if not any(each["allocatable"] for each in figures):
        return f"{name}: needs {needed}, {'the node has' if len(figures) == 1 else 'the nodes have'} none"
    line = f"Insufficient {name}: needs {needed}, free {_range(name, [max(each['free'], 0) for each in figures])}"
    hopeless = all(each["asked"] > each["allocatable"] for each in figures)
    return f"{line}, too much even for an empty node" if hopeless else line


def _range(name: str, amounts: Sequence[int]) -> str:
    """`0.3-2.1`; one amount if all are the same. Amounts of cpu are in cores."""
    texts = [f"{amount / 1000:g}" if name == "cpu" else amount_text(name, amount) for amount in sorted(set(amounts))]
    return texts[0] if len(texts) == 1 else f"{texts[0]}-{texts[-1]}"
