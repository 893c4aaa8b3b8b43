"""A document as one HTML file that needs no other file and no server, as a part of a notebook, and of a stored file.

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
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from msgspec import Struct

from ksched_cli import __version__
from ksched_cli.errors import InputError, Problem, counted
from ksched_cli.report.registry import RenderOptions, stored_view
from ksched_cli.report.sinks.page import Page, converted, first_rows, page_of
from ksched_cli.report.sinks.svg import chart_svg
from ksched_cli.report.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment

# In the order of their dependencies.
SCRIPTS = ("core.js", "table.js", "bars.js", "nodemap.js", "pods.js", "timeline.js", "start.js")
STYLES = ("style.css",)
_UNSAFE = re.compile(r"[<>&]")


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
            made=converted(provenance(document), visible),
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
    return page_of(stored_view(document))


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
    folder = files("ksched_cli.report.sinks") / "assets"
    return "\n".join((folder / name).read_text(encoding="ascii") for name in names)


@cache
def templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("ksched_cli.report.sinks", "assets")
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.globals["chart"] = chart_svg
    return found


# A part of a notebook

_ROWS = 5


def fragment_html(document: Mapping[str, Any]) -> str:
    """The verdict, the figures, the first rows, and the whole page in a frame. The frame is a sandbox: its page has no
    access to the notebook."""
    page = page_of_document(document)
    heads, rows, left = first_rows(page, _ROWS)
    template = templates().get_template("fragment.html.j2")
    more = counted(left, "more row") if left else ""
    return template.render(page=page, heads=heads, rows=rows, left=more, whole=page_html(document))


# A stored document


class StoredDocument(Struct, frozen=True):
    """A document. `source` is the name of its file, for messages."""

    document: Mapping[str, Any]
    source: str


def read_document(path: str, stdin: BinaryIO) -> StoredDocument:
    """The document of a file, `-` for stdin. Raises InputError if it is no object in JSON or YAML."""
    source = "stdin" if path == "-" else path
    try:
        text = (stdin.read() if path == "-" else Path(path).read_bytes()).decode()
    except OSError as problem:
        raise InputError(Problem((problem.strerror or str(problem)).lower(), source)) from None
    except UnicodeDecodeError:
        raise InputError(Problem("the file is not in UTF-8", source)) from None
    document = _parsed(text, source)
    if not isinstance(document, dict):
        raise InputError(Problem("the file has no document of ksched: it is not an object", source))
    return StoredDocument(document, source)


def _parsed(text: str, source: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as in_json:
        import yaml

        # A document that was cut off is no YAML, either; the message of the JSON reader describes its mistake.
        try:
            return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.YAMLError:
            raise InputError(Problem(in_json.msg.lower(), source, in_json.lineno)) from None


def write_stored_page(stored: StoredDocument, out: TextIO, options: RenderOptions) -> None:
    """Write the page. Raises InputError if the document lacks fields of its kind."""
    try:
        text = page_html(stored.document)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as lacking:
        what = f"{type(lacking).__name__}: {lacking}"
        message = f"this {stored.document.get('kind')} is not as ksched writes it ({what})"
        raise InputError(Problem(message, stored.source)) from lacking
    out.write(text)


# The end of a page: the command line, what the result does not take into account, and how long the run took

# The keys of `coverage` in words.
_WORDS = {
    "kubeVersion": "Answers as Kubernetes",
    "kubeVersionNotModelled": "Version that is not modelled",
    "kubeVersionReadFromSource": "Rules read from the source, not recorded",
    "notRead": "Kinds that were not read",
    "manifestsNotChecked": "Manifests of which only the fields were checked",
    "missing": "Kinds that the cluster did not show",
    "admissionNotModelled": "Admission that is not modelled",
    "autoscalersNotModelled": "Autoscaling that is not modelled",
    "nodesNotModelled": "Nodes whose state is not modelled",
    "jobsNotModelled": "Fields of Jobs that are not modelled",
    "podGroupsNotModelled": "Rules of pod groups that are not modelled",
    "claimsNotRead": "Claims that this version does not read",
    "pluginsNotModelled": "Plugins that are not modelled",
    "featureGatesNotModelled": "Feature gates that are not modelled",
    "extendersNotCalled": "Extenders that were not called",
    "extendersCouldChange": "What the extenders could change",
    "extenders": "Extenders",
}


class Provenance(Struct, frozen=True):
    """The data of the end of a page. `command` is empty for a document that Python code made."""

    command: str
    version: str
    time: str
    coverage: Sequence[tuple[str, str]]
    stats: Sequence[tuple[str, str]]
    warnings: Sequence[str]


def provenance(document: Mapping[str, Any]) -> Provenance:
    """The data about the run that made the document."""
    run = document.get("run", {})
    return Provenance(
        run.get("command", ""),
        run.get("version", ""),
        run.get("time", ""),
        list(_coverage(document.get("coverage", {}))),
        list(_stats(document.get("stats", {}))),
        list(document.get("warnings", [])),
    )


def _coverage(coverage: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if coverage.keys() == {"before", "after"}:
        for side in ("before", "after"):
            yield from ((f"{side.capitalize()}: {name}", text) for name, text in _coverage(coverage[side]))
        return
    for key, value in coverage.items():
        yield _WORDS.get(key, key), _coverage_text(value)


def _coverage_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} ({_coverage_text(each)})" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_coverage_text, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _stats(stats: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    words = {
        "nodes": ("Nodes", "{:,}"),
        "pods": ("Pods", "{:,}"),
        "loadSeconds": ("Loading", "{:.2f} s"),
        "scheduleSeconds": ("Scheduling", "{:.2f} s"),
        "peakMiB": ("Memory", "{:,.0f} MiB"),
    }
    for key, (name, form) in words.items():
        if key in stats:
            yield name, form.format(stats[key])
