"""From options to a run and from a run to the screen; what `simulate` and `demo` share."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

from ksched_cli.cli.options import Detail, FailOn, Output
from ksched_cli.cli.printing import complain, print_row, warn
from ksched_cli.progress import listen

if TYPE_CHECKING:
    from ksched_cli.plan.results import PodOutcome, Simulation
    from ksched_cli.wiring import RunOptions

SOME_DO_NOT_FIT = 1
# Characters of a document past which its size is worth a note.
_LARGE = 100_000_000


@dataclass(frozen=True)
class Shown:
    """How the result is to be shown and judged."""

    output: Output = Output.TABLE
    detail: Detail = Detail.SUMMARY
    headers: bool = True
    exit_zero: bool = False
    fail_on: Sequence[FailOn] = ()
    width: int | None = None


def run_and_show(setup: RunOptions, shown: Shown) -> int:
    """The whole command; its exit code."""
    from ksched_cli.simulator import Simulator

    # What is read stays to the end: the collector need not go through it while it comes in, nor later.
    gc.disable()
    if shown.output is Output.JSON and sys.stdout.isatty():
        # A bar and a document that is written meanwhile do not fit on one terminal.
        listen(None)
    prepared = Simulator.of(setup, sys.stdin.buffer).prepared()
    gc.freeze()
    gc.enable()
    warn(prepared.warnings)
    if shown.output is Output.JSON:
        return _stream_json(prepared, shown, sys.stdout)
    simulation = prepared.simulate(detail=shown.detail is Detail.FULL, top=_top(shown))
    _show(simulation, shown)
    return verdict(simulation.outcomes, simulation.warnings, shown, refused=bool(simulation.refused))


def show_document(document: Mapping[str, Any], output: Output) -> None:
    """A whole document as JSON or YAML."""
    from ksched_cli.report.encoding import write_json, write_yaml

    (write_yaml if output is Output.YAML else write_json)(document, sys.stdout)


def _top(shown: Shown) -> int:
    return 10 if shown.output is Output.WIDE else 3


def _stream_json(prepared: Prepared, shown: Shown, out: TextIO) -> int:
    """Pod by pod, so that a document of a million nodes' verdicts is never held in memory."""
    from ksched_cli.report.simulate_document import JsonStream

    placement = prepared.place(detail=shown.detail is Detail.FULL, top=_top(shown))
    stream = JsonStream(out)
    failing: list[PodOutcome] = []
    unplaced: dict[str, PodOutcome] = {}
    count = 0
    for outcome in placement.outcomes:
        stream.pod(outcome)
        count += 1
        if not outcome.node:
            unplaced[outcome.pod] = replace(outcome, detail=None)
        if outcome.unplaced or outcome.preemption:
            failing.append(outcome)
    stats = prepared.stats(count, placement.clock.seconds)
    groups = placement.pod_groups()
    final = prepared.final(unplaced, placement.gated)
    stream.close(placement.gated, placement.ignored, prepared.coverage, stats, prepared.refused, groups, final)
    if stream.characters > _LARGE:
        complain(f"the document has {stream.characters / 1e6:,.0f} MB; without --detail full it is much smaller")
    return verdict(failing, prepared.warnings, shown, refused=bool(prepared.refused))


def _show(simulation: Simulation, shown: Shown) -> None:
    if shown.output is Output.YAML:
        from ksched_cli.report.simulate_document import simulation_document

        show_document(simulation_document(simulation), Output.YAML)
    elif shown.output is Output.NAME:
        for outcome in simulation.outcomes:
            print_row(f"pod/{outcome.pod}", f"node/{outcome.node}" if outcome.node else "-")
    else:
        from ksched_cli.report.console import make_console
        from ksched_cli.report.simulate_table import print_simulation

        wide = shown.output is Output.WIDE
        print_simulation(simulation, make_console(shown.width), wide=wide, headers=shown.headers)


def verdict(outcomes: Sequence[PodOutcome], warnings: Sequence[str], shown: Shown, *, refused: bool = False) -> int:
    """0 when every pod fits, be it by preemption; --fail-on is stricter and --exit-zero says 0 to all. `refused`: some
    pod was not even let in."""
    bad = (
        refused
        or any(outcome.unplaced for outcome in outcomes)
        or (FailOn.PREEMPTION in shown.fail_on and any(outcome.preemption for outcome in outcomes))
        or (FailOn.WARNING in shown.fail_on and bool(warnings))
    )
    return SOME_DO_NOT_FIT if bad and not shown.exit_zero else 0


if TYPE_CHECKING:
    from ksched_cli.wiring import Prepared
