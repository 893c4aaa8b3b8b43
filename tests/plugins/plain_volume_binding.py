"""VolumeBinding as one would explain it: one node, one claim, one volume at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ksched_cli.api.core import Node
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.api.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

K = TypeVar("K")
ZONE = "topology.kubernetes.io/zone"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


class PlainVolumeBinding:
    """Knows zones as the only node affinity, and classes by spec.storageClassName."""

    def __init__(self, objects: Sequence[Any]) -> None:
        self._objects = objects

    def _all(self, kind: type[K]) -> list[K]:
        return [item for item in self._objects if isinstance(item, kind)]

    def reasons(self, names: Sequence[str], node: Node) -> tuple[str, ...]:
        by_name = {claim.metadata.name: claim for claim in self._all(PersistentVolumeClaim)}
        claims = [by_name[name] for name in names]
        reachable, existing = self._bound([claim for claim in claims if claim.spec.volume_name], node)
        bindable, roomy = self._delayed([claim for claim in claims if not claim.spec.volume_name], node)
        failed = {
            "node(s) didn't match PersistentVolume's node affinity": not reachable,
            "node(s) didn't find available persistent volumes to bind": not bindable,
            "node(s) did not have enough free storage": not roomy,
            "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)": not existing,
        }
        return tuple(reason for reason, wrong in failed.items() if wrong)

    def _bound(self, claims: Sequence[PersistentVolumeClaim], node: Node) -> tuple[bool, bool]:
        for claim in claims:
            found = [each for each in self._all(PersistentVolume) if each.metadata.name == claim.spec.volume_name]
            if not found:
                return True, False
            if not reaches(found[0], node):
                return False, True
        return True, True

    def _delayed(self, claims: Sequence[PersistentVolumeClaim], node: Node) -> tuple[bool, bool]:
        promised = [claim for claim in claims if SELECTED_NODE in claim.metadata.annotations]
        if any(claim.metadata.annotations[SELECTED_NODE] != node.metadata.name for claim in promised):
            return False, True
        to_match = sorted((claim for claim in claims if claim not in promised), key=size_of)
        taken: set[str] = set()
        to_provision = list(promised)
        for claim in to_match:
            match = self._match(claim, node, taken)
            if match is None:
                to_provision.append(claim)
            else:
                taken.add(match.metadata.name)
        for claim in to_provision:
            bindable, roomy = self._provision(claim, node)
            if not (bindable and roomy):
                return bindable, roomy
        return True, True

    def _match(self, claim: PersistentVolumeClaim, node: Node, taken: set[str]) -> PersistentVolume | None:
        best: PersistentVolume | None = None
        for volume in sorted(self._all(PersistentVolume), key=lambda each: each.metadata.name):
            capacity = parse_quantity(volume.spec.capacity["storage"])
            ref = volume.spec.claim_ref
            if volume.metadata.name in taken or (ref is not None and ref.name != claim.metadata.name):
                continue
            if capacity < size_of(claim) or volume.spec.storage_class_name != claim.spec.storage_class_name:
                continue
            if ref is not None:
                return volume if reaches(volume, node) else None
            if volume.status.phase != "Available" or not reaches(volume, node):
                continue
            if best is None or capacity < parse_quantity(best.spec.capacity["storage"]):
                best = volume
        return best

    def _provision(self, claim: PersistentVolumeClaim, node: Node) -> tuple[bool, bool]:
        """Whether a volume could be made at all, and whether there is the space for it."""
        (found,) = [each for each in self._all(StorageClass) if each.metadata.name == claim.spec.storage_class_name]
        if found.provisioner == "kubernetes.io/no-provisioner":
            return False, True
        if not any(driver.spec.storage_capacity for driver in self._all(CSIDriver)):
            return True, True
        pools = [
            pool
            for pool in self._all(CSIStorageCapacity)
            if pool.storage_class_name == found.metadata.name
            and pool.node_topology is not None
            and pool.node_topology.match_labels[ZONE] == node.metadata.labels[ZONE]
        ]
        return True, any(parse_quantity(pool.capacity or 0) >= size_of(claim) for pool in pools)


def size_of(claim: PersistentVolumeClaim) -> Any:
    return parse_quantity(claim.spec.resources.requests["storage"])


def reaches(volume: PersistentVolume, node: Node) -> bool:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    zones = {
        value
        for term in affinity.required.node_selector_terms
        for each in term.match_expressions
        for value in each.values
    }
    return node.metadata.labels[ZONE] in zones
