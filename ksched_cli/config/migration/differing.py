"""Typed values as plain ones, without fields that have their default."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields


def differing(value: Struct) -> dict[str, Any]:
    """The fields that differ from the defaults of the type, at every depth."""
    found = {}
    for field in fields(value):
        own = getattr(value, field.name)
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        if own != default:
            found[field.encode_name] = _plain(own)
    return found


def _entry(value: Any) -> Any:
    """Names with their numbers are whole, also where a number is zero."""
    if not isinstance(value, Struct):
        return _plain(value)
    values = [getattr(value, name) for name in value.__struct_fields__]
    return msgspec.to_builtins(value) if all(type(each) in (int, str) for each in values) else differing(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return differing(value)
    if isinstance(value, tuple | list):
        return [_entry(each) for each in value]
    return msgspec.to_builtins(value)
