"""metav1: names, labels, owners, selectors."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class OwnerReference(Struct, rename="camel", frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    api_version: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    generate_name: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    resource_version: str = ""


class KubernetesObject(Struct, rename="camel", gc=False):
    """The part that all kinds of objects have, and their templates (metav1.Object)."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """metav1.GetControllerOf."""
    for owner in metadata.owner_references:
        if owner.controller:
            return owner
    return None


def metadata_of(item: Any) -> ObjectMeta:
    """Every kind that is read has metadata."""
    metadata: ObjectMeta = item.metadata
    return metadata


class LabelSelectorRequirement(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Struct, rename="camel", frozen=True, gc=False):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class ObjectReference(Struct, rename="camel", frozen=True, gc=False):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
