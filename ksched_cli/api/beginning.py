"""What an object is, from its first words."""

from __future__ import annotations

import re

from msgspec import Raw

_TEXT = rb'\s*:\s*"([\w./-]*)"\s*,\s*'
_BEGINNING = re.compile(
    rb'\s*\{\s*(?:"kind"' + _TEXT + rb'"apiVersion"' + _TEXT + rb'|"apiVersion"' + _TEXT + rb'"kind"' + _TEXT + rb')"',
    re.ASCII,
)


def stated_first(raw: bytes | Raw) -> tuple[str, str] | None:
    """apiVersion and kind where an object begins with them, as kubectl prints it: that saves reading it twice."""
    found = _BEGINNING.match(raw)
    if found is None:
        return None
    kind_first, version_last, version_first, kind_last = found.groups()
    if kind_first is None:
        return version_first.decode(), kind_last.decode()
    return version_last.decode(), kind_first.decode()
