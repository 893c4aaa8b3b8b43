"""The end of the process."""

from __future__ import annotations

import atexit
import os
import sys
from typing import NoReturn


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
