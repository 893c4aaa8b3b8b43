"""Files as CI systems name them: relative to the repository, with slashes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from ksched_cli.sources.places import SourcePlace

STDIN = "stdin"


def repository_path(place: SourcePlace) -> str:
    """The file relative to the checkout of the CI system, or to the working directory. The name of an archive replaces
    that of a file in it. Empty for stdin."""
    source = place.source
    if not source or source == STDIN:
        return ""
    if not os.path.exists(source):
        archive = archive_of(source)
        source = archive if os.path.exists(archive) else source
    return relative_to_first(Path(os.path.abspath(source)), _roots())


def archive_of(source: str, paths: Any = os.path) -> str:
    """The part of "archive.zip:inner.yaml" before the colon. `paths` is os.path of the system: C: is no archive."""
    drive, rest = paths.splitdrive(source)
    return f"{drive}{rest.partition(':')[0]}"


def relative_to_first(path: PurePath, roots: Iterable[PurePath]) -> str:
    """The path relative to the first root that contains it, with slashes; the whole path if no root contains it."""
    for root in roots:
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()


def _roots() -> list[Path]:
    """The checkout as each CI system names it, the folder of the git repository, and the working directory."""
    variables = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR", *(["WORKSPACE"] if "JENKINS_URL" in os.environ else [])]
    named = (os.environ.get(name) for name in variables)
    return [Path(os.path.abspath(each)) for each in (*named, _git_root(), os.getcwd()) if each]


def _git_root() -> Path | None:
    """The folder of the git repository that has the working directory. In a worktree `.git` is a file."""
    here = Path(os.getcwd())
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), None)


def as_uri(path: str) -> str:
    """A relative reference, or a file URI for a path outside the checkout."""
    if path[1:3] == ":/":  # a drive of Windows
        return f"file:///{quote(path, safe='/:')}"
    quoted = quote(path, safe="/", errors="surrogateescape")
    return f"file://{quoted}" if path.startswith("/") else quoted
