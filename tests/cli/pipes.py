"""Commands whose output goes into a closed pipe."""

from __future__ import annotations

import os
import subprocess
import sys

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
