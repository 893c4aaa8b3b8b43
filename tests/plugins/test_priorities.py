"""Priorities, as kube-scheduler 1.16 ranked nodes: from 0 to 10, and otherwise mostly as the plugins after them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Node, Pod, Service
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.config.plugin_args import InterPodAffinityArgs, NodeLabelArgs, ServiceAffinityArgs
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.legacy.earlier import NodeResourceLimits
from ksched_cli.legacy.priorities import (
    PRIORITIES,
    EqualPriority,
    InterPodAffinityPriority,
    ResourceLimitsPriority,
    ServiceSpreadingPriority,
)
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod, term
from tests.clusters import clusters
from tests.harness import make_bench
from tests.lanes import examples
from tests.plugins.test_gone_plugins import amount, asked

OLD = RELEASES["1.16"]
# Most priorities are made from a row of a table, and have no name in the module.
NAMED: dict[str, type[Any]] = {each.name: each for each in PRIORITIES}
GIB = 1024**3


def plainly(node: Node, pods: list[Pod], name: str) -> tuple[int, int]:
    """What is asked of a resource, and what there is."""
    return sum(asked(each, name) for each in pods), amount(node.status.allocatable.get(name, 0))


def least(used: int, there: int) -> int:
    return (there - used) * 10 // there if there and used <= there else 0


def most(used: int, there: int) -> int:
    return used * 10 // there if there and used <= there else 0


@pytest.mark.slow
@given(drawn=clusters())
@settings(max_examples=examples(120), deadline=None)
def test_resources_agree_with_the_plain_reading(drawn: Any) -> None:
    nodes, running, pod = drawn
    want: dict[str, dict[str, int]] = {"least": {}, "most": {}, "balanced": {}}
    for node in nodes:
        name = node.metadata.name
        pods = [pod, *(each for each in running if each.spec.node_name == name)]
        cpu, memory = plainly(node, pods, "cpu"), plainly(node, pods, "memory")
        want["least"][name] = (least(*cpu) + least(*memory)) // 2
        want["most"][name] = (most(*cpu) + most(*memory)) // 2
        shares = [used / there if there else 1.0 for used, there in (cpu, memory)]
        want["balanced"][name] = 0 if max(shares) >= 1 else int((1 - abs(shares[0] - shares[1])) * 10.0)
    priorities: dict[str, type[ScorePlugin[Any]]] = {
        "least": NAMED["LeastRequestedPriority"],
        "most": NAMED["MostRequestedPriority"],
        "balanced": NAMED["BalancedResourceAllocation"],
    }
    for name, priority in priorities.items():
        made = make_bench(priority, nodes, pod, running, current=OLD)
        assert made.plugin.score(None, made.pod, made.nodes()).tolist() == [
            want[name][node] for node in made.cluster.nodes.names
        ]


@pytest.mark.slow
@given(drawn=clusters())
@settings(max_examples=examples(80), deadline=None)
def test_taints_agree_with_the_plain_reading(drawn: Any) -> None:
    nodes, running, pod = drawn
    found = make_bench(NAMED["TaintTolerationPriority"], nodes, pod, running, current=OLD).scores(normalized=True)
    counts = {node.metadata.name: soft(node, pod) for node in nodes}
    top = max(counts.values())
    assert found == {name: 10 - 10 * count // top if top else 10 for name, count in counts.items()}


def soft(node: Node, pod: Pod) -> int:
    """PreferNoSchedule taints that no toleration is for."""
    return sum(
        taint.effect == "PreferNoSchedule"
        and not any(
            each.effect in ("", taint.effect)
            and each.key in ("", taint.key)
            and (each.operator == "Exists" or each.value == taint.value)
            for each in pod.spec.tolerations
        )
        for taint in node.spec.taints
    )


def test_node_affinity_looks_at_labels_alone() -> None:
    nodes = [make_node("a").label("disk", "ssd").obj(), make_node("b").obj()]
    by_name = term(fields=(("metadata.name", "In", ["b"]),))
    both = term(("disk", "In", ["ssd"]), fields=(("metadata.name", "In", ["b"]),))
    pod = make_pod("new").prefers(3, by_name).prefers(4, both).obj()
    made = make_bench(NAMED["NodeAffinityPriority"], nodes, pod, current=OLD)
    assert made.scores() == {"a": 4, "b": 0}
    assert made.scores(normalized=True) == {"a": 10, "b": 0}


def test_images_have_the_ceiling_of_one_container() -> None:
    size = 1000 * 1024 * 1024
    nodes = [make_node("n").image(size, "a:v1", "x").obj()]
    pod = make_pod("new").image("a:v1").container(name="c2", image="b:v1").obj()
    assert make_bench(NAMED["ImageLocalityPriority"], nodes, pod, current=OLD).scores() == {"n": 10}


def test_avoided_nodes_and_labels() -> None:
    nodes = [make_node("a").label("disk", "ssd").obj(), make_node("b").obj()]
    pod = make_pod("new").obj()
    assert make_bench(NAMED["NodePreferAvoidPodsPriority"], nodes, pod, current=OLD).scores() == {"a": 10, "b": 10}
    wanted = NodeLabelArgs(present_labels_preference=("disk",))
    assert make_bench(NAMED["NodeLabelPriority"], nodes, pod, args=wanted, current=OLD).scores() == {"a": 10, "b": 0}
    assert make_bench(EqualPriority, nodes, pod, current=OLD).scores() == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("limits", "first", "scores"),
    [
        pytest.param({}, {}, {"small": 0, "large": 0}, id="no limits"),
        pytest.param({"cpu": "1"}, {}, {"small": 1, "large": 1}, id="both are large enough"),
        pytest.param({"cpu": "2"}, {}, {"small": 0, "large": 1}, id="cpu"),
        pytest.param({"cpu": "9", "memory": "1Gi"}, {}, {"small": 1, "large": 1}, id="one of the two will do"),
        pytest.param({"cpu": "1"}, {"cpu": "3"}, {"small": 0, "large": 1}, id="an init container counts"),
    ],
)
def test_limits(limits: dict[str, str], first: dict[str, str], scores: dict[str, int]) -> None:
    nodes = [make_node("small").allocatable(cpu="1", memory="2Gi").obj()]
    nodes.append(make_node("large").allocatable(cpu="4", memory="8Gi").obj())
    pod = make_pod("new").limits(**limits).init(name="first", resources={"limits": first}).obj()
    assert make_bench(ResourceLimitsPriority, nodes, pod, current=OLD).scores() == scores


def of_service(name: str, **labels: str) -> Service:
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "spec": {"selector": labels}}, Service)


def of_replica_set(name: str, **labels: str) -> ReplicaSet:
    spec = {"selector": {"matchLabels": labels}}
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, ReplicaSet)


def spread_over(*placed: tuple[str, str, str]) -> tuple[list[Node], list[Pod]]:
    """(zone label, zone, apps) of each node."""
    nodes, running = [], []
    for index, (label, zone, apps) in enumerate(placed):
        nodes.append(make_node(f"n{index}").label(label, zone).obj())
        for at, app in enumerate(apps):
            running.append(make_pod(f"run-{index}-{at}").label("app", app).on(f"n{index}").phase("Running").obj())
    return nodes, running


BETA, GA = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("label", "scores"),
    [
        pytest.param(BETA, {"n0": 1, "n1": 3, "n2": 10}, id="zones by the beta label"),
        pytest.param(GA, {"n0": 5, "n1": 10, "n2": 10}, id="the label that took its place is none"),
    ],
)
def test_selector_spread(label: str, scores: dict[str, int]) -> None:
    nodes, running = spread_over((label, "z1", "a"), (label, "z1", ""), (label, "z2", ""))
    nodes.append(make_node("n3").obj())
    running += [make_pod(f"more-{at}").label("app", "a").on("n3").phase("Running").obj() for at in (0, 1)]
    pod = make_pod("new").label("app", "a").obj()
    made = make_bench(
        NAMED["SelectorSpreadPriority"], nodes, pod, running, objects=[of_service("s", app="a")], current=OLD
    )
    assert made.scores() == {"n0": 1, "n1": 0, "n2": 0, "n3": 2}
    assert made.scores(normalized=True) == {**scores, "n3": 0}


def test_whatever_selects_the_pod_counts_and_for_service_spreading_services_alone() -> None:
    nodes, running = spread_over((GA, "z1", "ab"), (GA, "z2", "a"))
    running[0].metadata.labels["tier"] = "web"
    pod = make_pod("new").label("app", "a").label("tier", "web").obj()
    objects = [of_service("s", app="a"), of_replica_set("r", tier="web")]
    made = make_bench(NAMED["SelectorSpreadPriority"], nodes, pod, running, objects=objects, current=OLD)
    assert made.scores() == {"n0": 1, "n1": 0}
    made = make_bench(ServiceSpreadingPriority, nodes, pod, running, objects=objects, current=OLD)
    assert made.scores() == {"n0": 1, "n1": 1}
    nobody = make_bench(ServiceSpreadingPriority, nodes, pod, running, objects=objects[1:], current=OLD)
    assert nobody.scores() == {"n0": 0, "n1": 0}


def test_service_anti_affinity() -> None:
    nodes, running = spread_over(("rack", "r1", "aa"), ("rack", "r2", "a"), ("other", "r3", ""))
    pod = make_pod("new").label("app", "a").obj()
    args = ServiceAffinityArgs(anti_affinity_labels_preference=("rack",))
    made = make_bench(
        NAMED["ServiceAntiAffinityPriority"],
        nodes,
        pod,
        running,
        args=args,
        objects=[of_service("s", app="a")],
        current=OLD,
    )
    assert made.scores(normalized=True) == {"n0": 3, "n1": 6, "n2": 0}


@pytest.mark.parametrize(
    ("weight", "apart", "scores"),
    [
        pytest.param(5, False, {"n0": 10, "n1": 0}, id="together"),
        pytest.param(5, True, {"n0": 0, "n1": 10}, id="apart"),
    ],
)
def test_pod_affinity_counts_from_zero_and_is_in_proportion_at_once(
    weight: int, apart: bool, scores: dict[str, int]
) -> None:
    nodes, running = spread_over(("zone", "z1", "a"), ("zone", "z2", ""))
    wish = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
    preferred = [{"weight": weight, "podAffinityTerm": wish}]
    kind = "podAntiAffinity" if apart else "podAffinity"
    pod = make_pod("new").spec(affinity={kind: {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}).obj()
    made = make_bench(InterPodAffinityPriority, nodes, pod, running, current=OLD)
    assert made.scores() == made.scores(normalized=True) == scores
    # A score that all nodes share is a difference to zero.
    alike = made.scores([0])
    assert alike == {"n0": scores["n0"]}


cores = st.lists(st.integers(0, 4), max_size=3)


@given(run=cores, first=cores, sizes=st.lists(st.integers(0, 9), min_size=1, max_size=4))
@settings(max_examples=examples(40), deadline=None)
def test_limits_agree_with_the_plain_reading(run: list[int], first: list[int], sizes: list[int]) -> None:
    nodes = [make_node(f"n{index}").allocatable(cpu=str(size)).obj() for index, size in enumerate(sizes)]
    made = make_pod("new").limits(cpu=str(sum(run)))
    for index, limit in enumerate(first):
        made = made.init(name=f"first-{index}", resources={"limits": {"cpu": str(limit)}})
    limit = max([sum(run), *first])
    want = {f"n{index}": int(0 < limit <= size) for index, size in enumerate(sizes)}
    assert make_bench(NodeResourceLimits, nodes, made.obj(), current=RELEASES["1.18"]).scores() == want


@pytest.mark.parametrize(("weight", "scores"), [(1, {"a": 1, "b": 10}), (100, {"a": 10, "b": 1})])
def test_required_affinity_of_running_pods_weighs_as_the_policy_says(weight: int, scores: dict[str, int]) -> None:
    """A pod on a has to be near the new one, a pod on b prefers to be with weight 10."""
    term = {"labelSelector": {"matchLabels": {"app": "new"}}, "topologyKey": "kubernetes.io/hostname"}
    wishes = {
        "a": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "b": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": term}]},
    }
    running = [
        make_pod(f"on-{name}").spec(affinity={"podAffinity": wish}).on(name).obj() for name, wish in wishes.items()
    ]
    nodes, pod = [make_node(name).obj() for name in (*wishes, "c")], make_pod("new").label(app="new").obj()
    args = InterPodAffinityArgs(hard_pod_affinity_weight=weight)
    made = make_bench(NAMED["InterPodAffinityPriority"], nodes, pod, running, args=args, current=OLD)
    assert made.scores() == {**scores, "c": 0}
