"""The cheapest node of a catalog that gives one pending pod a place."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct, field

from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.size.classes import Surveyor
from ksched_cli.plan.size.shapes import ShapeCatalog
from ksched_cli.plan.size.trials import SizingTrials


class HelpingNode(Struct, frozen=True):
    """`shape` is empty if no single node helps; `reasons` has the rejections by shape, for those that cost less or for
    all."""

    shape: str
    price: Decimal
    unit: str
    reasons: Mapping[str, str] = field(default_factory=dict)


def find_helping_node(source: LoadedInput, catalog: ShapeCatalog, pod: str) -> HelpingNode | None:
    """Try the shapes in the order of their prices. None if the pod is not one that waits for a node."""
    trials = SizingTrials(source, source.scheduler())
    row = next((row for row in trials.pending if trials.info(row).key == pod), None)
    if row is None:
        return None
    reasons: dict[str, str] = {}
    judged = Surveyor(trials, catalog).judge_on_shapes(row)
    for shape, _, why in sorted(judged, key=lambda each: each[0].price):
        if not why:
            attempt = trials.run({shape: 1})
            if row in attempt.on:
                return HelpingNode(shape.title, shape.price, catalog.unit, reasons)
            why = next((each.message for each in attempt.unplaced if each.row == row), "")
        reasons[shape.title] = why
    return HelpingNode("", Decimal(0), catalog.unit, reasons)
