"""The files of the package, read once by each test process. Tests parse only the files whose text matches a pattern."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "ksched_cli"


@cache
def texts() -> Mapping[str, str]:
    """The text of every Python file by its path in the package."""
    found = {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))
    }
    assert len(found) > 400
    return found


def trees(pattern: str, under: str | tuple[str, ...] = "") -> Iterator[tuple[str, ast.Module]]:
    """The path and the tree of each file below `under` whose text matches `pattern`."""
    matches = re.compile(pattern).search
    return ((path, ast.parse(text)) for path, text in texts().items() if path.startswith(under) and matches(text))
