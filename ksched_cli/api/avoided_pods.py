"""The annotation of a node that names controllers whose pods should go elsewhere (GetAvoidPodsFromNodeAnnotations).
Only minors with the plugin NodePreferAvoidPods read it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from ksched_cli.api.core import OwnerReference
from ksched_cli.api.decode import decode_as

AVOID_PODS_ANNOTATION = "scheduler.alpha.kubernetes.io/preferAvoidPods"


class _PodSignature(Struct, rename="camel", frozen=True):
    pod_controller: OwnerReference | None = None


class _PreferAvoidPod(Struct, rename="camel", frozen=True):
    pod_signature: _PodSignature = _PodSignature()


class _AvoidPods(Struct, rename="camel", frozen=True):
    prefer_avoid_pods: tuple[_PreferAvoidPod, ...] = ()


def avoided_controllers(annotation: str) -> tuple[OwnerReference, ...]:
    """The controllers that the annotation names. Empty for a text that cannot be decoded: kube-scheduler treats such a
    node like one without the annotation."""
    try:
        found = decode_as(annotation.encode(), _AvoidPods, "", None, "").value
    except msgspec.DecodeError:
        return ()
    if not isinstance(found, _AvoidPods):
        return ()
    named = (each.pod_signature.pod_controller for each in found.prefer_avoid_pods)
    return tuple(controller for controller in named if controller is not None)


def avoiding(controllers: Iterable[tuple[str, str]]) -> str:
    """The annotation that names controllers by kind and uid, which is all that kube-scheduler compares."""
    named = [{"podSignature": {"podController": {"kind": kind, "uid": uid}}} for kind, uid in controllers]
    return msgspec.json.encode({"preferAvoidPods": named}).decode()
