"""What a worker needs for a sweep: it is sent once, and then variants are numbers."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.sweep.space import VariantSpace


class SweptInput(Protocol):
    """The cluster of a sweep. It can be pickled."""

    @property
    def digest(self) -> str:
        """The same for the same cluster under the same options."""

    def under(self, grid: int, version: int) -> LoadedInput:
        """The input with the configuration and the minor of these indexes, -1 for those of the options."""


class SweepTask(Struct, frozen=True):
    """The variants and the cluster. `namespace` is where a name is looked for first that comes without one."""

    space: VariantSpace
    source: SweptInput
    namespace: str = ""
