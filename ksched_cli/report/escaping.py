"""Escapes untrusted text for Markdown."""

from __future__ import annotations

import re

_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~])")
# GitHub and GitLab turn these into links and notifications without any markup.
_AUTOMATIC = re.compile(r"(@|:(?=//)|\b(?:www|mailto|xmpp)(?=[.:])|#(?=\d))", re.IGNORECASE)
_NOTHING = "&#8203;"


def escape_markdown(text: str) -> str:
    """The text as one line without markup, entities, links or mentions."""
    marked = _AUTOMATIC.sub("\\1\0", text.replace("\0", ""))
    escaped = _MARKUP.sub(r"\\\1", marked.replace("&", "&amp;"))
    return escaped.replace("\0", _NOTHING).replace("\r", " ").replace("\n", " ")
