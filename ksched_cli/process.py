"""This process: its memory, its cores, and whether it may be copied. A figure that the system does not report is 0.
Copies themselves are made in `plan/run/each.py`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


class _Process:
    """Whether this process may be copied, and whether it is a copy."""

    may_be_copied = False
    is_copy = False


def allow_copies() -> None:
    """From now on this process may be copied (`plan/run/each.py`). Only the command line allows it: a program that uses
    ksched as a library may have threads, and a copy of it would have one of them."""
    _Process.may_be_copied = True


def forbid_copies() -> None:
    """From now on this process may not be copied, because it has threads of its own."""
    _Process.may_be_copied = False


def may_be_copied() -> bool:
    return _Process.may_be_copied


def become_copy() -> None:
    """From now on this process is a copy, which ends with its computation."""
    _Process.is_copy = True


def is_copy() -> bool:
    """Whether this process is a copy: it need not undo what its computation has changed."""
    return _Process.is_copy


def core_count() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_mib() -> float:
    """The most memory that the process has held."""
    # The peak of getrusage on Linux begins with that of the process that started this one.
    found = _mib_in(Path("/proc/self/status"), "VmHWM")
    if found is not None:
        return found
    try:
        import resource
    except ImportError:
        return _peak_on_windows()
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in KiB, but in bytes on macOS
    return peak / (1024 * 1024) if sys.platform == "darwin" else peak / 1024


def available_mib() -> float:
    """How much memory programs can still take without swapping; 0 where the system does not report it."""
    return _mib_in(Path("/proc/meminfo"), "MemAvailable") or 0.0


def _mib_in(path: Path, field: str) -> float | None:
    """A line such as "VmHWM: 2048 kB" of a file of Linux, in MiB; None where there is no such file or line."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:")), None)


def _peak_on_windows() -> float:
    """PeakWorkingSetSize of PROCESS_MEMORY_COUNTERS; 0 where the system does not report it."""
    import ctypes

    class Counters(ctypes.Structure):
        _fields_ = (
            ("cb", ctypes.c_uint32),
            ("PageFaultCount", ctypes.c_uint32),
            ("PeakWorkingSetSize", ctypes.c_size_t),
            ("others", ctypes.c_size_t * 7),
        )

    counters = Counters(cb=ctypes.sizeof(Counters))
    try:
        kernel: Any = vars(ctypes)["WinDLL"]("kernel32")
        kernel.GetCurrentProcess.restype = ctypes.c_void_p
        kernel.K32GetProcessMemoryInfo.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
        kernel.K32GetProcessMemoryInfo(kernel.GetCurrentProcess(), ctypes.byref(counters), counters.cb)
    except (KeyError, OSError, AttributeError):
        return 0.0
    return float(counters.PeakWorkingSetSize) / (1024 * 1024)
