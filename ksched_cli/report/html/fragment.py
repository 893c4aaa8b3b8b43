"""A document as part of a notebook: the verdict, the figures, the first rows, and the whole page in a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.report.html.html_file import page_html, page_of_document, templates
from ksched_cli.report.html.model import Page

_ROWS = 5


def fragment_html(document: Mapping[str, Any]) -> str:
    """The HTML of a result for a notebook. The frame is a sandbox: its page has no access to the notebook."""
    page = page_of_document(document)
    heads, rows, left = _first_rows(page)
    template = templates().get_template("fragment.html.j2")
    return template.render(page=page, heads=heads, rows=rows, left=left, whole=page_html(document))


def _first_rows(page: Page) -> tuple[Sequence[str], Sequence[Sequence[str]], int]:
    """The names of the columns of the first table, its first rows, and the number of other rows."""
    for section in page.sections:
        found = section.data["table"] if section.kind == "pods" else section.data
        if section.kind in ("pods", "table"):
            heads = [each["name"] for each in found["columns"]]
            rows = [list(map(_text, row)) for row in found["rows"][:_ROWS]]
            return heads, rows, len(found["rows"]) - len(rows)
    return [], [], 0


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
