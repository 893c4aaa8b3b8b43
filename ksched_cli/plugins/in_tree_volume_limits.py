"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits: how many disks of a cloud a node takes, up to 1.30
(nodevolumelimits/non_csi.go). Volumes whose driver has moved to CSI count among the CSI volumes of the node instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from ksched_cli.api.core import Node, Pod, Volume
from ksched_cli.api.quantity import value
from ksched_cli.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, StorageClass
from ksched_cli.cluster.catalog import claim_names
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.lib.volumes import (
    AttachedVolumes,
    ClaimReasons,
    LimitReasons,
    MissingClaim,
    StoragePlugin,
    UnusableClaim,
    counts_as_csi,
    disk_of,
    limited_claims,
)
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import NODE_VOLUME_LIMITS

_TOO_MANY = unschedulable(LimitReasons.too_many_volumes())
_INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_NITRO = re.compile("^[cmr]5.*|t3|z1d")


class InTreeVolumeLimitsRules(ReleaseRules, plugins="EBSLimits GCEPDLimits AzureDiskLimits CinderLimits"):
    missing_claims_reject = Rule(
        "1.30", "filter", "A claim that does not exist rejects the pod; before, the cycle ended in an error."
    )
    reads_instance_type_without_beta = Rule(
        "1.17",
        "filter",
        "The type of an instance is that of its label without beta, too; before, of the beta label alone.",
    )
    notes = (
        Rule(
            "1.31",
            "filter",
            "The plugin is gone, and its disks count for their CSI driver; before, each cloud's had a limit of its "
            "own.",
        ),
        Rule(
            "AttachVolumeLimit",
            "filter",
            "Limits that nodes announce count; without the gate, those of the cloud alone.",
            plugins=f"EBSLimits GCEPDLimits AzureDiskLimits CinderLimits {NODE_VOLUME_LIMITS}",
        ),
    )


class _InTreeLimits(StoragePlugin, PreFilterPlugin[None], FilterPlugin[None]):
    """nonCSILimits. `provisioner` is the in-tree plugin, `disk_name` the field of a disk that identifies the disk, and
    `default_limit` the cloud's limit."""

    provisioner: ClassVar[str]
    disk_name: ClassVar[str]
    default_limit: ClassVar[int]
    points_since = (("preFilter", "1.28"),)
    until = "1.30"
    events = (ClusterEvent("Node", Action.ADD), ClusterEvent("Pod", Action.DELETE))

    def disk(self, source: Volume | PersistentVolumeSpec) -> str | None:
        """The cloud's name of the disk; None for a volume of another plugin."""
        name: str | None = getattr(disk_of(source, self.provisioner), self.disk_name, None)
        return name

    def limit(self, node: Node) -> int:
        return self.default_limit

    def pre_filter(self, info: PodInfo) -> PreFilterResult[None] | Status:
        has_none = not any(claim_names(info.pod)) and all(self.disk(volume) is None for volume in info.pod.spec.volumes)
        return SKIP if has_none else PreFilterResult(None)

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        try:
            wanted = set(self._disks(info.pod, required=True))
        except MissingClaim as problem:
            refuse = unresolvable if InTreeVolumeLimitsRules.of(self.handle.release).missing_claims_reject else error
            return Verdict.of_all(len(nodes), refuse(problem.reason))
        except UnusableClaim as problem:
            return Verdict.of_all(len(nodes), error(problem.reason))
        if not wanted:
            return Verdict.passing(len(nodes))
        return Verdict.from_statuses([self._check(wanted, int(row)) for row in nodes.rows])

    def _check(self, wanted: set[str], row: int) -> Status:
        cluster = self.handle.cluster
        node = cluster.nodes.objects[row]
        csi_node = cluster.catalog.get(CSINode, node.metadata.name)
        if counts_as_csi(self.provisioner, csi_node, self.handle.gates, self.handle.release):
            return SUCCESS
        present: set[str] = set()
        for other in cluster.usage.pods[row]:
            present.update(self._disks(cluster.pods.infos[other].pod, required=False))
        needed = wanted - present
        announced = node.status.allocatable if self.handle.gates.enabled("AttachVolumeLimit") else {}
        own = announced.get(self.provisioner.replace("kubernetes.io/", "attachable-volumes-"))
        limit = self.limit(node) if own is None else value(own)
        if len(present) + len(needed) > limit:
            return _TOO_MANY
        if self.handle.gates.enabled("BalanceAttachedNodeVolumes"):
            AttachedVolumes.of(cluster).note(row, limit - len(present), len(needed))
        return SUCCESS

    def _disks(self, pod: Pod, *, required: bool) -> Iterator[str]:
        """The disks of the pod's volumes and claims. A claim without a volume counts as a disk of its own."""
        for volume in pod.spec.volumes:
            disk = self.disk(volume)
            if disk is not None:
                yield disk
        for claim in limited_claims(pod, self.handle.cluster.catalog, self.handle.release, required=required):
            yield from self._disk_of(claim)

    def _disk_of(self, claim: PersistentVolumeClaim) -> Iterator[str]:
        catalog = self.handle.cluster.catalog
        volume = catalog.get(PersistentVolume, claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is not None:
            disk = self.disk(volume.spec)
            if disk is not None:
                yield disk
            return
        found = catalog.get(StorageClass, claim.spec.storage_class_name or "")
        if found is not None and found.provisioner == self.provisioner:
            yield f"unbound claim {claim.metadata.namespace}/{claim.metadata.name}"


class EBSLimits(_InTreeLimits):
    name = "EBSLimits"
    summary = "Rejects nodes that cannot take as many AWS EBS disks more as the pod needs."
    provisioner = "kubernetes.io/aws-ebs"
    disk_name = "volume_id"
    default_limit = 39

    def limit(self, node: Node) -> int:
        """getMaxEBSVolume: Nitro instances take fewer."""
        reads_both = InTreeVolumeLimitsRules.of(self.handle.release).reads_instance_type_without_beta
        keys = _INSTANCE_TYPES if reads_both else _INSTANCE_TYPES[1:]
        types = (node.metadata.labels.get(key) for key in keys)
        kind = next((each for each in types if each is not None), "")
        return 25 if _NITRO.search(kind) else self.default_limit


class GCEPDLimits(_InTreeLimits):
    name = "GCEPDLimits"
    summary = "Rejects nodes that cannot take as many GCE persistent disks more as the pod needs."
    provisioner = "kubernetes.io/gce-pd"
    disk_name = "pd_name"
    default_limit = 16


class AzureDiskLimits(_InTreeLimits):
    name = "AzureDiskLimits"
    summary = "Rejects nodes that cannot take as many Azure disks more as the pod needs."
    provisioner = "kubernetes.io/azure-disk"
    disk_name = "disk_name"
    default_limit = 16


class CinderLimits(_InTreeLimits):
    name = "CinderLimits"
    summary = "Rejects nodes that cannot take as many Cinder volumes more as the pod needs. Not a default plugin."
    provisioner = "kubernetes.io/cinder"
    disk_name = "volume_id"
    default_limit = 256


SPEC = Spec(plugins=(EBSLimits, GCEPDLimits, AzureDiskLimits, CinderLimits), reasons=(LimitReasons, ClaimReasons))
