"""The columns against a plain reading of the rule, pod by pod and node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Namespace, Node, ObjectMeta, Pod, PodAffinity, PodAffinityTerm, PodAntiAffinity
from ksched_cli.api.selectors import compile_selector
from ksched_cli.cluster.cache import Cluster
from ksched_cli.config.plugin_args import InterPodAffinityArgs
from ksched_cli.framework.interfaces import PreFilterResult
from ksched_cli.framework.status import Status
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from tests.builders import make_node, make_pod
from tests.harness import Bench, make_bench
from tests.lanes import examples

KEYS = ("zone", "rack", "kubernetes.io/hostname")
NAMES = ("default", "prod", "dev")
Pairs = Counter[tuple[str, str]]


@st.composite
def label_selectors(draw: st.DrawFn) -> dict[str, Any] | None:
    shape = draw(st.integers(0, 5))
    app, other = draw(st.sampled_from("ab")), draw(st.sampled_from("ab"))
    shapes: tuple[dict[str, Any] | None, ...] = (
        None,
        {},
        {"matchLabels": {"app": app}},
        {"matchLabels": {"app": app, "tier": other}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
        {"matchExpressions": [{"key": "tier", "operator": draw(st.sampled_from(("Exists", "DoesNotExist")))}]},
    )
    return shapes[shape]


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    term: dict[str, Any] = {"topologyKey": draw(st.sampled_from(KEYS)), "labelSelector": draw(label_selectors())}
    if draw(st.integers(0, 3)) == 0:
        term["namespaces"] = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
    if draw(st.integers(0, 3)) == 0:
        wanted: tuple[dict[str, Any], ...] = (
            {},
            {"matchLabels": {"team": "a"}},
            {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
        )
        term["namespaceSelector"] = draw(st.sampled_from(wanted))
    return term


@st.composite
def affinities(draw: st.DrawFn) -> dict[str, Any]:
    return {
        kind: {
            "requiredDuringSchedulingIgnoredDuringExecution": draw(st.lists(terms(), max_size=2)),
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": draw(st.integers(1, 100)), "podAffinityTerm": term}
                for term in draw(st.lists(terms(), max_size=2))
            ],
        }
        for kind in ("podAffinity", "podAntiAffinity")
        if draw(st.booleans())
    }


@st.composite
def pods(draw: st.DrawFn, name: str, nodes: list[str]) -> Pod:
    builder = make_pod(name, draw(st.sampled_from(NAMES)))
    for key in ("app", "tier"):
        if draw(st.integers(0, 3)):
            builder.label(key, draw(st.sampled_from("ab")))
    if draw(st.integers(0, 3)):
        builder.spec(affinity=draw(affinities()))
    return (builder.on(draw(st.sampled_from(nodes))) if nodes else builder).obj()


def space(name: str, team: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels={"team": team}))


@st.composite
def worlds(draw: st.DrawFn) -> Bench:
    nodes: list[Node] = []
    for index in range(draw(st.integers(1, 5))):
        builder = make_node(f"n{index}")
        for key in ("zone", "rack"):
            if draw(st.integers(0, 3)):
                builder.label(key, draw(st.sampled_from("uv")))
        nodes.append(builder.obj())
    names = [node.metadata.name for node in nodes]
    running = [draw(pods(f"run-{index}", names)) for index in range(draw(st.integers(0, 6)))]
    known = draw(st.sets(st.sampled_from(NAMES)))
    spaces = [space(name, draw(st.sampled_from("ab"))) for name in sorted(known)]
    args = InterPodAffinityArgs(
        hard_pod_affinity_weight=draw(st.sampled_from((0, 1, 10))),
        ignore_preferred_terms_of_existing_pods=draw(st.booleans()),
    )
    return make_bench(InterPodAffinity, nodes, draw(pods("new", [])), running, args=args, objects=spaces)


@dataclass
class Oracle:
    """interpodaffinity as it is written in Go, for one incoming pod."""

    cluster: Cluster
    pod: Pod
    args: InterPodAffinityArgs

    def labels_of(self, namespace: str) -> dict[str, str]:
        found = self.cluster.catalog.get(Namespace, namespace)
        return found.metadata.labels if found else {}

    def placed(self) -> Iterator[tuple[Pod, dict[str, str]]]:
        for row, node in enumerate(self.cluster.nodes.objects):
            for other in self.cluster.pods_on(row):
                yield self.cluster.pods.infos[other].pod, node.metadata.labels

    def matches(self, owner: Pod, term: PodAffinityTerm, other: Pod) -> bool:
        named = set(term.namespaces)
        if not named and term.namespace_selector is None:
            named = {owner.metadata.namespace}
        selector = compile_selector(term.namespace_selector)
        if owner is self.pod:
            spaces = self.cluster.catalog.all(Namespace)
            named |= {each.metadata.name for each in spaces if selector.matches(each.metadata.labels)}
            seen: dict[str, str] = {}
        else:
            seen = self.labels_of(other.metadata.namespace)
        inside = other.metadata.namespace in named or selector.matches(seen)
        return inside and compile_selector(term.label_selector).matches(other.metadata.labels)

    def matches_all(self, other: Pod) -> bool:
        required = near(self.pod).required_during_scheduling_ignored_during_execution
        return bool(required) and all(self.matches(self.pod, term, other) for term in required)

    def rejection(self, labels: dict[str, str]) -> str:
        """Which of the three rules the node breaks first."""
        together, own, existing = self.counts()
        required = near(self.pod).required_during_scheduling_ignored_during_execution
        if any(term.topology_key not in labels for term in required):
            return "affinity"
        if any(not together[term.topology_key, labels[term.topology_key]] for term in required) and (
            together or not self.matches_all(self.pod)
        ):
            return "affinity"
        if any(own[pair] for pair in labels.items()):
            return "anti-affinity"
        return "existing" if any(existing[pair] for pair in labels.items()) else ""

    def counts(self) -> tuple[Pairs, Pairs, Pairs]:
        together, own, existing = Pairs(), Pairs(), Pairs()
        for other, labels in self.placed():
            if self.matches_all(other):
                count(together, labels, near(self.pod).required_during_scheduling_ignored_during_execution)
            mine = far(self.pod).required_during_scheduling_ignored_during_execution
            count(own, labels, [term for term in mine if self.matches(self.pod, term, other)])
            theirs = far(other).required_during_scheduling_ignored_during_execution
            count(existing, labels, [term for term in theirs if self.matches(other, term, self.pod)])
        return together, own, existing

    def filter_skips(self) -> bool:
        required = (
            *near(self.pod).required_during_scheduling_ignored_during_execution,
            *far(self.pod).required_during_scheduling_ignored_during_execution,
        )
        return not required and not self.counts()[2]

    def scores(self) -> dict[str, int] | None:
        """None where PreScore skips."""
        prefers = any(
            kind.preferred_during_scheduling_ignored_during_execution for kind in (near(self.pod), far(self.pod))
        )
        if self.args.ignore_preferred_terms_of_existing_pods and not prefers:
            return None
        worth: dict[tuple[str, str], int] = {}
        for other, labels in self.placed():
            for term, weight in self.weighed(other):
                if term.topology_key in labels:
                    pair = term.topology_key, labels[term.topology_key]
                    worth[pair] = worth.get(pair, 0) + weight
        if not worth:
            return None
        nodes = self.cluster.nodes.objects
        return {node.metadata.name: sum(worth.get(pair, 0) for pair in node.metadata.labels.items()) for node in nodes}

    def weighed(self, other: Pod) -> Iterator[tuple[PodAffinityTerm, int]]:
        for owner, target in ((self.pod, other), (other, self.pod)):
            for sign, kind in ((1, near(owner)), (-1, far(owner))):
                for each in kind.preferred_during_scheduling_ignored_during_execution:
                    if self.matches(owner, each.pod_affinity_term, target):
                        yield each.pod_affinity_term, sign * each.weight
        if self.args.hard_pod_affinity_weight:
            for term in near(other).required_during_scheduling_ignored_during_execution:
                if self.matches(other, term, self.pod):
                    yield term, self.args.hard_pod_affinity_weight


def near(pod: Pod) -> PodAffinity:
    return (pod.spec.affinity and pod.spec.affinity.pod_affinity) or PodAffinity()


def far(pod: Pod) -> PodAntiAffinity:
    return (pod.spec.affinity and pod.spec.affinity.pod_anti_affinity) or PodAntiAffinity()


def count(pairs: Pairs, labels: dict[str, str], required: Any) -> None:
    pairs.update((term.topology_key, labels[term.topology_key]) for term in required if term.topology_key in labels)


REASONS = {
    "affinity": ("UnschedulableAndUnresolvable", ("node(s) didn't match pod affinity rules",)),
    "anti-affinity": ("Unschedulable", ("node(s) didn't match pod anti-affinity rules",)),
    "existing": ("Unschedulable", ("node(s) didn't satisfy existing pods anti-affinity rules",)),
}


def check(made: Bench) -> None:
    """Filter, score and normalised score are what the oracle says."""
    oracle = Oracle(made.cluster, made.pod.pod, made.plugin.args)
    assert isinstance(made.pre_filter(), Status) == oracle.filter_skips()
    broken = {node.metadata.name: oracle.rejection(node.metadata.labels) for node in made.cluster.nodes.objects}
    assert made.statuses() == {name: REASONS[rule] for name, rule in broken.items() if rule}
    scores, expected = made.scores(), oracle.scores()
    if expected is None:
        assert isinstance(scores, Status)
        assert scores.skipped
    else:
        assert scores == expected
        assert made.scores(normalized=True) == normalized(expected)


def normalized(scores: dict[str, int]) -> dict[str, int]:
    lowest, highest = min(scores.values()), max(scores.values())
    if lowest == highest:
        return dict.fromkeys(scores, 0)
    return {name: int(100 * ((score - lowest) / (highest - lowest))) for name, score in scores.items()}


@pytest.mark.slow
@given(worlds())
@settings(max_examples=examples(400), deadline=None)
def test_agrees_with_the_plain_reading(made: Bench) -> None:
    check(made)


@pytest.mark.slow
@given(worlds(), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_still_agrees_after_the_cluster_changed(made: Bench, data: st.DataObject) -> None:
    """What is kept from cycle to cycle follows pods, nodes and namespaces, whichever pod is asked about."""
    check(made)
    cluster = made.cluster
    incoming = [made.pod_row, cluster.register(data.draw(pods("newer", [])))]
    for step in range(data.draw(st.integers(2, 5))):
        arrived = cluster.register(data.draw(pods(f"late-{step}", [])))
        cluster.place(arrived, data.draw(st.integers(0, len(cluster.nodes) - 1)))
        moved = data.draw(st.integers(0, len(cluster.pods) - 1))
        if moved not in incoming:
            cluster.displace(moved)
            if data.draw(st.booleans()):
                cluster.place(moved, data.draw(st.integers(0, len(cluster.nodes) - 1)))
        if data.draw(st.integers(0, 5)) == 0:
            name = data.draw(st.sampled_from(cluster.nodes.names))
            cluster.update_node(make_node(name).label(zone=data.draw(st.sampled_from("uv"))).obj())
        if data.draw(st.integers(0, 2)) == 0:
            cluster.catalog.put(space(data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from("ab"))))
        made.pod_row = data.draw(st.sampled_from(incoming))
        check(made)


@pytest.mark.slow
@given(worlds(), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_add_and_remove_equal_computing_afresh(made: Bench, data: st.DataObject) -> None:
    cluster, plugin = made.cluster, made.plugin
    answer = made.pre_filter()
    if not isinstance(answer, PreFilterResult):
        return
    before, trial = plugin.filter(answer.state, made.pod, made.nodes()), plugin.clone_state(answer.state)
    for pod_row in data.draw(st.lists(st.integers(0, len(cluster.pods) - 1), unique=True)):
        row = cluster.displace(pod_row)
        if row >= 0:
            plugin.remove_pod(trial, made.pod, pod_row, row)
        if pod_row != made.pod_row and data.draw(st.booleans()):
            row = data.draw(st.integers(0, len(cluster.nodes) - 1))
            cluster.place(pod_row, row)
            plugin.add_pod(trial, made.pod, pod_row, row)
    after = plugin.filter(trial, made.pod, made.nodes())
    oracle = Oracle(cluster, made.pod.pod, plugin.args)
    expected = [oracle.rejection(node.metadata.labels) for node in cluster.nodes.objects]
    assert [tuple(each.text for each in after.reasons[index]) for index in after.reason_ids] == [
        REASONS[rule][1] if rule else () for rule in expected
    ]
    untouched = plugin.filter(answer.state, made.pod, made.nodes())
    np.testing.assert_array_equal(untouched.codes, before.codes)
