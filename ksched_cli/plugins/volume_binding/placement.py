"""Which volume each claim of a pod would get on each node (volumebinding.FindPodVolumes, for all nodes at once)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.api.selectors import Requirement
from ksched_cli.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, TopologySelectorTerm
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, IdColumn
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.status import SUCCESS, Status, error, unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.volumes.claims import SELECTED_NODE, class_of_claim, requested_storage
from ksched_cli.plugins.lib.volumes.migration import in_tree_plugin, is_migrated, translated_terms
from ksched_cli.plugins.volume_binding.capacity import with_enough_capacity
from ksched_cli.plugins.volume_binding.matching import candidates_for
from ksched_cli.plugins.volume_binding.reasons import VolumeBindingReasons
from ksched_cli.plugins.volume_binding.rules import VolumeBindingRules
from ksched_cli.releases.gates import FeatureGates

NO_PROVISIONER = "kubernetes.io/no-provisioner"

_AFFINITY, _BIND, _SPACE, _EXISTS = range(4)
_KINDS = 4
_NONE = -1


class PodClaims(Struct, frozen=True):
    """The claims of a pod that reached the nodes: bound ones, and those that wait for a node to be chosen."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]


class StaticChoice(Struct):
    """For every node the index of the volume that the claim would get there, -1 for none."""

    claim: PersistentVolumeClaim
    volumes: Sequence[PersistentVolume]
    chosen: IdColumn


class VolumePlacement:
    """FindPodVolumes for every node of the cluster: what is wrong, and what would be bound or provisioned."""

    def __init__(self, cluster: Cluster, claims: PodClaims, gates: FeatureGates) -> None:
        self._cluster, self._gates, self.size = cluster, gates, len(cluster.nodes)
        self._rules = VolumeBindingRules.of(cluster.release)
        self._failing: BoolColumn = np.zeros((_KINDS, self.size), dtype=np.bool_)
        self._error: IdColumn = np.full(self.size, _NONE, dtype=np.int32)
        self._errors: list[Status] = []
        self.static: list[StaticChoice] = []
        self.provisioned: list[tuple[PersistentVolumeClaim, BoolColumn]] = []
        self._check_bound(claims.bound)
        on_selected = self._selected_rows(claims.delayed)
        self._failing[_BIND] = ~on_selected
        promised = [(claim, on_selected) for claim in claims.delayed if SELECTED_NODE in claim.metadata.annotations]
        to_match = [claim for claim in claims.delayed if SELECTED_NODE not in claim.metadata.annotations]
        self._provision([*promised, *self._match(to_match, on_selected)])

    def verdict(self) -> Verdict:
        """Every reason of a node in kube-scheduler's order; an error hides them."""
        bits_of = sum(self._failing[index].astype(np.int32) << index for index in range(_KINDS))
        combinations = 1 << _KINDS
        group = np.where(self._error == _NONE, bits_of, self._error + combinations).astype(np.int32)
        reasons = VolumeBindingReasons.of(self._cluster.release)
        known = reasons.volume_elsewhere(), reasons.no_volume(), reasons.no_storage(), reasons.volume_missing()
        return Verdict.by_group(group, [*(_status_of(bits, known) for bits in range(combinations)), *self._errors])

    def _raise_error(self, rows: BoolColumn, message: str) -> None:
        self._error[rows] = len(self._errors)
        self._errors.append(error(message))

    def _check_bound(self, claims: Sequence[PersistentVolumeClaim]) -> None:
        """Checks bound claims. The first claim that fails on a node is reported there."""
        undecided = np.ones(self.size, dtype=np.bool_)
        for claim in claims:
            volume = self._cluster.catalog.get(PersistentVolume, claim.spec.volume_name)
            if volume is None:
                if self._rules.missing_volumes_reject:
                    self._failing[_EXISTS] |= undecided
                else:
                    self._raise_error(undecided, f'could not find v1.PersistentVolume "{claim.spec.volume_name}"')
                return
            reachable = self._reachable(volume)
            self._failing[_AFFINITY] |= undecided & ~reachable
            undecided &= reachable

    def _reachable(self, volume: PersistentVolume) -> BoolColumn:
        """tryTranslatePVToCSI: nodes to which the volume's plugin is migrated are matched by the driver's labels."""
        cluster, mask = self._cluster, affinity_mask(self._cluster, volume)
        plugin, terms = in_tree_plugin(volume.spec), translated_terms(volume, cluster.release)
        if plugin is None or not terms:
            return mask
        migrated = np.zeros(len(mask), dtype=np.bool_)
        for csi_node in cluster.catalog.all(CSINode):
            row = cluster.nodes.row_of.get(csi_node.metadata.name)
            if row is not None:
                migrated[row] = is_migrated(plugin, csi_node, self._gates)
        return np.where(migrated, cluster.selection.terms_mask(terms), mask)

    def _selected_rows(self, claims: Sequence[PersistentVolumeClaim]) -> BoolColumn:
        """Nodes that agree with the selected-node annotation of every claim."""
        rows = np.ones(self.size, dtype=np.bool_)
        for claim in claims:
            selected = claim.metadata.annotations.get(SELECTED_NODE)
            if selected is not None:
                rows &= np.array([name == selected for name in self._cluster.nodes.names], dtype=np.bool_)
        return rows

    def _match(
        self, claims: Sequence[PersistentVolumeClaim], rows: BoolColumn
    ) -> list[tuple[PersistentVolumeClaim, BoolColumn]]:
        """Chooses existing volumes, smallest claim first, and returns on which nodes each claim has none."""
        left: list[tuple[PersistentVolumeClaim, BoolColumn]] = []
        taken: dict[str, BoolColumn] = {}
        # An API server that has the gate off keeps no such classes.
        by_attributes = self._rules.matches_attributes and self._gates.enabled("VolumeAttributesClass")
        for claim in sorted(claims, key=lambda each: requested_storage(each) or 0):
            prebound, others = candidates_for(claim, self._cluster.catalog, by_attributes=by_attributes)
            choice = StaticChoice(claim, [*prebound, *others], np.full(self.size, _NONE, dtype=np.int32))
            open_rows = rows.copy()
            for index, volume in enumerate(choice.volumes):
                if not open_rows.any():
                    break
                free = open_rows & ~taken[volume.metadata.name] if volume.metadata.name in taken else open_rows
                here = free & affinity_mask(self._cluster, volume)
                choice.chosen[here] = index
                taken[volume.metadata.name] = taken.get(volume.metadata.name, False) | here
                # A volume that was made for the claim is the only one it may have, on whatever node.
                open_rows = open_rows & ~(free if index < len(prebound) else here)
            self.static.append(choice)
            unmatched = rows & (choice.chosen == _NONE)
            self._failing[_BIND] |= unmatched
            left.append((claim, unmatched))
        return left

    def _provision(self, claims: Sequence[tuple[PersistentVolumeClaim, BoolColumn]]) -> None:
        """Notes where a class can provision the claims. The first claim that cannot be provisioned decides."""
        undecided = np.ones(self.size, dtype=np.bool_)
        for _, rows in claims:
            self._failing[_BIND] &= ~rows
        for claim, wanted in claims:
            rows = wanted & undecided
            if not rows.any():
                continue
            problem, unbindable, full = self._provisioning_of(claim, rows)
            if problem:
                self._raise_error(rows, problem)
            self._failing[_BIND] |= unbindable
            self._failing[_SPACE] |= full
            undecided &= ~(unbindable | full | (rows if problem else False))
            self.provisioned.append((claim, rows))

    def _provisioning_of(self, claim: PersistentVolumeClaim, rows: BoolColumn) -> tuple[str, BoolColumn, BoolColumn]:
        """The error on all nodes, the `rows` where no volume can be provisioned, and those without the space."""
        nowhere = np.zeros(len(rows), dtype=np.bool_)
        name = class_of_claim(claim)
        if not name:
            return f'no class for claim "{claim.metadata.namespace}/{claim.metadata.name}"', nowhere, nowhere
        found = self._cluster.catalog.get(StorageClass, name)
        if found is None:
            return f'failed to find storage class "{name}"', nowhere, nowhere
        if found.provisioner in ("", NO_PROVISIONER):
            return "", rows, nowhere
        served = rows & _topology_mask(self._cluster, found.allowed_topologies)
        if not self._gates.enabled("CSIStorageCapacity"):
            return "", rows & ~served, nowhere
        return "", rows & ~served, served & ~with_enough_capacity(self._cluster, claim, found)


def _status_of(bits: int, known: Sequence[Reason]) -> Status:
    reasons = [reason for index, reason in enumerate(known) if bits >> index & 1]
    return unresolvable(*reasons) if reasons else SUCCESS


def affinity_mask(cluster: Cluster, volume: PersistentVolume) -> BoolColumn:
    """Nodes that can reach the volume."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return np.ones(len(cluster.nodes), dtype=np.bool_)
    return cluster.selection.terms_mask(affinity.required.node_selector_terms)


def _topology_mask(cluster: Cluster, terms: Sequence[TopologySelectorTerm]) -> BoolColumn:
    """v1helper.MatchTopologySelectorTerms: terms are alternatives, none at all means anywhere."""
    size = len(cluster.nodes)
    if not terms:
        return np.ones(size, dtype=np.bool_)
    matching = np.zeros(size, dtype=np.bool_)
    for term in terms:
        if not term.match_label_expressions:
            continue
        here = np.ones(size, dtype=np.bool_)
        for wanted in term.match_label_expressions:
            here &= cluster.selection.requirement(Requirement(wanted.key, "In", wanted.values))
        matching |= here
    return matching
