"""A page in a browser, with what tests ask about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Browser

WIDE, NARROW = (1280, 800), (390, 844)
_AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
_SMALL_TEXT = """() => [...document.querySelectorAll("body *")].filter((each) =>
    [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) &&
    !["SCRIPT", "STYLE", "NOSCRIPT"].includes(each.tagName) && parseFloat(getComputedStyle(each).fontSize) < 12
).map((each) => each.outerHTML.slice(0, 120))"""

# Tables choose their columns in the frame after they get another width.
# The layout of a section that was just unfolded may take some frames, more of them on a busy machine.
_CUT_TABLES = """async () => {
    const cut = () => [...document.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth)
        .map((each) => each.getAttribute("aria-label"));
    for (let frame = 0; frame < 2 || (frame < 120 && cut().length); frame++)
        await new Promise((drawn) => requestAnimationFrame(drawn));
    return cut();
}"""

_EMPTY_COLUMNS = """() => [...document.querySelectorAll(".scroll table")].flatMap((table) => {
    const rows = [...table.tBodies[0].rows].filter((row) => row.cells.length > 1);
    return [...table.tHead.rows[0].cells].filter((_, at) => rows.length && rows.every((row) => !row.cells[at].innerText.trim()))
        .map((head) => `${table.caption.innerText}: ${head.innerText}`);
})"""


class OpenedPage:
    """`trusted` is for tests that bring code of their own into the page: without the page's policy."""

    def __init__(
        self,
        browser: Browser,
        path: Path,
        size: tuple[int, int] = WIDE,
        scheme: Any = "light",
        anchor: str = "",
        trusted: bool = False,
        wait: bool = True,
    ) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.responses: list[str] = []
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, bypass_csp=trusted
        )
        self.page = self.context.new_page()
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("response", lambda response: self.responses.append(response.url))
        self.url = path.as_uri()
        self.page.goto(self.url + anchor)
        if wait:
            self.page.wait_for_selector("html[data-ready]", timeout=120_000)

    def close(self) -> None:
        """Fail if the page has reported an error, or has asked for anything but itself."""
        self.context.close()
        assert self.errors == []
        assert [url for url in self.requests if not url.startswith(("data:", self.url))] == []

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def column(self, section: str, number: int) -> list[str]:
        """The shown texts of a column of the table of a section, counted from 1."""
        return self.texts(
            f"#{section} .master tbody tr > :nth-child({number}), #{section} > .mount > .scroll tbody tr > :nth-child({number})"
        )

    def violations(self) -> list[str]:
        """What axe-core finds; only in a trusted page."""
        self.page.evaluate(_AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run()")
        return [f"{each['id']}: {[node['html'][:200] for node in each['nodes']]}" for each in found["violations"]]

    def empty_columns(self) -> list[str]:
        """Columns of tables without a text in any row."""
        found: list[str] = self.page.evaluate(_EMPTY_COLUMNS)
        return found

    def small_texts(self) -> list[str]:
        """Elements with text of less than 12 px."""
        found: list[str] = self.page.evaluate(_SMALL_TEXT)
        return found

    def cut_tables(self) -> list[str]:
        """Tables that show only a part of each row."""
        cut: list[str] = self.page.evaluate(_CUT_TABLES)
        return cut

    @property
    def verdict_is_in_view(self) -> bool:
        box = self.page.locator("#verdict").bounding_box()
        size = self.page.viewport_size
        assert box is not None
        assert size is not None
        return box["y"] >= 0 and box["y"] + box["height"] <= size["height"] and box["x"] + box["width"] <= size["width"]

    @property
    def wider_than_the_window(self) -> bool:
        wider: bool = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return wider
