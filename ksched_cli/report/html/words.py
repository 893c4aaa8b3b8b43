"""Numbers and words with the right ending."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """`1 pod`, `1,200 pods`."""
    return f"{number:,} {noun(number, what)}"


def noun(number: int, what: str) -> str:
    """`pod` for 1, `pods` for other numbers."""
    return what if number == 1 else f"{what}s"


def capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
