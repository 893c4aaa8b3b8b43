"""PodTopologySpread held against plain readings that go node by node and keep counts in dictionaries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Node, Service, TopologySpreadConstraint
from ksched_cli.api.selectors import compile_selector, find_untolerated
from ksched_cli.config.plugin_args import PodTopologySpreadArgs
from ksched_cli.framework.status import Status
from ksched_cli.plugins.lib.resource_scoring import go_log
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread
from tests.builders import make_node, make_pod
from tests.harness import Bench, make_bench
from tests.lanes import examples

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
SKEWED, MISSING = "Unschedulable", "UnschedulableAndUnresolvable"
WEB = {"matchLabels": {"app": "web"}}
MOST = 2**31 - 1

selectors = st.sampled_from(
    [
        WEB,
        WEB,
        {},
        None,
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
        {"matchExpressions": [{"key": "rev", "operator": "Exists"}]},
    ]
)


def spread_constraints(action: str, own: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "topologyKey": st.sampled_from([ZONE, HOST, RACK]),
            "maxSkew": st.integers(1, 3),
            "whenUnsatisfiable": st.just(action),
            "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore", None]),
            "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore", None]),
        },
        optional={
            **({"minDomains": st.integers(1, 4)} if action == "DoNotSchedule" else {}),
            **({"labelSelector": selectors, "matchLabelKeys": st.just(["rev", "absent"])} if own else {}),
        },
    )


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    made = []
    for index in range(draw(st.integers(1, 7))):
        node = make_node(f"n{index}")
        if draw(st.integers(0, 7)) == 0:
            del node.data["metadata"]["labels"][HOST]
        for key in (ZONE, RACK):
            if draw(st.integers(0, 3)):
                node.label(key, draw(st.sampled_from(["1", "2", "3", ""])))
        if draw(st.integers(0, 3)) == 0:
            node.taint("x", effect=draw(st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])))
        made.append(node.obj())
    return made


@st.composite
def spreads(draw: st.DrawFn, constraints: list[dict[str, Any]], args: PodTopologySpreadArgs | None = None) -> Bench:
    nodes = draw(some_nodes())
    app, rev = st.sampled_from(["web", "web", "db"]), st.sampled_from(["1", "2"])
    running = []
    for index in range(draw(st.integers(0, 10))):
        pod = make_pod(f"r{index}", draw(st.sampled_from(["default", "default", "other"]))).label(app=draw(app))
        if draw(st.booleans()):
            pod.label(rev=draw(rev))
        if draw(st.integers(0, 5)) == 0:
            pod.terminating()
        running.append(pod.on(draw(st.sampled_from(nodes)).metadata.name).obj())
    new = make_pod("new").label(app=draw(app), rev=draw(rev)).spec(topologySpreadConstraints=constraints)
    if draw(st.integers(0, 3)) == 0:
        new.selector(**{ZONE: "1"})
    if draw(st.integers(0, 3)) == 0:
        new.toleration("x", "Exists")
    service = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}
    return make_bench(
        PodTopologySpread, nodes, new.obj(), running, objects=[msgspec.convert(service, Service)], args=args
    )


def two_of(action: str) -> st.SearchStrategy[Bench]:
    return st.lists(spread_constraints(action), min_size=1, max_size=3).flatmap(spreads)


# Plain readings


def selects(each: TopologySpreadConstraint, made: Bench, labels: dict[str, str]) -> bool:
    keys = {key: value for key, value in made.pod.labels.items() if key in each.match_label_keys}
    return compile_selector(each.label_selector).matches(labels) and keys.items() <= labels.items()


def selects_all(each: TopologySpreadConstraint, made: Bench) -> bool:
    keys = [key for key in each.match_label_keys if key in made.pod.labels]
    return compile_selector(each.label_selector).everything and not keys


def plain_count(each: TopologySpreadConstraint, made: Bench, row: int) -> int:
    """countPodsMatchSelector."""
    pods = made.cluster.pods
    return (
        0
        if selects_all(each, made)
        else sum(
            info.namespace == "default" and not pods.terminating[other] and selects(each, made, info.labels)
            for other, info in enumerate(pods.infos)
            if pods.node_row[other] == row
        )
    )


def plain_included(each: TopologySpreadConstraint, made: Bench, node: Node) -> bool:
    spec = made.pod.pod.spec
    if each.node_affinity_policy != "Ignore" and not spec.node_selector.items() <= node.metadata.labels.items():
        return False
    if each.node_taints_policy != "Honor":
        return True
    return find_untolerated(node.spec.taints, spec.tolerations, ("NoSchedule", "NoExecute")) is None


def has_all(node: Node, constraints: Sequence[TopologySpreadConstraint]) -> bool:
    return all(each.topology_key in node.metadata.labels for each in constraints)


class PlainFilter:
    """preFilterState the way Go keeps it: of the least counts only two are remembered, and updated in place."""

    def __init__(self, made: Bench, constraints: Sequence[TopologySpreadConstraint]) -> None:
        self.made, self.constraints = made, constraints
        self.counts: list[dict[str, int]] = [{} for _ in constraints]
        for row, node in enumerate(made.cluster.nodes.objects):
            for index in self.eligible(node):
                counts, value = self.counts[index], self.value(index, node)
                counts[value] = counts.get(value, 0) + plain_count(constraints[index], made, row)
        self.paths: list[list[tuple[str, int]]] = [[("", MOST), ("", MOST)] for _ in constraints]
        for index, counts in enumerate(self.counts):
            for value in counts:
                self.note(index, value)

    def value(self, index: int, node: Node) -> str:
        return node.metadata.labels[self.constraints[index].topology_key]

    def eligible(self, node: Node) -> list[int]:
        if not has_all(node, self.constraints):
            return []
        return [index for index, each in enumerate(self.constraints) if plain_included(each, self.made, node)]

    def note(self, index: int, value: str) -> None:
        paths, count = self.paths[index], self.counts[index][value]
        known = next((place for place, path in enumerate(paths) if path[0] == value), None)
        if known is not None:
            paths[known] = value, count
            paths.sort(key=lambda path: path[1])
        elif count < paths[0][1]:
            paths[:] = [(value, count), paths[0]]
        elif count < paths[1][1]:
            paths[1] = value, count

    def update(self, other: int, row: int, delta: int) -> None:
        info, node = self.made.cluster.pods.infos[other], self.made.cluster.nodes.objects[row]
        for index in self.eligible(node) if info.namespace == "default" else []:
            if selects(self.constraints[index], self.made, info.labels):
                value = self.value(index, node)
                self.counts[index][value] += delta
                self.note(index, value)

    def statuses(self) -> dict[str, str]:
        found = {node.metadata.name: self.judge(node) for node in self.made.cluster.nodes.objects}
        return {name: code for name, code in found.items() if code}

    def judge(self, node: Node) -> str:
        for index, each in enumerate(self.constraints):
            if each.topology_key not in node.metadata.labels:
                return MISSING
            least = 0 if len(self.counts[index]) < (each.min_domains or 1) else self.paths[index][0][1]
            itself = selects(each, self.made, self.made.pod.labels)
            if self.counts[index].get(self.value(index, node), 0) + itself - least > each.max_skew:
                return SKEWED
        return ""


def plain_scores(
    made: Bench, constraints: Sequence[TopologySpreadConstraint], rows: Sequence[int], *, require_all: bool
) -> tuple[dict[str, int], dict[str, int]]:
    """Raw and normalised."""
    objects = made.cluster.nodes.objects
    ignored = {row for row in rows if require_all and not has_all(objects[row], constraints)}
    counts: list[dict[str, int]] = [{} for _ in constraints]
    weights = []
    for index, each in enumerate(constraints):
        if each.topology_key == HOST:
            weights.append(go_log(len(rows) - len(ignored) + 2))
            continue
        key = each.topology_key
        counts[index] = {objects[row].metadata.labels.get(key, ""): 0 for row in rows if row not in ignored}
        weights.append(go_log(len(counts[index]) + 2))
        for row, node in enumerate(objects):
            value = node.metadata.labels.get(key, "")
            left_out = require_all and not has_all(node, constraints)
            if value in counts[index] and not left_out and plain_included(each, made, node):
                counts[index][value] += plain_count(each, made, row)
    raw = {}
    for row in rows:
        total = 0.0
        for index, each in enumerate(constraints):
            own = objects[row].metadata.labels.get(each.topology_key)
            if own is not None and row not in ignored:
                here = plain_count(each, made, row) if each.topology_key == HOST else counts[index][own]
                total += float(here) * weights[index] + float(each.max_skew - 1)
        raw[row] = math.floor(total + 0.5)
    kept = [score for row, score in raw.items() if row not in ignored]
    high, low = max(kept, default=0), min(kept, default=0)
    final = {
        row: 0 if row in ignored else 100 if high == 0 else 100 * (high + low - score) // high
        for row, score in raw.items()
    }
    names = made.cluster.nodes.names
    return {names[row]: score for row, score in raw.items()}, {names[row]: score for row, score in final.items()}


# Filter


@pytest.mark.slow
@given(two_of("DoNotSchedule"))
@settings(max_examples=examples(300), deadline=None)
def test_filter(made: Bench) -> None:
    want = PlainFilter(made, made.pod.pod.spec.topology_spread_constraints).statuses()
    assert {name: code for name, (code, _) in made.statuses().items()} == want


@given(
    st.lists(
        spread_constraints("DoNotSchedule", own=False), min_size=1, max_size=2, unique_by=lambda c: c["topologyKey"]
    )
    .map(lambda each: PodTopologySpreadArgs(tuple(msgspec.convert(each, list[TopologySpreadConstraint])), "List"))
    .flatmap(lambda args: spreads([], args))
)
@settings(max_examples=examples(100), deadline=None)
def test_filter_with_the_profiles_defaults(made: Bench) -> None:
    # The service selects web pods; a db pod belongs to nothing, so nothing is asked of it.
    web = msgspec.convert({"labelSelector": WEB}, TopologySpreadConstraint).label_selector
    defaults = [msgspec.structs.replace(each, label_selector=web) for each in made.plugin.args.default_constraints]
    want = PlainFilter(made, defaults).statuses() if made.pod.labels["app"] == "web" else {}
    assert {name: code for name, (code, _) in made.statuses().items()} == want


@pytest.mark.slow
@given(two_of("DoNotSchedule"), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_pods_of_one_node_going_and_coming(made: Bench, data: st.DataObject) -> None:
    """As in a dry run, where all changes are to one node. Go's two least counts come to the same as all of them,
    and pods that are leaving are taken off though they were never counted."""
    constraints = made.pod.pod.spec.topology_spread_constraints
    plain, state = PlainFilter(made, constraints), made.plugin.clone_state(made.state())
    before = [each.counts.tolist() for each in made.state().domains]
    pods = made.cluster.pods
    row = data.draw(st.integers(0, len(made.cluster.nodes) - 1))
    away: list[int] = []
    steps: int = data.draw(st.integers(1, 8))
    for _ in range(steps):
        here = [other for other in range(len(pods)) if pods.node_row[other] == row and other not in away]
        returning: bool = data.draw(st.booleans())
        if away and returning:
            other, delta = away.pop(), 1
            made.plugin.add_pod(state, made.pod, other, row)
        elif here:
            other, delta = data.draw(st.sampled_from(here)), -1
            away.append(other)
            made.plugin.remove_pod(state, made.pod, other, row)
        else:
            # A pod nominated to the node, which may be of any kind.
            other, delta = data.draw(st.integers(0, len(pods) - 1)), 1
            made.plugin.add_pod(state, made.pod, other, row)
        plain.update(other, row, delta)
        verdict = made.plugin.filter(state, made.pod, made.nodes())
        found = {name: verdict.status(index).code for index, name in enumerate(made.cluster.nodes.names)}
        assert {name: code.go_name for name, code in found.items() if code} == plain.statuses()
    assert [each.counts.tolist() for each in made.state().domains] == before


# Score


@pytest.mark.slow
@given(two_of("ScheduleAnyway"), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_score(made: Bench, data: st.DataObject) -> None:
    rows = sorted(data.draw(st.sets(st.integers(0, len(made.cluster.nodes) - 1), min_size=1)))
    raw, final = plain_scores(made, made.pod.pod.spec.topology_spread_constraints, rows, require_all=True)
    assert (made.scores(rows), made.scores(rows, normalized=True)) == (raw, final)


def soft_web(key: str, skew: int) -> TopologySpreadConstraint:
    made = {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": WEB}
    return msgspec.convert(made, TopologySpreadConstraint)


@pytest.mark.slow
@given(spreads([]), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_score_with_the_systems_defaults(made: Bench, data: st.DataObject) -> None:
    """Nodes without a zone are spread over all the same, in one domain with those whose zone is empty."""
    assume(made.pod.labels["app"] == "web")
    rows = sorted(data.draw(st.sets(st.integers(0, len(made.cluster.nodes) - 1), min_size=1)))
    raw, final = plain_scores(made, [soft_web(HOST, 3), soft_web(ZONE, 5)], rows, require_all=False)
    assert (made.scores(rows), made.scores(rows, normalized=True)) == (raw, final)


@given(
    st.just(PodTopologySpreadArgs((soft_web(ZONE, 5), soft_web(HOST, 3)), "List")).flatmap(
        lambda args: spreads([], args)
    )
)
@settings(max_examples=examples(100), deadline=None)
def test_score_with_the_profiles_defaults(made: Bench) -> None:
    """The same two constraints written out in a profile leave nodes out that lack a label."""
    rows = range(len(made.cluster.nodes))
    raw, final = plain_scores(made, [soft_web(ZONE, 5), soft_web(HOST, 3)], rows, require_all=True)
    if made.pod.labels["app"] == "web":
        assert (made.scores(), made.scores(normalized=True)) == (raw, final)
    else:
        assert isinstance(made.scores(), Status)
