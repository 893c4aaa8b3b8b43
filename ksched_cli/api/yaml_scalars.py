"""Plain YAML scalars as kubectl's parser reads them: YAML 1.1 with the exceptions of go-yaml v2."""

from __future__ import annotations

import re

_WORDS: dict[str, object] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_INT_FORMS = (
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)", re.ASCII), 16),
    (re.compile(r"([-+]?)0[bB]([01]+)", re.ASCII), 2),
    (re.compile(r"([-+]?)0[oO]?([0-7]+)", re.ASCII), 8),
    (re.compile(r"([-+]?)(0|[1-9][0-9]*)", re.ASCII), 10),
)
_MIN_INT, _MAX_UINT = -(2**63), 2**64


class NotInJson(ValueError):
    """A number that JSON, and so a Kubernetes object, has no way to write."""


def resolve_plain(text: str) -> object:
    """The value of an unquoted scalar. Timestamps and base 60 numbers stay text, as in go-yaml."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _SPECIAL_FLOAT.fullmatch(text):
        raise NotInJson(f"{text} is a number that JSON cannot hold; quote it if text is meant")
    plain = text.replace("_", "")
    number = _integer(plain)
    if number is not None:
        return number
    return float(plain) if _FLOAT.fullmatch(plain if text[0] != "." else text) else text


def _integer(plain: str) -> int | None:
    for form, base in _INT_FORMS:
        found = form.fullmatch(plain)
        if found is not None:
            number = int(found[1] + found[2], base)
            return number if _MIN_INT <= number < _MAX_UINT else None
    return None


def key_text(value: object) -> str:
    """JSON has text keys only: what go-yaml makes of other scalars."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)
