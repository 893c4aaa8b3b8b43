"""Names, labels, annotations and owners of an object (apimachinery's ValidateObjectMeta)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.label_names import domain_problems, key_problems
from ksched_cli.api.validation.fields import (
    FieldError,
    Path,
    dns_label,
    invalid,
    invalid_all,
    items_at,
    labels,
    object_at,
    path_segment,
    required,
    starts_with_a_letter,
    text_at,
    texts_at,
    too_long,
)

# The minor in which the gate RelaxedServiceNameValidation is on.
_SERVICES_MAY_HAVE_A_DIGIT = 36
_MOST_ANNOTATIONS = 256 * 1024
# Names of all other kinds are DNS subdomains.
_RULES: Mapping[str, Callable[[str], Sequence[str]]] = {
    **dict.fromkeys(("Namespace", "Service", "StatefulSet"), dns_label),
    # No function of ValidatePodDisruptionBudget checks the name.
    **dict.fromkeys(
        ("PodDisruptionBudget", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
        path_segment,
    ),
}


def metadata(document: Mapping[str, Any], kind: str) -> Iterator[FieldError]:
    """ValidateObjectMeta."""
    found, path, rule = object_at(document, "metadata"), ("metadata",), _RULES.get(kind, domain_problems)
    name, prefix = text_at(found, "name"), text_at(found, "generateName")
    if prefix:
        yield from invalid_all((*path, "generateName"), prefix, rule(_masked(prefix)))
    if name:
        yield from invalid_all((*path, "name"), name, rule(name))
        if kind == "Service":
            for problem in starts_with_a_letter(name):
                yield replace(invalid((*path, "name"), name, problem), until=_SERVICES_MAY_HAVE_A_DIGIT)
    elif not prefix:
        yield required((*path, "name"), "name or generateName is required")
    namespace = text_at(found, "namespace")
    if namespace:
        yield from invalid_all((*path, "namespace"), namespace, dns_label(namespace))
    yield from labels(object_at(found, "labels"), (*path, "labels"))
    yield from annotation_errors(object_at(found, "annotations"), (*path, "annotations"))
    for index, finalizer in enumerate(texts_at(found, "finalizers")):
        yield from invalid_all((*path, "finalizers", index), finalizer, key_problems(finalizer))
    yield from _owners(found, (*path, "ownerReferences"))


def annotation_errors(found: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """ValidateAnnotations."""
    size = 0
    for key, value in found.items():
        if problems := key_problems(key.lower()):
            yield from invalid_all((*path, key), key, problems)
        size += len(key.encode()) + len(str(value).encode())
    if size > _MOST_ANNOTATIONS:
        yield too_long(path, _MOST_ANNOTATIONS)


def _owners(found: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """ValidateOwnerReferences."""
    owners = items_at(found, "ownerReferences")
    for index, owner in owners:
        for field in ("apiVersion", "kind", "name", "uid"):
            if not text_at(owner, field):
                yield invalid((*path, index, field), "", "must not be empty")
        if text_at(owner, "kind") == "Event" and text_at(owner, "apiVersion") == "v1":
            yield invalid((*path, index), owner, "/v1, Kind=Event is disallowed from being an owner")
    if sum(owner.get("controller") is True for _, owner in owners) > 1:
        yield invalid(path, "controller", "Only one reference can have Controller set to true")


def _masked(prefix: str) -> str:
    """maskTrailingDash: a prefix may end with a dash."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
