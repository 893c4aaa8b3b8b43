"""From a result to the screen and to the exit code, and the options that change the exit code."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from ksched_cli.cli.options import FailOn
from ksched_cli.cli.streams import command_line, warn

if TYPE_CHECKING:
    from ksched_cli.simulator import Check, SettledSimulation, Simulation


SOME_DO_NOT_FIT = 1
NO_ZONES: Mapping[str, str] = MappingProxyType({})


def show(
    result: object,
    output: str,
    *,
    warnings: Iterable[str] = (),
    headers: bool = True,
    timeline: bool = False,
    node_answers: bool = False,
    zones: Mapping[str, str] = NO_ZONES,
) -> None:
    """Write the warnings to stderr and the result to stdout. With the `zones`, a table on a terminal has short node
    names."""
    warn(warnings)
    from ksched_cli.report.registry import RenderOptions, render
    from ksched_cli.report.visible import ShownNodes

    short = output == "table" and sys.stdout.isatty()
    nodes = ShownNodes.shortened(zones) if short else ShownNodes(zones)
    options = RenderOptions(output, headers, None, timeline, node_answers, command_line.get(), nodes)
    render(result, sys.stdout, options)


@contextmanager
def collector_off() -> Iterator[None]:
    """For loading: what is loaded stays to the end, so that the garbage collector need not look at it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def fail_on_contradictions(fail_on: Sequence[FailOn], *, exit_zero: bool) -> Iterator[str]:
    if exit_zero and fail_on:
        yield "--exit-zero and --fail-on contradict each other: give one of them"


class ExitRules(Struct, frozen=True):
    """What makes the exit code stricter, or 0."""

    fail_on: Sequence[FailOn] = ()
    exit_zero: bool = False

    def of_cycles(self, found: Simulation) -> int:
        """0 when every pod fits, also where it has to preempt."""
        helped = found.provisioned
        bad = bool(found.refused) or any(outcome.pod not in helped for outcome in found.unplaced)
        bad |= self._adds_nodes(found)
        return self._code(bad, preempts=bool(found.preempting), warned=bool(found.warnings))

    def of_end(self, found: SettledSimulation) -> int:
        """0 when every pod has its node in the end; 1 also where the end was not reached."""
        bad = bool(found.simulation.refused or not found.settled or found.unplaced)
        bad |= self._adds_nodes(found.simulation)
        return self._code(bad, preempts=found.preempting, warned=bool(found.simulation.warnings))

    def of_check(self, found: Check) -> int:
        """0 when no finding is an error. Preemptions are errors already if they are to fail the check."""
        bad = bool(found.count("error")) or self._adds_nodes(found)
        return self._code(bad, preempts=False, warned=bool(found.warnings or found.count("warning")))

    def _adds_nodes(self, found: Simulation | Check) -> bool:
        """Whether the run adds a node, which it must not."""
        return FailOn.NEW_NODE in self.fail_on and bool(found.autoscaling and found.autoscaling.new_nodes)

    def _code(self, bad: bool, *, preempts: bool, warned: bool) -> int:
        bad = bad or (FailOn.PREEMPTION in self.fail_on and preempts) or (FailOn.WARNING in self.fail_on and warned)
        return SOME_DO_NOT_FIT if bad and not self.exit_zero else 0
