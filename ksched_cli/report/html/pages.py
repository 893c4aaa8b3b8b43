"""Which function makes the page of which kind of document.

To add a page:

1. Register the document with `@documents("SweepResult", "html")`.
2. Write a module beside this one with a function that takes the document and returns a `Page`. Its sections come from
   `model.py`: `table`, `bars`, `steps` and `facts` need no code of their own, and `node_map` of `nodes.py` draws the
   `nodeTable` of the document.
3. Name the kind and the module in `_PAGES`. The module has a function `page`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ksched_cli.errors import UsageError
from ksched_cli.report.html.model import Page

# Kind -> module, and the function if it is not `page`.
_PAGES = {
    "Simulation": "settle",
    "ScenarioResult": "scenario",
    "SweepResult": "sweep",
}


def page_of(document: Mapping[str, Any]) -> Page:
    """The page of a document of this program."""
    kind, version = document.get("kind"), document.get("apiVersion")
    if version != "ksched/v1":
        raise UsageError(f"this is no document of ksched: its apiVersion is {version!r} and not 'ksched/v1'")
    if kind not in _PAGES:
        raise UsageError(f"there is no page for a document of kind {kind!r}; there is one for {', '.join(_PAGES)}")
    name, _, function = _PAGES[kind].partition(".")
    module = import_module(f"ksched_cli.report.html.{name}")
    page: Page = getattr(module, function or "page")(document)
    return page
