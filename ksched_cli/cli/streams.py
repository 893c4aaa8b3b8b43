"""stdin, stdout and stderr as a shell or a CI system may hand them over: closed, full, or not in UTF-8."""

from __future__ import annotations

import codecs
import json
import os
import sys

from ksched_cli.errors import UsageError

_ESCAPES = "ksched-escapes"


def prepare_streams() -> None:
    """Open what the caller closed on /dev/null, but for stdout, without which there is no result. What the encoding of
    the locale cannot write is written as `\\u2705`, which is valid in JSON, too."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  # it stays open to the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        raise UsageError("stdout is closed: there is nowhere to write the result")
    codecs.register_error(_ESCAPES, _escape)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_ESCAPES)


def _escape(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    return json.dumps(problem.object[problem.start : problem.end])[1:-1], problem.end


def abandon_stdout() -> None:
    """What is still buffered goes nowhere: the interpreter must not try to write it once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
