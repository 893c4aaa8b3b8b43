"""Runs the variants of a sweep in this process."""

from __future__ import annotations

from collections.abc import Generator

from ksched_cli.plan.sweep.executors.executor import RanSpan, ran
from ksched_cli.plan.sweep.runner import VariantRunner
from ksched_cli.plan.sweep.spans import Spans
from ksched_cli.plan.sweep.task import SweepTask


class InProcess:
    """One variant after the other."""

    name, workers = "in-process", 1

    def run(self, task: SweepTask, spans: Spans, here: VariantRunner) -> Generator[RanSpan, None, None]:
        while (span := spans.hand_out()) is not None:
            result = ran(here, span)
            spans.measured(span, result.seconds)
            yield result
