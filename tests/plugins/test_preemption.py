"""Which pods leave, and which node is chosen."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.pods import NOT_STARTED
from ksched_cli.framework.handle import Candidate
from ksched_cli.plugins.default_preemption.dry_run import Importance, Outcomes, PreemptionBudgets
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import decide, make_scheduler, placed
from tests.lanes import examples

NEW_YEAR, LATER, LATEST = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"


def pod(name: str, node: str, cpu: str, priority: int = 0, started: str | None = NEW_YEAR) -> Any:
    builder = make_pod(name).requests(cpu=cpu).priority(priority).on(node).label(app=name)
    return (builder.started(started) if started else builder).obj()


def budget(name: str, allowed: int, namespace: str = "default", **fields: Any) -> PodDisruptionBudget:
    """Of the pods labelled app=<name>, unless there is a selector among the fields."""
    selector = fields.pop("selector", {"matchLabels": {"app": name}})
    document = {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed, **fields},
    }
    return msgspec.convert(document, PodDisruptionBudget)


def preempt(running: list[Any], wanted: Any, objects: list[Any] | None = None, nodes: list[Any] | None = None) -> Any:
    """(node, victims, violations), or the message."""
    made = nodes or [make_node(name).obj() for name in sorted({each.spec.node_name for each in running})]
    scheduler = make_scheduler(made, [*running, wanted], objects=objects or [])
    (decision,) = decide(scheduler).values()
    if decision.preemption is None:
        return decision.message
    infos = scheduler.cluster.pods.infos
    done = decision.preemption
    return done.nominated_node, [infos[row].name for row in done.victims], done.pdb_violations


PREEMPTOR = make_pod("new").requests(cpu="2").priority(100)


# Who leaves a node


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        pytest.param([pod("a", "n", "3")], ["a"], id="the only pod"),
        pytest.param([pod("a", "n", "1"), pod("b", "n", "2")], ["b"], id="who can stay stays"),
        pytest.param([pod("a", "n", "2", 5), pod("b", "n", "2", 1)], ["b"], id="the least important leaves"),
        pytest.param(
            [pod("mid", "n", "3", 5), pod("low", "n", "1", 1)], ["mid"], id="a small pod of low priority stays"
        ),
        pytest.param(
            [pod("a", "n", "1", 3), pod("b", "n", "1", 2), pod("c", "n", "1", 1), pod("d", "n", "1", 200)],
            ["b", "c"],
            id="mixed priorities, the most important victim first",
        ),
        pytest.param([pod("old", "n", "2"), pod("young", "n", "2", 0, LATER)], ["young"], id="the younger leaves"),
        pytest.param([pod("young", "n", "2", 0, LATER), pod("old", "n", "2")], ["young"], id="in whichever order"),
        pytest.param([pod("a", "n", "2"), pod("b", "n", "2")], ["b"], id="of equals the later comer"),
        pytest.param([pod("a", "n", "2", 0, None), pod("b", "n", "2")], ["a"], id="not started is youngest"),
        pytest.param(
            [pod("a", "n", "2", 0, None), pod("b", "n", "2", 0, None)], ["a"], id="neither started: the first comer"
        ),
    ],
)
def test_victims(running: list[Any], expected: list[str]) -> None:
    assert preempt(running, PREEMPTOR.obj()) == ("n", expected, 0)


def test_a_pod_with_anti_affinity_leaves() -> None:
    rule = {"labelSelector": {"matchLabels": {"app": "guard"}}, "topologyKey": "kubernetes.io/hostname"}
    wish = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    guard = make_pod("guard").label(app="guard").on("n").started(NEW_YEAR).obj()
    bystander = pod("bystander", "n", "1")
    wanted = make_pod("new").priority(9).spec(affinity=wish).obj()
    assert preempt([guard, bystander], wanted) == ("n", ["guard"], 0)


def test_a_skewed_topology_is_put_right() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    nodes = [make_node("a").zone("a").obj(), make_node("b").zone("b").cordoned().obj()]
    running = [make_pod("web").label(app="web").on("a").started(NEW_YEAR).obj(), pod("other", "a", "1")]
    wanted = make_pod("new").label(app="web").priority(9).spec(topologySpreadConstraints=[constraint]).obj()
    assert preempt(running, wanted, nodes=nodes) == ("a", ["web"], 0)


def test_a_host_port_is_freed() -> None:
    running = [
        make_pod("holder").host_port(80).on("n").obj(),
        make_pod("other").host_port(81).on("n").obj(),
    ]
    assert preempt(running, make_pod("new").host_port(80).priority(1).obj()) == ("n", ["holder"], 0)


# Disruption budgets


@pytest.mark.parametrize(
    ("running", "objects", "expected"),
    [
        pytest.param([pod("a", "n", "2"), pod("b", "n", "2")], [budget("b", 0)], (["a"], 0), id="it protects"),
        pytest.param([pod("a", "n", "3")], [budget("a", 0)], (["a"], 1), id="it does not forbid"),
        pytest.param([pod("a", "n", "3")], [budget("a", 1)], (["a"], 0), id="it has room"),
        pytest.param(
            [pod("a", "n", "3", 1), pod("b", "n", "1", 0)],
            [budget("b", 0), budget("a", 0)],
            (["a"], 1),
            id="only those who leave count",
        ),
        pytest.param(
            [pod("a", "n", "2", 1), pod("b", "n", "2", 0, LATER)],
            [budget("b", 0)],
            (["a"], 0),
            id="a protected pod stays before a more important one",
        ),
        pytest.param(
            [pod("a", "n", "3", 5), pod("b", "n", "1", 4)],
            [budget("b", 0), budget("all", 0, selector={})],
            (["a"], 0),
            id="an empty selector covers nothing",
        ),
        pytest.param([pod("a", "n", "3")], [budget("all", 0, selector=None)], (["a"], 0), id="no selector neither"),
        pytest.param(
            [pod("a", "n", "3")],
            [budget("x", 0, selector={"matchExpressions": [{"key": "app", "operator": "Near"}]})],
            (["a"], 0),
            id="nor one that cannot be read",
        ),
        pytest.param([pod("a", "n", "3")], [budget("a", 0, "other")], (["a"], 0), id="of another namespace"),
        pytest.param(
            [pod("a", "n", "3")],
            [budget("a", 0, disruptedPods={"a": NEW_YEAR})],
            (["a"], 0),
            id="the eviction was processed already",
        ),
        pytest.param(
            [pod("a", "n", "3")],
            [budget("a", 0, disruptedPods={"b": NEW_YEAR})],
            (["a"], 1),
            id="that of another pod was",
        ),
    ],
)
def test_budgets(running: list[Any], objects: list[Any], expected: Any) -> None:
    assert preempt(running, PREEMPTOR.obj(), objects) == ("n", *expected)


def test_victims_of_one_budget_use_it_up_one_by_one() -> None:
    running = [make_pod(name).requests(cpu="1").label(app="web").on("n").started(NEW_YEAR).obj() for name in "abc"]
    wanted = make_pod("new").requests(cpu="4").priority(1).obj()
    assert preempt(running, wanted, [budget("web", 1)]) == ("n", ["b", "c", "a"], 2)


def test_every_budget_that_covers_a_pod_is_used() -> None:
    pods = [make_pod(name).label(app="web", tier=name).on("n").obj() for name in "ab"]
    shared, own = budget("web", 1), budget("b", 0, selector={"matchLabels": {"tier": "b"}})
    cluster = Cluster([make_node("n").obj()], pods, Catalog([shared, own]))
    budgets = PreemptionBudgets(cluster)
    rows, one_node = np.array([0, 1]), np.array([0, 0])
    assert budgets.violating(rows, one_node).tolist() == [False, True]
    assert budgets.violating(rows[::-1], one_node).tolist() == [True, True]
    assert budgets.violating(rows, np.array([0, 1])).tolist() == [False, True]


def test_budgets_are_read_again_when_one_changes() -> None:
    cluster = Cluster([make_node("n").obj()], [pod("a", "n", "1")], Catalog([budget("a", 0)]))
    budgets, first = PreemptionBudgets(cluster), np.array([0])
    assert budgets.violating(first, first).tolist() == [True]
    cluster.catalog.put(budget("a", 1))
    assert budgets.violating(first, first).tolist() == [False]


# Which node


@pytest.mark.parametrize(
    ("running", "objects", "expected"),
    [
        pytest.param(
            [pod("a", "m", "3"), pod("b", "n", "3", 9)], [budget("a", 0)], ("n", ["b"], 0), id="1 fewest violations"
        ),
        pytest.param([pod("a", "m", "3", 5), pod("b", "n", "3", 1)], [], ("n", ["b"], 0), id="2 lowest top priority"),
        pytest.param(
            [pod("a", "m", "2", 5), pod("b", "m", "2", 4), pod("c", "n", "2", 5), pod("d", "n", "2", 3)],
            [],
            ("n", ["c", "d"], 0),
            id="3 lowest sum of priorities",
        ),
        pytest.param(
            [pod("a", "m", "2", -5), pod("b", "m", "2", -5), pod("c", "n", "4", -5)],
            [],
            ("n", ["c"], 0),
            id="3 more victims never sum up to less",
        ),
        pytest.param([pod("a", "m", "4"), pod("b", "n", "4", 0, LATER)], [], ("n", ["b"], 0), id="5 latest start"),
        pytest.param(
            [
                pod("a", "m", "2", 5, LATEST),
                pod("b", "m", "2", 5, NEW_YEAR),
                pod("c", "n", "2", 5, LATER),
                pod("d", "n", "2", 5, LATER),
            ],
            [],
            ("n", ["c", "d"], 0),
            id="5 of the oldest victim",
        ),
        pytest.param(
            [
                pod("a", "m", "2", 5, LATER),
                pod("b", "m", "2", 1, LATEST),
                pod("c", "n", "2", 5, LATEST),
                pod("d", "n", "2", 1, NEW_YEAR),
            ],
            [],
            ("n", ["c", "d"], 0),
            id="5 of those with the top priority",
        ),
        pytest.param([pod("a", "m", "4"), pod("b", "n", "4")], [], ("m", ["a"], 0), id="6 lowest name"),
        pytest.param([pod("b", "n", "4"), pod("a", "m", "4")], [], ("m", ["a"], 0), id="6 whoever was there first"),
    ],
)
def test_the_choice_of_a_node(running: list[Any], objects: list[Any], expected: Any) -> None:
    assert preempt(running, make_pod("new").requests(cpu="4").priority(100).obj(), objects) == expected


def test_fewer_victims_decide_when_priorities_sum_up_alike() -> None:
    """4: pods cannot be made to tie like this but by hand."""
    outcomes = Outcomes(2)
    outcomes.count[:] = 2, 1
    outcomes.list_victims(np.array([0, 1]), np.array([7, 8, 9]), np.array([0, 2]))
    best = outcomes.best(np.array([0, 1]), np.array([0, 1]))
    assert (best.row, best.victims) == (1, (9,))


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(1, 2))), max_size=6), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_the_best_node_is_found_again_after_some_have_changed(
    rounds: list[list[tuple[int, int, int]]], data: Any
) -> None:
    """Each round clears some of five nodes once more, or finds that they cannot be cleared."""
    outcomes, name_rank = Outcomes(5), np.array([3, 1, 4, 0, 2])
    standings: dict[int, tuple[Any, ...]] = {}
    for number, cleared in enumerate(rounds):
        for row, violations, victims in cleared:
            outcomes.forget([row])
            standings.pop(row, None)
            if data.draw(st.booleans()):
                priorities, started = np.full(victims, 7), np.array([number % 2] * victims, dtype=np.float64)
                candidate = Candidate(row, tuple(range(victims)), violations)
                outcomes.put(candidate, priorities, started)
                standings[row] = (violations, victims, -(number % 2), name_rank[row])
        if standings:
            best = outcomes.best(np.array(sorted(standings)), name_rank)
            assert best.row == min(standings, key=standings.__getitem__)
            ranked = outcomes.ranked(np.array(sorted(standings)), name_rank)
            assert ranked == sorted(standings, key=standings.__getitem__)


# The order of importance


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from((NEW_YEAR, LATER, None))), max_size=40))
@settings(max_examples=examples(60), deadline=None)
def test_many_nodes_are_sorted_as_each_alone(drawn: list[tuple[int, int, str | None]]) -> None:
    owners = sorted(owner for owner, _, _ in drawn)
    running = [
        pod(f"p{index}", f"n{owners[index]}", "1", priority, started)
        for index, (_, priority, started) in enumerate(drawn)
    ]
    cluster = Cluster([make_node(f"n{index}").obj() for index in range(3)], running)
    importance, rows, owner = Importance(cluster), np.arange(len(running)), np.array(owners, dtype=np.int64)
    alone: list[int] = []
    for each in range(3):
        members = rows[owner == each]
        alone += members[importance.sort(members)].tolist()
    assert rows[importance.order(rows, owner)].tolist() == alone


def test_pods_that_came_later_are_known_too() -> None:
    cluster = Cluster([make_node("n").obj()], [pod("a", "n", "1", 0, LATER)])
    importance = Importance(cluster)
    assert importance.order(np.array([0]), np.array([0])).tolist() == [0]
    cluster.add_pod(pod("b", "n", "1"))
    assert importance.order(np.array([0, 1]), np.array([0, 0])).tolist() == [1, 0]


def test_the_start_of_a_pod_counts_from_then_on() -> None:
    names = ("a", "b")
    cluster = Cluster([make_node("n").obj()], [pod(name, "n", "1", started=None) for name in names])
    rows, owner = np.array([0, 1]), np.array([0, 0])
    order = Importance(cluster).order
    assert order(rows, owner).tolist() == [1, 0], "of pods that have not started the last is the most important"
    mark = cluster.undo.mark()
    cluster.bind(0, pod("a", "n", "1", started=LATER))
    assert order(rows, owner).tolist() == [0, 1], "only a has started"
    cluster.update_pod(1, pod("b", "n", "1", started=NEW_YEAR))
    assert order(rows, owner).tolist() == [1, 0], "b has started earlier"
    cluster.undo.roll_back(mark)
    assert cluster.pods.started(rows).tolist() == [NOT_STARTED, NOT_STARTED]
    # The row of a pod that a roll back takes away is given to the next pod.
    with cluster.undo.trial():
        cluster.add_pod(pod("c", "n", "1", started=NEW_YEAR))
        assert order(np.array([1, 2]), owner).tolist() == [1, 0]
    cluster.add_pod(pod("d", "n", "1", started=None))
    assert cluster.pods.started(np.array([2])).tolist() == [NOT_STARTED]


# What was found out is kept


def test_pods_of_a_kind_take_node_after_node() -> None:
    names = ["n0", "n1", "n2"]
    running = [pod(f"run-{name}", name, "4") for name in names]
    pending = [make_pod(f"new-{index}").requests(cpu="3").priority(5).obj() for index in range(4)]
    scheduler = make_scheduler([make_node(name).obj() for name in names], [*running, *pending])
    decisions = list(decide(scheduler).values())
    assert [each.preemption and each.preemption.nominated_node for each in decisions] == [*names, None]
    assert decisions[3].message.endswith("0/3 nodes are available: 3 Insufficient cpu.")


def test_a_change_to_a_node_is_noticed() -> None:
    running = [pod("a", "m", "4", 1), pod("b", "n", "4", 2)]
    pending = [make_pod(f"new-{index}").requests(cpu="3").priority(5).gate("held").obj() for index in range(2)]
    scheduler = make_scheduler([make_node(name).obj() for name in ("m", "n")], [*running, *pending])
    first, second = (scheduler.cluster.pods.row_of[f"default/new-{index}"] for index in range(2))
    assert scheduler.schedule(first).nominated_node == "m"
    scheduler.nominator.delete(first)
    scheduler.cluster.add_pod(pod("guard", "m", "2", 9))
    assert scheduler.schedule(second).nominated_node == "n"


def test_the_start_of_a_pod_on_a_node_is_noticed() -> None:
    """Of equal victims the one that runs for the shortest time leaves."""
    running = [pod(name, name, "4", started=None) for name in ("m", "n")]
    pending = [make_pod(f"new-{index}").requests(cpu="3").priority(5).gate("held").obj() for index in range(2)]
    scheduler = make_scheduler([make_node(name).obj() for name in ("m", "n")], [*running, *pending])
    cluster = scheduler.cluster
    started, first, second = (cluster.pods.row_of[f"default/{name}"] for name in ("m", "new-0", "new-1"))
    assert scheduler.schedule(first).nominated_node == "m"
    scheduler.nominator.delete(first)
    cluster.bind(started, pod("m", "m", "4", started=NEW_YEAR))
    assert scheduler.schedule(second).nominated_node == "n"


@pytest.mark.parametrize(
    ("victims", "end"),
    [
        pytest.param(1, " preemption: found a potential placement for pod on node n, preempting 1 victims", id="one"),
        pytest.param(2, " preemption: found a potential placement for pod on node n, preempting 2 victims", id="two"),
    ],
)
def test_the_message_of_a_pod_that_preempts_by_minor(victims: int, end: str) -> None:
    """#140180: the text of a FailedScheduling event of 1.37."""
    node = make_node("n").allocatable(cpu="2", pods="10").obj()
    running = [make_pod(f"p{at}").requests(cpu=2 // victims).on("n").obj() for at in range(victims)]
    found = {}
    for minor in ("1.36", "1.37"):
        scheduler = make_scheduler([node], [*running, PREEMPTOR.obj()], current=RELEASES[minor])
        (decision,) = decide(scheduler).values()
        found[minor] = decision.message
    before = "0/1 nodes are available: 1 Insufficient cpu."
    assert found == {"1.36": before, "1.37": before + end}


@pytest.mark.parametrize(
    ("gated", "before", "now"),
    [
        pytest.param(False, "", "", id="a nominated pod"),
        pytest.param(True, "n", "", id="a nominated pod that is gated"),
    ],
)
def test_the_room_of_a_gated_pod_by_minor(gated: bool, before: str, now: str) -> None:
    """#139057: where a weaker pod goes, in one cycle per pod."""
    node = make_node("n").allocatable(cpu="2", pods="10").obj()
    strong = make_pod("strong").requests(cpu="2").priority(100).nominated("n")
    strong = strong.gate("later") if gated else strong.scheduler("default-scheduler")
    found = {}
    for minor in ("1.36", "1.37"):
        weak = make_pod("weak").requests(cpu="2").obj()
        scheduler = make_scheduler([node], [strong.obj(), weak], current=RELEASES[minor])
        found[minor] = placed(scheduler)["default/weak"]
    assert found == {"1.36": before, "1.37": now}


@pytest.mark.parametrize(
    ("minor", "violating"),
    [
        # One eviction is allowed by "a", two by "b": both cover all pods.
        pytest.param("1.36", [False, True, True], id="1.36: each budget counts each victim"),
        pytest.param("1.18", [False, True, True], id="1.18: up to the first that is used up"),
        pytest.param("1.17", [False, False, False], id="1.17: a budget that allows one allows all"),
    ],
)
def test_what_budgets_count(minor: str, violating: list[bool]) -> None:
    victims = [pod(name, "n", "1") for name in "xyz"]
    budgets = [budget("a", 1, selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})]
    budgets += [budget("b", 2, selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})]
    release = RELEASES[minor]
    cluster = Cluster([make_node("n").obj(), make_node("m").obj()], victims, Catalog(budgets), release=release)
    found = PreemptionBudgets(cluster)
    rows = np.arange(3)
    assert found.violating(rows, np.zeros(3, dtype=np.int64)).tolist() == violating
    # Victims of another node are counted anew.
    assert found.violating(rows, np.array([0, 0, 1])).tolist() == [*violating[:2], False]
    assert not PreemptionBudgets(cluster, heeded=False).violating(rows, np.zeros(3, dtype=np.int64)).any()
    assert PreemptionBudgets(Cluster([make_node("n").obj()], victims)).violating(rows, rows).tolist() == [False] * 3


@pytest.mark.parametrize(
    ("first", "second", "violating"),
    [
        # In the order of their names: of a pod that the first refuses, the second is not used up.
        pytest.param(0, 1, [True, True, True], id="the first allows none"),
        pytest.param(1, 1, [False, True, True], id="both allow one"),
        pytest.param(2, 1, [False, True, True], id="the second allows one"),
        pytest.param(3, 3, [False, False, False], id="both allow all"),
    ],
)
@pytest.mark.parametrize("minor", ["1.18", "1.36"])
def test_two_budgets_over_one_pod(minor: str, first: int, second: int, violating: list[bool]) -> None:
    victims = [pod(name, "n", "1") for name in "xyz"]
    everything = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    budgets = [budget("a", first, selector=everything), budget("b", second, selector=everything)]
    release = RELEASES[minor]
    cluster = Cluster([make_node("n").obj()], victims, Catalog(budgets), release=release)
    assert PreemptionBudgets(cluster).violating(np.arange(3), np.zeros(3, dtype=np.int64)).tolist() == violating


@pytest.mark.parametrize(
    ("minor", "violating"),
    [
        pytest.param("1.36", [True, True], id="1.36: a refused victim uses up the other budget too"),
        pytest.param("1.18", [True, False], id="1.18: it does not"),
    ],
)
def test_a_victim_that_the_first_of_its_budgets_refuses(minor: str, violating: list[bool]) -> None:
    victims = [pod(name, "n", "1") for name in "xy"]
    everything = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    budgets = [budget("a", 0, selector={"matchLabels": {"app": "x"}}), budget("b", 1, selector=everything)]
    cluster = Cluster([make_node("n").obj()], victims, Catalog(budgets), release=RELEASES[minor])
    assert PreemptionBudgets(cluster).violating(np.arange(2), np.zeros(2, dtype=np.int64)).tolist() == violating
