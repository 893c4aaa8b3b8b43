"""Which kinds are read, and the decoding of JSON or plain values to typed objects of them (the API server's decoder
with strict field validation). All mistakes of an object are reported, each with its path. Versions whose fields differ
from the typed ones in what scheduling reads are not in the table; objects of other kinds are UnknownKind, kept as they
are written.

An item of a list that is decoded alone is read twice, first for its kind. `decode_alike` therefore decodes many items
of one kind at once, and `stated_first` finds the kind of an object that begins with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from typing import Any, TypeAlias, Union, final

import msgspec
from msgspec import NODEFAULT, UNSET, Raw, Struct, UnsetType
from msgspec.structs import astuple

from ksched_cli.api import core, dynamic_resources, storage, workloads
from ksched_cli.api.conversion import path_text, problems_in, type_name
from ksched_cli.errors import Problem

# Versions whose fields differ from these in what scheduling reads are not listed, and so are named in `coverage`.
_KINDS_OF: dict[tuple[str, ...], tuple[type[Struct], ...]] = {
    ("v1",): (
        core.Pod,
        core.Node,
        core.Namespace,
        core.Service,
        workloads.PodTemplate,
        workloads.ReplicationController,
        storage.PersistentVolume,
        storage.PersistentVolumeClaim,
        workloads.LimitRange,
        workloads.ResourceQuota,
    ),
    ("apps/v1",): (workloads.ReplicaSet, workloads.StatefulSet, workloads.Deployment, workloads.DaemonSet),
    ("batch/v1",): (workloads.Job,),
    ("batch/v1", "batch/v1beta1"): (workloads.CronJob,),
    ("policy/v1", "policy/v1beta1"): (workloads.PodDisruptionBudget,),
    ("scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1"): (workloads.PriorityClass,),
    ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2"): (
        workloads.PodGroup,
        workloads.Workload,
    ),
    ("node.k8s.io/v1", "node.k8s.io/v1beta1"): (workloads.RuntimeClass,),
    ("storage.k8s.io/v1", "storage.k8s.io/v1beta1"): (
        storage.StorageClass,
        storage.CSINode,
        storage.CSIDriver,
        storage.CSIStorageCapacity,
        storage.VolumeAttachment,
    ),
    ("resource.k8s.io/v1", "resource.k8s.io/v1beta2"): (
        dynamic_resources.ResourceClaim,
        dynamic_resources.ResourceClaimTemplate,
        dynamic_resources.DeviceClass,
        dynamic_resources.ResourceSlice,
    ),
    ("resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3"): (dynamic_resources.DeviceTaintRule,),
}

KINDS: dict[tuple[str, str], type[Struct]] = {
    (version, kind.__name__): kind for versions, kinds in _KINDS_OF.items() for version in versions for kind in kinds
}

CLUSTER_SCOPED = frozenset(
    {
        core.Node,
        core.Namespace,
        storage.PersistentVolume,
        workloads.PriorityClass,
        workloads.RuntimeClass,
        storage.StorageClass,
        storage.CSINode,
        storage.CSIDriver,
        storage.VolumeAttachment,
        dynamic_resources.DeviceClass,
        dynamic_resources.DeviceTaintRule,
        dynamic_resources.ResourceSlice,
    }
)


def versions_of(kind: type[Struct]) -> tuple[str, ...]:
    """The versions under which a kind is read, the newest first."""
    return tuple(version for (version, _), each in KINDS.items() if each is kind)


def document_of(unknown: UnknownKind) -> dict[str, Any]:
    """The object as plain values."""
    return plain_document(unknown.document)


def plain_document(document: Any) -> dict[str, Any]:
    """A document that may be JSON text as plain values; empty for a document that is no object."""
    if not isinstance(document, dict):
        document = msgspec.json.decode(document) if document is not None else {}
    return document if isinstance(document, dict) else {}


def label_of(unknown: UnknownKind) -> str:
    """The label of the object, such as `Rollout shop/web`, as far as the manifest has kind, namespace and name."""
    metadata = document_of(unknown).get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or ""
    full = f"{metadata['namespace']}/{name}" if metadata.get("namespace") else f"{name}"
    return f"{unknown.kind} {full}".rstrip()


_TEXT = rb'\s*:\s*"([\w./-]*)"\s*,\s*'
_BEGINNING = re.compile(
    rb'\s*\{\s*(?:"kind"' + _TEXT + rb'"apiVersion"' + _TEXT + rb'|"apiVersion"' + _TEXT + rb'"kind"' + _TEXT + rb')"',
    re.ASCII,
)


def stated_first(raw: bytes | Raw) -> tuple[str, str] | None:
    """apiVersion and kind where an object begins with them, as kubectl prints it: that saves reading it twice."""
    found = _BEGINNING.match(raw)
    if found is None:
        return None
    kind_first, version_last, version_first, kind_last = found.groups()
    if kind_first is None:
        return version_first.decode(), kind_last.decode()
    return version_last.decode(), kind_first.decode()


# A larger part is slower, because its text and its objects leave the processor's cache.
PART = 64

_Decode: TypeAlias = Callable[[bytes], list[Struct]]


def decode_alike(items: Sequence[Raw]) -> Iterator[Struct | None]:
    """The object of each item, or None for an item that must be decoded alone: one of a kind without a type, one with a
    mistake or a null, and the items next to these. Short lists are not worth a decoder of their own."""
    kinds: frozenset[type[Struct]] = frozenset()
    for start in range(0, len(items), PART):
        part = items[start : start + PART]
        found = _decode_part(part, kinds)
        if found is None and len(items) >= PART and (new := _kinds_of(part) - kinds):
            kinds |= new
            found = _decode_part(part, kinds)
        yield from repeat(None, len(part)) if found is None else map(_as_kind, found)


def _kinds_of(items: Sequence[Raw]) -> frozenset[type[Struct]]:
    """The kinds of the items that begin with a known kind."""
    stated = filter(None, map(stated_first, items))
    return frozenset(KINDS[each] for each in stated if each in KINDS)


def _decode_part(items: Sequence[Raw], kinds: frozenset[type[Struct]]) -> list[Struct] | None:
    """The items as documents of these kinds; None if one of them is anything else."""
    if not kinds:
        return None
    try:
        return _decoder(kinds)(b"[" + b",".join(items) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


@cache
def _decoder(kinds: frozenset[type[Struct]]) -> _Decode:
    documents: Any = Union[tuple(map(_document_type, kinds))]  # noqa: UP007  # the types are made here
    return msgspec.json.Decoder(list[documents]).decode


@cache
def _document_type(kind: type[Struct]) -> type[Struct]:
    """The type of a document with `apiVersion` and the kind's fields. msgspec chooses it by the document's `kind`."""
    fields: list[Any] = [("api_version", str, msgspec.field(name="apiVersion", default=""))]
    for each in msgspec.structs.fields(kind):
        given = {"default": each.default} if each.default is not NODEFAULT else {}
        if each.default_factory is not NODEFAULT:
            given = {"default_factory": each.default_factory}
        fields.append((each.name, each.type, msgspec.field(name=each.encode_name, **given)))
    return msgspec.defstruct(kind.__name__, fields, gc=False, tag_field="kind", tag=kind.__name__)


def _as_kind(document: Struct) -> Struct | None:
    """The object of the document; None if its kind has no type in this version."""
    api_version, *values = astuple(document)
    kind = KINDS.get((api_version, type(document).__name__))
    return kind(*values) if kind is not None else None


MAX_LIST_DEPTH = 3

_DECODERS: dict[type[Struct], msgspec.json.Decoder[Any]] = {}


class _Envelope(Struct, rename="camel"):
    """The fields of a document that identify its kind."""

    api_version: str = ""
    kind: str = ""
    items: list[Raw] | UnsetType | None = UNSET


class _Name(Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Named(Struct, frozen=True):
    metadata: _Name = _Name()


@final
@dataclass(frozen=True, slots=True)
class UnknownKind:
    """An object of a kind without a type, and its document."""

    api_version: str
    kind: str
    document: Any = field(default=None, compare=False, repr=False)


Decoded: TypeAlias = Struct | UnknownKind


class DecodedObject(Struct):
    """An object or its problems, and its place in the source. `stray`: the document has no field of a Kubernetes
    object. `document` is the object as written, as JSON text or as plain values."""

    value: Decoded | None
    problems: tuple[Problem, ...] = ()
    line: int | None = None
    path: str = ""
    stray: bool = False
    document: Any = None


_ENVELOPE: msgspec.json.Decoder[_Envelope] = msgspec.json.Decoder(_Envelope)


def decode_json(
    raw: bytes | Raw,
    source: str = "",
    line: int | None = None,
    path: str = "",
    inherited: tuple[str, str] = ("", ""),
    depth: int = 0,
) -> Iterable[DecodedObject]:
    """The objects of one JSON document and of its lists. Raises msgspec.DecodeError for a text that is not JSON."""
    stated = stated_first(raw)
    if stated is not None and stated in KINDS:
        return (_decode_one(raw, *stated, source, line, path),)
    try:
        envelope = _ENVELOPE.decode(raw)
    except msgspec.ValidationError:
        return decode_plain(msgspec.json.decode(raw), source, line, path, inherited, depth)
    api_version, kind = envelope.api_version or inherited[0], envelope.kind or inherited[1]
    problem = _check_identity(api_version, kind, source, line, path, depth)
    if problem is not None:
        stray = not depth and is_stray(msgspec.json.decode(raw))
        return (DecodedObject(None, (problem,), stray=stray),)
    if envelope.items is not UNSET and kind.endswith("List"):
        return _decode_listed(envelope.items or (), element_of(api_version, kind), source, line, path, depth)
    return (_decode_one(raw, api_version, kind, source, line, path),)


def _decode_listed(
    items: Sequence[Raw], element: tuple[str, str], source: str, line: int | None, path: str, depth: int
) -> Iterator[DecodedObject]:
    """The objects of a list's items. The items of an inner list are decoded one by one."""
    alike = repeat(None, len(items)) if depth else decode_alike(items)
    for index, (item, value) in enumerate(zip(items, alike, strict=True)):
        where = f"{path}items[{index}]."
        if value is None:
            yield from decode_json(item, source, line, where, element, depth + 1)
        else:
            yield DecodedObject(value, (), line, where, document=item)


def _decode_one(
    raw: bytes | Raw, api_version: str, kind: str, source: str, line: int | None, path: str
) -> DecodedObject:
    struct = KINDS.get((api_version, kind))
    if struct is None:
        return DecodedObject(UnknownKind(api_version, kind, raw), (), line, path)
    return decode_as(raw, struct, source, line, path)


def decode_as(raw: bytes | Raw, struct: type[Struct], source: str, line: int | None, path: str) -> DecodedObject:
    """The JSON text as an object of a kind, such as an item of an API server's list, which has no `kind`."""
    decoder = _DECODERS.get(struct)
    if decoder is None:
        decoder = _DECODERS[struct] = msgspec.json.Decoder(struct)
    try:
        return DecodedObject(decoder.decode(raw), (), line, path, document=raw)
    except msgspec.ValidationError:
        # There is a null, which Go reads as absent, or a mistake.
        return convert_plain(msgspec.json.decode(raw), struct, source, line, path)


def decode_unknown(found: DecodedObject, struct: type[Struct], source: str) -> DecodedObject:
    """The object of an unknown kind as an object of this kind."""
    assert isinstance(found.value, UnknownKind)
    document = found.value.document
    if isinstance(document, dict):
        return convert_plain(document, struct, source, found.line, found.path)
    return decode_as(document, struct, source, found.line, found.path)


def decode_plain(
    value: Any,
    source: str = "",
    line: int | None = None,
    path: str = "",
    inherited: tuple[str, str] = ("", ""),
    depth: int = 0,
) -> Iterator[DecodedObject]:
    """The objects of a document that was read as YAML; lists are opened."""
    if not isinstance(value, dict):
        text = f"expected an object with apiVersion and kind, got {type_name(value)}"
        yield DecodedObject(None, (Problem(text, source, line, path.rstrip(".")),), stray=not depth and is_stray(value))
        return
    api_version, kind = value.get("apiVersion") or inherited[0], value.get("kind") or inherited[1]
    problem = _check_identity(api_version, kind, source, line, path, depth)
    if problem is not None:
        yield DecodedObject(None, (problem,), stray=not depth and is_stray(value))
    elif kind.endswith("List") and "items" in value:
        yield from _decode_items(value["items"], element_of(api_version, kind), source, line, path, depth)
    elif (struct := KINDS.get((api_version, kind))) is None:
        yield DecodedObject(UnknownKind(api_version, kind, value), (), line, path)
    else:
        yield convert_plain(value, struct, source, line, path)


def _decode_items(
    items: Any, element: tuple[str, str], source: str, line: int | None, path: str, depth: int
) -> Iterator[DecodedObject]:
    if items is None:
        return
    if not isinstance(items, list):
        yield DecodedObject(None, (Problem(f"expected a list, got {type_name(items)}", source, line, f"{path}items"),))
        return
    for index, item in enumerate(items):
        yield from decode_plain(item, source, line, f"{path}items[{index}].", element, depth + 1)


_MARKS = ("apiVersion", "kind", "metadata", "spec", "items")


def is_stray(document: Any) -> bool:
    """Whether a document has no field of a Kubernetes object, such as the settings of another tool or a patch."""
    if isinstance(document, list):
        return not any(isinstance(each, dict) and "kind" in each for each in document)
    return not isinstance(document, dict) or not any(name in document for name in _MARKS)


def element_of(api_version: str, kind: str) -> tuple[str, str]:
    """The kind of items without a `kind`: Pod in a PodList; none in a List, whose items have a `kind`."""
    return ("", "") if kind == "List" else (api_version, kind.removesuffix("List"))


def _check_identity(
    api_version: Any, kind: Any, source: str, line: int | None, path: str, depth: int
) -> Problem | None:
    where = path.rstrip(".")
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(value, str):
            return Problem(f"expected a string, got {type_name(value)}", source, line, f"{path}{name}")
    if not kind:
        return Problem("no kind", source, line, where, "every Kubernetes object has an apiVersion and a kind")
    if not api_version:
        return Problem(f"{kind} has no apiVersion", source, line, where, "for a Pod it is v1")
    if depth > MAX_LIST_DEPTH and kind.endswith("List"):
        return Problem(f"lists inside lists more than {MAX_LIST_DEPTH} deep", source, line, where)
    return None


def convert_plain(value: Any, struct: type[Struct], source: str, line: int | None, path: str) -> DecodedObject:
    """The typed object, or a problem for every value of a wrong type."""
    converted, mistakes = problems_in(value, struct, fills_lists=True)
    if not mistakes:
        return DecodedObject(converted, (), line, path, document=value)
    name = _name_of(value)
    problems = (Problem(text, source, line, f"{name}{path}{path_text(steps)}") for steps, text in mistakes)
    return DecodedObject(None, tuple(problems), line, path, document=value)


def _name_of(value: Any) -> str:
    """The beginning of a problem's path, such as `Pod shop/web: `."""
    try:
        name = msgspec.convert(value, _Named).metadata
    except msgspec.ValidationError:
        return ""
    full = f"{name.namespace}/{name.name}" if name.namespace else name.name
    return f"{value.get('kind', '')} {full}: ".lstrip() if full else ""
