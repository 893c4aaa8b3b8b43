"""The pages for people who change ksched name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ksched_cli"
PAGES = [PACKAGE / "README.md", *sorted((PACKAGE / "help" / "decisions").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`([a-z_]+/[\w/]*(?:\.py)?)`", page.read_text())
    assert named
    assert [name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []


def test_the_map_names_every_package() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    text = (PACKAGE / "README.md").read_text()
    assert {name for name in packages if f"| `{name}/` |" not in text} == set()


def test_the_list_of_decisions_is_linked() -> None:
    assert "(help/decisions/)" in (PACKAGE / "README.md").read_text()
    assert len(PAGES) == 11
