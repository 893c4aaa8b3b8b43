"""Facts about claims and volumes that more than one plugin needs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ksched_cli.api.core import Pod
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.claims import claim_names, find_claim
from ksched_cli.plugins.lib.volumes.reasons import ClaimReasons, MissingClaim, UnusableClaim, foreign_claim
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import (
    AZURE_DISK_LIMITS,
    CINDER_LIMITS,
    EBS_LIMITS,
    GCEPD_LIMITS,
    NODE_VOLUME_LIMITS,
)

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_STORAGE = "storage"


class LimitRules(
    ReleaseRules, plugins=f"{NODE_VOLUME_LIMITS} {EBS_LIMITS} {GCEPD_LIMITS} {AZURE_DISK_LIMITS} {CINDER_LIMITS}"
):
    follows_all_claims = Rule(
        "1.23",
        "filter",
        "Claims of ephemeral volumes count, and a claim that does not exist rejects the pod; before, both were passed "
        "over.",
    )


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
    """Whether the scheduler binds the claim; without a class that delays binding the volume controller does."""
    found = catalog.get(StorageClass, class_of_claim(claim))
    return found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume's claimRef names the claim, and has its uid if it has one."""
    ref = volume.spec.claim_ref
    if ref is None or (ref.namespace, ref.name) != (claim.metadata.namespace, claim.metadata.name):
        return False
    return not ref.uid or ref.uid == claim.metadata.uid


def limited_claims(pod: Pod, catalog: Catalog, release: Release, *, required: bool) -> Iterator[PersistentVolumeClaim]:
    """The pod's claims whose volumes count towards a limit. UnusableClaim for one that cannot be followed, MissingClaim
    for a `required` one that does not exist. Up to 1.22 none is required, and ephemeral volumes do not count."""
    followed = LimitRules.of(release).follows_all_claims
    for name, ephemeral in claim_names(pod):
        if ephemeral and not followed:
            continue
        if not name:
            raise UnusableClaim(ClaimReasons.without_name())
        claim = find_claim(catalog, pod, name)
        if claim is None and required and followed:
            raise MissingClaim(ClaimReasons.not_found_for(namespace=pod.metadata.namespace, claim=name))
        if claim is None:
            continue
        if ephemeral and (problem := foreign_claim(pod, claim)):
            raise UnusableClaim(problem)
        yield claim
