"""NodeVolumeLimits: how many volumes a CSI driver can attach to a node (nodevolumelimits/csi.go).

Volumes are counted by the names that they have for the driver, once per node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import holds_place
from ksched_cli.api.quantity import value
from ksched_cli.api.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from ksched_cli.cluster.catalog import Catalog, claim_names
from ksched_cli.cluster.columns import BoolColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.reasons import Figures, ReasonCode, ReasonKind, ReasonTable, RejectionGuide
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.lib.volumes import (
    CSI_DRIVER,
    ClaimReasons,
    LimitReasons,
    MissingClaim,
    StoragePlugin,
    UnusableClaim,
    claim_field,
    class_of_claim,
    counts_as_csi,
    in_tree_plugin,
    limited_claims,
    volume_handle,
    zones_by_label,
)
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import AZURE_DISK_LIMITS, CINDER_LIMITS, EBS_LIMITS, GCEPD_LIMITS


class NodeVolumeLimitsRules(ReleaseRules, plugins="NodeVolumeLimits"):
    missing_drivers_opt_in = Rule(
        "1.36",
        "filter",
        "With the gate VolumeLimitScaling only drivers that ask for it keep pods away from nodes without them; "
        "before, all did.",
    )
    counts_attachments = Rule(
        "1.32",
        "filter",
        "Volumes that VolumeAttachments say are on the node count, and limits are those of the CSINode alone; before, "
        "only the volumes of pods counted, and the node could announce limits itself.",
    )
    counts_disks_of_the_pod = Rule(
        "1.25",
        "filter",
        "Migrated in-tree disks that the pod names itself count for the CSI driver; before, only those of claims.",
    )
    notes = (
        Rule(
            "1.28",
            "filter",
            "Skipped for pods without volumes that could be limited; before, it ran for every pod.",
            plugins=f"NodeVolumeLimits {EBS_LIMITS} {GCEPD_LIMITS} {AZURE_DISK_LIMITS} {CINDER_LIMITS}",
        ),
        Rule(
            "VolumeLimitScaling",
            "filter",
            "Nodes where a driver is missing that asks for it reject the pod; without the gate, they pass.",
        ),
    )


Attached = dict[str, str]
"""Driver by unique volume name."""

Migrated = Callable[[str], bool]
"""Whether the volumes of an in-tree plugin count as its driver's."""

# kube-scheduler draws a random prefix; all that matters is that no driver gives out such handles.
_UNBOUND = "unbound claim "


def unique_name(driver: str, handle: str) -> str:
    return f"{driver}/{handle}"


def attachable_volumes(
    pod: Pod, catalog: Catalog, csi_node: CSINode | None, gates: FeatureGates, release: Release, *, required: bool
) -> Attached:
    """The pod's volumes that a driver has to attach; MissingClaim if a claim that is `required` does not exist."""
    migrated = partial(counts_as_csi, csi_node=csi_node, gates=gates, release=release)
    inline = NodeVolumeLimitsRules.of(release).counts_disks_of_the_pod
    found: Attached = dict(_inline_volumes(pod, migrated)) if inline else {}
    for claim in limited_claims(pod, catalog, release, required=required):
        driver, handle = _volume_of(claim, catalog, migrated, release)
        if driver and handle:
            found[unique_name(driver, handle)] = driver
    return found


def attached_by_controller(node: str, catalog: Catalog) -> Attached:
    """The volumes that VolumeAttachments list for the node."""
    found: Attached = {}
    for attachment in catalog.all(VolumeAttachment):
        spec = attachment.spec
        name = spec.source.persistent_volume_name if spec.node_name == node else None
        volume = catalog.get(PersistentVolume, name) if name else None
        if volume is not None and volume.spec.csi is not None:
            found[unique_name(spec.attacher, volume.spec.csi.volume_handle)] = spec.attacher
    return found


def _inline_volumes(pod: Pod, migrated: Migrated) -> Iterator[tuple[str, str]]:
    for volume in pod.spec.volumes:
        plugin = in_tree_plugin(volume)
        if plugin is not None and migrated(plugin):
            driver = CSI_DRIVER[plugin]
            yield unique_name(driver, volume_handle(volume)), driver


def _volume_of(claim: PersistentVolumeClaim, catalog: Catalog, migrated: Migrated, release: Release) -> tuple[str, str]:
    """Driver and handle of the claim's volume, empty where it does not count."""
    name = claim.spec.volume_name
    volume = catalog.get(PersistentVolume, name) if name else None
    if volume is None:
        return _future_volume(claim, catalog, migrated)
    if volume.spec.csi is not None:
        return volume.spec.csi.driver, volume.spec.csi.volume_handle
    plugin = in_tree_plugin(volume.spec)
    if plugin is None or not migrated(plugin):
        return "", ""
    return CSI_DRIVER[plugin], volume_handle(volume.spec, zones_by_label(volume, release))


def _future_volume(claim: PersistentVolumeClaim, catalog: Catalog, migrated: Migrated) -> tuple[str, str]:
    """Driver and handle for a claim without a volume, which the driver of its class will make."""
    found = catalog.get(StorageClass, class_of_claim(claim))
    if found is None:
        return "", ""
    handle = f"{_UNBOUND}{claim.metadata.namespace}/{claim.metadata.name}"
    if found.provisioner not in CSI_DRIVER:
        return found.provisioner, handle
    return (CSI_DRIVER[found.provisioner], handle) if migrated(found.provisioner) else ("", "")


_TOO_MANY = unschedulable(LimitReasons.too_many_volumes())
_DRIVER_MISSING = ReasonCode(
    "KS133",
    "driver-missing",
    "the nodes do not have the volume's CSI driver",
    "The CSINode of the node does not list the driver.",
    ("install the driver on the nodes",),
)


class NodeVolumeLimitsReasons(ReasonTable, plugins="NodeVolumeLimits"):
    field = claim_field
    driver_missing = ReasonKind(
        "{driver} CSI driver is not installed on the node", _DRIVER_MISSING, problem="lack the CSI driver {driver}"
    )


class LimitsGuide(RejectionGuide):
    ends_without_pods = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(
            f"{driver}: {each['attached']} of {each['limit']} volumes attached, {each['new']} more asked"
            for driver, each in figures.items()
            if each["attached"] + each["new"] > each["limit"]
        )

    describe_briefly = describe


class NodeVolumeLimits(StoragePlugin, PreFilterPlugin[None], FilterPlugin[None]):
    name = "NodeVolumeLimits"
    points_since = (("preFilter", "1.28"),)
    summary = "Rejects nodes to which a CSI driver cannot attach as many volumes more as the pod needs."
    events = (
        ClusterEvent("CSINode", Action.ADD | Action.UPDATE),
        ClusterEvent("Pod", Action.DELETE),
        ClusterEvent("PersistentVolumeClaim", Action.ADD),
        ClusterEvent("VolumeAttachment", Action.DELETE),
    )

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        match event.resource:
            case "CSINode":
                return old is None or _raises_a_limit(old, new)
            case "Pod":
                return holds_place(old) and _has_attachable(old)
            case "PersistentVolumeClaim":
                mine = new.metadata.namespace == info.namespace
                return mine and any(new.metadata.name == claim.name for claim in claim_names(info.pod))
            case _:
                return any(
                    volume.persistent_volume_claim is not None
                    or CSI_DRIVER.get(in_tree_plugin(volume) or "") == old.spec.attacher
                    for volume in info.pod.spec.volumes
                )

    def pre_filter(self, info: PodInfo) -> PreFilterResult[None] | Status:
        return PreFilterResult(None) if _has_attachable(info.pod) else SKIP

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        if not info.pod.spec.volumes:
            # Before there was a PreFilter it ran for every pod.
            return Verdict.passing(len(nodes))
        # Nodes without a CSINode and without limits are all alike: they have the first status.
        special = self._special_rows()[nodes.rows]
        plain, others = nodes.rows[~special][:1].tolist(), nodes.rows[special].tolist()
        statuses = [self._check(info, row, None) for row in plain] or [SUCCESS]
        statuses += [self._check(info, row, self._csi_node(row)) for row in others]
        group = np.zeros(len(nodes), dtype=np.int32)
        group[special] = np.arange(1, len(statuses))
        return Verdict.by_group(group, statuses)

    def _special_rows(self) -> BoolColumn:
        """Which nodes have a CSINode or limits of their own."""
        table = self.handle.cluster.nodes
        names = [each.metadata.name for each in self.handle.cluster.catalog.all(CSINode)]
        special = np.zeros(len(table), dtype=np.bool_)
        special[[table.row_of[name] for name in names if name in table.row_of]] = True
        if not NodeVolumeLimitsRules.of(self.handle.release).counts_attachments:
            special |= [bool(self._limits(row, None)) for row in range(len(table))]
        return special

    def explain(self, state: None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        row = int(nodes.rows[index])
        csi_node = self._csi_node(row)
        new, used = self._counts(info, row, csi_node)
        limits = self._limits(row, csi_node)
        return {driver: {"limit": limits[driver], "attached": used[driver], "new": new[driver]} for driver in limits}

    def _check(self, info: PodInfo, row: int, csi_node: CSINode | None) -> Status:
        limits = self._limits(row, csi_node)
        try:
            wanted = self._volumes(info.pod, csi_node, required=True)
            missing = self._missing_driver(wanted, csi_node)
            if missing:
                return unschedulable(NodeVolumeLimitsReasons.driver_missing(driver=missing))
            if not wanted or not limits:
                return SUCCESS
            new, used = self._counts(info, row, csi_node)
        except MissingClaim as problem:
            return unresolvable(problem.reason)
        except UnusableClaim as problem:
            return error(problem.reason)
        exceeded = any(driver in limits and used[driver] + count > limits[driver] for driver, count in new.items())
        return _TOO_MANY if exceeded else SUCCESS

    def _missing_driver(self, wanted: Attached, csi_node: CSINode | None) -> str | None:
        """A driver that keeps its pods off nodes where it does not run (gate VolumeLimitScaling); in 1.35 all do."""
        if not self.handle.gates.enabled("VolumeLimitScaling"):
            return None
        installed = {driver.name for driver in csi_node.spec.drivers} if csi_node is not None else set()
        opt_in = NodeVolumeLimitsRules.of(self.handle.release).missing_drivers_opt_in
        for name in sorted(set(wanted.values()) - installed):
            driver = self.handle.cluster.catalog.get(CSIDriver, name)
            if driver is not None and (driver.spec.prevent_pod_scheduling_if_missing or not opt_in):
                return name
        return None

    def _counts(self, info: PodInfo, row: int, csi_node: CSINode | None) -> tuple[Counter[str], Counter[str]]:
        """Volumes by driver: those that the pod would add, and those that are there. One volume counts once."""
        cluster = self.handle.cluster
        present: Attached = {}
        for other in cluster.usage.pods[row]:
            present |= self._volumes(cluster.pods.infos[other].pod, csi_node, required=False)
        wanted = self._volumes(info.pod, csi_node, required=True)
        new = Counter(driver for name, driver in wanted.items() if name not in present)
        if NodeVolumeLimitsRules.of(self.handle.release).counts_attachments:
            present |= attached_by_controller(cluster.nodes.names[row], cluster.catalog)
        return new, Counter(present.values())

    def _volumes(self, pod: Pod, csi_node: CSINode | None, *, required: bool) -> Attached:
        catalog, gates = self.handle.cluster.catalog, self.handle.gates
        return attachable_volumes(pod, catalog, csi_node, gates, self.handle.release, required=required)

    def _csi_node(self, row: int) -> CSINode | None:
        return self.handle.cluster.catalog.get(CSINode, self.handle.cluster.nodes.names[row])

    def _limits(self, row: int, csi_node: CSINode | None) -> Mapping[str, int]:
        """Drivers with a limit of volumes that they can attach to the node; up to 1.31 the node itself could have one
        too, as a resource named after the driver."""
        limits: dict[str, int] = {}
        if not NodeVolumeLimitsRules.of(self.handle.release).counts_attachments:
            announced = self.handle.cluster.nodes.objects[row].status.allocatable
            prefix = "attachable-volumes-csi-"
            limits = {
                name.removeprefix(prefix): value(each) for name, each in announced.items() if name.startswith(prefix)
            }
        return limits | _announced(csi_node)


def _has_attachable(pod: Pod) -> bool:
    volumes = pod.spec.volumes
    return bool(volumes) and (any(claim_names(pod)) or any(in_tree_plugin(volume) is not None for volume in volumes))


def _raises_a_limit(old: CSINode, new: CSINode) -> bool:
    before, now = _announced(old), _announced(new)
    return any(limit > before.get(driver, 0) for driver, limit in now.items())


def _announced(csi_node: CSINode | None) -> dict[str, int]:
    """Drivers with a limit of volumes that they can attach to the node."""
    drivers = csi_node.spec.drivers if csi_node is not None else ()
    counted = ((driver.name, driver.allocatable) for driver in drivers)
    return {name: most.count for name, most in counted if most is not None and most.count is not None}


SPEC = Spec(
    plugins=(NodeVolumeLimits,), reasons=(NodeVolumeLimitsReasons, LimitReasons, ClaimReasons), guide=LimitsGuide()
)
