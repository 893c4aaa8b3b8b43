"""The pages for people who change ksched name files and methods that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.package_source import trees

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ksched_cli"
PAGES = [PACKAGE / "README.md", *sorted((PACKAGE / "help" / "decisions").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`([a-z_]+/[\w/]*(?:\.py)?)`", page.read_text())
    assert named
    assert [name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []


@cache
def names_of_classes() -> dict[str, set[str]]:
    """What the bodies of the classes of each name define or set."""
    found: dict[str, set[str]] = {}
    for _, tree in trees("class "):
        for node in (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)):
            inside = [*ast.walk(node)]
            names = found.setdefault(node.name, set())
            names |= {each.name for each in inside if isinstance(each, ast.FunctionDef)}
            names |= {each.attr for each in inside if isinstance(each, ast.Attribute)}
            names |= {each.id for each in inside if isinstance(each, ast.Name)}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("page", [*PAGES, ROOT / ".github" / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_the_methods_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`([A-Z][A-Za-z]+)\.(_?[a-z_]+)[`(=]", page.read_text())
    assert [f"{owner}.{name}" for owner, name in named if name not in names_of_classes().get(owner, set())] == []


def test_the_map_names_every_package() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    text = (PACKAGE / "README.md").read_text()
    assert {name for name in packages if f"| `{name}/` |" not in text} == set()


def test_the_list_of_decisions_is_linked() -> None:
    assert "(help/decisions/)" in (PACKAGE / "README.md").read_text()
    assert len(PAGES) == 11
