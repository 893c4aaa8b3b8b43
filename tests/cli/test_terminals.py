"""What ksched prints on terminals, good and bad, and into pipes."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.cli.pipes import run_on_a_terminal
from tests.cli.transcripts import ROOT

pytest.importorskip("pty", reason="there are no terminals to open here")

ARGUMENTS = [sys.executable, "-m", "ksched_cli", "demo"]
STYLE = re.compile(r"\x1b\[[0-9;]*m")
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7])m")


def environment(**changes: str) -> dict[str, str]:
    kept = {
        key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")
    }
    return {**kept, "TERM": "xterm-256color", "PAGER": "cat", **changes}


def on_a_terminal(columns: int, **changes: str) -> str:
    code, sent = run_on_a_terminal(ARGUMENTS, environment(**changes), columns)
    assert code == 0
    return sent.replace("\r\n", "\n")


def into_a_pipe(**changes: str) -> str:
    done = subprocess.run(ARGUMENTS, capture_output=True, text=True, check=True, env=environment(**changes), cwd=ROOT)
    assert done.stderr == ""
    return done.stdout


def plain(text: str) -> str:
    return STYLE.sub("", text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "styled", "coloured"),
    [
        pytest.param({}, True, True, id="a terminal"),
        pytest.param({"NO_COLOR": "1"}, True, False, id="NO_COLOR"),
        pytest.param({"NO_COLOR": ""}, True, True, id="an empty NO_COLOR is none"),
        pytest.param({"TERM": "dumb"}, False, False, id="a dumb terminal"),
        pytest.param({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False, id="NO_COLOR has the last word"),
    ],
)
def test_terminals(changes: dict[str, str], styled: bool, coloured: bool) -> None:
    shown = on_a_terminal(80, **changes)
    assert (bool(STYLE.search(shown)), bool(COLOUR.search(shown))) == (styled, coloured)
    assert plain(shown) == (ROOT / "tests" / "cli" / "golden" / "demo.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "coloured"),
    [
        pytest.param({}, False, id="a pipe"),
        pytest.param({"FORCE_COLOR": "1"}, True, id="FORCE_COLOR"),
        pytest.param({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, id="NO_COLOR has the last word"),
        pytest.param({"FORCE_COLOR": ""}, False, id="an empty FORCE_COLOR is none"),
        pytest.param({"TERM": "dumb"}, False, id="a dumb terminal"),
    ],
)
def test_pipes(changes: dict[str, str], coloured: bool) -> None:
    assert bool(COLOUR.search(into_a_pipe(**changes))) == coloured


@pytest.mark.slow
def test_a_pipe_has_no_width_of_its_own_and_takes_that_of_columns() -> None:
    assert max(map(len, into_a_pipe().splitlines())) > 80
    assert into_a_pipe(COLUMNS="80") == (ROOT / "tests" / "cli" / "golden" / "demo.txt").read_text()


@pytest.mark.slow
def test_a_terminals_width_is_used() -> None:
    assert plain(on_a_terminal(50)) == (ROOT / "tests" / "cli" / "golden" / "demo-narrow.txt").read_text()
