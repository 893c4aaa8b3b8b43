"""Which files a folder stands for, and how much of a large tree is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ksched_cli.cli.main import run
from ksched_cli.sources import files
from ksched_cli.sources.read_options import DUMPS
from tests.cli.inputs import NODE, deployment, dumped

FLAT = replace(DUMPS, layouts=False, recursive=False)


def tree(folder: Path, folders: int, names: int) -> None:
    (folder / "web.yaml").write_text(dumped(deployment()))
    for number in range(folders):
        below = folder / f"d{number:02}" / "deep"
        below.mkdir(parents=True)
        for name in range(names):
            (below / f"m{name}.yaml").write_text("")


def test_manifests_below_are_counted(tmp_path: Path) -> None:
    tree(tmp_path, 3, 4)
    found = files.expand_path(str(tmp_path), FLAT)
    assert [path.name for path in found.paths] == ["web.yaml"]
    assert (found.below, found.more_below) == (12, False)


def test_a_large_tree_below_is_not_walked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, 30, 10)
    monkeypatch.setattr(files, "_MOST_NAMES_BELOW", 50)
    found = files.expand_path(str(tmp_path), FLAT)
    assert found.more_below
    assert 40 <= found.below <= 60
    assert len(files.expand_path(str(tmp_path), DUMPS).paths) == 301


def test_check_says_at_least_how_many_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m").mkdir()
    tree(tmp_path / "m", 2, 9)
    (tmp_path / "c.yaml").write_text(dumped(NODE))
    monkeypatch.setattr(files, "_MOST_NAMES_BELOW", 5)
    monkeypatch.chdir(tmp_path)
    assert run(["check", "--from", "c.yaml", "-f", "m"]) == 0
    assert "at least 9 manifests in the folders below are not read" in capsys.readouterr().out
