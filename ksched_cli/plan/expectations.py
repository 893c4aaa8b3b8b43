"""Compares the expectations of a scenario with the world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import combinations
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.controlplane.controllers.daemon_pods import should_run
from ksched_cli.plan.kept_outcomes import KeptOutcomes
from ksched_cli.plan.lost_nodes import EndWithoutNodes, end_without
from ksched_cli.plan.results import PodOutcome
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.lib.targets import pods_meant
from ksched_cli.whatif.scenario.model import (
    TOPOLOGY,
    Expectation,
    NoPreemption,
    On,
    Schedulable,
    Spread,
    Survives,
)
from ksched_cli.world.results import Orders
from ksched_cli.world.world import World


class CheckedExpectation(Struct, frozen=True):
    """An expectation and the facts that contradict it, one line each. `orders`: in how many orders it held; None if
    there was only one order."""

    text: str
    line: int
    against: tuple[str, ...] = ()
    orders: Orders | None = None

    @property
    def ok(self) -> bool:
        return not self.against


class StepFacts(Struct, frozen=True):
    """The world after a step. `outcomes` are those of pods that were pending, by pod. `without` returns the end of the
    world without some nodes."""

    loaded: Loaded
    outcomes: Mapping[str, PodOutcome]
    preempting: Sequence[PodOutcome]
    without: Callable[[Sequence[str]], EndWithoutNodes]
    namespace: str

    @classmethod
    def of(cls, world: World, kept: KeptOutcomes, namespace: str) -> StepFacts:
        """The facts of the present world."""
        without = partial(end_without, world, kept.all_preempting)
        return cls(world.plane.store.as_loaded(), kept.tried(), kept.preempting, without, namespace)

    def why_pending(self, pod: str) -> str:
        outcome = self.outcomes.get(pod)
        if outcome is None:
            return "it is held back or belongs to another scheduler"
        return outcome.message or outcome.result


def check_expectation(expectation: Expectation, facts: StepFacts) -> CheckedExpectation:
    against = tuple(_CHECKS[type(expectation)](expectation, facts))
    return CheckedExpectation(str(expectation), expectation.place.line, against)


def in_all_orders(ends: Sequence[CheckedExpectation]) -> CheckedExpectation:
    """One expectation at the end of each order: it holds if it holds in all of them."""
    failing = [each for each in ends if not each.ok]
    if len(ends) == 1:
        return ends[0]
    orders = Orders(len(ends), len(ends) - len(failing))
    against = failing[-1].against if failing else ()
    if 0 < len(failing) < len(ends):
        against = (f"holds in {orders.finished} of {orders.tried} orders only; in the others:", *against)
    return replace(ends[-1], against=against, orders=orders)


def _schedulable(wanted: Schedulable, facts: StepFacts) -> Iterator[str]:
    if wanted.target is not None:
        yield from _placed(wanted.target, wanted.wanted, ("*",), "", facts)
        return
    failing = [outcome for outcome in facts.outcomes.values() if not outcome.node]
    if wanted.wanted:
        yield from (f"{outcome.pod}: {outcome.message or outcome.result}" for outcome in failing)
    elif not failing:
        yield f"all {len(facts.outcomes)} pending pods have found a node"


def _on(wanted: On, facts: StepFacts) -> Iterator[str]:
    return _placed(wanted.target, wanted.wanted, wanted.nodes, " has no node", facts)


def _placed(target: Reference, wanted: bool, patterns: Sequence[str], no_node: str, facts: StepFacts) -> Iterator[str]:
    """The pods of the target that are on other nodes than those of the patterns, or, if not `wanted`, on these."""
    for pod in pods_meant(facts.loaded, target, facts.namespace):
        name, node = pod_key(pod), pod.spec.node_name
        if not node and wanted:
            yield f"{name}{no_node}: {facts.why_pending(name)}"
        elif node and any(fnmatchcase(node, pattern) for pattern in patterns) is not wanted:
            yield f"{name} is on {node}"


def _spread(wanted: Spread, facts: StepFacts) -> Iterator[str]:
    """The skew, if it is too large. The domains are those of the pods and of nodes that the pods may be on."""
    pods = pods_meant(facts.loaded, wanted.target, facts.namespace)
    nodes = {node.metadata.name: node for node in facts.loaded.of(Node)}
    counts: dict[str, int] = {}
    on_node = Counter(pod.spec.node_name for pod in pods)
    for name, node in nodes.items():
        domain = node.metadata.labels.get(wanted.topology_key)
        if domain is not None and pods and (on_node[name] or _may_be_on(pods[0], node)):
            counts[domain] = counts.get(domain, 0) + on_node[name]
    if counts and max(counts.values()) - min(counts.values()) > wanted.max_skew:
        listed = ", ".join(f"{domain} {count}" for domain, count in sorted(counts.items()))
        yield f"{listed}: they differ by {max(counts.values()) - min(counts.values())}"


def _may_be_on(pod: Pod, node: Node) -> bool:
    return not node.spec.unschedulable and should_run(replace(pod.spec, node_name=""), node)


def _no_preemption(_: NoPreemption, facts: StepFacts) -> Iterator[str]:
    for outcome in facts.preempting:
        assert outcome.preemption is not None
        yield f"{outcome.pod} preempts {', '.join(outcome.preemption.victims)} on {outcome.preemption.node}"


def domains(nodes: Iterable[Node], what: str) -> dict[str, list[str]]:
    """The names of the nodes by failure domain: a node, or the value of a label."""
    key = TOPOLOGY.get(what, what)
    found: dict[str, list[str]] = {}
    for name, node in sorted((node.metadata.name, node) for node in nodes):
        value = name if what == "node" else node.metadata.labels.get(key)
        if value is not None:
            found.setdefault(value, []).append(name)
    return found


def _survives(wanted: Survives, facts: StepFacts) -> Iterator[str]:
    nodes_of = domains(facts.loaded.of(Node), wanted.what)
    occupied = {pod.spec.node_name for pod in facts.loaded.of(Pod) if not is_terminal(pod)}
    waiting = {pod_key(pod) for pod in facts.loaded.of(Pod) if not pod.spec.node_name}
    for lost in combinations(nodes_of, wanted.count):
        gone = [node for domain in lost for node in nodes_of[domain]]
        if not occupied.isdisjoint(gone):
            found = _not_surviving(facts.without(gone), waiting)
            yield from (f"without {', '.join(lost)}: {text}" for text in found)


def _not_surviving(left: EndWithoutNodes, waiting: set[str]) -> Iterator[str]:
    """Pods that preempt others to have a node, and pods without a node unless they replace such a victim."""
    victims: set[str] = set()
    for outcome in left.preempting:
        if outcome.pod not in waiting and outcome.preemption and outcome.nominated_node:
            victims.update(outcome.preemption.victims)
            names = ", ".join(outcome.preemption.victims)
            yield f"{outcome.pod}: it would have to preempt {names} on {outcome.nominated_node}"
    for pod in left.world.unplaced:
        if pod.pod not in waiting and pod.replaces not in victims:
            yield f"{pod.pod}: {pod.message or pod.state}"


_CHECKS: Mapping[type[Any], Callable[[Any, StepFacts], Iterator[str]]] = {
    Schedulable: _schedulable,
    On: _on,
    Spread: _spread,
    NoPreemption: _no_preemption,
    Survives: _survives,
}
