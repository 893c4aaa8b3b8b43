"""Files of ksched's own kinds: Scenario, Sweep and Catalog with their JSON Schemas, and snapshots, which hold the
fields of a cluster that scheduling reads in one compressed file.

A snapshot has no text that ksched does not read (see `redaction.walk`), such as environment variables, commands, most
annotations and the parameters of storage. Older snapshots lack fields that ksched reads since a later version, hence
the number of the format. The same cluster gives the same bytes.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from ksched_cli.api.decode import KINDS, DecodedObject, decode_alike, decode_json
from ksched_cli.api.validation.fields import items_at, object_at, text_at, texts_at
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.decoding import API_VERSION, SNAPSHOT_START
from ksched_cli.sources.loaded import Loaded

if TYPE_CHECKING:
    from ksched_cli.api.yaml_reader import Document


FORMAT = 1

# The version under which a kind is written: the newest, which KINDS lists first.
_VERSION_OF = {kind: version for (version, _), kind in reversed(KINDS.items())}


class Snapshot(Struct, rename="camel"):
    format_version: int = 0
    time: str = ""
    server_version: str = ""
    not_read: dict[str, int] = {}
    missing: dict[str, str] = {}
    autoscaler_flags: dict[str, str] = {}
    api_server_flags: dict[str, str] = {}
    service_ranges: dict[str, dict[str, Any]] = {}
    items: list[Raw] = []


def read_snapshot(content: bytes, source: str) -> Snapshot:
    try:
        format_version = msgspec.json.decode(content, type=_Format).format_version
        if format_version > FORMAT:
            text = f"a snapshot of format {format_version}, and this ksched reads up to format {FORMAT}"
            raise InputError(Problem(text, source, hint="a newer ksched reads it"))
        return msgspec.json.decode(content, type=Snapshot)
    except msgspec.DecodeError as mistake:
        hint = "take the snapshot again"
        raise InputError(Problem(f"damaged snapshot: {mistake}", source, hint=hint)) from None


def decode_snapshot(snapshot: Snapshot, source: str) -> Iterator[DecodedObject]:
    """The objects of the snapshot."""
    for number, (item, value) in enumerate(zip(snapshot.items, decode_alike(snapshot.items), strict=True)):
        if value is None:
            yield from decode_json(item, f"{source}: items[{number}]")
        else:
            yield DecodedObject(value, document=item)


class _Format(Struct, rename="camel"):
    format_version: int = 0


def write_snapshot(loaded: Loaded, time: str, *, redacted: bool = False) -> bytes:
    """The bytes of the file. They do not depend on the order in which the objects were read."""
    ranges = {name: _kept_of_range(each) for name, each in sorted(loaded.service_ranges.items())}
    head = {
        "formatVersion": FORMAT,
        "time": time,
        "serverVersion": loaded.server_version,
        "notRead": dict(sorted(left_out(loaded).items())),
        "missing": dict(sorted(loaded.missing.items())),
        **({"autoscalerFlags": loaded.autoscaler_flags} if loaded.autoscaler_flags else {}),
        **({"apiServerFlags": loaded.api_server_flags} if loaded.api_server_flags else {}),
        **({"serviceRanges": ranges} if ranges else {}),
        **({"redacted": True} if redacted else {}),
    }
    out = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=6, mtime=0) as packed:
        packed.write(SNAPSHOT_START + b"," + msgspec.json.encode(head)[1:-1] + b',"items":[')
        for number, item in enumerate(_items(loaded)):
            packed.write((b",\n" if number else b"\n") + item)
        packed.write(b"\n]}\n")
    return out.getvalue()


def _kept_of_range(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a ServiceCIDR that are read."""
    deleted = object_at(document, "metadata").get("deletionTimestamp")
    conditions = [
        {field: text_at(each, field) for field in ("type", "status")}
        for _, each in items_at(object_at(document, "status"), "conditions")
    ]
    return {
        "metadata": {"deletionTimestamp": deleted} if deleted else {},
        "spec": {"cidrs": texts_at(object_at(document, "spec"), "cidrs")},
        "status": {"conditions": conditions},
    }


def _items(loaded: Loaded) -> Iterator[bytes]:
    from ksched_cli.sources.redaction.unread import without_unread

    kinds = sorted(loaded.objects, key=lambda kind: kind.__name__)
    for kind in kinds:
        identity = f'{{"apiVersion":"{_VERSION_OF[kind]}","kind":"{kind.__name__}",'.encode()
        items: list[Any] = sorted(loaded.objects[kind], key=lambda item: (item.metadata.namespace, item.metadata.name))
        for item in items:
            yield identity + msgspec.json.encode(without_unread(item))[1:]
    if loaded.karpenter:
        from ksched_cli.api.karpenter import karpenter_versions, stored
    for own in sorted(loaded.karpenter, key=lambda kind: kind.__name__):
        identity = f'{{"apiVersion":"{karpenter_versions(own)[0]}","kind":"{own.__name__}",'.encode()
        for item in sorted(loaded.karpenter[own], key=lambda item: item.metadata.name):
            yield identity + msgspec.json.encode(stored(item))[1:]


def left_out(loaded: Loaded) -> dict[str, int]:
    """How many objects of each kind a snapshot does not have. Objects of Karpenter are in it."""
    if not loaded.karpenter:
        return dict(loaded.unknown)
    from ksched_cli.api.karpenter import karpenter_versions

    kept = {f"{version}/{kind.__name__}" for kind in loaded.karpenter for version in karpenter_versions(kind)}
    return {kind: count for kind, count in loaded.unknown.items() if kind not in kept}


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
