"""NodeVolumeLimits: how many volumes a CSI driver can attach to a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import holds_place
from ksched_cli.api.quantity import value
from ksched_cli.api.storage import CSIDriver, CSINode
from ksched_cli.cluster.claims import claim_names, uses_storage
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable
from ksched_cli.framework.rejections import Figures, RejectionGuide
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.lib.volumes.migration import CSI_DRIVER, in_tree_plugin
from ksched_cli.plugins.lib.volumes.reasons import ClaimReasons, LimitReasons, MissingClaim, UnusableClaim, claim_field
from ksched_cli.plugins.node_volume_limits.attached import Attached, attachable_volumes, attached_by_controller
from ksched_cli.plugins.node_volume_limits.rules import NodeVolumeLimitsRules

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
    driver_missing = ReasonKind("{driver} CSI driver is not installed on the node", _DRIVER_MISSING)


class LimitsGuide(RejectionGuide):
    ends_without_pods = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(
            f"{driver}: {each['attached']} of {each['limit']} volumes attached, {each['new']} more asked"
            for driver, each in figures.items()
            if each["attached"] + each["new"] > each["limit"]
        )

    describe_briefly = describe


class NodeVolumeLimits(PreFilterPlugin[None], FilterPlugin[None]):
    name = "NodeVolumeLimits"
    points_since = (("preFilter", "1.28"),)
    summary = "Rejects nodes to which a CSI driver cannot attach as many volumes more as the pod needs."
    events = (
        ClusterEvent("CSINode", Action.ADD | Action.UPDATE),
        ClusterEvent("Pod", Action.DELETE),
        ClusterEvent("PersistentVolumeClaim", Action.ADD),
        ClusterEvent("VolumeAttachment", Action.DELETE),
    )

    def depends(self, pod: PodInfo) -> Depends:
        return Depends("pods on the node") if uses_storage(pod.pod) else NOTHING

    def is_schedulable_after(self, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        match event.resource:
            case "CSINode":
                return old is None or _raises_a_limit(old, new)
            case "Pod":
                return holds_place(old) and _has_attachable(old)
            case "PersistentVolumeClaim":
                mine = new.metadata.namespace == pod.namespace
                return mine and any(new.metadata.name == claim.name for claim in claim_names(pod.pod))
            case _:
                return any(
                    volume.persistent_volume_claim is not None
                    or CSI_DRIVER.get(in_tree_plugin(volume) or "") == old.spec.attacher
                    for volume in pod.pod.spec.volumes
                )

    def pre_filter(self, pod: PodInfo) -> PreFilterResult[None] | Status:
        return PreFilterResult(None) if _has_attachable(pod.pod) else SKIP

    def filter(self, state: None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        if not pod.pod.spec.volumes:
            # Before there was a PreFilter it ran for every pod.
            return Verdict.passing(len(nodes))
        return Verdict.from_statuses([self._check(pod, int(row)) for row in nodes.rows])

    def explain(self, state: None, pod: PodInfo, nodes: NodeRows, index: int) -> Detail:
        row = int(nodes.rows[index])
        csi_node = self._csi_node(row)
        new, used = self._counts(pod, row, csi_node)
        limits = self._limits(row, csi_node)
        return {driver: {"limit": limits[driver], "attached": used[driver], "new": new[driver]} for driver in limits}

    def _check(self, pod: PodInfo, row: int) -> Status:
        csi_node = self._csi_node(row)
        limits = self._limits(row, csi_node)
        try:
            wanted = self._volumes(pod.pod, csi_node, required=True)
            missing = self._missing_driver(wanted, csi_node)
            if missing:
                return unschedulable(NodeVolumeLimitsReasons.driver_missing(driver=missing))
            if not wanted or not limits:
                return SUCCESS
            new, used = self._counts(pod, row, csi_node)
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
        for name in sorted(set(wanted.values()) - installed):
            driver = self.handle.cluster.catalog.get(CSIDriver, name)
            if driver is None:
                continue
            if (
                driver.spec.prevent_pod_scheduling_if_missing
                or not NodeVolumeLimitsRules.of(self.handle.release).missing_drivers_opt_in
            ):
                return name
        return None

    def _counts(self, pod: PodInfo, row: int, csi_node: CSINode | None) -> tuple[Counter[str], Counter[str]]:
        """Volumes by driver: those that the pod would add, and those that are there. One volume counts once."""
        cluster = self.handle.cluster
        present: Attached = {}
        for other in cluster.usage.pods[row]:
            present |= self._volumes(cluster.pods.infos[other].pod, csi_node, required=False)
        wanted = self._volumes(pod.pod, csi_node, required=True)
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
