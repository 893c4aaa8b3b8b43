"""The page of `rightsize`: what the pods of each workload may request, now and on each shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ksched_cli.report.html.model import Page, PageHeading, PageSection, Tone, counting, table
from ksched_cli.report.html.nodes import node_columns, node_map
from ksched_cli.report.html.words import count


def page(document: Mapping[str, Any]) -> Page:
    workloads = document["workloads"]
    pods, placed = sum(each["pods"] for each in workloads), sum(each["placed"] for each in workloads)
    tone: Tone = "good" if placed == pods else "bad"
    figures = [
        counting(len(workloads), "workload"),
        counting(placed, "pod", "with room now", "good" if placed else "plain"),
        counting(pods - placed, "pod", "without room now", "bad" if placed < pods else "plain"),
    ]
    sections = [
        *node_map(document, intro=_MAP),
        *_now(workloads),
        *(section for each in workloads for section in _shapes(each, document["unit"])),
    ]
    notes = list(_notes(workloads))
    return Page("rightsize", tone, _verdict(pods, placed), notes, figures, sections, node_columns(document))


_MAP = "A cell is a node. The darker part is what pending pods take, with the requests as they are."


def _verdict(pods: int, placed: int) -> str:
    if placed == pods:
        return f"Every pod fits with the requests as they are: {count(pods, 'pod')}."
    return f"{placed:,} of {count(pods, 'pod')} fit with the requests as they are."


def _notes(workloads: list[Mapping[str, Any]]) -> Iterator[str]:
    for each in workloads:
        if each.get("message"):
            yield f"{each['workload']}: {each['message']}"


def _now(workloads: list[Mapping[str, Any]]) -> list[PageSection]:
    names = ("Workload", "Pods", "Fit now", "Cpu", "Cpu up to", "Memory", "Memory up to")
    columns = [PageHeading(name, "number" if name in ("Pods", "Fit now") else "text") for name in names]
    rows = [
        [
            each["workload"],
            each["pods"],
            each["placed"],
            each["requests"].get("cpu", "0"),
            each["most"].get("cpu", "does not fit"),
            each["requests"].get("memory", "0"),
            each["most"].get("memory", "does not fit"),
        ]
        for each in workloads
    ]
    return [table("now", "What each pod requests, and may request now", columns, rows)]


def _shapes(workload: Mapping[str, Any], unit: str) -> list[PageSection]:
    price = f"{unit} a pod".strip()
    names = ("Shape", "Pods", "Each up to", "One more at", "Stranded", price, "Why none")
    columns = [PageHeading(name, "number" if name == "Pods" else "text", hides_zeros=name == price) for name in names]
    rows = [
        [
            fit["shape"],
            fit["pods"],
            _amounts(fit.get("most", {})),
            _amounts(fit.get("oneMore", {})),
            _amounts(fit.get("stranded", {})),
            fit.get("pricePerPod", ""),
            fit.get("whyNot", ""),
        ]
        for fit in workload["shapes"]
    ]
    title = f"{workload['workload']} on an empty node of each shape"
    return [table(f"shapes-{workload['workload']}".replace("/", "-"), title, columns, rows)] if rows else []


def _amounts(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{resource} {amount}" for resource, amount in amounts.items() if amount != "0")
