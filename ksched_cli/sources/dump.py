"""Files of Kubernetes objects, JSON or YAML, to typed objects; every problem of all files at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Protocol

import msgspec
from msgspec import Struct

from ksched_cli.api.core import Namespace, Node, Pod
from ksched_cli.api.decode import Found, UnknownKind, decode_json, decode_plain
from ksched_cli.api.defaults import (
    DEFAULT_NAMESPACE,
    default_claim,
    default_namespace,
    default_node,
    default_pod,
    default_storage_class,
    default_volume,
)
from ksched_cli.api.kinds import CLUSTER_SCOPED
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources import files
from ksched_cli.sources.archives import Content
from ksched_cli.sources.loaded import Loaded, Origin
from ksched_cli.sources.snapshot import is_snapshot, read_snapshot
from ksched_cli.sources.validate import Complaint, complaints

if TYPE_CHECKING:
    from ksched_cli.sources.live.cluster import LiveCluster

# A broken file says so in a line or two; a thousand lines of the same help nobody.
MAX_PROBLEMS = 50


LIVE = "live"


def load_dump(
    sources: Sequence[str],
    stdin: BinaryIO | None = None,
    manifests: Manifests | None = None,
    live: Callable[[], LiveCluster] | None = None,
) -> Loaded:
    """Everything in the files and directories, `-` for stdin. Objects are defaulted as the API server does.

    `manifests` says what else is to be done to objects that no API server has seen yet; `live` reads the cluster that
    the source "live" means.
    """
    return _Reader(stdin, manifests, live).load(sources)


class Manifests(Protocol):
    """What the API server does to an object that is new to it."""

    def complete(self, item: Struct) -> None:
        """Fill in what it needs to be an object, such as a generated name."""

    def complaints(self, item: Struct) -> Iterator[Complaint]:
        """What would be refused beyond what can be wrong with any object."""


class _Reader:
    def __init__(
        self, stdin: BinaryIO | None, manifests: Manifests | None, live: Callable[[], LiveCluster] | None
    ) -> None:
        self._stdin = stdin
        self._manifests = manifests
        self._live = live
        self._loaded = Loaded()
        self._problems: list[Problem] = []
        self._seen: dict[tuple[type[Struct], str, str], str] = {}

    def load(self, sources: Sequence[str]) -> Loaded:
        for given in sources:
            try:
                self._load_source(given)
            except InputError as mistake:
                self._problems.extend(mistake.problems)
        if self._problems:
            raise InputError(_shortened(self._problems))
        if not len(self._loaded) and not self._loaded.unknown:
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
        for path in files.expand(given):
            try:
                self._take_all(files.read(path), str(path))
            except InputError as mistake:
                self._problems.extend(mistake.problems)

    def _take_all(self, contents: Iterable[Content], source: str) -> None:
        """A broken file does not keep the others of an archive from being looked at."""
        empty = True
        for content in contents:
            empty = False
            try:
                if is_snapshot(content.data):
                    self._take_snapshot(content)
                else:
                    self._take(_decode(content.data, content.name), content.name)
            except InputError as mistake:
                self._problems.extend(mistake.problems)
        if empty:
            raise InputError(Problem(f"no file in it ends in {', '.join(files.SUFFIXES)}", source))

    def _take_live(self, cluster: LiveCluster) -> None:
        self._loaded.server_version = cluster.server_version
        self._loaded.namespace = cluster.namespace
        self._loaded.missing.update({kind.__name__: reason for kind, reason in cluster.missing.items()})
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

    def _take(self, found: Iterable[Found], source: str) -> None:
        for each in found:
            self._problems.extend(each.problems)
            if isinstance(each.value, UnknownKind):
                self._loaded.unknown[f"{each.value.api_version}/{each.value.kind}"] += 1
            elif each.value is not None:
                self._take_object(each.value, Origin(source, each.line, each.path))

    def _take_object(self, item: Struct, origin: Origin) -> None:
        kind, source = type(item), origin.source
        if self._manifests is not None:
            self._manifests.complete(item)
        metadata = item.metadata  # type: ignore[attr-defined]  # every kind that is read has metadata
        if kind not in CLUSTER_SCOPED:
            metadata.namespace = metadata.namespace or DEFAULT_NAMESPACE
        name = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        mistakes = list(complaints(item))
        if self._manifests is not None:
            mistakes += self._manifests.complaints(item)
        for path, text in mistakes:
            self._problems.append(Problem(text, source, origin.line, f"{kind.__name__} {name}: {path}"))
        identity = kind, metadata.namespace, metadata.name
        if identity in self._seen:
            where = self._seen[identity]
            also = "" if where == source else f", and in {where}"
            text = f"{kind.__name__} {name} is there more than once{also}"
            self._problems.append(Problem(text, source, hint="leave one of them out"))
        elif not mistakes:
            self._seen[identity] = source
            _default(item)
            self._loaded.add(item)
            if self._manifests is not None:
                self._loaded.origins[id(item)] = origin

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


def _default(item: Struct) -> None:
    match item:
        case Pod():
            default_pod(item)
        case Node():
            default_node(item)
        case Namespace():
            default_namespace(item)
        case PersistentVolume():
            default_volume(item)
        case PersistentVolumeClaim():
            default_claim(item)
        case StorageClass():
            default_storage_class(item)


def _shortened(problems: Sequence[Problem]) -> list[Problem]:
    if len(problems) <= MAX_PROBLEMS:
        return list(problems)
    return [*problems[:MAX_PROBLEMS], Problem(f"and {len(problems) - MAX_PROBLEMS} more problems")]


def _decode(content: bytes, source: str) -> Iterator[Found]:
    if not content.strip():
        raise InputError(Problem("empty: no Kubernetes objects in it", source))
    if content.lstrip()[:1] in (b"{", b"["):
        yield from _decode_json(content, source)
    else:
        yield from _decode_yaml(content, source)


def _decode_json(content: bytes, source: str) -> Iterator[Found]:
    try:
        yield from decode_json(content, source)
    except (msgspec.DecodeError, RecursionError) as mistake:
        # Several documents one after the other, or flow style that only YAML allows, begin with a brace too.
        if not _may_be_more_than_json(content, mistake):
            raise InputError(Problem(_json_mistake(mistake, content), source, _line_of(mistake, content))) from None
        yield from _decode_yaml_or_lines(content, source, mistake)


def _may_be_more_than_json(content: bytes, mistake: Exception) -> bool:
    return isinstance(mistake, msgspec.DecodeError) and "trailing characters" in str(mistake)


def _decode_yaml_or_lines(content: bytes, source: str, mistake: Exception) -> Iterator[Found]:
    """Documents one a line, as `kubectl get -o json` of several kinds piped together; else YAML has a say."""
    lines = [(number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()]
    if all(line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}") for _, line in lines):
        for number, line in lines:
            try:
                yield from decode_json(line, source, number)
            except msgspec.DecodeError as broken:
                raise InputError(Problem(f"broken JSON: {broken}", source, number)) from None
    else:
        yield from _decode_concatenated(content, source)


def _decode_concatenated(content: bytes, source: str) -> Iterator[Found]:
    """JSON documents with nothing between them."""
    import json

    text = content.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        line = text.count("\n", 0, at) + 1
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as mistake:
            raise InputError(Problem(f"broken JSON: {mistake.msg}", source, mistake.lineno)) from None
        yield from decode_plain(value, source, line)


def _json_mistake(mistake: Exception, content: bytes) -> str:
    if isinstance(mistake, RecursionError):
        return "nested deeper than any Kubernetes object"
    text = str(mistake)
    if "truncated" in text:
        return f"broken JSON: it ends in the middle, after {len(content)} bytes"
    return f"broken JSON: {text[:1].lower()}{text[1:]}"


def _line_of(mistake: Exception, content: bytes) -> int | None:
    text = str(mistake)
    if "truncated" in text:
        return content.count(b"\n") + 1
    _, found, position = text.rpartition("byte ")
    digits = position.rstrip(")")
    return content.count(b"\n", 0, int(digits)) + 1 if found and digits.isdigit() else None


def _decode_yaml(content: bytes, source: str) -> Iterator[Found]:
    from ksched_cli.api.yaml_reader import read_documents

    for document in read_documents(content, source):
        yield from decode_plain(document.value, source, document.line)
