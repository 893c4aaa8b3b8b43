"""The page in the frame of a notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ksched_cli import Simulator
from tests.cli.transcripts import DEMO
from tests.report.html.opened import OpenedPage

_PARENT = "(() => { try { return parent.document.title } catch (refused) { return refused.name } })()"


def test_the_frame_shows_the_page_and_reaches_nothing_of_the_notebook(
    tmp_path: Path, opened: Callable[..., OpenedPage]
) -> None:
    path = tmp_path / "notebook.html"
    cell = Simulator.load(DEMO).run()._repr_html_()
    path.write_text(f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>n</title>{cell}", encoding="utf-8")
    shown = opened(path, wait=False)
    assert shown.texts("strong") == ["6 pending pods: 2 unschedulable."]
    assert "shop/report-1" in shown.page.locator("tbody").inner_text()
    shown.page.locator("summary").click()
    frame = shown.page.frame_locator("iframe")
    frame.get_by_role("button", name="shop/web-1", exact=True).click()
    assert frame.locator(".detail h3").inner_text().startswith("shop/web-1")
    assert shown.page.frames[1].evaluate(_PARENT) == "SecurityError"


def test_a_cluster_at_a_glance(tmp_path: Path, opened: Callable[..., OpenedPage]) -> None:
    path = tmp_path / "notebook.html"
    cell = Simulator.load(DEMO)._repr_html_()
    path.write_text(f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>n</title>{cell}", encoding="utf-8")
    shown = opened(path, wait=False)
    assert shown.texts("strong") == ["6 nodes in 2 zones: 2 pods run."]
    shown.page.locator("summary").click()
    assert shown.page.frame_locator("iframe").locator("canvas").count() == 2
