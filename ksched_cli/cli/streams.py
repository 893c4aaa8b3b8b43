"""stdin, stdout and stderr as a shell or a CI system may hand them over: closed, full, or not in UTF-8; the only place
that prints lines (tables and documents are printed by renderers); and the end of the process."""

from __future__ import annotations

import atexit
import codecs
import json
import os
import sys
from collections.abc import Iterable
from contextvars import ContextVar
from typing import NoReturn

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


# The command line that is run, for the documents that it prints.
command_line: ContextVar[str] = ContextVar("command_line", default="")


def print_row(*cells: str) -> None:
    """One line on stdout, its cells separated by tabs."""
    from ksched_cli.report.visible import visible

    print("\t".join(map(visible, cells)))  # noqa: T201


def print_text(text: str) -> None:
    """Lines on stdout that hold nothing of an input, or that a renderer has made."""
    print(text, end="" if text.endswith("\n") else "\n")  # noqa: T201


def complain(text: str) -> None:
    """One line on stderr."""
    from ksched_cli.report.visible import visible

    print(f"ksched: {visible(text)}", file=sys.stderr)  # noqa: T201


def warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        complain(f"warning: {warning}")


def leave(code: int) -> NoReturn:
    """End the process with this exit code. The objects are not released one by one, which takes 0.2 seconds after a
    command on 15,000 objects: the system takes their memory back at once."""
    if _must_end_normally():
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        # The interpreter reports what cannot be written.
        sys.exit(code)
    os._exit(code)


def _must_end_normally() -> bool:
    """Whether something outside the command has work to do at the end: a profiler, a debugger, or another thread."""
    threads = sys.modules.get("threading")
    watched = sys.getprofile() is not None or sys.gettrace() is not None or sys.flags.inspect
    return bool(watched or (threads is not None and threads.active_count() > 1))
