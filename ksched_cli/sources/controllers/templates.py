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
    """A deep copy, by way of msgpack."""
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


def stamp(template: PodTemplateSpec, namespace: str, name: str, owner: OwnerReference | None) -> Pod:
    """One pod of the template, defaulted as the API server would."""
    fresh = copied(template)
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=uid_of("Pod", namespace, name),
        labels=fresh.metadata.labels,
        annotations=fresh.metadata.annotations,
        owner_references=(owner,) if owner else (),
    )
    pod = Pod(metadata, fresh.spec)
    default_pod(pod)
    return pod


def defaulted(template: PodTemplateSpec) -> PodTemplateSpec:
    """With what the API server would have filled in, so that two templates can be compared."""
    pod = stamp(template, "", "", None)
    return PodTemplateSpec(ObjectMeta(labels=pod.metadata.labels, annotations=pod.metadata.annotations), pod.spec)
