"""Completion in a real bash, zsh and fish on a pseudo-terminal: what a person sees after the tab key."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.transcripts import ROOT

pty = pytest.importorskip("pty", reason="there are no terminals to open here")

EKS = ROOT / "fixtures" / "clusters" / "eks.yaml"
PROMPT = "READY> "
SETUP = {
    "bash": [
        "bind 'set bell-style none'; bind 'set page-completions off'; bind 'set completion-query-items 0'; "
        "bind 'set show-all-if-ambiguous on'",
        f"source {ROOT}/completions/ksched.bash",
    ],
    "zsh": [
        "autoload -U compinit; compinit -u -D; LISTMAX=0; zstyle ':completion:*' menu no; "
        "zstyle ':completion:*' verbose yes",
        f"source {ROOT}/completions/_ksched",
    ],
    "fish": [f"source {ROOT}/completions/ksched.fish"],
}
START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "-C", f"function fish_prompt; echo -n '{PROMPT}'; end"],
}
# Seconds: a busy machine may take so long.
PATIENCE = 60.0
# Typed behind the tab key where nothing may be offered: a shell shows it once the completion is over.
MARK = "THE-END"

# Questions of a shell to its terminal (device attributes, cursor position) and what an xterm answers.
ANSWERS = {b"\x1b[c": b"\x1b[?62;c", b"\x1b[6n": b"\x1b[1;1R"}

pytestmark = pytest.mark.slow


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    return name


class Session:
    """A shell with the completions of ksched, in a folder with one file."""

    def __init__(self, shell: str, folder: Path) -> None:
        self._shell = shell
        program = folder / "bin" / "ksched"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m ksched_cli "$@"\n')
        program.chmod(0o755)
        work = folder / "work"
        work.mkdir()
        (work / "a-file.yaml").write_text("")
        self._ours, theirs = pty.openpty()
        kept = {key: value for key, value in os.environ.items() if key in ("LANG", "LC_ALL", "PATH")}
        environment = {**kept, "PATH": f"{program.parent}:{kept['PATH']}", "HOME": str(folder), "TERM": "xterm"}
        environment |= {"PS1": "READY> ", "COLUMNS": "200", "LINES": "200"}
        _resize(theirs)
        self._process = subprocess.Popen(
            START[shell],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            cwd=work,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self._until(PROMPT)
        for line in SETUP[shell]:
            self._send(f"{line}\r")
            self._until(PROMPT)

    def offered(self, typed: str, *expected: str) -> str:
        """What is on the screen after the line and the tab key, once the expected texts are there; without such texts,
        once the completion is over."""
        if expected:
            self._send(f"{typed}\t")
            shown = self._until(*expected)
        else:
            self._send(f"{typed}\t{MARK}")
            shown = self._until(MARK)
        # Delete the line, and have a new prompt.
        self._send("\x15\r")
        self._until(PROMPT)
        return plain(shown)

    def _send(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def _until(self, *expected: str) -> str:
        """All that comes until these texts are there, or until no more patience is left."""
        found, end = b"", time.monotonic() + PATIENCE
        while time.monotonic() < end and not all(each in plain(_text(found)) for each in expected):
            if select.select([self._ours], [], [], 0.1)[0]:
                with suppress(OSError):
                    chunk = os.read(self._ours, 65536)
                    found += chunk
                    # fish asks what terminal this is, and waits for the answer.
                    for question, answer in ANSWERS.items():
                        if question in chunk:
                            os.write(self._ours, answer)
        return _text(found)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _take_terminal() -> None:
    """Make stdin the controlling terminal: fish waits for one."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _resize(terminal: int) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 200, 0, 0))


def plain(text: str) -> str:
    """The text without escapes and control characters."""
    text = re.sub(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>]|\(B)", "", text).replace("\r", "\n")
    return re.sub(r"[\x00-\x09\x0b-\x1f]", "", text)


def test_names_and_minors(tmp_path: Path, shell: str) -> None:
    """One session, as starting a shell takes longer than a tab."""
    session = Session(shell, tmp_path)
    try:
        for typed, *expected in (
            (f"ksched simulate --from {EKS} --scale deployment/w", "deployment/web="),
            (f"ksched simulate --from {EKS} --delete statefulset/d", "statefulset/db"),
            ("ksched simulate --kube-version 1.3", "1.36", "1.30"),
        ):
            shown = session.offered(typed, *expected)
            assert [each for each in expected if each not in shown] == [], shown
    finally:
        session.close()


def test_files_and_options_of_bash(tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    session = Session("bash", tmp_path)
    try:
        for typed in ("ksched simulate --from ", "ksched check -f ", "ksched check a"):
            assert "a-file.yaml" in session.offered(typed, "a-file.yaml")
        for typed in ("ksched simulate --seed ", "ksched simulate --max-time ", "ksched simulate "):
            assert "a-file.yaml" not in session.offered(typed)
        shown = session.offered("ksched simulate -", "--scenario")
        assert "--scenario" in shown
        listed = [line for line in shown.splitlines() if "ksched simulate" not in line]
        assert [line for line in listed if re.search(r"(?<!\S)-(?!\S)", line)] == []
    finally:
        session.close()


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ksched simulate --kube-version 1.36", "1.36\tAnswer as this minor of Kubernetes"),
        ("ksched verif", "verify\tHow far the answers agree with what your cluster did"),
        ("ksched simulate --tie-", "--tie-break\tWhich of several best nodes is taken"),
        ("ksched simulate --seed ", ""),
        (f"ksched simulate --from {EKS} --scale deployment/web", "deployment/web=\tScale a Deployment"),
    ],
)
def test_descriptions_of_fish(typed: str, offered: str, tmp_path: Path) -> None:
    program = tmp_path / "ksched"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m ksched_cli "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    script = f"source {ROOT}/completions/ksched.fish; complete -C '{typed}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, env=environment)
    assert done.stdout.startswith(offered)
    assert bool(done.stdout) == bool(offered)


@pytest.mark.parametrize("shell", ["zsh", "fish"], indirect=True)
def test_descriptions(tmp_path: Path, shell: str) -> None:
    session = Session(shell, tmp_path)
    try:
        for typed, *expected in (
            ("ksched ver", "verify", "How far the answers agree with what"),
            ("ksched simulate --kube", "--kube-version", "Answer as this minor of Kubernetes"),
        ):
            shown = session.offered(typed, *expected)
            assert [each for each in expected if each not in shown] == [], shown
    finally:
        session.close()
