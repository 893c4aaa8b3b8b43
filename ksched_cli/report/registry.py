"""Which renderer writes which result in which format.

A renderer is registered with a decorator that names the class of the result and the formats:

    @renders("CapacityResult", "table", "wide")
    def capacity_table(found: CapacityResult, out: TextIO, options: RenderOptions) -> None: ...

    @documents("CapacityResult", "html")
    def capacity_document(found: CapacityResult, options: RenderOptions) -> dict[str, Any]: ...

`documents` registers json and yaml, and html where it is named: the page is made of the document. The decorators are
found in the source of the modules beside this one, so that the help and the completions list the formats of a command
without an import of its renderers. Class names are unique in the package.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO, TypeAlias, TypeVar

from msgspec import Struct

from ksched_cli.report.shown_nodes import NO_NODES, ShownNodes

Renderer: TypeAlias = "Callable[[Any, TextIO, RenderOptions], None]"
R = TypeVar("R", bound=Callable[..., Any])

DOCUMENT_FORMATS = ("json", "yaml")
# The order in which formats are listed, and what each is for; other formats follow by name.
_PURPOSES = {
    "table": "for people",
    "wide": "for more of it",
    "json": "for programs",
    "yaml": "for programs",
    "name": "for names alone",
    "markdown": "for a comment on a pull request",
    "html": "for a browser, in one file",
}

_renderers: dict[tuple[str, str], Renderer] = {}
_documents: dict[str, Callable[[Any, RenderOptions], dict[str, Any]]] = {}


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


def renders(result: str, *formats: str, help: str = "") -> Callable[[R], R]:
    """Register a renderer for these formats. `help` completes "FORMAT ..." in the help of the commands."""

    def register(renderer: R) -> R:
        _renderers.update({(result, each): renderer for each in formats})
        return renderer

    return register


def documents(result: str, *pages: str) -> Callable[[R], R]:
    """Register a function that returns the document of a result, for json and yaml. With `"html"` also for the page
    that report/html makes of a document of its kind; the document then has the command line that made it."""

    def register(document: R) -> R:
        def make(found: Any, options: RenderOptions) -> Any:
            from ksched_cli.report.entries import run_entry

            made = document(found, options)
            if not pages:
                return made
            warnings = getattr(found, "warnings", ())
            return {**made, **({"warnings": list(warnings)} if warnings else {}), **run_entry(options)}

        def write(found: Any, out: TextIO, options: RenderOptions) -> None:
            _write_document(make(found, options), out, options.format)

        _documents[result] = make
        _renderers.update({(result, each): write for each in (*DOCUMENT_FORMATS, *pages)})
        return document

    return register


def _write_document(document: dict[str, Any], out: TextIO, form: str) -> None:
    if form == "html":
        from ksched_cli.report.html.html_file import write_page

        write_page(document, out)
        return
    from ksched_cli.report.encoding import write_json, write_yaml

    (write_yaml if form == "yaml" else write_json)(document, out)


def document_of(result: object, options: RenderOptions) -> dict[str, Any]:
    """The document of a result, as json and html are written from it."""
    name = type(result).__name__
    if name not in _documents:
        import_module(_declared()[name, DOCUMENT_FORMATS[0]][0])
    return _documents[name](result, options)


def render(result: object, out: TextIO, options: RenderOptions) -> None:
    """Write the result in the format of the options."""
    key = type(result).__name__, options.format
    if key not in _renderers:
        import_module(_declared()[key][0])
    _renderers[key](result, out, options)


def formats_of(result: str) -> Mapping[str, str]:
    """The formats of a class of results, each with what it is for, in the order of the help."""
    found = {name: about or _PURPOSES.get(name, "") for (of, name), (_, about) in _declared().items() if of == result}
    order = [*_PURPOSES, *sorted(found)]
    return {name: found[name] for name in sorted(found, key=order.index)}


_DECORATOR = re.compile(r"^@(renders|documents)(\(.*?\))\n(?=@|def )", re.MULTILINE | re.DOTALL)


@cache
def _declared() -> Mapping[tuple[str, str], tuple[str, str]]:
    """The module and the help of every renderer of the package, by result and format."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        for kind, arguments in _DECORATOR.findall(path.read_text(encoding="utf-8")):
            call = ast.parse(f"_{arguments}", mode="eval").body
            assert isinstance(call, ast.Call)
            result, *formats = (ast.literal_eval(each) for each in call.args)
            about = "".join(ast.literal_eval(each.value) for each in call.keywords)
            formats = formats if kind == "renders" else [*DOCUMENT_FORMATS, *formats]
            found |= {(result, each): (f"{__package__}.{path.stem}", about) for each in formats}
    return found
