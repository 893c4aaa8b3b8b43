"""`explain-code`: the meaning of reason codes, and hints at codes that may have been meant. The codes themselves are
declared in the rooms of plugins and in `plan/reasons/codes.py`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from msgspec import Struct

from ksched_cli.errors import Problem, UsageError
from ksched_cli.framework.reasons import ReasonCode
from ksched_cli.plan.reasons.codes import all_codes, find_code


class ReasonCodes(Struct, frozen=True):
    """Codes, in one line each or in full."""

    codes: tuple[ReasonCode, ...]
    in_full: bool = False


def explain_codes(texts: Sequence[str]) -> ReasonCodes:
    """The codes of these numbers or names; all codes where none is named. UsageError for all unknown ones at once."""
    known = all_codes()
    if not texts:
        return ReasonCodes(tuple(known.values()))
    found = [(text, find_code(text)) for text in texts]
    names = [*known, *(each.name for each in known.values())]
    problems = [Problem(f"there is no code {text}", hint=_hint(text, names)) for text, code in found if code is None]
    if problems:
        raise UsageError(problems)
    return ReasonCodes(tuple(code for _, code in found if code is not None), in_full=True)


# Numbers of codes that may be meant by another one.
_NEAR = 10


def _hint(text: str, names: list[str]) -> str:
    """A hint at codes with a near number, or at names with similar letters."""
    digits = text.upper().removeprefix("KS")
    if digits.isdecimal():
        codes = [name for name in names if name.startswith("KS")]
        near = [code for code in codes if abs(int(code[2:]) - int(digits)) <= _NEAR]
        close = sorted(sorted(near, key=lambda code: abs(int(code[2:]) - int(digits)))[:2])
    else:
        close = difflib.get_close_matches(text.lower(), names, 3, 0.5)
    return f"did you mean {' or '.join(close)}?" if close else "`ksched explain-code` lists them all"
