"""The claims that a pod's volumes name (ephemeral.VolumeClaimName, podPassesBasicChecks)."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.volumes import Volume
from ksched_cli.cluster.catalog import Catalog


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


# Where volumes come from that a node has itself, or that API objects have.
_OF_THE_NODE = frozenset({"name", "host_path", "empty_dir", "image"})
_STORAGE = attrgetter(*(name for name in Volume.__struct_fields__ if name not in _OF_THE_NODE))


def uses_storage(pod: Pod) -> bool:
    """Whether a volume of the pod is a claim, a disk or of a driver. Most pods have a token and other files only."""
    return any(any(source is not None for source in _STORAGE(volume)) for volume in pod.spec.volumes)


def mounted_claims(pod: Pod) -> list[str]:
    """Claims that volumes of the pod name themselves; those of ephemeral volumes belong to the pod alone anyway."""
    claims = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return [claim.claim_name for claim in claims if claim is not None]


def find_claim(catalog: Catalog, pod: Pod, name: str) -> PersistentVolumeClaim | None:
    return catalog.get(PersistentVolumeClaim, name, pod.metadata.namespace)


def problem_of_claims(pod: Pod, catalog: Catalog) -> str | None:
    """podPassesBasicChecks: why the pod's claims cannot be used, None if they can. In older minors no filter runs
    then."""
    for name, ephemeral in claim_names(pod):
        claim = find_claim(catalog, pod, name)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and is_foreign(pod, claim):
            return f'persistentvolumeclaim "{name}" was not created for the pod'
    return None


def is_foreign(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether a claim of another owner has the name of the pod's claim (ephemeral.VolumeIsForPod)."""
    controllers = (each for each in claim.metadata.owner_references if each.controller)
    controller = next(controllers, None)
    return controller is None or controller.uid != pod.metadata.uid
