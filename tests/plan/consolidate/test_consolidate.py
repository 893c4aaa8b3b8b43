"""Nodes that can go, and each step replayed with the drain use case."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.errors import InputError, UsageError
from ksched_cli.plan.consolidate import results
from ksched_cli.plan.consolidate.candidates import _cover, _cover_one
from ksched_cli.plan.consolidate.consolidate import ConsolidationWorld, Deadline, Removal
from ksched_cli.plan.consolidate.results import (
    Conditions,
    Consolidation,
    ConsolidationStep,
    read_failures,
    read_headroom,
)
from ksched_cli.plan.drain.drain import DrainRun
from ksched_cli.plan.drain.pods import run_until_rest
from ksched_cli.plan.drain.results import Flags
from ksched_cli.simulator import Simulator
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.whatif.edits.lib.editor import Editor
from ksched_cli.whatif.edits.node_fields import Cordon, Uncordon
from ksched_cli.whatif.edits.nodes import AddNode, RemoveNode
from tests.builders import make_node, make_pod, make_workload
from tests.harness import make_scheduler
from tests.lanes import examples
from tests.plan.size.cases import catalog, load, pending, shape

ZONE = "topology.kubernetes.io/zone"
TYPE = "node.kubernetes.io/instance-type"
# Seconds that no search of these tests takes. A search that runs out of time keeps cordons in vain, so that with a
# short limit the steps would depend on the load of the machine.
NO_LIMIT = 3600.0


def node(name: str, cpu: str = "4", kind: str = "small", **labels: str) -> dict[str, Any]:
    return make_node(name).allocatable(cpu=cpu, memory="16Gi", pods=20).label(TYPE, kind).label(**labels).doc()


def workload(name: str, on: Sequence[str], cpu: str = "1", **spec: Any) -> list[dict[str, Any]]:
    """A ReplicaSet with one pod on each of these nodes, which may repeat."""
    metadata = {"namespace": "default", "uid": f"uid-{name}"}
    made = [make_workload("ReplicaSet", name, requests={"cpu": cpu}, pod=spec, metadata=metadata, replicas=len(on))]
    for number, where in enumerate(on):
        builder = make_pod(f"{name}-{number}").label(app=name).requests(cpu=cpu).on(where).phase("Running").spec(**spec)
        builder.owner("ReplicaSet", name, apiVersion="apps/v1", uid=f"uid-{name}")
        made.append(builder.status(conditions=[{"type": "Ready", "status": "True"}]).doc())
    return made


def budget(name: str, least: int) -> dict[str, Any]:
    spec = {"minAvailable": least, "selector": {"matchLabels": {"app": name}}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def consolidate(objects: Sequence[Any], catalog: Any = None, **options: Any) -> Consolidation:
    return load(objects).consolidate(catalog, **{"time_limit": NO_LIMIT, **options})


def removed(found: Consolidation) -> list[str]:
    return [step.node for step in found.steps]


def why(found: Consolidation) -> dict[str, str]:
    return {each.node: each.why for each in found.kept}


FOUR = [node(f"n{at}") for at in range(4)]


def test_the_emptiest_nodes_go_and_every_pod_moves_once() -> None:
    objects = [*FOUR, *workload("web", ["n0", "n1", "n2", "n2", "n3", "n3", "n3"])]
    found = consolidate(objects)
    assert removed(found) == ["n0", "n1"]
    assert (found.cost_before, found.cost_after, found.lower_bound, found.gap, found.search.ended) == (
        4,
        2,
        2,
        0,
        "optimal",
    )
    assert found.cordon == ("n0", "n1")
    assert [[move.pod for move in step.moves] for step in found.steps] == [["default/web-0"], ["default/web-1"]]
    assert {move.to for step in found.steps for move in step.moves} <= {"n2", "n3"}
    assert found.steps[0].commands == ("kubectl drain n0 --ignore-daemonsets", "kubectl delete node n0")


def test_an_empty_node_goes() -> None:
    found = consolidate([*FOUR[:2], *workload("web", ["n1"])])
    assert (removed(found), found.steps[0].moves) == (["n0"], ())


def test_nodes_that_are_full_stay() -> None:
    found = consolidate([*FOUR[:2], *workload("web", ["n0"] * 4 + ["n1"] * 3)])
    assert removed(found) == []
    assert (found.search.ended, found.lower_bound, found.cordon, found.uncordon) == ("optimal", 2, (), ())


def test_budgets_are_kept() -> None:
    objects = [*FOUR, *workload("web", ["n0", "n1", "n2", "n3"]), budget("web", 4)]
    found = consolidate(objects)
    assert removed(found) == []
    assert "disruption budget web" in why(found)["n0"]


def test_pending_pods_get_their_nodes_first() -> None:
    objects = [*FOUR[:2], *workload("web", ["n0", "n1"]), *(pending(f"p{at}", cpu="1") for at in range(3))]
    assert removed(consolidate(objects)) == []


def test_what_happens_anyway_keeps_no_node() -> None:
    """The pending pods preempt with or without the removal of the empty, cordoned nodes, and one after the other: the
    first victims look for a node, and preempt others there."""
    cordoned = [node("n2"), node("n3")]
    for each in cordoned:
        each["spec"] = {**each.get("spec", {}), "unschedulable": True}
    urgent = pending("urgent", cpu="4")
    urgent["spec"] |= {"priority": 10, "nodeSelector": {"pool": "x"}}
    middle, low = workload("middle", ["n0"], "4", priority=5), workload("low", ["n1"], "4", priority=0)
    found = consolidate([node("n0", pool="x"), node("n1"), *cordoned, *middle, *low, urgent])
    assert removed(found) == ["n2", "n3"], why(found)


@pytest.mark.parametrize(
    ("annotations", "on_pod"),
    [
        pytest.param({"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, True, id="safe-to-evict"),
        pytest.param({"karpenter.sh/do-not-disrupt": "true"}, True, id="do-not-disrupt"),
        pytest.param({"karpenter.sh/do-not-disrupt": "true"}, False, id="do-not-disrupt on the node"),
        pytest.param({"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}, False, id="scale-down-disabled"),
    ],
)
def test_annotations_that_keep_a_node(annotations: dict[str, str], on_pod: bool) -> None:
    objects = [node("n0"), node("n1"), *workload("web", ["n0", "n1"])]
    annotated = objects[3] if on_pod else objects[0]
    annotated["metadata"]["annotations"] = annotations
    found = consolidate(objects)
    assert removed(found) == ["n1"]
    assert next(iter(annotations)) in why(found)["n0"]


def test_pods_that_kubectl_refuses_to_evict_keep_their_node() -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", **make_pod("bare").requests(cpu="1").on("n0").phase("Running").doc()}
    objects = [node("n0"), node("n1"), bare, *workload("web", ["n1"])]
    found = consolidate(objects)
    assert removed(found) == ["n1"]
    assert "declare no controller" in why(found)["n0"]


def test_only_nodes_with_the_labels_may_go() -> None:
    objects = [node("n0", pool="a"), node("n1", pool="b"), node("n2", pool="b"), *workload("web", ["n2"])]
    found = consolidate(objects, only="pool=b")
    assert removed(found) == ["n1", "n2"]
    assert why(found)["n0"] == "--only leaves it out"


def test_headroom_is_kept() -> None:
    objects = [*FOUR, *workload("web", ["n0", "n1", "n2", "n3"])]
    assert len(removed(consolidate(objects))) == 3
    assert len(removed(consolidate(objects, keep_headroom="cpu=10%"))) == 2
    assert len(removed(consolidate(objects, keep_headroom="cpu=60%"))) == 1


def test_one_node_may_fail() -> None:
    objects = [*FOUR, *workload("web", ["n0", "n1", "n2", "n3"])]
    found = consolidate(objects, survive="node=1")
    assert found.nodes_after == 2
    assert re.search(r"default/web-\w+ would have no place if node n\d failed", " ".join(why(found).values()))


ZONES = [node(f"n{at}", **{ZONE: "ab"[at % 2]}) for at in range(6)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("survive", "left"),
    [
        pytest.param("", 2, id="no failure"),
        pytest.param("node=1", 3, id="one node"),
        pytest.param("node=2", 4, id="two nodes"),
        pytest.param("zone=1", 4, id="a zone"),
    ],
)
def test_failures_are_survived(survive: str, left: int) -> None:
    """Six pods of a cpu need two nodes of four."""
    found = consolidate([*ZONES, *workload("web", [f"n{at}" for at in range(6)])], survive=survive)
    assert found.nodes_after == left
    if survive == "zone=1":
        assert {name for name in why(found) if name in {"n0", "n2", "n4"}}
        assert len({"n0", "n2", "n4"} - set(removed(found))) == len({"n1", "n3", "n5"} - set(removed(found))) == 2


def test_a_cluster_that_does_not_survive_the_failure_loses_no_node() -> None:
    found = consolidate([node("n0"), node("n1"), *workload("web", ["n0"] * 3 + ["n1"] * 2)], survive="node=1")
    assert (removed(found), found.cordon) == ([], ())
    assert found.unmet.endswith(" has no place if node n0 fails")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param({"keep_headroom": "cpu=40%"}, "holds with --keep-headroom cpu=40%", id="as much as there is"),
        pytest.param({"keep_headroom": "cpu=90%"}, "does not hold with --keep-headroom cpu=90%, although", id="more"),
        pytest.param({"survive": "node=1"}, "does not hold with --survive node=1, although every node", id="a failure"),
    ],
)
def test_conditions_that_the_cluster_does_not_meet(options: dict[str, str], said: str) -> None:
    found = consolidate([node("n0"), *workload("web", ["n0"])], **options)
    assert said in " ".join(repr(found).split())
    assert bool(found.unmet) == said.startswith("does not")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        pytest.param(
            {"survive": "zone=1"}, "no node of the input has the label topology.kubernetes.io/zone", id="no zones"
        ),
        pytest.param({"survive": "node=5"}, "5 cannot fail together: the input has 4 nodes", id="more than there are"),
        pytest.param({"only": "pool=x"}, "no node has these labels", id="labels of no node"),
    ],
)
def test_conditions_without_meaning_for_the_cluster(options: dict[str, str], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        consolidate(FOUR, **options)


def test_too_many_failures() -> None:
    many = [node(f"n{at}") for at in range(210)]
    with pytest.raises(UsageError, match="any 2 of 210 nodes are 21,945 failures, and at most 20,000 are tried"):
        consolidate(many, survive="node=2")


def test_cheaper_shapes_replace_nodes() -> None:
    offers = catalog(shape("small", "0.1"), shape("large", "0.4", cpu="16", memory="64Gi"), unit="USD/h")
    objects = [node("n0", "16", "large"), *workload("web", ["n0", "n0"])]
    found = consolidate(objects, offers)
    (step,) = found.steps
    assert (step.node, step.shape, step.saving) == ("n0", "small", Decimal("0.3"))
    assert (found.cost_after, found.lower_bound, found.search.ended) == (Decimal("0.1"), Decimal("0.1"), "optimal")
    assert (found.nodes_before, found.nodes_after) == (1, 1)


def daemons(on: Sequence[str], cpu: str) -> list[dict[str, Any]]:
    """A DaemonSet with its pod on each of these nodes."""
    metadata = {"namespace": "default", "uid": "uid-agent"}
    made = [make_workload("DaemonSet", "agent", requests={"cpu": cpu}, metadata=metadata)]
    for where in on:
        pod = make_pod(f"agent-{where}").label(app="agent").requests(cpu=cpu).on(where).phase("Running")
        made.append(pod.owner("DaemonSet", "agent", apiVersion="apps/v1", uid="uid-agent").doc())
    return made


def with_places(nodes: Sequence[dict[str, Any]], places: int) -> list[dict[str, Any]]:
    status = {"status": {"allocatable": {**nodes[0]["status"]["allocatable"], "pods": str(places)}}}
    return [{**each, **status} for each in nodes]


NAMES = [f"n{at}" for at in range(4)]
WEB = workload("web", NAMES)
PODS_OF_LARGE = workload("web", ["n0"] * 6, "100m")
PRICES = catalog(shape("small", 1), shape("large", 4, cpu="16", memory="64Gi"))
for each in PRICES["shapes"]:
    each["allocatable"]["pods"] = "2"


@pytest.mark.parametrize("solver", [True, False], ids=["solver", "no solver"])
@pytest.mark.parametrize(
    ("objects", "offers", "options", "bound"),
    [
        pytest.param([*FOUR, *WEB], None, {}, 1, id="a cpu on each node of four"),
        pytest.param([*FOUR, *WEB], None, {"keep_headroom": "cpu=60%"}, 3, id="headroom"),
        pytest.param(
            [*FOUR, *WEB], None, {"keep_headroom": "example.com/gpu=60%"}, 1, id="headroom of no resource of the nodes"
        ),
        pytest.param([*FOUR, *WEB, *daemons(NAMES, "2")], None, {}, 2, id="a DaemonSet takes half of each node"),
        pytest.param(
            [*with_places(FOUR, 3), *WEB, *daemons(NAMES, "10m")], None, {}, 2, id="a DaemonSet takes a place of three"
        ),
        pytest.param(
            [*with_places([node("n0", kind="large")], 6), *PODS_OF_LARGE],
            PRICES,
            {},
            3,
            id="two places on a cheaper node",
        ),
    ],
)
def test_the_lower_bound(
    objects: Sequence[Any],
    offers: Any,
    options: dict[str, Any],
    bound: int,
    solver: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if solver:
        pytest.importorskip("highspy")
    monkeypatch.setattr("ksched_cli.plan.consolidate.candidates.solver_is_installed", lambda: solver)
    assert consolidate(objects, offers, **options).lower_bound == bound


def test_each_replacement_is_one_new_node_of_the_cheapest_shape() -> None:
    """A new node has a name that no node has, and the pods of the old node."""
    offers = catalog(shape("small", "0.1"), shape("middle", "0.2"), shape("large", "0.4"))
    pods = workload("web", ["n0"] * 4 + ["n1"] * 4 + ["small-2"] * 4)
    found = consolidate([node("n0", kind="large"), node("n1", kind="large"), node("small-2"), *pods], offers)
    assert [(step.node, step.shape, step.new_node) for step in found.steps] == [
        ("n0", "small", "small-1"),
        ("n1", "small", "small-3"),
    ]
    assert [{move.to for move in step.moves} for step in found.steps] == [{"small-1"}, {"small-3"}]


def test_a_node_whose_pods_would_preempt_others_stays() -> None:
    """The third node takes no pod and stays, so that two nodes are more than the pods need."""
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
    third = make_node("n2").allocatable(cpu="4", memory="16Gi", pods=20).taint("closed")
    third.annotate(**{"karpenter.sh/do-not-disrupt": "true"})
    strong = workload("strong", ["n0"], "4", priorityClassName="high")
    found = consolidate([node("n0"), node("n1"), third.doc(), high, *strong, *workload("weak", ["n1"], "4")])
    assert removed(found) == []
    assert why(found)["n0"] == "default/weak-0 would be preempted"


# Price, free amount, and whether the node stays.
NODE = st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans())
OFFER = st.tuples(st.integers(1, 9), st.integers(1, 9))


@given(st.lists(NODE, max_size=4), st.integers(0, 30), st.lists(OFFER, min_size=1, max_size=3))
@settings(max_examples=examples(150), deadline=None)
def test_without_a_solver_one_resource_costs_what_the_linear_program_costs(
    nodes: list[tuple[int, int, bool]], demand: int, offers: list[tuple[int, int]]
) -> None:
    pytest.importorskip("highspy")
    free, prices = np.array([each[1] for each in nodes], dtype=float), [float(each[0]) for each in nodes]
    least = [float(each[2]) for each in nodes]
    alone = _cover_one(free, demand, prices, least, offers)
    several = [(float(price), [float(amount)]) for price, amount in offers]
    assert alone == pytest.approx(_cover(free[None, :], np.array([float(demand)]), prices, least, several))


@pytest.mark.parametrize(
    ("solver", "cost"),
    [pytest.param(True, 2, id="all resources at once"), pytest.param(False, 1, id="the scarcest resource alone")],
)
def test_only_a_solver_adds_up_what_different_resources_cost(
    solver: bool, cost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each node has one of the two resources."""
    if solver:
        pytest.importorskip("highspy")
    monkeypatch.setattr("ksched_cli.plan.consolidate.candidates.solver_is_installed", lambda: solver)
    found = _cover(np.array([[4.0, 0.0], [0.0, 4.0]]), np.array([4.0, 4.0]), [1.0, 1.0], [0.0, 0.0], [])
    assert found == pytest.approx(cost)


def test_nodes_without_a_price_stay() -> None:
    found = consolidate([node("n0", kind="odd"), node("n1"), *workload("web", ["n1"])], catalog(shape("small", 1)))
    assert removed(found) == ["n1"]
    assert why(found)["n0"] == "the catalog has no price for odd"


def test_the_price_of_a_node_is_that_of_its_pool() -> None:
    """A catalog may have a shape for each pool of a type; which one a node is, its labels say."""
    prices = {"pool-a": 1, "pool-b": 3}
    shapes = [
        {
            "name": f"small.{pool}",
            "price": price,
            "allocatable": {"cpu": "4", "memory": "16Gi"},
            "labels": {TYPE: "small", "pool": pool},
        }
        for pool, price in prices.items()
    ]
    catalog = {"apiVersion": "ksched/v1", "kind": "Catalog", "shapes": shapes}
    nodes = [node("a", pool="pool-a"), node("b", pool="pool-b"), node("other", kind="big")]
    found = consolidate([*nodes, *workload("web", ["other"])], catalog)
    assert {step.node: step.saving for step in found.steps} == {"a": 1, "b": 3}
    assert found.cost_before == 4
    assert why(found)["other"] == "the catalog has no price for big"


def test_a_time_limit_of_nothing_is_said() -> None:
    found = consolidate([*FOUR, *workload("web", ["n0", "n1"])], time_limit=0.0)
    assert (removed(found), found.search.ended) == ([], "time")


def test_no_node_that_stays_is_cordoned() -> None:
    """The bound lets hope for two nodes, and the budget of one of them forbids it."""
    objects = [
        *FOUR,
        *workload("web", ["n0"]),
        *workload("db", ["n1"]),
        budget("web", 1),
        *workload("big", ["n2"], "4"),
    ]
    found = consolidate(objects)
    assert "disruption budget web" in why(found)["n0"]
    assert found.cordon == tuple(removed(found))
    assert found.uncordon == ()
    replay(load(objects), found)


def test_a_node_that_stays_is_cordoned_where_that_saves_a_node() -> None:
    """With n0 cordoned at first, the small pods go to n2, and n0 has room for the other large one."""
    pods = workload("large", ["n0", "n3"], "2") + workload("web", ["n2"] * 3) + workload("small", ["n1", "n3"], "500m")
    found = consolidate([*FOUR, *pods])
    assert (found.cost_after, found.search.ended, found.cordon) == (2, "optimal", ("n1", "n0"))
    assert [(step.node, step.uncordon) for step in found.steps] == [("n1", ()), ("n3", ("n0",))]
    replay(load([*FOUR, *pods]), found)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial of a node takes a second, and nothing else takes time."""
    now = [0.0]
    step = ConsolidationWorld.step

    def slow_step(world: ConsolidationWorld, removal: Removal) -> ConsolidationStep | str:
        now[0] += 1
        return step(world, removal)

    monkeypatch.setattr(ConsolidationWorld, "step", slow_step)
    monkeypatch.setattr(Deadline, "seconds", property(lambda self: now[0]))


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("seconds", "cordon", "uncordon"),
    [pytest.param(5.0, "n1", (), id="time to search again"), pytest.param(4.0, "n0", ("n0",), id="no time for it")],
)
def test_no_node_that_stays_is_cordoned_if_there_is_time(
    seconds: float, cordon: str, uncordon: tuple[str, ...]
) -> None:
    """The first search takes two seconds. Without a second search, the first step of the result begins with the node
    that was cordoned in vain."""
    full = workload("big", ["n2", "n3"], "4")
    objects = [*FOUR, *workload("web", ["n0"]), *workload("db", ["n1"]), budget("web", 1), *full]
    found = consolidate(objects, time_limit=seconds)
    assert (removed(found), found.cordon, found.uncordon) == (["n1"], (cordon,), ())
    (only,) = found.steps
    assert only.uncordon == uncordon
    opened = [f"kubectl uncordon {name}" for name in uncordon]
    assert only.commands == (*opened, "kubectl drain n1 --ignore-daemonsets", "kubectl delete node n1")


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("seconds", "ended"),
    [
        pytest.param(15.0, "time", id="the first search has 12 seconds, the second one another"),
        pytest.param(19.0, "local", id="the first search has time for all"),
    ],
)
def test_the_end_of_a_search_is_that_of_the_first_one_too(seconds: float, ended: str) -> None:
    """Budgets keep all of 14 nodes but n01: no other node is tried again."""
    nodes = [node(f"n{at:02}") for at in range(14)]
    webs = [each for at in range(14) for each in workload(f"web-{at}", [f"n{at:02}"])]
    found = consolidate([*nodes, *webs, *(budget(f"web-{at}", 1) for at in range(14) if at != 1)], time_limit=seconds)
    assert (removed(found), found.uncordon, found.search.ended) == (["n01"], (), ended)


@pytest.mark.parametrize(("most", "gone"), [(1, []), (2, ["n2"])])
def test_the_rest_is_left_alone_after_some_nodes_that_stay(
    most: int, gone: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budgets of the first two nodes keep them. The bound lets hope for the first one only."""
    monkeypatch.setattr("ksched_cli.plan.consolidate.consolidate._FAILURES", most)
    kept = [*workload("web", ["n0"], "2"), budget("web", 1), *workload("db", ["n1"], "2050m"), budget("db", 1)]
    full = workload("big", ["n3", "n4"], "4")
    found = consolidate([*FOUR, node("n4"), *kept, *workload("small", ["n2"] * 3, "700m"), *full])
    assert (removed(found), found.lower_bound) == (gone, 4)


def test_a_simulator_is_as_it_was_after_a_consolidation() -> None:
    simulator = load([*FOUR, *workload("web", ["n0", "n1", "n2", "n2", "n3", "n3", "n3"])])
    assert simulator.consolidate().steps == simulator.consolidate().steps


def test_an_input_without_nodes() -> None:
    with pytest.raises(InputError, match="no Node"):
        consolidate([pending("p", cpu="1")])


@pytest.mark.parametrize(
    "options",
    [
        {"keep_headroom": "cpu"},
        {"keep_headroom": "cpu=ten%"},
        {"keep_headroom": "cpu=100%"},
        {"keep_headroom": "cpu=-1%"},
        {"keep_headroom": "cpu=nan%"},
        {"keep_headroom": "cpu=10"},
        {"keep_headroom": "=10%"},
        {"keep_headroom": "memory=5%,cpu"},
        {"survive": "rack=1"},
        {"survive": "node=0"},
        {"survive": "node=two"},
        {"survive": "node"},
    ],
)
def test_conditions_that_are_none(options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        consolidate(FOUR, **options)


@pytest.mark.parametrize(
    ("headroom", "is_left"),
    [
        pytest.param("", True, id="none"),
        pytest.param("cpu=10%", True, id="as much as is free"),
        pytest.param("cpu=10.05%", False, id="more than is free"),
        pytest.param("memory=0%,cpu=11%", False, id="another resource first"),
        pytest.param("example.com/gpu=50%,cpu=11%", False, id="a resource that no node has first"),
        pytest.param("example.com/gpu=50%,cpu=1%", True, id="a resource that no node has"),
    ],
)
def test_headroom_of_nodes_that_take_pods(headroom: str, is_left: bool) -> None:
    """One of ten cpus is free. The cordoned node does not count."""
    nodes = [make_node("n").allocatable(cpu="10", memory="1Gi"), make_node("c").allocatable(cpu="90").cordoned()]
    pods = [make_pod("p").requests(cpu="9", memory="1Gi").on("n"), make_pod("q").requests(cpu="1").on("c")]
    cluster = make_scheduler([each.obj() for each in nodes], [each.obj() for each in pods]).cluster
    assert Conditions(read_headroom(headroom)).leaves_headroom(cluster) is is_left


def test_failures_by_their_names() -> None:
    nodes = [make_node(f"n{at}").zone("ab"[at // 2]).obj() for at in range(3)]
    assert read_failures("") is None
    two, zones, many = read_failures("node=2"), read_failures("zone=1"), read_failures("zone=3")
    assert two
    assert zones
    assert many
    assert [(each.title, each.nodes) for each in two.of(nodes)] == [
        (f"nodes {one} and {other}", (one, other)) for one, other in (("n0", "n1"), ("n0", "n2"), ("n1", "n2"))
    ]
    assert [(each.title, each.nodes) for each in zones.of(nodes)] == [("zone a", ("n0", "n1")), ("zone b", ("n2",))]
    assert [(each.title, each.nodes) for each in many.of(nodes)] == [("zones a and b", ("n0", "n1", "n2"))]


def test_as_many_failures_as_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [make_node(f"n{at}").obj() for at in range(4)]
    monkeypatch.setattr(results, "MOST_FAILURES", 6)
    two, three = read_failures("node=2"), read_failures("node=1")
    assert two
    assert three
    two.check(nodes)
    three.check(nodes)
    with pytest.raises(UsageError, match="any 2 of 5 nodes are 10 failures, and at most 6 are tried"):
        two.check([*nodes, make_node("n4").obj()])
    with pytest.raises(UsageError, match="2 cannot fail together: the input has 1 node"):
        two.check(nodes[:1])


def _apply(edit: Edit, plane: ControlPlane) -> None:
    edit.apply(Editor(plane))


def replay(simulator: Simulator, found: Consolidation) -> None:
    """Run each step with the drain use case; it must be safe, and no budget may be broken."""
    world = DrainRun(simulator.prepared().source, Flags(ignore_daemonsets=True))
    world.place_pending()

    def without_node() -> set[str]:
        return {pod.info.key for pod in world.world.loop.queue if not pod.gated}

    waiting = without_node()

    def edit(*edits: Edit) -> None:
        for each in edits:
            world.world.apply(partial(_apply, each))
        run_until_rest(world.world)

    edit(*(Cordon(each) for each in found.cordon))
    for step in found.steps:
        edit(*(Uncordon(each) for each in step.uncordon))
        if step.new_node:
            edit(
                AddNode(make_node(step.new_node).label(TYPE, "tiny").allocatable(cpu="2", memory="8Gi", pods=20).obj())
            )
        result = world.drain([step.node])
        assert result.outcome == "safe"
        assert {pod.to for drained in result.nodes for pod in drained.of("moves")} <= {move.to for move in step.moves}
        for each in result.budgets:
            assert each.current_healthy.lowest >= min(each.desired_healthy, each.current_healthy.before)
        edit(RemoveNode(step.node))
    assert set(without_node()) <= waiting


def _in_zone(name: str, cpu: str, zone: str) -> dict[str, Any]:
    return node(name, cpu, zone=zone, **{ZONE: zone})


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = [f"n{at}" for at in range(draw(st.integers(2, 6)))]
    objects = [_in_zone(name, draw(st.sampled_from(("4", "8"))), draw(st.sampled_from("ab"))) for name in names]
    for number in range(draw(st.integers(1, 3))):
        on = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
        spec: dict[str, Any] = {}
        if draw(st.booleans()):
            spec["nodeSelector"] = {"zone": draw(st.sampled_from("ab"))}
        if draw(st.booleans()):
            term = {"labelSelector": {"matchLabels": {"app": f"w{number}"}}, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        objects += workload(f"w{number}", on, draw(st.sampled_from(("500m", "1", "2"))), **spec)
        if draw(st.booleans()):
            objects.append(budget(f"w{number}", draw(st.integers(0, len(on)))))
    objects += [pending(f"p{at}", cpu="1") for at in range(draw(st.integers(0, 2)))]
    return objects


@pytest.mark.slow
@given(clusters(), st.booleans(), st.sampled_from(("", "node=1", "node=2", "zone=1")))
@settings(max_examples=examples(60), deadline=None)
def test_every_step_can_be_drained_in_its_order(objects: list[dict[str, Any]], priced: bool, survive: str) -> None:
    offers = catalog(shape("small", 1), shape("tiny", "0.3", cpu="2", memory="8Gi")) if priced else None
    found = consolidate(objects, offers, survive=survive)
    assert found.search.ended != "time"
    assert found.lower_bound <= found.cost_after <= found.cost_before
    opened = [*found.uncordon, *(node for step in found.steps for node in step.uncordon)]
    assert sorted(found.cordon) == sorted({*opened, *(step.node for step in found.steps if step.node in found.cordon)})
    replay(load(objects), found)
