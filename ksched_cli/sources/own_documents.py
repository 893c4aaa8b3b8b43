"""Reads files of ksched's own kinds (Scenario, Sweep, Catalog), and makes their JSON Schemas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ksched_cli.errors import InputError, Problem

if TYPE_CHECKING:
    from ksched_cli.api.yaml_reader import Document

API_VERSION = "ksched/v1"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def expected_kind(kind: str) -> str:
    return f"one {kind} of {API_VERSION}"


def read_one_document(path: str, expected: str) -> Document:
    """The object of a file that has one document, with the lines of its fields. InputError names what is `expected`."""
    from ksched_cli.api.yaml_reader import read_documents

    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise InputError(Problem((problem.strerror or str(problem)).lower(), path)) from None
    documents = list(read_documents(content, path, with_lines=True))
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        what = "empty" if not documents else f"{len(documents)} documents" if len(documents) > 1 else "not an object"
        raise InputError(Problem(f"{what}: expected {expected}", path))
    return documents[0]


def components_of(
    struct: type[Struct], tidied: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of the struct, and the schemas of the structs in it by name. Each field is `tidied`, without its
    default, which editors do not use."""
    from msgspec.json import schema_components

    (root,), components = schema_components([struct], ref_template="#/$defs/{name}")
    definitions = {name: _without_defaults(component, tidied) for name, component in components.items()}
    return definitions.pop(root["$ref"].rpartition("/")[2]), definitions


def _without_defaults(
    component: dict[str, Any], tidied: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    properties = {
        name: {key: value for key, value in tidied(name, each).items() if key != "default"}
        for name, each in component.get("properties", {}).items()
    }
    return {**component, "properties": properties}


def json_schema(document: dict[str, Any], definitions: dict[str, Any], title: str) -> dict[str, Any]:
    return {"$schema": _DIALECT, **document, "title": title, "$defs": definitions}
