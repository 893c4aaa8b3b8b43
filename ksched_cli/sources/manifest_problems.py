"""Finds the mistakes for which the API server refuses a manifest, and unknown fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ksched_cli.api.conversion import path_text
from ksched_cli.api.decode import DecodedObject, UnknownKind
from ksched_cli.api.defaults import DEFAULT_NAMESPACE
from ksched_cli.api.kinds import CLUSTER_SCOPED, KINDS, versions_of
from ksched_cli.api.schema import Path, misfits
from ksched_cli.api.validation.fields import object_at, text_at
from ksched_cli.api.validation.rules import validate
from ksched_cli.errors import Level, Problem
from ksched_cli.sources.input_codes import INVALID, UNKNOWN_FIELD


def manifest_problems(found: DecodedObject, source: str, *, namespace: str, strict: bool | None) -> Iterator[Problem]:
    """The problems of the object as it is written, except those that decoding has reported. `namespace` is for objects
    that name none. With `strict` an unknown field is an error, with None a warning, with False no problem."""
    document = _plain(found.document)
    if document is None or isinstance(found.value, UnknownKind):
        return
    identity = _identity(found, document)
    label, level = _label(document, identity, namespace), _UNKNOWN[strict]
    reported = {problem.path.rpartition(": ")[2] for problem in found.problems}
    for path, text, hint, is_unknown in _problems(document, *identity):
        inner = f"{found.path}{path_text(path)}"
        where = f"{label}: {inner}"
        if inner in reported:
            continue
        if not is_unknown:
            reported.add(inner)
            yield Problem(text, source, found.line, where, hint, INVALID)
        elif level is not None:
            yield Problem(text, source, found.line, where, hint, UNKNOWN_FIELD, level)


_UNKNOWN: Mapping[bool | None, Level | None] = {True: "error", None: "warning", False: None}


def _plain(document: Any) -> Mapping[str, Any] | None:
    if document is None or isinstance(document, dict):
        return document
    plain = msgspec.json.decode(document)
    return plain if isinstance(plain, dict) else None


def _identity(found: DecodedObject, document: Mapping[str, Any]) -> tuple[str, str]:
    """The version and kind of the object. Items of a typed list do not state their kind."""
    stated = str(document.get("apiVersion") or ""), str(document.get("kind") or "")
    if stated in KINDS or found.value is None or isinstance(found.value, UnknownKind):
        return stated
    return versions_of(type(found.value))[0], type(found.value).__name__


def _label(document: Mapping[str, Any], identity: tuple[str, str], namespace: str) -> str:
    """The label of the object in messages, such as `Deployment shop/web`."""
    metadata = object_at(document, "metadata")
    name = text_at(metadata, "name") or text_at(metadata, "generateName")
    if KINDS.get(identity) in CLUSTER_SCOPED:
        return f"{identity[1]} {name}"
    return f"{identity[1]} {text_at(metadata, 'namespace') or namespace or DEFAULT_NAMESPACE}/{name}"


def _problems(document: Mapping[str, Any], api_version: str, kind: str) -> Iterator[tuple[Path, str, str, bool]]:
    """Path, text and hint of each problem, and whether the field is unknown. A value of a wrong type is one problem."""
    for each in misfits(document, api_version, kind):
        yield each.path, each.message, each.hint, each.unknown
    for error in validate(document, kind):
        yield error.path, error.message, "", False
