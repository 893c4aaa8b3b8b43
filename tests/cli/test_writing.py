"""Files that commands write: replaced as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from ksched_cli.cli.main import run
from ksched_cli.cli.streams import OutputFile, check_outputs, write_files
from ksched_cli.errors import UsageError

CLUSTER = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}'


def source(tmp_path: Path) -> str:
    path = tmp_path / "cluster.json"
    path.write_text(CLUSTER)
    return str(path)


@pytest.mark.parametrize("function", ["fsync", "replace", "chmod"])
def test_the_old_file_survives_a_failure(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(UsageError, match="no space left on device"):
        write_files([OutputFile(str(path), b"new")])
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_files([OutputFile(str(path), b"new")])
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("out", b"old")]


def test_no_file_is_replaced_if_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"old")
    with pytest.raises(UsageError, match="cannot write"):
        write_files([OutputFile(str(tmp_path / "one"), b"new"), OutputFile(str(tmp_path / "no" / "two"), b"")])
    assert (tmp_path / "one").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        pytest.param(OSError(28, "No Space"), "cannot write {out}: no space", id="the file"),
        pytest.param(
            OSError(18, "Another Device", "a", None, "b"), "cannot write b: another device", id="its new name"
        ),
        pytest.param(OSError("No Reason"), "cannot write {out}: no reason", id="without a number"),
    ],
)
def test_why_a_file_cannot_be_written(
    problem: OSError, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = str(tmp_path / "out")
    monkeypatch.setattr(os, "replace", Mock(side_effect=problem))
    with pytest.raises(UsageError) as raised:
        write_files([OutputFile(out, b"new")])
    assert str(raised.value) == message.format(out=out)


def test_modes_and_links_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "out", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_files([OutputFile(str(link), b"new"), OutputFile(str(tmp_path / "secret"), b"", private=True)])
    assert link.is_symlink()
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_device_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_files([OutputFile(str(pipe), b"x")])
    assert (os.read(reader, 9), pipe.is_fifo()) == (b"x", True)
    os.close(reader)


@pytest.mark.parametrize("output", ["{folder}/cluster.json", "{folder}/sub/../cluster.json", "{folder}/link.json"])
def test_an_input_is_no_output(output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = source(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.json").symlink_to(given)
    assert run(["snapshot", "--from", given, "-o", output.format(folder=tmp_path)]) == 2
    assert "it is one of the inputs" in capsys.readouterr().err
    assert Path(given).read_text() == CLUSTER


def test_a_new_file_within_an_input_directory_would_be_an_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source(tmp_path)
    assert run(["snapshot", "--from", str(tmp_path), "-o", str(tmp_path / "snapshot.json")]) == 2
    assert "it is one of the inputs" in capsys.readouterr().err
    assert run(["snapshot", "--from", str(tmp_path), "-o", str(tmp_path / "snapshot.gz")]) == 0


def test_two_outputs_are_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "o")
    assert run(["snapshot", "--from", source(tmp_path), "--redact", "--redact-names", out, "-o", out]) == 2
    assert "two outputs go to this file" in capsys.readouterr().err


def test_only_the_file_that_is_read_is_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, other = source(tmp_path), tmp_path / "other"
    other.write_text("")
    with open(given) as opened:
        monkeypatch.setattr("sys.stdin", opened)
        check_outputs([str(other), str(tmp_path / "new"), "/dev/null"], ["-"])
        with pytest.raises(UsageError, match="it is one of the inputs"):
            check_outputs([str(other), given], ["-"])
