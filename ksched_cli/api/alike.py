"""Decodes many items of a list at once. An item that is decoded alone is read twice, first for its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import Any, TypeAlias, Union

import msgspec
from msgspec import NODEFAULT, Raw, Struct
from msgspec.structs import astuple

from ksched_cli.api.beginning import stated_first
from ksched_cli.api.kinds import KINDS

# A larger part is slower, because its text and its objects leave the processor's cache.
PART = 64

_Decode: TypeAlias = Callable[[bytes], list[Struct]]


def decode_alike(items: Sequence[Raw]) -> Iterator[Struct | None]:
    """The object of each item, or None for an item that must be decoded alone: one of a kind without a type, one with a
    mistake or a null, and the items next to these. Short lists are not worth a decoder of their own."""
    kinds: frozenset[type[Struct]] = frozenset()
    for start in range(0, len(items), PART):
        part = items[start : start + PART]
        found = _decode_part(part, kinds)
        if found is None and len(items) >= PART and (new := _kinds_of(part) - kinds):
            kinds |= new
            found = _decode_part(part, kinds)
        yield from repeat(None, len(part)) if found is None else map(_as_kind, found)


def _kinds_of(items: Sequence[Raw]) -> frozenset[type[Struct]]:
    """The kinds of the items that begin with a known kind."""
    stated = filter(None, map(stated_first, items))
    return frozenset(KINDS[each] for each in stated if each in KINDS)


def _decode_part(items: Sequence[Raw], kinds: frozenset[type[Struct]]) -> list[Struct] | None:
    """The items as documents of these kinds; None if one of them is anything else."""
    if not kinds:
        return None
    try:
        return _decoder(kinds)(b"[" + b",".join(items) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


@cache
def _decoder(kinds: frozenset[type[Struct]]) -> _Decode:
    documents: Any = Union[tuple(map(_document_type, kinds))]  # noqa: UP007  # the types are made here
    return msgspec.json.Decoder(list[documents]).decode


@cache
def _document_type(kind: type[Struct]) -> type[Struct]:
    """The type of a document with `apiVersion` and the kind's fields. msgspec chooses it by the document's `kind`."""
    fields: list[Any] = [("api_version", str, msgspec.field(name="apiVersion", default=""))]
    for each in msgspec.structs.fields(kind):
        given = {"default": each.default} if each.default is not NODEFAULT else {}
        if each.default_factory is not NODEFAULT:
            given = {"default_factory": each.default_factory}
        fields.append((each.name, each.type, msgspec.field(name=each.encode_name, **given)))
    return msgspec.defstruct(kind.__name__, fields, gc=False, tag_field="kind", tag=kind.__name__)


def _as_kind(document: Struct) -> Struct | None:
    """The object of the document; None if its kind has no type in this version."""
    api_version, *values = astuple(document)
    kind = KINDS.get((api_version, type(document).__name__))
    return kind(*values) if kind is not None else None
