"""A sweep as it is run: its dimensions, which multiply, and how many of their products are tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.whatif.edits.lib.registry import specs_by_flag
from ksched_cli.whatif.scenario.model import Expectation

DEFAULT_WORST = 10


class Failing(Struct, frozen=True):
    """Every choice of `count` nodes, zones, regions or values of a label fails, or the one with this name."""

    what: str
    count: int = 1
    name: str = ""

    def __str__(self) -> str:
        more = self.name or (str(self.count) if self.count > 1 else "")
        return f"{self.what}:{more}" if more else self.what


class EditRange(Struct, frozen=True):
    """One edit of the command line with each number of a range. `edits` has the edit of each number, None for a number
    that changes nothing."""

    flag: str
    subject: str
    first: int
    edits: tuple[Edit | None, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.edits) - 1

    def __str__(self) -> str:
        return f"{self.subject}={self.first}..{self.last}"


class GridPoint(Struct, frozen=True):
    """One KubeSchedulerConfiguration, and the parameters that it differs in from the others."""

    parameters: Mapping[str, Any]
    configuration: Mapping[str, Any]


class Sweep(Struct, frozen=True):
    """`orders` and `ties` are numbers of random orders and random tie-breaks. `sample` draws so many variants with
    `seed`. `worst` is how many of the worst variants the result lists; with `keeps_worst` it keeps their documents."""

    name: str = ""
    failing: Failing | None = None
    orders: int = 0
    ties: int = 0
    grid: tuple[GridPoint, ...] = ()
    kube_versions: tuple[str, ...] = ()
    edits: tuple[EditRange, ...] = ()
    sample: int | None = None
    seed: int = 0
    worst: int = DEFAULT_WORST
    keeps_worst: bool = False
    expectations: tuple[Expectation, ...] = field(default=())

    @property
    def has_dimension(self) -> bool:
        return bool(self.failing or self.orders or self.ties or self.grid or self.kube_versions or self.edits)


def dimensions_of(sweep: Sweep) -> dict[str, Any]:
    """Each dimension by the name that it has in a sweep file."""
    edits: dict[str, list[str]] = {}
    for each in sweep.edits:
        edits.setdefault(specs_by_flag()[each.flag].key, []).append(str(each))
    found: dict[str, Any] = {
        "kubeVersion": list(sweep.kube_versions),
        "grid": [dict(each.parameters) for each in sweep.grid],
        **edits,
        "orders": sweep.orders,
        "ties": sweep.ties,
        "fail": str(sweep.failing) if sweep.failing else "",
    }
    return {key: value for key, value in found.items() if value}
