"""What an outcome of one pod lists of many nodes: the best, those that are tied, and failures with examples; with
`--detail full`, each node."""

from __future__ import annotations

import io
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.cli import simulate
from ksched_cli.plan.results.nodes import TiedNames
from ksched_cli.plan.results.outcomes import PodOutcome, Simulation, Stats
from ksched_cli.plan.simulate import OutputOptions, PlacementRun, SimulationStream, outcome_of
from ksched_cli.report.encoding import compact_json
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.pods import PodPart
from ksched_cli.report.view.stream import write_stream
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod
from tests.cli.transcripts import CASE
from tests.engine.answers.test_reuse import workloads
from tests.harness import make_scheduler
from tests.lanes import examples
from tests.running import Ksched

# Not in the order of their names; two of them are the largest.
SIZES = {"d": "16", "a": "4", "c": "8", "b": "16"}
POD = make_pod("p").requests(cpu="2")


def node(name: str, cpu: str = "4") -> Any:
    return make_node(name).allocatable(cpu=cpu, memory="8Gi", pods=10)


def outcome(*items: Any, top: int = 3) -> PodOutcome:
    return Simulator.load(*(each.obj() for each in items)).simulate(top=top).pod("p")


@pytest.mark.parametrize(
    ("top", "names"),
    [
        pytest.param(1, "b", id="fewer than are tied"),
        pytest.param(2, "bd", id="those that are tied"),
        pytest.param(3, "bdc", id="one more"),
        pytest.param(4, "bdca", id="all"),
        pytest.param(9, "bdca", id="more than there are"),
        pytest.param(0, "", id="none"),
    ],
)
@pytest.mark.parametrize("more", [[], [node("closed", "32").cordoned()]], ids=["all fit", "one does not fit"])
def test_the_best_nodes(top: int, names: str, more: list[Any]) -> None:
    found = outcome(*more, *(node(*each) for each in SIZES.items()), POD, top=top)
    assert "".join(each.node for each in found.top) == names
    totals = [each.total for each in found.top]
    assert totals == sorted(totals, reverse=True)
    assert (found.node, list(found.ties), found.tied, found.feasible_nodes) == ("b", ["b", "d"], 2, 4)


def test_failures_of_most_nodes_come_first_with_the_first_three_names() -> None:
    """Of as many nodes the plugin that is first by name comes first."""
    full = [node(name, "1") for name in ("z", "x", "w", "y")]
    found = outcome(*full, node("t").taint("gpu"), node("s").label(disk="hdd").cordoned(), POD)
    assert [(each.plugin, each.nodes, each.examples) for each in found.failures] == [
        ("NodeResourcesFit", 4, ("w", "x", "y")),
        ("NodeUnschedulable", 1, ("s",)),
        ("TaintToleration", 1, ("t",)),
    ]
    assert found.unschedulable_plugins == ("NodeResourcesFit", "NodeUnschedulable", "TaintToleration")
    assert (found.feasible_nodes, found.total_nodes, found.top) == (0, 6, ())


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param("p", "default/p", id="by its name"),
        pytest.param("shop/q", "shop/q", id="by namespace and name"),
        pytest.param("q", "several pods are named q: default/q, shop/q", id="two of a name"),
        pytest.param("x", "no pod that was tried is named x: default/p, default/q, default/r, default/s, default/t, ...", id="more than five"),
    ],
)  # fmt: skip
def test_the_outcome_of_a_pod(name: str, found: str) -> None:
    pods = [*(make_pod(each).obj() for each in "pqrst"), make_pod("q", "shop").obj()]
    run = Simulator.load(node("n").obj(), *pods).simulate()
    if found.count("/") == 1:
        assert run.pod(name).pod == found
        return
    with pytest.raises(KeyError) as raised:
        run.pod(name)
    assert raised.value.args == (found,)


# What `--detail full` says about each node, named by kinds that nodes share


def streamed(outcome: PodOutcome) -> str:
    """The line of the pod in a document that is written while the cycles run."""
    stats = Stats(0, 0, 0.0, 0.0, 0.0, 0.0)
    run = PlacementRun(iter([outcome]), (), (), tuple)
    stream = SimulationStream(run, lambda kept: Simulation(kept, (), (), {}, stats), stop_on_interrupt=False)
    out = io.StringIO()
    write_stream(stream, out, RenderOptions("json"))
    return out.getvalue().splitlines()[1]


@given(workloads())
@settings(max_examples=examples(20), deadline=None)
def test_every_node_has_its_own_scores_and_its_own_failure(drawn: tuple[list[object], list[object]]) -> None:
    scheduler = make_scheduler(*drawn)  # type: ignore[arg-type]
    names = scheduler.cluster.nodes.names
    for decision in scheduler.run(scheduler.enqueue()):
        outcome = outcome_of(decision, scheduler.cluster, OutputOptions(detail=True))
        detail, table = outcome.detail, decision.scores
        assert detail is not None
        told = [
            (each.node, [(name, score.raw, score.normalized, score.weighted) for name, score in each.scores.items()])
            for each in detail.scored
        ]
        rows = [] if table is None else table.rows.tolist()
        assert told == [(names[row], list(table.scores_at(index))) for index, row in enumerate(rows) if table]
        assert decision.diagnosis is not None
        statuses = {name: decision.diagnosis.nodes.status(row) for row, name in enumerate(names)}
        failed = {name: (each.plugin, each.reasons) for name, each in detail.filters.items()}
        assert (
            failed == {name: (each.plugin, each.texts) for name, each in statuses.items() if not each.ok}
            or outcome.pre_filter
        )
        assert json.loads(streamed(outcome)) == json.loads(compact_json(PodPart.of(outcome)))


def test_a_large_document_has_a_note_about_its_size(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["simulate", "--from", str(CASE), "-o", "json", "--detail", "full"]
    assert "the document has" not in ksched(*command).err
    monkeypatch.setattr(simulate, "_LARGE", 1000)
    assert "the document has 0 MB" in ksched(*command).err


# Names of tied nodes, of which each takes a bit


NAMES = [f"n{number}" for number in (3, 11, 0, 7, 20, 1, 15, 2, 9)]


@given(rows=st.sets(st.integers(0, len(NAMES) - 1)), start=st.integers(-10, 10), stop=st.integers(-10, 10))
def test_tied_names_are_a_sequence_in_the_order_of_the_names(rows: set[int], start: int, stop: int) -> None:
    expected = sorted(NAMES[row] for row in rows)
    tied = TiedNames(NAMES, np.array(sorted(rows, key=NAMES.__getitem__), dtype=np.int64))
    assert list(tied) == expected
    assert len(tied) == len(expected)
    assert [tied[index] for index in range(-len(expected), len(expected))] == [*expected, *expected]
    assert list(tied[start:stop]) == expected[start:stop]
    assert list(tied[start:]) == expected[start:]
    assert list(tied[:stop:2]) == expected[:stop:2]
    assert tied == expected
    assert tied != [*expected, "n"]
    assert tied != "".join(expected)
    assert pickle.loads(pickle.dumps(tied)) == tuple(expected)


def test_ties_of_thousands_of_nodes_take_few_bytes() -> None:
    names = [f"node-{number:05}" for number in range(5000)]
    tied = TiedNames(names, np.arange(5000))
    assert tied._mask == b"\xff" * 625
    assert tied[-1] == "node-04999"


def test_a_brief_outcome_counts_all_ties_and_names_the_first() -> None:
    nodes = [make_node(f"n{number}").allocatable(cpu="4", memory="8Gi", pods=10).obj() for number in range(6)]
    simulator = Simulator.load(nodes, make_pod("web").requests(cpu="1").obj())
    (whole,), (brief,) = (simulator.prepared().simulate(brief_above=above).outcomes for above in (None, 0))
    assert (len(whole.ties), whole.tied) == (6, 6)
    assert (brief.ties, brief.tied) == (tuple(whole.ties[:4]), 6)
