"""What every command line is run in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.inputs import NODE, dumped
from tests.cli.karpenter import TYPE


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns and no wish about colours, whatever the tests are run in."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PAGER", "cat")
    for name in ("NO_COLOR", "FORCE_COLOR", "KSCHED_PAGER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a cluster of one node beside the manifests, outside of any repository."""
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(dumped(NODE))
    return tmp_path


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    """A file of instance types with one type of 4 cpu."""
    path = tmp_path / "types.json"
    path.write_text(json.dumps({"instanceTypes": [TYPE]}))
    return str(path)
