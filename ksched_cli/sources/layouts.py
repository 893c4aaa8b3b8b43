"""Finds the files with Kubernetes objects in directories and archives that other tools make."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from msgspec import Struct

# The folders with objects that `oc adm must-gather` and `oc adm inspect` write, also below the folder of an image. The
# other files are logs, metrics and files of hosts.
_GATHERED = re.compile(r"([^/]+/)?(cluster-scoped-resources|namespaces)/")
_MARK = re.compile(r"([^/]+/)?cluster-scoped-resources/")


class Layout(Struct, frozen=True):
    """The names to read, and the names that are left out. `gathered`: the collection has other documents, too."""

    names: tuple[str, ...]
    gathered: bool = False
    left_out: tuple[str, ...] = ()


def layout_of(names: Sequence[str], root: str = "") -> Layout:
    """The layout of the files that may hold objects, by their paths with slashes. A layout begins at the root: right
    below the deepest folder that has all files."""
    begin = len(root) or _common_folder(names)
    if not any(_MARK.match(name, begin) for name in names):
        return Layout(tuple(names))
    kept = tuple(name for name in names if _GATHERED.match(name, begin))
    return Layout(kept, True, tuple(name for name in names if not _GATHERED.match(name, begin)))


def _common_folder(names: Sequence[str]) -> int:
    """The length of the folders that all names share. The folder of the mark does not count."""
    prefix = os.path.commonprefix(names)  # noqa: RUF071  # cut at a slash below
    mark = prefix.find("cluster-scoped-resources/")
    return (prefix.rfind("/") if mark < 0 else mark - 1) + 1
