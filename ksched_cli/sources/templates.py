"""The objects that controllers write, as they write them: generated names and uids, pods of a template
(controller.GetPodFromTemplate), and claims of a claim template. Names that Kubernetes draws by chance are made from a
hash here, so that two runs agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ksched_cli.api.core import ObjectMeta, OwnerReference, Pod, PodResourceClaimStatus
from ksched_cli.api.defaults import default_pod
from ksched_cli.api.dynamic_resources import ResourceClaim, ResourceClaimTemplate
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.workloads import PodTemplateSpec

# The alphabet of rand.String, which cannot spell words.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
# The character of the alphabet for each byte.
_CHARACTERS = bytes(ord(_ALPHABET[byte % len(_ALPHABET)]) for byte in range(256))
_SUFFIX = 5
_LONGEST_BASE = 63 - _SUFFIX


@cache
def _sha256() -> Callable[[bytes], Any]:
    # Imported here: hashlib loads OpenSSL, and many runs make no name.
    from hashlib import sha256

    return sha256


def suffix(*seed: object) -> str:
    """Five characters such as the API server appends to generateName."""
    digest: bytes = _sha256()("\0".join(map(str, seed)).encode()).digest()
    return digest[:_SUFFIX].translate(_CHARACTERS).decode()


def generated(base: str, *seed: object) -> str:
    """names.SimpleNameGenerator: a base that is too long for a label is cut before the suffix."""
    return base[:_LONGEST_BASE] + suffix(base, *seed)


def template_hash(content: bytes) -> str:
    """A hash in the form of controller.ComputeHash, whose value depends on Go's memory layout."""
    number = int.from_bytes(_sha256()(content).digest()[:4], "big")
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def uid_of(kind: str, namespace: str, name: str) -> str:
    """A uid for an object that no API server has stored. Claims and owners are found by their uids."""
    digest: str = _sha256()(f"{kind}/{namespace}/{name}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


S = TypeVar("S", bound=Struct)
_DECODERS: dict[type[Struct], msgspec.msgpack.Decoder[Any]] = {}


def copied(item: S) -> S:
    """A deep copy of the object."""
    kind = type(item)
    if kind not in _DECODERS:
        _DECODERS[kind] = msgspec.msgpack.Decoder(kind)
    copy: S = _DECODERS[kind].decode(msgspec.msgpack.encode(item))
    return copy


def hash_of(template: PodTemplateSpec) -> str:
    return template_hash(msgspec.json.encode(template, order="deterministic"))


def owner_reference(kind: str, api_version: str, metadata: ObjectMeta) -> OwnerReference:
    uid = metadata.uid or uid_of(kind, metadata.namespace, metadata.name)
    return OwnerReference(kind, metadata.name, api_version, uid, True)


def own_metadata(
    kind: str, namespace: str, name: str, template: ObjectMeta, owner: OwnerReference | None = None
) -> ObjectMeta:
    """The metadata of an object that a controller makes: its uid, and labels and annotations of the template."""
    return ObjectMeta(
        name=name,
        namespace=namespace,
        uid=uid_of(kind, namespace, name),
        labels=template.labels,
        annotations=template.annotations,
        owner_references=(owner,) if owner else (),
    )


def stamp(template: PodTemplateSpec, namespace: str, name: str, owner: OwnerReference | None) -> Pod:
    """One pod of the template, with the defaults of the API server."""
    fresh = copied(template)
    pod = Pod(own_metadata("Pod", namespace, name, fresh.metadata, owner), fresh.spec)
    default_pod(pod)
    return pod


def defaulted(template: PodTemplateSpec) -> PodTemplateSpec:
    """The template with the defaults of the API server, and without the text that snapshots leave out."""
    # Imported here: few runs compare templates.
    from ksched_cli.sources.redaction.unread import without_unread

    pod = stamp(template, "", "", None)
    metadata = ObjectMeta(labels=pod.metadata.labels, annotations=pod.metadata.annotations)
    return without_unread(PodTemplateSpec(metadata, pod.spec))


_POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


def ephemeral_claims(pod: Pod) -> Iterator[PersistentVolumeClaim]:
    """The claims of the pod's ephemeral volumes (ephemeralController.handleVolume)."""
    for volume in pod.spec.volumes:
        template = volume.ephemeral.volume_claim_template if volume.ephemeral else None
        if template is not None:
            own = copied(template)
            yield PersistentVolumeClaim(
                _metadata("PersistentVolumeClaim", f"{pod.metadata.name}-{volume.name}", pod, own.metadata), own.spec
            )


def templated_claims(pod: Pod, templates: Mapping[tuple[str, str], ResourceClaimTemplate]) -> Iterator[ResourceClaim]:
    """The claims that the resource claim controller makes for the pod (handleClaim). The pod's status gets their names.
    A reference without its template gets no claim, and the pod waits for it."""
    statuses = list(pod.status.resource_claim_statuses)
    known = {status.name for status in statuses}
    for reference in pod.spec.resource_claims:
        template = templates.get((pod.metadata.namespace, reference.resource_claim_template_name or ""))
        if template is None or reference.name in known:
            continue
        own = copied(template)
        name = generated(f"{pod.metadata.name}-{reference.name}-", pod.metadata.namespace)
        metadata = _metadata("ResourceClaim", name, pod, own.spec.metadata)
        metadata.annotations = {**metadata.annotations, _POD_CLAIM_NAME: reference.name}
        statuses.append(PodResourceClaimStatus(reference.name, name))
        yield ResourceClaim(metadata, own.spec.spec)
    pod.status.resource_claim_statuses = tuple(statuses)


def _metadata(kind: str, name: str, pod: Pod, template: ObjectMeta) -> ObjectMeta:
    return own_metadata(kind, pod.metadata.namespace, name, template, owner_reference("Pod", "v1", pod.metadata))
