"""The version comes of the git tag, wherever ksched was installed from; the changelog has what the tag has."""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from ksched_cli.build_info import UNKNOWN, BuildInfo, read_build_info, version_of
from tests.running import Ksched

ROOT = Path(__file__).parent.parent
CHANGELOG = (ROOT / ".github" / "CHANGELOG.md").read_text()
COMMIT = "0123456789abcdef0123456789abcdef01234567"
# What keepachangelog.com lists, in its order, and ours for people who change ksched.
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "For contributors"]


def git(folder: Path, *arguments: str) -> str:
    date = "2026-05-04T12:00:00+00:00"
    names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **names, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the files that decide on the version, and one commit."""
    folder = tmp_path / "clone"
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitattributes", ".gitignore", ".ci/build_hook.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "ksched_cli").mkdir()
    (folder / "ksched_cli" / "__init__.py").touch()
    shutil.copy(ROOT / "ksched_cli" / "build_info.py", folder / "ksched_cli")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def read(folder: Path) -> BuildInfo:
    """What a process of its own reads: the module is evaluated where it stands."""
    code = "import json; from ksched_cli.build_info import BUILD; print(*BUILD, sep='|')"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return BuildInfo(*done.stdout.strip().split("|"))


@pytest.mark.parametrize(
    ("described", "expected", "semantic"),
    [
        ("v1.2.3-0-gabc", "1.2.3", "1.2.3"),
        ("v1.2.3", "1.2.3", "1.2.3"),
        ("v1.2.3-0-gabc-dirty", "1.2.3+dirty", "1.2.3+dirty"),
        ("v1.2.9-5-gabc", "1.2.10.dev5+gabc", "1.2.10-dev.5+gabc"),
        ("v1.2.9-5-gabc-dirty", "1.2.10.dev5+gabc.dirty", "1.2.10-dev.5+gabc.dirty"),
        ("v2.0.0rc1-0-gabc", "2.0.0rc1", "2.0.0-rc.1"),
        ("v2.0.0rc1-2-gabc", "2.0.0rc2.dev2+gabc", "2.0.0-rc.2.dev2+gabc"),
        ("012345678", "0.0.0.dev7+g012345678", "0.0.0-dev.7+g012345678"),
        ("vendored-1-gabc", "0.0.0.dev7+g012345678", "0.0.0-dev.7+g012345678"),
    ],
)
def test_the_version_of_a_description(described: str, expected: str, semantic: str) -> None:
    version = version_of(described, 7, COMMIT)
    assert version == expected
    assert BuildInfo(version).semantic_version == semantic


@pytest.mark.slow
def test_a_clone_follows_its_tags(clone: Path) -> None:
    commit = git(clone, "rev-parse", "HEAD")
    assert read(clone) == (f"0.0.0.dev1+g{commit[:9]}", commit, "2026-05-04")
    git(clone, "tag", "v1.2.3")
    assert read(clone) == ("1.2.3", commit, "2026-05-04")
    (clone / "README.md").write_text("changed")
    assert read(clone).version == "1.2.3+dirty"
    git(clone, "commit", "--quiet", "-a", "-m", "Go on")
    assert read(clone).version == f"1.2.4.dev1+g{git(clone, 'rev-parse', '--short=9', 'HEAD')}"


def test_the_repository_around_a_copy_is_not_asked(clone: Path) -> None:
    """A folder with ksched inside of another project has that project's .git above it."""
    inner = clone / "third_party" / "ksched"
    shutil.copytree(clone / "ksched_cli", inner / "ksched_cli", ignore=shutil.ignore_patterns("__pycache__"))
    assert read(inner) == UNKNOWN
    assert read_build_info(inner / "ksched_cli") == UNKNOWN


def test_the_repository_of_a_git_hook_is_not_asked(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(ROOT / ".git"))
    assert read_build_info(clone / "ksched_cli").version.startswith("0.0.0.dev1+g")


def test_an_archive_of_git_has_the_version(clone: Path, tmp_path: Path) -> None:
    """What GitHub calls "Source code (zip)"."""
    git(clone, "tag", "v1.2.3")
    git(clone, "archive", "--format=tar", f"--output={tmp_path / 'archive.tar'}", "HEAD")
    with tarfile.open(tmp_path / "archive.tar") as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert read(tmp_path / "unpacked") == ("1.2.3", git(clone, "rev-parse", "HEAD"), "2026-05-04")


@pytest.mark.slow
def test_sdist_and_wheel_have_the_version(clone: Path, tmp_path: Path) -> None:
    """The wheel is built of the unpacked sdist, where there is no git. Two builds are the same byte for byte."""
    commit = git(clone, "rev-parse", "HEAD")
    git(clone, "tag", "v1.2.3")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist"], cwd=clone, check=True)
    assert git(clone, "status", "--porcelain") == ""
    (sdist,) = (clone / "dist").iterdir()
    assert sdist.name == "ksched_cli-1.2.3.tar.gz"
    wheels = []
    for attempt in ("first", "second"):
        with tarfile.open(sdist) as archive:
            archive.extractall(tmp_path / attempt, filter="data")
        source = tmp_path / attempt / "ksched_cli-1.2.3"
        subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=source, check=True)
        wheels += (source / "dist").iterdir()
    assert [wheel.name for wheel in wheels] == ["ksched_cli-1.2.3-py3-none-any.whl"] * 2
    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    with zipfile.ZipFile(wheels[0]) as archive:
        archive.extractall(tmp_path / "installed")
    assert read(tmp_path / "installed") == ("1.2.3", commit, "2026-05-04")


def test_ksched_version_shows_the_commit(ksched: Ksched) -> None:
    shown = ksched("version", code=0).out
    if read_build_info(ROOT / "ksched_cli").commit:
        assert re.match(
            r"ksched \S+ \(commit [0-9a-f]{9} of \d{4}-\d\d-\d\d\), kube-scheduler 1\.\d+, Python 3\.", shown
        )
    else:
        assert shown.startswith(f"ksched {UNKNOWN.version}, kube-scheduler ")


def test_commands_that_print_no_version_do_not_read_it() -> None:
    code = "import sys, ksched_cli, ksched_cli.simulator; print('ksched_cli.build_info' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# The changelog


def releases() -> list[tuple[str, str]]:
    """Version and date of each heading, the newest first."""
    return re.findall(r"^## \[([^\]]+)\](?: - (\S+))?$", CHANGELOG, re.MULTILINE)


def test_the_changelog_keeps_to_keep_a_changelog() -> None:
    found = releases()
    assert found[0] == ("Unreleased", "")
    assert len(re.findall(r"^## ", CHANGELOG, re.MULTILINE)) == len(found)
    versions = [tuple(map(int, version.split("."))) for version, _ in found[1:]]
    dates = [datetime.date.fromisoformat(date) for _, date in found[1:]]
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)
    for part in CHANGELOG.split("\n## ")[1:]:
        sections = re.findall(r"^### (.+)$", part, re.MULTILINE)
        assert sections == sorted(set(sections), key=SECTIONS.index)


def test_each_tag_is_a_release_of_the_changelog() -> None:
    tagged = git(ROOT, "tag", "--list", "v[0-9]*", "--merged", "HEAD").split() if (ROOT / ".git").exists() else []
    assert {tag.removeprefix("v") for tag in tagged if "rc" not in tag} <= {version for version, _ in releases()}
