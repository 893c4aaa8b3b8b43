"""Makes untrusted text safe to show.

Names and messages come from manifests, clusters, servers and file names. A terminal obeys control characters, a reader
is misled by bidirectional text, CI systems obey lines of a log that look like their commands, and Markdown has markup.
Every sink passes what it shows through `visible`, and Markdown through `escape_markdown`.

Names of nodes are shown without the suffix that they share, as `ip-10-0-2-2` for
`ip-10-0-2-2.eu-west-1.compute.internal`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import ParamSpec, TypeVar

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

# GitHub obeys `::error file=x::text` at the start of a line, also after spaces, so wherever a table may wrap a line.
# All its commands have a letter that no IPv6 address has. GitHub and Azure obey `##[command]` and `##vso[…]` anywhere.
_COMMAND = re.compile(r":(?=:[a-z-]*[g-z-])|#(?=#(?:\[|vso\[))", re.IGNORECASE)

_NUMBERS = frozenset(("int", "float", "bool", "tuple[int, ...]"))


def visible(text: str) -> str:
    r"""The text with `\x1b`, `\n`, `\u202e` in place of characters that are not printable, and without commands of CI
    systems."""
    if not text.isprintable():
        text = "".join(map(_shown, text))
    return _COMMAND.sub(lambda found: escaped(found[0]), text) if "::" in text or "##" in text else text


def visible_lines(text: str) -> str:
    """The text as `visible` makes it, but with its line breaks, for formats that can write those."""
    return "\n".join(map(visible, text.split("\n"))) if "\n" in text else visible(text)


def _shown(character: str) -> str:
    return character if character.isprintable() else escaped(character)


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


class ShownNodes:
    """The nodes of a cluster with their zones. Names are shown without `suffix`, which is empty for full names."""

    def __init__(self, zones: Mapping[str, str] = MappingProxyType({}), suffix: str = "") -> None:
        self.zones, self.suffix = zones, suffix

    @classmethod
    def shortened(cls, zones: Mapping[str, str]) -> ShownNodes:
        return cls(zones, common_suffix(zones))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w.-])[a-z0-9-]+(?:\.[a-z0-9-]+)*?{re.escape(self.suffix)}(?![\w-]|\.\w)")

    def text(self, text: str) -> str:
        """The text with short names."""
        if not self.suffix or self.suffix not in text:
            return text
        return self._pattern.sub(lambda found: self._short(found[0]), text)

    def zone(self, node: str) -> str:
        """The zone of a node, by its full or its short name."""
        return self.zones.get(node) or self.zones.get(node + self.suffix, "")

    def with_zone(self, node: str) -> str:
        """`node-1 (zone-a)`, or the name alone if the node has no zone."""
        zone = self.zone(node)
        return f"{node} ({zone})" if zone else node

    def _short(self, name: str) -> str:
        return name.removesuffix(self.suffix) if name in self.zones else name


NO_NODES = ShownNodes()


def common_suffix(names: Iterable[str]) -> str:
    """The longest suffix after a dot that more than half of the names, and at least two, share. Empty if two names
    would be equal without it."""
    all_names = set(names)
    counts: Counter[str] = Counter()
    for name in all_names:
        labels = name.split(".")
        counts.update("." + ".".join(labels[start:]) for start in range(1, len(labels)))
    shared = [suffix for suffix, count in counts.items() if count > 1 and 2 * count > len(all_names)]
    best = max(shared, key=len, default="")
    short = {name.removesuffix(best) for name in all_names}
    return best if len(short) == len(all_names) else ""
