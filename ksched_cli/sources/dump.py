"""Reads typed objects from files, JSON or YAML. All problems of all files are reported together, each with file, line
and path. Objects of a dump are read as a cluster has them; manifests are checked as the API server checks new
objects."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import msgspec
from msgspec import Struct

from ksched_cli.api.conversion import json_document, type_name
from ksched_cli.api.core import ContainerImage, Namespace, Node, ObjectMeta, Pod, Service, controller_of, metadata_of
from ksched_cli.api.decode import (
    CLUSTER_SCOPED,
    KINDS,
    DecodedObject,
    UnknownKind,
    convert_plain,
    decode_plain,
    decode_unknown,
    document_of,
)
from ksched_cli.api.defaults import DEFAULT_NAMESPACE, fill_in
from ksched_cli.api.dynamic_resources import OLDER_VERSIONS, ResourceClaim, ResourceClaimTemplate, as_v1
from ksched_cli.api.object_facts import is_terminal, pod_key, version_number, waits_for_node
from ksched_cli.api.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.api.validation.fields import object_at, text_at
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from ksched_cli.errors import InputError, Problem, counted, named, predicate
from ksched_cli.sources import files
from ksched_cli.sources.decoding import SNAPSHOT_START, decode, share_texts
from ksched_cli.sources.files import SUFFIXES, Content
from ksched_cli.sources.loaded import (
    DUPLICATE,
    INVALID,
    SKIPPED,
    UNKNOWN_FIELD,
    UNREADABLE,
    Loaded,
    Origin,
    WrittenObject,
    autoscaler_of,
    flags_of_api_server,
    flags_of_karpenter,
    is_api_server,
    is_karpenter,
    node_group_of,
    workload_label,
    wrong_bounds,
)
from ksched_cli.sources.places import DeclaredFiles, path_in_resource, with_field_line
from ksched_cli.sources.read_options import DUMPS, ReadOptions
from ksched_cli.sources.rendering import Rendering, broken_template, unrendered
from ksched_cli.sources.unread import no_manifest
from ksched_cli.sources.validate import Complaint, object_complaints

if TYPE_CHECKING:
    from ksched_cli.sources.custom.workloads import CustomWorkload
    from ksched_cli.sources.live.cluster import LiveCluster

# The most problems in one error.
MAX_PROBLEMS = 50
LIVE = "live"
# What the sources begin with that name a scheduling trace.
TRACES = ("openb:", "trace:")
READ_KINDS = frozenset(KINDS.values())
_WITH_TEMPLATES = (Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job, CronJob)
# Kinds whose updates `controlplane/admission/updates.py` compares in all fields.
_COMPARED_WHOLE: tuple[type[Any], ...] = (
    *_WITH_TEMPLATES,
    *(Pod, Service, PersistentVolume, PersistentVolumeClaim, StorageClass, CSIDriver),
    *(ResourceClaim, ResourceClaimTemplate),
)


def load_dump(
    sources: Sequence[str],
    stdin: BinaryIO | None = None,
    manifests: Manifests | None = None,
    live: Callable[[], LiveCluster] | None = None,
    objects: Sequence[Any] = (),
    *,
    events: bool = False,
    newest: bool = False,
    documents: bool = True,
) -> Loaded:
    """All objects of the files and directories, `-` for stdin, with the defaults of the API server.

    `objects` are read after the files: documents as in YAML and JSON, also lists, or typed objects, which stay
    unchanged. `manifests` completes objects that no API server has stored. `live` reads the cluster of the source
    "live". Events are read only with `events`. Of an object that several files have, `newest` reads the newer one.
    Without `documents`, only those of workloads are kept, and no manifest must be applied to the objects.
    """
    reader = _Reader(stdin, manifests, live, events=events, newest=newest, documents=documents)
    return reader.load(sources, objects)


class Manifests(Protocol):
    """Treats objects as the API server treats new ones. With `collects` problems are findings and no error."""

    options: ReadOptions
    stdin_name: str
    namespace: str
    renderings: Sequence[Rendering]
    optional: Sequence[str]
    collects: bool

    def complete(self, item: Struct) -> None:
        """Set what the object lacks, such as a generated name."""

    def drop_status(self, item: Any) -> None:
        """Leave out what only the control plane may write."""

    def problems(self, found: DecodedObject, source: str) -> Iterator[Problem]:
        """The mistakes for which the API server refuses the object as it is written."""

    def complaints(self, item: Struct, *, is_written: bool) -> Iterator[Complaint]:
        """The mistakes that only manifests can have."""

    def unknown(self, unknown: UnknownKind, origin: Origin) -> Iterator[Problem | CustomWorkload]:
        """The problems of an object of a kind that is not read, or the workloads that stand for it."""


class _Place(Struct):
    """The source of an object, its index among the objects of its kind, the time of its file, and its must-gather."""

    source: str
    index: int
    time: float
    gathered: str


class _Reader:
    def __init__(
        self,
        stdin: BinaryIO | None,
        manifests: Manifests | None,
        live: Callable[[], LiveCluster] | None,
        *,
        events: bool,
        newest: bool,
        documents: bool,
    ) -> None:
        self._stdin = stdin
        self._manifests = manifests
        self._live = live
        self._events = events
        self._newest = newest
        self._documents = documents
        # The time of the file that is read; what is no file is read now. `_gathered`: the must-gather of the file.
        self._time = inf
        self._given = self._gathered = ""
        # Objects that two files have in two versions, by the names of the files.
        self._versions: dict[tuple[str, str], list[str]] = {}
        self._options = manifests.options if manifests is not None else DUMPS
        self._loaded = Loaded()
        self._problems: list[Problem] = []
        # Files of a directory in which nothing is a Kubernetes object.
        self._strays: list[str] = []
        self._in_directory = False
        self._declared = DeclaredFiles(b"")
        self._declared_of: dict[str, DeclaredFiles] = {}
        self._rendering: Rendering | None = None
        self._seen: dict[tuple[type[Struct], str, str], _Place] = {}
        self._images: dict[ContainerImage, ContainerImage] = {}
        self._image_lists: dict[tuple[ContainerImage, ...], tuple[ContainerImage, ...]] = {}

    def load(self, sources: Sequence[str], objects: Sequence[Any] = ()) -> Loaded:
        for given in sources:
            self._given, self._gathered = given, ""
            try:
                self._load_source(given)
            except InputError as mistake:
                self._add(mistake.problems, UNREADABLE)
        for rendering in self._manifests.renderings if self._manifests is not None else ():
            try:
                self._take_rendered(rendering)
            except InputError as mistake:
                self._add(mistake.problems, UNREADABLE)
        self._gathered = ""
        for number, item in enumerate(objects, start=1):
            self._take_given(item, f"object {number}" if len(objects) > 1 else "object")
        self._problems += starmap(_two_dumps, self._versions.items())
        self._problems += _shared_uids(self._loaded.of(Pod))
        self._settle_problems()
        found = len(self._loaded) or self._loaded.unknown or self._loaded.has_events or self._loaded.autoscalers
        if not found and not (self._manifests is not None and self._manifests.collects):
            raise InputError(Problem("no Kubernetes objects in the input", ", ".join(sources)))
        self._warn_of_odd_objects()
        return self._loaded

    def _settle_problems(self) -> None:
        """Raise the errors and add the other problems to the warnings; or make all of them findings."""
        if self._manifests is not None and self._manifests.collects:
            self._loaded.findings += map(self._with_line, self._problems)
            return
        if errors := [problem for problem in self._problems if problem.level == "error"]:
            raise InputError(map(self._with_line, _shortened(errors)))
        self._loaded.warnings += [str(self._with_line(problem)) for problem in self._problems]

    def _with_line(self, problem: Problem) -> Problem:
        """The problem with the line of its field, or with the file that a rendered document names."""
        declared = self._declared_of.get(problem.source)
        file = declared.file_at(problem.line) if declared is not None else ""
        if file:
            return replace(problem, source=file, line=None)
        content = self._loaded.texts.get(problem.source)
        has_field = problem.code in (INVALID, UNKNOWN_FIELD)
        return with_field_line(problem, content) if has_field and content is not None else problem

    def _load_source(self, given: str) -> None:
        if given == LIVE and self._live is not None:
            self._take_live(self._live())
            return
        if given == files.STDIN:
            if self._stdin is None:
                raise InputError(Problem("nothing to read from", "stdin", code=UNREADABLE))
            name = self._manifests.stdin_name if self._manifests is not None else "stdin"
            self._take_all(files.read_stdin(self._stdin, self._options, name), name)
            return
        if self._manifests is None and given.startswith(TRACES):
            # Imported here: few inputs are traces.
            from ksched_cli.sources.traces import trace_source

            self._take_given(trace_source(given).read(), given)
            return
        self._load_files(given, files.expand_path(given, self._options))

    def _load_files(self, given: str, found: files.Files) -> None:
        self._note_left_out(given, found.left_out)
        if found.below:
            number = f"{'at least ' if found.more_below else ''}{counted(found.below, 'manifest')}"
            text = f"{number} in the folders below {predicate('are', found.below)} not read"
            self._problems.append(Problem(text, given, hint="-R reads them", code=SKIPPED, level="note"))
        manifests = self._manifests
        self._in_directory = manifests is not None and (found.directory or given in manifests.optional)
        for path in found.paths:
            try:
                self._time = path.stat().st_mtime if path.exists() else inf
                self._take_all(files.read(path, gathered=found.gathered, options=self._options), str(path))
            except InputError as mistake:
                self._add(mistake.problems, UNREADABLE)
        if self._strays:
            text = f"{_listed(self._strays)} not read: there is no Kubernetes object in it"
            self._problems.append(Problem(text, self._strays[0], code=SKIPPED, level="note"))
        self._strays, self._in_directory, self._time = [], False, inf

    def _note_left_out(self, given: str, left_out: Sequence[str]) -> None:
        if left_out:
            text = f"{given}: {_listed(left_out)} not read: of a must-gather only objects are"
            self._loaded.warnings += [text] if text not in self._loaded.warnings else []

    def _add(self, problems: Iterable[Problem], code: str) -> None:
        self._problems += [each if each.code else replace(each, code=code) for each in problems]

    def _take_all(self, contents: Iterable[Content], source: str) -> None:
        """Read all files of a source. A broken file of an archive does not stop the others."""
        empty = True
        for content in contents:
            empty = False
            self._note_left_out(source, content.left_out)
            if self._in_directory and not content.data.strip():
                self._strays.append(content.name)
                continue
            if self._manifests is not None:
                self._loaded.texts[content.name] = content.data
                self._declared = self._declared_of[content.name] = self._declared_files(content)
            try:
                self._take_content(content)
            except InputError as mistake:
                self._add(mistake.problems, UNREADABLE)
        if empty:
            raise InputError(Problem(f"no file in it ends in {', '.join(SUFFIXES)}", source))

    def _declared_files(self, content: Content) -> DeclaredFiles:
        """The files that documents name, for content that is piped in or rendered; a file is its own location."""
        if self._rendering is not None:
            return DeclaredFiles(content.data, self._rendering.folder, self._rendering.file)
        is_piped = self._manifests is not None and content.name == self._manifests.stdin_name
        return DeclaredFiles(content.data if is_piped else b"")

    def _take_rendered(self, rendering: Rendering) -> None:
        self._rendering = rendering
        self._take_all([Content(rendering.file, rendering.render())], rendering.source)
        self._rendering = None

    def _take_content(self, content: Content) -> None:
        self._gathered = self._given if content.gathered else ""
        if content.data.startswith(SNAPSHOT_START):
            self._take_snapshot(content)
        elif content.gathered:
            self._take_gathered(content)
        elif self._manifests is None:
            self._take(decode(content.data, content.name), content.name)
        else:
            self._take_manifest(content)

    def _take_manifest(self, content: Content) -> None:
        """Read a manifest. A file that another tool makes manifests of is a problem."""
        problem = unrendered(content.name) if self._rendering is None else None
        if problem is not None:
            self._problems.append(problem)
            return
        try:
            self._take(decode(content.data, content.name), content.name)
        except InputError as mistake:
            raise broken_template(mistake, content.name, content.data) from None

    def _take_gathered(self, content: Content) -> None:
        """Read a file of a collection if it holds objects."""
        if not content.data.strip():
            return
        found = list(decode(content.data, content.name))
        if any(each.value is not None for each in found):
            self._take(found, content.name)

    def _take_given(self, item: Any, source: str) -> None:
        if type(item) in READ_KINDS:
            copy = msgspec.convert(msgspec.to_builtins(item), type(item))
            self._take([DecodedObject(copy, document=json_document(item))], source)
        elif isinstance(item, Mapping):
            self._take(decode_plain(dict(item), source), source)
        else:
            text = f"{type_name(item)} is no Kubernetes object"
            hint = "give a document as a dict, or a typed object of ksched_cli.api"
            self._problems.append(Problem(text, source, hint=hint))

    def _take_live(self, cluster: LiveCluster) -> None:
        self._loaded.server_version, self._loaded.namespace = cluster.server_version, cluster.namespace
        self._loaded.missing.update({kind.__name__: reason for kind, reason in cluster.missing.items()})
        self._loaded.warnings += cluster.warnings
        for kind in sorted(cluster.found, key=lambda kind: kind.__name__):
            self._take(cluster.found.pop(kind), LIVE)

    def _take_snapshot(self, content: Content) -> None:
        """Read the objects of a snapshot, and its notes about missing objects."""
        from ksched_cli.sources.own_documents import decode_snapshot, read_snapshot

        snapshot = read_snapshot(content.data, content.name)
        self._loaded.unknown.update(snapshot.not_read)
        self._loaded.missing.update(snapshot.missing)
        self._loaded.autoscaler_flags.update(snapshot.autoscaler_flags)
        self._loaded.api_server_flags.update(snapshot.api_server_flags)
        self._loaded.service_ranges.update(snapshot.service_ranges)
        self._loaded.server_version = self._loaded.server_version or snapshot.server_version
        self._take(decode_snapshot(snapshot, content.name), content.name)

    def _take(self, found: Iterable[DecodedObject], source: str) -> None:
        for each in found:
            if each.stray and self._in_directory:
                self._strays += [source] if source not in self._strays[-1:] else []
                continue
            if each.problems:
                self._add(each.problems, INVALID)
            value = each.value
            # isinstance takes long with typed objects if it is false.
            if self._events and self._take_event(each, value, source):
                continue
            if self._manifests is not None and not self._is_accepted(self._manifests, each, source):
                continue
            if type(value) is UnknownKind:
                self._pass_over(each, value, source)
            elif value is not None:
                self._take_object(value, Origin(source, each.line, each.path), each.document, is_written=True)

    def _is_accepted(self, manifests: Manifests, found: DecodedObject, source: str) -> bool:
        """Whether the API server accepts the object as it is written."""
        problems = list(manifests.problems(found, source))
        self._problems += problems
        return all(problem.level != "error" for problem in problems)

    def _pass_over(self, found: DecodedObject, unknown: UnknownKind, source: str) -> None:
        origin = Origin(source, found.line, found.path)
        struct = KINDS.get(("resource.k8s.io/v1", unknown.kind)) if unknown.api_version in OLDER_VERSIONS else None
        if struct is not None:
            document = as_v1(unknown.kind, document_of(unknown))
            upgraded = convert_plain(document, struct, source, found.line, found.path)
            self._add(upgraded.problems, INVALID)
            if isinstance(upgraded.value, Struct):
                self._take_object(upgraded.value, origin, document, is_written=True)
            return
        namespace = self._manifests.namespace if self._manifests is not None else ""
        autoscaler = autoscaler_of(unknown, namespace or DEFAULT_NAMESPACE)
        if autoscaler is not None:
            wrong = list(wrong_bounds(unknown, autoscaler))
            where = f"{autoscaler.label}: {found.path}"
            self._add([Problem(text, source, found.line, f"{where}{path}") for path, text in wrong], INVALID)
            self._loaded.autoscalers += [autoscaler] if not wrong else []
            self._loaded.origins[id(autoscaler)] = origin
            return
        if (node_group := node_group_of(unknown)) is not None:
            self._loaded.node_groups.append(node_group)
        if "karpenter" in unknown.api_version:
            self._take_of_karpenter(found, unknown, source)
        if (unknown.api_version, unknown.kind) == ("v1", "ServiceAccount"):
            document = document_of(unknown)
            metadata = object_at(document, "metadata")
            space = text_at(metadata, "namespace") or namespace or DEFAULT_NAMESPACE
            self._loaded.accounts[space, text_at(metadata, "name")] = document
            self._loaded.origins[id(document)] = origin
            return
        if unknown.kind == "ServiceCIDR" and unknown.api_version.startswith("networking.k8s.io/"):
            document = document_of(unknown)
            self._loaded.service_ranges[text_at(object_at(document, "metadata"), "name")] = document
            if self._manifests is None:
                return
        if unknown.kind in ("Status", "Table"):
            self._problems.append(no_manifest(unknown, source, found.line))
        elif self._manifests is not None and self._take_custom(self._manifests.unknown(unknown, origin), origin):
            return
        self._loaded.unknown[f"{unknown.api_version}/{unknown.kind}"] += 1

    def _take_of_karpenter(self, found: DecodedObject, unknown: UnknownKind, source: str) -> None:
        """Keep an object of Karpenter, which counts as one that kube-scheduler does not read."""
        # Imported here, as the events are: most clusters have none.
        from ksched_cli.api.karpenter import karpenter_kind

        kind = karpenter_kind(unknown.api_version, unknown.kind)
        if kind is None:
            return
        decoded = decode_unknown(found, kind, source)
        self._add(decoded.problems, INVALID)
        if isinstance(decoded.value, Struct):
            self._loaded.karpenter.setdefault(kind, []).append(decoded.value)
            self._loaded.origins[id(decoded.value)] = Origin(source, found.line, found.path)

    def _take_custom(self, found: Iterable[Problem | CustomWorkload], origin: Origin) -> bool:
        """Read the workloads that stand for a custom resource. Returns whether there are any."""
        known = False
        for each in found:
            if isinstance(each, Problem):
                self._problems.append(each)
            else:
                known = True
                self._loaded.paths_in_resources[id(each.item)] = each.path_in_resource
                self._take_object(each.item, origin)
        return known

    def _take_event(self, found: DecodedObject, value: Any, source: str) -> bool:
        """Whether this is an event: the API server's lists are typed, other input is not."""
        from ksched_cli.sources.events import Event, FailedScheduling, ScheduledPod, is_event, read_event

        if type(value) is UnknownKind and is_event(value):
            decoded = decode_unknown(found, Event, source)
            self._add(decoded.problems, INVALID)
            value = decoded.value
        elif type(value) is not Event:
            return False
        told = read_event(value) if isinstance(value, Event) else None
        if isinstance(told, FailedScheduling):
            self._loaded.failures.append(told)
        elif isinstance(told, ScheduledPod):
            self._loaded.bindings.append(told)
        elif told is not None:
            self._loaded.preemptions.append(told)
        return True

    def _take_object(self, item: Any, origin: Origin, document: Any = None, *, is_written: bool = False) -> None:
        kind, manifests = type(item), self._manifests
        if manifests is not None:
            manifests.complete(item)
        metadata: ObjectMeta = item.metadata
        if kind not in CLUSTER_SCOPED:
            metadata.namespace = metadata.namespace or DEFAULT_NAMESPACE
        elif manifests is None:
            metadata.namespace = ""
        mistakes = object_complaints(item) if manifests is None else _mistakes_in(item, manifests, is_written)
        if mistakes:
            self._report(item, mistakes, origin)
            return
        if manifests is not None:
            manifests.drop_status(item)
        identity = kind, metadata.namespace, metadata.name
        place = self._seen.get(identity)
        if place is not None and not self._is_newer(item, place, origin):
            return
        if isinstance(item, PersistentVolume) and not item.status.phase:
            # The volume controller makes a volume available as soon as it sees it.
            item.status = msgspec.structs.replace(item.status, phase="Available")
        fill_in(item)
        share_texts(item)
        if kind is Node:
            self._share_images(item)
        items = self._loaded.objects.get(kind)
        if items is None:
            items = self._loaded.objects[kind] = []
        if place is None:
            self._seen[identity] = _Place(origin.source, len(items), self._time, self._gathered)
            items.append(item)
        else:
            items[place.index] = item
            place.source, place.time, place.gathered = origin.source, self._time, self._gathered
            self._loaded.documents.pop((kind.__name__, metadata.namespace, metadata.name), None)
        if document is not None and isinstance(item, Deployment) and is_karpenter(item):
            self._loaded.autoscaler_flags.update(flags_of_karpenter(document))
        if kind is Pod and manifests is None and document is not None and is_api_server(item):
            self._loaded.api_server_flags.update(flags_of_api_server(document))
        if document is not None and (manifests is not None or self._is_kept(item, document)):
            name = kind.__name__, metadata.namespace, metadata.name
            written = document if isinstance(document, dict) else bytes(document)
            self._loaded.documents[name] = WrittenObject(item, written)
        if manifests is not None:
            file = self._declared.file_of(item, origin.line)
            self._loaded.origins[id(item)] = msgspec.structs.replace(origin, file=file)

    def _is_kept(self, item: Any, document: Any) -> bool:
        """Whether the document is kept. Admission reads the templates of workloads. `kubectl apply` of an object
        depends on its owners, on the last manifest, and on fields that no typed object has."""
        if isinstance(item, _COMPARED_WHOLE if self._documents else _WITH_TEMPLATES):
            return controller_of(item.metadata) is None
        if not self._documents or controller_of(item.metadata) is not None:
            return False
        if isinstance(document, dict):
            return "managedFields" in (document.get("metadata") or {})
        return b"managedFields" in bytes(document)

    def _report(self, item: Struct, mistakes: Iterable[Complaint], origin: Origin) -> None:
        namespaced = bool(metadata_of(item).namespace)
        label = workload_label(item) if namespaced else f"{type(item).__name__} {_name(item)}"
        for path, text in mistakes:
            where = path_in_resource(self._loaded, item, path)
            inner = f"{origin.path}{where}" if self._manifests is not None else where
            self._add([Problem(text, origin.source, origin.line, f"{label}: {inner}")], INVALID)

    def _share_images(self, node: Any) -> None:
        """Let nodes share equal lists of images, and equal images of other lists. That saves a seventh of the memory of
        a large cluster."""
        images = node.status.images
        shared = self._image_lists.get(images)
        if shared is None:
            shared = tuple(map(self._images.setdefault, images, images))
            self._image_lists[shared] = shared
        node.status.images = shared

    def _is_newer(self, item: Struct, place: _Place, origin: Origin) -> bool:
        """Whether the object replaces the one of its name that was read before. A must-gather and the output of several
        commands in one file have an object more than once: the newer one counts. Two versions in two files are two
        dumps of one cluster, and a problem without --newest. So are two objects with the same name."""
        known = self._loaded.of(type(item))[place.index]
        new_metadata, known_metadata = metadata_of(item), metadata_of(known)
        is_same = bool(new_metadata.uid) and new_metadata.uid == known_metadata.uid
        revision, known_revision = (version_number(each.resource_version) for each in (new_metadata, known_metadata))
        of_one_dump = place.source == origin.source or (self._gathered and self._gathered == place.gathered)
        if of_one_dump or self._manifests is not None:
            if not is_same:
                self._report_same_name(item, place, origin)
            return is_same and revision > known_revision
        if self._newest:
            if revision and known_revision:
                return revision > known_revision
            if self._time != place.time:
                return self._time > place.time
        if not is_same:
            self._report_same_name(item, place, origin)
        elif revision != known_revision or not (revision or _is_equal(item, known)):
            self._versions.setdefault((origin.source, place.source), []).append(f"{type(item).__name__} {_name(item)}")
        return False

    def _report_same_name(self, item: Struct, place: _Place, origin: Origin) -> None:
        source, line = origin.source, origin.line if self._manifests is not None else None
        also = "" if place.source == source else f", and in {place.source}"
        text = f"{type(item).__name__} {_name(item)} is there more than once{also}"
        hint = "leave one of them out"
        if also and self._manifests is not None:
            hint = f"check variants one at a time, or leave one out: --exclude {shlex.quote(_glob_of(source))}"
        elif also and not self._newest and place.time < inf:
            hint += ", or give --newest for the newer one"
        self._problems.append(Problem(text, source, line, hint=hint, code=DUPLICATE))

    def _warn_of_odd_objects(self) -> None:
        names = {node.metadata.name for node in self._loaded.of(Node)}
        empty = [node.metadata.name for node in self._loaded.of(Node) if not node.status.allocatable]
        text = "reports neither allocatable nor capacity: nothing fits on it"
        self._loaded.warnings += [f"node {name} {text}" for name in empty]
        if self._manifests is not None:
            return
        lost = [pod for pod in self._loaded.of(Pod) if pod.spec.node_name and pod.spec.node_name not in names]
        self._warn_of_missing_claims()
        self._warn_of_ending_namespaces()
        if len(lost) > _FEW:
            nodes = sorted({pod.spec.node_name for pod in lost})
            where = f"{len(nodes)} nodes that are not in the input, such as {nodes[0]}"
            self._loaded.warnings.append(f"{len(lost)} pods are on {where}: they count nowhere")
            return
        for pod in lost:
            where = f"pod {pod.metadata.namespace}/{pod.metadata.name} is on node {pod.spec.node_name}"
            self._loaded.warnings.append(f"{where}, which is not in the input: it counts nowhere")

    def _warn_of_ending_namespaces(self) -> None:
        """Pods without a node of a namespace that is being deleted go with it."""
        ending = {each.metadata.name: 0 for each in self._loaded.of(Namespace) if each.metadata.deletion_timestamp}
        for pod in self._loaded.of(Pod) if ending else ():
            if pod.metadata.namespace in ending and waits_for_node(pod):
                ending[pod.metadata.namespace] += 1
        for name, pods in ending.items():
            if pods:
                those = f"its {pods} pending pods are" if pods > 1 else "its pending pod is"
                text = f"namespace {name} is being deleted: {those} deleted too, and no pod can be created there"
                self._loaded.warnings.append(text)

    def _warn_of_missing_claims(self) -> None:
        """A pod that runs has its claims. If the input lacks them, it was not listed whole."""
        bound = [pod for pod in self._loaded.of(Pod) if pod.spec.node_name and not is_terminal(pod)]
        mounted = [
            (pod, volume.persistent_volume_claim.claim_name)
            for pod in bound
            for volume in pod.spec.volumes
            if volume.persistent_volume_claim is not None
        ]
        if mounted and not self._loaded.of(PersistentVolumeClaim):
            pod, claim = mounted[0]
            self._loaded.warnings.append(
                f"the input has no PersistentVolumeClaims, and running pods mount {len(mounted)}, such as {claim} of "
                f"pod {pod.metadata.namespace}/{pod.metadata.name}: add pvc,pv,sc to the dump"
            )


# More pods than that on unknown nodes have one warning.
_FEW = 10


def _mistakes_in(item: Struct, manifests: Manifests, is_written: bool) -> Sequence[Complaint]:
    """The mistakes in an object of a manifest, each field once."""
    mistakes = list(manifests.complaints(item, is_written=is_written))
    reported = {path for path, _ in mistakes}
    return [*mistakes, *(each for each in object_complaints(item) if each[0] not in reported)]


def _is_equal(item: Any, known: Any) -> bool:
    """Whether an object equals one that was read before and has its defaults."""
    fill_in(item)
    return bool(item == known)


def _two_dumps(sources: tuple[str, str], objects: Sequence[str]) -> Problem:
    source, known = sources
    which = f"{objects[0]} and {counted(len(objects) - 1, 'more object')} are" if objects[1:] else f"{objects[0]} is"
    text = f"{which} in another version in {known}: these are two dumps of one cluster"
    return Problem(text, source, hint="leave one of them out, or give --newest for the newer objects", code=DUPLICATE)


def _shared_uids(pods: Sequence[Pod]) -> Iterator[Problem]:
    """Problems of pods that share a uid. uids are unique, and kube-scheduler's cache uses them as keys."""
    uids = [pod.metadata.uid for pod in pods if pod.metadata.uid]
    names: dict[str, str] = {}
    for pod in pods if len(set(uids)) < len(uids) else ():
        name = pod_key(pod)
        if pod.metadata.uid and names.setdefault(pod.metadata.uid, name) != name:
            text = f"Pod {name} has the uid of Pod {names[pod.metadata.uid]}: {pod.metadata.uid}"
            yield Problem(text, hint="leave metadata.uid out of one of them")


def _name(item: Struct) -> str:
    metadata = metadata_of(item)
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def _listed(names: Sequence[str]) -> str:
    return f"{names[0]} is" if len(names) == 1 else f"{counted(len(names), 'file')} ({named(names)}) are"


def _glob_of(path: str) -> str:
    """The glob that excludes the folder of the file, or the file if it has no folder."""
    folder = Path(path).parent.name
    return Path(path).name if folder in ("", "..") else folder


def _shortened(problems: Sequence[Problem]) -> list[Problem]:
    if len(problems) <= MAX_PROBLEMS:
        return list(problems)
    return [*problems[:MAX_PROBLEMS], Problem(f"and {len(problems) - MAX_PROBLEMS} more problems")]
