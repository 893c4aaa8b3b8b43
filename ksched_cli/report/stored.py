"""Reads documents that an earlier run stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from msgspec import Struct

from ksched_cli.errors import InputError, Problem
from ksched_cli.report.registry import RenderOptions


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
    from ksched_cli.report.html.html_file import page_html

    try:
        text = page_html(stored.document)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as lacking:
        what = f"{type(lacking).__name__}: {lacking}"
        message = f"this {stored.document.get('kind')} is not as ksched writes it ({what})"
        raise InputError(Problem(message, stored.source)) from lacking
    out.write(text)
