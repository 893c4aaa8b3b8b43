"""Long output on a terminal goes through a pager, as git does it: $KSCHED_PAGER, else $PAGER, else less."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

_DEFAULT = "less"
# As git sets them: one screen is printed as it is, colours are kept, and the screen is not cleared.
_OPTIONS = {"LESS": "FRX", "LV": "-c"}
# Of commands that print for as long as they run.
_FOLLOWING = {"watch"}


@contextmanager
def paged(arguments: Sequence[str], before: Callable[[], None]) -> Iterator[None]:
    """stdout through the pager, if there is a person who reads. `before` is called when the pager starts: nothing else
    may write to the terminal from then on."""
    command = _pager() if sys.stdout.isatty() and not set(arguments[:1]) & _FOLLOWING else None
    if command is None:
        yield
        return
    terminal, sys.stdout = sys.stdout, _Paged(sys.stdout, command, before)
    try:
        yield
        sys.stdout.flush()
    finally:
        pager, sys.stdout = sys.stdout, terminal
        pager.close()


def _pager() -> list[str] | None:
    """The command. None in CI, for `cat` and for an empty one, and if it is not installed."""
    text = os.environ.get("KSCHED_PAGER", os.environ.get("PAGER", _DEFAULT))
    words = shlex.split(text)
    if not words or words == ["cat"] or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None
    return words if shutil.which(words[0]) else None


class _Paged:
    """A stream that starts the pager when something is written for the first time."""

    def __init__(self, terminal: IO[str], command: list[str], before: Callable[[], None]) -> None:
        self._terminal, self._command, self._before = terminal, command, before
        self._process: subprocess.Popen[str] | None = None

    def write(self, text: str) -> int:
        return self._stream().write(text)

    def _stream(self) -> IO[str]:
        if self._process is None:
            self._before()
            environment = {**_OPTIONS, **os.environ}
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, env=environment, text=True, encoding="utf-8"
            )
        assert self._process.stdin is not None
        return self._process.stdin

    def flush(self) -> None:
        if self._process is not None:
            self._stream().flush()

    def isatty(self) -> bool:
        return True

    def close(self) -> None:
        """Wait until the person has read everything. Ctrl-C is for the pager."""
        if self._process is None:
            return
        with suppress(BrokenPipeError):
            self._stream().close()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._process.wait()
        finally:
            signal.signal(signal.SIGINT, before)

    def __getattr__(self, name: str) -> object:
        return getattr(self._terminal, name)
