"""Sections about pods: a table, and the details of the pod that the reader chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.report.html.model import PageHeading, PageSection, Tone, headings, table_data
from ksched_cli.report.html.nodes import PodAnswers

_MOST_NODES = 10


def pods_section(
    name: str,
    title: str,
    columns: Sequence[PageHeading],
    rows: Sequence[Sequence[Any]],
    details: Sequence[Mapping[str, Any]],
    legend: Mapping[str, Any] | None = None,
    order: Sequence[int] | None = None,
    *,
    tones: Mapping[str, Tone] | None = None,
) -> PageSection:
    """The section of a table of pods. `details` come from `PodDetails`; `order` has the number of the details of each
    row."""
    data = table_data(title, columns, rows, tones)
    order = range(len(rows)) if order is None else order
    data = {"table": data, "pods": list(details), "order": list(order), **(legend or {})}
    return PageSection(name, title, "pods", data)


def pod_section(
    name: str,
    title: str,
    pod: str,
    result: str,
    detail: Mapping[str, Any],
    legend: Mapping[str, Any],
    tones: Mapping[str, Tone],
) -> PageSection:
    """The section of one pod."""
    data = table_data(title, headings("Pod; Result: badge"), [[pod, result]], tones)
    return PageSection(name, title, "pod", {"table": data, "pods": [detail], "order": [0], **legend})


class PodDetails:
    """The details of each pod that was tried, and the lists that these details refer to by number."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._answers = PodAnswers(document)
        self._plugins: dict[str, int] = {}

    @property
    def legend(self) -> dict[str, Any]:
        """`failures` has plugin and text of failure 1 and so on, `plugins` the names of plugins from 0 on."""
        return {"failures": self._answers.failures, "plugins": list(self._plugins)}

    def of(self, number: int, entry: Mapping[str, Any]) -> dict[str, Any]:
        """The details of a pod. `number` is its place in the document."""
        found = self._answers.of(number, entry)
        detail = {
            "message": entry.get("message", ""),
            "to": entry.get("node", ""),
            "nominated": entry.get("nominatedNode", ""),
            "ties": len(entry.get("ties", ())),
            "whole": _failure(entry["preFilter"]) if "preFilter" in entry else None,
            "answers": found,
            "groups": [] if found else [_group(each) for each in entry.get("failures", [])],
            "top": [self._scored(each) for each in _top(entry)],
            "preemption": entry.get("preemption"),
            "missing": entry.get("missing", ()),
        }
        return {key: value for key, value in detail.items() if value}

    def _scored(self, node: Mapping[str, Any]) -> list[Any]:
        """The name and total of a node, and the number of each plugin with its raw, normalised and weighted score."""
        scores = [
            [self._plugins.setdefault(plugin, len(self._plugins)), each["raw"], each["normalized"], each["weighted"]]
            for plugin, each in node["scores"].items()
        ]
        return [node["node"], node["total"], scores]


def _failure(failure: Mapping[str, Any]) -> list[str]:
    return [failure["plugin"], ", ".join(failure["reasons"])]


def _group(group: Mapping[str, Any]) -> list[Any]:
    return [*_failure(group), group["nodes"], group["examples"]]


def _top(entry: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The best nodes, in the form of a document without full detail."""
    if "top" in entry:
        top: Sequence[Mapping[str, Any]] = entry["top"]
        return top
    best = sorted(entry.get("totals", {}).items(), key=lambda item: (-item[1], item[0]))[:_MOST_NODES]
    return [{"node": node, "total": total, "scores": entry["scores"][node]} for node, total in best]
