"""Reads manifests (`-f`): objects that no API server has stored. Each is completed and validated as the API server does
it when it creates the object (`api/validation`); objects of kinds that are not read are judged in `unread.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from msgspec import Struct

from ksched_cli.api.conversion import json_document, path_text
from ksched_cli.api.core import Node, metadata_of
from ksched_cli.api.decode import CLUSTER_SCOPED, KINDS, DecodedObject, UnknownKind, plain_document, versions_of
from ksched_cli.api.defaults import DEFAULT_NAMESPACE
from ksched_cli.api.validation import checks
from ksched_cli.api.validation.documents import mistakes, validate
from ksched_cli.api.validation.errors import FieldError
from ksched_cli.api.validation.fields import number_at, object_at, text_at
from ksched_cli.errors import InputError, Problem
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.releases.served_versions import ServerRules, lacks
from ksched_cli.sources.custom.workloads import CustomWorkload, custom_workloads, known_kinds, read_pod_templates
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.loaded import INVALID, REMOVED_VERSION, UNKNOWN_FIELD, UNREADABLE, Loaded, Origin
from ksched_cli.sources.read_options import ManifestReading, ReadOptions
from ksched_cli.sources.rendering import Rendering, chart, kustomization
from ksched_cli.sources.unread import judge, refused_version
from ksched_cli.sources.validate import Complaint

# Several times the pods that Kubernetes supports in a cluster.
MAX_PODS = 1_000_000
_AS_WRITTEN = ManifestReading()


class _New:
    """Completes and checks objects that no API server has stored (Manifests)."""

    def __init__(self, given: ManifestReading) -> None:
        self.namespace = given.namespace
        self.options = ReadOptions(given.recursive, given.exclude, layouts=False)
        self.stdin_name, self.collects, self.optional = given.stdin_name, given.collects, given.optional
        self.renderings: Sequence[Rendering] = [
            *map(kustomization, given.kustomizations),
            *(chart(each, given.values, given.namespace) for each in given.charts),
        ]
        self._kinds = known_kinds(read_pod_templates(given.pod_templates))
        self._strict, self._server_side = given.strict, given.server_side
        self._autoscalers = {each.label: each for each in given.autoscalers}
        self.rules = given.rules or ServerRules(DEFAULT.minor)

    def unknown(self, unknown: UnknownKind, origin: Origin) -> Iterator[Problem | CustomWorkload]:
        made = list(custom_workloads(unknown, origin, self._kinds))
        yield from made or judge(unknown, origin)

    def complete(self, item: Struct) -> None:
        """Set the namespace of kubectl."""
        metadata = metadata_of(item)
        if type(item) not in CLUSTER_SCOPED:
            metadata.namespace = metadata.namespace or self.namespace

    def drop_status(self, item: Any) -> None:
        """Leave out what the API server takes from no client: the status of most kinds (PrepareForCreate), and that the
        object is being deleted (rest.BeforeCreate)."""
        metadata_of(item).deletion_timestamp = None
        if hasattr(item, "status") and not isinstance(item, Node):
            item.status = type(item.status)()

    def problems(self, found: DecodedObject, source: str) -> Iterator[Problem]:
        """The problems of the object as it is written, except those that decoding has reported."""
        value = found.value
        document = plain_document(value.document if isinstance(value, UnknownKind) else found.document)
        if not document:
            return
        identity = _identity(found, document)
        label, path = _label(document, identity, self.namespace), found.path
        refused = refused_version(*identity, self.rules.minor)
        if refused is not None:
            yield Problem(refused[0], source, found.line, label, refused[1], REMOVED_VERSION)
            return
        reported = {problem.path.rpartition(": ")[2] for problem in found.problems}
        metadata = object_at(document, "metadata")
        if text_at(metadata, "generateName") and not text_at(metadata, "name"):
            where, hint = f"{label}: {path}metadata.generateName", "give it a name: only kubectl create generates names"
            yield Problem("cannot use generate name with apply", source, found.line, where, hint, INVALID)
        if self._server_side and metadata.get("managedFields") is not None:
            where, hint = f"{label}: {path}metadata.managedFields", "leave it out: the API server keeps it"
            yield Problem("metadata.managedFields must be nil", source, found.line, where, hint, INVALID)
        for each in mistakes(document, *identity):
            inner = f"{path}{path_text(each.path)}"
            change = lacks(each.having, self.rules.minor) if each.having is not None else ""
            known = each.having is not None and not change
            if inner in reported or known or (each.is_unknown and not self._strict):
                continue
            if not self.rules.hold(each) or self._is_kept(document, label, each):
                continue
            if not each.is_unknown:
                reported.add(inner)
            code = UNKNOWN_FIELD if each.is_unknown else INVALID
            yield Problem(each.message, source, found.line, f"{label}: {inner}", each.hint or change, code)

    def _is_kept(self, document: Mapping[str, Any], label: str, error: FieldError) -> bool:
        """validationOptionsForHorizontalPodAutoscaler: a mistake of an autoscaler that the live one has, too."""
        live = self._autoscalers.get(label)
        if live is None or not (error.since or error.gate):
            return False
        if "minReplicas" in error.path:
            return live.least == number_at(object_at(document, "spec"), "minReplicas") == 0
        if "scaleTargetRef" not in error.path:
            return any(each.count("/") > 1 for each in live.described)
        target = object_at(document, "spec", "scaleTargetRef")
        return (live.target_version, live.target_kind) == (text_at(target, "apiVersion"), text_at(target, "kind"))

    def complaints(self, item: Struct, *, is_written: bool) -> Iterator[Complaint]:
        """Mistakes of an object that stands for another one, which may be incomplete but must be valid; and numbers of
        pods that are too large to simulate."""
        for error in () if is_written else validate(json_document(item), type(item).__name__):
            # Its owner is the resource that it stands for, which has no uid yet.
            if not error.is_missing and "ownerReferences" not in error.path:
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
    loaded.rules = new.rules
    loaded.assumed_namespaces.update(reading.assumed_namespaces)
    if reading.creates_namespaces:
        loaded.assume_namespaces()
    return loaded


def _check_namespaces(reading: ManifestReading) -> None:
    """Raise InputError for options with names that no namespace can have."""
    given = [("-n", reading.namespace), *(("--assume-namespace", name) for name in reading.assumed_namespaces)]
    text, hint = "no namespace can have this name", "lower case letters, digits and '-', at most 63 characters"
    problems = [Problem(text, f"{flag} {name}", hint=hint) for flag, name in given if name and checks.dns_label(name)]
    if problems:
        raise InputError(problems)


def _identity(found: DecodedObject, document: Mapping[str, Any]) -> tuple[str, str]:
    """The version and kind of the object. Items of a typed list do not state their kind."""
    stated = str(document.get("apiVersion") or ""), str(document.get("kind") or "")
    if stated in KINDS or found.value is None or isinstance(found.value, UnknownKind):
        return stated
    return versions_of(type(found.value))[0], type(found.value).__name__


# Cluster-scoped kinds of which only the fields are checked.
_OTHER_CLUSTER_SCOPED = frozenset(
    (
        *("APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ClusterTrustBundle"),
        *("CustomResourceDefinition", "FlowSchema", "IPAddress", "IngressClass", "PriorityLevelConfiguration"),
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ServiceCIDR"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"),
        "VolumeAttributesClass",
    )
)


def _label(document: Mapping[str, Any], identity: tuple[str, str], namespace: str) -> str:
    """The label of the object in messages, such as `Deployment shop/web`."""
    metadata = object_at(document, "metadata")
    name = text_at(metadata, "name") or text_at(metadata, "generateName")
    if KINDS.get(identity) in CLUSTER_SCOPED or identity[1] in _OTHER_CLUSTER_SCOPED:
        return f"{identity[1]} {name}"
    return f"{identity[1]} {text_at(metadata, 'namespace') or namespace or DEFAULT_NAMESPACE}/{name}"
