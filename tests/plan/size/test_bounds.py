"""Bounds, patterns and forecasts of a purchase, each by itself."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.bounds import components
from ksched_cli.plan.size.catalog import read_shapes_of
from ksched_cli.plan.size.classes import Surveyor
from ksched_cli.plan.size.problem import PackingProblem, how_many_fit, undominated
from ksched_cli.plan.size.program import PatternPricing, PurchaseProgram, maximal_patterns
from ksched_cli.plan.size.results import SearchSettings
from ksched_cli.plan.size.search import PartSearch, PurchaseSearch
from ksched_cli.plan.size.solver import LinearModel, Solved
from ksched_cli.plan.size.trials import SizingTrials
from tests.builders import make_pod
from tests.plan.size.cases import catalog, load, packing, pending, shape

pytest.importorskip("highspy")

# Pods of 8 cpu fit on the larger shape only.
SHAPES = catalog(shape("small", 10, "2", "8Gi"), shape("large", 40, "8", "32Gi"))


def survey(*pods: dict[str, Any]) -> tuple[SizingTrials, PackingProblem]:
    source = load([*pods])._current()
    shapes = read_shapes_of(SHAPES)
    assert shapes is not None
    trials = SizingTrials(source, Run(source).scheduler)
    return trials, Surveyor(trials, shapes).survey().problem


def choice_of(problem: PackingProblem, name: str) -> int:
    return next(at for at, each in enumerate(problem.choices) if each.variants[0].name == name)


def test_the_quick_bound_has_only_pods_that_fit_on_the_shape() -> None:
    pods = [pending(f"a{at}", cpu="1", memory="1Gi") for at in range(2)]
    pods += [pending(f"b{at}", cpu="1", memory="2Gi") for at in range(2)]
    _, problem = survey(*pods, pending("large", cpu="8", memory="8Gi"))
    small = choice_of(problem, "small")
    values = np.where(problem.most[small] > 0, 1.0, 100.0)
    assert sorted(values) == [1, 1, 100]
    assert PatternPricing(problem, time.perf_counter() + 20).quick_bound(small, values) == pytest.approx(2)


def test_patterns_have_one_of_two_classes_that_cannot_share_a_node() -> None:
    docs = [make_pod(name).requests(cpu=cpu).host_port(80).doc() for name, cpu in (("p", "1"), ("q", "500m"))]
    _, problem = survey(*docs)
    assert problem.rivals == {(0, 1)}
    patterns = maximal_patterns(problem, choice_of(problem, "small"), 100)
    assert patterns is not None
    assert sorted(patterns) == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("ports", "are_rivals"),
    [
        pytest.param([(80, "10.0.0.1"), (80, "10.0.0.1")], True, id="one address"),
        pytest.param([(80, "10.0.0.1"), (80, "")], True, id="every address"),
        pytest.param([(80, "10.0.0.1"), (80, "10.0.0.2")], False, id="two addresses"),
        pytest.param([(80, ""), (81, "")], False, id="two ports"),
    ],
)
def test_host_ports_that_clash(ports: list[tuple[int, str]], are_rivals: bool) -> None:
    pods = [make_pod(f"p{at}").requests(cpu=f"{at}") for at in (1, 2)]
    docs = [pod.host_port(port, address=address).doc() for pod, (port, address) in zip(pods, ports, strict=True)]
    assert survey(*docs)[1].rivals == ({(0, 1)} if are_rivals else frozenset())


@pytest.mark.parametrize(
    ("keeping", "are_rivals"),
    [
        pytest.param("small", True, id="the first"),
        pytest.param("large", True, id="the second"),
        pytest.param("", False, id="none"),
    ],
)
def test_pods_of_which_one_keeps_away_from_the_other(keeping: str, are_rivals: bool) -> None:
    pods = {name: make_pod(name).label(app=name).requests(cpu=cpu) for name, cpu in (("small", "1"), ("large", "2"))}
    if keeping:
        (other,) = pods.keys() - {keeping}
        term = {"labelSelector": {"matchLabels": {"app": other}}, "topologyKey": "kubernetes.io/hostname"}
        pods[keeping].spec(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    assert survey(*(each.doc() for each in pods.values()))[1].rivals == ({(0, 1)} if are_rivals else frozenset())


def test_the_best_pattern_has_one_of_three_classes_that_cannot_share_a_node() -> None:
    made = packing([(2, 1, 1)] * 3, [(5, 9, 9)], [(0, 1), (0, 2), (1, 2)], 2)
    worth, pattern = PatternPricing(made, time.perf_counter() + 20).best_pattern(0, np.ones(3))
    assert (worth, sorted(pattern)) == (2, [0, 0, 2])


@pytest.mark.parametrize(
    ("requests", "count"), [((1, 2, 0), 2), ((3, 1, 1), 1), ((0, 0, 0), 0), ((5, 1, 1), 0)], ids=str
)
def test_how_many_copies_of_requests_fit(requests: tuple[int, ...], count: int) -> None:
    assert how_many_fit(requests, (4, 4, 9)) == count


def test_patterns_that_no_quick_way_finds_are_found_by_their_worth() -> None:
    """A pod of 6 is worth most for its size, and two of 5 are worth more together."""
    program = PurchaseProgram(packing([(2, 6, 1), (2, 5, 1)], [(10, 10, 9)], [], 9), time.perf_counter() + 20, 0)
    worths, found = program._price(np.array([6.6, 5.4]), [0.0])
    assert (worths, found) == ([pytest.approx(10.8)], [(0, (0, 2))])


def test_quick_patterns_are_worth_more_than_asked() -> None:
    pricing = PatternPricing(packing([(2, 1, 1)], [(5, 9, 9)], [], 9), time.perf_counter() + 20)
    assert [pricing.quick_patterns(0, np.ones(1), least) for least in (1.9, 2.0)] == [[(2,)], []]


@pytest.mark.parametrize(
    ("worth", "penalty", "bound"), [(10, 0, 100), (20, 0, 50), (20, 10, 100), (20, 5, 67)], ids=str
)
def test_a_bound_is_scaled_until_no_pattern_is_worth_more_than_its_price(worth: int, penalty: int, bound: int) -> None:
    program = PurchaseProgram(packing([(1, 1, 1)], [(10, 4, 4)], [], 9), time.perf_counter() + 20, 0)
    program._raise_bound(100.0, [worth], [penalty])
    assert program.bound == bound


@pytest.mark.parametrize(("bound", "proven"), [(-math.inf, 0), (6.9, 7)], ids=str)
def test_a_solver_that_stops_early_proves_what_it_has(
    bound: float, proven: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PurchaseProgram(packing([(1, 1, 1)], [(10, 4, 4)], [], 9), time.perf_counter() + 20, 400)
    monkeypatch.setattr(LinearModel, "solve", lambda self, seconds: Solved("stopped", [], [], 0.0, bound))
    assert (program.next_set(None, 1.0), program.bound) == (None, proven)


def test_the_bound_counts_with_limits() -> None:
    """Two pods on cheap nodes, of which there are two, and one on a node at 10."""
    made = packing([(3, 4, 4)], [(1, 4, 4), (10, 5, 5)], [], 9)
    cheap, dear = made.choices
    program = PurchaseProgram(replace(made, choices=(replace(cheap, limit=2), dear)), time.perf_counter() + 20, 0)
    program.relax()
    assert program.bound == 12


@pytest.mark.parametrize(
    ("made", "cost"),
    [
        pytest.param(packing([(3, 2, 2)], [(10, 4, 4)], rooms=[(1, 2, 2)]), 10, id="a room for one of three"),
        pytest.param(packing([(1, 2, 2), (1, 2, 1)], [(10, 3, 3)], rooms=[(1, 3, 3)]), 10, id="a room for one class"),
        pytest.param(packing([(1, 2, 2), (1, 2, 1)], [(10, 3, 3)], rooms=[(2, 3, 3)]), 0, id="a room for each class"),
        pytest.param(packing([(1, 9, 9), (1, 2, 2)], [(10, 9, 9)], rooms=[(1, 2, 2)]), 10, id="a room for the second"),
        pytest.param(
            packing([(1, 2, 2), (1, 4, 4)], [(10, 4, 4)], rooms=[(1, 2, 2), (1, 4, 4)]), 0, id="rooms of two sizes"
        ),
        pytest.param(packing([(3, 2, 2)], [(1, 2, 2), (10, 3, 3)], limits=(1, None)), 21, id="a limit"),
        pytest.param(packing([(3, 2, 2)], [(1, 2, 2), (2, 3, 3), (9, 3, 3)], limits=(1, 1, None)), 12, id="two limits"),
        pytest.param(
            packing([(3, 2, 2)], [(1, 2, 2), (10, 3, 3)], limits=(1, None), rooms=[(1, 2, 2)]),
            11,
            id="a limit and a room",
        ),
    ],
)
def test_the_cheapest_set_with_rooms_and_limits(made: PackingProblem, cost: int) -> None:
    """Pods in the rooms of the cluster cost nothing."""
    soon = time.perf_counter() + 20
    exact, relaxed = (PurchaseProgram(made, soon, listed) for listed in (100, 0))
    found = exact.next_set(None, 20.0)
    assert found is not None
    relaxed.relax()
    assert (found.cost, exact.bound, relaxed.bound <= cost) == (cost, cost, True)
    assert relaxed.bound == cost or made.rooms


def test_sets_come_in_the_order_of_their_cost() -> None:
    """After a set is rejected, the next one has one node more of some shape than that."""
    program = PurchaseProgram(packing([(1, 1, 1)], [(10, 1, 1), (15, 2, 2)]), time.perf_counter() + 20, 100)
    found = []
    for _ in range(4):
        (each,) = [program.next_set(None, 20.0)]
        assert each is not None
        found.append((dict(each.counts), each.cost))
        program.reject(each.counts)
    assert found == [({0: 1}, 10), ({1: 1}, 15), ({0: 2}, 20), ({0: 1, 1: 1}, 25)]
    assert program.next_set(25, 20.0) is None


def test_of_sets_that_cost_alike_the_one_with_fewer_nodes_is_the_first() -> None:
    program = PurchaseProgram(packing([(2, 1, 1)], [(10, 1, 1), (20, 2, 2)]), time.perf_counter() + 20, 100)
    found = program.next_set(None, 20.0)
    assert found is not None
    assert (dict(found.counts), found.cost) == ({1: 1}, 20)


@pytest.mark.parametrize("listed", [30_000, 0], ids=["all sets", "at random"])
def test_a_part_is_searched_past_sets_that_hold_less(listed: int) -> None:
    """Four small nodes have as many cores as a large one, cost as much and hold one pod less."""
    sizes = ["1500m"] * 5 + ["500m"]
    _, problem = survey(*(pending(f"p{at}", cpu=cpu, memory="1Gi") for at, cpu in enumerate(sizes)))
    (part,) = components(problem)
    small, large = (choice_of(problem, name) for name in ("small", "large"))
    # The best set costs as much as the bound.
    search = PartSearch(part, {large: 2}, int(problem.prices[large]), SearchSettings(listed_sets=listed))
    found = [*search.cheaper(time.perf_counter() + 20)]
    assert found[-1] == {large: 1}
    assert listed == 0 or found == [{small: 2, large: 1}, {small: 1, large: 1}, {large: 1}]


@pytest.mark.parametrize(
    ("counts", "allowed"),
    [({0: 2}, True), ({0: 3}, False), ({0: 3, 1: 1}, False), ({1: 9}, True), ({0: 2, 1: 9}, True)],
    ids=str,
)
def test_no_more_nodes_of_a_shape_than_its_limit(counts: dict[int, int], allowed: bool) -> None:
    """The first shape has a limit of 2."""
    made = packing([(9, 1, 1)], [(10, 1, 1), (15, 1, 1)], limits=(2, None))
    shapes = {made.choices[choice].variants[0]: count for choice, count in counts.items()}
    assert (made.allows(counts), made.within_limits(shapes)) == (allowed, allowed)


def test_zones_of_a_shape_share_its_limit() -> None:
    made = packing([(9, 1, 1)], [(10, 1, 1)], limits=(2,))
    one, other = (replace(made.choices[0].variants[0], zone=zone) for zone in "ab")
    assert [made.within_limits({one: 1, other: count}) for count in (1, 2)] == [True, False]


@pytest.mark.parametrize(
    ("cheap", "dear", "kept"),
    [("a", "a", ["cheap"]), ("ab", "a", ["cheap"]), ("a", "b", ["cheap", "dear"]), ("a", "ab", ["cheap", "dear"])],
)
def test_a_dearer_shape_stays_for_its_zones_alone(cheap: str, dear: str, kept: list[str]) -> None:
    """Rules between pods compare zones. Both shapes hold the same."""
    (choice,) = packing([(1, 1, 1)], [(10, 1, 1)]).choices
    choices = [
        replace(
            choice,
            variants=tuple(replace(choice.variants[0], name=name, zone=zone) for zone in zones),
            price=price,
        )
        for name, zones, price in (("cheap", cheap, 10), ("dear", dear, 20))
    ]
    found = undominated(choices, ["topology.kubernetes.io/zone"])
    assert [each.variants[0].name for each in found] == kept


@pytest.mark.parametrize("listed", [30_000, 0], ids=["all sets", "at random"])
@pytest.mark.parametrize(
    ("made", "counts", "best"),
    [
        pytest.param(packing([(2, 1, 1)], [(10, 1, 1), (40, 4, 4)]), {1: 1}, {0: 2}, id="small nodes for a large one"),
        pytest.param(packing([(2, 1, 1)], [(30, 1, 1), (40, 4, 4)]), {0: 2}, {1: 1}, id="a large node for small ones"),
        pytest.param(
            packing([(2, 1, 1)], [(10, 1, 1), (15, 1, 1), (40, 4, 4)], limits=(1, None, None)),
            {2: 1},
            {0: 1, 1: 1},
            id="no more of a shape than there are",
        ),
        pytest.param(
            packing([(2, 1, 1)], [(10, 1, 1), (15, 1, 1), (40, 4, 4)], limits=(0, None, None)),
            {2: 1},
            {1: 2},
            id="a shape that is sold out",
        ),
        pytest.param(
            packing([(2, 1, 3), (2, 3, 1)], [(10, 4, 2), (11, 2, 4), (40, 9, 9)]),
            {2: 1},
            None,
            id="enough of one resource",
        ),
        pytest.param(packing([(1, 1, 1)], [(10, 1, 1), (10, 2, 2)]), {0: 1}, None, id="another set at the same cost"),
        pytest.param(packing([(3, 1, 1)], [(10, 1, 1), (15, 1, 1)]), {0: 3}, None, id="only dearer sets"),
        pytest.param(packing([(3, 1, 1)], [(9, 1, 1), (10, 1, 1)]), {1: 3}, {0: 3}, id="every node"),
    ],
)
def test_the_cheapest_set_of_a_part(
    made: PackingProblem, counts: dict[int, int], best: dict[int, int] | None, listed: int
) -> None:
    (part,) = components(made)
    search = PartSearch(part, counts, 0, SearchSettings(listed_sets=listed, vain_exchanges=300))
    found = [*search.cheaper(time.perf_counter() + 20)]
    assert (found[-1] if found else None, search.cut) == (best, False)
    costs = [made.cost_of_choices(each) for each in (counts, *found)]
    assert costs == sorted(set(costs), reverse=True)


@pytest.mark.parametrize("listed", [30_000, 0], ids=["all sets", "at random"])
def test_a_search_of_a_part_that_runs_out_of_time_is_cut(listed: int) -> None:
    (part,) = components(packing([(2, 1, 1)], [(10, 1, 1), (40, 4, 4)]))
    search = PartSearch(part, {1: 1}, 0, SearchSettings(listed_sets=listed))
    assert ([*search.cheaper(time.perf_counter() - 1)], search.cut) == ([], True)


def test_the_list_of_the_sets_of_a_part_ends_with_the_time() -> None:
    made = packing([(60, 1, 1)], [(10 + at, 1 + at, 1 + at) for at in range(14)], cap=60)
    (part,) = components(made)
    search = PartSearch(part, {0: 60}, 0, SearchSettings(listed_sets=1_000_000))
    started = time.process_time()
    assert ([*search.cheaper(time.perf_counter() + 0.1)], search.cut) == ([], True)
    assert time.process_time() - started < 2


def test_patterns_are_listed_in_half_of_the_time() -> None:
    made = packing([(9, at, 10 - at) for at in range(1, 10)], [(10, 40 + at, 40 + at) for at in range(20)])
    started = time.process_time()
    program = PurchaseProgram(made, time.perf_counter() + 0.1, 10_000)
    assert time.process_time() - started < 1.5
    assert not program.is_exact


@pytest.mark.parametrize(
    ("nodes", "combinations", "found"),
    [
        pytest.param(1, 99, [], id="one node"),
        pytest.param(2, 6, [{0: 2}], id="two nodes"),
        pytest.param(2, 5, [], id="too many combinations of two nodes"),
        pytest.param(2, 1, [], id="more combinations of one node than are allowed"),
    ],
)
def test_so_many_nodes_are_exchanged_at_most(nodes: int, combinations: int, found: list[dict[int, int]]) -> None:
    """A large node for two small ones: none, one or two of two shapes are six combinations."""
    (part,) = components(packing([(2, 1, 1)], [(10, 1, 1), (40, 4, 4)]))
    settings = SearchSettings(listed_sets=0, exchanged_nodes=nodes, combinations=combinations, vain_exchanges=300)
    assert [*PartSearch(part, {1: 1}, 0, settings).cheaper(time.perf_counter() + 20)] == found


def test_a_problem_without_some_pods_has_no_turn_for_them() -> None:
    sizes = {"a": "1", "b": "1", "c": "1", "d": "2"}
    _, problem = survey(*(pending(name, cpu=cpu, memory="1Gi") for name, cpu in sizes.items()))
    fewer = problem.without({problem.classes[at].pods[0] for at in range(2)})
    assert sorted((each.demand, fewer.turns.count(at)) for at, each in enumerate(fewer.classes)) == [(0, 0), (2, 2)]


def test_a_pattern_is_found_whatever_was_tried_before_it() -> None:
    """The last two classes cannot share a node: the second one is tried again after the third."""
    made = packing([(1, 1, 1), (2, 1, 1), (2, 1, 1)], [(10, 2, 2)], [(1, 2)])
    assert maximal_patterns(made, 0, 100) == [(1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 0, 2)]


def test_rivals_of_another_part_do_not_count() -> None:
    """The first two classes share a shape, the third has one of its own."""
    made = packing([(1, 1, 20), (1, 1, 10), (1, 20, 1)], [(10, 2, 20), (10, 20, 2)], [(0, 1), (0, 2), (1, 2)])
    assert [(each.choices, each.problem.rivals) for each in components(made)] == [((0,), {(0, 1)}), ((1,), set())]


@pytest.mark.parametrize(
    ("bound", "ran_out", "gave_up", "seconds", "ended"),
    [
        pytest.param(10, True, True, 0, "optimal", id="the bound"),
        pytest.param(9, True, True, 20, "time", id="a search ran out of time"),
        pytest.param(9, False, True, 0, "time", id="all time is over"),
        pytest.param(9, False, True, 20, "stalled", id="given up"),
        pytest.param(9, False, False, 20, "local", id="every search came to its end"),
    ],
)
def test_how_a_search_ended(bound: int, ran_out: bool, gave_up: bool, seconds: float, ended: str) -> None:
    search = PurchaseSearch(*survey(pending("p", cpu="1")), time.perf_counter() + seconds, SearchSettings())
    search.state.cost, search.state.bound = 10, bound
    search._ran_out, search._gave_up = ran_out, gave_up
    assert search._ending() == ended


@pytest.mark.parametrize(
    ("limit", "since", "goes_on"), [(20, 3.5, True), (20, 4.5, False), (2, 0.8, True), (2, 1.2, False)], ids=str
)
def test_a_search_is_given_up_after_a_share_of_the_time_limit(limit: float, since: float, goes_on: bool) -> None:
    """A fifth, and a second at least."""
    search = PurchaseSearch(*survey(pending("p", cpu="1")), time.perf_counter() + limit, SearchSettings())
    search._last_better = time.perf_counter() - since
    assert search._has_time() is goes_on


@pytest.mark.parametrize("pods", [1, 2, 3])
def test_a_forecast_is_mended_by_one_node_at_a_time(pods: int) -> None:
    trials, problem = survey(*(pending(f"p{at}", cpu="8", memory="1Gi") for at in range(pods)))
    mender = PurchaseSearch(trials, problem, time.perf_counter() + 20, SearchSettings())
    mender.state.cost = 1_000_000
    assert mender._forecast_mended({}) == {choice_of(problem, "large"): pods}


@pytest.mark.parametrize(
    ("cpu", "pods", "shape_name"),
    [
        pytest.param("8", 2, "large", id="the only one"),
        pytest.param("1500m", 5, "large", id="most pods for its price"),
        pytest.param("1", 1, "small", id="the cheaper one"),
        pytest.param("1", 3, "small", id="fewer pods for less money"),
    ],
)
@pytest.mark.parametrize("tried", [1, 4], ids=["the forecast chooses", "the scheduler chooses"])
def test_the_node_that_helps_most(cpu: str, pods: int, shape_name: str, tried: int) -> None:
    trials, problem = survey(*(pending(f"p{at}", cpu=cpu, memory="1Gi") for at in range(pods)))
    mender = PurchaseSearch(trials, problem, time.perf_counter() + 20, SearchSettings(helping_nodes=tried))
    more = mender._one_more(mender._attempt({}))
    assert more is not None
    assert {shape.name: count for shape, count in more.counts.items()} == {shape_name: 1}
