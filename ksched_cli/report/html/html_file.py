"""A document as one HTML file that needs no other file and no server.

Untrusted text reaches the file in three ways: through Jinja2 with autoescape, as JSON in a script element that
browsers do not run, from where the page's own code puts it into text nodes, and escaped in the SVG of charts. The
Content-Security-Policy allows the page's own style and code by their hashes and nothing else. The file is ASCII, so
that no encoding of stdout can damage it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TextIO

from ksched_cli import __version__
from ksched_cli.report.html.model import Page
from ksched_cli.report.html.pages import page_of
from ksched_cli.report.html.provenance import provenance
from ksched_cli.report.registry import stored_view
from ksched_cli.report.shown_nodes import COPIED, ShownNodes
from ksched_cli.report.sinks.page import page_of as page_of_view
from ksched_cli.report.sinks.svg import chart_svg
from ksched_cli.report.visible import is_plain, visible, with_texts

if TYPE_CHECKING:
    from jinja2 import Environment

# In the order of their dependencies.
SCRIPTS = ("core.js", "table.js", "bars.js", "nodemap.js", "pods.js", "timeline.js", "start.js")
STYLES = ("style.css",)
# Keys of texts that have the full names of nodes.
_COPIED = frozenset((*COPIED, "run"))
_PLAIN = frozenset((int, float, bool, type(None)))
_UNSAFE = re.compile(r"[<>&]")
# Control characters as JSON writes them.
_CONTROL = re.compile(r"\\[bfnrtu]")


def write_page(document: Mapping[str, Any], out: TextIO) -> None:
    """Write the page of a document."""
    out.write(page_html(document))


def page_html(document: Mapping[str, Any]) -> str:
    """The page. Raises UsageError for a document that has no page."""
    page = page_of_document(document)
    style, script = _asset(STYLES), _asset(SCRIPTS)
    text = (
        templates()
        .get_template("page.html.j2")
        .render(
            page=page,
            made=provenance(with_visible_texts(document)),
            version=__version__,
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            data=script_json(_data(page)),
        )
    )
    return text.encode("ascii", "xmlcharrefreplace").decode()


def page_of_document(document: Mapping[str, Any]) -> Page:
    """The page of a document of this program. Raises UsageError if there is none."""
    view = stored_view(document)
    return page_of_view(view) if view is not None else page_of(with_short_names(with_visible_texts(document)))


def with_visible_texts(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document with escapes for characters that are not printable. A bidi mark would reorder the text of the
    page."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return document if is_plain(text) and not _CONTROL.search(text) else with_texts(document, visible)


def with_short_names(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document with the names of nodes as a terminal shows them. `nodeTable` gets the `suffix` that they are shown
    without, and in `whole` the numbers of the nodes that do not have it."""
    names = (document.get("nodeTable") or {}).get("names", ())
    shown = ShownNodes.shortened(dict.fromkeys(names, ""))
    if not shown.suffix:
        return document
    found: dict[str, Any] = _shortened(document, shown)
    whole = [number for number, name in enumerate(names) if not name.endswith(shown.suffix)]
    return {**found, "nodeTable": {**found["nodeTable"], "suffix": shown.suffix, "whole": whole}}


def _shortened(value: Any, shown: ShownNodes) -> Any:
    """A value of a document with short names. Most values are numbers and texts without names: no call is made for
    those."""
    suffix, text = shown.suffix, shown.text
    if type(value) is str:
        return text(value)
    if type(value) is dict:
        made = {}
        for key, each in value.items():
            if type(each) in _PLAIN or (type(each) is str and suffix not in each) or key in _COPIED:
                made[text(key) if suffix in key else key] = each
            else:
                made[text(key) if suffix in key else key] = _shortened(each, shown)
        return made
    if type(value) in (list, tuple) and value and type(value[0]) not in _PLAIN:
        return [_shortened(each, shown) for each in value]
    return value


def _data(page: Page) -> dict[str, Any]:
    drawn = {each.name: each.data for each in page.sections if each.kind not in ("steps", "facts", "chart")}
    kinds = {each.name: each.kind for each in page.sections if each.name in drawn}
    return {"nodes": page.nodes, "kinds": kinds, "sections": drawn}


def script_json(value: Any) -> str:
    """JSON for a script element: ASCII, and without a character that could end the element."""
    text = json.dumps(value, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(names: tuple[str, ...]) -> str:
    folder = files("ksched_cli.report.html") / "assets"
    return "\n".join((folder / name).read_text(encoding="ascii") for name in names)


@cache
def templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("ksched_cli.report.html", "assets")
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.globals["chart"] = chart_svg
    return found
