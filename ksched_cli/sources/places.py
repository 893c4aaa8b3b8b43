"""Finds the place of a field in the manifests: file, line, and the path in the document."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from ksched_cli.api.conversion import path_text
from ksched_cli.api.core import Pod
from ksched_cli.api.json_lines import field_lines
from ksched_cli.api.workloads import CronJob, PodTemplate, StatefulSet
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.custom.labels import workload_label
from ksched_cli.sources.declared_files import line_in_file
from ksched_cli.sources.loaded import Loaded, Origin

Path = tuple[str | int, ...]

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
            self._documents[source] = _read(self.manifests.texts.get(source, b""))
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


@lru_cache(maxsize=8)
def _read(content: bytes) -> list[tuple[int, _Lines]]:
    if content.lstrip()[:1] in (b"{", b"["):
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
