"""Closed, full and limited streams, and interrupts: a sentence and the right exit code, never a traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from tests.cli.transcripts import DEMO

KSCHED = [sys.executable, "-m", "ksched_cli"]
CHECK = Path(__file__).parents[2] / "fixtures" / "check"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = re.sub(r"(?<![\w/.])ksched ", f"{' '.join(KSCHED)} ", line)
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
        errors="replace",
    )


def slow(*values: object) -> ParameterSet:
    return pytest.param(*values, marks=pytest.mark.slow)


FULL = "ksched: cannot write the output: no space left on device\n"
CLOSED = "ksched: stdout is closed: there is nowhere to write the result\n"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("ksched version > /dev/full", 2, FULL),
        ("ksched version >&-", 2, CLOSED),
        slow("ksched demo > /dev/full", 2, FULL),
        slow(f"ksched simulate --from {DEMO} -o json > /dev/full", 2, FULL.strip()),
        slow("ksched demo >&-", 2, CLOSED),
        slow(f"ksched simulate --from {DEMO} <&-", 1, ""),
        slow("ksched simulate --from - <&-", 2, "ksched: stdin: "),
        slow("ksched simulate --from /nowhere 2>&-", 2, ""),
    ],
)
def test_streams(line: str, code: int, said: str) -> None:
    done = shell(line)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) <= 1


@pytest.mark.parametrize(
    "command", ["version", *map(slow, ("demo", "demo -o json", "plugins", "completion bash", "--help"))]
)
def test_a_reader_that_has_gone(command: str) -> None:
    """As a program that SIGPIPE ends: 141 in a shell."""
    done = shell(f"(sleep 0.1; exec ksched {command}) | true; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.mark.slow
def test_what_is_not_stdout_is_not_mixed_into_it() -> None:
    done = shell(f"ksched simulate --from {DEMO} -o json --plugin nothing:Here 2>&-")
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("output", ["markdown", "table", "github", "json"])
def test_an_ascii_locale(output: str) -> None:
    line = f"ksched check --from {CHECK}/cluster.yaml -f {CHECK}/deploy -o {output}"
    done = shell(line, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 1, done.stderr
    assert done.stdout.isascii()
    assert done.stderr == ""


def test_an_interrupt_while_the_program_is_loaded(tmp_path: Path) -> None:
    """The first import that takes time is interrupted."""
    (tmp_path / "typer.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n")
    done = subprocess.run(
        [*KSCHED, "demo"], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads in /proc")
def test_openblas_has_no_threads() -> None:
    code = (
        "import atexit, os, sys\n"
        "atexit.register(lambda: print(len(os.listdir('/proc/self/task')), 'thread'))\n"
        f"sys.argv = ['ksched', 'simulate', '--from', {str(DEMO)!r}, '--exit-zero']\n"
        "from ksched_cli.__main__ import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n1 thread\n")
