"""The screen of `ksched watch`: what keys do, what is drawn in a given room, and all of it in tmux."""

from __future__ import annotations

import io
import itertools
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
import trustme
from msgspec.structs import replace

from ksched_cli.cli import live_screen
from ksched_cli.cli.live_screen import ScreenState, keys_of, pressed
from ksched_cli.cli.main import run
from ksched_cli.errors import ClusterUnreadable
from ksched_cli.plan.watch import Answer, Kind, Moment, News
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.sinks.screen import listed
from ksched_cli.report.view.watch import MARK, WatchScreen, age, time_of_day, view
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod
from tests.cli.transcripts import ROOT
from tests.running import Ksched
from tests.sources.live.kube_server import serving

NODE = "ip-10-0-1-17.eu-west-1.compute.internal"
NOW = 1_000_000_000.0
PATIENCE = 30.0


def node(name: str, cpu: str = "4") -> dict[str, object]:
    return make_node(name).allocatable(cpu=cpu, memory="16Gi", pods="10").doc()


def moment(*news: News, pods: int = 3) -> Moment:
    """`web-0`, `web-1` ... fit, `big-0` is the youngest and fits nowhere, `held-0` is the oldest."""
    waiting = [make_pod(f"web-{number}").requests(cpu="1").doc() for number in range(pods)]
    held = make_pod("held-0").spec(schedulingGates=[{"name": "example.com/quota"}]).doc()
    big = make_pod("big-0").requests(cpu="64").doc()
    found = Simulator.load([node("n1"), node("n2", "8"), *waiting, held, big]).simulate()
    stamps = ["2001-09-08T01:46:40Z", *(f"2001-09-09T00:{number:02}:00Z" for number in range(pods))]
    names = ["default/held-0", *(f"default/web-{number}" for number in range(pods))]
    return Moment(found, {**dict(zip(names, stamps, strict=True)), "default/big-0": "2001-09-09T01:46:30Z"}, news)


def shown(pods: int = 3) -> WatchScreen:
    return replace(WatchScreen().after(moment(pods=pods), NOW), now=NOW)


def press(state: ScreenState, *keys: str) -> ScreenState:
    for key in keys:
        state = pressed(state, key)
    return state


def names(screen: WatchScreen) -> list[str]:
    return [each.pod.removeprefix("default/") for each in screen.pods]


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        pytest.param(b"jjq", ["j", "j", "q"], id="letters at once"),
        pytest.param(b"\x1b[A\x1b[B\x1b[6~", ["up", "down", "page down"], id="sequences"),
        pytest.param(b"\x1b", ["escape"], id="escape"),
        pytest.param(b"\r\x7f", ["enter", "delete"], id="enter and delete"),
        pytest.param("ü\x01x".encode(), ["ü", "x"], id="another control character"),
        pytest.param("üx".encode(), ["ü", "x"], id="a letter of two bytes"),
        pytest.param(b"\xffj\xc3", ["j"], id="bytes that are no letter"),
    ],
)
def test_keys(sent: bytes, keys: list[str]) -> None:
    assert list(keys_of(sent)) == keys


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param([], ["big-0", "held-0", "web-0", "web-1", "web-2"], id="the worst result first"),
        pytest.param(["s"], ["held-0", "web-0", "web-1", "web-2", "big-0"], id="the oldest first"),
        pytest.param(["s", "s"], ["big-0", "held-0", "web-0", "web-1", "web-2"], id="by name"),
        pytest.param(["/", *"web"], ["web-0", "web-1", "web-2"], id="by a word of the name"),
        pytest.param(["/", *"quota"], ["held-0"], id="by a word of the cause"),
        pytest.param(["/", *"webq", "delete", "enter", "s"], ["web-0", "web-1", "web-2"], id="a letter taken back"),
        pytest.param(["/", *"web-1q", "delete"], ["web-1"], id="one letter taken back"),
        pytest.param(["/", *"q"], ["held-0"], id="q is a letter of a filter"),
        pytest.param(["/", *"web", "enter", "escape"], ["big-0", "held-0", "web-0", "web-1", "web-2"], id="no filter"),
        pytest.param(["/", *"none"], [], id="nothing has the word"),
    ],
)
def test_the_list(keys: list[str], expected: list[str]) -> None:
    state = press(ScreenState(shown()), *keys)
    assert names(state.shown) == expected
    assert not state.ended


def test_the_chosen_pod_stays_chosen() -> None:
    state = press(ScreenState(shown()), "j", "down", "j", "k")
    assert state.shown.chosen == "default/web-0"
    assert press(state, "s").shown.chosen == "default/web-0"
    assert press(state, "/", *"web-1").shown.chosen == "default/web-1"
    # A filter without the chosen pod chooses the first pod that it shows.
    assert press(state, "/", *"held").shown.chosen == "default/held-0"
    assert press(state, "/", *"web", "escape").shown.chosen == "default/web-0"
    assert press(state, "/", *"web", "enter", "escape").shown.chosen == "default/web-0"
    assert press(state, *["j"] * 9).shown.chosen == "default/web-2"
    assert press(state, "page up").shown.chosen == "default/big-0"
    assert press(state, "x", "left").shown.chosen == "default/web-0"
    long = ScreenState(shown(40))
    for key, row in {"j": 1, "down": 1, "page down": 10, " ": 10}.items():
        assert press(long, key).shown.chosen == long.shown.pods[row].pod
    bottom = press(long, *[" "] * 5)
    for key, row in {"k": -2, "up": -2, "page up": -11}.items():
        assert press(bottom, key).shown.chosen == long.shown.pods[row].pod
    assert state.shown.after(moment(pods=1), NOW).chosen == "default/web-0"
    assert press(state, "j", "j").shown.after(moment(pods=1), NOW).chosen == "default/big-0"
    assert press(state, "k").shown.after(moment(pods=1), NOW).chosen == "default/held-0"
    assert press(state, "q").ended


def test_an_explanation_scrolls_and_goes() -> None:
    state = press(ScreenState(shown()), "enter")
    assert state.shown.asked == "default/big-0"
    assert view(state.shown).verdict == "looking for the cause ..."
    other = state.shown.after(Answer("default/web-0", mistake="no pod has this name"), NOW)
    assert view(other).verdict == "looking for the cause ..."
    answered = replace(state, shown=state.shown.after(Answer("default/big-0", mistake="no pod has this name"), NOW))
    assert view(answered.shown).verdict == "no pod has this name"
    assert press(answered, "j", "j", "k").top == 1
    assert press(answered, "k").top == 0
    assert press(answered, "escape").shown.asked == ""
    assert not press(replace(state, waits=True), "escape", "enter").waits


def test_what_the_other_thread_has_seen() -> None:
    assert not live_screen._taken(ScreenState(), moment()).ended
    assert live_screen._taken(ScreenState(), None).ended
    with pytest.raises(ValueError, match="lost"):
        live_screen._taken(ScreenState(), ValueError("lost"))


def test_news_stays_for_a_minute() -> None:
    bound = News(Kind.BOUND, "default/web-0", "n1", "as foreseen")
    first = shown().after(moment(bound, pods=1), NOW + 10)
    sections = {at: [each.name for each in view(replace(first, now=at)).sections] for at in (NOW + 70, NOW + 71)}
    assert ["news" in each for each in sections.values()] == [True, False]
    assert "news" not in [each.name for each in view(shown()).sections]
    titles = {at: view(replace(first.after(bound, NOW + at), now=NOW + at)).sections[2].title for at in (70, 71)}
    assert titles == {70: "The last minute (2 changes)", 71: "The last minute (1 change)"}
    lost = first.after(News(Kind.LOST, why="connection refused; the data is 20s old"), NOW + 20)
    assert view(lost).notes[0].text == "the API server does not answer: connection refused; the data is 20s old"
    assert not view(lost.after(News(Kind.BACK), NOW + 21)).notes


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0s"), (119, "119s"), (120, "2m"), (7200, "2h"), (172_800, "2d")], ids=str
)
def test_ages(seconds: int, text: str) -> None:
    assert age(seconds) == text


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("height", [23, 40])
@pytest.mark.parametrize("step", [0, 17, 41])
def test_the_chosen_row_is_seen(width: int, height: int, step: int) -> None:
    screen = shown(40).choose(step)
    lines = [each.plain for each in listed(view(screen), MARK, width, height, RenderOptions())]
    assert len(lines) <= height
    assert lines[0].startswith("42 pending pods: 29 unschedulable, 1 held back, 12 scheduled (2 nodes, ")
    assert [each.split()[1] for each in lines if each.startswith(MARK)] == [screen.chosen]
    assert any("Fullest nodes" in each for each in lines)


def test_a_screen() -> None:
    lines = [each.plain.rstrip() for each in listed(view(shown()), MARK, 80, 30, RenderOptions())]
    assert lines[1:] == [
        "",
        "   POD             RESULT         AGE   WHY",
        ">  default/big-0   unschedulable  10s   2 nodes lack cpu",
        "   default/held-0  held back      24h   waiting for scheduling gates: [example.com/quota]",
        "   default/web-0   scheduled      106m  n2: total 463, 9 more than n1",
        "   default/web-1   scheduled      105m  n2: total 458, 4 more than n1",
        "   default/web-2   scheduled      104m  n1: total 454, 3 more than n2",
        "",
        "default/big-0: 0/2 nodes are available: 2 Insufficient cpu. no new claims to",
        "deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for",
        "scheduling.",
        "",
        "Fullest nodes, now -> with the pending pods",
        "NODE  CPU          MEMORY  PODS",
        "n1    0 % -> 25 %  0 %     0 % -> 10 %",
        "n2    0 % -> 25 %  0 %     0 % -> 20 %",
    ]


@pytest.mark.slow
def test_nodes_of_an_autoscaler_are_on_the_screen() -> None:
    found = Simulator.load(str(ROOT / "ksched_cli" / "cli" / "demo_karpenter.yaml")).simulate()
    assert found.autoscaling is not None
    assert found.autoscaling.new_nodes
    screen = WatchScreen().after(Moment(found, {}, ()), NOW)
    assert sum(each.result == "new node" for each in screen.pods) == len(found.provisioned)
    assert "newNodes" in [each.name for each in view(screen).sections]


# All of it


class Followed:
    """A cluster of one moment, as a screen or as lines."""

    def __init__(self) -> None:
        self.warnings: tuple[str, ...] = ()
        self.closed = False
        self.asked: list[str] = []
        self._questions = queue.Queue[str | None]()

    def seen(self) -> Iterator[Moment | Answer]:
        yield moment()
        while pod := self._questions.get():
            yield Answer(pod, mistake=f"there is no {pod} any more")

    def news(self) -> Iterator[News]:
        try:
            for number in range(3):
                self.warnings = ("a warning",)
                yield News(Kind.FITS, f"default/web-{number}", "n1")
        finally:
            self.closed = True

    def ask(self, pod: str) -> None:
        self.asked.append(pod)
        self._questions.put(pod)

    def stop(self) -> None:
        self._questions.put(None)


@pytest.mark.slow
@pytest.mark.parametrize("leaves", [True, False], ids=["the reader leaves", "the time is over"])
def test_on_a_terminal(leaves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod is chosen, explained and left: the frames that a person sees, and a terminal that is as before."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    sent: list[bytes] = []

    def receive() -> None:
        with suppress(OSError):
            while chunk := os.read(ours, 65536):
                sent.append(chunk)

    def press_keys() -> None:
        until(lambda: not termios.tcgetattr(theirs)[3] & termios.ICANON)
        # A key while the answer is awaited does not ask for it again.
        os.write(ours, b"j\rx")
        until(lambda: b"any more" in b"".join(sent))
        os.write(ours, b"\x1bq" if leaves else b"\x1b")
        until(lambda: b"".join(sent).count(b"5 pending pods") > 2)
        followed.stop()

    def until(holds: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds() and time.monotonic() < end:
            time.sleep(0.01)

    followed = Followed()
    threads = [threading.Thread(target=each) for each in (receive, press_keys)]
    for each in threads:
        each.start()
    for name in ("CI", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "60", "LINES": "12"}.items():
        monkeypatch.setenv(name, value)
    before = termios.tcgetattr(theirs)
    monkeypatch.setattr(Simulator, "watch", lambda *_: followed)
    monkeypatch.setattr(live_screen.time, "time", lambda: NOW)
    with open(os.dup(theirs)) as stdin, open(os.dup(theirs), "w") as stdout, monkeypatch.context() as changed:
        changed.setattr("sys.stdin", stdin)
        changed.setattr("sys.stdout", stdout)
        assert run(["watch"]) == 0
        assert termios.tcgetattr(theirs) == before
    os.close(theirs)
    for each in threads:
        each.join()
    assert followed.asked == ["default/held-0"]
    text = b"".join(sent).decode().replace("\r\n", "\n")
    # Its own screen without a cursor, and at the end the screen of the shell again.
    assert text.startswith("\x1b[?1049h\x1b[H\x1b[?25l\x1b[H")
    assert text.endswith("\x1b[?25h\x1b[?1049l")
    assert "\x1b[1;31m1 unschedulable\x1b[0m" in text
    assert "\n\x1b[7mj/k choose " in text
    frames = [re.sub(r"\x1b\[[?0-9;]*[a-z]", "", frame).split("\n") for frame in text.split("\x1b[H")[2:]]
    assert {len(line) for frame in frames for line in frame} == {60}
    # The screen is drawn again each second.
    shown = [[line.rstrip() for line in frame] for frame, _ in itertools.groupby(frames)]
    explained = ["j/k scroll   escape back   q quit"]
    assert shown == [
        choice("big-0"),
        choice("held-0"),
        ["default/held-0: looking for the cause ...", *[""] * 10, *explained],
        ["default/held-0: there is no default/held-0 any more", *[""] * 10, *explained],
        choice("held-0"),
    ]


def choice(chosen: str) -> list[str]:
    """The screen of twelve lines with sixty columns."""
    rows = {
        "big-0": "default/big-0   unschedulable  10s   2 nodes lack cpu",
        "held-0": "default/held-0  held back      24h   waiting for schedul…",
        "web-0": "default/web-0   scheduled      106m  n2: total 463, 9 mo…",
    }
    return [
        "5 pending pods: 1 unschedulable, 1 held back, 3",
        f"    scheduled (2 nodes, {time_of_day(NOW)})",
        "",
        "   POD             RESULT         AGE   WHY",
        *(f"{'>' if name == chosen else ' '}  {row}" for name, row in rows.items()),
        "   and 2 more",
        "",
        "Fullest nodes, now -> with the pending pods",
        "NODE  CPU          MEMORY  PODS",
        "j/k choose   enter explain   s sort: result   / filter   q …",
    ]


def failing() -> Iterator[Moment]:
    raise ClusterUnreadable("no cluster")
    yield moment()


def test_no_screen_opens_without_a_cluster(monkeypatch: pytest.MonkeyPatch, ksched: Ksched) -> None:
    followed = Followed()
    monkeypatch.setattr(followed, "seen", failing)
    monkeypatch.setattr(Simulator, "watch", lambda *_: followed)
    monkeypatch.setattr(live_screen, "can_show", lambda: True)
    monkeypatch.setattr(live_screen, "Screen", None)
    assert ksched("watch", code=3).err == "ksched: no cluster\n"


@pytest.mark.parametrize(
    ("stdin", "stdout", "term", "shows"),
    [
        pytest.param(True, True, "xterm", True, id="a terminal"),
        pytest.param(False, True, "xterm", False, id="no key is typed"),
        pytest.param(True, False, "xterm", False, id="no reader"),
        pytest.param(True, True, "dumb", False, id="a dumb terminal"),
    ],
)
def test_who_gets_a_screen(stdin: bool, stdout: bool, term: str, shows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("termios")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    for name, is_terminal in {"stdin": stdin, "stdout": stdout}.items():
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setattr(f"sys.{name}", stream)
    shown = live_screen.can_show()
    monkeypatch.undo()
    assert shown is shows


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        pytest.param([], 3, id="to the end"),
        pytest.param(["--count", "2"], 2, id="a number of lines"),
        pytest.param(["-o", "json"], 3, id="json"),
    ],
)
def test_lines(arguments: list[str], shown: int, monkeypatch: pytest.MonkeyPatch, ksched: Ksched) -> None:
    """Also on a terminal, where `-o json` and `--count` print lines."""
    followed = Followed()
    monkeypatch.setattr(Simulator, "watch", lambda *_: followed)
    monkeypatch.setattr(live_screen, "can_show", lambda: bool(arguments))
    printed = ksched("watch", *arguments, code=0)
    assert len(printed.out.splitlines()) == shown
    assert printed.err == "ksched: warning: a warning\n"
    assert followed.closed


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_in_tmux(tmp_path: Path) -> None:
    pods = [make_pod(f"web-{number}").requests(cpu="1").doc() for number in range(2)]
    tmux = ["tmux", "-f", "/dev/null", "-S", str(tmp_path / "tmux")]

    def screen() -> str:
        return subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout

    def send(*keys: str) -> None:
        subprocess.run([*tmux, "send-keys", *keys], check=True)

    def until(holds: Callable[[str], bool]) -> str:
        end = time.monotonic() + PATIENCE
        while not holds(found := screen()):
            assert time.monotonic() < end, found
            time.sleep(0.1)
        return found

    with serving([node(NODE), node(NODE.replace("1-17", "2-17")), *pods], trustme.CA()) as kube:
        command = [sys.executable, "-m", "ksched_cli", "watch", "--kubeconfig", kube.kubeconfig(tmp_path)]
        line = f"cd {ROOT}; env -u CI -u NO_COLOR {shlex.join(command)}; echo code $?; sleep 60"
        subprocess.run([*tmux, "new-session", "-d", "-x", "80", "-y", "24", line], check=True)
        try:
            first = until(lambda found: "2 pending pods: 2 scheduled (2 nodes, " in found)
            assert "> default/web-0" in " ".join(first.split())
            kube.change("ADDED", make_pod("big").requests(cpu="64").doc())
            until(lambda found: "3 pending pods: 1 unschedulable, 2 scheduled" in found and "The last minute" in found)
            kube.change("MODIFIED", make_pod("web-0").requests(cpu="1").on(NODE).doc())
            until(lambda found: "default/web-0  bound to ip-10-0-1-17" in found)
            send("/", "b", "i", "g")
            until(lambda found: "filter: big_" in found and "default/web-1  " not in found.split("The last minute")[0])
            send("Enter", "Enter")
            until(lambda found: "All 2 nodes lack cpu" in found and "escape back" in found)
            send("Escape")
            until(lambda found: "/ filter: big" in found)
            send("q")
            # The shell's own screen is back.
            assert "pending pods" not in until(lambda found: "code 0" in found)
        finally:
            subprocess.run([*tmux, "kill-server"], check=False)


def test_a_chosen_pod_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = replace(WatchScreen(), asked="default/p", answer=None)
    answered = replace(asked, answer=Mock())
    states = [replace(ScreenState(), shown=shown) for shown in (WatchScreen(), asked, asked, answered)]
    states = [*states[:2], replace(states[2], waits=True), states[3], replace(states[3], ended=True)]
    remaining = iter(states)
    following = Mock(seen=lambda: [Mock()], warnings=())
    monkeypatch.setattr(live_screen, "Screen", lambda: Mock(open=nullcontext))
    monkeypatch.setattr(live_screen, "_keys", nullcontext)
    monkeypatch.setattr(live_screen, "_draw", Mock())
    monkeypatch.setattr(live_screen, "_taken", lambda state, found: next(remaining))
    asked_before: list[int] = []

    def shown_next(*_: object) -> ScreenState:
        asked_before.append(following.ask.call_count)
        return next(remaining)

    monkeypatch.setattr(live_screen, "_next", shown_next)
    live_screen.follow(following)
    assert asked_before == [0, 1, 1, 1]
    following.ask.assert_called_once_with("default/p")
    following.stop.assert_called_once_with()
