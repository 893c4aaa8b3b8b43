"""Predicates about a pod's volumes."""

from __future__ import annotations

from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import PreFilterResult
from ksched_cli.framework.status import SKIP, Status
from ksched_cli.plugins.legacy.predicates import Predicate
from ksched_cli.plugins.legacy.successors import (
    AzureDiskLimitsPlugin,
    CinderLimitsPlugin,
    EBSLimitsPlugin,
    GCEPDLimitsPlugin,
    NodeVolumeLimitsPlugin,
    VolumeRestrictionsPlugin,
    VolumeZonePlugin,
)
from ksched_cli.plugins.legacy.volume_binding import VolumeBindingOnEachNode
from ksched_cli.plugins.lib.volumes.claims import WAIT_FOR_FIRST_CONSUMER, class_of_claim


class NoDiskConflict(Predicate, VolumeRestrictionsPlugin):
    name = "NoDiskConflict"
    summary = "Rejects nodes where a disk is mounted that cannot be shared."


class MaxEBSVolumeCount(Predicate, EBSLimitsPlugin):
    name = "MaxEBSVolumeCount"


class MaxGCEPDVolumeCount(Predicate, GCEPDLimitsPlugin):
    name = "MaxGCEPDVolumeCount"


class MaxAzureDiskVolumeCount(Predicate, AzureDiskLimitsPlugin):
    name = "MaxAzureDiskVolumeCount"


class MaxCinderVolumeCount(Predicate, CinderLimitsPlugin):
    name = "MaxCinderVolumeCount"


class MaxCSIVolumeCountPred(Predicate, NodeVolumeLimitsPlugin):
    name = "MaxCSIVolumeCountPred"

    def pre_filter(self, pod: PodInfo) -> PreFilterResult[None] | Status:
        return super().pre_filter(pod) if self.handle.gates.enabled("AttachVolumeLimit") else SKIP


class CheckVolumeBinding(Predicate, VolumeBindingOnEachNode):
    name = "CheckVolumeBinding"


class NoVolumeZoneConflict(Predicate, VolumeZonePlugin):
    """It read the beta labels only, and a claim without a readable volume ended the cycle."""

    name = "NoVolumeZoneConflict"
    only_at = ("filter",)

    def problem_of_unbound(self, claim: PersistentVolumeClaim, catalog: Catalog) -> str | None:
        """A claim without a volume was fine only while its class waits for a pod to be scheduled."""
        found = catalog.get(StorageClass, class_of_claim(claim))
        if found is not None and found.volume_binding_mode is None:
            return f'VolumeBindingMode not set for StorageClass "{found.metadata.name}"'
        waits = found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        return None if waits else f'PersistentVolumeClaim was not found: "{claim.metadata.name}"'
