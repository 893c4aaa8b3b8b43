"""Regular expressions of CEL: RE2, as Go has it, with Go's error texts.

google-re2 runs in time linear in the text, and has the syntax of Go's regexp. Python's `re` backtracks: `(a+)+$` takes
it minutes on a hundred letters.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ksched_cli.plugins.lib.cel.values import CelError

# RE2's texts, and those of Go's regexp/syntax.
_TEXTS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "unexpected )",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "pattern too large - compile failed": "expression too large",
}


@lru_cache(maxsize=1024)
def search_pattern(pattern: str) -> Any:
    """The compiled pattern; CelError if Go would refuse it."""
    # Imported when an expression uses it: most selectors do not.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except UnicodeEncodeError:
        raise CelError(f"error parsing regexp: invalid UTF-8: `{pattern!a}`") from None
    except re2.error as problem:
        raise CelError(f"error parsing regexp: {_go_text(problem)}") from None


def _go_text(problem: Exception) -> str:
    problem_text = problem.args[0] if problem.args else ""
    text = problem_text.decode("utf-8", "replace") if isinstance(problem_text, bytes) else str(problem_text)
    kind, _, part = text.partition(": ")
    return f"{_TEXTS.get(kind, kind)}: `{part}`"
