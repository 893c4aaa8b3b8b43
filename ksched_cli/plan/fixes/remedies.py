"""What could be done about each plugin's rejection of one node. Nothing here is sure to work: all of it is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.plan.explain.results import Rejection
from ksched_cli.plan.fixes.requests import lower_requests
from ksched_cli.plan.fixes.values import FixChange, Operation, add, drop, edited, joined, kubectl, patched
from ksched_cli.whatif.edits.label import SetLabel
from ksched_cli.whatif.edits.taint import RemoveTaint
from ksched_cli.whatif.edits.uncordon import Uncordon

_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
# Labels that say where a node is: they are not given, they are true.
_OF_THE_PLACE = ("kubernetes.io/", "topology.", "node.kubernetes.io/", "failure-domain.")
_OF_A_STATE = "node.kubernetes.io/"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class RejectingNode:
    """The pod and the node that rejects it. `changes`: what can be done about pods that are there, by their names."""

    pod: Pod
    node: Node
    cordoned: bool
    remove_pod: Callable[[str], FixChange | None]
    lightest: Callable[[Mapping[str, int]], Sequence[FixChange]]


def remedies(rejection: Rejection, place: RejectingNode) -> list[tuple[FixChange, ...]]:
    """Ways to do away with the rejection, each of one or more changes; none where nothing is known."""
    finder = _FINDERS.get(rejection.rule)
    return [way for way in finder(rejection.detail, place) if way] if finder and rejection.detail else []


def _cordoned(detail: Mapping[str, Any], place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    yield (_uncordon(place.node.metadata.name),)
    yield (_tolerate(place.pod, _CORDONED),)


def _uncordon(node: str) -> FixChange:
    return edited(f"uncordon {node}", "uncordon", 1, Uncordon(node), kubectl("uncordon", node))


def _taints(detail: Mapping[str, Any], place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    wanted = set(detail["taints"])
    taints = [taint for taint in place.node.spec.taints if str(taint) in wanted]
    yield tuple(_tolerate(place.pod, taint) for taint in taints)
    name = place.node.metadata.name
    # The node controller's taint of a cordoned node goes with the cordon.
    yield tuple(
        _uncordon(name)
        if place.cordoned and taint.key == _CORDONED.key
        else edited(
            f"take taint {taint} off {name}",
            "untaint",
            2,
            RemoveTaint(name, taint.key, taint.effect),
            kubectl("taint", "nodes", name, f"{taint.key}:{taint.effect}-"),
        )
        for taint in taints
    )


def _tolerate(pod: Pod, taint: Taint) -> FixChange:
    toleration = {"key": taint.key, "operator": "Equal" if taint.value else "Exists", "effect": taint.effect}
    if taint.value:
        toleration["value"] = taint.value
    # What the node controller taints is not meant to be used.
    cost = 4 if taint.key.startswith(_OF_A_STATE) else 1
    kind = "toleration of a state" if cost > 1 else "toleration"
    return patched(f"tolerate taint {taint}", kind, cost, add_to(toleration, pod.spec.tolerations, "tolerations"))


def add_to(item: Mapping[str, Any], present: Sequence[Any], name: str) -> Operation:
    """One more entry of a list of the pod's spec, which is there if it has entries."""
    return add(dict(item), "spec", name, "-") if present else add([dict(item)], "spec", name)


def _resources(detail: Mapping[str, Any], place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    short = {name: each["short"] for name, each in detail.items()}
    if "pods" not in short:
        yield lower_requests(place.pod, {name: each["free"] for name, each in detail.items()})
    if all(each["asked"] <= each["allocatable"] for each in detail.values()):
        for change in place.lightest(short):
            yield (change,)


def _labels(detail: Mapping[str, Any], place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    if "enforced" in detail:
        return
    unmet, terms = detail.get("nodeSelector", ()), detail.get("terms")
    relaxed = [_unselect(each) for each in unmet]
    if terms is None:
        yield tuple(relaxed)
    else:
        for way in _relaxed_terms(terms, place.pod):
            yield (*relaxed, way)
    wanted = {each["key"]: each["wanted"] for each in unmet}
    for more in _labels_for(terms) if terms is not None else [{}]:
        labels = {**wanted, **more}
        if labels and not any(key.startswith(_OF_THE_PLACE) for key in labels):
            yield tuple(label_node(place.node.metadata.name, key, value) for key, value in labels.items())


def _unselect(each: Mapping[str, Any]) -> FixChange:
    text = f"leave {each['key']}={each['wanted']} out of the node selector"
    return patched(text, "node selector", 2, drop("spec", "nodeSelector", each["key"]))


def label_node(node: str, key: str, value: str) -> FixChange:
    command = kubectl("label", "nodes", node, f"{key}={value}", "--overwrite")
    return edited(f"label {node} {key}={value}", "label", 2, SetLabel(node, key, value), command)


def _relaxed_terms(terms: Sequence[Sequence[Mapping[str, Any]]], pod: Pod) -> Iterator[FixChange]:
    """Of the alternatives the one that is nearest to being met, made to let the node in."""
    affinity = pod.spec.affinity
    required = (
        affinity.node_affinity.required_during_scheduling_ignored_during_execution
        if affinity and affinity.node_affinity
        else None
    )
    if required is None or not terms:
        return
    at = ("spec", "affinity", "nodeAffinity", _REQUIRED)
    nearest = min(range(len(terms)), key=lambda index: (len(terms[index]), index))
    term = required.node_selector_terms[nearest]
    unmet = {(each["key"], each["operator"], tuple(each["values"])): each for each in terms[nearest]}
    found = [
        (index, unmet[each.key, each.operator, each.values])
        for index, each in enumerate(term.match_expressions)
        if (each.key, each.operator, each.values) in unmet
    ]
    if found and len(found) == len(unmet):
        here = (*at, "nodeSelectorTerms", nearest, "matchExpressions")
        if all(each["operator"] == "In" and each["has"] is not None for _, each in found):
            texts = [f"{each['key']}={each['has']}" for _, each in found]
            yield patched(
                f"let its node affinity take {joined(texts)} too",
                "affinity value",
                1 * len(found),
                *(add(each["has"], *here, index, "values", "-") for index, each in found),
            )
        if len(found) < len(term.match_expressions) + len(term.match_fields):
            texts = [f"{each['key']} {each['operator']}" for _, each in found]
            yield patched(
                f"leave {joined(texts)} out of its node affinity",
                "node affinity",
                2 * len(found),
                *(drop(*here, index) for index, _ in reversed(found)),
            )
    yield patched("do without its required node affinity", "no node affinity", 4, drop(*at))


def _labels_for(terms: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[dict[str, str]]:
    """Labels that would meet a term, for each that labels can meet."""
    for term in terms:
        if term and all(each["operator"] in ("In", "Exists") and each["key"] != "metadata.name" for each in term):
            yield {each["key"]: each["values"][0] if each["values"] else "true" for each in term}


def _ports(detail: Mapping[str, Any], place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    taken = {each["port"] for each in detail["ports"]}
    changes = []
    for index, container in enumerate(place.pod.spec.containers):
        for number, port in enumerate(container.ports):
            name = f"{port.host_ip or '0.0.0.0'}:{port.host_port}/{port.protocol or 'TCP'}"
            if port.host_port and name in taken:
                operation = drop("spec", "containers", index, "ports", number, "hostPort")
                text = f"do without host port {name.removeprefix('0.0.0.0:')}"
                changes.append(patched(text, "host port", 2, operation))
    if len(changes) >= len(taken) and not place.pod.spec.host_network:
        yield tuple(changes)
    yield from _pods_gone({holder for each in detail["ports"] for holder in each["heldBy"]}, place)


def _pods_gone(names: set[str], place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    """One pod that is in the way; several are no small change."""
    if len(names) == 1:
        change = place.remove_pod(names.pop())
        if change is not None:
            yield (change,)


def _spread(detail: Mapping[str, Any], place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    raised, softened = [], []
    for broken in detail["constraints"]:
        found = [
            index
            for index, each in enumerate(place.pod.spec.topology_spread_constraints)
            if each.topology_key == broken["topologyKey"]
            and each.when_unsatisfiable == "DoNotSchedule"
            and each.max_skew == broken.get("maxSkew", each.max_skew)
        ]
        if not found:
            return
        for index in found:
            at, key = ("spec", "topologySpreadConstraints", index), broken["topologyKey"]
            operations = [add("ScheduleAnyway", *at, "whenUnsatisfiable")]
            if place.pod.spec.topology_spread_constraints[index].min_domains is not None:
                # Only a hard constraint may have it.
                operations.append(drop(*at, "minDomains"))
            softened.append(patched(f"only prefer the spread over {key}", "soft spread", 2, *operations))
            if "skew" in broken:
                text = f"allow a skew of {broken['skew']} and not {broken['maxSkew']} over {key}"
                cost = 1 + (broken["skew"] - broken["maxSkew"]) / 10
                raised.append(patched(text, "skew", cost, add(broken["skew"], *at, "maxSkew")))
    if len(raised) == len(softened):
        yield tuple(raised)
    yield tuple(softened)


def _pod_affinity(detail: Mapping[str, Any], place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    affinity = place.pod.spec.affinity
    own: list[FixChange] = []
    if "podAffinity" in detail:
        own.append(
            patched(
                "do without its required pod affinity",
                "pod affinity",
                3,
                drop("spec", "affinity", "podAffinity", _REQUIRED),
            )
        )
    if "podAntiAffinity" in detail and affinity and affinity.pod_anti_affinity:
        keys = {each["topologyKey"] for each in detail["podAntiAffinity"]}
        terms = affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution
        at = ("spec", "affinity", "podAntiAffinity", _REQUIRED)
        broken = [index for index, term in enumerate(terms) if term.topology_key in keys]
        operations = [drop(*at)] if len(broken) == len(terms) else [drop(*at, index) for index in reversed(broken)]
        text = f"do without its required pod anti-affinity over {joined(sorted(keys))}"
        own.append(patched(text, "pod anti-affinity", 3, *operations))
    if "existingAntiAffinity" not in detail:
        yield tuple(own)
    in_the_way = [*detail.get("podAntiAffinity", ()), *detail.get("existingAntiAffinity", ())]
    others = {pod for each in in_the_way for pod in each["pods"]}
    if in_the_way and "podAffinity" not in detail and all(each["matchingPods"] <= 1 for each in in_the_way):
        yield from _pods_gone(others, place)


def _volume_use(detail: Mapping[str, Any], place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    yield from _pods_gone({*detail.get("usedBy", ()), *detail.get("disksHeldBy", ())}, place)


_FINDERS: Mapping[str, Callable[[Mapping[str, Any], RejectingNode], Iterator[tuple[FixChange, ...]]]] = {
    "NodeUnschedulable": _cordoned,
    "TaintToleration": _taints,
    "NodeResourcesFit": _resources,
    "NodeAffinity": _labels,
    "NodePorts": _ports,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _pod_affinity,
    "VolumeRestrictions": _volume_use,
}
