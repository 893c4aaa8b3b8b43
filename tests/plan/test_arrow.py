"""The columns of a simulation are its outcomes, value by value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ksched_cli.errors import UsageError
from ksched_cli.plan.results import arrow
from ksched_cli.plan.results.nodes import NodeDetail, ScoredNode
from ksched_cli.plan.results.outcomes import PodOutcome
from ksched_cli.plan.simulate import OutputOptions, outcome_of
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod
from tests.engine.answers.test_reuse import workloads
from tests.harness import make_scheduler
from tests.lanes import examples


@pytest.mark.slow
@given(workloads())
@settings(max_examples=examples(40), deadline=None)
def test_each_row_has_the_values_of_its_pod_and_node(drawn: tuple[list[Any], list[Any]]) -> None:
    scheduler = make_scheduler(*drawn)
    made = [
        outcome_of(each, scheduler.cluster, OutputOptions(detail=True)) for each in scheduler.run(scheduler.enqueue())
    ]
    rows = arrow.nodes_table(made).to_pylist()
    assert [(row["pod"], row["node"]) for row in rows] == [
        (outcome.pod, name) for outcome in made for name in sorted(scheduler.cluster.nodes.names)
    ]
    by_pod = {outcome.pod: outcome for outcome in made}
    for row in rows:
        outcome = by_pod[row["pod"]]
        assert outcome.detail is not None
        check_row(row, outcome, outcome.detail)


def check_row(row: dict[str, Any], outcome: PodOutcome, detail: NodeDetail) -> None:
    failure = outcome.pre_filter or detail.filters.get(row["node"])
    assert row["feasible"] is (failure is None)
    said = (failure.plugin, failure.code, "; ".join(failure.reasons)) if failure else (None, None, None)
    assert (row["plugin"], row["code"], row["reasons"]) == said
    assert row["total"] == detail.totals.get(row["node"])
    scored = next((each.scores for each in detail.scored if each.node == row["node"]), {})
    told = {key: value for key, value in row.items() if "." in key and value is not None}
    assert told == {f"{name}.{kind}": getattr(score, kind) for name, score in scored.items() for kind in arrow._KINDS}


def simulator() -> Simulator:
    made = [make_node(name).allocatable(cpu="2", memory="2Gi", pods=5).obj() for name in ("a", "b")]
    return Simulator.load(*made, make_pod("small").requests(cpu="1").obj(), make_pod("large").requests(cpu="9").obj())


def test_a_row_for_each_pod() -> None:
    run = simulator().run()
    small, large = sorted(run.to_arrow().to_pylist(), key=lambda row: -row["feasible_nodes"])
    assert (small["name"], small["result"], small["node"], small["ties"]) == ("small", "scheduled", "a", 2)
    assert small["total"] == run.pod("small").top[0].total
    assert (large["node"], large["total"], large["unschedulable_plugins"]) == (None, None, ["NodeResourcesFit"])
    assert large["message"] == run.pod("large").message


def test_the_row_of_a_pod_has_no_empty_texts() -> None:
    """A pod with a node that is not the best of those that were kept, and one that waits for a node."""
    top = (ScoredNode("n2", 50, {}), ScoredNode("n1", 40, {}))
    made = (
        PodOutcome("shop/a", "scheduled", "n1", feasible_nodes=2, total_nodes=2, top=top),
        PodOutcome("shop/b", "unschedulable", nominated_node="n2", feasible_nodes=0, total_nodes=2, pod_group="shop/g"),
    )
    columns = ("node", "total", "nominated_node", "pod_group")
    rows = arrow.pods_table(made).to_pylist()
    assert [tuple(row[each] for each in columns) for row in rows] == [
        ("n1", 40, None, None),
        (None, None, "n2", "shop/g"),
    ]


def test_pandas_has_the_same() -> None:
    run = simulator().run()
    assert run.to_pandas()["name"].tolist() == run.to_arrow().column("name").to_pylist()
    assert len(run.to_pandas(nodes=True)) == 4


def test_without_the_extra_one_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'ksched-cli\[arrow\]'"):
        simulator().run().to_arrow()
    with pytest.raises(UsageError, match="to_pandas needs pandas"):
        arrow.as_frame(None)
