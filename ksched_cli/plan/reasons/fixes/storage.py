"""Proposes what the claims of a pod lack: the right name of a claim, a claim, a StorageClass, or a class that can
provide.

A claim without a volume has no data, so that it may be deleted and created again with another class. The claims of a
StatefulSet's templates are left alone: their class is fixed. Nothing is proposed if the input has no claims at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import ObjectMeta, PersistentVolumeClaimSpec, Pod, VolumeResourceRequirements
from ksched_cli.api.json_patch import put
from ksched_cli.api.spelling import nearest
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.api.workloads import StatefulSet
from ksched_cli.controlplane.admission.pods import admit_storage_class
from ksched_cli.plan.reasons.fixes.values import (
    AdvisedChange,
    FixChange,
    create_command,
    patch_command,
    patched,
    without_empty,
)
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.whatif.edits.lib.editor import Editor

_WAITS = "WaitForFirstConsumer"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
# The size of a claim that no object describes.
_SIZE = "10Gi"
_TYPO, _CREATE, _CLASS = 0.5, 0.7, 0.9


class _Create(Edit, Struct, frozen=True):
    """Create an object, or delete it and create it again. No flag of the command line does this."""

    item: Any

    def __str__(self) -> str:
        return ""

    def apply(self, editor: Editor) -> None:
        from ksched_cli.sources.templates import copied

        if (old := editor.store.current(self.item)) is not None:
            editor.api.delete(old)
        editor.api.create(copied(self.item))


class ClaimProposals:
    """What the claims that the pod's volumes name lack. `pod` has its volumes where its template has them."""

    def __init__(self, loaded: Loaded, pod: Pod) -> None:
        self._loaded, self._pod, self._namespace = loaded, pod, pod.metadata.namespace
        self._claims = [each for each in loaded.of(PersistentVolumeClaim) if each.metadata.namespace == self._namespace]
        self._classes = loaded.of(StorageClass)
        self._knows_claims = bool(loaded.of(PersistentVolumeClaim))

    def all(self) -> Iterator[tuple[FixChange, ...]]:
        """Each way for every claim that lacks something: the first way of each together, then the second."""
        ways = [found for found in (list(self._of_claim(*each)) for each in self._named()) if found]
        for number in range(max(map(len, ways), default=0)):
            changes = [way[min(number, len(way) - 1)] for way in ways]
            # Two volumes may mount one claim, which is created once.
            yield tuple(each for at, each in enumerate(changes) if each not in changes[:at])

    def _named(self) -> Iterator[tuple[int, str]]:
        for number, volume in enumerate(self._pod.spec.volumes):
            if volume.persistent_volume_claim is not None:
                yield number, volume.persistent_volume_claim.claim_name

    def _of_claim(self, number: int, name: str) -> Iterator[FixChange]:
        claim = self._loaded.get(PersistentVolumeClaim, name, self._namespace)
        if claim is None:
            yield from self._missing(number, name)
        elif not claim.spec.volume_name:
            yield from self._unbound(claim)

    def _missing(self, number: int, name: str) -> Iterator[FixChange]:
        if not self._knows_claims:
            return
        if near := nearest(name, [each.metadata.name for each in self._claims]):
            place = ("spec", "volumes", number, "persistentVolumeClaim", "claimName")
            yield patched(f"mount claim {near} and not {name}", "typo", _TYPO, put(near, *place))
        claim = PersistentVolumeClaim(
            metadata=ObjectMeta(name=name, namespace=self._namespace),
            spec=PersistentVolumeClaimSpec(
                access_modes=("ReadWriteOnce",), resources=VolumeResourceRequirements(requests={"storage": _SIZE})
            ),
        )
        admit_storage_class(claim, self._classes)
        if claim.spec.storage_class_name is None:
            if not (providing := self._providing()):
                return
            claim.spec.storage_class_name = providing[0].metadata.name
        of_class = f"{_SIZE} of class {claim.spec.storage_class_name}"
        yield created(f"create claim {name} ({of_class}: set the size that you need)", "claim", _CREATE, claim, "v1")

    def _unbound(self, claim: PersistentVolumeClaim) -> Iterator[FixChange]:
        name = claim.spec.storage_class_name
        if not name or claim.metadata.deletion_timestamp is not None:
            return
        found = next((each for each in self._classes if each.metadata.name == name), None)
        providing, near = [each for each in self._providing() if each.metadata.name != name], ""
        if found is None:
            near = nearest(name, [each.metadata.name for each in self._classes])
            if near and not self._is_of_a_template(claim):
                yield self._with_class(claim, near, "typo", _TYPO)
            if providing:
                like = providing[0]
                annotations = {key: text for key, text in like.metadata.annotations.items() if "is-default" not in key}
                made = replace(like, metadata=ObjectMeta(name=name, annotations=annotations))
                text = (
                    f"create StorageClass {name} (here as {like.metadata.name} is: set its provisioner and parameters)"
                )
                yield created(text, "class", _CREATE, made, "storage.k8s.io/v1")
        elif found.volume_binding_mode == _WAITS and found.provisioner != _NO_PROVISIONER:
            return
        if providing and not self._is_of_a_template(claim):
            alike = min(providing, key=lambda each: _unlike(each, found)) if found is not None else providing[0]
            if alike.metadata.name != near:
                yield self._with_class(claim, alike.metadata.name, "claim's class", _CLASS)

    def _with_class(self, claim: PersistentVolumeClaim, name: str, kind: str, cost: float) -> FixChange:
        old = claim.metadata
        made = replace(
            claim,
            metadata=ObjectMeta(name=old.name, namespace=old.namespace, labels=old.labels),
            spec=replace(claim.spec, storage_class_name=name),
            status=type(claim.status)(),
        )
        target = ("PersistentVolumeClaim", old.namespace, old.name)
        patch = AdvisedChange("patch", *target, (put(name, "spec", "storageClassName"),))
        changes = (AdvisedChange("delete", *target), AdvisedChange("create", *target, content=_content(made, "v1")))
        old_class = claim.spec.storage_class_name
        text = f"create claim {old.name} again, with class {name} and not {old_class} (it has no volume yet)"
        command = patch_command(patch, recreates=True)
        return FixChange(text, kind, cost, (), (_Create(made),), changes, (command,))

    def _providing(self) -> list[StorageClass]:
        """Classes that make a volume where the pod goes, the default one first."""
        found = [
            each for each in self._classes if each.volume_binding_mode == _WAITS and each.provisioner != _NO_PROVISIONER
        ]
        default = PersistentVolumeClaim()
        admit_storage_class(default, self._classes)
        return sorted(
            found, key=lambda each: (each.metadata.name != default.spec.storage_class_name, each.metadata.name)
        )

    def _is_of_a_template(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a StatefulSet makes the claim: `data-db-0` of the template `data` of the StatefulSet `db`."""
        sets = [each for each in self._loaded.of(StatefulSet) if each.metadata.namespace == self._namespace]
        beginnings = [
            f"{template.metadata.name}-{each.metadata.name}-"
            for each in sets
            for template in each.spec.volume_claim_templates
        ]
        return claim.metadata.name.startswith(tuple(beginnings))


def _unlike(one: StorageClass, other: StorageClass) -> tuple[bool, bool]:
    """How much the volumes of two classes differ."""
    return one.provisioner != other.provisioner, one.parameters != other.parameters


def created(text: str, kind: str, cost: float, item: Any, version: str) -> FixChange:
    """Create the object."""
    content = _content(item, version)
    target = (type(item).__name__, item.metadata.namespace, item.metadata.name)
    change = AdvisedChange("create", *target, content=content)
    return FixChange(text, kind, cost, (), (_Create(item),), (change,), (create_command(content),))


def _content(item: Any, version: str) -> dict[str, Any]:
    """The object as a manifest has it: without empty fields. A new object has no status."""
    return {"apiVersion": version, "kind": type(item).__name__, **without_empty(msgspec.to_builtins(item))}
