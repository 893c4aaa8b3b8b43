"""The Deployment controller (pkg/controller/deployment), with the ReplicaSet of its template and the share that each
ReplicaSet gets when the number of replicas changes during a rollout.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import LabelSelector, ObjectMeta, Pod, controller_of
from ksched_cli.api.object_facts import is_terminal
from ksched_cli.api.workloads import (
    Deployment,
    PodTemplateSpec,
    ReplicaSet,
    ReplicaSetSpec,
    RollingUpdate,
    scaled_value,
    wanted_replicas,
)
from ksched_cli.controlplane.controllers.replicaset import ReplicaSetController
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.controlplane.work import Controller
from ksched_cli.sources.templates import copied, defaulted, hash_of, own_metadata, owner_reference

# appsv1.DefaultDeploymentUniqueLabelKey
HASH_LABEL = "pod-template-hash"


def find_new_replica_set(candidates: list[ReplicaSet], template: PodTemplateSpec) -> ReplicaSet | None:
    """deploymentutil.FindNewReplicaSet: equal but for the hash."""
    wanted = None
    for each in sorted(candidates, key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.name)):
        if each.spec.template is None:
            continue
        if _is_copy(each.spec.template, template):
            return each
        wanted = wanted or defaulted(template)
        own = defaulted(each.spec.template)
        own.metadata.labels.pop(HASH_LABEL, None)
        if own == wanted:
            return each
    return None


def _is_copy(own: PodTemplateSpec, template: PodTemplateSpec) -> bool:
    """Whether a ReplicaSet's template is the Deployment's as it is, with the hash: few have to be compared by their
    defaults."""
    ours, theirs = own.metadata, template.metadata
    labels = {key: value for key, value in ours.labels.items() if key != HASH_LABEL}
    return labels == theirs.labels and ours.annotations == theirs.annotations and own.spec == template.spec


def new_replica_set(item: Deployment, template: PodTemplateSpec) -> ReplicaSet:
    """DeploymentController.getNewReplicaSet: the hash is in its name, its selector and its pods' labels."""
    own = copied(template)
    digest = hash_of(template)
    own.metadata.labels[HASH_LABEL] = digest
    selector = item.spec.selector or LabelSelector()
    selector = replace(selector, match_labels={**selector.match_labels, HASH_LABEL: digest})
    name, namespace = f"{item.metadata.name}-{digest}", item.metadata.namespace
    owner = owner_reference("Deployment", "apps/v1", item.metadata)
    labelled = ObjectMeta(labels=dict(own.metadata.labels))
    metadata = own_metadata("ReplicaSet", namespace, name, labelled, owner)
    return ReplicaSet(metadata, ReplicaSetSpec(item.spec.replicas, selector, own))


def proportion(size: int, most_before: int | None, wanted: int, most: int, total: int, allowed: int) -> int:
    """GetReplicaSetProportion: how many pods the set gains, or loses if `allowed` is negative.

    `most_before` is replicas plus surge when the set was last scaled, `total` the Deployment's status.replicas.
    """
    if not size or not allowed:
        return 0
    if wanted:
        before = most_before or total
        fraction = int(size * most / before + 0.5) - size if before else 0
    else:
        fraction = -size
    return min(fraction, allowed) if allowed > 0 else max(fraction, allowed)


DESIRED, MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
RECREATE = "Recreate"
_QUARTER = "25%"


def is_recreate(item: Deployment) -> bool:
    return item.spec.strategy is not None and item.spec.strategy.type == RECREATE


def max_surge(item: Deployment) -> int:
    rolling = _rolling(item)
    value = _QUARTER if rolling.max_surge is None else rolling.max_surge
    return 0 if is_recreate(item) else scaled_value(value, wanted_replicas(item), up=True)


def max_unavailable(item: Deployment) -> int:
    """MaxUnavailable with ResolveFenceposts: one, where both values come to nothing. For a rolling update."""
    wanted, rolling = wanted_replicas(item), _rolling(item)
    value = _QUARTER if rolling.max_unavailable is None else rolling.max_unavailable
    number = scaled_value(value, wanted, up=False)
    return min(number if number or max_surge(item) else 1, wanted)


def _rolling(item: Deployment) -> RollingUpdate:
    return (item.spec.strategy.rolling_update if item.spec.strategy else None) or RollingUpdate()


def by_age(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """controller.ReplicaSetsByCreationTimestamp."""
    return sorted(sets, key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.name))


class DeploymentController(Controller):
    """Creates the ReplicaSet of the template of a Deployment, and scales the new and the old ReplicaSets, step by step
    during a rollout. Keys are identities of Deployments."""

    informers = (Deployment, ReplicaSet, Pod)
    pod_changes = frozenset(("deleted",))
    serves = (Deployment,)

    def __init__(self, api: Any, queue: Any, replica_sets: ReplicaSetController) -> None:
        super().__init__(api, queue)
        self._replica_sets = replica_sets

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        item = old if new is None else new
        if isinstance(item, Deployment):
            return (identity_of(item),)
        if isinstance(item, ReplicaSet):
            owner = owner_identity(item)
            return (owner,) if owner is not None and owner[0] == "Deployment" else ()
        return self._recreating(item) if new is None else ()

    def _recreating(self, pod: Pod) -> Iterable[Identity]:
        """deletePod: a Deployment with the strategy Recreate waits for its last old pod."""
        owner = controller_of(pod.metadata)
        if owner is None or owner.kind != "ReplicaSet":
            return
        owned = self.store.get(ReplicaSet, owner.name, pod.metadata.namespace)
        above = owner_identity(owned) if owned is not None else None
        item = self.store.get(Deployment, above[2], above[1]) if above and above[0] == "Deployment" else None
        if item is not None and is_recreate(item):
            yield identity_of(item)

    # syncDeployment

    def reconcile(self, key: Identity) -> None:
        item = self.store.get(Deployment, key[2], key[1])
        if item is None or item.metadata.deletion_timestamp is not None or item.spec.template is None:
            return
        sets = self.replica_sets(item)
        if item.spec.paused or self._is_scaling(item, sets):
            self._scale(item, sets)
        elif is_recreate(item):
            self._roll_by_recreating(item, sets)
        else:
            self._roll(item, sets)

    def replica_sets(self, item: Deployment) -> list[ReplicaSet]:
        return self.store.owned(item, ReplicaSet)

    def new_replica_set(self, item: Deployment, sets: Sequence[ReplicaSet] | None = None) -> ReplicaSet | None:
        """FindNewReplicaSet."""
        assert item.spec.template is not None
        return find_new_replica_set(list(self.replica_sets(item) if sets is None else sets), item.spec.template)

    def _is_scaling(self, item: Deployment, sets: Sequence[ReplicaSet]) -> bool:
        """isScalingEvent: a set with pods was last scaled for another number of replicas."""
        wanted = wanted_replicas(item)
        desired = (_number(each.metadata.annotations.get(DESIRED, "")) for each in sets if wanted_replicas(each))
        return any(each not in (None, wanted) for each in desired)

    def _ensure_new(self, item: Deployment, sets: list[ReplicaSet]) -> ReplicaSet:
        """getNewReplicaSet, which creates the set if there is none."""
        found = self.new_replica_set(item, sets)
        assert item.spec.template is not None
        if found is None:
            made = new_replica_set(item, _bare(item.spec.template))
            replicas = self._new_replicas(item, sets, 0)
            metadata = replace(
                made.metadata,
                annotations={**item.metadata.annotations, **_size_annotations(item)},
                creation_timestamp=self.api.timestamp(),
            )
            spec = replace(made.spec, replicas=replicas, min_ready_seconds=item.spec.min_ready_seconds)
            found = self.api.create(replace(made, metadata=metadata, spec=spec))
            sets.append(found)
            return found
        if found.spec.min_ready_seconds != item.spec.min_ready_seconds:
            spec = replace(found.spec, min_ready_seconds=item.spec.min_ready_seconds)
            return self.api.update(replace(found, spec=spec))
        return found

    # Another number of replicas

    def _scale(self, item: Deployment, sets: list[ReplicaSet]) -> None:
        """DeploymentController.scale."""
        new = self.new_replica_set(item, sets)
        old = [each for each in sets if each is not new]
        wanted = wanted_replicas(item)
        active = [each for each in sets if wanted_replicas(each)]
        if len(active) <= 1:
            only = active[0] if active else new or (by_age(old)[-1] if old else None)
            if only is not None and wanted_replicas(only) != wanted:
                self._set_replicas(item, only, wanted)
            return
        if new is not None and self._is_saturated(item, new):
            for each in old:
                if wanted_replicas(each):
                    self._set_replicas(item, each, 0)
        elif not is_recreate(item):
            self._scale_proportionally(item, active)

    def _is_saturated(self, item: Deployment, new: ReplicaSet) -> bool:
        wanted = wanted_replicas(item)
        desired = _number(new.metadata.annotations.get(DESIRED, ""))
        return wanted_replicas(new) == desired == wanted == self._replica_sets.status(new).available

    def _scale_proportionally(self, item: Deployment, active: list[ReplicaSet]) -> None:
        """From the largest to the smallest, each in proportion; the remainder goes to the largest."""
        wanted, surge = wanted_replicas(item), max_surge(item)
        more = (wanted + surge if wanted else 0) - sum(map(wanted_replicas, active))
        # Of sets of one size the newer gains first and the older loses first.
        active = by_age(active)
        if more > 0:
            active.reverse()
        active.sort(key=lambda each: -wanted_replicas(each))
        sizes = {}
        added = 0
        for each in active:
            size = wanted_replicas(each)
            most = _number(each.metadata.annotations.get(MOST, ""))
            share = proportion(size, most, wanted, wanted + surge, self._total(item), more - added) if more else 0
            sizes[each.metadata.name] = size + share
            added += share
        if more:
            largest = active[0].metadata.name
            sizes[largest] = max(sizes[largest] + more - added, 0)
        for each in active:
            self._set_replicas(item, each, sizes[each.metadata.name])

    def _total(self, item: Deployment) -> int:
        """status.replicas of the Deployment."""
        return sum(self._replica_sets.status(each).replicas for each in self.replica_sets(item))

    # Another template

    def _roll(self, item: Deployment, sets: list[ReplicaSet]) -> None:
        """rolloutRolling."""
        new = self._ensure_new(item, sets)
        wanted, size = wanted_replicas(item), wanted_replicas(new)
        if size != wanted:
            replicas = wanted if size > wanted else self._new_replicas(item, sets, size)
            if replicas != size:
                self._set_replicas(item, new, replicas)
                return
        self._shrink_old(item, sets, new)

    def _new_replicas(self, item: Deployment, sets: Sequence[ReplicaSet], size: int) -> int:
        """NewRSNewReplicas."""
        wanted = wanted_replicas(item)
        if is_recreate(item):
            return wanted
        room = wanted + max_surge(item) - sum(map(wanted_replicas, sets))
        return size if room <= 0 else size + min(room, wanted - size)

    def _shrink_old(self, item: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet) -> None:
        """reconcileOldReplicaSets: unavailable pods first, then as many as availability allows."""
        old = by_age(each for each in sets if each.metadata.name != new.metadata.name and wanted_replicas(each))
        least = wanted_replicas(item) - max_unavailable(item)
        available = {each.metadata.name: self._replica_sets.status(each).available for each in sets}
        unavailable_new = wanted_replicas(new) - available[new.metadata.name]
        room = sum(map(wanted_replicas, sets)) - least - unavailable_new
        if room <= 0:
            return
        cleaned = 0
        sizes = {each.metadata.name: wanted_replicas(each) for each in old}
        for each in old:
            name = each.metadata.name
            if cleaned < room and sizes[name] > available[name]:
                broken = min(room - cleaned, sizes[name] - available[name])
                sizes[name] -= broken
                cleaned += broken
        spare = max(sum(available.values()) - least, 0)
        for each in old:
            less = min(sizes[each.metadata.name], spare)
            sizes[each.metadata.name] -= less
            spare -= less
        for each in old:
            if sizes[each.metadata.name] != wanted_replicas(each):
                self._set_replicas(item, each, sizes[each.metadata.name])

    def _roll_by_recreating(self, item: Deployment, sets: list[ReplicaSet]) -> None:
        """rolloutRecreate: nothing new before the last of the old pods is gone."""
        new = self.new_replica_set(item, sets)
        old = [each for each in sets if each is not new]
        active = [each for each in old if wanted_replicas(each)]
        for each in active:
            self._set_replicas(item, each, 0)
        # oldPodsRunning.
        if active or any(not is_terminal(pod) for each in old for pod in self.store.pods_of(each)):
            return
        new = self._ensure_new(item, sets)
        if wanted_replicas(new) != wanted_replicas(item):
            self._set_replicas(item, new, wanted_replicas(item))

    def _set_replicas(self, item: Deployment, owned: ReplicaSet, replicas: int) -> None:
        """scaleReplicaSet."""
        annotations = {**owned.metadata.annotations, **_size_annotations(item)}
        metadata = replace(owned.metadata, annotations=annotations)
        self.api.update(replace(owned, metadata=metadata, spec=replace(owned.spec, replicas=replicas)))


def _size_annotations(item: Deployment) -> dict[str, str]:
    wanted = wanted_replicas(item)
    return {DESIRED: str(wanted), MOST: str(wanted + max_surge(item))}


def _bare(template: PodTemplateSpec) -> PodTemplateSpec:
    """The template without the label that a ReplicaSet adds."""
    labels = {key: value for key, value in template.metadata.labels.items() if key != HASH_LABEL}
    return replace(template, metadata=replace(template.metadata, labels=labels))


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
