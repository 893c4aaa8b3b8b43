"""Decodes JSON or plain values to typed objects. All mistakes of an object are reported, each with its path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, TypeAlias, final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ksched_cli.api.alike import decode_alike
from ksched_cli.api.beginning import stated_first
from ksched_cli.api.conversion import path_text, problems_in, type_name
from ksched_cli.api.kinds import KINDS
from ksched_cli.errors import Problem

MAX_LIST_DEPTH = 3

_DECODERS: dict[type[Struct], msgspec.json.Decoder[Any]] = {}


class _Envelope(Struct, rename="camel"):
    """The fields of a document that identify its kind."""

    api_version: str = ""
    kind: str = ""
    items: list[Raw] | UnsetType | None = UNSET


class _Name(Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Named(Struct, frozen=True):
    metadata: _Name = _Name()


@final
@dataclass(frozen=True, slots=True)
class UnknownKind:
    """An object of a kind without a type, and its document."""

    api_version: str
    kind: str
    document: Any = field(default=None, compare=False, repr=False)


Decoded: TypeAlias = Struct | UnknownKind


class DecodedObject(Struct):
    """An object or its problems, and its place in the source. `stray`: the document has no field of a Kubernetes
    object. `document` is the object as written, as JSON text or as plain values."""

    value: Decoded | None
    problems: tuple[Problem, ...] = ()
    line: int | None = None
    path: str = ""
    stray: bool = False
    document: Any = None


_ENVELOPE: msgspec.json.Decoder[_Envelope] = msgspec.json.Decoder(_Envelope)


def decode_json(
    raw: bytes | Raw,
    source: str = "",
    line: int | None = None,
    path: str = "",
    inherited: tuple[str, str] = ("", ""),
    depth: int = 0,
) -> Iterator[DecodedObject]:
    """The objects of one JSON document and of its lists. Raises msgspec.DecodeError for a text that is not JSON."""
    stated = stated_first(raw)
    if stated is not None and stated in KINDS:
        yield _decode_one(raw, *stated, source, line, path)
        return
    try:
        envelope = _ENVELOPE.decode(raw)
    except msgspec.ValidationError:
        yield from decode_plain(msgspec.json.decode(raw), source, line, path, inherited, depth)
        return
    api_version, kind = envelope.api_version or inherited[0], envelope.kind or inherited[1]
    problem = _check_identity(api_version, kind, source, line, path, depth)
    if problem is not None:
        stray = not depth and is_stray(msgspec.json.decode(raw))
        yield DecodedObject(None, (problem,), stray=stray)
    elif envelope.items is not UNSET and kind.endswith("List"):
        yield from _decode_listed(envelope.items or (), element_of(api_version, kind), source, line, path, depth)
    else:
        yield _decode_one(raw, api_version, kind, source, line, path)


def _decode_listed(
    items: Sequence[Raw], element: tuple[str, str], source: str, line: int | None, path: str, depth: int
) -> Iterator[DecodedObject]:
    """The objects of a list's items. The items of an inner list are decoded one by one."""
    alike = repeat(None, len(items)) if depth else decode_alike(items)
    for index, (item, value) in enumerate(zip(items, alike, strict=True)):
        where = f"{path}items[{index}]."
        if value is None:
            yield from decode_json(item, source, line, where, element, depth + 1)
        else:
            yield DecodedObject(value, (), line, where, document=item)


def _decode_one(
    raw: bytes | Raw, api_version: str, kind: str, source: str, line: int | None, path: str
) -> DecodedObject:
    struct = KINDS.get((api_version, kind))
    if struct is None:
        return DecodedObject(UnknownKind(api_version, kind, raw), (), line, path)
    return decode_as(raw, struct, source, line, path)


def decode_as(raw: bytes | Raw, struct: type[Struct], source: str, line: int | None, path: str) -> DecodedObject:
    """The JSON text as an object of a kind, such as an item of an API server's list, which has no `kind`."""
    decoder = _DECODERS.get(struct)
    if decoder is None:
        decoder = _DECODERS[struct] = msgspec.json.Decoder(struct)
    try:
        return DecodedObject(decoder.decode(raw), (), line, path, document=raw)
    except msgspec.ValidationError:
        # There is a null, which Go reads as absent, or a mistake.
        return convert_plain(msgspec.json.decode(raw), struct, source, line, path)


def decode_unknown(found: DecodedObject, struct: type[Struct], source: str) -> DecodedObject:
    """The object of an unknown kind as an object of this kind."""
    assert isinstance(found.value, UnknownKind)
    document = found.value.document
    if isinstance(document, dict):
        return convert_plain(document, struct, source, found.line, found.path)
    return decode_as(document, struct, source, found.line, found.path)


def decode_plain(
    value: Any,
    source: str = "",
    line: int | None = None,
    path: str = "",
    inherited: tuple[str, str] = ("", ""),
    depth: int = 0,
) -> Iterator[DecodedObject]:
    """The objects of a document that was read as YAML; lists are opened."""
    if not isinstance(value, dict):
        text = f"expected an object with apiVersion and kind, got {type_name(value)}"
        yield DecodedObject(None, (Problem(text, source, line, path.rstrip(".")),), stray=not depth and is_stray(value))
        return
    api_version, kind = value.get("apiVersion") or inherited[0], value.get("kind") or inherited[1]
    problem = _check_identity(api_version, kind, source, line, path, depth)
    if problem is not None:
        yield DecodedObject(None, (problem,), stray=not depth and is_stray(value))
    elif kind.endswith("List") and "items" in value:
        yield from _decode_items(value["items"], element_of(api_version, kind), source, line, path, depth)
    elif (struct := KINDS.get((api_version, kind))) is None:
        yield DecodedObject(UnknownKind(api_version, kind, value), (), line, path)
    else:
        yield convert_plain(value, struct, source, line, path)


def _decode_items(
    items: Any, element: tuple[str, str], source: str, line: int | None, path: str, depth: int
) -> Iterator[DecodedObject]:
    if items is None:
        return
    if not isinstance(items, list):
        yield DecodedObject(None, (Problem(f"expected a list, got {type_name(items)}", source, line, f"{path}items"),))
        return
    for index, item in enumerate(items):
        yield from decode_plain(item, source, line, f"{path}items[{index}].", element, depth + 1)


_MARKS = ("apiVersion", "kind", "metadata", "spec", "items")


def is_stray(document: Any) -> bool:
    """Whether a document has no field of a Kubernetes object, such as the settings of another tool or a patch."""
    if isinstance(document, list):
        return not any(isinstance(each, dict) and "kind" in each for each in document)
    return not isinstance(document, dict) or not any(name in document for name in _MARKS)


def element_of(api_version: str, kind: str) -> tuple[str, str]:
    """The kind of items without a `kind`: Pod in a PodList; none in a List, whose items have a `kind`."""
    return ("", "") if kind == "List" else (api_version, kind.removesuffix("List"))


def _check_identity(
    api_version: object, kind: object, source: str, line: int | None, path: str, depth: int
) -> Problem | None:
    where = path.rstrip(".")
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(value, str):
            return Problem(f"expected a string, got {type_name(value)}", source, line, f"{path}{name}")
    if not kind:
        return Problem("no kind", source, line, where, "every Kubernetes object has an apiVersion and a kind")
    if not api_version:
        return Problem(f"{kind} has no apiVersion", source, line, where, "for a Pod it is v1")
    if depth > MAX_LIST_DEPTH:
        return Problem(f"lists inside lists more than {MAX_LIST_DEPTH} deep", source, line, where)
    return None


def convert_plain(value: Any, struct: type[Struct], source: str, line: int | None, path: str) -> DecodedObject:
    """The typed object, or a problem for every value of a wrong type."""
    converted, mistakes = problems_in(value, struct)
    if not mistakes:
        return DecodedObject(converted, (), line, path, document=value)
    name = _name_of(value)
    problems = (Problem(text, source, line, f"{name}{path}{path_text(steps)}") for steps, text in mistakes)
    return DecodedObject(None, tuple(problems), line, path, document=value)


def _name_of(value: Any) -> str:
    """The beginning of a problem's path, such as `Pod shop/web: `."""
    try:
        name = msgspec.convert(value, _Named).metadata
    except msgspec.ValidationError:
        return ""
    full = f"{name.namespace}/{name.name}" if name.namespace else name.name
    return f"{value.get('kind', '')} {full}: ".lstrip() if full else ""
