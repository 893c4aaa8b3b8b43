from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Service, TopologySpreadConstraint
from ksched_cli.api.selectors import compile_selector, find_untolerated
from ksched_cli.api.workloads import ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.config.plugin_args import PodTopologySpreadArgs
from ksched_cli.framework.status import Status
from ksched_cli.plugins.lib.resource_scoring import go_log
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadReasons
from tests.builders import make_node, make_pod
from tests.harness import Bench, make_bench
from tests.lanes import examples

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
SKEWED = ("Unschedulable", ("node(s) didn't match pod topology spread constraints",))
MISSING = (
    "UnschedulableAndUnresolvable",
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
)
WEB = {"matchLabels": {"app": "web"}}


def constraint(key: str = ZONE, skew: int = 1, action: str = "DoNotSchedule", **fields: Any) -> dict[str, Any]:
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": action, "labelSelector": WEB, **fields}


def wanting(*constraints: dict[str, Any]) -> Any:
    return make_pod("new").label(app="web").spec(topologySpreadConstraints=list(constraints))


def zones(**nodes: str) -> list[Any]:
    """Node name to zone; an empty zone is none."""
    return [(make_node(name).zone(zone) if zone else make_node(name)).obj() for name, zone in nodes.items()]


def running(*places: str, app: str = "web", namespace: str = "default") -> list[Any]:
    return [
        make_pod(f"{app}-{namespace}-{i}", namespace).label(app=app).on(node).obj() for i, node in enumerate(places)
    ]


@pytest.mark.parametrize(
    ("nodes", "pods", "pod", "expected"),
    [
        pytest.param({"a": "1", "b": "2"}, running("a"), wanting(constraint()), {"a": SKEWED}, id="the fuller zone"),
        pytest.param({"a": "1", "b": "2"}, running("a", "b"), wanting(constraint()), {}, id="even"),
        pytest.param({"a": "1", "b": "2"}, running("a"), wanting(constraint(skew=2)), {}, id="within the skew"),
        pytest.param({"a": "1", "b": "2"}, running("a", app="db"), wanting(constraint()), {}, id="others do not count"),
        pytest.param(
            {"a": "1", "b": "2"},
            running("a", namespace="other"),
            wanting(constraint()),
            {},
            id="other namespaces do not count",
        ),
        pytest.param({"a": "1", "b": ""}, [], wanting(constraint()), {"b": MISSING}, id="no label"),
        pytest.param(
            {"a": "1", "b": "1"},
            running("a"),
            wanting(constraint(), constraint(HOST)),
            {"a": SKEWED},
            id="two constraints",
        ),
        pytest.param(
            {"a": "1", "b": "2"},
            running("a"),
            wanting(constraint()).label(app="db"),
            {},
            id="the pod does not match itself",
        ),
        pytest.param(
            {"a": "1", "b": "2"},
            running("a", "b"),
            wanting(constraint(minDomains=3)),
            {"a": SKEWED, "b": SKEWED},
            id="too few domains",
        ),
        pytest.param(
            {"a": "1", "b": "2"}, running("a", "b"), wanting(constraint(minDomains=2)), {}, id="enough domains"
        ),
        pytest.param(
            {"a": "1", "b": "2", "c": "3"},
            running("a", "b"),
            wanting(constraint()).selector(**{HOST: "a"}),
            {},
            id="zones that the pod cannot use do not count",
        ),
        pytest.param(
            {"a": "1", "b": "2", "c": "3"},
            running("a", "b"),
            wanting(constraint(nodeAffinityPolicy="Ignore")).selector(**{HOST: "a"}),
            {"a": SKEWED, "b": SKEWED},
            id="unless told to",
        ),
        pytest.param(
            {"a": "1", "b": "2"},
            [*running("a"), make_pod("leaving").label(app="web").on("b").terminating().obj()],
            wanting(constraint()),
            {"a": SKEWED},
            id="leaving pods do not count",
        ),
        pytest.param(
            {"a": "1", "b": "2"},
            [make_pod("old").label(app="web", rev="1").on("a").obj()],
            wanting(constraint(matchLabelKeys=["rev"])).label(rev="2"),
            {},
            id="matchLabelKeys tell revisions apart",
        ),
        pytest.param(
            {"a": "1", "b": "2"},
            running("a"),
            wanting(constraint(labelSelector={})),
            {},
            id="an empty selector counts nothing",
        ),
    ],
)
def test_filter(nodes: dict[str, str], pods: list[Any], pod: Any, expected: Any) -> None:
    assert make_bench(PodTopologySpread, zones(**nodes), pod.obj(), pods).statuses() == expected


@pytest.mark.parametrize(("policy", "rejected"), [("Honor", False), ("Ignore", True)])
def test_tainted_zones_count_as_the_policy_says(policy: str, rejected: bool) -> None:
    nodes = [make_node("a").zone("1").obj(), make_node("b").zone("2").taint("x").obj()]
    pod = wanting(constraint(nodeTaintsPolicy=policy)).obj()
    assert ("a" in make_bench(PodTopologySpread, nodes, pod, running("a")).statuses()) is rejected


@pytest.mark.parametrize(
    ("effect", "rejected"),
    [("NoSchedule", False), ("NoExecute", False), ("PreferNoSchedule", True)],
)
def test_only_taints_that_keep_pods_away_exclude_a_zone(effect: str, rejected: bool) -> None:
    nodes = [make_node("a").zone("1").obj(), make_node("b").zone("2").taint("x", effect=effect).obj()]
    pod = wanting(constraint(nodeTaintsPolicy="Honor")).obj()
    assert ("a" in make_bench(PodTopologySpread, nodes, pod, running("a")).statuses()) is rejected


@pytest.mark.parametrize(("enabled", "rejected"), [("true", True), ("false", False)])
def test_tolerations_that_compare_need_their_gate(enabled: str, rejected: bool) -> None:
    nodes = [make_node("a").zone("1").obj(), make_node("b").zone("2").taint("level", "10").obj()]
    pod = wanting(constraint(nodeTaintsPolicy="Honor")).toleration("level", "Gt", "5").obj()
    gates = f"TaintTolerationComparisonOperators={enabled}"
    made = make_bench(PodTopologySpread, nodes, pod, running("a"), gates=gates)
    assert ("a" in made.statuses()) is rejected


@pytest.mark.parametrize(("enabled", "rejected"), [("true", False), ("false", True)])
def test_match_label_keys_need_their_gate(enabled: str, rejected: bool) -> None:
    old = make_pod("old").label(app="web", rev="1").on("a").obj()
    pod = wanting(constraint(matchLabelKeys=["rev"])).label(rev="2").obj()
    gates = ",".join(f"MatchLabelKeysInPodTopologySpread{name}={enabled}" for name in ("", "SelectorMerge"))
    made = make_bench(PodTopologySpread, zones(a="1", b="2"), pod, [old], gates=gates)
    assert ("a" in made.statuses()) is rejected


BROKEN = {"matchExpressions": [{"key": "a", "operator": "In"}]}


def test_a_hard_selector_that_cannot_be_compiled_ends_the_cycle() -> None:
    answer = make_bench(PodTopologySpread, zones(a="1"), wanting(constraint(labelSelector=BROKEN)).obj()).pre_filter()
    assert answer.code.go_name == "Error"
    assert answer.message.startswith("get constraints from pod: obtaining pod's hard topology spread constraints: ")


def test_a_soft_selector_that_cannot_be_compiled_ends_the_cycle() -> None:
    pod = wanting(constraint(action="ScheduleAnyway", labelSelector=BROKEN)).obj()
    made = make_bench(PodTopologySpread, zones(a="1", b="2"), pod)
    answer = made.plugin.pre_score(None, made.pod, made.nodes())
    assert answer.code.go_name == "Error"
    assert answer.message.startswith("calculating preScoreState: obtaining pod's soft topology spread constraints: ")


def test_a_cloned_state_changes_alone() -> None:
    made = make_bench(PodTopologySpread, zones(a="1", b="2"), wanting(constraint()).obj(), running("a"))
    state = made.state()
    clone = made.plugin.clone_state(state)
    made.plugin.remove_pod(clone, made.pod, 0, made.cluster.nodes.row_of["a"])
    rejected = [made.plugin.filter(each, made.pod, made.nodes()).codes.any() for each in (state, clone)]
    assert rejected == [True, False]


def test_soft_constraints_do_not_reject() -> None:
    made = make_bench(
        PodTopologySpread, zones(a="1", b="2"), wanting(constraint(action="ScheduleAnyway")).obj(), running("a")
    )
    assert made.pre_filter().skipped
    assert made.scores() == {"a": 1, "b": 0}
    assert made.scores(normalized=True) == {"a": 0, "b": 100}


def test_nodes_without_the_label_are_not_scored() -> None:
    pod = wanting(constraint(action="ScheduleAnyway")).obj()
    made = make_bench(PodTopologySpread, zones(a="1", b="", c="2"), pod, running("a"))
    assert made.scores(normalized=True) == {"a": 0, "b": 0, "c": 100}


# Defaults


def convert(kind: Any, name: str, **spec: Any) -> Any:
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, kind)


def owned(kind: str, version: str) -> Any:
    return make_pod("new").label(app="web").owner(kind, "owner", apiVersion=version).obj()


@pytest.mark.parametrize(
    ("pod", "objects", "spreads"),
    [
        pytest.param(make_pod("new").label(app="web").obj(), [], False, id="belongs to nothing"),
        pytest.param(
            make_pod("new").label(app="web").obj(),
            [convert(Service, "s", selector={"app": "web"})],
            True,
            id="a service",
        ),
        pytest.param(
            make_pod("new").label(app="web").obj(),
            [convert(Service, "s", selector={"app": "db"})],
            False,
            id="another service",
        ),
        pytest.param(
            make_pod("new").label(app="web").obj(), [convert(Service, "s")], False, id="a service without a selector"
        ),
        pytest.param(
            owned("ReplicaSet", "apps/v1"), [convert(ReplicaSet, "owner", selector=WEB)], True, id="a ReplicaSet"
        ),
        pytest.param(
            owned("StatefulSet", "apps/v1"), [convert(StatefulSet, "owner", selector=WEB)], True, id="a StatefulSet"
        ),
        pytest.param(
            owned("ReplicationController", "v1"),
            [convert(ReplicationController, "owner", selector={"app": "web"})],
            True,
            id="a ReplicationController",
        ),
        pytest.param(owned("ReplicaSet", "apps/v1"), [], False, id="an owner that is not there"),
        pytest.param(owned("Job", "batch/v1"), [], False, id="an owner of another kind"),
    ],
)
def test_system_defaults_spread_what_belongs_together(pod: Any, objects: list[Any], spreads: bool) -> None:
    made = make_bench(PodTopologySpread, zones(a="1", b="2"), pod, running("a"), objects=objects)
    scores = made.scores(normalized=True)
    if spreads:
        assert isinstance(scores, dict)
        assert scores["b"] > scores["a"]
    else:
        assert isinstance(scores, Status)


def test_a_node_without_a_zone_and_one_with_an_empty_zone_are_of_one_domain() -> None:
    """Under the system's defaults: a pod on the first makes the second worse than a node of a zone."""
    zone = "topology.kubernetes.io/zone"
    nodes = [make_node("none").obj(), make_node("empty").label(zone, "").obj(), make_node("a").label(zone, "a").obj()]
    service = convert(Service, "s", selector={"app": "web"})
    there = [make_pod("r").label(app="web").on("none").obj()]
    made = make_bench(PodTopologySpread, nodes, make_pod("new").label(app="web").obj(), there, objects=[service])
    scores = made.scores(normalized=True)
    assert not isinstance(scores, Status)
    assert scores["empty"] < scores["a"]


def test_where_all_nodes_lack_the_label_all_score_0() -> None:
    constraint = {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    labels = {"labelSelector": {"matchLabels": {"app": "web"}}}
    pod = make_pod("new").label(app="web").spec(topologySpreadConstraints=[{**constraint, **labels}]).obj()
    made = make_bench(PodTopologySpread, [make_node(name).obj() for name in "ab"], pod)
    assert made.scores(normalized=True) == {"a": 0, "b": 0}


def test_list_defaults_are_the_profiles_own() -> None:
    args = PodTopologySpreadArgs(
        default_constraints=(
            TopologySpreadConstraint(max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule"),
        ),
        defaulting_type="List",
    )
    service = convert(Service, "s", selector={"app": "web"})
    pod = make_pod("new").label(app="web").obj()
    made = make_bench(PodTopologySpread, zones(a="1", b="2"), pod, running("a"), objects=[service], args=args)
    assert made.statuses() == {"a": SKEWED}


# The plain reading

labels = st.fixed_dictionaries({"app": st.sampled_from(["web", "db"])})
constraints = st.builds(
    lambda key, skew, action, domains, affinity, taints: constraint(
        key,
        skew,
        action,
        nodeAffinityPolicy=affinity,
        nodeTaintsPolicy=taints,
        **({"minDomains": domains} if domains and action == "DoNotSchedule" else {}),
    ),
    st.sampled_from([ZONE, HOST, "rack"]),
    st.integers(1, 3),
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    st.integers(0, 3),
    st.sampled_from(["Honor", "Ignore"]),
    st.sampled_from(["Honor", "Ignore"]),
)


@st.composite
def spreads(draw: st.DrawFn) -> Bench:
    names = [f"n{index}" for index in range(draw(st.integers(1, 5)))]
    nodes = []
    for name in names:
        node = make_node(name)
        for key in (ZONE, "rack"):
            if draw(st.integers(0, 4)):
                node.label(key, draw(st.sampled_from(["1", "2", ""])))
        if draw(st.booleans()):
            node.taint("x")
        nodes.append(node.obj())
    pods = []
    for index in range(draw(st.integers(0, 8))):
        pod = (
            make_pod(f"r{index}", draw(st.sampled_from(["default", "other"])))
            .label(**draw(labels))
            .on(draw(st.sampled_from(names)))
        )
        pods.append((pod.terminating() if draw(st.integers(0, 5)) == 0 else pod).obj())
    new = (
        make_pod("new")
        .label(**draw(labels))
        .spec(topologySpreadConstraints=draw(st.lists(constraints, min_size=1, max_size=2)))
    )
    if draw(st.booleans()):
        new.selector(**{ZONE: "1"})
    return make_bench(PodTopologySpread, nodes, new.obj(), pods)


def plain_count(made: Bench, node: str, wanted: Any) -> int:
    selector = compile_selector(wanted.label_selector)
    return sum(
        pod.spec.node_name == node
        and pod.metadata.namespace == "default"
        and not pod.metadata.deletion_timestamp
        and selector.matches(pod.metadata.labels)
        for pod in (info.pod for info in made.cluster.pods.infos)
    )


def plain_included(node: Any, pod: Any, wanted: Any) -> bool:
    if wanted.node_affinity_policy != "Ignore" and any(
        node.metadata.labels.get(k) != v for k, v in pod.spec.node_selector.items()
    ):
        return False
    taint = find_untolerated(node.spec.taints, pod.spec.tolerations, ("NoSchedule",))
    return wanted.node_taints_policy != "Honor" or taint is None


@pytest.mark.slow
@given(spreads())
@settings(max_examples=examples(200), deadline=None)
def test_filter_agrees_with_the_plain_reading(made: Bench) -> None:
    pod, nodes = made.pod.pod, made.cluster.nodes.objects
    hard = [each for each in pod.spec.topology_spread_constraints if each.when_unsatisfiable == "DoNotSchedule"]
    keys = [each.topology_key for each in hard]
    want = {}
    for node in nodes:
        for each in hard:
            if each.topology_key not in node.metadata.labels:
                want[node.metadata.name] = MISSING
                break
            counts: dict[str, int] = {}
            for other in nodes:
                if all(key in other.metadata.labels for key in keys) and plain_included(other, pod, each):
                    value = other.metadata.labels[each.topology_key]
                    counts[value] = counts.get(value, 0) + plain_count(made, other.metadata.name, each)
            least = min(counts.values(), default=2**31 - 1)
            if len(counts) < (each.min_domains or 1):
                least = 0
            itself = compile_selector(each.label_selector).matches(pod.metadata.labels)
            if counts.get(node.metadata.labels[each.topology_key], 0) + itself - least > each.max_skew:
                want[node.metadata.name] = SKEWED
                break
    assert made.statuses() == want


@pytest.mark.slow
@given(spreads())
@settings(max_examples=examples(200), deadline=None)
def test_score_agrees_with_the_plain_reading(made: Bench) -> None:
    pod, nodes = made.pod.pod, made.cluster.nodes.objects
    soft = [each for each in pod.spec.topology_spread_constraints if each.when_unsatisfiable == "ScheduleAnyway"]
    scores = made.scores()
    if not soft:
        assert isinstance(scores, Status)
        return
    scored = [node for node in nodes if all(each.topology_key in node.metadata.labels for each in soft)]
    want = dict.fromkeys((node.metadata.name for node in nodes), 0)
    for node in scored:
        total = 0.0
        for each in soft:
            value = node.metadata.labels[each.topology_key]
            if each.topology_key == HOST:
                count, size = plain_count(made, node.metadata.name, each), len(scored)
            else:
                size = len({other.metadata.labels[each.topology_key] for other in scored})
                count = sum(
                    plain_count(made, other.metadata.name, each)
                    for other in scored
                    if other.metadata.labels[each.topology_key] == value and plain_included(other, pod, each)
                )
            total += count * go_log(size + 2) + (each.max_skew - 1)
        want[node.metadata.name] = math.floor(total + 0.5)
    assert scores == want


@given(spreads(), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_taking_pods_away_and_putting_them_back_equals_counting_afresh(made: Bench, data: st.DataObject) -> None:
    answer = made.pre_filter()
    if isinstance(answer, Status):
        return
    state = made.plugin.clone_state(answer.state)
    # Pods that are leaving are told apart only when counting afresh, in kube-scheduler too.
    placed = [
        row
        for row, info in enumerate(made.cluster.pods.infos)
        if info.pod.spec.node_name and not made.cluster.pods.terminating[row]
    ]
    taken = data.draw(st.lists(st.sampled_from(placed), unique=True)) if placed else []
    where = {row: made.cluster.displace(row) for row in taken}
    for row, node in where.items():
        made.plugin.remove_pod(state, made.pod, row, node)
    for mine, fresh in zip(state.domains, made.state().domains, strict=True):
        assert mine.counts.tolist() == fresh.counts.tolist()
    for row, node in where.items():
        made.cluster.place(row, node)
        made.plugin.add_pod(state, made.pod, row, node)
    for mine, before in zip(state.domains, answer.state.domains, strict=True):
        assert mine.counts.tolist() == before.counts.tolist()


@given(st.integers(0, 20_000))
def test_the_logarithm_is_one(size: int) -> None:
    assert math.isclose(go_log(size + 2), math.log(size + 2), rel_tol=1e-15)


def spread_of(key: str, skew: int, unsatisfiable: str = "DoNotSchedule") -> dict[str, Any]:
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": unsatisfiable}


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        pytest.param([{"topologyKey": "zone", "maxSkew": 2}], (2, "maxSkew"), id="the constraint that is broken"),
        pytest.param([{"topologyKey": "rack", "maxSkew": 1}], (1, "maxSkew"), id="the first that is broken"),
        pytest.param([], (1, "maxSkew"), id="unknown: the first that rejects nodes"),
        pytest.param([{"topologyKey": "host", "maxSkew": 1}], (), id="none of the pod: a default constraint"),
    ],
)
def test_the_field_of_a_skew(broken: list[dict[str, Any]], field: tuple[Any, ...]) -> None:
    constraints = [spread_of("host", 1, "ScheduleAnyway"), spread_of("rack", 1), spread_of("zone", 2)]
    pod = make_pod().spec(topologySpreadConstraints=constraints).obj()
    kind = PodTopologySpreadReasons.skewed
    assert kind.field is not None
    assert kind.field(pod, (), {"constraints": broken}) == ("spec", "topologySpreadConstraints", *field)
