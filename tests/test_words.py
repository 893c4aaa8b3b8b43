"""Phrases that the package does not use: riddles, and verbs of people for code."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.package_source import PACKAGE, texts

FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())
BANNED = re.compile(
    r"\b(nobody|somebody|of its own accord|not whole|less those that|a cluster that was read|what decides a run"
    r"|told|tells?|hears?|heard|says?|whoever|knows? (which|that|it|all|them|what|whether|how))\b",
    re.IGNORECASE,
)


def prose_of(source: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_comments_and_docstrings_use_plain_words(folder: str) -> None:
    sources = {path: text for path, text in texts().items() if path.startswith(f"{folder}/")}
    assert sources
    found = [
        f"{path}:{line}: {match[0]}"
        for path, source in sources.items()
        if BANNED.search(re.sub(r"\s+", " ", source))
        for line, text in prose_of(source)
        for match in BANNED.finditer(text)
    ]
    assert found == []


def test_the_banned_phrases_are_found() -> None:
    assert [line for line, text in prose_of('"""Nobody knows."""\nx = 1  # is told later\n') if BANNED.search(text)]
