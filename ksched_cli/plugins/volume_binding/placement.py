"""Which volume each claim of a pod would get on each node (volumebinding.FindPodVolumes, for all nodes at once).

Existing volumes are matched (volume.FindMatchingVolume), a driver that publishes its free space must have enough of
it, and scores measure how full storage would be (volumebinding/scorer.go, gates StorageCapacityScoring and
VolumeCapacityPriority). The rules and reasons of the room come first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.api.quantity import value
from ksched_cli.api.selectors import EVERYTHING, Requirement, Selector, SelectorError, compile_selector
from ksched_cli.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
)
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column
from ksched_cli.framework.reasons import Reason, ReasonCode, ReasonKind, ReasonTable
from ksched_cli.framework.status import SUCCESS, Status, error, unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.resource_scoring import MAX_UTILIZATION, broken_linear
from ksched_cli.plugins.lib.volumes import (
    CLAIM_NOT_FOUND,
    CLAIM_UNBOUND,
    CLAIM_UNUSABLE,
    SELECTED_NODE,
    VOLUME_NOT_FOUND,
    claim_field,
    class_of_claim,
    class_of_volume,
    in_tree_plugin,
    is_bound_to,
    is_migrated,
    requested_storage,
    storage_of,
    translated_terms,
)
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import DEFAULT, LOCAL_VOLUMES_KEEP_ALL_NODES, Release
from ksched_cli.releases.plugin_names import NODE_VOLUME_LIMITS, VOLUME_ZONE


class VolumeBindingRules(ReleaseRules, plugins="VolumeBinding"):
    reads_largest_volume = Rule("1.21", described_by="VolumeBinding")
    narrows_to_local_volumes = Rule(
        "1.27",
        "filter preemption",
        "A pod with local volumes is tried on their nodes alone (up to 1.31.2); before, on all.",
    ).then(
        LOCAL_VOLUMES_KEEP_ALL_NODES,
        "filter preemption",
        "PreFilter no longer narrows the nodes of local volumes down; before, the others were not looked at.",
        now=False,
    )
    lost_claims_reject = Rule(
        "1.23", "filter", "A lost claim rejects the pod; before, it was its volume that did not exist."
    )
    missing_volumes_reject = Rule(
        "1.19",
        "filter",
        "A claim that no controller will bind, or whose volume does not exist, rejects the pod; before, the cycle "
        "ended in an error.",
    )
    matches_attributes = Rule(
        "1.31",
        "filter",
        "A claim gets volumes of its VolumeAttributesClass only, where the gate of that name is on; before, of any.",
    )
    notes = (
        Rule("1.20", "filter", "A claim that does not exist rejects the pod; before, the cycle ended in an error."),
        Rule("1.21", "score", "It can score nodes by the room in their volumes; before, it never scored."),
        Rule(
            "1.23",
            "score",
            "By default it scores, 0 for every node while its gate is off; before, only where that was on.",
        ),
        Rule("1.30", "score", "Does not score where its gate is off; before, all nodes got 0."),
        Rule(
            "CSIStorageCapacity",
            "filter",
            "What drivers publish of their free capacity counts; without the gate, there is always enough.",
        ),
        Rule(
            "GenericEphemeralVolume",
            "fields",
            "Generic ephemeral volumes have claims, which have to fit; without the gate, there are no such volumes.",
            plugins=f"VolumeBinding {VOLUME_ZONE} {NODE_VOLUME_LIMITS}",
        ),
        Rule(
            "StorageCapacityScoring",
            "score",
            "Nodes score by the room for the pod's volumes; without the gate, they do not.",
        ),
        Rule(
            "VolumeAttributesClass",
            "filter",
            "A claim gets volumes of its VolumeAttributesClass only (from 1.31 on); without the gate, of any.",
        ),
        Rule(
            "VolumeCapacityPriority",
            "score",
            "Nodes score by the room in the volumes that the pod would get; without the gate, they do not.",
        ),
    )


_ELSEWHERE = ReasonCode(
    "KS124",
    "volume-elsewhere",
    "the pod's volume is on other nodes",
    "A bound PersistentVolume has a node affinity (a zone, a node) that these nodes do not match.",
    ("let the pod go to where its volume is", "move the data", "make room on the nodes that the volume allows"),
)
_NO_VOLUME = ReasonCode(
    "KS125",
    "no-volume",
    "there is no volume for a claim",
    "No PersistentVolume matches in class, size, access mode and place, and nothing provisions one there.",
    ("add a PersistentVolume", "use a StorageClass with a provisioner", "ask for less storage"),
)
_EXHAUSTED = ReasonCode(
    "KS126",
    "storage-exhausted",
    "the storage backend has too little room",
    "The driver publishes its capacity (CSIStorageCapacity), and none of it is large enough near these nodes.",
    ("ask for less storage", "extend the backend"),
)


class VolumeBindingReasons(ReasonTable, plugins="VolumeBinding"):
    field = claim_field
    volume_elsewhere = ReasonKind(
        Rule(
            "1.33",
            "message",
            "The reason is that the volume's node affinity did not match; before, that there was a conflict.",
            before="node(s) had volume node affinity conflict",
            now="node(s) didn't match PersistentVolume's node affinity",
        ),
        _ELSEWHERE,
        problem="do not reach its volume",
    )
    no_volume = ReasonKind(
        "node(s) didn't find available persistent volumes to bind",
        _NO_VOLUME,
        problem="do not reach a free volume for its claim",
    )
    no_storage = ReasonKind(
        "node(s) did not have enough free storage", _EXHAUSTED, problem="lack free storage for its claim"
    )
    volume_missing = ReasonKind(
        Rule(
            "1.23",
            before="pvc(s) bound to non-existent pv(s)",
            now="node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
            described_by="VolumeBinding",
        ),
        VOLUME_NOT_FOUND,
        problem="are ruled out, since a claim of it is bound to a volume that does not exist",
    )
    immediate = ReasonKind("pod has unbound immediate PersistentVolumeClaims", CLAIM_UNBOUND)
    awaited = ReasonKind(
        Rule(
            "1.23",
            before='persistentvolumeclaim "{claim}" not found',
            now='waiting for ephemeral volume controller to create the persistentvolumeclaim "{claim}"',
            described_by="VolumeBinding",
        ),
        CLAIM_NOT_FOUND,
    )
    lost = ReasonKind(
        'persistentvolumeclaim "{claim}" bound to non-existent persistentvolume "{volume}"', CLAIM_UNUSABLE
    )
    being_deleted = ReasonKind('persistentvolumeclaim "{claim}" is being deleted', CLAIM_UNUSABLE)


def capacity_for(cluster: Cluster, claim: PersistentVolumeClaim, storage_class: StorageClass) -> Int64Column | None:
    """What the published pool holds in which the claim's volume would be made, -1 on nodes that reach no pool which
    holds the claim; None if the driver publishes no capacity, or the claim requests none. Of several pools
    kube-scheduler takes any; here it is the first by name."""
    request = claim.spec.resources.requests.get("storage")
    driver = cluster.catalog.get(CSIDriver, storage_class.provisioner)
    if request is None or driver is None or not driver.spec.storage_capacity:
        return None
    found = np.full(len(cluster.nodes), -1, dtype=np.int64)
    for pool in cluster.catalog.all(CSIStorageCapacity):
        is_of_class = pool.storage_class_name == storage_class.metadata.name
        if is_of_class and largest_volume(pool, cluster.release) >= value(request):
            found[_reached_from(cluster, pool) & (found < 0)] = value(pool.capacity or 0)
    return found


def largest_volume(pool: CSIStorageCapacity, release: Release = DEFAULT) -> int:
    """The driver's limit of a volume where the minor reads it, else the capacity of the pool; -1 without either."""
    limited = pool.maximum_volume_size is not None and VolumeBindingRules.of(release).reads_largest_volume
    limit = pool.maximum_volume_size if limited else pool.capacity
    return -1 if limit is None else value(limit)


def _reached_from(cluster: Cluster, pool: CSIStorageCapacity) -> BoolColumn:
    try:
        selector: Selector = compile_selector(pool.node_topology)
    except SelectorError:
        # kube-scheduler logs it and goes on: such a pool is reached from nowhere.
        return np.zeros(len(cluster.nodes), dtype=np.bool_)
    reached = np.full(len(cluster.nodes), not selector.nothing, dtype=np.bool_)
    for requirement in selector.requirements:
        reached &= cluster.selection.requirement(requirement)
    return reached


_AVAILABLE = "Available"
_FILESYSTEM = "Filesystem"


def candidates_for(
    claim: PersistentVolumeClaim, catalog: Catalog, *, by_attributes: bool
) -> tuple[list[PersistentVolume], list[PersistentVolume]]:
    """Volumes that were made for the claim, and free ones with the smallest first; `by_attributes`: of its
    VolumeAttributesClass only."""
    name = class_of_claim(claim)
    usable = [
        volume
        for volume in catalog.all(PersistentVolume)
        if class_of_volume(volume) == name
        and is_enough(volume, claim)
        and (not by_attributes or _attributes_of(volume) == _attributes_of(claim))
    ]
    usable.sort(key=lambda volume: volume.metadata.name)
    prebound = [volume for volume in usable if is_bound_to(volume, claim)]
    selector = compile_selector(claim.spec.selector) if claim.spec.selector is not None else EVERYTHING
    free = [volume for volume in usable if volume.spec.claim_ref is None and _is_free(volume, claim, selector)]
    return prebound, sorted(free, key=storage_of)


def is_enough(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is large enough, of the same mode and not being deleted."""
    wanted, offered = claim.spec, volume.spec
    return (
        storage_of(volume) >= (requested_storage(claim) or 0)
        and (wanted.volume_mode or _FILESYSTEM) == (offered.volume_mode or _FILESYSTEM)
        and volume.metadata.deletion_timestamp is None
    )


def _attributes_of(item: PersistentVolume | PersistentVolumeClaim) -> str:
    return item.spec.volume_attributes_class_name or ""


def _is_free(volume: PersistentVolume, claim: PersistentVolumeClaim, selector: Selector) -> bool:
    return (
        volume.status.phase == _AVAILABLE
        and selector.matches(volume.metadata.labels)
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )


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
            left.append((claim, rows & (choice.chosen == _NONE)))
        return left

    def _provision(self, claims: Sequence[tuple[PersistentVolumeClaim, BoolColumn]]) -> None:
        """Notes where a class can provision the claims. The first claim that cannot be provisioned decides."""
        undecided = np.ones(self.size, dtype=np.bool_)
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
        capacity = capacity_for(self._cluster, claim, found) if self._gates.enabled("CSIStorageCapacity") else None
        return "", rows & ~served, nowhere if capacity is None else served & (capacity < 0)


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


Shape = Sequence[tuple[int, int]]


class _Use:
    """One storage class, per node: the requested amount, the capacity, and whether the class is used there."""

    def __init__(self, size: int) -> None:
        self.requested, self.capacity = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self.used = np.zeros(size, dtype=np.bool_)

    def score(self, line: Int64Column) -> Int64Column:
        full = self.requested >= self.capacity
        percent = np.where(full, MAX_UTILIZATION, self.requested * MAX_UTILIZATION // np.maximum(self.capacity, 1))
        return np.where(self.used, line[percent], 0)


def storage_scores(cluster: Cluster, placement: VolumePlacement, shape: Shape, *, pools: bool) -> Int64Column:
    """Volumes that exist decide on nodes where any would be bound; elsewhere the pools that volumes are made in.
    Without `pools` other nodes get 0."""
    bound, some = _bound(placement)
    line = np.array([broken_linear(shape, percent) for percent in range(MAX_UTILIZATION + 1)], dtype=np.int64)
    size = placement.size
    made = _made(cluster, placement) if pools else []
    return np.where(some, _mean(bound, line, size), _mean(made, line, size))


def _bound(placement: VolumePlacement) -> tuple[list[_Use], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    uses: dict[str, _Use] = defaultdict(lambda: _Use(placement.size))
    some = np.zeros(placement.size, dtype=np.bool_)
    for choice in placement.static:
        for index, volume in enumerate(choice.volumes):
            here = choice.chosen == index
            use = uses[volume.spec.storage_class_name]
            use.requested[here] += _storage(choice.claim)
            use.capacity[here] += value(volume.spec.capacity.get("storage", 0))
            use.used |= here
            some |= here
    return list(uses.values()), some


def _made(cluster: Cluster, placement: VolumePlacement) -> list[_Use]:
    """The use of pools. A pool's capacity counts once for all of the pod's volumes."""
    uses: dict[str, _Use] = defaultdict(lambda: _Use(placement.size))
    for claim, rows in placement.provisioned:
        name = class_of_claim(claim)
        storage_class = cluster.catalog.get(StorageClass, name)
        capacity = capacity_for(cluster, claim, storage_class) if storage_class is not None else None
        if capacity is None:
            continue
        here = rows & (capacity >= 0)
        use = uses[name]
        use.requested[here] += _storage(claim)
        use.capacity[here] = capacity[here]
        use.used |= here
    return list(uses.values())


def _storage(claim: PersistentVolumeClaim) -> int:
    return value(claim.spec.resources.requests.get("storage", 0))


def _mean(uses: list[_Use], line: Int64Column, size: int) -> Int64Column:
    """The rounded mean over the storage classes in use; 0 without any."""
    total, count = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for use in uses:
        total += use.score(line)
        count += use.used
    return np.where(count == 0, 0, (2 * total + count) // np.maximum(2 * count, 1))
