"""Paging as git does it: on a terminal only, by PAGER, with less as the default."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ksched_cli.cli.streams import _pager, paged
from tests.cli.pipes import run_on_a_terminal
from tests.cli.transcripts import ROOT

pytest.importorskip("pty", reason="there are no terminals to open here")

DEMO = [sys.executable, "-m", "ksched_cli", "demo"]


def environment(**changes: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("CI", "PAGER", "KSCHED_PAGER", "LESS")}
    return {**kept, "TERM": "xterm-256color", **changes}


def on_a_terminal(arguments: list[str], **changes: str) -> tuple[int, str]:
    return run_on_a_terminal(arguments, environment(**changes))


@pytest.fixture
def pager(tmp_path: Path) -> str:
    """A pager that states how it was called and prints what it gets."""
    path = tmp_path / "pager"
    path.write_text('#!/bin/sh\necho "PAGED $LESS"\nexec cat\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "paged"),
    [
        pytest.param({}, True, id="PAGER"),
        pytest.param({"CI": "true"}, False, id="CI"),
        pytest.param({"TERM": "dumb"}, False, id="a dumb terminal"),
        pytest.param({"KSCHED_PAGER": ""}, False, id="KSCHED_PAGER comes first"),
    ],
)
def test_a_terminal_is_paged(pager: str, changes: dict[str, str], paged: bool) -> None:
    code, shown = on_a_terminal(DEMO, **{"PAGER": pager, **changes})
    assert code == 0
    assert ("PAGED FRX" in shown) == paged
    assert "6 pending pods" in shown
    if changes.get("TERM") != "dumb":
        assert "\x1b[" in shown


@pytest.mark.slow
def test_a_pipe_is_not_paged(pager: str) -> None:
    done = subprocess.run(DEMO, capture_output=True, text=True, check=True, env=environment(PAGER=pager), cwd=ROOT)
    assert "PAGED" not in done.stdout


@pytest.mark.slow
def test_the_exit_code_is_that_of_the_command(pager: str, tmp_path: Path) -> None:
    cluster = "fixtures/clusters/eks.yaml"
    code, shown = on_a_terminal([*DEMO[:-1], "simulate", "--from", cluster], PAGER=pager)
    assert (code, "PAGED" in shown) == (1, True)
    code, shown = on_a_terminal([*DEMO[:-1], "simulate", "--from", str(tmp_path / "none")], PAGER=pager)
    assert (code, "PAGED" in shown) == (2, False)


@pytest.mark.parametrize(
    ("changes", "command"),
    [
        pytest.param({}, ["less"], id="the default"),
        pytest.param({"PAGER": "cat"}, None, id="cat is none"),
        pytest.param({"PAGER": "no-such-pager"}, None, id="not installed"),
        pytest.param({"PAGER": "sh -c cat"}, ["sh", "-c", "cat"], id="with arguments"),
    ],
)
def test_which_pager(changes: dict[str, str], command: list[str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "PAGER", "KSCHED_PAGER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("shutil.which", lambda name: None if name == "no-such-pager" else f"/bin/{name}")
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    assert _pager() == command


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_pager_starts_with_the_first_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, out, begun = tmp_path / "pager", tmp_path / "out", []
    program.write_text(f'#!/bin/sh\necho "$LESS" > {out}\nexec cat >> {out}\n')
    program.chmod(0o755)
    for name in ("CI", "KSCHED_PAGER", "LESS", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PAGER", str(program))
    # A shell without job control lets its background jobs ignore it.
    interrupted = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(sys, "stdout", terminal := Terminal("before"))
    with paged(["version"], lambda: begun.append(1)):
        sys.stdout.flush()
    assert (begun, sys.stdout) == ([], terminal)
    with paged(["watch"], lambda: begun.append(1)):
        assert sys.stdout is terminal
    with paged(["version"], lambda: begun.append(1)):
        assert sys.stdout.isatty()
        assert sys.stdout.getvalue() == "before"  # type: ignore[attr-defined]  # everything else is the terminal's
        sys.stdout.write("one\n")
        sys.stdout.flush()
        until = time.monotonic() + 30
        while not (out.exists() and "one" in out.read_text()) and time.monotonic() < until:
            time.sleep(0.01)
        assert out.read_text() == "FRX\none\n"
        sys.stdout.write("two\n")
    assert (begun, sys.stdout) == ([1], terminal)
    # While the person read, it was for the pager.
    assert signal.getsignal(signal.SIGINT) is interrupted
    assert out.read_text() == "FRX\none\ntwo\n"
