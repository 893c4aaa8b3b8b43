"""The claims of a pod, and the few facts about claims and volumes that more than one plugin asks for."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from ksched_cli.api.core import Pod
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.catalog import Catalog

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_STORAGE = "storage"


class ClaimName(NamedTuple):
    """A claim that a pod's volume names; that of an ephemeral volume is made by a controller of its own."""

    name: str
    ephemeral: bool


def claim_names(pod: Pod) -> Iterator[ClaimName]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimName(volume.persistent_volume_claim.claim_name, False)
        elif volume.ephemeral is not None:
            yield ClaimName(f"{pod.metadata.name}-{volume.name}", True)


def mounted_claims(pod: Pod) -> list[str]:
    """Claims that volumes of the pod name themselves; those of ephemeral volumes belong to the pod alone anyway."""
    claims = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return [claim.claim_name for claim in claims if claim is not None]


def find_claim(catalog: Catalog, pod: Pod, name: str) -> PersistentVolumeClaim | None:
    return catalog.get(PersistentVolumeClaim, name, pod.metadata.namespace)


def missing_claim(name: str) -> str:
    return f'persistentvolumeclaim "{name}" not found'


def problem_of_claims(pod: Pod, catalog: Catalog) -> str | None:
    """podPassesBasicChecks: up to 1.19 a pod whose claims do not exist or are on their way out was no pod to look for
    a node for."""
    for name, ephemeral in claim_names(pod):
        claim = find_claim(catalog, pod, name)
        if claim is None:
            return missing_claim(name)
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and foreign_claim(pod, claim):
            return f'persistentvolumeclaim "{name}" was not created for the pod'
    return None


def foreign_claim(pod: Pod, claim: PersistentVolumeClaim) -> str | None:
    """ephemeral.VolumeIsForPod: what is wrong when somebody else's claim has the name of the pod's."""
    controllers = (each for each in claim.metadata.owner_references if each.controller)
    controller = next(controllers, None)
    if controller is not None and controller.uid == pod.metadata.uid:
        return None
    names = f"{claim.metadata.namespace}/{claim.metadata.name}", f"{pod.metadata.namespace}/{pod.metadata.name}"
    return f"PVC {names[0]} was not created for pod {names[1]} (pod is not owner)"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    beta = claim.metadata.annotations.get(_BETA_CLASS)
    return beta if beta is not None else claim.spec.storage_class_name or ""


def class_of_volume(volume: PersistentVolume) -> str:
    beta = volume.metadata.annotations.get(_BETA_CLASS)
    return beta if beta is not None else volume.spec.storage_class_name


def requested_storage(claim: PersistentVolumeClaim) -> Fraction | None:
    amount = claim.spec.resources.requests.get(_STORAGE)
    return None if amount is None else parse_quantity(amount)


def storage_of(volume: PersistentVolume) -> Fraction:
    return parse_quantity(volume.spec.capacity.get(_STORAGE, 0))


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def waits_for_consumer(claim: PersistentVolumeClaim, catalog: Catalog) -> bool:
    """Whether the scheduler binds the claim; without a class that says so the volume controller does."""
    found = catalog.get(StorageClass, class_of_claim(claim))
    return found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """The volume is meant for the claim, by name and, where it gives one, by uid."""
    ref = volume.spec.claim_ref
    if ref is None or (ref.namespace, ref.name) != (claim.metadata.namespace, claim.metadata.name):
        return False
    return not ref.uid or ref.uid == claim.metadata.uid
