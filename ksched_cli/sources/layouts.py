"""Directories and archives that other tools make, and which of their files hold Kubernetes objects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# What `oc adm must-gather` and `oc adm inspect` write: everything else in there is logs, metrics and host files.
_GATHERED = re.compile(r"(^|/)(cluster-scoped-resources|namespaces)/")
_MARK = re.compile(r"(^|/)cluster-scoped-resources/")


@dataclass(frozen=True)
class Layout:
    """The names to read. `gathered`: they come from a collection that also holds documents of other kinds."""

    names: tuple[str, ...]
    gathered: bool = False


def layout_of(names: Sequence[str]) -> Layout:
    """`names` are the paths of the files that may hold objects, with slashes."""
    if not any(map(_MARK.search, names)):
        return Layout(tuple(names))
    return Layout(tuple(name for name in names if _GATHERED.search(name)), gathered=True)
