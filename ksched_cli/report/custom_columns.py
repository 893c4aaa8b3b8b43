"""`-o custom-columns=NAME:path,…` as in kubectl (kubectl/pkg/cmd/get/customcolumn.go)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ksched_cli.report.jsonpath import JSONPath, plain_text
from ksched_cli.report.jsonpath_steps import TemplateError
from ksched_cli.report.visible import visible

_RELAXED = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NONE = "<none>"
# printers.GetNewTabWriter
_LEAST_WIDTH, _PADDING = 6, 3


class CustomColumns:
    """Columns of a template, each with a path."""

    def __init__(self, spec: str) -> None:
        if not spec:
            raise TemplateError("custom-columns format specified but no custom columns given")
        columns = [_column(each) for each in spec.split(",")]
        self._headers = [header for header, _ in columns]
        self._paths = [path for _, path in columns]

    def render(self, document: Any, *, headers: bool = True) -> str:
        rows = [self._headers] if headers else []
        rows += [[_cell(path.find(each)) for path in self._paths] for each in rows_of(document)]
        widths = [max(_LEAST_WIDTH, max(map(len, column)) + _PADDING) for column in zip(*rows, strict=True)]
        return "".join(_line(row, widths) for row in rows)


def rows_of(document: Any) -> Sequence[Any]:
    """The entries of a list, or of the first list in an object; an object without one is a single row."""
    if isinstance(document, list):
        return document
    return next((value for value in document.values() if isinstance(value, list)), [document])


def _column(spec: str) -> tuple[str, JSONPath]:
    header, colon, path = spec.partition(":")
    if not colon:
        raise TemplateError(f"unexpected custom-columns spec: {spec}, expected <header>:<json-path-expr>")
    if not path:
        return header, JSONPath("")
    found = _RELAXED.fullmatch(path)
    if found is None:
        forms = "'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'"
        raise TemplateError(f"unexpected path string {path}, expected a {forms}")
    return header, JSONPath(f"{{.{found[1] or found[2]}}}")


def _cell(values: Sequence[Any]) -> str:
    text = ",".join(_NONE if value is None else plain_text(value) for value in values) if values else _NONE
    return visible(_CONTROL.sub(lambda found: f"^{chr(ord(found[0]) ^ 0x40)}", text))


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return "".join(cells).rstrip() + "\n"
