"""Checks the image without a builder: `python deploy/image/check.py CONTEXT.tar.gz`.

It reads the Dockerfile, carries out its RUN on this machine, and looks at the layer that comes of it: the size, the
files, and whether ksched runs from it as another user where nothing can be written. The base image is not built here;
it is named by its digest.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# What a registry reports: compressed megabytes. The rest of the 120 is for the base image, which has about 20.
LIMIT = 90
USER = 65532
PYTHON = os.path.realpath(sys.executable)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        context, app = Path(folder, "context"), Path(folder, "app")
        with tarfile.open(sys.argv[1]) as archive:
            archive.extractall(context, filter="data")
        instructions = list(read_dockerfile((context / "Dockerfile").read_text(encoding="utf-8")))
        problems = list(judge_instructions(instructions))
        build_layer(instructions, context, app)
        problems += judge_files(app)
        size = compressed_size(app) / 1e6
        if size > LIMIT:
            problems.append(f"the layer has {size:.0f} MB compressed, more than {LIMIT}")
        Path(folder).chmod(0o755)
        problems += judge_run(app)
    for problem in problems:
        print(problem)
    if problems:
        raise SystemExit(1)
    print(f"the layer has {size:.0f} MB compressed; ksched runs from it as user {runner()} and writes nothing")


def read_dockerfile(text: str) -> Iterator[tuple[str, str]]:
    """Instructions with their arguments; lines that end in a backslash are joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        if line.strip():
            name, _, rest = line.partition(" ")
            yield name.upper(), rest.strip()


def judge_instructions(instructions: list[tuple[str, str]]) -> Iterator[str]:
    bases = [rest for name, rest in instructions if name == "FROM"]
    for base in bases:
        if not re.search(r"@sha256:[0-9a-f]{64}( AS \w+)?$", base):
            yield f"FROM {base}: not pinned by a digest"
    if len(bases) < 2 or "distroless" not in bases[-1]:
        yield "the last stage is no distroless image"
    last = instructions[max(number for number, (name, _) in enumerate(instructions) if name == "FROM") :]
    users = [rest for name, rest in last if name == "USER"]
    if not users or not re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]):
        yield "the image does not name a user other than root by number"
    for name, rest in last:
        if name in ("RUN", "ADD", "EXPOSE", "VOLUME"):
            yield f"{name} {rest}: the last stage only copies"
        if name in ("ENTRYPOINT", "CMD") and not rest.startswith("["):
            yield f"{name} {rest}: needs a shell, which the image does not have"


def build_layer(instructions: list[tuple[str, str]], context: Path, app: Path) -> None:
    """The RUN of the first stage, in folders of ours. Another Python than the image's downloads the image's wheels."""
    (command,) = (rest for name, rest in instructions if name == "RUN")
    pip = f"{shlex.quote(sys.executable)} -m pip"
    if sys.version_info[:2] != (3, 11) or sys.platform != "linux":
        pip += " --python-version 3.11 --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64"
    command = re.sub(r"^pip install", f"{pip} install --quiet --disable-pip-version-check", command)
    command = command.replace("/context", str(context)).replace("/app", str(app))
    subprocess.run(["sh", "-euc", command], check=True)


def judge_files(app: Path) -> Iterator[str]:
    for path in sorted(app.rglob("*")):
        mode, name = path.lstat().st_mode, path.relative_to(app)
        if mode & (stat.S_ISUID | stat.S_ISGID):
            yield f"{name}: setuid or setgid"
        if mode & stat.S_IWOTH and not path.is_symlink():
            yield f"{name}: everybody may write it"
        if path.is_dir() and path.name in ("tests", ".git", "pip", "setuptools"):
            yield f"{name}: not needed in an image"


def compressed_size(app: Path) -> int:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=6) as archive:
        archive.add(app, "app")
    return len(packed.getvalue())


def judge_run(app: Path) -> Iterator[str]:
    """--help, version and the demo, as the image starts them: without site-packages, home and a writable file."""
    if sys.version_info[:2] != (3, 11):
        return
    before = {path: path.stat().st_mtime_ns for path in app.rglob("*")}
    with read_only(app), tempfile.TemporaryDirectory() as empty:
        Path(empty).chmod(0o555)
        environment = {"PYTHONPATH": str(app), "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= dict.fromkeys(("HOME", "TMPDIR"), "/nonexistent")
        user = {"user": USER, "group": USER, "extra_groups": []} if runner() == USER else {}
        for arguments, expected in ((["--help"], "Usage"), (["version"], "kube-scheduler"), (["demo"], "shop/web-1")):
            command = [PYTHON, "-S", "-m", "ksched_cli", *arguments]
            done = subprocess.run(
                command, cwd=empty, env=environment, capture_output=True, text=True, check=False, **user
            )
            if done.returncode not in (0, 1) or expected not in done.stdout:
                yield f"ksched {' '.join(arguments)} ends with {done.returncode}: {done.stderr.strip()[-500:]}"
    if {path: path.stat().st_mtime_ns for path in app.rglob("*")} != before:
        yield "ksched wrote into its own folder"


@cache
def runner() -> int:
    """The user that runs ksched: that of the image where this process may become it and Python is open to it."""
    try:
        subprocess.run([PYTHON, "-c", ""], user=USER, group=USER, extra_groups=[], check=True)
    except OSError:
        return os.geteuid()
    return USER


@contextlib.contextmanager
def read_only(app: Path) -> Iterator[None]:
    paths = [app, *app.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    for path, mode in modes.items():
        path.chmod((mode | 0o444 | (0o111 if path.is_dir() else 0)) & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


if __name__ == "__main__":
    main()
