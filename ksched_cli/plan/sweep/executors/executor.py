"""What every executor does: it runs spans of variants and returns their rows as they come."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Protocol

from msgspec import Struct

from ksched_cli.memory import peak_mib
from ksched_cli.plan.sweep.rows import encode_rows
from ksched_cli.plan.sweep.runner import VariantRunner
from ksched_cli.plan.sweep.spans import Spans
from ksched_cli.plan.sweep.task import SweepTask


class RanSpan(Struct, frozen=True):
    """The rows of a span as lines of JSON, how long they took, and the most memory that the worker has held."""

    span: range
    lines: bytes
    seconds: float
    peak_mib: float


class Executor(Protocol):
    """`name` and `workers` are for the statistics of the result."""

    name: str
    workers: int

    def run(self, task: SweepTask, spans: Spans, here: VariantRunner) -> Generator[RanSpan, None, None]:
        """Run all spans, in any order. When the iterator is closed, everything that it started has ended. `here` is a
        runner of this process, whose cluster is loaded."""


def ran(runner: VariantRunner, span: range) -> RanSpan:
    """Run the span here."""
    started = time.perf_counter()
    lines = encode_rows(runner.run(span))
    return RanSpan(span, lines, time.perf_counter() - started, peak_mib())
