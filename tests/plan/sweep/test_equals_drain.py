"""Nodes that fail and nodes that are drained: the same pods go to the same nodes where no budget is in the way."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.sweep.statistics import VariantRow
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod
from tests.cli.transcripts import ROOT
from tests.lanes import sampled
from tests.plan.sweep.clusters import cluster, with_priorities


def drained(result: DrainResult) -> dict[str, tuple[str, str]]:
    """Pod to what becomes of it and to its node. A pod that other pods preempt is no part of a drained node."""
    words = {"moves": "scheduled", "unplaced": "unschedulable", "gone": "lost"}
    return {pod.pod: (words[pod.fate], pod.to) for node in result.nodes for pod in node.pods if pod.fate in words}


def failed(row: VariantRow) -> dict[str, tuple[str, str]]:
    return {each.pod: (each.result, each.node) for each in row.pods}


FLAGS: dict[str, Any] = {"force": True, "ignore_daemonsets": True, "delete_emptydir_data": True}


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(10), 5))
@pytest.mark.parametrize("what", ["node", "zone"])
def test_failures_equal_drains(seed: int, what: str) -> None:
    simulator = Simulator.load(cluster(seed))
    drains = simulator.drain_nodes(
        each=what,  # type: ignore[arg-type]  # one of its words
        **FLAGS,
    )
    trials = {trial.name: trial.drain for trial in drains.trials}
    rows = {row.at["fail"][0]: row for row in simulator.sweep(fail=what)}
    assert rows.keys() == trials.keys()
    for name, row in rows.items():
        drain = trials[name]
        assert row.outcome == drain.outcome
        if what == "node":
            # The nodes of a zone are drained one after the other and fail at once, so that pods come in another order.
            assert failed(row) == drained(drain)
        assert failed(row).keys() == drained(drain).keys()
        assert row.figures is not None
        assert row.figures.evicted == sum(len(node.of("moves", "unplaced", "gone")) for node in drain.nodes)
        assert row.figures.unschedulable == len(drain.unplaced)
        assert row.figures.lost == len(drain.lost)


@pytest.mark.slow
def test_the_ten_clusters_have_every_result() -> None:
    """The test above compares more than clusters in which nothing happens."""
    rows = [row for seed in range(10) for row in Simulator.load(cluster(seed)).sweep(fail="node")]
    assert {row.outcome for row in rows} == {"safe", "loses pods", "no place"}
    assert {each.result for row in rows for each in row.pods} == {"scheduled", "unschedulable", "lost"}


def without_a_node(result: DrainResult) -> set[str]:
    return {each.pod for each in (*result.unplaced, *result.displaced, *result.homeless)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(10), 5))
def test_failures_equal_drains_where_pods_are_pending(seed: int) -> None:
    """Some pending pods lose the place that they have without the failure, and some preempt others."""
    simulator = Simulator.load(with_priorities(cluster(seed, pending=9), seed))
    trials = {trial.name: trial.drain for trial in simulator.drain_nodes(each="node", **FLAGS).trials}
    for row in simulator.sweep(fail="node"):
        (name,) = row.at["fail"]
        (alone,) = simulator.drain_nodes(name, **FLAGS).trials
        assert row.outcome == trials[name].outcome == alone.drain.outcome
        assert without_a_node(trials[name]) == without_a_node(alone.drain)
        assert {each.pod for each in row.pods if each.result == "unschedulable"} == without_a_node(trials[name])


@pytest.mark.slow
def test_some_pending_pods_are_displaced() -> None:
    """The test above compares more than clusters in which each pending pod finds another node."""
    simulators = [Simulator.load(with_priorities(cluster(seed, pending=9), seed)) for seed in range(10)]
    drains = [trial.drain for each in simulators for trial in each.drain_nodes(each="node", **FLAGS).trials]
    assert sum(bool(drain.displaced) for drain in drains) > 10
    assert {drain.outcome for drain in drains} == {"safe", "evicts others", "loses pods", "no place"}


@pytest.mark.slow
def test_a_pending_pod_that_has_a_node_without_the_failure_only() -> None:
    """data/db-2 waits until its victims leave, so that it is still without a node when the node fails."""
    simulator = Simulator.load(str(ROOT / "fixtures" / "clusters" / "eks.yaml"))
    name = "ip-10-0-3-166.eu-west-1.compute.internal"
    (drain,) = (trial.drain for trial in simulator.drain_nodes(each="node", **FLAGS).trials if trial.name == name)
    (row,) = (row for row in simulator.sweep(fail="node") if row.at["fail"] == [name])
    assert [each.pod for each in drain.displaced] == ["data/db-2"]
    assert (row.outcome, drain.outcome) == ("no place", "no place")
    assert row.reason.startswith("data/db-2: 0/11 nodes are available")
    assert ("data/db-2", "unschedulable") in {(each.pod, each.result) for each in row.pods}


@pytest.mark.slow
def test_a_failure_gives_a_waiting_pod_40_seconds_before_pods_are_recreated() -> None:
    """A drain recreates shop/api at once, and it takes the place that data/db-2 finds while shop/api is not there."""
    simulator = Simulator.load(str(ROOT / "fixtures" / "clusters" / "eks.yaml"))
    failed_node, place = (f"ip-10-0-3-{number}.eu-west-1.compute.internal" for number in (78, 166))
    (drain,) = (trial.drain for trial in simulator.drain_nodes(failed_node, **FLAGS).trials)
    (row,) = (row for row in simulator.sweep(fail="node") if row.at["fail"] == [failed_node])
    assert [each.pod for each in drain.displaced] == ["data/db-2"]
    assert drained(drain)["shop/api-2hc6xzhqg-b9qlz"] == ("scheduled", place)
    assert (row.outcome, drain.outcome) == ("safe", "no place")
    assert failed(row)["data/db-2"] == ("scheduled", place)
    assert failed(row)["shop/api-2hc6xzhqg-b9qlz"][0] == "scheduled"


def test_a_pod_that_stays_terminating_on_a_lost_node_is_not_scheduled() -> None:
    """It has no place in a variant, unless its node is the one that fails: then the pod garbage collector deletes it."""
    lost = make_node("lost").status(conditions=[{"type": "Ready", "status": "Unknown"}])
    lost.taint("node.kubernetes.io/unreachable", effect="NoExecute")
    own = make_pod("db-0").on("lost").owner("StatefulSet", "db", apiVersion="apps/v1")
    simulator = Simulator.load(lost.doc(), make_node("n1").doc(), own.doc())
    rows = {row.at["fail"][0]: failed(row) for row in simulator.sweep(fail="node")}
    assert rows == {"lost": {"default/db-0": ("scheduled", "n1")}, "n1": {}}
