"""Decodes a list of objects of one kind at once. Items of other lists are read twice, first for their kind."""

from __future__ import annotations

import re
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct

from ksched_cli.api.beginning import stated_first
from ksched_cli.api.kinds import KINDS

_ITEMS = re.compile(rb'\s*\{(?:\s*"(?:apiVersion|kind)"\s*:\s*"[\w./-]*"\s*,)*\s*"items"\s*:\s*\[\s*', re.ASCII)
# Enough bytes of the first item to hold its kind; and no item is larger than this.
_HEAD, _TAIL = 1024, 4 * 1024**2


def decode_alike(raw: bytes) -> list[Struct] | None:
    """The items of such a list; None for anything else and for a list with a mistake, which the usual way reports."""
    items = _ITEMS.match(raw)
    if items is None:
        return None
    first = raw[items.end() : items.end() + _HEAD]
    stated = stated_first(first)
    if stated is None or stated not in KINDS or not _ends_alike(raw, first, stated):
        return None
    try:
        found = _decoder(KINDS[stated]).decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not found.kind.endswith("List") or not found.api_version:
        return None
    if any((each.api_version, each.kind) != stated for each in found.items):
        return None
    kind = KINDS[stated]
    values = _values(kind)
    return [kind(*values(each)) for each in found.items]


def _ends_alike(raw: bytes, first: bytes, stated: tuple[str, str]) -> bool:
    """Whether an item near the end begins as the first does. Lists of several kinds have them one after the other."""
    beginning = first[: first.index(stated[1].encode() + b'"') + len(stated[1]) + 1]
    return raw.rfind(beginning, max(0, len(raw) - _TAIL)) != -1


@cache
def _decoder(kind: type[Struct]) -> msgspec.json.Decoder[Any]:
    """The type of a list of items with the kind's fields and their `apiVersion` and `kind`."""
    fields: list[Any] = [("api_version", str, msgspec.field(name="apiVersion", default="")), ("kind", str, "")]
    for each in msgspec.structs.fields(kind):
        given = {"default": each.default} if each.default is not NODEFAULT else {}
        if each.default_factory is not NODEFAULT:
            given = {"default_factory": each.default_factory}
        fields.append((each.name, each.type, msgspec.field(name=each.encode_name, **given)))
    document = msgspec.defstruct(f"{kind.__name__}Document", fields, gc=False)
    listed = msgspec.defstruct(
        f"{kind.__name__}Documents",
        [
            ("api_version", str, msgspec.field(name="apiVersion", default="")),
            ("kind", str, ""),
            ("items", list[document], msgspec.field(default_factory=list)),  # type: ignore[valid-type]  # a type made above
        ],
    )
    return msgspec.json.Decoder(listed)


@cache
def _values(kind: type[Struct]) -> Any:
    """The kind's own fields, in their order; attrgetter gives no tuple for one alone."""
    names = kind.__struct_fields__
    return attrgetter(*names) if len(names) > 1 else lambda item: (getattr(item, names[0]),)
