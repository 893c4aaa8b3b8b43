"""The screen of `ksched watch` on a terminal: keys in, a View out.

A thread follows the cluster and simulates; this one waits for keys and for what that thread has seen, and draws the
screen at each change and once a second. `pressed` is what a key does. Windows has no `termios`: `watch` prints lines
there, as into a pipe.
"""

from __future__ import annotations

import os
import queue
import select
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.sinks.screen import Screen, is_screen
from ksched_cli.report.view.watch import MARK, ORDERS, WatchScreen, view
from ksched_cli.report.visible import ShownNodes

try:
    import termios
    import tty
except ImportError:
    # On Windows.
    _READS_KEYS = False
else:
    _READS_KEYS = True

if TYPE_CHECKING:
    from ksched_cli.simulator import Following

_SEQUENCES = {b"\x1b[A": "up", b"\x1b[B": "down", b"\x1bOA": "up", b"\x1bOB": "down", b"\x1b[5~": "page up",
              b"\x1b[6~": "page down", b"\x1b": "escape", b"\r": "enter", b"\n": "enter", b"\x7f": "delete",
              b"\x08": "delete"}  # fmt: skip
_PAGE = 10
_WAIT = 0.1
_KEYS = "j/k choose   enter explain   s sort: {order}   / filter{words}   q quit"
_TYPED = "filter: {words}_   enter keep it   escape no filter"
_EXPLAINED = "j/k scroll   escape back   q quit"


class ScreenState(Struct, frozen=True):
    """The screen and the keyboard. `typing`: keys are letters of the filter. `top`: the first line of an explanation
    that is seen. `waits`: the question about the pod was sent."""

    shown: WatchScreen = WatchScreen()
    typing: bool = False
    top: int = 0
    waits: bool = False
    ended: bool = False


def pressed(state: ScreenState, key: str) -> ScreenState:
    """What a key does: a letter, or a name such as `enter`."""
    shown = state.shown
    step = {"j": 1, "down": 1, "k": -1, "up": -1, "page down": _PAGE, " ": _PAGE, "page up": -_PAGE}.get(key, 0)
    if state.typing:
        words = "" if key == "escape" else shown.words[:-1] if key == "delete" else shown.words
        words += key if len(key) == 1 else ""
        typing = key not in ("enter", "escape")
        return replace(state, typing=typing, shown=replace(shown, words=words).choose(0))
    if key == "q":
        return replace(state, ended=True)
    if shown.asked and key == "escape":
        return replace(state, shown=replace(shown, asked="", answer=None))
    if shown.asked:
        return replace(state, top=max(state.top + step, 0))
    if key == "escape":
        return replace(state, shown=replace(shown, words="").choose(0))
    if key == "/":
        return replace(state, typing=True)
    if key == "s":
        order = ORDERS[(ORDERS.index(shown.order) + 1) % len(ORDERS)]
        return replace(state, shown=replace(shown, order=order))
    if key in ("enter", "e") and shown.chosen:
        return replace(state, shown=replace(shown, asked=shown.chosen, answer=None), top=0, waits=False)
    return replace(state, shown=shown.choose(step)) if step else state


def can_show() -> bool:
    """Whether a person reads and types here, on a terminal that can be drawn in place."""
    return _READS_KEYS and sys.stdin.isatty() and sys.stdout.isatty() and is_screen()


def follow(following: Following) -> None:
    """Show the cluster until the reader leaves or the time is over."""
    arrived: queue.Queue[Any] = queue.Queue()

    def read() -> None:
        try:
            for each in following.seen():
                arrived.put(each)
            arrived.put(None)
        except BaseException as problem:
            arrived.put(problem)

    threading.Thread(target=read, daemon=True).start()
    try:
        # The cluster is read before the screen opens: the progress of that is on stderr.
        state = _taken(ScreenState(), arrived.get())
        screen = Screen()
        with _keys() as keys, screen.open():
            while not state.ended:
                _draw(screen, state, following.warnings)
                state = _next(state, arrived, keys)
                if state.shown.asked and state.shown.answer is None and not state.waits:
                    following.ask(state.shown.asked)
                    state = replace(state, waits=True)
    finally:
        following.stop()


def _next(state: ScreenState, arrived: queue.Queue[Any], keys: Iterator[str]) -> ScreenState:
    """The state after the next key, after something has arrived, or after a second."""
    until = time.monotonic() + 1
    while time.monotonic() < until:
        # No key was pressed for a while, or the terminal is closed.
        if key := next(keys, "q"):
            return pressed(state, key)
        if not arrived.empty():
            return _taken(state, arrived.get())
    return state


def _taken(state: ScreenState, seen: Any) -> ScreenState:
    """With what the other thread has seen; an exception of that thread is raised."""
    if isinstance(seen, BaseException):
        raise seen
    if seen is None:
        return replace(state, ended=True)
    return replace(state, shown=state.shown.after(seen, time.time()))


def _draw(screen: Screen, state: ScreenState, warnings: Sequence[str]) -> None:
    shown = replace(state.shown, now=time.time(), warnings=warnings)
    zones = shown.cluster.zones
    if shown.asked:
        screen.draw(view(shown), _EXPLAINED, top=state.top, options=RenderOptions(nodes=ShownNodes(zones)))
        return
    words = f": {shown.words}" if shown.words else ""
    keys = _TYPED.format(words=shown.words) if state.typing else _KEYS.format(order=shown.order, words=words)
    screen.draw(view(shown), keys, mark=MARK, options=RenderOptions(nodes=ShownNodes.shortened(zones)))


@contextmanager
def _keys() -> Iterator[Iterator[str]]:
    """The keys that are pressed. The terminal does not echo them, and is as before at the end."""
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    try:
        tty.setcbreak(stdin)
        yield _pressed_keys(stdin)
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)


def _pressed_keys(stdin: int) -> Iterator[str]:
    while True:
        if not select.select([stdin], [], [], _WAIT)[0]:
            yield ""
        elif data := os.read(stdin, 64):
            yield from keys_of(data)
        else:
            return


def keys_of(data: bytes) -> Iterator[str]:
    """The keys that a terminal sends: `q`, `up`, `enter`."""
    while data:
        found = next((each for each in sorted(_SEQUENCES, key=len, reverse=True) if data.startswith(each)), b"")
        if found:
            yield _SEQUENCES[found]
            data = data[len(found) :]
        else:
            letter = data.decode(errors="surrogateescape")[0]
            if letter.isprintable():
                yield letter
            data = data[len(letter.encode(errors="surrogateescape")) :]
