"""Nodes whose names share a suffix: pages show the rest, and say what they leave out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ksched_cli.report.sinks.page import page_of
from ksched_cli.report.view.model import Line, Lines, Section, View
from tests.cli.transcripts import ROOT
from tests.report.html.opened import OpenedPage

EKS = str(ROOT / "fixtures" / "clusters" / "eks.yaml")
NODE, SUFFIX = "ip-10-0-2-2", ".eu-west-1.compute.internal"

Opener = Callable[..., OpenedPage]
Maker = Callable[..., Path]


@pytest.fixture
def drained(page_file: Maker) -> Path:
    return page_file("drain", NODE + SUFFIX, "--ignore-daemonsets", "--from", EKS)


def test_texts_have_the_short_name_and_the_command_line_has_the_full_one(drained: Path, opened: Opener) -> None:
    shown = opened(drained)
    assert shown.texts("h1") == [f"{NODE}: safe."]
    assert f"Node names are shown without {SUFFIX}." in shown.texts(".note")
    assert NODE + SUFFIX in shown.texts("#made .command")[0]
    assert set(shown.column("pods", 4)) == {NODE}
    body = shown.page.locator("main").inner_text()
    assert re.findall(r"ip-[\d-]+\.eu", body.replace(NODE + SUFFIX, "", 1)) == []


def test_a_full_name_is_found_and_the_map_names_it(drained: Path, opened: Opener) -> None:
    shown = opened(drained)
    shown.page.locator("#pods input[type=search]").fill(f"ip-10-0-3-33{SUFFIX}")
    assert shown.column("pods", 1) == ["batch/reports-zpv8phwwm-5mfzv"]
    shown.page.locator("#nodes canvas").first.focus()
    shown.page.keyboard.press("Enter")
    assert shown.texts("#nodes .nodeinfo h3") == [f"ip-10-0-1-103{SUFFIX}"]


def test_what_people_copy_keeps_the_names() -> None:
    names = [f"{NODE}{SUFFIX}", f"ip-10-0-2-3{SUFFIX}", "other"]
    flag, text = f"--label {names[0]}=a=b", f"label {names[0]}"
    nodes = {"names": names, "zones": ["", "", ""], "cordoned": [], "resources": {}}
    lines = Lines([Line(flag, copied=True), Line(text)])
    view = View("explain", "a", "b", "good", sections=[Section("fixes", "Fixes", lines)], nodes=lambda: nodes)
    page = page_of(view)
    assert [line for _, line, _ in page.sections[0].data["steps"][0]["lines"]] == [flag, f"label {NODE}"]
    assert page.nodes["names"] == [NODE, "ip-10-0-2-3", "other"]
    assert (page.nodes["suffix"], page.nodes["whole"]) == (SUFFIX, [2])


@pytest.mark.parametrize("failing", ["node", "zone"])
def test_the_map_of_a_sweep_has_the_worst_result_of_each_failure(
    failing: str, page_file: Maker, opened: Opener
) -> None:
    shown = opened(page_file("sweep", "--fail", failing, "--from", EKS))
    shown.page.locator("#nodes summary").click()
    shown.page.locator("#nodes tbody tr:nth-child(12) td:nth-child(4)").wait_for()
    results = dict(zip(shown.texts("#nodes tbody th"), shown.texts("#nodes tbody td:nth-child(4)"), strict=True))
    assert len(results) == 12
    assert results["ip-10-0-3-241"] == "no place"
    legend = sum(int(re.findall(r"\((\d+)\)", text)[0]) for text in shown.texts("#nodes .legend button"))
    assert legend == 12
    if failing == "node":
        assert results["ip-10-0-2-2"] == "safe"
        assert results["ip-10-0-2-219"] == "loses pods"
    else:
        assert len({results[f"ip-10-0-3-{number}"] for number in (166, 241, 33, 78)}) == 1
