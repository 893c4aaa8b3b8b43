"""The end of the process: everything is written, and what others registered for the end runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEAVE = "from ksched_cli.cli.streams import leave\n"


def ended(code: str) -> tuple[int, str]:
    """The exit code of a process that runs this code, and what it wrote to a pipe, which is buffered."""
    ran = subprocess.run([sys.executable, "-c", LEAVE + code], stdout=subprocess.PIPE, cwd=ROOT, text=True, check=False)
    return ran.returncode, ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("print('the result')\nleave(1)", "the result\n"),
        ("import atexit\natexit.register(print, 'the end')\nprint('the result')\nleave(1)", "the result\nthe end\n"),
        (
            "import threading, time\n"
            "threading.Thread(target=lambda: (time.sleep(0.05), print('from a thread'))).start()\n"
            "leave(1)",
            "from a thread\n",
        ),
        ("import cProfile\nprofile = cProfile.Profile()\nprofile.runctx('leave(1)', globals(), {})", ""),
        (
            "import cProfile\nprofile = cProfile.Profile()\n"
            "try:\n    profile.runctx('leave(1)', globals(), {})\n"
            "finally:\n    print(len(profile.getstats()) > 0)",
            "True\n",
        ),
    ],
)
def test_everything_is_done_before_the_end(code: str, written: str) -> None:
    assert ended(code) == (1, written)


def test_objects_are_not_released_one_by_one() -> None:
    class_of_many = "class Kept:\n    def __del__(self):\n        print('released')\nkept = Kept()\n"
    assert ended(f"{class_of_many}leave(0)") == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a device of Linux")
def test_a_full_disk_at_the_end_is_reported() -> None:
    code = LEAVE + "print('the result')\nleave(0)"
    with open("/dev/full", "w") as full:
        ran = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    assert ran.returncode != 0
    assert b"No space left on device" in ran.stderr


@pytest.mark.slow
def test_the_program_that_completes_for_kubectl() -> None:
    """It takes the words, and not its own name."""
    code = "import sys\nsys.argv = ['kubectl_complete-ksched', 'config', 'vi']\n"
    call = "from ksched_cli.__main__ import complete_for_kubectl\ncomplete_for_kubectl()"
    assert ended(code + call) == (0, "view\tPrint the effective configuration\n:4\n")
