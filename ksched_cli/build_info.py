"""The version of this ksched, its commit and the date of the commit. The git tag is the only place that has the number.

Importing this module reads them, so `ksched_cli` imports it when `__version__` is read:

1. a wheel and an sdist have `_build.py`, which `.ci/build_hook.py` writes when they are built;
2. in a clone, also of an editable install, git describes it;
3. an archive that `git archive` wrote has them in `_ARCHIVE`, where git fills in the format (.gitattributes).

This module imports nothing but the standard library: the build backend runs it before anything is installed.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

_ARCHIVE = "$Format:%(describe:tags,match=v[0-9]*,abbrev=9)|%H|%cs$"
_DESCRIBED = re.compile(r"v(?P<tag>\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)(?:-(?P<count>\d+)-g(?P<hash>[0-9a-f]+))?")


class BuildInfo(NamedTuple):
    """`version` as PEP 440 has it. `commit` and `date` are empty if they were not recorded."""

    version: str
    commit: str = ""
    date: str = ""

    @property
    def semantic_version(self) -> str:
        """The version as semver.org has it: 0.1.1.dev5+gabc is 0.1.1-dev.5+gabc."""
        number, plus, local = self.version.partition("+")
        return re.sub(r"^(\d+\.\d+\.\d+)\.?([a-z]+)", r"\1-\2.", number) + plus + local


# Neither built nor in a repository: a folder that was copied by hand.
UNKNOWN = BuildInfo("0.0.0+unknown")


def read_build_info(package: Path) -> BuildInfo:
    """The version that the package was built of, or the description of the clone by git."""
    if (package / "_build.py").is_file():
        built = import_module("ksched_cli._build") if __package__ else _run(package / "_build.py")
        return BuildInfo(built.VERSION, built.COMMIT, built.DATE)
    # The .git of a worktree is a file. A folder above it may be another repository.
    if (package.parent / ".git").exists():
        return _ask_git(package.parent)
    return _read_archive(_ARCHIVE)


def version_of(described: str, commits: int, commit: str) -> str:
    """The version of what `git describe --tags --long` calls v0.1.0-5-gabc: the next patch is being developed after
    the tag, so it is 0.1.1.dev5+gabc. A clone without tags has no number: it is 0.0.0.dev, counted from its root."""
    described, dirty, _ = described.partition("-dirty")
    found = _DESCRIBED.fullmatch(described)
    suffix = ".dirty" if dirty else ""
    if found is None:
        return f"0.0.0.dev{commits}+g{commit[:9]}{suffix}"
    if found["count"] in (None, "0"):
        return found["tag"] + ("+dirty" if dirty else "")
    head, last = re.fullmatch(r"(.*?)(\d+)", found["tag"]).groups()  # type: ignore[union-attr]  # a tag ends in a digit
    return f"{head}{int(last) + 1}.dev{found['count']}+g{found['hash']}{suffix}"


def _ask_git(root: Path) -> BuildInfo:
    try:
        commit, date = _git(root, "log", "-1", "--format=%H %cs").split()
        count = _git(root, "rev-list", "--count", "HEAD")
        described = _git(
            root, "describe", "--tags", "--long", "--always", "--dirty", "--abbrev=9", "--match", "v[0-9]*"
        )
    except (OSError, ValueError):  # there is no git, no commit, or git does not trust the folder
        return UNKNOWN
    return BuildInfo(version_of(described, int(count), commit), commit, date)


def _git(root: Path, *arguments: str) -> str:
    """What git prints; ValueError where it fails. A hook of git has GIT_DIR set, to the repository that it checks."""
    import os
    import subprocess

    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", *arguments], cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr)
    return done.stdout.strip()


def _read_archive(text: str) -> BuildInfo:
    described, _, rest = text.partition("|")
    commit, _, date = rest.partition("|")
    if not re.fullmatch("[0-9a-f]{40,64}", commit):
        return UNKNOWN
    return BuildInfo(version_of(described, 0, commit), commit, date)


def _run(path: Path) -> ModuleType:
    """The module of a file, for the build backend, which imports no package."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = read_build_info(Path(__file__).parent)
__version__ = BUILD.version
