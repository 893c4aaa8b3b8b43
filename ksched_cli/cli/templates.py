"""`-o jsonpath=…` and `-o custom-columns=…`: any command that prints a JSON document, and a template over it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from msgspec import Struct

from ksched_cli.errors import UsageError

_FORMATS = ("jsonpath", "custom-columns")
_LONG, _SHORT = "--output", "-o"
Renderer: TypeAlias = Callable[[Any], str]


class Template(Struct, frozen=True):
    """The template behind -o, and the command line that makes the document for it."""

    text: str
    render: Renderer
    arguments: list[str]

    def show(self, printed: str) -> None:
        """The output of the command, rendered by the template; a help text and other texts as they are."""
        from ksched_cli.report.jsonpath import TemplateError

        try:
            document = json.loads(printed)
        except json.JSONDecodeError:
            sys.stdout.write(printed)
            return
        try:
            shown = self.render(document)
        except TemplateError as mistake:
            raise UsageError(f"-o {self.text}: {mistake}") from None
        sys.stdout.write(shown)


def find_template(arguments: Sequence[str]) -> Template | None:
    """The template that -o names, if it names one."""
    if arguments[0] == "snapshot":
        # Its -o names a file.
        return None
    for at, argument in enumerate(arguments):
        found = _value(argument, arguments[at + 1 : at + 2])
        if found is None:
            continue
        text, used = found
        kind, _, body = text.partition("=")
        if kind in _FORMATS:
            if not body:
                raise UsageError(f"-o {kind} needs a template: -o {kind}=…")
            rest = [*arguments[:at], _LONG, "json", *arguments[at + used :]]
            return Template(text, _renderer(kind, body, text, "--no-headers" in arguments), rest)
    return None


def _value(argument: str, following: Sequence[str]) -> tuple[str, int] | None:
    """What -o is given, in any of the ways that it can be written, and how many words that takes."""
    if argument in (_SHORT, _LONG):
        return (following[0], 2) if following else None
    if argument.startswith(f"{_LONG}="):
        return argument.removeprefix(f"{_LONG}="), 1
    if argument.startswith(_SHORT):
        return argument.removeprefix(_SHORT), 1
    return None


def _renderer(kind: str, body: str, text: str, no_headers: bool) -> Renderer:
    from ksched_cli.report.jsonpath import CustomColumns, JSONPath, TemplateError

    try:
        if kind == "jsonpath":
            return JSONPath(body).render
        columns = CustomColumns(body)
    except TemplateError as mistake:
        raise UsageError(f"-o {text}: {mistake}") from None
    return lambda document: columns.render(document, headers=not no_headers)


@contextmanager
def captured() -> Iterator[io.StringIO]:
    """What goes to stdout meanwhile."""
    stdout, sys.stdout = sys.stdout, io.StringIO()
    try:
        yield sys.stdout
    finally:
        sys.stdout = stdout
