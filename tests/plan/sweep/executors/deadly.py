"""A variant that kills the process that runs it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from typing import Any

from ksched_cli.plan.sweep.statistics import VariantRow
from ksched_cli.plan.sweep.trials import VariantRunner


class DeadlySource:
    """The process that unpickles it dies when it runs this variant."""

    def __init__(self, source: Any, variant: int) -> None:
        self._source, self._variant = source, variant
        self.digest = source.digest

    def under(self, grid: int, version: int) -> Any:
        return self._source.under(grid, version)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        run = VariantRunner.run

        def deadly(runner: VariantRunner, numbers: Iterable[int]) -> Iterator[VariantRow]:
            for number in numbers:
                if number == self._variant:
                    os.kill(os.getpid(), signal.SIGKILL)
                yield from run(runner, [number])

        VariantRunner.run = deadly  # type: ignore[method-assign]
