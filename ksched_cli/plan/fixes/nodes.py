"""Nodes that would give the pod a place: more nodes of a make that the cluster has, or a new node as small as helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import approximate, milli_value, parse_quantity, quantity_text, value
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.controlplane.controllers.daemon_pods import daemon_spec, should_run
from ksched_cli.controlplane.store import owner_identity
from ksched_cli.plan.explain.results import ExplainedNode
from ksched_cli.plan.fixes.remedies import label_node
from ksched_cli.plan.fixes.values import FixChange, edited
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.add_node import AddNode
from ksched_cli.whatif.edits.clone_node import CloneNode
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.node_templates import read_template

_CLONES = 2
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_NAMES = ("new-node", "ksched-new-node", "node-of-its-own")

Amounts = dict[str, int]


class NodeProposals:
    """`placed` are the keys of the pods that had a node when the pod was tried."""

    def __init__(self, loaded: Loaded, pod: Pod, placed: set[str]) -> None:
        self._pod = pod
        self._nodes = {node.metadata.name: node for node in loaded.of(Node)}
        self._requests = {name: amount for name, amount in requests_of(pod, use_status=False).items() if amount}
        self._daemons = [daemon_spec(each) for each in loaded.of(DaemonSet) if each.spec.template is not None]
        self._waiting = _waiting(loaded, pod, placed)
        self._others = [each for each in loaded.of(Pod) if each is not pod and _is_without_a_node(each, placed)]

    def of_makes(self, rejected: Sequence[ExplainedNode]) -> Iterator[tuple[FixChange, ...]]:
        """Of each make that would do if it were empty, the smallest first: one node, and enough for all replicas."""
        makes: dict[object, Node] = {}
        for each in rejected:
            node = self._nodes[each.name]
            if all(rejection.guide.ends_on_empty_node(rejection.detail) for rejection in each.rejections):
                makes.setdefault(_make(node), node)
        sized = sorted(makes.values(), key=lambda node: (_size(node), node.metadata.name))
        fitting = [(node, count) for node in sized if (count := self._fit_on(node))]
        for rank, (node, count) in enumerate(fitting[:_CLONES]):
            for many in dict.fromkeys((1, -(-self._waiting // count))):
                name, cost = node.metadata.name, 4 + rank / 10 + min(many - 1, 50) / 100
                text = f"one more node like {name}" if many == 1 else f"{many} more nodes like {name}"
                yield (edited(text, "node", cost, CloneNode(name, many)),)

    def new(self) -> Iterator[tuple[FixChange, ...]]:
        """A node with the labels that the pod selects, as large as the pod, or all replicas that wait, or all pods that
        wait and may go there, and the pods of DaemonSets on it need."""
        labels = _selected_labels(self._pod)
        if labels is None:
            return
        name = next(each for each in _NAMES if each not in self._nodes)
        where = "".join(
            f",{word}={labels.pop(key)}" for word, key in (("zone", _ZONE), ("region", _REGION)) if key in labels
        )
        alone = self._requests or {"cpu": 1000}
        waiting = {each: amount * self._waiting for each, amount in alone.items()}
        tried: list[str] = []
        for rank, needed in enumerate((alone, waiting, _sum([alone, *self._requests_of_others()]))):
            amounts = self._amounts(name, where, labels, needed)
            if amounts is None:
                return
            if amounts in tried:
                continue
            tried.append(amounts)
            words = f"name={name},{amounts}{where}"
            node = edited(f"a new node with {amounts}", "node", 6 + rank, AddNode(read_template(words), text=words))
            yield (node, *(label_node(name, key, value) for key, value in labels.items()))

    def _requests_of_others(self) -> Iterator[Amounts]:
        """Of the other pods without a node that the new node would take, too."""
        labels = dict(_selected_labels(self._pod) or {})
        for each in self._others:
            selected = _selected_labels(each)
            if selected is not None and selected.items() <= labels.items():
                yield requests_of(each, use_status=False)

    def _amounts(self, name: str, where: str, labels: Mapping[str, str], needed: Amounts) -> str | None:
        """`cpu=2,memory=4Gi` for what is needed and the pods of DaemonSets; None for a resource that the words of
        --add-node do not have."""
        try:
            empty = read_template(f"name={name}{where}")
            empty.metadata.labels = {**empty.metadata.labels, **labels}
            daemons, _ = self._daemon_requests(empty)
            needed = _sum([needed, daemons])
            amounts = ",".join(f"{each}={quantity_text(each, amount)}" for each, amount in needed.items() if amount)
            read_template(f"name={name},{amounts}{where}")
        except EditMistake:
            return None
        return amounts

    def _fit_on(self, node: Node) -> int:
        """How many of the pod an empty node of this make takes beside the pods of DaemonSets."""
        daemons, count = self._daemon_requests(node)
        has = {name: _amount(node, name) for name in self._requests}
        room = [(has[name] - daemons.get(name, 0)) // amount for name, amount in self._requests.items()]
        return max(min(*room, _amount(node, "pods") - count), 0) if room else max(_amount(node, "pods") - count, 0)

    def _daemon_requests(self, node: Node) -> tuple[Amounts, int]:
        """The requests of the DaemonSets' pods on the node, and how many pods there are."""
        running = [spec for spec in self._daemons if should_run(spec, node)]
        return _sum(requests_of(Pod(spec=spec), use_status=False) for spec in running), len(running)


def _sum(every: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for amounts in every:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def _is_without_a_node(pod: Pod, placed: set[str]) -> bool:
    return not pod.spec.node_name and f"{pod.metadata.namespace}/{pod.metadata.name}" not in placed


def _waiting(loaded: Loaded, pod: Pod, placed: set[str]) -> int:
    """The pod and the other pods of its controller that have no node."""
    owner = owner_identity(pod)
    if owner is None:
        return 1
    replicas = (each for each in loaded.of(Pod) if owner_identity(each) == owner)
    return max(sum(_is_without_a_node(each, placed) for each in replicas), 1)


def _amount(node: Node, name: str) -> int:
    quantity = node.status.allocatable.get(name, 0)
    return milli_value(quantity) if name == "cpu" else value(quantity)


def _selected_labels(pod: Pod) -> dict[str, str] | None:
    """Labels that a node needs for the pod's selector and the first of its required terms; None where labels will
    not do."""
    labels = dict(pod.spec.node_selector)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    for each in required.node_selector_terms[0].match_expressions if required and required.node_selector_terms else ():
        if each.operator in ("In", "Exists"):
            labels.setdefault(each.key, each.values[0] if each.values else "true")
    return None if any(key == "kubernetes.io/hostname" for key in labels) else labels


def _make(node: Node) -> object:
    labels = {key: text for key, text in node.metadata.labels.items() if key != "kubernetes.io/hostname"}
    amounts = {name: str(amount) for name, amount in node.status.allocatable.items()}
    return frozenset(amounts.items()), frozenset(labels.items()), tuple(node.spec.taints)


def _size(node: Node) -> tuple[float, ...]:
    return tuple(approximate(parse_quantity(node.status.allocatable.get(name, 0))) for name in ("cpu", "memory"))
