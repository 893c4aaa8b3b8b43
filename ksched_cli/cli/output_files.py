"""Writes the files that commands make. A file is replaced as a whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from ksched_cli.errors import UsageError

_PRIVATE = 0o600
# Of a directory that is an input only such files are read.
_READ_SUFFIXES = (".json", ".yaml", ".yml")


class OutputFile(Struct, frozen=True):
    """A file to write. `private`: only its owner may read it."""

    path: str
    data: bytes
    private: bool = False


def check_outputs(paths: Sequence[str], inputs: Sequence[str]) -> None:
    """Raise UsageError if an output would overwrite an input or another output."""
    for number, path in enumerate(paths):
        if any(_same_file(path, other) for other in paths[:number]):
            raise UsageError(f"{path}: two outputs go to this file")
        for each in inputs:
            if _is_read_from(path, each):
                raise UsageError(f"cannot write {path}: it is one of the inputs")


def write_files(outputs: Sequence[OutputFile]) -> None:
    """Write all files, or none: each goes to a temporary file in its folder before the first is renamed. The old files
    survive every failure until then."""
    staged: list[tuple[str, str]] = []
    try:
        for output in outputs:
            _stage(output, staged)
        while staged:
            temporary, path = staged[0]
            os.replace(temporary, path)
            del staged[0]
            _sync_folder(path)
    except OSError as problem:
        path = problem.filename2 or output.path
        raise UsageError(f"cannot write {path}: {(problem.strerror or str(problem)).lower()}") from None
    finally:
        for temporary, _ in staged:
            with suppress(OSError):
                os.unlink(temporary)


def _stage(output: OutputFile, staged: list[tuple[str, str]]) -> None:
    """Write the temporary file; note it and the path that it will have. A link stays a link to the file."""
    path = os.path.realpath(output.path)
    if os.path.isdir(path):
        raise IsADirectoryError(0, "is a directory")
    if os.path.exists(path) and not os.path.isfile(path):
        _write_to_device(path, output.data)
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", suffix=".tmp", dir=os.path.dirname(path))
    staged.append((temporary, path))
    with os.fdopen(handle, "wb") as file:
        # By its name: Windows has no fchmod. mkstemp made a file of its own that only this user may open.
        os.chmod(temporary, _PRIVATE if output.private else _mode(path))
        file.write(output.data)
        file.flush()
        os.fsync(handle)


def _write_to_device(path: str, data: bytes) -> None:
    """A pipe or a device cannot be replaced."""
    with open(path, "wb") as file:
        file.write(data)


def _mode(path: str) -> int:
    """The mode of the file that is replaced, else what the umask leaves."""
    with suppress(OSError):
        return stat.S_IMODE(os.stat(path).st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _sync_folder(path: str) -> None:
    with suppress(OSError):
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _is_read_from(path: str, source: str) -> bool:
    if source == "-":
        return _is_stdin(path)
    if os.path.isdir(source):
        return is_below(path, source) and path.endswith(_READ_SUFFIXES)
    return _same_file(path, source)


def is_below(path: str, folder: str, paths: Any = os.path) -> bool:
    """Whether the path is in the folder, links followed. `paths` is os.path of the system."""
    inner, outer = (paths.normcase(paths.realpath(each)) for each in (path, folder))
    return bool(inner.startswith(paths.join(outer, "")))


def _is_stdin(path: str) -> bool:
    """Whether the shell redirected stdin from this file."""
    try:
        own, given = os.stat(path), os.fstat(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISREG(own.st_mode) and os.path.samestat(own, given)


def _same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other) and os.path.isfile(path)
    except OSError:
        return os.path.realpath(path) == os.path.realpath(other)
