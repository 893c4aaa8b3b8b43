"""The row of a variant: the figures of its cluster, and the worst that happened to a pod."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.plan.scenario import CheckedExpectation
from ksched_cli.plan.sweep.statistics import Figures, SweptPod
from ksched_cli.plan.sweep.trials import ClusterMeasure, FoundPods, PodStory, Setting, Variant, row_of
from ksched_cli.world.results import Ending
from tests.builders import make_node, make_pod
from tests.harness import make_scheduler


def running(name: str, node: str, cpu: str, memory: str, *, daemon: bool = False) -> Pod:
    pod = make_pod(name).requests(cpu=cpu, memory=memory).on(node).phase("Running").obj()
    if daemon:
        pod.metadata.annotations = {"kubernetes.io/config.mirror": "x"}
    return pod


def figures(nodes: list[Any], pods: list[Pod]) -> Figures:
    return ClusterMeasure(make_scheduler(nodes, pods).cluster).figures()


def test_nodes_that_have_only_pods_of_their_own_are_not_used() -> None:
    nodes = [make_node(name).allocatable(cpu="4", memory="8Gi", pods="9") for name in ("a", "b", "c")]
    pods = [running("p", "a", "1", "1Gi"), running("d", "b", "1", "1Gi", daemon=True)]
    found = figures([node.obj() for node in nodes], pods)
    assert (found.nodes, found.nodes_used) == (3, 1)


@pytest.mark.parametrize(
    ("cpus", "used", "spread"),
    [
        pytest.param([4, 4], [1, 1], 0, id="alike"),
        pytest.param([4, 4], [0, 4], 5000, id="all on one of two"),
        pytest.param([4, 8], [2, 2], 1250, id="shares count"),
        pytest.param([4, 4, 0], [1, 3, 0], 2500, id="a node without cpu does not count"),
        pytest.param([4], [1], 0, id="one node"),
        pytest.param([0], [0], 0, id="no cpu at all"),
    ],
)
def test_the_spread_is_the_standard_deviation_of_the_shares(cpus: list[int], used: list[int], spread: int) -> None:
    nodes = [make_node(f"n{at}").allocatable(cpu=str(cpu), memory="8Gi", pods="9").obj() for at, cpu in enumerate(cpus)]
    pods = [running(f"p{at}", f"n{at}", str(cpu), "1Gi") for at, cpu in enumerate(used) if cpu]
    assert figures(nodes, pods).spread == spread


GIB = 2**30


@pytest.mark.parametrize(
    ("node", "running_pods", "cpu", "memory"),
    [
        pytest.param({"cpu": "5", "memory": "10Gi", "pods": "9"}, [("2", "3Gi")], 1000, 4 * GIB, id="cpu runs out"),
        pytest.param({"cpu": "9", "memory": "7Gi", "pods": "9"}, [("2", "3Gi")], 5000, GIB, id="memory runs out"),
        pytest.param({"cpu": "9", "memory": "90Gi", "pods": "1"}, [("2", "3Gi")], 7000, 87 * GIB, id="no place"),
        pytest.param({"cpu": "1", "memory": "9Gi", "pods": "9"}, [("2", "1Gi")], 0, 8 * GIB, id="less than nothing"),
        pytest.param(
            {"cpu": "10", "memory": "90Gi", "pods": "9"}, [("1", "1Gi"), ("3", "3Gi")], 0, 80 * GIB, id="the average"
        ),
        pytest.param({"cpu": "5", "memory": "9Gi", "pods": "9"}, [("2", "0")], 1000, 9 * GIB, id="no memory requested"),
        pytest.param({"cpu": "5", "memory": "9Gi", "pods": "9"}, [("0", "2Gi")], 5000, GIB, id="no cpu requested"),
    ],
)
def test_what_is_left_when_no_average_pod_fits_is_stranded(
    node: dict[str, str], running_pods: list[tuple[str, str]], cpu: int, memory: int
) -> None:
    """A cordoned node strands nothing."""
    nodes = [make_node("n").allocatable(**node).obj(), make_node("c").allocatable(**node).cordoned().obj()]
    pods = [running(f"p{at}", "n", *each) for at, each in enumerate(running_pods)]
    found = figures(nodes, pods)
    assert (found.stranded_milli_cpu, found.stranded_memory) == (cpu, memory)


def test_a_pod_of_the_node_itself_is_no_average_pod() -> None:
    node = make_node("n").allocatable(cpu="6", memory="9Gi", pods="9").obj()
    pods = [running("p", "n", "2", "0"), running("d", "n", "1", "0", daemon=True)]
    assert figures([node], pods).stranded_milli_cpu == 1000


UNPLACED = PodStory("unschedulable", "default/u", why="no node", had_place=True)
LOST = PodStory("lost", "default/l", why="no controller recreates it", had_place=True)
PREEMPTED = PodStory("scheduled", "default/p", "n", had_place=True, preempted=True)
EVICTED = PodStory("scheduled", "default/e", "n", had_place=True)
PLACED = PodStory("scheduled", "default/s", "n")
DELETED = PodStory("deleted", "default/d", had_place=True)


def expectation(text: str) -> CheckedExpectation:
    return CheckedExpectation(text, 1, held=False, against=("because",))


@pytest.mark.parametrize(
    ("stories", "ending", "failed", "outcome", "reason"),
    [
        pytest.param([EVICTED, PLACED, DELETED], "settled", [], "safe", "", id="safe"),
        pytest.param(
            [EVICTED, PREEMPTED],
            "settled",
            [],
            "evicts others",
            "default/p is preempted and moves to n",
            id="preempted",
        ),
        pytest.param(
            [PREEMPTED, LOST], "settled", [], "loses pods", "default/l: no controller recreates it", id="lost"
        ),
        pytest.param([LOST, UNPLACED], "settled", [], "no place", "default/u: no node", id="without a node"),
        pytest.param(
            [LOST],
            "oscillation",
            [],
            "no place",
            "the cluster does not come to rest: the same states come again",
            id="no rest",
        ),
        pytest.param([UNPLACED], "max-time", [], "no place", "default/u: no node", id="a pod is the first reason"),
        pytest.param([EVICTED], "settled", ["x", "y"], "safe", "x: because", id="the first expectation"),
        pytest.param(
            [LOST],
            "settled",
            ["x"],
            "loses pods",
            "default/l: no controller recreates it",
            id="pods before expectations",
        ),
    ],
)
def test_the_worst_that_happened_is_the_outcome(
    stories: list[PodStory], ending: Ending, failed: list[str], outcome: str, reason: str
) -> None:
    variant = Variant(3, Setting(), (), {"order": 1})
    row = row_of(
        variant, Figures(nodes=2), FoundPods(tuple(stories), 0), ending, [expectation(each) for each in failed]
    )
    assert (row.outcome, row.reason, row.failed) == (outcome, reason, tuple(failed))


def test_what_became_of_pods_is_counted() -> None:
    stories = (UNPLACED, LOST, PREEMPTED, EVICTED, PLACED, PLACED, DELETED)
    row = row_of(Variant(3, Setting(), (), {"order": 1}), Figures(nodes=2), FoundPods(stories, 5), "settled")
    assert (row.variant, row.at) == (3, {"order": 1})
    assert row.figures == Figures(nodes=2, placed=4, unschedulable=5, lost=1, preempted=1, evicted=3)
    assert row.pods[0] == SweptPod("default/u", "unschedulable")
    assert row.pods[2] == SweptPod("default/p", "scheduled", "n")
