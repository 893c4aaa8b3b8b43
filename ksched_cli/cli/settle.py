"""`ksched simulate --settle`: from its options to a run and from the run to the screen."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from ksched_cli.cli.options import Detail, FailOn, Output
from ksched_cli.cli.printing import print_row, warn
from ksched_cli.cli.running import SOME_DO_NOT_FIT, Shown, show_document
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.wiring import RunOptions
    from ksched_cli.world.results import Limits, WorldResult

Settle = Annotated[
    bool,
    typer.Option(
        "--settle",
        help="Go on until nothing moves: victims leave, controllers make new pods for them, backoff passes on a "
        "virtual clock. Shows the timeline and where every pod is in the end.",
    ),
]
MaxTime = Annotated[
    Optional[str],  # noqa: UP045  # typer reads the annotation at run time
    typer.Option(
        "--max-time",
        metavar="DURATION",
        help="With --settle: stop after so much virtual time, such as 90s or 1h30m. Without it: 1h.",
        show_default=False,
    ),
]
MaxCycles = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--max-cycles", metavar="N", help="With --settle: stop after N cycles. Without it: 100000.", show_default=False
    ),
]


@dataclass(frozen=True)
class SettleOptions:
    """Whether to settle, and when to give up."""

    settle: Settle = False
    max_time: MaxTime = None
    max_cycles: MaxCycles = None

    def limits(self) -> Limits:
        from ksched_cli.config.durations import parse_duration
        from ksched_cli.world.results import Limits

        given = Limits()
        seconds = given.max_time if self.max_time is None else parse_duration(self.max_time)
        if seconds is None or seconds <= 0:
            raise UsageError(f"--max-time {self.max_time}: not a length of time; it is written 90s, 10m or 1h30m")
        if self.max_cycles is not None and self.max_cycles < 1:
            raise UsageError(f"--max-cycles {self.max_cycles}: must be at least 1")
        return Limits(seconds, given.max_cycles if self.max_cycles is None else self.max_cycles)

    def check(self) -> None:
        if not self.settle and (self.max_time is not None or self.max_cycles is not None):
            raise UsageError("--max-time and --max-cycles are limits of --settle: give that too")


def settle_and_show(setup: RunOptions, limits: Limits, shown: Shown) -> int:
    """The whole command; its exit code."""
    from ksched_cli.wiring.settling import settle_cluster

    wide = shown.output is Output.WIDE
    full = shown.detail is Detail.FULL
    simulation, settled = settle_cluster(setup, limits, sys.stdin.buffer, detail=full, top=10 if wide else 3)
    found = settled.world
    warn(simulation.warnings)
    if shown.output in (Output.JSON, Output.YAML):
        from ksched_cli.report.settle import settlement_entries
        from ksched_cli.report.simulate_document import simulation_document

        show_document({**simulation_document(simulation), **settlement_entries(found)}, shown.output)
    elif shown.output is Output.NAME:
        for pod in found.moved:
            print_row(f"pod/{pod.pod}", f"node/{pod.node}" if pod.node else "-")
    else:
        from ksched_cli.report.console import make_console
        from ksched_cli.report.settle import print_settlement
        from ksched_cli.report.simulate_table import print_groups, print_omissions, print_others, timings_table

        console = make_console(shown.width)
        print_settlement(found, console, wide=wide, headers=shown.headers)
        print_others(simulation, console)
        print_groups(simulation, console)
        print_omissions(simulation.coverage, console)
        if simulation.stats.timings:
            console.print()
            console.print(timings_table(simulation.stats.timings, shown.headers))
    return _verdict(found, shown, refused=bool(simulation.refused), warned=bool(simulation.warnings))


def _verdict(found: WorldResult, shown: Shown, *, refused: bool, warned: bool) -> int:
    """0 when every pod has its node in the end; 1 also where the end was not reached."""
    bad = (
        refused
        or not found.settled
        or bool(found.unplaced)
        or (FailOn.PREEMPTION in shown.fail_on and found.preempting)
        or (FailOn.WARNING in shown.fail_on and warned)
    )
    return SOME_DO_NOT_FIT if bad and not shown.exit_zero else 0
