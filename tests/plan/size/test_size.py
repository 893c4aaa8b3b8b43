"""The cheapest nodes to add, held against `simulate` with those nodes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.catalog import read_shapes_of
from ksched_cli.plan.size.classes import Surveyor
from ksched_cli.plan.size.problem import Room
from ksched_cli.plan.size.results import SearchSettings, Sizing
from ksched_cli.plan.size.trials import SizingTrials
from ksched_cli.report.registry import RenderOptions, document_of, view_of
from tests.builders import make_node, make_pod
from tests.lanes import examples
from tests.plan.size.cases import catalog, daemon_set, left_pending, load, node, pending, shape

SMALL = shape("small", "0.1")
LARGE = shape("large", "0.19", cpu="8", memory="32Gi")
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NEAR = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": ZONE}
SPREAD = {**NEAR, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
methods = pytest.mark.parametrize("greedy", [pytest.param(False, id="program"), pytest.param(True, id="greedy")])


def size(objects: list[Any], *shapes: dict[str, Any], time_limit: float = 5.0, **options: Any) -> Sizing:
    return load(objects).size(catalog(*shapes), time_limit=time_limit, **options)


def bought(found: Sizing) -> dict[str, int]:
    return {f"{each.shape} {each.zone}".strip(): each.count for each in found.nodes}


@methods
def test_nothing_is_bought_where_everything_fits(greedy: bool) -> None:
    found = size([node("n", cpu="4", memory="8Gi", pods=9), pending("p", cpu="1")], SMALL, greedy=greedy)
    assert (found.nodes, found.cost, found.lower_bound, found.gap) == ((), 0, 0, 0)
    assert [(each.pod, each.node, each.shape) for each in found.pods] == [("default/p", "n", "")]


@methods
def test_the_room_of_the_cluster_is_used_first(greedy: bool) -> None:
    objects = [node("n", cpu="2", memory="8Gi", pods=9), *(pending(f"p{at}", cpu="2") for at in range(3))]
    found = size(objects, SMALL, LARGE, greedy=greedy)
    assert bought(found) == {"small": 1}
    assert found.cost == Decimal("0.1")
    assert sorted(each.node for each in found.pods) == ["n", "small", "small"]


def test_the_cheapest_mix_is_proven() -> None:
    found = size([pending(f"p{at}", cpu="4", memory="1Gi") for at in range(3)], SMALL, LARGE)
    assert bought(found) == {"large": 1, "small": 1}
    assert (found.cost, found.lower_bound, found.gap, found.search.ended) == (
        Decimal("0.29"),
        Decimal("0.29"),
        0,
        "optimal",
    )


def test_daemon_sets_take_their_share() -> None:
    objects = [daemon_set("agent", "500m"), *(pending(f"p{at}", cpu="2") for at in range(2))]
    found = size(objects, SMALL)
    assert bought(found) == {"small": 2}
    assert left_pending(load(objects), found.nodes) == []


def test_a_shape_on_which_a_daemon_set_does_not_fit_is_not_bought() -> None:
    found = size([daemon_set("agent", "6"), pending("p", cpu="1")], SMALL, LARGE)
    assert bought(found) == {"large": 1}
    assert list(found.unusable_shapes) == ["small"]
    assert "agent" in found.unusable_shapes["small"]
    assert "Insufficient cpu" in found.unusable_shapes["small"]


@methods
def test_daemon_sets_get_their_place_on_nodes_of_the_cluster(greedy: bool) -> None:
    """With one node bought, the third pod takes the place of the agent on node n. With two it goes to a new node."""
    without_agent = [node("n", cpu="2", memory="16Gi", pods=9)]
    without_agent += [pending(f"p{at}", cpu="1900m", memory="1Gi") for at in range(3)]
    objects = [*without_agent, daemon_set("agent", "200m")]
    one_node = size(without_agent, SMALL, greedy=greedy)
    assert bought(one_node) == {"small": 1}
    (left,) = left_pending(load(objects), one_node.nodes)
    assert left.startswith("default/agent-")
    found = size(objects, SMALL, greedy=greedy)
    assert bought(found) == {"small": 2}
    assert found.fits
    assert left_pending(load(objects), found.nodes) == []


@methods
def test_a_pod_of_a_daemon_set_that_no_purchase_gives_a_place_is_reported(greedy: bool) -> None:
    """Only node n matches the node selector of the pod, which leaves no cpu to the agent."""
    objects = [node("n", cpu="2", memory="8Gi", pods=9), daemon_set("agent", "200m"), pending("p", cpu="3")]
    objects[0]["metadata"]["labels"] = {"disk": "ssd"}
    objects.append(make_pod("bound-to-n").requests(cpu="2").selector(disk="ssd").doc())
    found = size(objects, SMALL, greedy=greedy)
    assert bought(found) == {"small": 1}
    assert not found.fits
    (left,) = found.unplaced
    assert [left.pod] == left_pending(load(objects), found.nodes)
    assert left.pod.startswith("default/agent-")
    assert "1 Insufficient cpu" in left.message


def test_a_cheaper_set_is_found_where_a_pod_of_a_daemon_set_has_no_place() -> None:
    """The pod that is bound to node n leaves no cpu to the agent. The first purchase costs more than one node of each of
    two shapes."""
    objects = [node("n", cpu="2", memory="8Gi", pods=9), daemon_set("agent", "200m")]
    objects[0]["metadata"]["labels"] = {"disk": "ssd"}
    objects.append(make_pod("bound-to-n").requests(cpu="2").selector(disk="ssd").doc())
    wanted = [("2", "2Gi"), ("3", "2Gi"), ("1", "6Gi"), ("5", "2Gi")]
    objects += [pending(f"p{at}", cpu=cpu, memory=memory) for at, (cpu, memory) in enumerate(wanted)]
    shapes = [shape("a", 3, "4200m", "8Gi"), shape("b", 5, "8200m", "10Gi"), shape("c", 4, "6200m", "16Gi")]
    found = size(objects, *shapes, greedy=True)
    assert (bought(found), len(found.unplaced)) == ({"b": 1, "c": 1}, 1)


@methods
def test_a_pod_of_a_daemon_set_on_the_last_node_that_can_be_bought_is_reported(greedy: bool) -> None:
    """The two pods fill the only node."""
    objects = [daemon_set("agent", "500m"), *(pending(f"p{at}", cpu="2") for at in range(2))]
    found = size(objects, shape("only", 1, max=1), greedy=greedy)
    (left,) = found.unplaced
    assert (bought(found), left.pod.startswith("default/agent-")) == ({"only": 1}, True)


@methods
def test_a_node_that_takes_the_place_of_others_is_not_bought(greedy: bool) -> None:
    """Three pods are in zone a. With a node in zone b, which only the large pod tolerates, two of them would wait."""
    taint = {"key": "gpu", "effect": "NoSchedule"}
    web = {"topologySpreadConstraints": [{**SPREAD, "labelSelector": {"matchLabels": {"app": "web"}}}]}
    objects = [make_node("n").allocatable(cpu="4", memory="16Gi", pods=20).label(ZONE, "a").doc()]
    objects += [make_pod(f"w{at}").label(app="web").requests(cpu="500m").spec(**web).doc() for at in range(3)]
    objects.append(make_pod("large").requests(cpu="6").toleration("gpu", "Exists").doc())
    found = size(objects, shape("m", 1, cpu="8", zones=["b"], taints=[taint]), greedy=greedy)
    assert (bought(found), [each.pod for each in found.unplaced]) == ({}, ["default/large"])


def test_pods_of_daemon_sets_on_nodes_of_the_cluster_have_the_priority_of_their_class() -> None:
    """The agent comes first on node n, so that no pod finds a place there."""
    agent = daemon_set("agent", "200m")
    agent["spec"]["template"]["spec"]["priorityClassName"] = "system-node-critical"
    objects = [node("n", cpu="2", memory="16Gi", pods=9), agent]
    objects += [pending(f"p{at}", cpu="1900m", memory="1Gi") for at in range(2)]
    found = size(objects, SMALL)
    assert {each.pod: each.node for each in found.pods} == {"default/p0": "small", "default/p1": "small"}
    assert left_pending(load(objects), found.nodes) == []


@methods
def test_a_pod_that_fits_on_no_shape_is_named_with_the_reason_of_each(greedy: bool) -> None:
    objects = [pending("p", cpu="1"), pending("giant", cpu="9"), make_pod("ssd").selector(disk="ssd").doc()]
    tainted = shape("tainted", 1, cpu="64", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    found = size(objects, SMALL, tainted, greedy=greedy)
    assert bought(found) == {"small": 1}
    assert {each.pod: dict(each.reasons) for each in found.unplaced} == {
        "default/giant": {"small": "Insufficient cpu", "tainted": "node(s) had untolerated taint(s)"},
        "default/ssd": {
            "small": "node(s) didn't match Pod's node affinity/selector",
            "tainted": "node(s) had untolerated taint(s)",
        },
    }
    assert [dict(each.shapes_by_reason) for each in found.unplaced] == [
        {"Insufficient cpu": 1, "node(s) had untolerated taint(s)": 1},
        {"node(s) didn't match Pod's node affinity/selector": 1, "node(s) had untolerated taint(s)": 1},
    ]
    assert not found.fits


def test_the_two_reasons_of_a_daemon_set_are_one_reason_of_the_shape() -> None:
    agent = daemon_set("agent", "6")
    agent["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Ti"
    found = size([agent, pending("p", cpu="1")], SMALL)
    ((reason, shapes),) = found.unplaced[0].shapes_by_reason.items()
    assert (shapes, found.unusable_shapes) == (1, {"small": reason})
    assert reason.endswith("does not fit: Insufficient cpu, Insufficient memory")


def test_prices_that_tie() -> None:
    shapes = [shape(name, "0.1") for name in ("a", "b", "c")]
    found = size([pending(f"p{at}", cpu="4") for at in range(4)], *shapes)
    assert (found.cost, found.count, found.search.ended) == (Decimal("0.4"), 4, "optimal")


def test_the_dearest_nodes_and_pods_by_name_come_first() -> None:
    """Each pod fits on a shape of its own."""
    cpus = {"b": "2", "a": "8", "c": "4"}
    shapes = [shape(f"s{cpu}", price, cpu=cpu) for price, cpu in ((2, "4"), (9, "8"), (2, "2"))]
    found = size([pending(name, cpu=cpu) for name, cpu in cpus.items()], *shapes, time_limit=1.0)
    assert [(each.shape, each.count, each.names) for each in found.nodes] == [
        ("s8", 1, ("s8",)),
        ("s4", 2, ("s4-1", "s4-2")),
    ]
    assert [(each.pod, each.shape) for each in found.pods] == [
        ("default/a", "s8"),
        ("default/b", "s4"),
        ("default/c", "s4"),
    ]


def test_one_node_of_the_only_shape_is_proven() -> None:
    """Its price is the grain of the catalog."""
    found = size([pending("p", cpu="1")], shape("only", 3))
    assert (found.cost, found.lower_bound, found.search.ended) == (3, 3, "optimal")


@pytest.mark.parametrize(("alike", "ties"), [(1, 0), (2, 1)], ids=["one node", "two nodes alike"])
def test_pods_for_which_kube_scheduler_draws_are_counted(alike: int, ties: int) -> None:
    """The node with more memory has the better score for the first pod; the second fits on the other one only."""
    nodes = [node(f"n{at}", cpu="4", memory="8Gi", pods=9) for at in range(alike)]
    found = size(
        [*nodes, node("large", cpu="9", memory="3Gi", pods=9), pending("p", memory="2Gi"), pending("q", cpu="9")], SMALL
    )
    assert (found.count, found.search.pods_with_ties) == (0, ties)


def test_sums_of_prices_do_not_drift() -> None:
    found = size([pending(f"p{at}", cpu="4") for at in range(3)], shape("a", 0.1))
    assert found.cost == Decimal("0.3")


def test_free_nodes() -> None:
    found = size([pending("p", cpu="4")], shape("free", 0), SMALL)
    assert (bought(found), found.cost, found.gap) == ({"free": 1}, 0, 0)


def test_limits_of_shapes_hold_over_their_zones() -> None:
    cheap = shape("cheap", "0.01", max=2, zones=["a", "b"])
    found = size([pending(f"p{at}", cpu="4") for at in range(3)], cheap, SMALL)
    assert sum(each.count for each in found.nodes if each.shape == "cheap") == 2
    assert found.cost == Decimal("0.12")


def test_more_pods_than_the_limits_allow() -> None:
    found = size([pending(f"p{at}", cpu="4") for at in range(3)], shape("only", 1, max=2))
    assert bought(found) == {"only": 2}
    assert [each.pod for each in found.unplaced] == ["default/p2"]


def apart(name: str, key: str) -> Any:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": key}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return make_pod(name).label(app="db").spec(affinity=affinity).doc()


@methods
def test_pods_that_may_not_share_a_node(greedy: bool) -> None:
    found = size([apart(f"db-{at}", "kubernetes.io/hostname") for at in range(3)], SMALL, LARGE, greedy=greedy)
    assert bought(found) == {"small": 3}


@methods
def test_pods_that_may_not_share_a_zone(greedy: bool) -> None:
    found = size([apart(f"db-{at}", ZONE) for at in range(2)], shape("m", 1, zones=["a", "b"]), greedy=greedy)
    assert bought(found) == {"m a": 1, "m b": 1}


@pytest.mark.parametrize(
    ("pods", "nodes"), [(2, {"m a": 1, "m b": 1}), (4, {"m a": 2, "m b": 1, "m c": 1})], ids=["two", "four"]
)
@methods
def test_nodes_of_a_shape_take_its_zones_in_turn(pods: int, nodes: dict[str, int], greedy: bool) -> None:
    objects = [apart(f"db-{at}", "kubernetes.io/hostname") for at in range(pods)]
    assert bought(size(objects, shape("m", 1, zones=["a", "b", "c"]), greedy=greedy)) == nodes


@methods
def test_anti_affinity_that_no_purchase_satisfies(greedy: bool) -> None:
    found = size([apart(f"db-{at}", ZONE) for at in range(3)], shape("m", 1, zones=["a", "b"]), greedy=greedy)
    assert found.count == 2
    (left,) = found.unplaced
    assert "anti-affinity" in left.message


def test_pods_with_the_same_host_port() -> None:
    objects = [make_pod(f"p{at}").host_port(80).doc() for at in range(3)]
    objects += [make_pod(f"q{at}").requests(cpu="1").host_port(80).doc() for at in range(2)]
    # A pod with another port shares a node with one of them.
    objects.append(make_pod("r").requests(cpu="1").host_port(81).doc())
    assert bought(size(objects, SMALL, LARGE)) == {"small": 5}


def test_spread_over_zones() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    pods = [
        make_pod(f"w{at}").label(app="web").requests(cpu="2").spec(topologySpreadConstraints=[spread]).doc()
        for at in range(6)
    ]
    found = size(pods, shape("m", 1, zones=["a", "b", "c"]))
    assert bought(found) == {"m a": 1, "m b": 1, "m c": 1}


def test_nodes_go_to_the_zones_that_rules_between_pods_need() -> None:
    """Zone a has three of these pods: the other zones need two and three. Three nodes over all zones in turn do not
    do, but two nodes in one zone."""
    full = make_node("full").zone("a").allocatable(cpu="3", memory="16Gi", pods="9").doc()
    running = [make_pod(f"r{at}").label(app="db").requests(cpu="1").on("full").doc() for at in range(3)]
    pods = [
        make_pod(f"p{at}").label(app="db").requests(cpu="1").spec(topologySpreadConstraints=[SPREAD]).doc()
        for at in range(5)
    ]
    found = size([full, *running, *pods], shape("two", 2, cpu="2", zones=["a", "b", "c"]))
    assert (found.cost, found.lower_bound) == (6, 6)
    assert bought(found) == {"two b": 2, "two c": 1}
    assert left_pending(load([full, *running, *pods]), found.nodes) == []


def test_small_prices_are_written_in_digits() -> None:
    found = load([pending("p", cpu="1")]).size(catalog(shape("tiny", "0.00000012"), unit="USD"))
    document = document_of(found, RenderOptions())
    assert (document["cost"], document["nodes"][0]["price"]) == ("0.00000012", "0.00000012")
    assert "0.00000012 USD" in view_of(found, RenderOptions()).first_line


def test_gated_and_foreign_pods_are_not_sized() -> None:
    objects = [make_pod("g").gate("wait").doc(), make_pod("f").scheduler("volcano").doc()]
    found = size(objects, SMALL)
    assert found.count == 0
    assert found.held_back == {
        "default/f": "waits for the scheduler volcano",
        "default/g": "SchedulingGates: waiting for scheduling gates: [wait]",
    }


def test_spot_shapes_can_be_left_out() -> None:
    spot = shape("spot", "0.01", spot=True)
    objects = [pending("p", cpu="1")]
    assert bought(size(objects, spot, SMALL)) == {"spot": 1}
    assert bought(size(objects, spot, SMALL, spot=False)) == {"small": 1}


@pytest.mark.slow
def test_a_catalog_of_2000_shapes() -> None:
    shapes = [
        shape(f"s{at}", f"{0.1 + at % 97 / 1000:.3f}", cpu=str(2 + at % 31), memory=f"{4 + at % 57}Gi")
        for at in range(2000)
    ]
    objects = [pending(f"p{at}", cpu="1", memory="3Gi") for at in range(40)]
    started = time.perf_counter()
    found = size(objects, *shapes, time_limit=5)
    assert time.perf_counter() - started < 30
    assert found.fits
    assert found.gap is not None
    assert found.gap <= 5
    assert left_pending(load(objects), found.nodes) == []


def hard(pods: int = 40) -> list[Any]:
    sizes = [("500m", "1Gi"), ("1", "4Gi"), ("2", "3Gi"), ("3", "10Gi")]
    return [pending(f"p{at:02}", cpu=sizes[at * 7 % 4][0], memory=sizes[at * 7 % 4][1]) for at in range(pods)]


@pytest.mark.slow
def test_a_time_limit_of_a_tenth_of_a_second_gives_the_best_set_so_far() -> None:
    shapes = [SMALL, LARGE, shape("c", "0.15", cpu="8", memory="16Gi"), shape("r", "0.23", cpu="7", memory="61Gi")]
    found = size(hard(), *shapes, time_limit=0.1)
    assert found.fits
    assert found.search.ended == "time"
    assert left_pending(load(hard()), found.nodes) == []


def test_without_the_solver_a_greedy_method_answers_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksched_cli.plan.size.run.solver_is_installed", lambda: False)
    found = size(hard(), SMALL, LARGE)
    assert (found.fits, found.search.ended, found.lower_bound, found.gap) == (True, "greedy", None, None)
    assert "highspy is not installed" in found.warnings[-1]


@pytest.mark.parametrize("listed", [30_000, 0], ids=["all sets are few", "exchanges at random"])
def test_the_parts_are_searched_without_a_solver_too(listed: int) -> None:
    """One node of each of two shapes is cheaper than the first purchases, which have nodes of one shape or more of
    them."""
    shapes = [shape("a", 3, "4", "8Gi"), shape("b", 5, "8", "10Gi"), shape("c", 4, "6", "16Gi")]
    wanted = [("2", "2Gi"), ("3", "2Gi"), ("1", "6Gi"), ("5", "2Gi")]
    objects = [pending(f"p{at}", cpu=cpu, memory=memory) for at, (cpu, memory) in enumerate(wanted)]
    found = size(objects, *shapes, greedy=True, settings=SearchSettings(listed_sets=listed))
    assert (found.fits, found.cost) == (True, 9)
    assert left_pending(load(objects), found.nodes) == []


HOST = "kubernetes.io/hostname"
APP = {"labelSelector": {"matchLabels": {"app": "db"}}}


def waiting(*sizes: tuple[str, int], away: Sequence[int] = (), by: str = "", **spec: Any) -> list[dict[str, Any]]:
    """A pod for each pair of cpu and GiB. Those with the numbers `away` keep away from the others by this key."""
    term = {"podAntiAffinity": {REQUIRED: [{**APP, "topologyKey": by}]}}
    made = [
        make_pod(f"p{at}").label(app="db").requests(cpu=cpu, memory=f"{each}Gi") for at, (cpu, each) in enumerate(sizes)
    ]
    return [each.spec(**spec, **({"affinity": term} if at in away else {})).doc() for at, each in enumerate(made)]


@pytest.mark.parametrize(
    ("objects", "shapes", "cost", "cheaper", "bound"),
    [
        pytest.param(
            waiting(("3", 2), ("1", 2), ("1500m", 6), ("500m", 1), ("1", 1), topologySpreadConstraints=[{**SPREAD, "topologyKey": HOST}]),
            [shape("x", 8, "2", "4Gi", max=3), shape("y", 9, "4", "8Gi")],
            27,
            None,
            None,
            id="spread over hosts",
        ),
        pytest.param(
            waiting(("2", 2), ("1", 3), ("1", 3), ("1500m", 6), away=[3], by=HOST),
            [shape("x", 1, "2", "8Gi", zones=["a", "b"], max=1), shape("y", 4, "2", "10Gi")],
            13,
            12,
            None,
            id="one of the cheap nodes",
        ),
        pytest.param(
            [
                node("n", cpu="2", memory="8Gi", pods=9),
                daemon_set("agent", "200m"),
                *waiting(("500m", 1), ("500m", 6), ("1500m", 2), ("3", 3), ("2", 1), ("2", 1), away=[0, 3], by=ZONE),
            ],
            [shape("x", 5, "4", "10Gi"), shape("y", 7, "6", "10Gi", zones=["a", "b"], max=3), shape("z", 7, "4", "4Gi")],
            15,
            10,
            None,
            id="nodes without a zone",
        ),
        pytest.param(
            [
                daemon_set("agent", "500m"),
                *waiting(("1", 2), ("1500m", 1), ("1500m", 3), ("3", 3), ("1500m", 2), away=[2, 4], by=ZONE),
            ],
            [shape("x", 6, "2", "8Gi", zones=["a", "b", "c"], max=1), shape("y", 3, "8", "4Gi", zones=["a", "b"])],
            15,
            12,
            None,
            id="three zones",
        ),
        pytest.param(
            [
                node("n", cpu="2", memory="8Gi", pods=9),
                *waiting(("500m", 6), ("1", 3), ("1", 6), ("500m", 3), ("500m", 1), ("1500m", 1)),
            ],
            [shape("x", 4, "8", "4Gi", max=3), shape("y", 6, "2", "16Gi", max=3)],
            14,
            12,
            10,
            id="the program and the room of a node",
        ),
        pytest.param(
            waiting(("3", 2), ("1", 2), ("2", 6), ("1", 2), ("1", 6), ("1", 2), away=[2, 5], by=HOST),
            [shape("x", 5, "6", "4Gi", max=1), shape("y", 5, "2", "16Gi"), shape("z", 1, "8", "16Gi")],
            6,
            5,
            None,
            id="a node for each pod",
        ),
        pytest.param(
            waiting(("2", 3), ("2", 1), ("1", 3), ("2", 1), ("1500m", 3), ("1", 3)),
            [shape("x", 9, "4", "16Gi", zones=["b"]), shape("y", 4, "4", "8Gi", zones=["a", "b"]), shape("z", 2, "4", "16Gi", max=2)],
            8,
            None,
            8,
            id="the program proves the cost",
        ),
    ],
)  # fmt: skip
def test_purchases_without_a_search_of_the_parts(
    objects: list[Any], shapes: list[Any], cost: int, cheaper: int | None, bound: int | None
) -> None:
    """No cheaper nodes take all pods: the scheduler rejects each set that costs less. `cheaper` is the cost of one of
    them, if the last set that was tried is one. Only the program has a bound."""
    settings = SearchSettings(listed_sets=0, vain_exchanges=0)
    found = size(objects, *shapes, greedy=bound is None, time_limit=60, settings=settings)
    assert (found.fits, found.cost, found.lower_bound) == (True, cost, bound)
    assert (found.cheaper.cost if found.cheaper else None) == cheaper


def rooms(*pods: dict[str, Any]) -> tuple[Room, ...]:
    """The free places of a cluster with one node of 4 cpu."""
    source = load([node("n", cpu="4", memory="8Gi", pods=9), *pods])._current()
    shapes = read_shapes_of(catalog(SMALL))
    assert shapes is not None
    return Surveyor(SizingTrials(source, Run(source).scheduler), shapes).survey().problem.rooms


def test_the_room_of_a_node_counts_no_more_pods_than_the_smallest_requests_allow() -> None:
    (room,) = rooms(pending("p", cpu="2"))
    assert (room.free[-1], room.most, room.count) == (2, (1,), 1)


@pytest.mark.parametrize(
    ("pods", "most"),
    [
        pytest.param([pending("p", cpu="1"), pending("q", cpu="1")], 2, id="pods that share a node"),
        pytest.param([make_pod(name).host_port(80).doc() for name in "pq"], 1, id="one host port"),
        pytest.param([apart(name, "kubernetes.io/hostname") for name in "pq"], 1, id="anti-affinity"),
    ],
)
def test_pods_of_a_class_that_a_node_takes(pods: list[Any], most: int) -> None:
    (room,) = rooms(*pods)
    assert room.most == (most,)


@pytest.mark.slow
def test_the_next_cheaper_set_is_there_with_the_pod_that_fails() -> None:
    found = size(hard(), SMALL, LARGE, time_limit=3)
    assert found.cheaper is not None
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cheaper.cost < found.cost
    assert "Insufficient" in found.cheaper.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        pytest.param({"affinity": {"podAffinity": {REQUIRED: [NEAR]}}}, 9, id="near the pod of the dearer zone"),
        pytest.param({"affinity": {"podAntiAffinity": {REQUIRED: [NEAR]}}}, 1, id="away from it"),
        pytest.param({"topologySpreadConstraints": [SPREAD]}, 5, id="spread"),
        pytest.param({}, 3, id="no rule"),
    ],
)
def test_a_dearer_shape_of_another_zone_is_bought_where_a_rule_between_pods_needs_it(rule: Any, cost: int) -> None:
    """The running pod is in zone b, whose node is full. The pending pods need a node each."""
    old = make_node("old").allocatable(cpu="1", memory="1Gi", pods=9).label(ZONE, "b").doc()
    running = make_pod("db-0").label(app="db").requests(cpu="1").on("old").doc()
    waiting = [make_pod(f"p{at}").label(app="db").requests(cpu="4").spec(**rule).doc() for at in range(3)]
    found = size([old, running, *waiting], shape("m", 1, zones=["a"]), shape("n", 3, zones=["b"]))
    assert (found.cost, found.fits) == (cost, cost != 1)


def test_the_next_cheaper_set_is_the_dearest_that_the_scheduler_has_rejected() -> None:
    """Two pods that may not share a zone: nodes of one zone cost 1, 2 or 3, and each of these sets is tried."""
    found = size([apart(f"db-{at}", ZONE) for at in range(2)], shape("m", 1, zones=["a"]), shape("n", 3, zones=["b"]))
    assert bought(found) == {"m a": 1, "n b": 1}
    assert found.cheaper is not None
    assert (found.cost, found.cheaper.cost) == (4, 3)


def test_the_next_cheaper_set_is_one_that_the_search_has_rejected() -> None:
    """The first two pods are spread over the two nodes, so that none has room for the last."""
    objects = [pending(name, cpu=cpu, memory="1Gi") for name, cpu in (("a", "2"), ("b", "2"), ("c", "4"))]
    found = size(objects, shape("four", 2, cpu="4"), shape("eight", 5, cpu="8"))
    assert bought(found) == {"eight": 1}
    assert found.cheaper is not None
    assert (found.cheaper.nodes, found.cheaper.pod) == ({"four": 2}, "default/c")


requests = st.fixed_dictionaries(
    {"cpu": st.sampled_from(("500m", "1", "1500m", "3")), "memory": st.sampled_from(("1Gi", "3Gi", "9Gi"))}
)


@pytest.mark.slow
@given(st.lists(requests, min_size=1, max_size=12), st.integers(0, 2), st.booleans())
@settings(max_examples=examples(25))
def test_simulate_leaves_nothing_pending_with_the_nodes_bought(
    asked: list[dict[str, str]], nodes: int, daemons: bool
) -> None:
    objects = [pending(f"p{at:02}", **each) for at, each in enumerate(asked)]
    objects += [node(f"n{at}", cpu="2", memory="6Gi", pods=3) for at in range(nodes)]
    objects += [daemon_set("agent", "200m")] if daemons else []
    found = size(objects, SMALL, LARGE, shape("zoned", "0.12", memory="20Gi", zones=["a", "b"]), time_limit=0.5)
    assert found.fits
    assert left_pending(load(objects), found.nodes) == []
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cost
    run = load(objects)
    for each in found.nodes:
        run = run.add_node(dict(each.template), each.count)
    placements = run.simulate(detail=False).placements
    assert {each.pod: each.node for each in found.pods} == {
        pod: placements[pod] for pod in (each.pod for each in found.pods)
    }
