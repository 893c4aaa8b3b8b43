"""Finds the files that rendered manifests of Helm, Kustomize and kpt name as their source."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Helm writes this comment before each document.
_HELM = re.compile(r"^# Source: (\S+)\s*$")
_ANNOTATIONS = ("config.kubernetes.io/path", "internal.config.kubernetes.io/path")
_ORIGIN = "config.kubernetes.io/origin"
_PATH = re.compile(r"^path: (.+)$", re.MULTILINE)


class DeclaredFiles:
    """The files that the documents of one source name. Relative paths begin at `folder`, that of the chart or
    kustomization. `default` is the file of objects that name none."""

    def __init__(self, content: bytes, folder: str = "", default: str = "") -> None:
        self._content, self._folder, self._default = content, folder, default
        self._lines: Sequence[str] = ()
        if b"# Source: " in content:
            self._lines = content.decode("utf-8", "replace").splitlines()

    def file_of(self, item: Any, line: int | None) -> str:
        """The file of the object whose document begins at the line; empty if it names none."""
        if not self._content:
            return ""
        annotations = item.metadata.annotations
        declared = next((annotations[name] for name in _ANNOTATIONS if annotations.get(name)), "")
        origin = _PATH.search(annotations.get(_ORIGIN, ""))
        declared = declared or (origin[1].strip().strip("\"'") if origin else "") or self._comment(line)
        return self._found(declared) if declared else self._default

    def file_at(self, line: int | None) -> str:
        """The file of the document that begins at the line; empty if it names none."""
        declared = self._comment(line) if line is not None else ""
        return self._found(declared) if declared else self._default

    def _comment(self, line: int | None) -> str:
        """The file in Helm's comment between the document marker and the first field."""
        for text in self._lines[max((line or 1) - 1, 0) :]:
            found = _HELM.match(text)
            if found:
                return found[1]
            if text.strip() and not text.startswith("#"):
                break
        return ""

    def _found(self, declared: str) -> str:
        """The path from the current directory. Helm's paths begin with the name of the chart."""
        inner = declared.partition("/")[2]
        for each in (os.path.join(self._folder, declared), os.path.join(self._folder, inner)):
            if inner and os.path.isfile(each):
                return os.path.normpath(each)
        # The folder of a pipe is not known: the path starts below it.
        return os.path.normpath(os.path.join(self._folder, declared)) if self._folder else declared.lstrip("./")


def line_in_file(path: str, kind: str, name: str) -> int | None:
    """The line of the object in a file: that of its kind, or of the one with its name if the kind occurs again. None if
    the file cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    starts = [number for number, text in enumerate(lines, start=1) if re.match(rf"kind:\s*[\"']?{kind}\b", text)]
    if len(starts) < 2:
        return starts[0] if starts else None
    named: Mapping[int, bool] = {start: _is_named(lines[start : start + 8], name) for start in starts}
    return next((start for start in starts if named[start]), starts[0])


def _is_named(lines: Sequence[str], name: str) -> bool:
    found = (re.match(r"\s+name:\s*[\"']?([^\"'\s]+)", text) for text in lines)
    return any(each is not None and name.endswith(each[1]) for each in found)
