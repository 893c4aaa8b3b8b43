"""What is said about NodeResourcesFit's rejections, and how they may be ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.amounts import amount_text
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.rejections import C, Figures, RejectedPod, RejectionGuide, joined
from ksched_cli.plugins.node_resources_fit.lower_requests import lower_requests

_NAMED = 3


class FitGuide(RejectionGuide):
    easily_mended = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(_resource(name, each) for name, each in figures.items())

    def describe_briefly(self, figures: Figures) -> str:
        return f"short by {joined([_short(name, each) for name, each in figures.items()])}"

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        if not figures:
            yield from super().problems(reasons, figures, cordoned=cordoned)
        for name in figures:
            yield "are full (pods)" if name == "pods" else f"lack {name}"

    def shortage(self, figures: Figures) -> float:
        """In proportion to what the pod asks for."""
        return sum((float(each["short"]) / max(each["asked"], 1) for each in figures.values()), 0.0)

    def is_other_kind_of_node(self, reasons: Sequence[Reason], *, unresolvable: bool) -> bool:
        """Only some nodes offer an extended resource at all."""
        return unresolvable and any("/" in reason.param("resource") for reason in reasons)

    def ends_on_empty_node(self, figures: Figures) -> bool:
        return all(each["asked"] <= each["allocatable"] for each in figures.values())

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        if "pods" not in figures:
            lowered = lower_requests(place.pod, {name: each["free"] for name, each in figures.items()})
            yield [place.patch(each.text, each.kind, each.cost, *each.operations) for each in lowered]
        if self.ends_on_empty_node(figures):
            for change in place.make_room({name: each["short"] for name, each in figures.items()}):
                yield [change]


def _short(resource: str, figures: Mapping[str, Any]) -> str:
    if resource == "pods":
        return f"{figures['short']} pod{'' if figures['short'] == 1 else 's'}"
    return f"{amount_text(resource, figures['short'])} {resource}"


def _resource(name: str, figures: Mapping[str, Any]) -> str:
    if name == "pods":
        return f"full: {figures['used']} of {figures['allocatable']} pods"

    def text(amount: int) -> str:
        return amount_text(name, amount)

    if not figures["allocatable"]:
        return f"{name}: asks {text(figures['asked'])}, the node has none"
    line = (
        f"{name}: asks {text(figures['asked'])}, {text(max(figures['free'], 0))} free of {text(figures['allocatable'])}"
    )
    if figures["asked"] > figures["allocatable"]:
        return f"{line}, too much even if it were empty"
    holders = [f"{each['pod']} {text(each['amount'])}" for each in figures.get("heldBy", ())]
    rest = figures.get("heldByOthers", {"pods": 0})["pods"] + max(len(holders) - _NAMED, 0)
    more = f", {rest} more" if rest else ""
    return f"{line} (held by {', '.join(holders[:_NAMED])}{more})" if holders else line
