"""Names in a sentence, and names that may have been meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_NAMED = 3


def joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def named(names: Sequence[str], most: int = _NAMED) -> str:
    """`a, b, c and 4 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", cutoff: float = 0.6) -> str:
    """The hint for an unknown name: the nearest known name, or `otherwise` if no known name is near."""
    # Imported here: only mistakes need it.
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 1, cutoff)
    return f"did you mean {close[0]}?" if close else otherwise
