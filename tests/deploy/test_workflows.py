"""What the workflows and the action promise. `.ci/workflows` has actionlint and zizmor look at them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.scripts import script

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / ".github" / "actions" / "check" / "action.yml"


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text())["jobs"].items():
            yield f"{path.stem}: {name}", job


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_actions_are_pinned_by_hash(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


def test_an_action_has_one_hash_everywhere() -> None:
    used = {each for path in [*WORKFLOWS, ACTION] for each in re.findall(r"uses: (\S+)", path.read_text())}
    assert len({each.partition("@")[0] for each in used}) == len(used)


def test_jobs_have_the_permissions_that_they_need() -> None:
    """Only the job that uploads to PyPI and the one that attests have an identity; only three write."""
    writing = {name: job["permissions"] for name, job in jobs() if "write" in str(job.get("permissions", ""))}
    assert writing == {
        "release: pypi": {"id-token": "write"},
        "release: image": {"contents": "read", "packages": "write"},
        "release: github": {"contents": "write", "id-token": "write", "attestations": "write"},
    }
    for path in WORKFLOWS:
        assert yaml.safe_load(path.read_text())["permissions"] in ({}, {"contents": "read"})
    assert [name for name, job in jobs() if "timeout-minutes" not in job] == []


def test_the_scripts_of_the_steps_are_there() -> None:
    for _, job in jobs():
        for step in job["steps"]:
            for path in re.findall(r"\.ci/[\w.]+", step.get("run", "")):
                assert (ROOT / path).is_file()
                assert path.endswith(".py") or (ROOT / path).stat().st_mode & 0o111


def test_nothing_is_published_before_the_artefacts_are_tested() -> None:
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    assert release["test"]["needs"] == "build"
    for name in ("pypi", "image", "github"):
        assert "test" in release[name]["needs"]


def test_the_matrix_has_every_python_that_the_package_names() -> None:
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]["tests"]["strategy"][
        "matrix"
    ]
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert matrix["python"] == named == list(script(".ci/release.py").PYTHONS)
    assert {each.partition("-")[0] for each in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_the_oldest_dependencies() -> None:
    tests = script(".ci/tests.py")
    assert tests.oldest_constraints('[project]\ndependencies = ["a>=1.2", "b-c>=3"]') == "a==1.2\nb-c==3\n"
    assert "numpy==" in tests.oldest_constraints((ROOT / "pyproject.toml").read_text())
    with pytest.raises(SystemExit, match="no oldest version: a"):
        tests.oldest_constraints('[project]\ndependencies = ["a"]')


def test_the_notes_of_a_release_are_its_entry() -> None:
    notes = script(".ci/notes.py").release_notes
    text = "# C\n\n## [Unreleased]\n\n- new\n\n## [1.1.0] - 2026-01-02\n\n### Added\n\n- b\n\n## [1.0.0] - 2026-01-01\n\n- a\n"
    assert notes(text, "v1.1.0") == "### Added\n\n- b"
    assert notes(text, "v1.0.0") == "- a"
    with pytest.raises(SystemExit, match=r"no entry for v9\.0\.0"):
        notes(text, "v9.0.0")
