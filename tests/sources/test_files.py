"""Which files a folder stands for, and how much of a large tree is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ksched_cli.cli.main import run
from ksched_cli.sources import files
from ksched_cli.sources.read_options import DUMPS
from tests.cli.inputs import NODE, deployment, dumped, lay_out
from tests.running import Ksched

FLAT = replace(DUMPS, layouts=False, recursive=False)


MARK = "cluster-scoped-resources"


@pytest.mark.parametrize(
    ("names", "root", "left_out"),
    [
        pytest.param([f"{MARK}/a.yaml", f"{MARK}/b.yaml"], "", [], id="the mark alone"),
        pytest.param([f"d/e/{MARK}/a.yaml", f"d/e/{MARK}/b.yaml"], "", [], id="the mark in folders"),
        pytest.param([f"{MARK}/a.yaml", "x.yaml"], "", ["x.yaml"], id="a file beside it"),
        pytest.param([f"d/e/{MARK}/a.yaml", "d/e/x.yaml"], "", ["d/e/x.yaml"], id="a file beside it in folders"),
        pytest.param([f"d/image/{MARK}/a.yaml", "d/x.yaml"], "", ["d/x.yaml"], id="below the folder of an image"),
        pytest.param([f"d/e/image/{MARK}/a.yaml", "d/x.yaml"], "", None, id="too deep"),
        pytest.param([f"/r/image/{MARK}/a.yaml", "/r/image/x.yaml"], "/r/", ["/r/image/x.yaml"], id="below a root"),
        pytest.param([f"/r/e/image/{MARK}/a.yaml"], "/r/", None, id="too deep below a root"),
        pytest.param(["d/a.yaml", "d/b.yaml"], "", None, id="no mark"),
    ],
)
def test_the_folders_of_a_must_gather(names: list[str], root: str, left_out: list[str] | None) -> None:
    found = files.layout_of(names, root)
    assert found.gathered is (left_out is not None)
    assert list(found.left_out) == (left_out or [])
    assert list(found.names) == [each for each in names if each not in (left_out or ())]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "note"),
    [
        pytest.param({"a.yaml": ""}, "a.yaml is not read: there is no Kubernetes object in it", id="an empty file"),
        pytest.param({"a.yaml": "x: 1"}, "a.yaml is not read: there is no", id="settings"),
        pytest.param({"a.yaml": f"x: 1\n---\n{dumped(deployment('b'))}---\ny: 1"}, "a.yaml is not read: there is no", id="settings around an object"),
        pytest.param({"b.yaml": "[]", "a.yaml": " "}, "2 files (d/a.yaml, d/b.yaml) are not read", id="two files"),
        pytest.param(dict.fromkeys(("a.yaml", "b.yaml", "c.json", "e.yml"), ""), "4 files (d/a.yaml, d/b.yaml, d/c.json and 1 more) are", id="four files"),
    ],
)  # fmt: skip
def test_files_of_a_folder_without_objects(
    files: dict[str, str], note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksched: Ksched
) -> None:
    """The file after them is read."""
    monkeypatch.chdir(tmp_path)
    lay_out(
        {"c.yaml": dumped(NODE), "d/web.yaml": dumped(deployment()), **{f"d/{k}": v for k, v in files.items()}},
        tmp_path,
    )
    shown = ksched("check", "--from", "c.yaml", "-f", "d", code=0)
    assert note in " ".join(shown.out.split())
    assert "Deployment default/web" in shown.out
    assert ("Deployment default/b" in shown.out) == ("metadata" in files["a.yaml"])


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        pytest.param(["a.yaml", "b.yaml"], "--exclude b.yaml", id="no folder"),
        pytest.param(["one/a.yaml", "two/a.yaml"], "--exclude two", id="a folder"),
        pytest.param(["a.yaml", "../b c.yaml"], "--exclude 'b c.yaml'", id="the folder above"),
    ],
)
def test_the_same_object_in_two_variants(
    files: list[str], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksched: Ksched
) -> None:
    (tmp_path / "w").mkdir()
    monkeypatch.chdir(tmp_path / "w")
    lay_out({"c.yaml": dumped(NODE), **{each: dumped(deployment()) for each in files}}, tmp_path / "w")
    shown = ksched("check", "--from", "c.yaml", *[word for each in files for word in ("-f", each)], code=2)
    assert f"or leave one out: {hint}" in " ".join(shown.out.split())
