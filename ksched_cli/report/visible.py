"""Makes untrusted text safe to show.

Names and messages come from manifests, clusters, servers and file names. A terminal obeys control characters, a reader
is misled by bidirectional text, CI systems obey lines of a log that look like their commands, and Markdown has markup.
Every sink passes what it shows through `visible`, and Markdown through `escape_markdown`."""

from __future__ import annotations

import re
from typing import ParamSpec, TypeVar

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
