"""Which module shows which result, and in which formats.

To add a result of a command:

1. Write a module in `view/` with a Struct for the document, `document(result, options)` that makes it, and
   `view(document)` that returns a View.
2. Name the class of the result in `_VIEWS` with the module and its formats, and the kind of the document in `_KINDS`.

Every format then works: `sinks/` writes the View as a table, Markdown and a page, and `encoding.py` the document as
JSON and YAML. A format of one result only, such as SARIF, is a function that `_WRITERS` names. Class names are unique
in the package. The help and the completions read these tables and import no module that they name.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TextIO

from msgspec import Struct

from ksched_cli.errors import UsageError
from ksched_cli.report.shown_nodes import NO_NODES, ShownNodes

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

# Module of view/, and formats.
_VIEWS: Mapping[str, tuple[str, str]] = {
    "CapacityResult": ("capacity", _PAGES),
    "Check": ("check", _PAGES.replace(" name", "")),
    "ClusterOverview": ("cluster", _PAGES),
    "Consolidation": ("consolidate", f"{_PAGES} commands"),
    "DiffResult": ("diff", _PAGES),
    "DrainTrials": ("drain", _PAGES),
    "ExplainResult": ("explain", _PAGES),
    "InstanceTypeList": ("instance_types", _PAGES.replace(" html", "")),
    "Rightsizing": ("rightsize", _PAGES),
    "Simulation": ("simulate", f"{_PAGES} svg"),
    "Sizing": ("size", _PAGES),
    "VerifyResult": ("verify", _PAGES),
}
# The module of view/ for a kind of document.
_KINDS = {
    "Capacity": "capacity",
    "Check": "check",
    "Cluster": "cluster",
    "Consolidation": "consolidate",
    "Diff": "diff",
    "Drain": "drain",
    "DrainList": "drain",
    "Explanation": "explain",
    "Rightsizing": "rightsize",
    "Simulation": "simulate",
    "Sizing": "size",
    "Verification": "verify",
}
# Function and help of a format that no sink writes. Documents of these results are dicts.
_WRITERS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("Check", "github"): (
        "sinks.findings.write_github",
        "for annotations and the step's summary of GitHub Actions",
    ),
    ("Check", "junit"): ("sinks.findings.write_junit", "for Jenkins and GitLab"),
    ("Check", "sarif"): ("sinks.findings.write_sarif", "for code scanning"),
    ("News", "json"): ("watch.write_news_entry", "for programs: one line each"),
    ("News", "table"): ("watch.write_news_line", ""),
    ("PluginList", "table wide"): ("plugins.print_plugins", ""),
    ("PluginList", "name"): ("plugins.write_plugin_names", ""),
    ("ReasonCodes", "table"): ("explain_code.print_reason_codes", ""),
    ("ScenarioRun", "table wide"): ("scenario.print_scenario", ""),
    ("SettledSimulation", "table wide"): ("settle.print_settled", ""),
    ("SettledSimulation", "name"): ("settle.write_moved", ""),
    ("SimulationStream", "json"): ("simulate_document.write_stream", ""),
    ("SimulationStream", "html"): ("simulate_document.write_stream_page", ""),
    ("StoredDocument", "html"): ("stored.write_stored_page", ""),
    ("SweepRun", "table wide"): ("sweep.print_sweep", ""),
    ("SweepRun", "jsonl"): ("sweep_rows.write_lines", "for a line of JSON per variant"),
    ("SweepRun", "csv"): ("sweep_rows.write_csv", "for spreadsheets, without the pods"),
    ("SweepRun", "parquet"): (
        "sweep_rows.write_parquet",
        "for pandas, DuckDB and Spark (pip install 'ksched-cli[arrow]')",
    ),
    ("VersionChanges", "table wide"): ("versions.print_changes", ""),
    ("VersionList", "table wide"): ("versions.print_versions", ""),
    ("VersionList", "name"): ("versions.write_version_names", ""),
}
# Documents that are dicts, with the formats that are made of them.
_DOCUMENTS: Mapping[str, tuple[str, str]] = {
    "DerivedCatalog": ("config.catalog_document", "json yaml"),
    "EffectiveConfiguration": ("config.effective_configuration_document", "json yaml"),
    "Migration": ("config.migrated_document", "json yaml"),
    "PluginList": ("plugins.plugins_document", "json yaml"),
    "ReasonCodes": ("explain_code.codes_document", "json yaml"),
    "ScenarioRun": ("scenario.scenario_document", "json yaml html"),
    "SettledSimulation": ("settle.settled_document", "json yaml html"),
    "Simulation": ("simulate_document.simulation_document", "json yaml html"),
    "SweepRun": ("sweep.sweep_document", "json yaml html"),
    "VersionChanges": ("versions.version_changes_document", "json yaml"),
    "VersionList": ("versions.versions_document", "json yaml"),
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


class PlainText(io.StringIO):
    """Collects tables without colours, even if FORCE_COLOR is set."""


def render(result: object, out: TextIO, options: RenderOptions) -> None:
    """Write the result in the format of the options."""
    name, form = type(result).__name__, options.format
    for (of, formats), (function, _) in _WRITERS.items():
        if of == name and form in formats.split():
            _function(function)(result, out, options)
            return
    if form in _DOCUMENTS.get(name, ("", ""))[1].split():
        _write_document(document_of(result, options), out, form)
    else:
        _write_view(result, _VIEWS[name][0], out, options)


def _write_view(result: Any, name: str, out: TextIO, options: RenderOptions) -> None:
    module, form = _view(name), options.format
    if form in ("json", "yaml", "html"):
        _write_document(document_of(result, options), out, form)
        return
    _write_people(module.view(module.document(result, options)), out, options)


def _write_people(view: Any, out: TextIO, options: RenderOptions) -> None:
    if options.format == "name":
        from ksched_cli.report.rows import write_row

        for row in view.rows() if callable(view.rows) else view.rows:
            write_row(out, *row)
    elif options.format == "commands":
        out.writelines(f"{_function('visible.visible')(each)}\n" for each in view.commands)
    elif options.format == "svg":
        _function("sinks.svg.write_svg")(view, out)
    elif options.format == "markdown":
        _function("sinks.markdown.write_view")(view, out)
    else:
        _function("sinks.terminal.write_view")(view, out, options)


def _write_document(document: dict[str, Any], out: TextIO, form: str) -> None:
    if form == "html":
        from ksched_cli.report.html.html_file import write_page

        write_page(document, out)
        return
    from ksched_cli.report.encoding import write_json, write_yaml

    (write_yaml if form == "yaml" else write_json)(document, out)


def document_of(result: Any, options: RenderOptions) -> dict[str, Any]:
    """The document of a result, as json and html are written from it. One that has a page has the command line that
    made it."""
    from ksched_cli.report.view.documents import run_entry

    name = type(result).__name__
    if name in _VIEWS and name not in _DOCUMENTS:
        from ksched_cli.report.view.documents import encoded

        module, formats = _VIEWS[name]
        made = encoded(_view(module).document(result, options))
    else:
        function, formats = _DOCUMENTS[name]
        made = _function(function)(result, options)
    if "html" not in formats:
        return made
    warnings = getattr(result, "warnings", ())
    return {**made, **({"warnings": list(warnings)} if warnings else {}), **run_entry(options)}


def stored_view(document: Mapping[str, Any]) -> Any:
    """The View of a document of this program; None for a kind without one."""
    kind, version = document.get("kind"), document.get("apiVersion")
    if version != "ksched/v1":
        raise UsageError(f"this is no document of ksched: its apiVersion is {version!r} and not 'ksched/v1'")
    if kind not in _KINDS or "settled" in document:
        return None
    from ksched_cli.report.view.documents import decoded

    module = _view(_KINDS[kind])
    return module.view(decoded(document, module.Document))


def _view(name: str) -> Any:
    return import_module(f"{__package__}.view.{name}")


def _function(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"{__package__}.{module}"), function)


def formats_of(result: str) -> Mapping[str, str]:
    """The formats of a class of results, each with what it is for, in the order of the help."""
    formats = [each for named in (_VIEWS, _DOCUMENTS) for each in named.get(result, ("", ""))[1].split()]
    found = {each: _PURPOSES.get(each, "") for each in formats}
    for (of, names), (_, about) in _WRITERS.items():
        if of == result:
            found |= {each: about or _PURPOSES.get(each, "") for each in names.split()}
    order = [*_PURPOSES, *sorted(found)]
    return {name: found[name] for name in sorted(found, key=order.index)}
