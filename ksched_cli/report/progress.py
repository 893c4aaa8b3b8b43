"""How far a command is, on stderr: a line for the reading of a live cluster, a bar for loops. Both go away."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress, TaskID

# Seconds after which a bar is worth showing, and between two updates of it.
_SOON, _OFTEN = 1.0, 0.1
# So many of the newest results stand above a bar.
_MOST_LINES = 8


class ListProgress:
    """Called with a resource, the number read and the server's guess of how many are left."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._read: dict[str, int] = {}
        self._left: dict[str, int] = {}

    def __call__(self, resource: str, read: int, remaining: int) -> None:
        self._read[resource], self._left[resource] = read, remaining
        total = sum(self._read.values())
        left = sum(self._left.values())
        of = f" of about {total + left:,}" if left else ""
        self._out.write(f"\r\033[Kreading {resource}: {total:,}{of} objects")
        self._out.flush()

    def close(self) -> None:
        if self._read:
            self._out.write("\r\033[K")
            self._out.flush()


class RunProgress:
    """A bar on stderr for a command that takes longer than a second, and what was done by then for one that is
    interrupted. The outermost loop counts; what is counted without a loop shows where there is none."""

    def __init__(self, *, bar: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """`bar` is False where stderr is no terminal."""
        self._clock = clock
        self._started = self._begun = clock()
        self._bar: Progress | None = None
        self._shows_bar = bar
        self._out = sys.stderr
        self._task: TaskID | None = None
        self._shown = 0.0
        self.what, self.done, self.total = "", 0, cast("int | None", None)
        self._in_loop = False
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)

    def begin(self, what: str, total: int | None) -> bool:
        if self._in_loop:
            return False
        self._stop()
        self._in_loop = True
        self._begun = self._clock()
        self.what, self.done, self.total = what, 0, total
        self._lines.clear()
        return True

    def advance(self) -> None:
        self.done += 1
        now = self._clock()
        if self._shows_bar and now - self._started >= _SOON and now - self._shown >= _OFTEN:
            self._shown = now
            self._show()

    def note(self, line: str) -> None:
        self._lines.append(line)

    def end(self) -> None:
        self._in_loop = False
        self._stop()

    def count(self, what: str, left: int | None) -> None:
        if self._in_loop:
            return
        if what != self.what:
            self.what, self.done = what, 0
        self.total = None if left is None else self.done + 1 + left
        self.advance()

    def close(self) -> None:
        """Clear the bar away."""
        self._shows_bar = False
        self._stop()

    @contextmanager
    def cleared_for_output(self) -> Iterator[None]:
        """stdout and stderr that clear the bar away before they write. A loop that writes into a pipe keeps its bar."""
        if not self._shows_bar:
            yield
            return
        before = sys.stdout, sys.stderr
        clear_stdout = self._stop if sys.stdout.isatty() else self._stop_outside_loops
        sys.stdout = cast(TextIO, _Clearing(sys.stdout, clear_stdout))
        sys.stderr = cast(TextIO, _Clearing(sys.stderr, self._stop))
        try:
            yield
        finally:
            self._stop()
            sys.stdout, sys.stderr = before

    def summary(self) -> str:
        """What was done so far."""
        if not self.done:
            return "interrupted before the first result"
        of = f" of {self.total:,}" if self.total is not None else ""
        return f"interrupted: {self.done:,}{of} {self.what}"

    def _show(self) -> None:
        if self._bar is None:
            self._bar = _made_bar(self._out, self._lines)
            self._task = self._bar.add_task(self.what, total=self.total, rate="")
            self._bar.start()
        assert self._task is not None
        self._bar.update(self._task, completed=self.done, total=self.total, rate=self._rate())

    def _rate(self) -> str:
        seconds = self._clock() - self._begun
        rate = self.done / seconds if seconds else 0.0
        return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"

    def _stop_outside_loops(self) -> None:
        if not self._in_loop:
            self._stop()

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class _Clearing:
    """A stream that calls `clear` before each text."""

    def __init__(self, stream: TextIO, clear: Callable[[], None]) -> None:
        self._stream, self._clear = stream, clear

    def write(self, text: str) -> int:
        self._clear()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _made_bar(out: TextIO, lines: Iterable[str]) -> Progress:
    """A bar with the newest lines above it. Both are cleared away when the bar stops."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class LinesAndBar(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            yield from [Text(line, no_wrap=True, overflow="ellipsis") for line in tuple(lines)]
            yield from super().get_renderables()

    texts = MofNCompleteColumn(), TextColumn("{task.description}")
    columns = (*texts, BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    console = Console(file=out)
    return LinesAndBar(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
