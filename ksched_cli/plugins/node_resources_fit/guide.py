"""Texts about NodeResourcesFit's rejections, and changes that may end them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.listing import joined
from ksched_cli.api.quantity import amount_text
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.rejections import C, Figures, RejectedPod, RejectionGuide
from ksched_cli.plugins.node_resources_fit.lower_requests import lower_requests

_NAMED = 3


class FitGuide(RejectionGuide):
    easily_mended = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(_resource(name, each) for name, each in figures.items())

    def describe_briefly(self, figures: Figures) -> str:
        return f"short by {joined([_short(name, each) for name, each in figures.items()])}"

    def describe_limits(self, figures: Figures) -> str:
        """`The pod requests cpu 4; the closest node has 3920m in all.`"""
        over = {name: each for name, each in figures.items() if name != "pods" and each["asked"] > each["allocatable"]}
        wanted = [f"{name} {amount_text(name, each['asked'])}" for name, each in over.items()]
        there = [amount_text(name, each["allocatable"]) for name, each in over.items()]
        return f"The pod requests {joined(wanted)}; the closest node has {joined(there)} in all." if over else ""

    def describe_nodes(self, figures: Sequence[Figures]) -> str:
        """`Insufficient cpu: needs 2.5, free 0.3-2.1`."""
        names = dict.fromkeys(name for each in figures for name in each)
        return "; ".join(_resource_of_nodes(name, [each[name] for each in figures if name in each]) for name in names)

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        if not figures:
            yield from super().problems(reasons, figures, cordoned=cordoned)
        for name in figures:
            yield "are full (pods)" if name == "pods" else f"lack {name}"

    def shortage(self, figures: Figures) -> float:
        """The shortage in proportion to the pod's requests."""
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


def _resource_of_nodes(name: str, figures: Sequence[Mapping[str, Any]]) -> str:
    """The range of what is free on several nodes."""
    if name == "pods":
        return f"full: {_range(name, [each['used'] for each in figures])} pods run"
    needed = _range(name, [each["asked"] for each in figures])
    if not any(each["allocatable"] for each in figures):
        return f"{name}: needs {needed}, {'the node has' if len(figures) == 1 else 'the nodes have'} none"
    line = f"Insufficient {name}: needs {needed}, free {_range(name, [max(each['free'], 0) for each in figures])}"
    hopeless = all(each["asked"] > each["allocatable"] for each in figures)
    return f"{line}, too much even for an empty node" if hopeless else line


def _range(name: str, amounts: Sequence[int]) -> str:
    """`0.3-2.1`; one amount if all are the same. Amounts of cpu are in cores."""
    texts = [f"{amount / 1000:g}" if name == "cpu" else amount_text(name, amount) for amount in sorted(set(amounts))]
    return texts[0] if len(texts) == 1 else f"{texts[0]}-{texts[-1]}"
