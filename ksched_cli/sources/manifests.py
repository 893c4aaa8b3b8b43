"""Reads manifests (`-f`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, BinaryIO

from msgspec import Struct

from ksched_cli.api.conversion import json_document, path_text
from ksched_cli.api.decode import DecodedObject, UnknownKind
from ksched_cli.api.kinds import CLUSTER_SCOPED
from ksched_cli.api.meta import metadata_of
from ksched_cli.api.validation.names import dns_label
from ksched_cli.api.validation.rules import validate
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.controllers.naming import generated
from ksched_cli.sources.custom.workloads import CustomWorkload, custom_workloads, known_kinds, read_pod_templates
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.input_codes import UNREADABLE
from ksched_cli.sources.loaded import Loaded, Origin
from ksched_cli.sources.manifest_problems import manifest_problems
from ksched_cli.sources.read_options import ManifestReading, ReadOptions
from ksched_cli.sources.rendering import Rendering, chart, kustomization
from ksched_cli.sources.unread import judge
from ksched_cli.sources.validate import Complaint

# Several times the pods that Kubernetes supports in a cluster.
MAX_PODS = 1_000_000
_AS_WRITTEN = ManifestReading()


class _New:
    """Completes and checks objects that no API server has stored (Manifests)."""

    def __init__(self, given: ManifestReading) -> None:
        self.namespace = given.namespace
        self._names: set[str] = set()
        self.options = ReadOptions(given.recursive, given.exclude, layouts=False)
        self.stdin_name, self.collects, self.optional = given.stdin_name, given.collects, given.optional
        self.renderings: Sequence[Rendering] = [
            *map(kustomization, given.kustomizations),
            *(chart(each, given.values, given.namespace) for each in given.charts),
        ]
        self._kinds = known_kinds(read_pod_templates(given.pod_templates))
        self._strict = given.strict

    def unknown(self, unknown: UnknownKind, origin: Origin) -> Iterator[Problem | CustomWorkload]:
        made = list(custom_workloads(unknown, origin, self._kinds))
        yield from made or judge(unknown, origin)

    def complete(self, item: Struct) -> None:
        """Set the namespace of kubectl, and the name if there is only a generateName (FillObjectMetaSystemFields)."""
        metadata = metadata_of(item)
        if type(item) not in CLUSTER_SCOPED:
            metadata.namespace = metadata.namespace or self.namespace
        if not metadata.name and metadata.generate_name:
            attempts = (
                generated(metadata.generate_name, metadata.namespace, attempt) for attempt in count(len(self._names))
            )
            metadata.name = next(name for name in attempts if name not in self._names)
            self._names.add(metadata.name)

    def problems(self, found: DecodedObject, source: str) -> Iterator[Problem]:
        return manifest_problems(found, source, namespace=self.namespace, strict=self._strict)

    def complaints(self, item: Struct, *, is_written: bool) -> Iterator[Complaint]:
        """Mistakes of an object that stands for another one, which may be incomplete but must be valid; and numbers of
        pods that are too large to simulate."""
        for error in () if is_written else validate(json_document(item), type(item).__name__):
            if not error.is_missing:
                yield path_text(error.path), error.message
        for field in ("replicas", "parallelism", "completions"):
            number = getattr(getattr(item, "spec", None), field, None)
            if number is not None and number > MAX_PODS:
                yield f"spec.{field}", f"{number} is more than the {MAX_PODS} that are simulated of one workload"


def load_manifests(
    paths: Sequence[str],
    stdin: BinaryIO | None = None,
    reading: ManifestReading = _AS_WRITTEN,
    objects: Sequence[Any] = (),
) -> Loaded:
    """The objects of files, directories and `-`, with their places. URLs are refused: ksched reads no manifest from a
    network."""
    _check_namespaces(reading)
    urls = [path for path in paths if "://" in path]
    hint = "download it and give the file"
    problems = [Problem("URLs are not read", url, hint=hint, code=UNREADABLE) for url in urls]
    if problems and not reading.collects:
        raise InputError(problems)
    files, new = [path for path in paths if path not in urls], _New(reading)
    loaded = load_dump(files, stdin, new, objects=objects) if files or objects or new.renderings else Loaded()
    loaded.findings += problems
    loaded.server_side, loaded.force_conflicts = reading.server_side, reading.force_conflicts
    loaded.assumed_namespaces.update(reading.assumed_namespaces)
    if reading.creates_namespaces:
        loaded.assume_namespaces()
    return loaded


def _check_namespaces(reading: ManifestReading) -> None:
    """Raise InputError for options with names that no namespace can have."""
    given = [("-n", reading.namespace), *(("--assume-namespace", name) for name in reading.assumed_namespaces)]
    text, hint = "no namespace can have this name", "lower case letters, digits and '-', at most 63 characters"
    problems = [Problem(text, f"{flag} {name}", hint=hint) for flag, name in given if name and dns_label(name)]
    if problems:
        raise InputError(problems)
