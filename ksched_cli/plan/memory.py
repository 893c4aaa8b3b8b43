"""How much memory a run took."""

from __future__ import annotations

from pathlib import Path


def peak_mib() -> float:
    """The most memory that the process has held."""
    try:
        # What getrusage says on Linux begins with the peak of the process that started this one.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in KiB, but in bytes on macOS
    return peak / (1024 * 1024) if sys.platform == "darwin" else peak / 1024
