"""Finds the place of a field in the manifests: file, line, and the path in the document. A rendered document may name
the file that it was made from, as Helm, Kustomize and kpt write it; then that file is the place. JSON has lines only
where the text is laid out over several. Reads the text of a source again, when the first place is asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C scanner of strings, public by long custom
from typing import Any

from msgspec import Struct, field

from ksched_cli.api.conversion import path_text
from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import CronJob, PodTemplate, StatefulSet
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.loaded import Loaded, Origin, workload_label

Path = tuple[str | int, ...]

_TOKEN = re.compile(r'[{}\[\],:"]|[^\s{}\[\],:"]+')


def field_lines(text: str) -> Iterator[tuple[int, dict[Path, int]]]:
    """The first line of every document of a JSON text, and the line of each path in it: that of a field's key, or the
    first line of an element of a list."""
    lines: dict[Path, int] = {}
    # The path to what is being read: the last step is a number in a list. In an object a key or its value is read.
    path: list[str | int] = []
    begins, line, seen, at, is_key = 1, 1, 0, 0, False
    while (found := _TOKEN.search(text, at)) is not None:
        line, seen, at = line + text.count("\n", seen, found.start()), found.start(), found.end()
        token = found.group()
        if not path:
            begins, lines = line, {}
        elif token not in "}],:" and isinstance(path[-1], int):
            lines.setdefault(tuple(path), line)
        if token == '"':
            word, at = scanstring(text, at, False)
            if is_key:
                path[-1] = word
                lines[tuple(path)] = line
        elif token in "{[":
            path.append("" if token == "{" else 0)
            is_key = token == "{"
        elif token in "}]":
            path.pop()
            is_key = False
        elif token == ":":
            is_key = False
        elif token == ",":
            last = path[-1]
            is_key = isinstance(last, str)
            path[-1] = last if isinstance(last, str) else last + 1
        if not path:
            yield begins, lines


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
    own = takewhile(lambda text: not text.startswith("---"), lines)
    found = (re.match(r"\s+name:\s*[\"']?([^\"'\s]+)", text) for text in own)
    return any(each is not None and name.endswith(each[1]) for each in found)


_Lines = Callable[[Path], int]


class SourcePlace(Struct, frozen=True):
    """`line` counts from 1 and is None if the source has no lines."""

    source: str
    line: int | None = None
    path: str = ""


class Places(Struct):
    """Reads the lines of a manifest when the first of them is needed."""

    manifests: Loaded
    _documents: dict[str, list[tuple[int, _Lines]]] = field(default_factory=dict)

    def of(self, item: Struct, path: Path) -> SourcePlace:
        """The place of a field, or of the nearest field around it that is written."""
        origin = self.manifests.origins.get(id(item), Origin(""))
        in_resource = self.manifests.paths_in_resources.get(id(item))
        path = in_resource(path) if in_resource is not None else path
        if origin.file:
            kind, _, name = workload_label(item).partition(" ")
            line = line_in_file(origin.file, kind, name.partition(" ")[0].rpartition("/")[2])
            return SourcePlace(origin.file, line, path_text(path))
        return SourcePlace(origin.source, self._line(origin, (*_written_steps(origin.path), *path)), path_text(path))

    def of_pod_field(self, item: Any, path: Path) -> SourcePlace:
        """The place of a field of the pods that the object makes."""
        return self.of(item, in_workload(item, path))

    def _line(self, origin: Origin, path: Path) -> int | None:
        if not path and origin.line is not None:
            return origin.line
        documents = self._known(origin.source)
        if not documents:
            return origin.line
        _, line_of = next((each for each in documents if each[0] == origin.line), documents[0])
        return line_of(path)

    def _known(self, source: str) -> list[tuple[int, _Lines]]:
        if source not in self._documents:
            text = self.manifests.texts.get(source)
            self._documents[source] = _read(_text_of(source) if text is None else text)
        return self._documents[source]


def with_field_line(problem: Problem, content: bytes) -> Problem:
    """The problem with the line of its field, if the content can be read."""
    try:
        documents = _read(content)
    except InputError:
        return problem
    path = problem.path.rpartition(": ")[2]
    line_of = next((each for begins, each in documents if problem.line in (None, begins)), None)
    return replace(problem, line=line_of(_written_steps(path))) if line_of is not None else problem


def path_in_resource(loaded: Loaded, item: Any, path: str) -> str:
    """The path in the manifest. It differs from the given path if the item stands for a custom resource."""
    turned = loaded.paths_in_resources.get(id(item))
    return path_text(turned(_written_steps(path))) if turned is not None else path


_STEP = re.compile(r"\[(\d+)\]|\[([^\]]*)\]|([^.\[\]]+)")


def _written_steps(path: str) -> Path:
    """The steps of a path such as `items[0].spec.containers[0].resources.requests[example.com/gpu]`."""
    return tuple(int(index) if index else key or name for index, key, name in _STEP.findall(path))


def _text_of(source: str) -> bytes:
    """The text of a file that was read without keeping its text; empty for a pipe or a member of an archive."""
    try:
        with open(source, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return b""


# JSON, and not YAML in flow style. A text of JSON has no line feed inside of a string.
_JSON = re.compile(rb'\s*(\{\s*["}]|\[)(?!.*\n---)', re.DOTALL)


@lru_cache(maxsize=8)
def _read(content: bytes) -> list[tuple[int, _Lines]]:
    if _JSON.match(content):
        text = content.decode("utf-8", "replace")
        return [(line, _nearest(lines, line)) for line, lines in field_lines(text)]
    from ksched_cli.api.yaml_reader import read_documents

    return [(each.line, each.line_of) for each in read_documents(content, with_lines=True, repeats=True)]


def _nearest(lines: Mapping[Path, int], begins: int) -> _Lines:
    def line_of(path: Path) -> int:
        while path and path not in lines:
            path = path[:-1]
        return lines.get(path, begins)

    return line_of


def in_workload(item: Any, path: Path) -> Path:
    """The path in the workload of a path in its pod. Volumes are found by name, since those of claim templates are not
    in the pod template."""
    if path[:2] == ("spec", "volumes") and len(path) > 2:
        name = path[2]
        if isinstance(item, StatefulSet):
            templates = [each.metadata.name for each in item.spec.volume_claim_templates]
            if name in templates:
                return ("spec", "volumeClaimTemplates", templates.index(str(name)), *path[3:])
        volumes = [each.name for each in template_of(item).spec.volumes]
        path = ("spec", "volumes", *([volumes.index(str(name))] if name in volumes else []), *path[3:])
    return (*_PREFIX.get(type(item), ("spec", "template")), *path)


def template_of(item: Any) -> Any:
    """The part of the object that has the metadata and spec of the pod."""
    for step in _PREFIX.get(type(item), ("spec", "template")):
        item = getattr(item, {"jobTemplate": "job_template"}.get(step, step))
    return item


_PREFIX: Mapping[type[Struct], tuple[str, ...]] = {
    Pod: (),
    PodTemplate: ("template",),
    CronJob: ("spec", "jobTemplate", "spec", "template"),
}
