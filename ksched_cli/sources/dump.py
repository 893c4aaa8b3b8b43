"""Files of Kubernetes objects, JSON or YAML, to typed objects; every problem of all files at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import msgspec
from msgspec import Struct

from ksched_cli.api.conversion import type_name
from ksched_cli.api.core import Node, Pod
from ksched_cli.api.decode import DecodedObject, UnknownKind, decode_json, decode_plain, decode_unknown
from ksched_cli.api.defaults import DEFAULT_NAMESPACE, fill_in
from ksched_cli.api.events import Event
from ksched_cli.api.kinds import CLUSTER_SCOPED, KINDS
from ksched_cli.api.meta import metadata_of
from ksched_cli.api.pod_facts import pod_key
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources import files
from ksched_cli.sources.archives import Content
from ksched_cli.sources.decoding import decode
from ksched_cli.sources.events import FailedScheduling, ScheduledPod, is_event, read_event
from ksched_cli.sources.loaded import Loaded, Origin
from ksched_cli.sources.snapshot import is_snapshot, read_snapshot
from ksched_cli.sources.validate import Complaint, object_complaints

if TYPE_CHECKING:
    from ksched_cli.sources.live.cluster import LiveCluster

# A broken file says so in a line or two; a thousand lines of the same help nobody.
MAX_PROBLEMS = 50


LIVE = "live"
READ_KINDS = frozenset(KINDS.values())


def load_dump(
    sources: Sequence[str],
    stdin: BinaryIO | None = None,
    manifests: Manifests | None = None,
    live: Callable[[], LiveCluster] | None = None,
    objects: Sequence[Any] = (),
    *,
    events: bool = False,
) -> Loaded:
    """Everything in the files and directories, `-` for stdin. Objects are defaulted as the API server does.

    `objects` are beside the files: documents as YAML and JSON have them, lists among them, or typed objects, which stay
    as they are. `manifests` says what else is to be done to objects that no API server has seen yet; `live` reads the
    cluster that the source "live" means. Events are a kind that is not read, unless they are asked for.
    """
    return _Reader(stdin, manifests, live, events=events).load(sources, objects)


class Manifests(Protocol):
    """What the API server does to an object that is new to it."""

    def complete(self, item: Struct) -> None:
        """Fill in what it needs to be an object, such as a generated name."""

    def complaints(self, item: Struct) -> Iterator[Complaint]:
        """What would be refused beyond what can be wrong with any object."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an object was read, and where it is among those of its kind."""

    source: str
    index: int


class _Reader:
    def __init__(
        self,
        stdin: BinaryIO | None,
        manifests: Manifests | None,
        live: Callable[[], LiveCluster] | None,
        *,
        events: bool,
    ) -> None:
        self._stdin = stdin
        self._manifests = manifests
        self._live = live
        self._events = events
        self._loaded = Loaded()
        self._problems: list[Problem] = []
        self._seen: dict[tuple[type[Struct], str, str], _Place] = {}

    def load(self, sources: Sequence[str], objects: Sequence[Any] = ()) -> Loaded:
        for given in sources:
            try:
                self._load_source(given)
            except InputError as mistake:
                self._problems.extend(mistake.problems)
        for number, item in enumerate(objects, start=1):
            self._take_given(item, f"object {number}" if len(objects) > 1 else "object")
        self._problems += _shared_uids(self._loaded.of(Pod))
        if self._problems:
            raise InputError(_shortened(self._problems))
        if not len(self._loaded) and not self._loaded.unknown and not self._loaded.has_events:
            raise InputError(Problem("no Kubernetes objects in the input", ", ".join(sources)))
        self._warn_of_odd_objects()
        return self._loaded

    def _load_source(self, given: str) -> None:
        if given == LIVE and self._live is not None:
            self._take_live(self._live())
            return
        if given == files.STDIN:
            if self._stdin is None:
                raise InputError(Problem("nothing to read from", "stdin"))
            self._take_all(files.read_stdin(self._stdin), "stdin")
            return
        found = files.expand_path(given)
        for path in found.outside:
            self._loaded.warnings.append(f"{path} is not read: it is a link to a file outside of {given}")
        for path in found.paths:
            try:
                self._take_all(files.read(path, gathered=found.gathered), str(path))
            except InputError as mistake:
                self._problems.extend(mistake.problems)

    def _take_all(self, contents: Iterable[Content], source: str) -> None:
        """A broken file does not keep the others of an archive from being looked at."""
        empty = True
        for content in contents:
            empty = False
            try:
                self._take_content(content)
                if self._manifests is not None:
                    self._loaded.texts[content.name] = content.data
            except InputError as mistake:
                self._problems.extend(mistake.problems)
        if empty:
            raise InputError(Problem(f"no file in it ends in {', '.join(files.SUFFIXES)}", source))

    def _take_content(self, content: Content) -> None:
        if is_snapshot(content.data):
            self._take_snapshot(content)
        elif content.gathered:
            self._take_gathered(content)
        else:
            self._take(decode(content.data, content.name), content.name)

    def _take_gathered(self, content: Content) -> None:
        """Of a collection's files those that are objects; the others say nothing of the cluster's."""
        if not content.data.strip():
            return
        found = list(decode(content.data, content.name))
        if any(each.value is not None for each in found):
            self._take(found, content.name)

    def _take_given(self, item: Any, source: str) -> None:
        if type(item) in READ_KINDS:
            copy = msgspec.convert(msgspec.to_builtins(item), type(item))
            self._take_object(copy, Origin(source))
        elif isinstance(item, Mapping):
            self._take(decode_plain(dict(item), source), source)
        else:
            text = f"{type_name(item)} is no Kubernetes object"
            hint = "give a document as a dict, or a typed object of ksched_cli.api"
            self._problems.append(Problem(text, source, hint=hint))

    def _take_live(self, cluster: LiveCluster) -> None:
        self._loaded.server_version = cluster.server_version
        self._loaded.namespace = cluster.namespace
        self._loaded.missing.update({kind.__name__: reason for kind, reason in cluster.missing.items()})
        self._loaded.warnings += cluster.warnings
        for kind in sorted(cluster.found, key=lambda kind: kind.__name__):
            self._take(cluster.found.pop(kind), LIVE)

    def _take_snapshot(self, content: Content) -> None:
        """Its objects, and what it says of those that it does not hold."""
        snapshot = read_snapshot(content.data, content.name)
        self._loaded.unknown.update(snapshot.not_read)
        self._loaded.missing.update(snapshot.missing)
        self._loaded.server_version = self._loaded.server_version or snapshot.server_version
        for number, item in enumerate(snapshot.items):
            self._take(decode_json(item, f"{content.name}: items[{number}]"), content.name)

    def _take(self, found: Iterable[DecodedObject], source: str) -> None:
        for each in found:
            self._problems.extend(each.problems)
            if isinstance(each.value, UnknownKind):
                self._pass_over(each, each.value, source)
            elif isinstance(each.value, Event):
                self._take_event(each.value)
            elif each.value is not None:
                self._take_object(each.value, Origin(source, each.line, each.path))

    def _pass_over(self, found: DecodedObject, unknown: UnknownKind, source: str) -> None:
        if self._events and is_event(unknown):
            self._take([decode_unknown(found, Event, source)], source)
        else:
            self._loaded.unknown[f"{unknown.api_version}/{unknown.kind}"] += 1

    def _take_event(self, event: Event) -> None:
        found = read_event(event)
        if isinstance(found, FailedScheduling):
            self._loaded.failures.append(found)
        elif isinstance(found, ScheduledPod):
            self._loaded.bindings.append(found)
        elif found is not None:
            self._loaded.preemptions.append(found)

    def _take_object(self, item: Struct, origin: Origin) -> None:
        kind, source = type(item), origin.source
        if self._manifests is not None:
            self._manifests.complete(item)
        metadata = metadata_of(item)
        if kind not in CLUSTER_SCOPED:
            metadata.namespace = metadata.namespace or DEFAULT_NAMESPACE
        name = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        mistakes = list(object_complaints(item))
        if self._manifests is not None:
            mistakes += self._manifests.complaints(item)
        for path, text in mistakes:
            self._problems.append(Problem(text, source, origin.line, f"{kind.__name__} {name}: {path}"))
        if mistakes:
            return
        identity = kind, metadata.namespace, metadata.name
        place = self._seen.get(identity)
        if place is None:
            fill_in(item)
            self._loaded.add(item)
            self._seen[identity] = _Place(source, len(self._loaded.of(kind)) - 1)
            if self._manifests is not None:
                self._loaded.origins[id(item)] = origin
        else:
            self._take_again(item, name, place, source)

    def _take_again(self, item: Struct, name: str, place: _Place, source: str) -> None:
        """The same object twice, as collections have it that were made with several commands: the newer counts. Two
        objects of one name cannot be in one cluster."""
        kind = type(item)
        known = self._loaded.of(kind)[place.index]
        new_metadata, known_metadata = metadata_of(item), metadata_of(known)
        if not new_metadata.uid or new_metadata.uid != known_metadata.uid:
            also = "" if place.source == source else f", and in {place.source}"
            text = f"{kind.__name__} {name} is there more than once{also}"
            self._problems.append(Problem(text, source, hint="leave one of them out"))
        elif _revision(new_metadata.resource_version) > _revision(known_metadata.resource_version):
            fill_in(item)
            self._loaded.objects[kind][place.index] = item

    def _warn_of_odd_objects(self) -> None:
        names = {node.metadata.name for node in self._loaded.of(Node)}
        for node in self._loaded.of(Node):
            if not node.status.allocatable:
                text = f"node {node.metadata.name} reports neither allocatable nor capacity: nothing fits on it"
                self._loaded.warnings.append(text)
        lost = [pod for pod in self._loaded.of(Pod) if pod.spec.node_name and pod.spec.node_name not in names]
        for pod in lost:
            where = f"pod {pod.metadata.namespace}/{pod.metadata.name} is on node {pod.spec.node_name}"
            self._loaded.warnings.append(f"{where}, which is not in the input: it counts nowhere")


def _shared_uids(pods: Sequence[Pod]) -> Iterator[Problem]:
    """The API server gives each pod a uid of its own, and kube-scheduler's cache goes by it."""
    names: dict[str, str] = {}
    for pod in pods:
        name = pod_key(pod)
        if pod.metadata.uid and names.setdefault(pod.metadata.uid, name) != name:
            text = f"Pod {name} has the uid of Pod {names[pod.metadata.uid]}: {pod.metadata.uid}"
            yield Problem(text, hint="leave metadata.uid out of one of them")


def _revision(resource_version: str) -> int:
    return int(resource_version) if resource_version.isdigit() else 0


def _shortened(problems: Sequence[Problem]) -> list[Problem]:
    if len(problems) <= MAX_PROBLEMS:
        return list(problems)
    return [*problems[:MAX_PROBLEMS], Problem(f"and {len(problems) - MAX_PROBLEMS} more problems")]
