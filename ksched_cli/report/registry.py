"""Which View shows which result, and in which formats: a table.

To add a result of a command:

1. Write a module in `view/` with a Struct `Document` and `view(document)`, which returns a View. The document is the
   class of the result if its fields are what the keys are to be. Otherwise `document(result, options)` makes it.
2. Name the class of the result in `_RESULTS` with the module, its formats and the kind of the document.

Every format then works: `sinks/` writes the View as a table, rows of names, Markdown and a page, and `encoding.py` the
document as JSON and YAML. A format of one result only, such as SARIF, is a function that `_WRITERS` names. Class names
are unique in the package. The help and the completions read these tables and import no module that they name.

Results show themselves in a terminal of Python and in a notebook, too. There a result is a sentence, figures and the
first rows, which need no code, and the whole page in a frame that may run the page's own code and reach nothing of the
notebook.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TextIO

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.errors import UsageError, counted
from ksched_cli.report.visible import NO_NODES, ShownNodes

# The order in which formats are listed, and what each is for; other formats follow by name.
_PURPOSES = {
    "table": "for people",
    "wide": "for more of it",
    "json": "for programs",
    "yaml": "for programs",
    "name": "for names alone",
    "markdown": "for a comment on a pull request",
    "commands": "for a shell",
    "html": "for a browser, in one file",
    "svg": "for the picture of --curve",
}
_PAGES = "table wide json yaml name markdown html"
_LIST = "table wide json yaml markdown"

# Class of a result: its module of view/, formats, and the kinds of its document. A list of reference is
# `module:prefix`: it has a function `prefix_document`, and `prefix_view` takes the result itself.
_RESULTS: Mapping[str, tuple[str, str, str]] = {
    "CapacityResult": ("capacity", _PAGES, "Capacity"),
    "Check": ("check", _PAGES.replace(" name", ""), "Check"),
    "ClusterOverview": ("cluster", _PAGES, "Cluster"),
    "Consolidation": ("consolidate", f"{_PAGES} commands", "Consolidation"),
    "CurveSweep": ("curve_sweep", f"{_PAGES} svg", "CurveSweep"),
    "DiffResult": ("diff", _PAGES, "Diff"),
    "DrainReport": ("drain", _PAGES, "Drain DrainList"),
    "ExplainResult": ("explain", _PAGES, "Explanation"),
    "InstanceTypeList": ("instance_types", _PAGES.replace(" html", ""), ""),
    "PluginList": ("reference:plugins", f"{_LIST} name", ""),
    "ReasonCodes": ("reference:codes", _LIST.replace(" wide", ""), ""),
    "Rightsizing": ("rightsize", _PAGES, "Rightsizing"),
    "ScenarioRun": ("scenario", _PAGES.replace(" name", ""), "ScenarioResult"),
    "SettledSimulation": ("settle", _PAGES, ""),
    "Simulation": ("simulate", f"{_PAGES} svg", "Simulation"),
    "Sizing": ("size", _PAGES, "Sizing"),
    "SweepRun": ("sweep", _PAGES.replace(" name", ""), "SweepResult"),
    "Verification": ("verify", _PAGES, "Verification"),
    "VersionChanges": ("reference:changes", _LIST, ""),
    "VersionList": ("reference:versions", f"{_LIST} name", ""),
}
# Results without a View: their document is written as it is.
_DOCUMENTS = ("DerivedCatalog", "EffectiveConfiguration", "Migration")
# Function and help of a format that no sink writes.
_WRITERS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("Check", "github"): (
        "sinks.findings.write_github",
        "for annotations and the step's summary of GitHub Actions",
    ),
    ("Check", "junit"): ("sinks.findings.write_junit", "for Jenkins and GitLab"),
    ("Check", "sarif"): ("sinks.findings.write_sarif", "for code scanning"),
    ("News", "json"): ("view.watch.write_entry", "for programs: one line each"),
    ("News", "table"): ("view.watch.write_line", ""),
    ("SimulationStream", "json"): ("view.stream.write_stream", ""),
    ("SimulationStream", "html"): ("view.stream.write_stream_page", ""),
    ("StoredDocument", "html"): ("sinks.html.write_stored_page", ""),
    ("SweepRun", "jsonl"): ("sinks.lines.write_lines", "for a line of JSON per variant"),
    ("SweepRun", "csv"): ("sinks.lines.write_csv", "for spreadsheets, without the pods"),
    ("SweepRun", "parquet"): (
        "sinks.lines.write_parquet",
        "for pandas, DuckDB and Spark (pip install 'ksched-cli[arrow]')",
    ),
}


class RenderOptions(Struct, frozen=True):
    """How a result is written. `width` of the terminal in columns: None for that of the stream. `timeline`: with every
    event of the run. `node_answers`: what each node answers to each pod in short form, in place of the detail.
    `command`: the command line, for documents. `nodes`: how the nodes are named."""

    format: str = "table"
    headers: bool = True
    width: int | None = None
    timeline: bool = False
    node_answers: bool = False
    command: str = ""
    nodes: ShownNodes = NO_NODES

    @property
    def wide(self) -> bool:
        return self.format == "wide"

    @property
    def for_programs(self) -> bool:
        """Whether the document is written, and not a View of it."""
        return self.format in ("json", "yaml", "html")


class PlainText(io.StringIO):
    """Collects tables without colours, even if FORCE_COLOR is set."""


def render(result: object, out: TextIO, options: RenderOptions) -> None:
    """Write the result in the format of the options."""
    name, form = type(result).__name__, options.format
    if (name, form) in _WRITERS:
        _function(_WRITERS[name, form][0])(result, out, options)
    elif form == "html":
        _function("sinks.html.write_page")(document_of(result, options), out)
    elif form in ("json", "yaml"):
        _function(f"encoding.write_{form}")(document_of(result, options), out)
    else:
        view = view_of(result, options)
        if form == "name":
            _function("sinks.lines.write_rows")(view.rows, out)
        elif form == "commands":
            _function("sinks.lines.write_rows")([(each,) for each in view.commands], out)
        elif form == "markdown":
            _function("sinks.markdown.write_view")(view, out)
        elif form == "svg":
            _function("sinks.svg.write_svg")(view, out)
        else:
            _function("sinks.terminal.write_view")(view, out, options)


def view_of(result: Any, options: RenderOptions) -> Any:
    """The View of a result."""
    module, _, prefix = _RESULTS[type(result).__name__][0].partition(":")
    if prefix:
        return _function(f"view.{module}.{prefix}_view")(result)
    return _view(module, _document(module, result, options))


def document_of(result: Any, options: RenderOptions) -> Any:
    """The document of a result, as json and html are written from it. One that has a page has the command line that
    made it."""
    name = type(result).__name__
    module, formats, _ = _RESULTS.get(name, ("", "", ""))
    path, _, prefix = module.partition(":")
    if name in _DOCUMENTS:
        made = dict(result.document)
    elif prefix:
        made = _function(f"view.{path}.{prefix}_document")(result, options)
    else:
        made = _function("view.documents.encoded")(_document(path, result, options))
    if "html" not in formats:
        return made
    warnings = getattr(result, "warnings", ())
    made |= {"warnings": list(warnings)} if warnings else {}
    return made | _function("view.documents.run_entry")(options)


def _document(name: str, result: Any, options: RenderOptions) -> Any:
    """The document of a result, as a Struct."""
    module = import_module(f"{__package__}.view.{name}")
    return module.document(result, options) if hasattr(module, "document") else result


def stored_view(document: Mapping[str, Any]) -> Any:
    """The View of a document of this program. Raises UsageError if there is none for its kind."""
    kind, version = document.get("kind"), document.get("apiVersion")
    if version != "ksched/v1":
        raise UsageError(f"this is no document of ksched: its apiVersion is {version!r} and not 'ksched/v1'")
    modules = {each: module for module, _, kinds in _RESULTS.values() for each in kinds.split()}
    if kind not in modules:
        raise UsageError(f"there is no page for a document of kind {kind!r}; there is one for {', '.join(modules)}")
    name = "settle" if kind == "Simulation" and "settled" in document else modules[kind]
    kind_of_document = import_module(f"{__package__}.view.{name}").Document
    return _view(name, _function("view.documents.decoded")(document, kind_of_document))


def _view(name: str, document: Any) -> Any:
    """The View of a document, with what each has: what its coverage leaves out, and its nodes for the map."""
    documents = import_module(f"{__package__}.view.documents")
    view = import_module(f"{__package__}.view.{name}").view(document)
    omitted = documents.omissions(getattr(document, "coverage", {}))
    table = getattr(document, "node_table", None)
    return replace(view, omitted=omitted, nodes=lambda: documents.value_of(table))


def _function(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"{__package__}.{module}"), function)


def formats_of(result: str) -> Mapping[str, str]:
    """The formats of a class of results, each with what it is for, in the order of the help."""
    formats = "json yaml" if result in _DOCUMENTS else _RESULTS.get(result, ("", ""))[1]
    found = {each: _PURPOSES.get(each, "") for each in formats.split()}
    writers = {form: about for (of, form), (_, about) in _WRITERS.items() if of == result}
    found |= {form: about or _PURPOSES.get(form, "") for form, about in writers.items()}
    order = [*_PURPOSES, *sorted(found)]
    return {name: found[name] for name in sorted(found, key=order.index)}


# The most lines of a table. The JSON document and the page have all of it.
_MOST_LINES = 40
_WIDTH = 100


class NotebookDisplay:
    """The texts of `repr` and `_repr_html_` of results."""

    def text(self, result: object) -> str:
        """The first lines of the table that the command line prints."""
        out = PlainText()
        render(result, out, RenderOptions("table", width=_WIDTH))
        lines = out.getvalue().rstrip("\n").split("\n")
        more = [f"… and {counted(len(lines) - _MOST_LINES, 'more line')}"] if len(lines) > _MOST_LINES else []
        return "\n".join([*lines[:_MOST_LINES], *more])

    def html(self, result: object) -> str:
        from ksched_cli.report.sinks.html import fragment_html

        return fragment_html(document_of(result, RenderOptions("html", timeline=True, node_answers=True)))
