"""Label selectors as kubectl's -l writes them: `app=web,tier!=db,env in (a, b),!old`."""

from __future__ import annotations

import re

from ksched_cli.api.selectors import LABEL_OPERATORS, Requirement, Selector, SelectorError, checked_requirement
from ksched_cli.errors import UsageError

_SET = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(r"([^=!<>\s]+)\s*(==|=|!=)\s*([^=!<>\s]*)")
_EXISTS = re.compile(r"(!?)\s*([^=!<>\s,()]+)")
# Commas part requirements, but for those inside brackets.
_COMMA = re.compile(r",(?![^(]*\))")


def parse_query(text: str) -> Selector:
    """labels.Parse. Raises SelectorError with the part that cannot be read."""
    if not text.strip():
        return Selector()
    return Selector(tuple(_requirement(part.strip()) for part in _COMMA.split(text)))


def read_query(text: str, option: str = "-l") -> Selector:
    """The label selector of an option. UsageError names the option."""
    try:
        return parse_query(text)
    except SelectorError as mistake:
        raise UsageError(f"{option} {text}: {mistake}") from None


def _requirement(part: str) -> Requirement:
    if found := _SET.fullmatch(part):
        key, word, values = found.groups()
        operator = "In" if word == "in" else "NotIn"
        return checked_requirement(key, operator, tuple(map(str.strip, values.split(","))), LABEL_OPERATORS)
    if found := _EQUAL.fullmatch(part):
        key, sign, value = found.groups()
        return checked_requirement(key, "NotIn" if sign == "!=" else "In", (value,), LABEL_OPERATORS)
    if found := _EXISTS.fullmatch(part):
        negated, key = found.groups()
        return checked_requirement(key, "DoesNotExist" if negated else "Exists", (), LABEL_OPERATORS)
    text = f"{part!r} is no condition on a label; write key=value, key!=value, key in (a,b), key or !key"
    raise SelectorError(("", text))
