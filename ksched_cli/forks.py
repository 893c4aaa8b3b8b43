"""Computations on other cores, each in a copy of this process (os.fork).

A copy has the loaded cluster and everything that was worked out so far, and needs no time to start. Only the command
line allows copies: a program that uses ksched as a library may have threads, and a copy of it would have one of them.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NoReturn, TypeVar

from ksched_cli.memory import available_mib, peak_mib
from ksched_cli.progress import listen

T = TypeVar("T")

_CHUNK = 2**20
# So many answers, one for each pending pod and node, make a run of a world worth a copy of this process.
WORTH_ANSWERS = 500_000


class _Process:
    """Whether this process may be copied, and whether it is a copy."""

    may_be_copied = False
    is_copy = False


def allow_forks() -> None:
    """From now on this process may be copied."""
    _Process.may_be_copied = True


def is_copy() -> bool:
    """Whether this process is a copy, which ends with its computation: it need not undo what that has changed."""
    return _Process.is_copy


def core_count() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def forks_at_once() -> int:
    """How many copies of this process may run at once; 0 for none. One more than there are cores, so that no core is
    without work while the last copies end; fewer where the memory of so many could be short."""
    cores = core_count()
    if not _Process.may_be_copied or sys.platform != "linux" or cores < 2:
        return 0
    found = min(cores + 1, int(available_mib() / 2 / max(peak_mib(), 1.0)))
    return found if found > 1 else 0


class Fork(Generic[T]):
    """A computation that begins at once in a copy of this process. `result` waits for it. What the copy cannot return,
    such as an exception, is computed here once more."""

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._received = bytearray()
        self._succeeded = False
        self.is_done = False
        # Ctrl-C is for the process that collects the results, from the first moment on.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._reader, writer = os.pipe()
            try:
                self._process = os.fork()
            except OSError:  # A container may allow no further process.
                os.close(self._reader)
                self.is_done = True
            else:
                if not self._process:
                    os.close(self._reader)
                    _compute_in_copy(compute, writer)
            os.close(writer)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def fileno(self) -> int:
        return self._reader

    def receive(self) -> None:
        """Read what the copy has sent, or wait for it."""
        data = os.read(self._reader, _CHUNK)
        self._received += data
        if not data:
            self._end()

    def result(self) -> T:
        while not self.is_done:
            self.receive()
        if not self._succeeded:
            return self._compute()
        import pickle

        value: T = pickle.loads(self._received)
        return value

    def stop(self) -> None:
        """End the copy if it still runs."""
        if not self.is_done:
            os.kill(self._process, signal.SIGKILL)
            self._end()

    def _end(self) -> None:
        self.is_done = True
        os.close(self._reader)
        _, status = os.waitpid(self._process, 0)
        self._succeeded = os.waitstatus_to_exitcode(status) == 0


def _compute_in_copy(compute: Callable[[], object], writer: int) -> NoReturn:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _Process.is_copy = True
        # The garbage collector would write to every object that the copy shares.
        gc.freeze()
        listen(None)
        import pickle

        data = pickle.dumps(compute(), pickle.HIGHEST_PROTOCOL)
        with open(writer, "wb") as out:
            out.write(data)
        code = 0
    finally:
        # Without the exit handlers and the buffered output of the process that was copied.
        os._exit(code)


def compute_in_forks(computations: Sequence[Callable[[], T]], at_once: int) -> Iterator[T]:
    """The results in their order; so many computations run at once."""
    forks: list[Fork[T]] = []
    try:
        for index in range(len(computations)):
            while True:
                running = [each for each in forks if not each.is_done]
                for compute in computations[len(forks) : len(forks) + at_once - len(running)]:
                    forks.append(Fork(compute))
                    running.append(forks[-1])
                if forks[index].is_done:
                    break
                for ready in select.select(running, [], [])[0]:
                    ready.receive()
            yield forks[index].result()
    finally:
        for each in forks:
            each.stop()
