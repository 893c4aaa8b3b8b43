"""Runs the variants of a sweep here, and on all cores as soon as that is worth the start of processes."""

from __future__ import annotations

from collections.abc import Generator

from ksched_cli.forks import core_count
from ksched_cli.plan.sweep.executors.executor import RanSpan, ran
from ksched_cli.plan.sweep.executors.in_process import InProcess
from ksched_cli.plan.sweep.executors.processes import Processes
from ksched_cli.plan.sweep.runner import VariantRunner
from ksched_cli.plan.sweep.spans import Spans
from ksched_cli.plan.sweep.task import SweepTask

# A sweep that takes no longer is over before the processes have loaded the cluster.
_WORTH_SECONDS = 5.0


class Cores:
    """`name` and `workers` are those of the executor that it has chosen."""

    def __init__(self) -> None:
        self.name, self.workers = InProcess.name, InProcess.workers

    def run(self, task: SweepTask, spans: Spans, here: VariantRunner) -> Generator[RanSpan, None, None]:
        cores = core_count()
        while cores == 1 or spans.seconds_left() <= _WORTH_SECONDS:
            span = spans.hand_out()
            if span is None:
                return
            result = ran(here, span)
            spans.measured(span, result.seconds)
            yield result
        processes = Processes(cores)
        self.name, self.workers = processes.name, processes.workers
        yield from processes.run(task, spans, here)
