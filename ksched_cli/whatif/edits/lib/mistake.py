"""Why an edit cannot be made."""

from __future__ import annotations


class EditMistake(ValueError):
    """Why an edit cannot be made, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
