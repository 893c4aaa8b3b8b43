"""Finds the string literals in CEL expressions of device selectors that redaction replaces.

A pseudonym can replace the string of a device attribute only if strings are compared for equality or order. If one
expression reads the characters of a string (`startsWith`, `matches`, `+`, `size`), the strings of all devices stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from msgspec import Struct

from ksched_cli.plugins.lib.cel.syntax import tokens_of
from ksched_cli.plugins.lib.cel.values import CelCompileError

_PLAIN_LITERAL = re.compile(r"""(['"])[^'"\\]*\1""")

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
# Functions of literals that are numbers, versions or addresses and not strings of devices.
_PARSING = ("quantity", "semver", "isQuantity", "isSemver", "duration", "timestamp", "ip", "cidr", "isIP", "isCIDR")
# Functions that do not read the characters of strings.
_BLIND = (
    *_PARSING,
    "has",
    "all",
    "exists",
    "exists_one",
    "filter",
    "compareTo",
    "isGreaterThan",
    "isLessThan",
    "includes",
)
_MEMBER = "in"
_DRIVER = "driver"
_MAPS = ([_MEMBER, "device", ".", "attributes"], [_MEMBER, "device", ".", "capacity"])
_JOINING = "+"


class _Token(Struct, frozen=True):
    text: str
    group: str
    start: int


def only_compare_strings(expressions: Iterable[str]) -> bool:
    """Whether pseudonyms can stand for the strings of device attributes and for the literals compared with them."""
    return all(map(_only_compares, set(expressions)))


def with_literals(expression: str, rename: Callable[[str], str]) -> str:
    """The expression with its compared literals replaced."""
    parts: list[str] = []
    end = 0
    for token in _compared(_tokens(expression)):
        parts += [expression[end : token.start], f'"{rename(token.text[1:-1])}"']
        end = token.start + len(token.text)
    return "".join([*parts, expression[end:]])


def _tokens(expression: str) -> list[_Token]:
    return [_Token(text, kind, place) for kind, text, place in tokens_of(expression)[:-1]]


def _only_compares(expression: str) -> bool:
    """Whether no function reads the characters of a string and every literal has one of the known forms."""
    try:
        tokens = _tokens(expression)
    except CelCompileError:
        return False
    names = [one.text for one, after in pairwise(tokens) if after.text == "(" and one.group == "name"]
    if any(name not in (*_BLIND, _MEMBER) for name in names) or any(token.text == _JOINING for token in tokens):
        return False
    compared = {token.start for token in _compared(tokens)}
    strings = [at for at, token in enumerate(tokens) if token.group == "string"]
    return all(
        _is_key(tokens, at)
        or _is_parsed(tokens, at)
        or _names_driver(tokens, at)
        or (tokens[at].start in compared and _PLAIN_LITERAL.fullmatch(tokens[at].text))
        for at in strings
    )


def _compared(tokens: list[_Token]) -> Iterator[_Token]:
    """The literals that are compared with a selected value, also those in a list."""
    for at, token in enumerate(tokens):
        if token.group != "string" or _names_driver(tokens, at):
            continue
        before, after = _text(tokens, at - 1), _text(tokens, at + 1)
        selected = _is_selected(tokens, at - 2) if before in _COMPARISONS else _selection_follows(tokens, at, after)
        if selected or (before in ("[", ",") and _in_member_list(tokens, at)):
            yield token


def _text(tokens: list[_Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""


def _is_selected(tokens: list[_Token], at: int) -> bool:
    """Whether an operand that is a field or an element ends here, and not a variable or a call."""
    return at >= 0 and (tokens[at].text == "]" or (tokens[at].group == "name" and _text(tokens, at - 1) == "."))


def _selection_follows(tokens: list[_Token], at: int, after: str) -> bool:
    """Whether a comparison with a selected value follows, as in `"text" == device.…`."""
    return after in _COMPARISONS and _text(tokens, at + 2) == "device" and _text(tokens, at + 3) == "."


def _is_key(tokens: list[_Token], at: int) -> bool:
    """Whether the literal is a key, as in `attributes["driver"]` or `"driver" in device.attributes`."""
    indexed = _text(tokens, at - 1) == "[" and _text(tokens, at + 1) == "]" and _is_selected(tokens, at - 2)
    after = [token.text for token in tokens[at + 1 : at + 6]]
    whole_map = after[:4] in _MAPS and after[4:] not in (["["], ["."])
    return indexed or whole_map


def _is_parsed(tokens: list[_Token], at: int) -> bool:
    return _text(tokens, at - 1) == "(" and _text(tokens, at - 2) in _PARSING


def _names_driver(tokens: list[_Token], at: int) -> bool:
    """Whether the literal is compared with `device.driver`: names of drivers stay."""
    left = [token.text for token in tokens[max(at - 4, 0) : at]]
    right = [token.text for token in tokens[at + 1 : at + 5]]
    return left == ["device", ".", _DRIVER, "=="] or right == ["==", "device", ".", _DRIVER]


def _in_member_list(tokens: list[_Token], at: int) -> bool:
    """Whether the literal is in a list such as `x in ["a", "b"]`."""
    while at > 0 and (tokens[at].group == "string" or tokens[at].text == ","):
        at -= 1
    return tokens[at].text == "[" and _text(tokens, at - 1) == _MEMBER and _is_selected(tokens, at - 2)
