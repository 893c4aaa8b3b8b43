"""The dimensions of a sweep, whose values are combined, and how many of the combinations are tried.

The `...Document` types are what may stand in a sweep file. Its JSON Schema is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.whatif.edits.lib.registry import specs_by_flag
from ksched_cli.whatif.scenario.document import ExpectDocument
from ksched_cli.whatif.scenario.model import Expectation

KIND = "Sweep"

Texts = str | tuple[str, ...]


class GridDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Values to try in every profile of the configuration; all their combinations are tried."""

    weights: Annotated[
        dict[str, tuple[int, ...]], Meta(description="Score plugin to weights; 0 disables its score.")
    ] = {}
    strategies: Annotated[
        tuple[str, ...], Meta(description=f"scoringStrategy.type of {NODE_RESOURCES_FIT}, such as MostAllocated.")
    ] = ()
    arguments: Annotated[
        dict[str, dict[str, tuple[Any, ...]]],
        Meta(description="Plugin to argument to values; the argument is a path such as scoringStrategy.type."),
    ] = {}


class DimensionsDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Dimensions multiply: every combination of their values is a variant."""

    fail: Annotated[
        str | None,
        Meta(description="node, zone, region or label=KEY; node:2 is every pair of nodes, zone:NAME one zone."),
    ] = None
    orders: Annotated[int | None, Meta(description="How many random orders of arrival of the pending pods.")] = None
    ties: Annotated[int | None, Meta(description="How many random choices among nodes with equal scores.")] = None
    grid: Annotated[
        str | GridDocument | None,
        Meta(description="Scheduler configurations to try, here or in a file beside this one."),
    ] = None
    kube_version: Annotated[Texts | None, Meta(description="Minors to try: FIRST..LAST, or a list.")] = None
    add_node: Annotated[Texts, Meta(description="TEMPLATE=A..B, the template as behind --add-node.")] = ()
    clone_node: Annotated[Texts, Meta(description="NODE=A..B: so many new nodes like a node.")] = ()
    scale: Annotated[Texts, Meta(description="KIND/NAME=A..B: so many replicas.")] = ()


class SweepMetadata(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""


class SweepDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Variants of one cluster, each tried by itself."""

    api_version: str = ""
    kind: str = ""
    metadata: SweepMetadata = SweepMetadata()
    dimensions: DimensionsDocument = DimensionsDocument()
    expect: Annotated[ExpectDocument, Meta(description="What has to hold at the end of every variant.")] = (
        ExpectDocument()
    )
    sample: Annotated[int | None, Meta(description="Try so many of the variants, drawn with the seed.")] = None
    seed: Annotated[int, Meta(description="For orders, tie-breaks and the sample.")] = 0
    keep_worst: Annotated[int | None, Meta(description="Keep the full documents of so many of the worst variants.")] = (
        None
    )


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
