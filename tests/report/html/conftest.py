"""Pages in a real headless Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from ksched_cli.cli.main import run
from tests.report.html.opened import OpenedPage

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser takes seconds to start: the fast lane leaves its tests out."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for the tests of this folder. The event loop of Playwright ends with it: other tests run their own."""
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = os.environ.get("KSCHED_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), own)
        if not Path(found).exists():
            pytest.skip("there is no Chromium: apt-get install chromium, or set KSCHED_CHROMIUM to one")
        # Containers have no user namespaces for the sandbox; the pages are the project's own.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., OpenedPage]]:
    """Opens an HTML file. At the end of the test the page has asked for nothing and reported no error."""
    pages: list[OpenedPage] = []

    def open_page(path: Path, **options: object) -> OpenedPage:
        pages.append(OpenedPage(browser, path, **options))
        return pages[-1]

    yield open_page
    for each in pages:
        each.close()


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The HTML file of a command line, made once."""
    folder, made = tmp_path_factory.mktemp("pages"), dict[tuple[str, ...], Path]()

    def make(*words: str) -> Path:
        if words not in made:
            from contextlib import redirect_stdout

            path = folder / f"{len(made)}.html"
            with open(path, "w", encoding="utf-8") as out, redirect_stdout(out):
                run([*words, "-o", "html"])
            assert path.read_text(encoding="ascii").startswith("<!DOCTYPE html>"), words
            made[words] = path
        return made[words]

    return make
