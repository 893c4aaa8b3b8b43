"""VolumeRestrictions: rejects nodes where another pod has mounted a disk that pods cannot share, and pods whose
ReadWriteOncePod claim is in use (volumerestrictions/volume_restrictions.go). Only the disks of volumes written in pods
are compared, not those behind claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.api.core import Pod, Volume
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import find_claim, mounted_claims
from ksched_cli.cluster.columns import BoolColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.errors import named
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.reasons import C, Figures, ReasonCode, ReasonKind, ReasonTable, RejectedPod, RejectionGuide
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec, pods_that
from ksched_cli.plugins.lib.volumes import ClaimReasons, claim_field
from ksched_cli.releases.changes import ReleaseRules, Rule

_ONE_POD = "ReadWriteOncePod"
_DISK_IN_USE = ReasonCode(
    "KS130",
    "disk-in-use",
    "a disk is mounted already and cannot be shared",
    "Two pods of a node cannot mount the same disk unless both only read it.",
    ("mount it read-only", "use a claim for each pod"),
)
_CLAIM_IN_USE = ReasonCode(
    "KS131",
    "claim-in-use",
    "another pod uses a claim that one pod at a time may use",
    "The claim's access mode is ReadWriteOncePod. In a rollout the old pod holds it until it is gone.",
    ("strategy: Recreate, or maxSurge: 0", "access mode ReadWriteOnce"),
)


class VolumeRestrictionsReasons(ReasonTable, plugins="VolumeRestrictions"):
    field = claim_field
    disk_in_use = ReasonKind(
        "node(s) had no available disk", _DISK_IN_USE, problem="have a pod that has its disk mounted"
    )
    claim_in_use = ReasonKind(
        Rule(
            "1.34",
            "message",
            "The reason is that another pod uses the ReadWriteOncePod claim; before, that a pod has it.",
            before="node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
            now="node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
            "another pod",
        ),
        _CLAIM_IN_USE,
        problem="are ruled out, since another pod uses its ReadWriteOncePod claim",
    )


class VolumeUseGuide(RejectionGuide):
    ends_without_pods = True

    def describe(self, figures: Figures) -> str:
        parts = []
        if "exclusiveClaims" in figures:
            users = named(figures["usedBy"]) or "another pod"
            parts.append(f"claim {', '.join(figures['exclusiveClaims'])} is for one pod only, and {users} uses it")
        if "disksHeldBy" in figures:
            parts.append(f"its disk is mounted by {named(figures['disksHeldBy'])}")
        return "; ".join(parts)

    describe_briefly = describe

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        yield place.remove({*figures.get("usedBy", ()), *figures.get("disksHeldBy", ())})


class VolumeRestrictionsRules(ReleaseRules, plugins="VolumeRestrictions"):
    notes = (
        Rule(
            "1.22",
            "filter",
            "Claims of the access mode ReadWriteOncePod are looked at where the gate of that name is on; before, "
            "never.",
        ),
        Rule(
            "ReadWriteOncePod",
            "filter",
            "A ReadWriteOncePod claim in use, and a claim that does not exist, reject the pod; without the gate, this "
            "plugin passes over both.",
        ),
    )


class ClaimsInUse(Struct):
    """The pod's claims for one pod only, and how often placed pods refer to them."""

    claims: frozenset[str]
    references: int


class VolumeRestrictions(PreFilterPlugin[ClaimsInUse], FilterPlugin[ClaimsInUse]):
    name = "VolumeRestrictions"
    points_since = (("preFilter", "1.22"),)
    summary = "Rejects nodes where a disk is mounted that cannot be shared, and claims that another pod uses alone."
    events = (
        ClusterEvent("Pod", Action.DELETE),
        ClusterEvent("Node", Action.ADD),
        ClusterEvent("PersistentVolumeClaim", Action.ADD),
    )

    def depends(self, info: PodInfo) -> Depends:
        return Depends("pods anywhere") if info.parts.uses_storage else NOTHING

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        if event.resource == "Node":
            return True
        if event.resource == "PersistentVolumeClaim":
            return new.metadata.namespace == info.namespace and new.metadata.name in mounted_claims(info.pod)
        if old.metadata.namespace != info.namespace:
            return False
        return _shares_disk(info.pod, old) or not set(mounted_claims(info.pod)).isdisjoint(mounted_claims(old))

    @property
    def _looks_at_claims(self) -> bool:
        return self.handle.gates.enabled("ReadWriteOncePod")

    def pre_filter(self, info: PodInfo) -> PreFilterResult[ClaimsInUse] | Status:
        if not info.pod.spec.volumes:
            return SKIP
        cluster = self.handle.cluster
        exclusive: set[str] = set()
        for name in mounted_claims(info.pod) if self._looks_at_claims else ():
            claim = find_claim(cluster.catalog, info.pod, name)
            if claim is None:
                return unresolvable(ClaimReasons.not_found(claim=name))
            if _ONE_POD in claim.spec.access_modes:
                exclusive.add(name)
        used = len(exclusive & _claims_in_use(cluster, info.namespace)) if exclusive else 0
        if not used and not any(map(_is_disk, info.pod.spec.volumes)):
            return SKIP
        return PreFilterResult(ClaimsInUse(frozenset(exclusive), used))

    def clone_state(self, state: ClaimsInUse) -> ClaimsInUse:
        return ClaimsInUse(state.claims, state.references)

    def add_pod(self, state: ClaimsInUse, info: PodInfo, other: int, row: int) -> None:
        state.references += self._references(state, other)

    def remove_pod(self, state: ClaimsInUse, info: PodInfo, other: int, row: int) -> None:
        state.references -= self._references(state, other)

    def _references(self, state: ClaimsInUse, other: int) -> int:
        """kube-scheduler compares names alone here, so a pod of another namespace counts too."""
        return sum(name in state.claims for name in mounted_claims(self.handle.cluster.pods.infos[other].pod))

    def filter(self, state: ClaimsInUse | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        conflict = _disk_conflicts(info.pod, nodes)
        if not self._looks_at_claims:
            other = SUCCESS
        elif state is None:
            other = error('cannot read "PreFilterVolumeRestrictions" from cycleState')
        else:
            in_use = unschedulable(VolumeRestrictionsReasons.of(self.handle.release).claim_in_use())
            other = in_use if state.references > 0 else SUCCESS
        disk_in_use = unschedulable(VolumeRestrictionsReasons.disk_in_use())
        return Verdict.by_group(conflict.astype(np.int32), (other, disk_in_use))

    def explain(self, state: ClaimsInUse | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """Exclusive claims with the pods that use them, and disks that are mounted on the node."""
        cluster, found = nodes.cluster, dict[str, Any]()
        if state is not None and state.references > 0:
            everywhere = cluster.nodes.all_rows.tolist()
            users = pods_that(cluster, everywhere, lambda other: _uses(state.claims, info, other))
            found |= {"exclusiveClaims": sorted(state.claims), "usedBy": users}
        row = nodes.rows[[index]]
        if _disk_conflicts(info.pod, NodeRows(cluster, row))[0]:
            found["disksHeldBy"] = pods_that(cluster, row.tolist(), lambda other: _shares_disk(info.pod, other.pod))
        return found


def _uses(claims: frozenset[str], info: PodInfo, other: PodInfo) -> bool:
    return other.namespace == info.namespace and not claims.isdisjoint(mounted_claims(other.pod))


def _shares_disk(pod: Pod, other: Pod) -> bool:
    return any(volumes_clash(mine, theirs) for theirs in other.spec.volumes for mine in pod.spec.volumes)


def _claims_in_use(cluster: Cluster, namespace: str) -> set[str]:
    pods = cluster.pods
    here = (pods.node_row >= 0) & (pods.namespace == pods.namespaces.id(namespace))
    return {name for row in np.nonzero(here)[0] for name in mounted_claims(pods.infos[row].pod)}


def _is_disk(volume: Volume) -> bool:
    disks = volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.rbd, volume.iscsi
    return any(disk is not None for disk in disks)


def _disk_conflicts(pod: Pod, nodes: NodeRows) -> BoolColumn:
    wanted = [volume for volume in pod.spec.volumes if _is_disk(volume)]
    conflict = np.zeros(len(nodes), dtype=np.bool_)
    if wanted:
        usage, infos = nodes.cluster.usage, nodes.cluster.pods.infos
        for index, row in enumerate(nodes.rows):
            mounted = (volume for other in usage.pods[row] for volume in infos[other].pod.spec.volumes)
            conflict[index] = any(volumes_clash(mine, theirs) for theirs in mounted for mine in wanted)
    return conflict


def volumes_clash(mine: Volume, theirs: Volume) -> bool:
    """Both are the same disk, and at least one of them may write to it."""
    gce, other_gce = mine.gce_persistent_disk, theirs.gce_persistent_disk
    if gce and other_gce and gce.pd_name == other_gce.pd_name and not (gce.read_only and other_gce.read_only):
        return True
    ebs, other_ebs = mine.aws_elastic_block_store, theirs.aws_elastic_block_store
    if ebs and other_ebs and ebs.volume_id == other_ebs.volume_id:
        return True
    iscsi, other_iscsi = mine.iscsi, theirs.iscsi
    if iscsi and other_iscsi and iscsi.iqn == other_iscsi.iqn and not (iscsi.read_only and other_iscsi.read_only):
        return True
    rbd, other_rbd = mine.rbd, theirs.rbd
    if rbd is None or other_rbd is None or (rbd.read_only and other_rbd.read_only):
        return False
    same_image = (rbd.pool, rbd.image) == (other_rbd.pool, other_rbd.image)
    return same_image and not set(rbd.monitors).isdisjoint(other_rbd.monitors)


SPEC = Spec(plugins=(VolumeRestrictions,), reasons=(VolumeRestrictionsReasons, ClaimReasons), guide=VolumeUseGuide())
