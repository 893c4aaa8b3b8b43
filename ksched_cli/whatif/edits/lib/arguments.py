"""The parts of the text behind a flag (names, numbers, keys and values) and the mistakes in them.

A range of numbers or minors in the text makes a dimension of a sweep. Imports nothing heavy: options need it.
"""

from __future__ import annotations

import re

from ksched_cli.api.label_names import is_label_key, is_label_value
from ksched_cli.api.quantity import MOST_DIGITS

MAX_NODES = 100_000
_NUMBER = re.compile(r"\d+", re.ASCII)


class EditMistake(ValueError):
    """Why an edit cannot be made, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def some_name(name: str) -> str:
    if not name:
        raise EditMistake("there is no name")
    return name


def whole_number(text: str, least: int, most: int, what: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise EditMistake(f"{what}: {text!r} is not a whole number")
    number = int(text) if len(text) <= MOST_DIGITS else None
    if number is None or not least <= number <= most:
        raise EditMistake(
            f"{what}: {text if number is not None else 'a number of so many digits'} is not between {least} and {most}"
        )
    return number


def number_of_nodes(text: str) -> int:
    return whole_number(text, 1, MAX_NODES, "how many")


def node_and_rest(text: str, form: str) -> tuple[str, str]:
    """The two parts of `NODE=...`. `form` shows how the text is written."""
    node, _, rest = text.partition("=")
    if not node or not rest:
        raise EditMistake("incomplete", f"write {form}")
    return node, rest


def check_key(key: str) -> None:
    if not is_label_key(key):
        raise EditMistake(f"{key!r} cannot be a key", "letters, digits, - _ and ., a domain and / before it if need be")


def check_value(value: str) -> None:
    if not is_label_value(value):
        raise EditMistake(f"{value!r} cannot be a value", "at most 63 letters, digits, - _ and .")


def with_count(name: str, count: int) -> str:
    return name if count == 1 else f"{name}={count}"


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
