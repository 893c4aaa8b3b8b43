"""What may stand in a sweep file. The JSON Schema is made of these types, so that the two cannot part."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT
from ksched_cli.whatif.scenario.document import ExpectDocument

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
