"""How much memory a run took, and how much there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any


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
