"""VolumeBinding: claims that are bound to volumes elsewhere, and volumes for the claims that wait for a node
(volumebinding/volume_binding.go). `placement.py` finds the volumes (volumebinding/binder.go). A provisioner that makes
a volume never fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace

from ksched_cli.api.core import ObjectReference, Pod
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog, claim_names, find_claim
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import VolumeBindingArgs
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import (
    Detail,
    FilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
)
from ksched_cli.framework.reasons import Figures, Reason, RejectionGuide
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.lib.volumes import (
    SELECTED_NODE,
    ClaimReasons,
    StoragePlugin,
    foreign_claim,
    is_fully_bound,
    migrated_plugins,
    waits_for_consumer,
)
from ksched_cli.plugins.volume_binding.placement import (
    PodClaims,
    Shape,
    VolumeBindingReasons,
    VolumeBindingRules,
    VolumePlacement,
    affinity_mask,
    largest_volume,
    storage_scores,
)
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release

_IMMEDIATE = unresolvable(VolumeBindingReasons.immediate())
_LOST = "Lost"
_HOST = "kubernetes.io/hostname"
_MOST_FREE_FIRST: Shape = ((0, 10), (100, 0))
_FULLEST_FIRST: Shape = ((0, 0), (100, 10))


class VolumesGuide(RejectionGuide):
    is_about_the_place = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(
            f"volume {volume} of claim {claim} {problem}"
            for kind, problem in (("unreachable", "is not reached"), ("missing", "does not exist"))
            for claim, volume in figures.get(kind, {}).items()
        )

    describe_briefly = describe


@dataclass
class Volumes:
    """The pod's claims; the places of their volumes are computed for the first node that needs them."""

    cluster: Cluster
    claims: PodClaims
    gates: FeatureGates

    @cached_property
    def placement(self) -> VolumePlacement:
        return VolumePlacement(self.cluster, self.claims, self.gates)

    @cached_property
    def verdict(self) -> Verdict:
        return self.placement.verdict()

    def __post_init__(self) -> None:
        # What a reservation replaced, so that it can be taken back.
        self.replaced: list[PersistentVolume | PersistentVolumeClaim] = []
        # Whether a volume that exists would be bound on some node that passed.
        self.binds_volumes = False


class VolumeBinding(
    StoragePlugin,
    PreFilterPlugin[Volumes],
    FilterPlugin[Volumes],
    PreScorePlugin[Volumes, Volumes],
    ScorePlugin[Volumes],
    ReservePlugin[Volumes],
    PreBindPlugin[Volumes],
):
    name = "VolumeBinding"
    column = "Volumes"
    since = "1.19"
    points_since = (("score", "1.21"), ("preScore", "1.30"))
    summary = "Rejects nodes from which a claim's volume is not reached, or where none can be found or made for it."
    args: VolumeBindingArgs
    events = (
        ClusterEvent("StorageClass", Action.ADD | Action.UPDATE),
        ClusterEvent("PersistentVolumeClaim", Action.ADD | Action.UPDATE),
        ClusterEvent("PersistentVolume", Action.ADD | Action.UPDATE),
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
        ClusterEvent("CSINode", Action.ADD | Action.UPDATE),
        ClusterEvent("CSIDriver", Action.UPDATE),
        ClusterEvent("CSIStorageCapacity", Action.ADD | Action.UPDATE),
    )

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        points = [(point.utilization, point.score) for point in (args.shape if args else ())]
        # Up to 1.32 only volumes that exist were scored, and the fullest first.
        self._scores_pools = handle.gates.enabled("StorageCapacityScoring")
        scores = self._scores_pools or handle.gates.enabled("VolumeCapacityPriority")
        default = _MOST_FREE_FIRST if self._scores_pools else _FULLEST_FIRST
        self._shape: Shape = (points or default) if scores else ()

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        match event.resource:
            case "PersistentVolumeClaim":
                mine = new.metadata.namespace == info.namespace
                return mine and any(new.metadata.name == claim.name for claim in claim_names(info.pod))
            case "StorageClass":
                return old is None or old.allowed_topologies != new.allowed_topologies
            case "CSINode":
                return old is None or migrated_plugins(old) != migrated_plugins(new)
            case "CSIDriver":
                inline = any(volume.csi and volume.csi.driver == new.metadata.name for volume in info.pod.spec.volumes)
                return inline and bool(old.spec.storage_capacity) and not new.spec.storage_capacity
            case "CSIStorageCapacity":
                return old is None or largest_volume(new) > largest_volume(old)
            case _:
                return True

    def pre_filter(self, info: PodInfo) -> PreFilterResult[Volumes] | Status:
        catalog = self.handle.cluster.catalog
        found = _claims_of(info.pod, catalog, self.handle.release)
        if isinstance(found, Status):
            return found
        if not found:
            nothing = Volumes(self.handle.cluster, PodClaims((), ()), self.handle.gates)
            return PreFilterResult(nothing, skip=True) if self._shape else SKIP
        unbound = [claim for claim in found if not is_fully_bound(claim)]
        delayed = [each for each in unbound if waits_for_consumer(each, catalog) and not each.spec.volume_name]
        if len(delayed) < len(unbound):
            return _IMMEDIATE
        bound = tuple(claim for claim in found if is_fully_bound(claim))
        narrows = VolumeBindingRules.of(self.handle.release).narrows_to_local_volumes
        names = _nodes_of_local_volumes(bound, catalog) if narrows else None
        return PreFilterResult(Volumes(self.handle.cluster, PodClaims(bound, tuple(delayed)), self.handle.gates), names)

    def filter(self, state: Volumes | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        if state is None:
            return Verdict.of_all(len(nodes), error("not found"))
        whole = state.verdict
        if self._shape and not state.binds_volumes:
            passing = nodes.rows[nodes.take(whole.codes) == 0]
            state.binds_volumes = any((each.chosen[passing] >= 0).any() for each in state.placement.static)
        return Verdict(nodes.take(whole.codes), nodes.take(whole.reason_ids), whole.reasons)

    def explain(self, state: Volumes | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """Volumes that do not reach the node or do not exist, and the claims that wait for a node to be chosen."""
        if state is None:
            return {}
        row, cluster = int(nodes.rows[index]), nodes.cluster
        found: dict[str, Any] = {"unreachable": {}, "missing": {}}
        for claim in state.claims.bound:
            volume = cluster.catalog.get(PersistentVolume, claim.spec.volume_name)
            if volume is None:
                found["missing"][claim.metadata.name] = claim.spec.volume_name
            elif not affinity_mask(cluster, volume)[row]:
                found["unreachable"][claim.metadata.name] = claim.spec.volume_name
        found["waitingForNode"] = [claim.metadata.name for claim in state.claims.delayed]
        return {key: value for key, value in found.items() if value}

    def pre_score(self, state: Volumes | None, info: PodInfo, nodes: NodeRows) -> Volumes | Status:
        if not self._shape:
            return SKIP
        if state is None:
            return error("not found")
        return state if self._scores_pools or state.binds_volumes else SKIP

    def score(self, state: Volumes | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """A score by the utilization of the storage. Without its gate every node scores 0, up to 1.29."""
        if not self._shape:
            return np.zeros(len(nodes), dtype=np.int64)
        if state is None:
            return error("not found")
        pools = self._scores_pools
        whole: Int64Column = storage_scores(self.handle.cluster, state.placement, self._shape, pools=pools)
        return nodes.take(whole)

    def reserve(self, state: Volumes | None, info: PodInfo, row: int) -> Status:
        """AssumePodVolumes: later pods see the volumes taken and the claims promised to this node."""
        if state is None:
            return SUCCESS
        catalog = self.handle.cluster.catalog
        for choice in state.placement.static:
            if choice.chosen[row] >= 0:
                volume = choice.volumes[choice.chosen[row]]
                state.replaced.append(volume)
                catalog.put(_bound_to(volume, choice.claim))
        for claim, rows in state.placement.provisioned:
            if rows[row]:
                state.replaced.append(claim)
                catalog.put(_promised_to(claim, self.handle.cluster.nodes.names[row]))
        return SUCCESS

    def pre_bind(self, state: Volumes | None, info: PodInfo, row: int) -> Status:
        # What the controllers are waited for here is done as soon as it is reserved.
        return SUCCESS

    def unreserve(self, state: Volumes | None, info: PodInfo, row: int) -> None:
        if state is not None:
            for item in state.replaced:
                self.handle.cluster.catalog.put(item)
            state.replaced.clear()


def _nodes_of_local_volumes(bound: Sequence[PersistentVolumeClaim], catalog: Catalog) -> frozenset[str] | None:
    """GetEligibleNodes, up to 1.31.2: the nodes to which local volumes keep the pod, None where nothing is known."""
    eligible: frozenset[str] | None = None
    for claim in bound:
        volume = catalog.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            return None
        names = _node_names_of(volume)
        if names:
            eligible = names if eligible is None else eligible & names
    return eligible


def _node_names_of(volume: PersistentVolume) -> frozenset[str]:
    """GetLocalPersistentVolumeNodeNames: the values of the hostname label in the volume's affinity."""
    affinity = volume.spec.node_affinity
    if volume.spec.local is None or affinity is None or affinity.required is None:
        return frozenset()
    found: set[str] = set()
    for term in affinity.required.node_selector_terms:
        values = [
            frozenset(each.values) for each in term.match_expressions if each.key == _HOST and each.operator == "In"
        ]
        found |= frozenset.intersection(*values) if values else frozenset()
    return frozenset(found)


def _claims_of(pod: Pod, catalog: Catalog, release: Release) -> list[PersistentVolumeClaim] | Status:
    """All claims of the pod, or what is wrong with the first that it cannot be scheduled with."""
    found: list[PersistentVolumeClaim] = []
    for name, ephemeral in claim_names(pod):
        claim = find_claim(catalog, pod, name)
        if claim is None and ephemeral:
            return unresolvable(VolumeBindingReasons.of(release).awaited(claim=name))
        if claim is None:
            return unresolvable(ClaimReasons.not_found(claim=name))
        problem = _problem_of(claim, release) or (foreign_claim(pod, claim) if ephemeral else None)
        if problem:
            return unresolvable(problem)
        found.append(claim)
    return found


def _problem_of(claim: PersistentVolumeClaim, release: Release) -> Reason | None:
    name = claim.metadata.name
    if claim.status.phase == _LOST and VolumeBindingRules.of(release).lost_claims_reject:
        return VolumeBindingReasons.lost(claim=name, volume=claim.spec.volume_name)
    if claim.metadata.deletion_timestamp is not None:
        return VolumeBindingReasons.being_deleted(claim=name)
    return None


def _bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    meta = claim.metadata
    ref = ObjectReference(
        kind="PersistentVolumeClaim", api_version="v1", namespace=meta.namespace, name=meta.name, uid=meta.uid
    )
    return replace(volume, spec=replace(volume.spec, claim_ref=ref))


def _promised_to(claim: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
    annotations = {**claim.metadata.annotations, SELECTED_NODE: node}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))


SPEC = Spec(plugins=(VolumeBinding,), reasons=(VolumeBindingReasons, ClaimReasons), guide=VolumesGuide())
