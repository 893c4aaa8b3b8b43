"""Nodes that fail and nodes that are drained: the same pods go to the same nodes where no budget is in the way."""

from __future__ import annotations

import pytest

from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.sweep.rows import VariantRow
from ksched_cli.simulator import Simulator
from tests.plan.sweep.clusters import cluster


def drained(result: DrainResult) -> dict[str, tuple[str, str]]:
    """Pod to what becomes of it and to its node. A pod that other pods preempt is no part of a drained node."""
    words = {"moves": "scheduled", "unplaced": "unschedulable", "gone": "lost"}
    return {pod.pod: (words[pod.fate], pod.to) for node in result.nodes for pod in node.pods if pod.fate in words}


def failed(row: VariantRow) -> dict[str, tuple[str, str]]:
    return {each.pod: (each.result, each.node) for each in row.pods}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("what", ["node", "zone"])
def test_failures_equal_drains(seed: int, what: str) -> None:
    simulator = Simulator.load(cluster(seed))
    drains = simulator.drain_nodes(
        each=what,  # type: ignore[arg-type]  # one of its words
        force=True,
        ignore_daemonsets=True,
        delete_emptydir_data=True,
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


def test_the_ten_clusters_have_every_result() -> None:
    """The test above compares more than clusters in which nothing happens."""
    rows = [row for seed in range(10) for row in Simulator.load(cluster(seed)).sweep(fail="node")]
    assert {row.outcome for row in rows} == {"safe", "loses pods", "no place"}
    assert {each.result for row in rows for each in row.pods} == {"scheduled", "unschedulable", "lost"}
