"""Commands whose output goes to a terminal, or into a closed pipe."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

from tests.cli.transcripts import ROOT

# 128 and the number of SIGPIPE, as a shell reports it.
BROKEN_PIPE = 141


def run_without_a_reader(*arguments: str) -> tuple[int, str]:
    """The exit code, and what came on stderr. As in `ksched … | head -1`, but the reader is closed before the command
    starts, so that no line can be in the pipe by then."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        command = [sys.executable, "-m", "ksched_cli", *arguments]
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    return done.returncode, done.stderr


def run_on_a_terminal(
    arguments: Sequence[str], environment: dict[str, str], columns: int | None = None
) -> tuple[int, str]:
    """The exit code, and what a terminal of that width is sent on stdout. On stderr a slow machine also gets a progress
    bar."""
    import pty

    ours, theirs = pty.openpty()
    if columns is not None:
        import fcntl
        import termios

        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        arguments, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment, cwd=ROOT
    )
    os.close(theirs)
    sent = b""
    # Linux ends a closed terminal with an error where others end it with nothing.
    with suppress(OSError):
        while chunk := os.read(ours, 65536):
            sent += chunk
    os.close(ours)
    return process.wait(), sent.decode()
