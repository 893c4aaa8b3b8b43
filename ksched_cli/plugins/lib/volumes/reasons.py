"""Reasons that several volume plugins share, and the codes of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.cluster.claims import is_foreign
from ksched_cli.framework.reasons import FieldPath, Reason, ReasonCode, ReasonKind, ReasonTable

CLAIM_NOT_FOUND = ReasonCode(
    "KS121",
    "claim-not-found",
    "a volume claim does not exist",
    "The pod mounts a PersistentVolumeClaim that is neither in the cluster nor in the manifests, or one that has no "
    "name.",
    ("add the claim to the manifests", "correct claimName"),
)
CLAIM_UNBOUND = ReasonCode(
    "KS122",
    "claim-unbound",
    "a volume claim is not bound yet",
    "Its StorageClass binds at once, so that a volume has to be there before the scheduler looks at the pod.",
    ("volumeBindingMode: WaitForFirstConsumer in the StorageClass", "see why nothing provisions the claim"),
)
CLAIM_UNUSABLE = ReasonCode(
    "KS123",
    "claim-unusable",
    "a volume claim cannot be used",
    "It is being deleted, has lost its volume, or belongs to another pod.",
    ("make the claim anew", "give the ephemeral volume another name"),
)
VOLUME_NOT_FOUND = ReasonCode(
    "KS127",
    "volume-not-found",
    "a bound volume does not exist",
    "The claim is bound to a PersistentVolume that is not in the input.",
    ("add persistentvolumes to the dump", "restore the volume"),
)
_TOO_MANY_VOLUMES = ReasonCode(
    "KS129",
    "too-many-volumes",
    "the nodes have as many volumes attached as they may",
    "The CSI driver's CSINode has the number of volumes that a node can take.",
    ("add nodes", "use fewer volumes"),
)


def claim_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The volume whose claim the reason names, else the first that has one."""
    named = {reason.param("claim") for reason in reasons}
    by_claim = {
        volume.persistent_volume_claim.claim_name
        if volume.persistent_volume_claim
        else f"{pod.metadata.name}-{volume.name}": volume.name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim or volume.ephemeral
    }
    chosen = next((volume for claim, volume in by_claim.items() if claim in named), next(iter(by_claim.values()), None))
    return ("spec", "volumes") if chosen is None else ("spec", "volumes", chosen)


class ClaimReasons(ReasonTable):
    field = claim_field
    not_found = ReasonKind('persistentvolumeclaim "{claim}" not found', CLAIM_NOT_FOUND)
    not_found_for = ReasonKind(
        'looking up PVC {namespace}/{claim}: persistentvolumeclaim "{claim}" not found', CLAIM_NOT_FOUND
    )
    without_name = ReasonKind("PersistentVolumeClaim had no name", CLAIM_NOT_FOUND)
    of_other_pod = ReasonKind(
        "PVC {namespace}/{claim} was not created for pod {pod} (pod is not owner)", CLAIM_UNUSABLE
    )
    volume_not_found = ReasonKind('persistentvolume "{volume}" not found', VOLUME_NOT_FOUND)


class LimitReasons(ReasonTable):
    field = claim_field
    too_many_volumes = ReasonKind("node(s) exceed max volume count", _TOO_MANY_VOLUMES)


class _ClaimProblem(Exception):
    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class MissingClaim(_ClaimProblem):
    """A claim that the pod cannot run without."""


class UnusableClaim(_ClaimProblem):
    """A claim without a name, or the claim of an ephemeral volume that was made for another pod."""


def foreign_claim(pod: Pod, claim: PersistentVolumeClaim) -> Reason | None:
    """Why the claim of an ephemeral volume is not the pod's, or None (ephemeral.VolumeIsForPod)."""
    if not is_foreign(pod, claim):
        return None
    whose = f"{pod.metadata.namespace}/{pod.metadata.name}"
    return ClaimReasons.of_other_pod(namespace=claim.metadata.namespace, claim=claim.metadata.name, pod=whose)
