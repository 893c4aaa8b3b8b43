"""Volumes of pods, claims and what provisions them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.api.label_names import domain_problems
from ksched_cli.api.schema import fields_of
from ksched_cli.api.validation.fields import (
    FieldErrors,
    Path,
    amount_in,
    duplicate,
    forbidden,
    invalid,
    invalid_all,
    items_at,
    object_at,
    one_of,
    quantity,
    required,
    text_at,
    texts_at,
    unsupported,
)
from ksched_cli.api.validation.names import dns_label, labels
from ksched_cli.api.validation.selectors import label_selector, node_selector

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_RECLAIM_POLICIES = ("Delete", "Retain", "Recycle")


def volume_names(spec: Mapping[str, Any]) -> set[str]:
    return {text_at(each, "name") for _, each in items_at(spec, "volumes")}


def volumes(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    """ValidateVolumes."""
    sources = [field for field in fields_of("Volume") if field != "name"]
    names = set()
    for index, each in items_at(spec, "volumes"):
        here = (*path, "volumes", index)
        name = text_at(each, "name")
        if not name:
            yield required((*here, "name"))
        else:
            yield from invalid_all((*here, "name"), name, dns_label(name))
        if name and name in names:
            yield duplicate((*here, "name"), name)
        names.add(name)
        given = [field for field in sources if each.get(field) is not None]
        for field in given[1:]:
            yield forbidden((*here, field), "may not specify more than 1 volume type")
        yield from _source(each, here)


def _source(volume: Mapping[str, Any], path: Path) -> FieldErrors:
    for field, name in (("persistentVolumeClaim", "claimName"), ("configMap", "name"), ("secret", "secretName")):
        if isinstance(volume.get(field), dict) and not text_at(volume[field], name):
            yield required((*path, field, name))
    if isinstance(volume.get("hostPath"), dict) and not text_at(volume["hostPath"], "path"):
        yield required((*path, "hostPath", "path"))
    template = object_at(volume, "ephemeral", "volumeClaimTemplate")
    if template:
        yield from claim_spec(object_at(template, "spec"), (*path, "ephemeral", "volumeClaimTemplate", "spec"))


def claim_spec(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    """ValidatePersistentVolumeClaimSpec."""
    modes = texts_at(spec, "accessModes")
    if not modes:
        yield required((*path, "accessModes"), "at least 1 access mode is required")
    yield from _access_modes(modes, path)
    yield from label_selector(object_at(spec, "selector"), (*path, "selector"))
    storage = object_at(spec, "resources", "requests").get("storage")
    here = (*path, "resources", "requests", "storage")
    if storage is None:
        yield required(here)
    else:
        yield from _positive(storage, here)
    name = text_at(spec, "storageClassName")
    if name:
        yield from invalid_all((*path, "storageClassName"), name, domain_problems(name))
    yield from one_of(spec, "volumeMode", path, ("Block", "Filesystem"))


def _positive(value: Any, path: Path) -> FieldErrors:
    amount = amount_in(value)
    if amount is None:
        yield from quantity(value, path)
    elif amount <= 0:
        yield invalid(path, str(value), "must be greater than zero")


def _access_modes(modes: list[str], path: Path) -> FieldErrors:
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield unsupported((*path, "accessModes"), mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(set(modes) & set(_ACCESS_MODES)) > 1:
        yield forbidden((*path, "accessModes"), "may not use ReadWriteOncePod with other access modes")


def claim(document: Mapping[str, Any]) -> FieldErrors:
    yield from claim_spec(object_at(document, "spec"), ("spec",))


def volume(document: Mapping[str, Any]) -> FieldErrors:
    """ValidatePersistentVolumeSpec."""
    spec = object_at(document, "spec")
    modes = texts_at(spec, "accessModes")
    if not modes:
        yield required(("spec", "accessModes"))
    yield from _access_modes(modes, ("spec",))
    if not object_at(spec, "capacity"):
        yield required(("spec", "capacity"))
    elif "storage" not in object_at(spec, "capacity"):
        yield unsupported(("spec", "capacity"), list(object_at(spec, "capacity")), ("storage",))
    yield from one_of(spec, "persistentVolumeReclaimPolicy", ("spec",), _RECLAIM_POLICIES)
    yield from one_of(spec, "volumeMode", ("spec",), ("Block", "Filesystem"))
    affinity = object_at(spec, "nodeAffinity").get("required")
    if isinstance(affinity, dict):
        yield from node_selector(affinity, ("spec", "nodeAffinity", "required"))


def storage_class(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateStorageClass."""
    if not text_at(document, "provisioner"):
        yield required(("provisioner",))
    yield from one_of(document, "reclaimPolicy", (), ("Delete", "Retain"))
    yield from one_of(document, "volumeBindingMode", (), _BINDING_MODES)
    for index, term in items_at(document, "allowedTopologies"):
        for at, each in items_at(term, "matchLabelExpressions"):
            here = ("allowedTopologies", index, "matchLabelExpressions", at)
            if not texts_at(each, "values"):
                yield required((*here, "values"))
            yield from labels({text_at(each, "key"): ""}, here)
