"""What `--detail full` says of each node, told by kinds that nodes share."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings

from ksched_cli.cli import simulate
from ksched_cli.plan.results.outcomes import PodOutcome, Simulation, Stats
from ksched_cli.plan.simulate import OutputOptions, PlacementRun, SimulationStream, outcome_of
from ksched_cli.report.encoding import compact_json
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.pods import PodPart
from ksched_cli.report.view.stream import write_stream
from tests.cli.transcripts import CASE
from tests.engine.answers.test_reuse import workloads
from tests.harness import make_scheduler
from tests.lanes import examples
from tests.running import Ksched


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
