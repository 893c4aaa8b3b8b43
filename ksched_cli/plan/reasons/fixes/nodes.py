"""Proposes more nodes: as many of a pool that exists as the waiting pods of the workload need, or one in another zone.

A node is proposed only as a copy of a node of the cluster, since such a node can be had. `makes` are the
different kinds of nodes: labels, size and taints. The smallest that would do comes first. No copy is made of a control
plane node that the pod does not choose, of a node that goes away, or of a node of another operating system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import approximate, milli_value, parse_quantity, value
from ksched_cli.api.selectors import RequiredNodeAffinity
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.controlplane.controllers.daemon_pods import daemon_spec, should_run
from ksched_cli.plan.explain.results import ExplainedNode, Rejection
from ksched_cli.plan.reasons.fixes.limits import (
    HOSTNAME,
    REGION,
    ZONE,
    is_control_plane,
    is_leaving,
    is_of_another_system,
    points_at,
)
from ksched_cli.plan.reasons.fixes.values import FixChange, ProposedCount
from ksched_cli.plan.reasons.volume_places import zones_of
from ksched_cli.plan.results.nodes import pool_of
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.node_fields import LabelNode
from ksched_cli.whatif.edits.nodes import CloneNode

# So many makes, each in so many zones, are proposed, and of each make up to so many nodes more than the waiting pods
# need: other pods take some.
_MAKES, _ZONES = 4, 2
_MORE = (0, 1, 3, 7)
_COST = 1.5

Amounts = dict[str, int]


class NodeProposals:
    """`waiting` is the number of pods of the workload without a node, `claims` are those of the pod that is explained:
    the template of a StatefulSet does not name them."""

    def __init__(self, loaded: Loaded, pod: Pod, waiting: int, claims: Sequence[str]) -> None:
        self._loaded, self._pod, self._waiting, self._claims = loaded, pod, waiting, claims
        self._nodes = {node.metadata.name: node for node in loaded.of(Node)}
        self._requests = {name: amount for name, amount in requests_of(pod, use_status=False).items() if amount}
        self._daemons = [daemon_spec(each) for each in loaded.of(DaemonSet) if each.spec.template is not None]

    def _is_sold(self, node: Node) -> bool:
        """Whether a copy of the node is a node that the pod may go to."""
        if is_leaving(node) or is_of_another_system(node, self._pod):
            return False
        return not is_control_plane(node) or points_at(self._pod, node)

    def of_makes(self, rejected: Sequence[ExplainedNode]) -> Iterator[FixChange]:
        """Of each make that would do if it were empty, the smallest first: one node, and enough for all replicas."""
        makes: dict[object, Node] = {}
        for each in rejected:
            node = self._nodes[each.name]
            ends = all(rejection.guide.ends_on_empty_node(rejection.detail) for rejection in each.rejections)
            if ends and self._is_sold(node):
                makes.setdefault(_make(node), node)
        for rank, (node, fitting) in enumerate(self._sized(makes.values())[:_MAKES]):
            needed = -(-self._waiting // fitting)
            yield from self._in_numbers((1, *(needed + more for more in _MORE)), node, _COST + rank / 10)

    def in_another_zone(self, rejected: Sequence[ExplainedNode]) -> Iterator[FixChange]:
        """Where the pod must be in a zone that has no node of its kind, or none at all, as for a volume: a node like
        one of another zone, in that zone. Where pods keep apart by zone: a node in a zone of the cluster in which the
        pool has none."""
        there = {node.metadata.labels.get(ZONE, "") for node in self._nodes.values()}
        wanted = self._wanted_zones()
        if not wanted:
            yield from self._where_the_pool_has_none(rejected, sorted(filter(None, there)))
        for place, zone in enumerate(sorted(wanted & there or wanted)[:_ZONES]):
            makes: dict[object, Node] = {}
            for node in self._nodes.values():
                if self._is_sold(node) and self._would_do_in(zone, node, rejected):
                    makes.setdefault(_make(node), node)
            for rank, (node, fitting) in enumerate(self._sized(makes.values())[:_MAKES]):
                needed = -(-self._waiting // fitting)
                cost = _COST + (0.4 if zone in there else 0) + rank / 10 + place / 100
                yield from self._in_numbers((1, needed), node, cost, zone)

    def _in_numbers(self, counts: Iterable[int], node: Node, cost: float, zone: str = "") -> Iterator[FixChange]:
        """So many nodes like this one, in its zone or another one, for each of these numbers in ascending order."""
        make = partial(self._copies, node, cost, zone)
        for fewer, count in pairwise(dict.fromkeys((0, *counts))):
            yield replace(make(count), new_nodes=ProposedCount(count, fewer, make))

    def _copies(self, node: Node, cost: float, zone: str, count: int) -> FixChange:
        text = self._text_in(zone, node, count) if zone else _text(node, count)
        edits = (CloneNode(node.metadata.name, count), *(_moved(node, count, zone) if zone else ()))
        return FixChange(text, "node", cost + min(count - 1, 50) / 1000, edits=edits)

    def _would_do_in(self, zone: str, node: Node, rejected: Sequence[ExplainedNode]) -> bool:
        """Whether a copy of this node of another zone, in the zone, may take the pod."""
        labels = node.metadata.labels
        regions = {each.metadata.labels.get(REGION) for each in self._in_zone(zone)}
        in_region = labels.get(REGION) in regions if regions else zone.startswith(labels.get(REGION, "-"))
        if labels.get(ZONE) == zone or not in_region:
            return False
        moved = labels | dict.fromkeys(_zone_keys(node), zone)
        is_chosen = all(moved.get(key) == text for key, text in self._pod.spec.node_selector.items())
        return is_chosen and not _has_other_problems(node.metadata.name, rejected)

    def _text_in(self, zone: str, node: Node, count: int) -> str:
        inside = self._in_zone(zone)
        if not inside:
            return f"{_text(node, count)}, in zone {zone}, which has no node"
        pool = pool_of(node)
        is_new = pool and pool not in map(pool_of, inside)
        return f"{_text(node, count)}, in zone {zone}{', where the pool has none' if is_new else ''}"

    def _in_zone(self, zone: str) -> list[Node]:
        return [each for each in self._nodes.values() if each.metadata.labels.get(ZONE) == zone]

    def _wanted_zones(self) -> set[str]:
        """The zones that the pod may be in by its selector, its node affinity and its volumes; empty where none of them
        decides, or where they contradict each other."""
        found = [{self._pod.spec.node_selector[ZONE]}] if ZONE in self._pod.spec.node_selector else []
        for name in self._claims:
            claim = self._loaded.get(PersistentVolumeClaim, name, self._pod.metadata.namespace)
            volume = self._loaded.get(PersistentVolume, claim.spec.volume_name) if claim is not None else None
            found += [set(zones)] if volume is not None and (zones := zones_of(volume)) else []
        terms = RequiredNodeAffinity.of(self._pod.spec).terms or ()
        for each in terms[0].match_expressions if len(terms) == 1 else ():
            if each.key == ZONE and each.operator == "In":
                found.append(set(each.values))
        return set.intersection(*found) if found else set()

    def _where_the_pool_has_none(self, rejected: Sequence[ExplainedNode], zones: Sequence[str]) -> Iterator[FixChange]:
        apart = [each for each in rejected if each.rejections and all(_is_apart(one) for one in each.rejections)]
        pools: dict[str, list[Node]] = {}
        for node in (self._nodes[each.name] for each in apart):
            if (pool := pool_of(node)) and self._is_sold(node):
                pools.setdefault(pool, []).append(node)
        for rank, (pool, nodes) in enumerate(sorted(pools.items())):
            own = {node.metadata.labels.get(ZONE) for node in self._nodes.values() if pool_of(node) == pool}
            others = [zone for zone in zones if zone not in own]
            for place, zone in enumerate(others if self._fit_on(nodes[0]) else ()):
                yield self._copies(nodes[0], _COST + 0.4 + rank / 10 + place / 100, zone, 1)

    def _sized(self, makes: Iterable[Node]) -> list[tuple[Node, int]]:
        """The makes on which the pod fits, the smallest first, with how many of the pod fit on each."""
        ordered = sorted(makes, key=lambda node: (_size(node), node.metadata.name))
        return [(node, count) for node in ordered if (count := self._fit_on(node))]

    def _fit_on(self, node: Node) -> int:
        """How many of the pod an empty node of this make takes beside the pods of DaemonSets."""
        daemons, count = self._daemon_requests(node)
        has = {name: _amount(node, name) for name in self._requests}
        room = [(has[name] - daemons.get(name, 0)) // amount for name, amount in self._requests.items()]
        return max(min(*room, _amount(node, "pods") - count), 0) if room else max(_amount(node, "pods") - count, 0)

    def _daemon_requests(self, node: Node) -> tuple[Amounts, int]:
        """The requests of the DaemonSets' pods on the node, and how many pods there are."""
        running = [spec for spec in self._daemons if should_run(spec, node)]
        total: Amounts = {}
        for spec in running:
            for name, amount in requests_of(Pod(spec=spec), use_status=False).items():
                total[name] = total.get(name, 0) + amount
        return total, len(running)


def _moved(node: Node, count: int, zone: str) -> Iterator[LabelNode]:
    for number in range(1, count + 1):
        for key in sorted(_zone_keys(node)):
            yield LabelNode(f"{node.metadata.name}-clone-{number}", key, zone)


def _zone_keys(node: Node) -> set[str]:
    """Every label of the node that has its zone in it, such as that of a storage driver."""
    old = node.metadata.labels.get(ZONE)
    return {ZONE, *(key for key, text in node.metadata.labels.items() if old and text == old)}


def _text(node: Node, count: int) -> str:
    """`2 more nodes in pool highmem-pool, like gke-prod-1 (europe-west1-d)`."""
    name, pool, zone = node.metadata.name, pool_of(node), node.metadata.labels.get(ZONE, "")
    many = "one more node" if count == 1 else f"{count} more nodes"
    if not pool:
        return f"{many} like {name}"
    return f"{many} in pool {pool}, like {name}{f' ({zone})' if zone else ''}"


def _has_other_problems(name: str, rejected: Sequence[ExplainedNode]) -> bool:
    """Whether more than its zone and what runs on it is wrong with the node: then a copy would not do either."""
    found = next((each for each in rejected if each.name == name), None)
    if found is None:
        return True
    return any(
        not each.guide.is_about_the_place and not each.guide.ends_on_empty_node(each.detail)
        for each in found.rejections
    )


def _is_apart(found: Rejection) -> bool:
    """Whether pods that keep apart by zone are all that is wrong."""
    terms = [
        term
        for name in ("podAntiAffinity", "existingAntiAffinity", "constraints")
        for term in found.detail.get(name, ())
    ]
    return bool(terms) and all(term["topologyKey"] == ZONE for term in terms)


def _amount(node: Node, name: str) -> int:
    quantity = node.status.allocatable.get(name, 0)
    return milli_value(quantity) if name == "cpu" else value(quantity)


def _make(node: Node) -> object:
    labels = {key: text for key, text in node.metadata.labels.items() if key != HOSTNAME}
    amounts = {name: str(amount) for name, amount in node.status.allocatable.items()}
    return frozenset(amounts.items()), frozenset(labels.items()), tuple(node.spec.taints)


def _size(node: Node) -> tuple[float, ...]:
    return tuple(approximate(parse_quantity(node.status.allocatable.get(name, 0))) for name in ("cpu", "memory"))
