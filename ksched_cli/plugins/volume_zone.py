"""VolumeZone: rejects nodes outside of the zones and regions that labels of a bound volume list
(volumezone/volume_zone.go). Claims that wait for a node, and volumes with node affinity, are for another plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.catalog import Catalog, find_claim, mounted_claims
from ksched_cli.cluster.columns import BoolColumn
from ksched_cli.cluster.nodes import LabelColumns
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.reasons import Figures, Reason, ReasonCode, ReasonKind, ReasonTable, RejectionGuide
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, Status, error, unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.lib.volumes import (
    CLAIM_UNBOUND,
    WAIT_FOR_FIRST_CONSUMER,
    ClaimReasons,
    StoragePlugin,
    claim_field,
    class_of_claim,
)
from ksched_cli.releases.changes import ReleaseRules, Rule

# The beta labels, and those that took their place.
_GA_LABEL = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_SEPARATOR = "__"

_VOLUME_ZONE = ReasonCode(
    "KS128",
    "volume-zone",
    "the pod's volume is in another zone",
    "The labels of the bound PersistentVolume name a zone or region that the nodes are not in.",
    ("let the pod go to that zone", "add nodes there"),
)
_STORAGE_CLASS = ReasonCode(
    "KS132",
    "storage-class",
    "the StorageClass of a claim is missing or incomplete",
    "A claim without a volume names no class, or one that does not exist or has no volumeBindingMode.",
    ("add the StorageClass", "correct storageClassName"),
)


class VolumeZoneReasons(ReasonTable, plugins="VolumeZone"):
    field = claim_field
    other_zone = ReasonKind(
        "node(s) had no available volume zone", _VOLUME_ZONE, problem="are in another zone than its volume"
    )
    unbound = ReasonKind("PersistentVolume had no name", CLAIM_UNBOUND)
    without_class = ReasonKind("PersistentVolumeClaim had no pv name and storageClass name", _STORAGE_CLASS)
    class_not_found = ReasonKind(
        Rule(
            "1.20",
            before='StorageClass "{name}" claimed by PersistentVolumeClaim "{claim}" not found',
            now='storageclass.storage.k8s.io "{name}" not found',
            described_by="VolumeZone",
        ),
        _STORAGE_CLASS,
    )
    class_without_mode = ReasonKind('VolumeBindingMode not set for StorageClass "{name}"', _STORAGE_CLASS)


class ZoneGuide(RejectionGuide):
    is_about_the_place = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(
            f"volume {volume} is in {key}={' or '.join(values)}"
            for volume, where in figures.items()
            for key, values in where.items()
        )

    describe_briefly = describe


class VolumeZoneRules(ReleaseRules, plugins="VolumeZone"):
    missing_volumes_reject_everywhere = Rule(
        "1.27",
        "filter",
        "Volumes are looked up in PreFilter, so that one that does not exist rejects the pod everywhere; before, "
        "nodes without zone labels were passed unseen.",
    )
    beta_labels_match_their_successors = Rule(
        "1.29",
        "filter",
        "A volume with a beta zone or region label takes nodes that have only the label that took its place; before, "
        "it did not.",
    )
    bad_claims_reject = Rule(
        "1.20", "filter", "A claim that cannot be followed rejects the pod; before, the cycle ended in an error."
    )
    labels_without_beta = Rule(
        "1.19",
        "filter",
        "The labels topology.kubernetes.io/zone and region count, too; before, beta labels alone counted.",
    )


class VolumeTopology(Struct, frozen=True):
    """A volume is only in these zones (or regions)."""

    volume: str
    key: str
    values: frozenset[str]


Topologies = tuple[VolumeTopology, ...]


class VolumeZone(StoragePlugin, PreFilterPlugin[Topologies], FilterPlugin[Topologies]):
    name = "VolumeZone"
    points_since = (("preFilter", "1.27"),)
    summary = "Rejects nodes in another zone or region than the labels of the pod's volumes say."
    events = (
        ClusterEvent("StorageClass", Action.ADD),
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
        ClusterEvent("PersistentVolumeClaim", Action.ADD | Action.UPDATE),
        ClusterEvent("PersistentVolume", Action.ADD | Action.UPDATE),
    )

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        newer = _GA_LABEL.values() if VolumeZoneRules.of(handle.release).labels_without_beta else ()
        self.topology_labels = (*_GA_LABEL, *newer)

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        match event.resource:
            case "StorageClass":
                return bool(new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER)
            case "PersistentVolumeClaim":
                return new.metadata.namespace == info.namespace and new.metadata.name in mounted_claims(info.pod)
            case "PersistentVolume":
                keys = self.topology_labels
                return old is None or topologies_in(old, keys) != topologies_in(new, keys)
            case _:
                return True

    def pre_filter(self, info: PodInfo) -> PreFilterResult[Topologies] | Status:
        if not info.pod.spec.volumes:
            return SKIP
        topologies = self.topologies_of(info.pod, self.handle.cluster.catalog)
        if isinstance(topologies, Status):
            return topologies
        return PreFilterResult(topologies) if topologies else SKIP

    def filter(self, state: Topologies | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        # With PreFilter switched off by the profile the volumes are looked up here instead.
        topologies = self.topologies_of(info.pod, nodes.cluster.catalog) if state is None else state
        labels = nodes.cluster.nodes.labels
        # A node without any of the labels is taken for one of a cluster that has a single zone.
        constrained = np.logical_or.reduce([labels.column(key).present for key in self.topology_labels])
        if isinstance(topologies, Status):
            # Else a node without the labels passes without a look at the volumes.
            everywhere = VolumeZoneRules.of(self.handle.release).missing_volumes_reject_everywhere
            refused = np.ones_like(constrained) if everywhere else constrained
            return Verdict.rejecting(nodes.take(refused), topologies)
        conflict = np.zeros(len(nodes.cluster.nodes), dtype=np.bool_)
        for topology in topologies:
            conflict |= ~self._inside(labels, topology)
        return Verdict.rejecting(nodes.take(constrained & conflict), unresolvable(VolumeZoneReasons.other_zone()))

    def explain(self, state: Topologies | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The zones and regions of each volume that the node is not in."""
        labels, row = nodes.cluster.nodes.labels, nodes.rows[index]
        found: dict[str, dict[str, list[str]]] = {}
        for each in state or ():
            if not self._inside(labels, each)[row]:
                found.setdefault(each.volume, {})[each.key] = sorted(each.values)
        return found

    def _inside(self, labels: LabelColumns, topology: VolumeTopology) -> BoolColumn:
        """Nodes with one of the values. Of a node without the beta label the label counts that took its place."""
        column = labels.column(topology.key)
        inside = column.where(lambda value: value in topology.values)
        replacement = _GA_LABEL.get(topology.key)
        if replacement is not None and VolumeZoneRules.of(self.handle.release).beta_labels_match_their_successors:
            inside |= ~column.present & labels.column(replacement).where(lambda value: value in topology.values)
        return inside

    def topologies_of(self, pod: Pod, catalog: Catalog) -> Topologies | Status:
        """The topologies of the volumes that the pod's claims are bound to, without ephemeral volumes."""
        found: list[VolumeTopology] = []
        # Else a claim that cannot be followed ends the cycle.
        refuse = unresolvable if VolumeZoneRules.of(self.handle.release).bad_claims_reject else error
        for name in mounted_claims(pod):
            if not name:
                return refuse(ClaimReasons.without_name())
            claim = find_claim(catalog, pod, name)
            if claim is None:
                return refuse(ClaimReasons.not_found(claim=name))
            bound = claim.spec.volume_name
            if not bound:
                problem = self.problem_of_unbound(claim, catalog)
                if problem:
                    return refuse(problem)
                continue
            persistent = catalog.get(PersistentVolume, bound)
            if persistent is None:
                return refuse(ClaimReasons.volume_not_found(volume=bound))
            found += topologies_in(persistent, self.topology_labels)
        return tuple(found)

    def problem_of_unbound(self, claim: PersistentVolumeClaim, catalog: Catalog) -> Reason | str | None:
        """A claim without a volume is fine only while it waits for a pod to be scheduled."""
        name = class_of_claim(claim)
        if not name:
            return VolumeZoneReasons.without_class()
        found = catalog.get(StorageClass, name)
        if found is None:
            return VolumeZoneReasons.of(self.handle.release).class_not_found(name=name, claim=claim.metadata.name)
        if found.volume_binding_mode is None:
            return VolumeZoneReasons.class_without_mode(name=name)
        return None if found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else VolumeZoneReasons.unbound()


def topologies_in(volume: PersistentVolume, keys: Sequence[str]) -> list[VolumeTopology]:
    labels = volume.metadata.labels
    listed = [(key, labels[key].split(_SEPARATOR)) for key in keys if key in labels]
    # A list with an empty entry is not a list of zones: kube-scheduler logs it and leaves the label out.
    return [
        VolumeTopology(volume.metadata.name, key, frozenset(value.strip() for value in values))
        for key, values in listed
        if all(value.strip() for value in values)
    ]


SPEC = Spec(plugins=(VolumeZone,), reasons=(VolumeZoneReasons, ClaimReasons), guide=ZoneGuide())
