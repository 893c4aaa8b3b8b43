"""What holds for the page of every kind of document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.transcripts import DEMO
from tests.report.html.opened import NARROW, WIDE, OpenedPage

# A command line of each kind of page.
PAGES = {
    "simulate": ("simulate", "--from", DEMO),
}
_VARIANTS = [
    pytest.param(size, scheme, id=f"{size[0]} {scheme}") for size in (WIDE, NARROW) for scheme in ("light", "dark")
]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), _VARIANTS)
@pytest.mark.parametrize("words", [pytest.param(words, id=name) for name, words in PAGES.items()])
def test_page(
    words: tuple[str, ...],
    size: tuple[int, int],
    scheme: str,
    page_file: Callable[..., Path],
    opened: Callable[..., OpenedPage],
) -> None:
    """The verdict is in view, nothing is wider than the window, no text is small, and axe-core finds nothing."""
    shown = opened(page_file(*words), size=size, scheme=scheme, trusted=True)
    assert shown.verdict_is_in_view
    assert not shown.wider_than_the_window
    assert shown.small_texts() == []
    assert shown.violations() == []
    for summary in shown.page.locator("summary").all():
        summary.click()
    assert shown.violations() == []


@pytest.mark.parametrize("words", [pytest.param(words, id=name) for name, words in PAGES.items()])
def test_a_page_needs_nothing_but_itself_and_says_what_made_it(
    words: tuple[str, ...], page_file: Callable[..., Path], opened: Callable[..., OpenedPage]
) -> None:
    path = page_file(*words)
    assert path.read_text(encoding="ascii").startswith("<!DOCTYPE html>")
    shown = opened(path)
    assert shown.page.locator("#made .command").inner_text().startswith(f"ksched {words[0]}")
    assert shown.page.locator("#made time").count() == 1
    assert shown.texts("h1")[0].strip().endswith(".")
    assert shown.page.locator("main > section").count() >= 2
    # Every section is drawn.
    assert shown.page.locator(".mount:empty").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("words", [pytest.param(words, id=name) for name, words in PAGES.items()])
def test_print(words: tuple[str, ...], page_file: Callable[..., Path], opened: Callable[..., OpenedPage]) -> None:
    """Controls are left out, and the colours are those of paper also where the screen is dark."""
    shown = opened(page_file(*words), scheme="dark")
    shown.page.emulate_media(media="print", color_scheme="dark")
    assert shown.page.locator("nav").is_hidden()
    background = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert len(shown.page.pdf()) > 10_000
