"""The pages of --ksched-html."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ksched_cli.report.registry import RenderOptions, render
from ksched_cli.testing.expectation import Checks


def write_pages(checks: Checks, folder: str) -> list[str]:
    """Write a page of each check, of losses only if a workload fails. Return the paths, named after the manifests."""
    os.makedirs(folder, exist_ok=True)
    written: list[str] = []
    for (_, manifests, edits), check in checks.done.items():
        if edits and all(each.result != "fails" for each in check.workloads):
            continue
        words = ["-".join(manifests), *(["without", *(node for _, node in edits)] if edits else [])]
        stem = re.sub(r"[^\w.-]+", "-", "-".join(words)).strip("-.")
        path = _unused(Path(folder), stem, written)
        with path.open("w", encoding="utf-8") as out:
            render(check, out, RenderOptions("html"))
        written.append(str(path))
    return written


def _unused(folder: Path, stem: str, written: list[str]) -> Path:
    """Several clusters may be checked with the same manifests. Pages of an earlier session are replaced."""
    path, number = folder / f"{stem}.html", 2
    while str(path) in written:
        path, number = folder / f"{stem}-{number}.html", number + 1
    return path
