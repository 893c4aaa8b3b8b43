"""Nothing of the package needs a system call that Windows or macOS lacks, and paths of Windows are understood."""

from __future__ import annotations

import ast
import ctypes
import ntpath
import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from unittest.mock import Mock

import pytest

from ksched_cli import process
from ksched_cli.cli.streams import is_below
from ksched_cli.plan.run import each
from ksched_cli.report.sinks.findings import as_uri
from ksched_cli.report.view.check import archive_of, relative_to_first
from ksched_cli.sources.rendering import unrendered
from tests.package_source import trees

ROOT = Path(__file__).parent.parent
MODULES = {"fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "posix", "readline", "syslog", "curses"}
# Windows lacks them, or has them only with Python 3.13 (fchmod).
_ATTRIBUTES = {
    "os": "fchmod fchown chown fork forkpty getuid geteuid getgid getegid getpgid setsid killpg mkfifo nice openpty pread "
    "pwrite sched_getaffinity setuid statvfs uname getloadavg O_CLOEXEC O_NOFOLLOW O_NONBLOCK O_DIRECTORY wait waitpid",
    "signal": "SIGALRM SIGHUP SIGKILL SIGPIPE SIGUSR1 SIGUSR2 SIGCHLD SIGTSTP SIGWINCH alarm setitimer pause sigwait "
    "pthread_sigmask",
    "select": "poll epoll kqueue",
    "socket": "AF_UNIX",
    "time": "tzset",
}
NAMES = {f"{owner}.{name}" for owner, names in _ATTRIBUTES.items() for name in names.split()}


def calls_without_fallback(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Imports and names of one system that stand in no try with a handler for their absence and in no if with
    hasattr."""

    def visit(node: ast.AST, guarded: bool) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.Try):
            caught = {
                name.id
                for each in node.handlers
                if each.type
                for name in ast.walk(each.type)
                if isinstance(name, ast.Name)
            }
            inside = guarded or bool(caught & {"ImportError", "ModuleNotFoundError", "AttributeError"})
            for child in node.body:
                yield from visit(child, inside)
            for child in (*node.handlers, *node.orelse, *node.finalbody):
                yield from visit(child, guarded)
            return
        if isinstance(node, ast.If) and any(
            isinstance(each, ast.Name) and each.id == "hasattr" for each in ast.walk(node.test)
        ):
            for child in node.body:
                yield from visit(child, True)
            for child in node.orelse:
                yield from visit(child, guarded)
            return
        if not guarded:
            if isinstance(node, ast.Import):
                yield from ((node.lineno, each.name) for each in node.names if each.name in MODULES)
            if isinstance(node, ast.ImportFrom) and node.module in MODULES:
                yield node.lineno, node.module
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = f"{node.value.id}.{node.attr}"
                if name in NAMES:
                    yield node.lineno, name
        for child in ast.iter_child_nodes(node):
            yield from visit(child, guarded)

    yield from visit(tree, False)


# `copies_at_once` is 0 on every system but Linux, and without it no copy is made.
FOR_LINUX = "plan/run/each.py"


@pytest.mark.slow
def test_no_call_needs_posix() -> None:
    names = "|".join(map(re.escape, NAMES))
    pattern = rf"\b(import|from)\s+({'|'.join(MODULES)})\b|\b({names})\b"
    found = [
        f"{path}:{line}: {name}"
        for path, tree in trees(pattern)
        for line, name in calls_without_fallback(tree)
        if path != FOR_LINUX
    ]
    assert found == []


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_processes_are_copied_on_linux_only(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process._Process, "may_be_copied", True)
    monkeypatch.setattr(each, "core_count", lambda: 4)
    monkeypatch.setattr(sys, "platform", "linux")
    assert each.copies_at_once() > 1
    monkeypatch.setattr(sys, "platform", system)
    assert each.copies_at_once() == 0


def test_calls_of_posix_are_found() -> None:
    source = "import os\nimport fcntl\ntry:\n    import resource\nexcept ImportError:\n    os.fork()\nos.fchmod(1, 2)\nif hasattr(os, 'fork'):\n    os.fork()\n"
    assert list(calls_without_fallback(ast.parse(source))) == [(2, "fcntl"), (6, "os.fork"), (7, "os.fchmod")]


@pytest.mark.slow
def test_commands_run_without_what_windows_lacks(tmp_path: Path) -> None:
    """The modules cannot be imported and the functions are not there."""
    code = (
        f"import os, sys; sys.modules.update(dict.fromkeys({sorted(MODULES - {'posix'})!r}))\n"
        # Those that the standard library of this system does without.
        "for name in ('fchmod', 'fchown', 'O_CLOEXEC', 'getuid', 'fork'): vars(os).pop(name, None)\n"
        "from ksched_cli.cli.main import run\n"
        "snapshot = sys.argv[1]\n"
        "assert run(['demo']) in (0, 1)\n"
        "assert run(['snapshot', '--from', 'ksched_cli/cli/demo_cluster.yaml', '-o', snapshot]) == 0\n"
        "assert run(['simulate', '--settle', '--from', snapshot, '-o', 'json']) == 1\n"
        "assert run(['drain', '--each', 'node', '--from', snapshot]) == 1\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "demo.ksched.gz")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_memory_without_proc_and_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: Any) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(process.Path, "read_text", missing)
    held = Mock(getrusage=lambda _: Mock(ru_maxrss=3 * 1024 * 1024))
    monkeypatch.setitem(sys.modules, "resource", held)
    for system, mebibytes in (("linux", 3 * 1024), ("darwin", 3)):
        monkeypatch.setattr(sys, "platform", system)
        assert process.peak_mib() == mebibytes
    monkeypatch.undo()
    monkeypatch.setattr(process.Path, "read_text", missing)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert process.peak_mib() == 0.0 or sys.platform == "win32"

    def report(handle: Any, counters: Any, size: int) -> None:
        # PROCESS_MEMORY_COUNTERS of a system with 64 bits.
        assert (size, counters._obj.cb) == (72, 72)
        counters._obj.PeakWorkingSetSize = 3 * 1024 * 1024

    kernel = Mock(K32GetProcessMemoryInfo=Mock(side_effect=report))
    monkeypatch.setitem(vars(ctypes), "WinDLL", lambda name: kernel)
    assert process.peak_mib() == 3
    # A handle and a pointer have 64 bits; without these types, ctypes passes 32 of them.
    assert kernel.GetCurrentProcess.restype is ctypes.c_void_p
    assert kernel.K32GetProcessMemoryInfo.argtypes == (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)


@pytest.mark.parametrize(("reported", "cores"), [(None, 1), (6, 6)])
def test_cores_without_affinity(reported: int | None, cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: reported)
    assert process.core_count() == cores


@pytest.mark.parametrize(
    ("source", "paths", "archive"),
    [
        ("dump.zip:inner/pods.yaml", posixpath, "dump.zip"),
        ("C:\\dumps\\dump.zip:inner/pods.yaml", ntpath, "C:\\dumps\\dump.zip"),
        ("C:/dumps/dump.zip", ntpath, "C:/dumps/dump.zip"),
        ("\\\\server\\share\\dump.zip:pods.yaml", ntpath, "\\\\server\\share\\dump.zip"),
        ("dump.zip:pods.yaml", ntpath, "dump.zip"),
    ],
)
def test_the_archive_of_a_source(source: str, paths: Any, archive: str) -> None:
    assert archive_of(source, paths) == archive


def test_paths_below_the_checkout_have_slashes() -> None:
    roots = [PureWindowsPath("D:/a/repo"), PureWindowsPath("C:/Users/x")]
    assert relative_to_first(PureWindowsPath("d:\\A\\repo\\deploy\\web.yaml"), roots) == "deploy/web.yaml"
    assert relative_to_first(PureWindowsPath("E:\\web.yaml"), roots) == "E:/web.yaml"
    assert relative_to_first(PurePosixPath("/a/repo/deploy/web.yaml"), [PurePosixPath("/a/repo")]) == "deploy/web.yaml"


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("deploy/my web.yaml", "deploy/my%20web.yaml"),
        ("/tmp/web.yaml", "file:///tmp/web.yaml"),
        ("E:/my web.yaml", "file:///E:/my%20web.yaml"),
    ],
)
def test_uris(path: str, uri: str) -> None:
    assert as_uri(path) == uri


@pytest.mark.parametrize(
    ("path", "folder", "paths", "expected"),
    [
        ("C:\\Dumps\\a.json", "c:\\dumps", ntpath, True),
        ("C:/dumps/a.json", "C:\\dumps\\", ntpath, True),
        ("C:\\dumps-old\\a.json", "C:\\dumps", ntpath, False),
        ("D:\\dumps\\a.json", "C:\\dumps", ntpath, False),
        ("/dumps/a.json", "/dumps", posixpath, True),
        ("/Dumps/a.json", "/dumps", posixpath, False),
    ],
)
def test_whether_a_file_is_in_a_folder(path: str, folder: str, paths: Any, expected: bool) -> None:
    assert is_below(path, folder, paths) is expected


def test_files_of_other_tools_are_recognised_in_folders_of_windows() -> None:
    """Files are named with slashes from where they are found (sources/files.py)."""
    problem = unrendered(PureWindowsPath("C:\\repo\\base\\kustomization.yaml").as_posix())
    assert problem is not None
    assert "kustomize build C:/repo/base" in problem.hint
