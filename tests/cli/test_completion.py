from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from ksched_cli.cli.completion import SCRIPTS, Shell
from tests.cli.transcripts import ROOT
from tests.running import Ksched

DUMP = "fixtures/clusters/drain.yaml"
FILES = {"bash": "ksched.bash", "zsh": "_ksched", "fish": "ksched.fish", "powershell": "ksched.ps1"}


@pytest.mark.parametrize("shell", list(Shell))
def test_the_packaged_scripts_are_those_that_the_command_prints(shell: Shell) -> None:
    generated = SCRIPTS[shell]
    path = ROOT / "completions" / FILES[shell]
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(generated)
    assert path.read_text() == generated


def test_the_command_prints_the_script(ksched: Ksched) -> None:
    assert ksched("completion", "bash", code=0).out == (ROOT / "completions" / "ksched.bash").read_text()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        pytest.param("ksched sim", ["simulate"], id="a command"),
        pytest.param("ksched config v", ["view", "validate"], id="a subcommand"),
        pytest.param("ksched simulate --tie-", ["--tie-break"], id="an option"),
        pytest.param("ksched simulate -o w", ["wide"], id="a value"),
        pytest.param("ksched simulate --fail-on p", ["preemption"], id="one of several values"),
        pytest.param("ksched completion z", ["zsh"], id="an argument"),
        pytest.param("ksched simulate --from x --output j", ["json"], id="a value after other options"),
        pytest.param("ksched simulate --from fil", [], id="files are left to the shell"),
        pytest.param(f"ksched drain --from {DUMP} ea", ["east-1", "east-2"], id="nodes of a dump"),
        pytest.param(f"ksched simulate --from {DUMP} --cordon we", ["west-1", "west-2"], id="a node for an option"),
        pytest.param(f"ksched simulate --from {DUMP} -n sh", ["shop"], id="a namespace"),
        pytest.param(f"ksched drain --from {DUMP} --each z", ["zone"], id="a value in a command that names nodes"),
    ],
)
def test_what_bash_offers(typed: str, offered: list[str]) -> None:
    words = typed.split()
    body = (
        f'ksched() {{ {sys.executable} -m ksched_cli "$@"; }}; cd {ROOT};'
        f"source {ROOT}/completions/ksched.bash; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1};"
        ' _ksched; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", body], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (offered, "")
