"""What holds for the page of every kind of document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.transcripts import DEMO, FLEET, ROOT
from tests.report.html.opened import NARROW, WIDE, OpenedPage

# A command line of each kind of page.
DRAINED = str(ROOT / "fixtures" / "clusters" / "drain.yaml")
CHECKED = str(ROOT / "fixtures" / "check" / "cluster.yaml")
DEPLOYED = str(ROOT / "fixtures" / "check" / "deploy")
EKS = str(ROOT / "fixtures" / "clusters" / "eks.yaml")
SHAPES = str(ROOT / "fixtures" / "catalogs" / "shop.yaml")
SCENARIO = str(ROOT / "fixtures" / "scenarios" / "lose-east-2.yaml")
PAGES = {
    "simulate": ("simulate", "--from", DEMO),
    "simulate --settle": ("simulate", "--from", DRAINED, "--drain", "east-1", "--settle"),
    "simulate --scenario": ("simulate", "--from", FLEET, "--scenario", SCENARIO),
    "explain": ("explain", "shop/db-0", "--from", DEMO, "--node", "west-1"),
    "explain a placed pod": ("explain", "shop/web-1", "--from", DEMO),
    "check": ("check", "--from", CHECKED, "-f", DEPLOYED),
    "capacity": ("capacity", "--from", DEMO, "-f", f"{DEPLOYED}/web.yaml"),
    "capacity of a mix": ("capacity", "--from", DEMO, "-f", f"{DEPLOYED}/web.yaml", "--mix", "web=1,api=3"),
    "drain": ("drain", "east-1", "west-2", "--from", DRAINED, "--ignore-daemonsets"),
    "drain --each node": ("drain", "--each", "node", "--from", DRAINED, "--ignore-daemonsets"),
    "drain --each zone": ("drain", "--each", "zone", "--from", DRAINED, "--ignore-daemonsets", "--force"),
    "diff": ("diff", "--from", DRAINED, "--drain", "east-1"),
    "names of EKS": ("simulate", "--from", EKS),
    "sweep": ("sweep", "--fail", "node", "--kube-version", "1.35..1.36", "--from", DRAINED),
    "consolidate": ("consolidate", "--from", FLEET, "--force"),
    "size": ("size", "--from", DEMO, "--catalog", SHAPES),
    "rightsize": ("rightsize", "--from", DEMO, "-f", f"{DEPLOYED}/web.yaml"),
    "diff of versions": ("diff", "--from", DEMO, "--kube-version", "1.20", "--to-kube-version", "1.36"),
}
# Every page in both sizes and both schemes; the first in every combination.
_VARIANTS = [
    pytest.param(words, size, scheme, id=f"{name} {size[0]} {scheme}")
    for name, words in PAGES.items()
    for size, scheme in [(WIDE, "dark"), (NARROW, "light"), (WIDE, "light"), (NARROW, "dark")][
        : 4 if name == "simulate" else 2
    ]
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "size", "scheme"), _VARIANTS)
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
    # What opens may bring more to open.
    closed = shown.page.locator("details:not([open]) > summary")
    while closed.count():
        closed.first.click()
    assert shown.cut_tables() == []
    assert shown.empty_columns() == []
    assert not shown.wider_than_the_window
    assert shown.small_texts() == []
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
    assert "`" not in shown.page.locator("body").inner_text()
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


# The height of a phone, in the size of NARROW.
SCREENS = 10


@pytest.mark.parametrize("words", [pytest.param(words, id=name) for name, words in PAGES.items()])
def test_a_page_has_at_most_ten_screens_on_a_phone(
    words: tuple[str, ...], page_file: Callable[..., Path], opened: Callable[..., OpenedPage]
) -> None:
    shown = opened(page_file(*words), size=NARROW)
    assert shown.page.evaluate("document.documentElement.scrollHeight") <= SCREENS * NARROW[1]


@pytest.mark.parametrize("words", [pytest.param(words, id=name) for name, words in PAGES.items()])
def test_commands_have_a_button_that_copies_them(
    words: tuple[str, ...], page_file: Callable[..., Path], opened: Callable[..., OpenedPage]
) -> None:
    shown = opened(page_file(*words))
    commands = shown.page.locator("code.copied")
    assert shown.page.get_by_role("button", name="Copy").count() == commands.count()
    if commands.count():
        shown.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        shown.page.locator("button.copy:visible").first.click()
        text = commands.filter(visible=True).first.inner_text()
        assert " ".join(shown.page.evaluate("navigator.clipboard.readText()").split()) == " ".join(text.split())


def test_steps_have_numbers_and_sentences_have_none(
    page_file: Callable[..., Path], opened: Callable[..., OpenedPage]
) -> None:
    shown = opened(page_file("explain", "shop/web-1", "--from", DEMO))
    marks = "rows => rows.map(row => [!row.querySelector('h3'), getComputedStyle(row, '::before').content === 'none'])"
    found = shown.page.locator(".steps > li").evaluate_all(marks)
    shown = opened(page_file(*PAGES["explain"]))
    found += shown.page.locator(".steps > li").evaluate_all(marks)
    assert {is_sentence for is_sentence, _ in found} == {True, False}
    assert all(is_sentence == unnumbered for is_sentence, unnumbered in found)
