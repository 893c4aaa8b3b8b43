"""The end of every page: the command line, what the result does not take into account, and how long the run took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

# The keys of `coverage` in words.
_WORDS = {
    "kubeVersion": "Answers as Kubernetes",
    "kubeVersionNotModelled": "Version that is not modelled",
    "kubeVersionReadFromSource": "Rules read from the source, not recorded",
    "notRead": "Kinds that were not read",
    "missing": "Kinds that the cluster did not show",
    "admissionNotModelled": "Admission that is not modelled",
    "autoscalersNotModelled": "Autoscaling that is not modelled",
    "jobsNotModelled": "Fields of Jobs that are not modelled",
    "podGroupsNotModelled": "Rules of pod groups that are not modelled",
    "pluginsNotModelled": "Plugins that are not modelled",
    "featureGatesNotModelled": "Feature gates that are not modelled",
    "extendersNotCalled": "Extenders that were not called",
    "extendersCouldChange": "What the extenders could change",
    "extenders": "Extenders",
}


class Provenance(Struct, frozen=True):
    """The data of the end of a page. `command` is empty for a document that Python code made."""

    command: str
    version: str
    time: str
    coverage: Sequence[tuple[str, str]]
    stats: Sequence[tuple[str, str]]
    warnings: Sequence[str]


def provenance(document: Mapping[str, Any]) -> Provenance:
    """The data about the run that made the document."""
    run = document.get("run", {})
    return Provenance(
        run.get("command", ""),
        run.get("version", ""),
        run.get("time", ""),
        list(_coverage(document.get("coverage", {}))),
        list(_stats(document.get("stats", {}))),
        list(document.get("warnings", [])),
    )


def _coverage(coverage: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if coverage.keys() == {"before", "after"}:
        for side in ("before", "after"):
            yield from ((f"{side.capitalize()}: {name}", text) for name, text in _coverage(coverage[side]))
        return
    for key, value in coverage.items():
        yield _WORDS.get(key, key), _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} ({_text(each)})" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _stats(stats: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    words = {
        "nodes": ("Nodes", "{:,}"),
        "pods": ("Pods", "{:,}"),
        "loadSeconds": ("Loading", "{:.2f} s"),
        "scheduleSeconds": ("Scheduling", "{:.2f} s"),
        "peakMiB": ("Memory", "{:,.0f} MiB"),
    }
    for key, (name, form) in words.items():
        if key in stats:
            yield name, form.format(stats[key])
