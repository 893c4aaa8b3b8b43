"""Topology spread as 1.16 to 1.18 had it: what counts, and what the counts are worth."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.framework.status import Status
from ksched_cli.legacy.earlier import SpreadOfEveryPod, SummedSpread
from ksched_cli.legacy.priorities import PRIORITIES
from ksched_cli.releases.minors import RELEASES
from tests.builders import PodBuilder, make_node, make_pod, term
from tests.harness import Bench, make_bench

EVEN: Any = next(each for each in PRIORITIES if each.name == "EvenPodsSpreadPriority")
SKEWED = ("Unschedulable", ("node(s) didn't match pod topology spread constraints",))
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

# Zone a has two nodes, zone b one; the last node has no zone.
NODES = [
    make_node("a-1").zone("a").obj(),
    make_node("a-2").zone("a").label(disk="ssd").obj(),
    make_node("b-1").zone("b").label(disk="ssd").obj(),
    make_node("none").label(disk="ssd").obj(),
]


def spread(*keys: str, when: str, skew: int = 1) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "web"}}
    return [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector} for key in keys]


def new(*keys: str, when: str = "ScheduleAnyway", skew: int = 1) -> PodBuilder:
    return make_pod("new").label(app="web").spec(topologySpreadConstraints=spread(*keys, when=when, skew=skew))


def web(name: str, node: str, namespace: str = "default") -> PodBuilder:
    return make_pod(name, namespace).label(app="web").on(node)


RUNNING = [
    web("1", "a-1").obj(),
    web("2", "a-2").obj(),
    web("3", "b-1").obj(),
    web("none", "none").obj(),
    make_pod("other").label(app="other").on("b-1").obj(),
]
ELSEWHERE = [web("4", "b-1", "other").obj(), web("5", "b-1", "other").obj(), web("6", "b-1", "other").obj()]
LEAVING = [web("7", "a-1").terminating().obj()]


def in_order(scores: Any) -> list[int]:
    """The scores in the order of NODES."""
    return [scores[node.metadata.name] for node in NODES]


def bench(plugin: Any, minor: str, pod: PodBuilder, running: list[Any]) -> Bench:
    return make_bench(plugin, NODES, pod.obj(), running, current=RELEASES[minor])


PLUGINS = [
    pytest.param(SummedSpread, "1.18", id="1.18"),
    pytest.param(SpreadOfEveryPod, "1.17", id="1.17"),
]


@pytest.mark.parametrize(("plugin", "minor"), PLUGINS)
def test_a_score_is_the_sum_of_the_matching_pods_of_the_domains(plugin: Any, minor: str) -> None:
    made = bench(plugin, minor, new(ZONE, HOST), RUNNING)
    assert made.scores() == {"a-1": 3, "a-2": 3, "b-1": 2, "none": 0}
    # 8 are counted, 6 of them not on the best node: 100 * (8 - 3) / 6 is 83 for a-1.
    assert made.scores(normalized=True) == {"a-1": 83, "a-2": 83, "b-1": 100, "none": 0}


@pytest.mark.parametrize(("plugin", "minor"), PLUGINS)
@pytest.mark.parametrize(
    ("running", "normalized"),
    [
        pytest.param([], [100, 100, 100, 100], id="no pods: also for the node without a zone"),
        pytest.param(RUNNING[3:], [100, 100, 100, 100], id="only on the node without a zone"),
        pytest.param(RUNNING[:1], [50, 50, 100, 0], id="one pod"),
        pytest.param(RUNNING[2:3], [100, 100, 0, 0], id="one pod in the other zone"),
    ],
)
def test_shares(plugin: Any, minor: str, running: list[Any], normalized: list[int]) -> None:
    made = bench(plugin, minor, new(ZONE), running)
    assert in_order(made.scores(normalized=True)) == normalized


@pytest.mark.parametrize(
    ("plugin", "minor", "running", "scores"),
    [
        pytest.param(SummedSpread, "1.18", ELSEWHERE, [2, 2, 1, 0], id="1.18: of its namespace"),
        pytest.param(SpreadOfEveryPod, "1.17", ELSEWHERE, [2, 2, 4, 0], id="1.17: of every namespace"),
        pytest.param(SummedSpread, "1.18", LEAVING, [2, 2, 1, 0], id="1.18: not those that leave"),
        pytest.param(SpreadOfEveryPod, "1.17", LEAVING, [3, 3, 1, 0], id="1.17: those that leave too"),
    ],
)
def test_which_pods_count(plugin: Any, minor: str, running: list[Any], scores: list[int]) -> None:
    made = bench(plugin, minor, new(ZONE), [*RUNNING, *running])
    assert in_order(made.scores()) == scores


@pytest.mark.parametrize(("plugin", "minor"), PLUGINS)
def test_pods_on_nodes_that_the_pod_may_not_go_to_do_not_count(plugin: Any, minor: str) -> None:
    made = bench(plugin, minor, new(ZONE).node_affinity(term(("disk", "Exists", []))), RUNNING)
    assert made.scores() == {"a-1": 1, "a-2": 1, "b-1": 1, "none": 0}


@pytest.mark.parametrize(("plugin", "minor"), PLUGINS)
def test_a_pod_without_soft_constraints_has_no_preference(plugin: Any, minor: str) -> None:
    made = bench(plugin, minor, make_pod("new"), RUNNING)
    assert set(in_order(made.scores(normalized=True))) == {0}


@pytest.mark.parametrize(("plugin", "minor"), PLUGINS)
def test_without_any_label_no_node_is_preferred(plugin: Any, minor: str) -> None:
    made = bench(plugin, minor, new("rack"), RUNNING)
    assert set(in_order(made.scores(normalized=True))) == {0}


@pytest.mark.parametrize(("plugin", "minor"), PLUGINS)
def test_an_error_without_the_counts_and_for_a_selector_that_means_nothing(plugin: Any, minor: str) -> None:
    made = bench(plugin, minor, new(ZONE), RUNNING)
    answer = made.plugin.score(None, made.pod, made.nodes())
    assert answer.message == 'error reading "PreScorePodTopologySpread" from cycleState: not found'
    broken = new(ZONE)
    selector = {"matchExpressions": [{"key": "app", "operator": "Like", "values": []}]}
    broken.data["spec"]["topologySpreadConstraints"][0]["labelSelector"] = selector
    answer = bench(plugin, minor, broken, RUNNING).scores()
    assert isinstance(answer, Status)
    assert answer.message == 'error when calculating preScoreState: "Like" is not a valid label selector operator'


@pytest.mark.parametrize(("plugin", "minor"), PLUGINS)
@pytest.mark.parametrize(
    ("pod", "rejected"),
    [
        pytest.param(new(ZONE, when="DoNotSchedule"), {"a-1", "a-2", "none"}, id="the fuller zone and no zone"),
        pytest.param(new(ZONE, when="DoNotSchedule", skew=2), {"none"}, id="within the skew"),
        pytest.param(
            new(ZONE, when="DoNotSchedule").node_affinity(term(("disk", "Exists", []))),
            {"none"},
            id="only nodes that the pod may go to count",
        ),
        pytest.param(new("rack", when="DoNotSchedule"), set(), id="no domain at all"),
        pytest.param(new(ZONE, "rack", when="DoNotSchedule"), set(), id="no node has both labels"),
    ],
)
def test_hard_constraints(plugin: Any, minor: str, pod: PodBuilder, rejected: set[str]) -> None:
    assert bench(plugin, minor, pod, RUNNING).statuses() == dict.fromkeys(rejected, SKEWED)


@pytest.mark.parametrize(
    ("running", "rejected"),
    [
        pytest.param(ELSEWHERE, {"a-1", "a-2", "none"}, id="pods of another namespace do not count for the filter"),
        pytest.param([web("8", "b-1").terminating().obj()], {"none"}, id="those that leave do"),
    ],
)
def test_which_pods_the_filter_of_1_17_counts(running: list[Any], rejected: set[str]) -> None:
    made = bench(SpreadOfEveryPod, "1.17", new(ZONE, when="DoNotSchedule"), [*RUNNING, *running])
    assert set(made.statuses()) == rejected
    assert made.plugin.depends(made.pod) is None


@pytest.mark.parametrize(
    ("running", "scores"),
    [
        pytest.param(RUNNING, [8, 8, 10, 0], id="a share of ten"),
        pytest.param([], [10, 10, 10, 0], id="no pods: nothing for the node without a zone"),
    ],
)
def test_the_priority_of_1_16(running: list[Any], scores: list[int]) -> None:
    made = bench(EVEN, "1.16", new(ZONE, HOST), running)
    assert in_order(made.scores()) == scores
    assert in_order(made.scores(normalized=True)) == scores
    answer = made.plugin.score(None, made.pod, made.nodes())
    assert answer.message == 'error reading "PreScorePodTopologySpread" from cycleState: not found'
