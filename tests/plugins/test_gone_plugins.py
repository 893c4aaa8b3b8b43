"""NodeLabel, NodePreferAvoidPods, ServiceAffinity and the resource scores: the plugins that went away with 1.23."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.avoided_pods import AVOID_PODS_ANNOTATION
from ksched_cli.api.core import Pod, Service
from ksched_cli.config.plugin_args import (
    NodeLabelArgs,
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
    ResourceSpec,
    ServiceAffinityArgs,
    UtilizationShapePoint,
)
from ksched_cli.legacy.removed import (
    NodeLabel,
    NodePreferAvoidPods,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
    ServiceAffinity,
)
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.harness import make_bench
from tests.lanes import examples

OLD = RELEASES["1.21"]
KEYS = ("a", "b", "c")
keys = st.lists(st.sampled_from(KEYS), max_size=2, unique=True).map(tuple)


@given(
    labels=st.lists(st.frozensets(st.sampled_from(KEYS)), min_size=1, max_size=4),
    present=keys,
    absent=keys,
    likes=keys,
    dislikes=keys,
)
@settings(max_examples=examples(80), deadline=None)
def test_node_label_agrees_with_the_plain_reading(
    labels: list[frozenset[str]], present: Any, absent: Any, likes: Any, dislikes: Any
) -> None:
    nodes = []
    for index, own in enumerate(labels):
        node = make_node(f"n{index}")
        for key in own:
            node.label(key, "x")
        nodes.append(node.obj())
    args = NodeLabelArgs(
        present_labels=present,
        absent_labels=absent,
        present_labels_preference=likes,
        absent_labels_preference=dislikes,
    )
    made = make_bench(NodeLabel, nodes, make_pod().obj(), args=args, current=OLD)
    wrong = {f"n{at}" for at, own in enumerate(labels) if not set(present) <= own or set(absent) & own}
    refusal = ("UnschedulableAndUnresolvable", ("node(s) didn't have the requested labels",))
    assert made.statuses() == dict.fromkeys(wrong, refusal)
    wishes = len(likes) + len(dislikes)
    for at, own in enumerate(labels):
        met = len(set(likes) & own) + len(set(dislikes) - own)
        assert made.scores()[f"n{at}"] == (100 * met // wishes if wishes else 0)  # type: ignore[index]


def avoiding(*controllers: tuple[str, str]) -> str:
    listed = [{"podSignature": {"podController": {"kind": kind, "uid": uid}}} for kind, uid in controllers]
    return json.dumps({"preferAvoidPods": listed})


@given(
    asked=st.lists(
        st.lists(st.tuples(st.sampled_from(("ReplicaSet", "Job")), st.sampled_from("12")), max_size=2),
        min_size=1,
        max_size=4,
    ),
    owner=st.tuples(st.sampled_from(("ReplicaSet", "Job", "ReplicationController")), st.sampled_from("12")),
    controls=st.booleans(),
)
@settings(max_examples=examples(80), deadline=None)
def test_node_prefer_avoid_pods_agrees_with_the_plain_reading(
    asked: list[list[tuple[str, str]]], owner: tuple[str, str], controls: bool
) -> None:
    nodes = []
    for index, controllers in enumerate(asked):
        node = make_node(f"n{index}").obj()
        node.metadata.annotations[AVOID_PODS_ANNOTATION] = avoiding(*controllers)
        nodes.append(node)
    pod = owned(owner, controls)
    made = make_bench(NodePreferAvoidPods, nodes, pod, current=OLD)
    counts = controls and owner[0] in ("ReplicaSet", "ReplicationController")
    assert made.scores() == {f"n{at}": 0 if counts and owner in own else 100 for at, own in enumerate(asked)}


def owned(owner: tuple[str, str], controls: bool) -> Pod:
    reference = {"kind": owner[0], "name": "o", "uid": owner[1], "apiVersion": "v1", "controller": controls}
    return msgspec.convert({"metadata": {"name": "new", "namespace": "default", "ownerReferences": [reference]}}, Pod)


@pytest.mark.parametrize("annotation", ["", "{", "[]", '{"preferAvoidPods": 1}', '{"preferAvoidPods": [{}]}'])
def test_an_annotation_that_cannot_be_read_is_none(annotation: str) -> None:
    node = make_node("n").obj()
    node.metadata.annotations[AVOID_PODS_ANNOTATION] = annotation
    assert make_bench(NodePreferAvoidPods, [node], owned(("ReplicaSet", "1"), True), current=OLD).scores() == {"n": 100}


SERVICE = msgspec.convert(
    {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "a"}}}, Service
)


@given(
    racks=st.lists(st.sampled_from(("", "r0", "r1")), min_size=1, max_size=4),
    placed=st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), max_size=5),
    serviced=st.booleans(),
    chosen=st.sampled_from(("", "r0", "r1")),
)
@settings(max_examples=examples(120), deadline=None)
def test_service_affinity_agrees_with_the_plain_reading(
    racks: list[str], placed: list[tuple[int, str]], serviced: bool, chosen: str
) -> None:
    nodes = []
    for index, rack in enumerate(racks):
        node = make_node(f"n{index}")
        nodes.append((node.label("rack", rack) if rack else node).obj())
    on = [(where % len(racks), app) for where, app in placed]
    running = [
        make_pod(f"run-{at}").label("app", app).on(f"n{where}").phase("Running").obj()
        for at, (where, app) in enumerate(on)
    ]
    builder = make_pod("new").label("app", "a")
    pod = (builder.selector(rack=chosen) if chosen else builder).obj()
    args = ServiceAffinityArgs(affinity_labels=("rack",), anti_affinity_labels_preference=("rack",))
    made = make_bench(
        ServiceAffinity, nodes, pod, running, args=args, objects=[SERVICE] if serviced else [], current=OLD
    )
    # The node of the first pod that carries the labels of the new one says where the others go.
    first = next((where for where in range(len(racks)) if (where, "a") in on), None)
    wanted = chosen or (racks[first] if serviced and first is not None else "")
    wrong = {f"n{at}" for at, rack in enumerate(racks) if wanted and rack != wanted}
    assert made.statuses() == dict.fromkeys(wrong, ("Unschedulable", ("node(s) didn't match service affinity",)))
    counts = [on.count((at, "a")) if serviced else 0 for at in range(len(racks))]
    total, normalized = sum(counts), made.scores(normalized=True)
    for at, rack in enumerate(racks):
        there = sum(count for count, other in zip(counts, racks, strict=True) if other == rack)
        want = (100 * ((total - there) / total) if total else 100) if rack else 0
        assert normalized[f"n{at}"] == int(want)  # type: ignore[index]


def service(**selector: str) -> Service:
    return msgspec.convert({"metadata": {"name": "t", "namespace": "default"}, "spec": {"selector": selector}}, Service)


COMPANION = make_pod("run").label("app", "a").on("r0-x").obj()


@pytest.mark.parametrize(
    ("pod", "running", "services", "fits"),
    [
        pytest.param({}, [COMPANION], [SERVICE], {"r0-x"}, id="the labels of the companion's node"),
        pytest.param({"rack": "r1"}, [COMPANION], [SERVICE], {"r1-x"}, id="except for those that the pod selects"),
        pytest.param({"rack": "r1"}, [COMPANION], [], {"r1-x", "r1-y"}, id="no service"),
        pytest.param({"rack": "r1"}, [COMPANION], [service()], {"r1-x", "r1-y"}, id="a service without selector"),
        pytest.param({"rack": "r1"}, [COMPANION], [service(app="b")], {"r1-x", "r1-y"}, id="a service of other pods"),
        pytest.param(
            {"row": "x"}, [make_pod("run").label("app", "a").on("bare").obj()], [SERVICE], {"r0-x", "r1-x"},
            id="a companion on a node without labels",
        ),
        pytest.param(
            {}, [make_pod(f"run-{at}").label("app", "b").on("r0-x").obj() for at in range(2)], [SERVICE],
            {"r0-x", "r1-x", "r1-y", "bare"}, id="no companion",
        ),
    ],
)  # fmt: skip
def test_service_affinity_of_two_labels(
    pod: dict[str, str], running: list[Pod], services: list[Service], fits: set[str]
) -> None:
    nodes = [make_node(name).obj() for name in ("r0-x", "r1-x", "r1-y", "bare")]
    for node in nodes:
        rack, _, row = node.metadata.name.partition("-")
        node.metadata.labels = {"rack": rack, "row": row} if row else {}
    args = ServiceAffinityArgs(affinity_labels=("rack", "row"))
    new = make_pod("new").label("app", "a").selector(**pod).obj()
    made = make_bench(ServiceAffinity, nodes, new, running, args=args, objects=services, current=OLD)
    assert {node.metadata.name for node in nodes} - made.statuses().keys() == fits


def test_service_anti_affinity_of_two_labels() -> None:
    """Each label is worth half of the score."""
    nodes = [make_node("a").label(rack="r0", row="x").obj(), make_node("b").label(rack="r0", row="y").obj()]
    args = ServiceAffinityArgs(anti_affinity_labels_preference=("rack", "row"))
    new, running = make_pod("new").label("app", "a").obj(), [make_pod("run").label("app", "a").on("a").obj()]
    made = make_bench(ServiceAffinity, nodes, new, running, args=args, objects=[SERVICE], current=OLD)
    assert made.scores(normalized=True) == {"a": 0, "b": 50}


RESOURCES = (ResourceSpec("cpu", 1), ResourceSpec("memory", 3), ResourceSpec("example.com/gpu", 2))
SHAPE = (UtilizationShapePoint(0, 0), UtilizationShapePoint(50, 8), UtilizationShapePoint(100, 10))


@pytest.mark.slow
@given(drawn=clusters(), strategy=st.sampled_from(("least", "most", "ratio")))
@settings(max_examples=examples(120), deadline=None)
def test_resource_scores_agree_with_the_plain_reading(drawn: Any, strategy: str) -> None:
    nodes, running, pod = drawn
    plugin, args = {
        "least": (NodeResourcesLeastAllocated, NodeResourcesLeastAllocatedArgs(resources=RESOURCES)),
        "most": (NodeResourcesMostAllocated, NodeResourcesMostAllocatedArgs(resources=RESOURCES)),
        "ratio": (RequestedToCapacityRatio, RequestedToCapacityRatioArgs(shape=SHAPE, resources=RESOURCES)),
    }[strategy]
    made = make_bench(plugin, nodes, pod, running, args=args, current=OLD)
    want = {}
    for node in nodes:
        pods = [pod, *(each for each in running if each.spec.node_name == node.metadata.name)]
        scores = []
        for resource in RESOURCES:
            capacity = amount(node.status.allocatable.get(resource.name, 0))
            used = sum(asked(each, resource.name) for each in pods)
            scores.append((plain_score(strategy, used, capacity), resource.weight))
        counted = [(score, weight) for score, weight in scores if strategy != "ratio" or score > 0]
        total, weights = sum(score * weight for score, weight in counted), sum(weight for _, weight in counted)
        if strategy == "ratio":
            want[node.metadata.name] = int(total / weights + 0.5) if weights else 0
        else:
            want[node.metadata.name] = total // weights
    assert made.scores() == want


def asked(pod: Pod, resource: str) -> int:
    requests = pod.spec.containers[0].resources.requests
    default = {"cpu": 100, "memory": 200 * 1024 * 1024}.get(resource, 0)
    return amount(requests[resource]) if resource in requests else default


def amount(quantity: str | int | float) -> int:
    text = str(quantity)
    if text.endswith("Mi"):
        return int(text[:-2]) * 1024 * 1024
    return int(text.removesuffix("m"))


def plain_score(strategy: str, used: int, capacity: int) -> int:
    if strategy == "least":
        return 0 if capacity == 0 or used > capacity else (capacity - used) * 100 // capacity
    if strategy == "most":
        return 0 if capacity == 0 else min(used, capacity) * 100 // capacity
    percent = 100 if capacity == 0 or used > capacity else 100 - (capacity - used) * 100 // capacity
    return percent * 80 // 50 if percent <= 50 else 80 + (percent - 50) * 20 // 50


def test_the_companions_of_a_trial_are_its_own() -> None:
    """Preemption takes pods off a node and puts nominated ones on it."""
    nodes = [make_node("a").label("rack", "r0").obj(), make_node("b").label("rack", "r1").obj()]
    running = [
        make_pod("one").label("app", "a").on("a").obj(),
        make_pod("two").label("app", "a").on("b").obj(),
        make_pod("other").label("app", "b").on("a").obj(),
        make_pod("far", "far").label("app", "a").on("a").obj(),
    ]
    args = ServiceAffinityArgs(affinity_labels=("rack",))
    made = make_bench(
        ServiceAffinity,
        nodes,
        make_pod("new").label("app", "a").obj(),
        running,
        args=args,
        objects=[SERVICE],
        current=OLD,
    )
    plugin, pod, state = made.plugin, made.pod, made.state()
    rows = {info.pod.metadata.name: row for row, info in enumerate(made.cluster.pods.infos)}
    assert state.pods == [rows["one"], rows["two"]]
    trial = plugin.clone_state(state)
    for name in ("one", "one", "other", "far"):
        plugin.remove_pod(trial, pod, rows[name], 0)
    assert (trial.pods, state.pods) == ([rows["two"]], [rows["one"], rows["two"]])
    assert plugin.filter(trial, pod, made.nodes()).passed.tolist() == [False, True]
    assert plugin.filter(state, pod, made.nodes()).passed.tolist() == [True, False]
    for name in ("other", "far", "one"):
        plugin.add_pod(trial, pod, rows[name], 0)
    assert trial.pods == [rows["two"], rows["one"]]
    assert trial.has_service


def test_a_node_avoids_the_second_of_two_controllers() -> None:
    node = make_node("n").obj()
    node.metadata.annotations[AVOID_PODS_ANNOTATION] = avoiding(("ReplicaSet", "2"), ("ReplicaSet", "1"))
    for uid, score in (("1", 0), ("3", 100)):
        made = make_bench(NodePreferAvoidPods, [node], owned(("ReplicaSet", uid), True), current=OLD)
        assert made.scores() == {"n": score}


@pytest.mark.parametrize(
    ("strategy", "scores"),
    [
        # cpu and memory as weighted 1 and 3; a has a quarter and a half in use with the pod, b would be too small.
        pytest.param("least", {"a": (75 + 3 * 50) // 4, "b": 0, "c": (0 + 3 * 87) // 4}, id="least"),
        pytest.param("most", {"a": (25 + 3 * 50) // 4, "b": 100, "c": (100 + 3 * 12) // 4}, id="most"),
        pytest.param("ratio", {"a": (40 + 3 * 80) // 4, "b": 100, "c": (100 + 3 * 20) // 4}, id="ratio"),
    ],
)
def test_resource_scores_of_1_21(strategy: str, scores: dict[str, int]) -> None:
    nodes = [
        make_node("a").allocatable(cpu="4", memory="1000Mi", pods="9").obj(),
        make_node("b").allocatable(cpu="500m", memory="200Mi", pods="9").obj(),
        make_node("c").allocatable(cpu="1", memory="2000Mi", pods="9").obj(),
    ]
    running = [make_pod("run").requests(cpu="0", memory="250Mi").on("a").obj()]
    # A resource without a weight weighs 1.
    resources = (ResourceSpec("cpu", 0), ResourceSpec("memory", 3))
    plugin, args = {
        "least": (NodeResourcesLeastAllocated, NodeResourcesLeastAllocatedArgs(resources=resources)),
        "most": (NodeResourcesMostAllocated, NodeResourcesMostAllocatedArgs(resources=resources)),
        "ratio": (RequestedToCapacityRatio, RequestedToCapacityRatioArgs(shape=SHAPE, resources=resources)),
    }[strategy]
    pod = make_pod("new").requests(cpu="1", memory="250Mi").obj()
    assert make_bench(plugin, nodes, pod, running, args=args, current=OLD).scores() == scores


def test_in_1_22_pods_without_requests_count_with_defaults() -> None:
    """100m of cpu and 200 MiB of memory, as in the strategies of NodeResourcesFit."""
    node = make_node("n").allocatable(cpu="1", memory="800Mi", pods="9").obj()
    args = NodeResourcesLeastAllocatedArgs(resources=(ResourceSpec("cpu", 1), ResourceSpec("memory", 3)))
    for running, score in (([], (90 + 3 * 75) // 4), ([make_pod("run").on("n").obj()], (80 + 3 * 50) // 4)):
        pod, current = make_pod().obj(), RELEASES["1.22"]
        made = make_bench(NodeResourcesLeastAllocated, [node], pod, running, args=args, current=current)
        assert made.scores() == {"n": score}


def test_up_to_1_19_a_resource_that_is_exceeded_scores_nothing() -> None:
    """All of the cpu is requested, and of memory more than there is."""
    node = make_node("n").allocatable(cpu="1", memory="200Mi", pods="9").obj()
    args = NodeResourcesMostAllocatedArgs(resources=(ResourceSpec("cpu", 1), ResourceSpec("memory", 3)))
    pod = make_pod().requests(cpu="1", memory="250Mi").obj()
    for minor, score in (("1.19", 100 // 4), ("1.20", 100)):
        made = make_bench(NodeResourcesMostAllocated, [node], pod, args=args, current=RELEASES[minor])
        assert made.scores() == {"n": score}
