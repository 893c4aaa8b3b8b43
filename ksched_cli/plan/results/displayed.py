"""Results that show themselves: a short table in a terminal, HTML in a notebook. This layer can write neither:
`simulator.py` names the display that can."""

from __future__ import annotations

from typing import Protocol


class Display(Protocol):
    """Writes results."""

    def text(self, result: object) -> str: ...

    def html(self, result: object) -> str: ...


class Displayed:
    """A result with a `repr` for people and with `_repr_html_` for notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _display.text(self) if _display is not None else object.__repr__(self)

    def _repr_html_(self) -> str:
        return _display.html(self) if _display is not None else ""


_display: Display | None = None


def display_with(display: Display) -> None:
    """All results show themselves with this display from now on."""
    global _display
    _display = display
