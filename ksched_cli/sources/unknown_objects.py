"""Objects of kinds that are not read, as plain values."""

from __future__ import annotations

from typing import Any

import msgspec

from ksched_cli.api.decode import UnknownKind


def document_of(unknown: UnknownKind) -> dict[str, Any]:
    """The object as plain values."""
    return plain_document(unknown.document)


def plain_document(document: Any) -> dict[str, Any]:
    """A document that may be JSON text as plain values; empty for a document that is no object."""
    if not isinstance(document, dict):
        document = msgspec.json.decode(document) if document is not None else {}
    return document if isinstance(document, dict) else {}


def label_of(unknown: UnknownKind) -> str:
    """The label of the object, such as `Rollout shop/web`, as far as the manifest has kind, namespace and name."""
    metadata = document_of(unknown).get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or ""
    full = f"{metadata['namespace']}/{name}" if metadata.get("namespace") else f"{name}"
    return f"{unknown.kind} {full}".rstrip()
