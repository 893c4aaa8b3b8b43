"""`python -m tests.fuzz --count 10000 --seed 1`: each input in a process of its own, with a limit of time and memory.

It ends in exit code 1 if any input ends in a traceback, in "a bug in ksched", in an exit code that is not documented, after
more than 10 seconds of the processor, or with more than 500 MB. Each finding names the seed, which makes the input again.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from tests.fuzz.commands import FIXTURES, Case, make_case

MAX_SECONDS, MAX_MEGABYTES = 10.0, 500
CODES = (0, 1, 2, 3, 4)
CLUSTER = FIXTURES / "check" / "cluster.yaml"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each input has the next")
    parser.add_argument("--keep", action="store_true", help="keep the inputs of findings")
    given = parser.parse_args()
    run = warmed_up()
    found, codes = 0, Counter[int]()
    started = time.monotonic()
    for seed in range(given.seed, given.seed + given.count):
        folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{seed}-"))
        case = make_case(seed)
        code, trouble = attempt(case, folder, run)
        codes[code] += 1
        if trouble:
            found += 1
            words = " ".join(map(repr, case.arguments))
            print(f"seed {seed}: {trouble}\n  ksched {words}  in {folder}", flush=True)  # noqa: T201
        if not (trouble and given.keep):
            shutil.rmtree(folder)
    seconds = time.monotonic() - started
    ends = dict(sorted(codes.items()))
    print(f"{given.count} inputs, {found} findings, {seconds:.0f} s; exit codes {ends}")  # noqa: T201
    return 1 if found else 0


def warmed_up() -> Callable[[list[str]], int]:
    """The program's entry, with everything imported: each input runs in a fork."""
    from ksched_cli.cli.main import run

    commands = (["demo"], ["check", "--from", str(CLUSTER), "-f", str(CLUSTER)], ["diff", "--from", str(CLUSTER)])
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        for command in commands:
            run(command)
    gc.freeze()
    return run


def attempt(case: Case, folder: Path, run: Callable[[list[str]], int]) -> tuple[int, str]:
    """The exit code, and what is wrong with it if anything is."""
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    child = os.fork()
    if child == 0:
        _run_in(folder, case.arguments, run)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, _trouble(code, (folder / "stderr").read_text(errors="replace"), used)


def _run_in(folder: Path, arguments: tuple[str, ...], run: Callable[[list[str]], int]) -> None:
    """In the child, which this never leaves."""
    code = 99
    try:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (int(MAX_SECONDS) + 2, int(MAX_SECONDS) + 4))
        for number, name in ((0, os.devnull), (1, "stdout"), (2, "stderr")):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT
            os.dup2(os.open(name, flags, 0o600), number)
        code = run(list(arguments))
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _trouble(code: int, said: str, used: resource.struct_rusage) -> str:
    if "Traceback" in said or "a bug in ksched" in said:
        return next(line for line in reversed(said.splitlines()) if "KSCHED_TRACEBACK" not in line)
    seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    if seconds > MAX_SECONDS:
        return f"{seconds:.0f} s"
    if megabytes > MAX_MEGABYTES:
        return f"{megabytes:.0f} MB"
    return "" if code in CODES else f"exit code {code}"


if __name__ == "__main__":
    sys.exit(main())
