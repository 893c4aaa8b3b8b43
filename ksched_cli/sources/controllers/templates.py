"""From a pod template to pods (controller.GetPodFromTemplate)."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.defaults import default_pod
from ksched_cli.api.meta import ObjectMeta, OwnerReference
from ksched_cli.api.workloads import PodTemplateSpec
from ksched_cli.sources.controllers.naming import template_hash, uid_of

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
