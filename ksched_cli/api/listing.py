"""Names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

_NAMED = 3


def joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def named(pods: Sequence[str], most: int = _NAMED) -> str:
    more = f" and {len(pods) - most} more" if len(pods) > most else ""
    return ", ".join(pods[:most]) + more
