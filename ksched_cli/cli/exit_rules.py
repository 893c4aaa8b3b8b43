"""The exit code of `simulate`, and the options of `simulate` and `check` that change the exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ksched_cli.cli.options import FailOn
from ksched_cli.cli.showing import SOME_DO_NOT_FIT

if TYPE_CHECKING:
    from ksched_cli.simulator import SettledSimulation, Simulation


def contradictions(fail_on: Sequence[FailOn], *, exit_zero: bool) -> Iterator[str]:
    if exit_zero and fail_on:
        yield "--exit-zero and --fail-on contradict each other: give one of them"


class ExitRules(Struct, frozen=True):
    """What makes the exit code stricter, or 0."""

    fail_on: Sequence[FailOn] = ()
    exit_zero: bool = False

    def of_cycles(self, found: Simulation) -> int:
        """0 when every pod fits, also where it has to preempt."""
        bad = bool(found.refused or found.unplaced)
        return self._code(bad, preempts=bool(found.preempting), warned=bool(found.warnings))

    def of_end(self, found: SettledSimulation) -> int:
        """0 when every pod has its node in the end; 1 also where the end was not reached."""
        bad = bool(found.simulation.refused or not found.settled or found.unplaced)
        return self._code(bad, preempts=found.preempting, warned=bool(found.simulation.warnings))

    def _code(self, bad: bool, *, preempts: bool, warned: bool) -> int:
        bad = bad or (FailOn.PREEMPTION in self.fail_on and preempts) or (FailOn.WARNING in self.fail_on and warned)
        return SOME_DO_NOT_FIT if bad and not self.exit_zero else 0
