"""`ksched simulate --settle`: from its options to a run and from the run to the screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from msgspec import Struct

from ksched_cli.cli.help_layout import OWN, Panel
from ksched_cli.cli.options import Detail
from ksched_cli.cli.showing import ExitRules, show, top_nodes
from ksched_cli.simulator import RunOptions, Simulator, settle_limits

if TYPE_CHECKING:
    from ksched_cli.simulator import Limits


class SettleOptions(Struct, frozen=True):
    """Whether to settle, and when to give up."""

    panel: ClassVar[Panel] = Panel(OWN, {"settle"})
    settle: Annotated[
        bool,
        typer.Option(
            "--settle",
            help="Go on until nothing moves: victims leave, controllers make new pods for them, backoff passes on a "
            "virtual clock. Shows the timeline and where every pod is in the end.",
        ),
    ] = False
    max_time: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Stop --settle after so much virtual time. It is written 90s or 1h30m; without it: 1h.",
        ),
    ] = None
    max_cycles: Annotated[
        int | None, typer.Option(metavar="N", help="Stop --settle after N cycles. Without it: 100000.")
    ] = None

    def limits(self) -> Limits:
        return settle_limits(self.max_time, self.max_cycles)

    def contradictions(self) -> Iterator[str]:
        if not self.settle and (self.max_time is not None or self.max_cycles is not None):
            yield "--max-time and --max-cycles are limits of --settle: give that too"


def settle_and_show(
    run: RunOptions, settling: SettleOptions, exit_rules: ExitRules, output: str, detail: Detail, *, headers: bool
) -> int:
    """The exit code."""
    limits = settling.limits()
    if output == "html":
        detail = Detail.NODES
    answers = detail is Detail.NODES
    top = top_nodes(output, node_answers=answers)
    simulator = Simulator.of(run)
    found = simulator.settle(limits, detail=detail is not Detail.SUMMARY, top=top)
    warnings, zones = found.simulation.warnings, simulator.zones
    show(found, output, warnings=warnings, headers=headers, node_answers=answers, zones=zones)
    return exit_rules.of_end(found)
