"""stdin, stdout and stderr as a shell or a CI system may hand them over: closed, full, or not in UTF-8.

This is the only place that prints lines; renderers print tables and documents. It also ends the process, writes the
files that commands make (a file is replaced as a whole or not at all), and starts the pager for long output on a
terminal, as git does: $KSCHED_PAGER, else $PAGER, else less.
"""

from __future__ import annotations

import atexit
import codecs
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO, Any, NamedTuple, NoReturn

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


def _escape(problem: Any) -> tuple[str, int]:
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


def print_json(document: Any) -> None:
    """A document on stdout that no renderer writes, such as a JSON Schema."""
    from ksched_cli.report.encoding import json_text

    print_text(json_text(document, indent=2))


def complain(text: str) -> None:
    """One line on stderr. On a terminal it is broken between words."""
    from ksched_cli.report.visible import visible

    line = f"ksched: {visible(text)}"
    if sys.stderr.isatty():
        import textwrap

        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    print(line, file=sys.stderr)  # noqa: T201


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


_PRIVATE = 0o600
# Of a directory that is an input only such files are read.
_READ_SUFFIXES = (".json", ".yaml", ".yml")


class OutputFile(NamedTuple):
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
    # Few commands write a file.
    import tempfile

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
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, env=environment, encoding="utf-8")
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
