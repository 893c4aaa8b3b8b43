"""Words with a range of numbers or minors, which are dimensions of a sweep. Imports nothing heavy: options need it."""

from __future__ import annotations

import re

# Edits that take a number, and the field that has it.
COUNTED_EDITS = {"add-node": "count", "clone-node": "count", "scale": "replicas"}
EDIT_RANGE = re.compile(r"(.*)=(\d+)\.\.(\d+)", re.ASCII | re.DOTALL)


def is_edit_range(text: str) -> bool:
    """Whether the text behind an edit's flag has a range of numbers."""
    return EDIT_RANGE.fullmatch(text) is not None


def swept_edits() -> tuple[str, ...]:
    """The flags of the edits that can have a range."""
    return tuple(COUNTED_EDITS)


def is_version_range(text: str) -> bool:
    """Whether the text names several minors."""
    return ".." in text or "," in text
