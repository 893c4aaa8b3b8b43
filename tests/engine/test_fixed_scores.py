"""Scores that placements do not change are kept for pods that fit on a part of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.taint_toleration.plugin import TaintToleration
from tests.builders import make_node, make_pod
from tests.harness import make_scheduler


def scheduler_of(*, reuse: bool) -> Scheduler:
    """Nodes with 0, 2, 1 and 0 taints that count as scores."""
    nodes = [make_node(f"n{row}").allocatable(cpu=str(4 << row), memory="8Gi", pods=10) for row in range(4)]
    for row, key in ((1, "a"), (1, "b"), (2, "a")):
        nodes[row].taint(key, effect="PreferNoSchedule")
    pod = make_pod("p").requests(cpu="1", memory="1Gi").obj()
    return make_scheduler([node.obj() for node in nodes], [pod], reuse=reuse)


def table_of(scheduler: Scheduler, rows: Sequence[int]) -> ScoreTable:
    runtime, pod, state = scheduler.runtimes["default-scheduler"], scheduler.cluster.pods.infos[0], CycleState()
    nodes = NodeRows(scheduler.cluster, np.array(rows, dtype=np.int64))
    runtime.pre_filters.run(state, pod)
    runtime.scores.prepare(state, pod, nodes)
    return runtime.scores.run(state, pod, nodes)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_choice_of_nodes_has_the_scores_of_a_run_of_its_own(size: int) -> None:
    kept, afresh = scheduler_of(reuse=True), scheduler_of(reuse=False)
    for rows in combinations(range(4), size):
        found, wanted = table_of(kept, rows), table_of(afresh, rows)
        assert found.totals.tolist() == wanted.totals.tolist()
        indexes = np.arange(size)
        assert list(found.raw) == list(wanted.raw)
        assert list(found.scores_of(indexes)) == list(wanted.scores_of(indexes))
        assert columns_of(found) == columns_of(wanted)


def columns_of(table: ScoreTable) -> list[dict[str, list[int]]]:
    return [
        {name: column.tolist() for name, column in each.items()}
        for each in (table.raw, table.normalized, table.weighted)
    ]


@pytest.mark.parametrize(
    ("rows", "calls"),
    [
        pytest.param((0, 1), 1, id="the-extremes-are-among-them"),
        pytest.param((0, 2), 2, id="the-worst-node-is-not-among-them"),
    ],
)
def test_scores_are_normalized_again_only_for_nodes_with_other_extremes(
    rows: Sequence[int], calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    normalize, sizes = TaintToleration.normalize, list[int]()

    def counted(plugin: TaintToleration, state: object, pod: object, nodes: NodeRows, raw: object) -> object:
        sizes.append(len(nodes))
        return normalize(plugin, state, pod, nodes, raw)  # type: ignore[arg-type]

    monkeypatch.setattr(TaintToleration, "normalize", counted)
    table_of(scheduler_of(reuse=True), rows)
    assert len(sizes) == calls


def test_templates_that_sign_alike_share_columns_and_their_sum() -> None:
    nodes = [make_node(f"n{row}").allocatable(cpu="4", memory="8Gi", pods=10) for row in range(3)]
    nodes[1].taint("a", effect="PreferNoSchedule")
    pods = [make_pod(f"p{index}").label("app", "ab"[index % 2]).requests(cpu="1").obj() for index in range(4)]
    scheduler = make_scheduler([node.obj() for node in nodes], pods)
    lane = scheduler.runtimes["default-scheduler"].lane
    for row in range(2):
        scheduler.schedule(row)
    totals = []
    for row in (2, 3):
        result = lane.find(scheduler.cluster.pods.infos[row])
        assert result is not None
        assert result.scores is not None
        totals.append(result.scores.fixed_totals())
    assert totals[0] is totals[1]
    assert not totals[0].flags.writeable
