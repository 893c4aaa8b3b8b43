"""Directories and archives that other tools make, and which of their files hold Kubernetes objects."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

# What `oc adm must-gather` and `oc adm inspect` write: everything else in there is logs, metrics and host files. The
# folder of an image may lie between.
_GATHERED = re.compile(r"([^/]+/)?(cluster-scoped-resources|namespaces)/")
_MARK = re.compile(r"([^/]+/)?cluster-scoped-resources/")


@dataclass(frozen=True)
class Layout:
    """The names to read and those that are left out. `gathered`: they come from a collection that also holds documents
    of other kinds."""

    names: tuple[str, ...]
    gathered: bool = False
    left_out: tuple[str, ...] = ()


def layout_of(names: Sequence[str], root: str = "") -> Layout:
    """`names` are the paths of the files that may hold objects, with slashes. A layout is recognised at the root only:
    right below the deepest folder that has all of the files."""
    begin = len(root) or _common_folder(names)
    if not any(_MARK.match(name, begin) for name in names):
        return Layout(tuple(names))
    kept = tuple(name for name in names if _GATHERED.match(name, begin))
    return Layout(kept, True, tuple(name for name in names if not _GATHERED.match(name, begin)))


def _common_folder(names: Sequence[str]) -> int:
    """How many characters the folders have that all names share; the mark itself is no such folder."""
    prefix = os.path.commonprefix(names)  # noqa: RUF071  # cut at a slash below
    mark = prefix.find("cluster-scoped-resources/")
    return (prefix.rfind("/") if mark < 0 else mark - 1) + 1
