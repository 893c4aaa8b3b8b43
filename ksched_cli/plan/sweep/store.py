"""Rows in a folder: appended as they come, and read again by a later run.

`sweep.json` has the sweep that the rows are of, and `rows.jsonl` has one line per variant.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from ksched_cli import __version__
from ksched_cli.errors import InputError, KschedError, Problem, UsageError
from ksched_cli.plan.sweep.model import dimensions_of
from ksched_cli.plan.sweep.rows import VariantRow, decode_rows
from ksched_cli.plan.sweep.task import SweepTask
from ksched_cli.sources.own_documents import API_VERSION

ABOUT, ROWS = "sweep.json", "rows.jsonl"


def about_rows(task: SweepTask) -> dict[str, Any]:
    """What rows have to agree in to be rows of one sweep."""
    sweep, space = task.space.sweep, task.space
    return {
        "apiVersion": API_VERSION,
        "kind": "SweepRows",
        "ksched": __version__,
        "cluster": task.source.digest,
        "dimensions": dimensions_of(sweep),
        "expectations": [str(each) for each in sweep.expectations],
        "sample": sweep.sample,
        "seed": sweep.seed,
        "variants": len(space),
    }


# Windows has no O_CLOEXEC, and would write line ends of its own.
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class RowStore:
    """`about` identifies the sweep: rows are resumed only where it is the same."""

    def __init__(self, folder: str, about: dict[str, Any], *, resume: bool) -> None:
        self._folder, self._about, self._resume = Path(folder), about, resume
        self._file = -1
        self._size = 0
        self.done = bytearray(about["variants"])

    @property
    def path(self) -> Path:
        return self._folder / ROWS

    def open(self) -> Iterator[VariantRow]:
        """Open the folder for writing. The rows that it has already, where it is resumed."""
        with _usable(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._check()
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o666)
            _lock(self._file, self._folder)
        yield from self._read()

    def _check(self) -> None:
        known = self._folder / ABOUT
        if not known.exists():
            if self.path.exists():
                raise UsageError(
                    Problem(f"it has {ROWS} and no {ABOUT}", str(self._folder), hint="give an empty folder")
                )
            known.write_text(json.dumps(self._about, indent=2) + "\n")
            return
        if not self._resume:
            text = "the folder has the rows of an earlier sweep"
            raise UsageError(Problem(text, str(self._folder), hint="--resume goes on with it; or give an empty folder"))
        try:
            found = json.loads(known.read_text())
        except ValueError:
            raise InputError(Problem("it is no JSON", str(known))) from None
        different = [key for key in self._about if not isinstance(found, dict) or found.get(key) != self._about[key]]
        if "ksched" in different and isinstance(found, dict):
            text = f"the rows were made by ksched {found.get('ksched')}, and this is {self._about['ksched']}"
            raise UsageError(Problem(text, str(self._folder)))
        if different:
            text = f"the folder has the rows of another sweep: {', '.join(different)} differ"
            raise UsageError(Problem(text, str(self._folder), hint="resume with the same options and the same cluster"))

    def _read(self) -> Iterator[VariantRow]:
        """A last line that was not written to its end is cut off."""
        with open(self._file, "rb", closefd=False) as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    (row,) = decode_rows(line)
                except (msgspec.DecodeError, ValueError):
                    raise InputError(Problem("the line is no row of a sweep", str(self.path), number)) from None
                self._size += len(line)
                if 0 <= row.variant < len(self.done) and not self.done[row.variant]:
                    self.done[row.variant] = 1
                    yield row
        os.ftruncate(self._file, self._size)
        os.lseek(self._file, self._size, os.SEEK_SET)

    def append(self, lines: bytes) -> None:
        """Write the lines and wait until the disk has them. KschedError if they cannot be written: then the file ends
        with the last line that was written before."""
        left = memoryview(lines)
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as problem:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            text = f"cannot write the rows: {(problem.strerror or str(problem)).lower()}"
            hint = "the rows before are whole: --resume goes on with them"
            raise KschedError(Problem(text, str(self.path), hint=hint)) from None
        self._size += len(lines)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """UsageError with the system's message about a folder that cannot be used."""
    try:
        yield
    except OSError as problem:
        raise UsageError(Problem((problem.strerror or str(problem)).lower(), str(folder))) from None


def _lock(file: int, folder: Path) -> None:
    """One sweep at a time writes to a folder."""
    try:
        import fcntl
    except ImportError:
        # Not on Windows.
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        raise UsageError(Problem("another sweep is writing to the folder", str(folder))) from None
