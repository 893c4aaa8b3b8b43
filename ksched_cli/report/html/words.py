"""Numbers in words."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """`1 pod`, `1,200 pods`."""
    return f"{number:,} {noun(number, what)}"


def noun(number: int, what: str) -> str:
    """`pod` for 1, else `pods`."""
    return what if number == 1 else f"{what}s"


def capitalised(text: str) -> str:
    """The text with a capital letter first, the rest as it is."""
    return text[:1].upper() + text[1:]
