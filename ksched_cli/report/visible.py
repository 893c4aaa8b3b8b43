"""Makes untrusted text safe to show.

Names and messages come from manifests, clusters, servers and file names. A terminal obeys control characters, a reader
is misled by bidirectional text, CI systems obey lines of a log that look like their commands, and Markdown has markup.
Every sink passes what it shows through `visible`, and Markdown through `escape_markdown`."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache, wraps
from itertools import compress
from operator import attrgetter, is_, is_not
from typing import Any, Concatenate, ParamSpec, TypeVar

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

# GitHub obeys `::error file=x::text` at the start of a line, also after spaces, so wherever a table may wrap a line.
# All its commands have a letter that no IPv6 address has. GitHub and Azure obey `##[command]` and `##vso[…]` anywhere.
_COMMAND = re.compile(r":(?=:[a-z-]*[g-z-])|#(?=#(?:\[|vso\[))", re.IGNORECASE)

_WITHOUT_TEXT = frozenset((int, float, bool, type(None)))
_NUMBERS = frozenset(("int", "float", "bool", "tuple[int, ...]"))


def visible(text: str) -> str:
    r"""The text with `\x1b`, `\n`, `\u202e` in place of characters that are not printable, and without commands of CI
    systems."""
    return _without_commands(text if text.isprintable() else "".join(map(_shown, text)))


def visible_lines(text: str) -> str:
    """The text as `visible` makes it, but with its line breaks, for formats that can write those."""
    return "\n".join(map(visible, text.split("\n"))) if "\n" in text else visible(text)


def _shown(character: str) -> str:
    return character if character.isprintable() else escaped(character)


def _without_commands(text: str) -> str:
    return _COMMAND.sub(lambda found: escaped(found[0]), text) if "::" in text or "##" in text else text


def escaped(character: str) -> str:
    r"""The character as Python writes it in a string. A byte of a file name that is not UTF-8 is shown as `\xff`."""
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if character in _SHORT:
        return _SHORT[character]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shows_visible(render: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Decorate a renderer: all texts of its first argument are made visible."""

    @wraps(render)
    def of_visible(result: T, /, *rest: P.args, **options: P.kwargs) -> R:
        return render(with_texts(result, visible), *rest, **options)

    return of_visible


def with_texts(value: T, convert: Callable[[str], str], except_fields: Collection[str] = ()) -> T:
    """The result with all its texts converted, except fields of these names. Parts without changes are the same
    objects."""
    changed: Any = _Conversion(convert, except_fields).of(value)
    result: T = changed
    return result


class _Conversion:
    """Converts each distinct text of a result once, and each shared column of names once."""

    def __init__(self, convert: Callable[[str], str], except_fields: Collection[str]) -> None:
        self._convert = convert
        self._except_fields = except_fields
        self._texts: dict[str, str] = {}
        self._columns: dict[int, bool] = {}
        # The fields of the last value without changes, by kind.
        self._neighbours: dict[Any, tuple[Any, ...]] = {}
        # The last tuple without changes, which the next part may share.
        self._unchanged: Any = None

    def of(self, value: Any) -> Any:
        kind: Any = type(value)
        if kind is str:
            return self._text(value)
        if kind in _WITHOUT_TEXT:
            return value
        if isinstance(value, tuple | list):
            return self._items(value)
        fields = _fields_of(kind)
        if fields is None and hasattr(kind, "converted"):
            # Its texts are made when they are read first.
            return value.converted(self._text)
        if fields is None and isinstance(value, Mapping):
            return self._mapping(value)
        if fields is None and isinstance(value, Sequence):
            return self._names(value)
        return self._parts(value, kind, fields) if fields else value

    def _parts(self, value: Any, kind: Any, fields: Sequence[str]) -> Any:
        """The value with converted fields. Consecutive values share most fields: fields that did not change in the last
        value of this kind are not checked again."""
        changes: dict[str, Any] = {}
        found = _values_of(kind)(value)
        before = self._neighbours.get(kind)
        fresh: Iterable[tuple[str, Any]] = zip(fields, found, strict=True)
        if before is not None:
            fresh = compress(fresh, map(is_not, found, before))
        for field, old in fresh:
            if type(old) in _WITHOUT_TEXT or field in self._except_fields:
                continue
            if (new := self.of(old)) is not old:
                changes[field] = new
        if changes:
            return _replaced(value, changes)
        self._neighbours[kind] = found
        return value

    def _text(self, text: str) -> str:
        converted = self._texts.get(text)
        if converted is None:
            converted = self._convert(text)
            converted = self._texts[text] = text if converted == text else converted
        return text if converted == text else converted

    def _items(self, value: Any) -> Any:
        if not value or value is self._unchanged:
            return value
        items = self._all(value)
        if all(map(is_, items, value)):
            if type(value) is tuple and type(value[0]) is not str:
                self._unchanged = value
            return value
        kind = type(value)
        return kind(*items) if hasattr(value, "_fields") else kind(items)

    def _all(self, values: Iterable[Any]) -> list[Any]:
        """Each value converted. No call is made for numbers and for texts that stay the same."""
        known = self._texts
        return [
            each if type(each) in _WITHOUT_TEXT or (type(each) is str and known.get(each) is each) else self.of(each)
            for each in values
        ]

    def _names(self, names: Sequence[str]) -> Any:
        """Names that are looked up in a shared column one by one. Most are never shown."""
        column = getattr(names, "column", names)
        changes = self._columns.get(id(column))
        if changes is None:
            changes = self._columns[id(column)] = any(self._text(name) != name for name in column)
        return tuple(map(self._text, names)) if changes else names

    def _mapping(self, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
        keys, items = self._all(value), self._all(value.values())
        if all(map(is_, keys, value)) and all(map(is_, items, value.values())):
            return value
        changed = dict(zip(keys, items, strict=True))
        return Counter(changed) if isinstance(value, Counter) else changed


@cache
def _fields_of(kind: Hashable) -> tuple[str, ...] | None:
    """The fields of a dataclass or a msgspec struct that may hold text; None for anything else."""
    if dataclasses.is_dataclass(kind):
        return tuple(each.name for each in dataclasses.fields(kind) if each.type not in _NUMBERS)
    # A value may be a type, as in an edit of a kind: the type of a struct has a descriptor of this name.
    fields = getattr(kind, "__struct_fields__", None)
    if not isinstance(fields, tuple) or not isinstance(kind, type):
        return None
    types = ChainMap(*(vars(each).get("__annotations__", {}) for each in kind.__mro__))
    return tuple(name for name in fields if types[name] not in _NUMBERS)


@cache
def _values_of(kind: Hashable) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns the values of the fields."""
    fields = _fields_of(kind) or ()
    values: Callable[[Any], Any] = attrgetter(*fields)
    return values if len(fields) > 1 else lambda value: (values(value),)


def _replaced(value: Any, changes: dict[str, Any]) -> Any:
    import msgspec

    copied = copy.copy(value)
    set_field = msgspec.structs.force_setattr if isinstance(value, msgspec.Struct) else object.__setattr__
    for field, new in changes.items():
        set_field(copied, field, new)
    return copied


def is_plain(text: str) -> bool:
    """Whether lines of a text are free of control characters and of commands of CI systems."""
    return all(line.isprintable() and not _COMMAND.search(line) for line in text.split("\n"))


_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~])")
# GitHub and GitLab turn these into links and notifications without any markup.
_AUTOMATIC = re.compile(r"(@|:(?=//)|\b(?:www|mailto|xmpp)(?=[.:])|#(?=\d))", re.IGNORECASE)
_NOTHING = "&#8203;"


def escape_markdown(text: str) -> str:
    """The text as one line without markup, entities, links or mentions."""
    marked = _AUTOMATIC.sub("\\1\0", text.replace("\0", ""))
    escaped = _MARKUP.sub(r"\\\1", marked.replace("&", "&amp;"))
    return escaped.replace("\0", _NOTHING).replace("\r", " ").replace("\n", " ")
