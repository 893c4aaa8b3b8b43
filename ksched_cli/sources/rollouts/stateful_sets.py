"""StatefulSet: one pod after the other, or all at once (pkg/controller/statefulset)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import PodTemplateSpec, StatefulSet, StatefulSetRollingUpdate, StatefulSetUpdateStrategy
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.controllers.stateful_sets import REVISION_LABEL, stateful_claim, stateful_pod
from ksched_cli.sources.controllers.templates import hash_of
from ksched_cli.sources.rollouts.rollout import Birth, Changes, Member, Rollout, members_of
from ksched_cli.sources.rollouts.scaling import release

_OLD, _NEW = "old", "new"
ON_DELETE = "OnDelete"
_PARALLEL = "Parallel"


class StatefulSetRollout(Rollout):
    """`pods` are those that the set owns; `mark` says which of them have the new template, and `before` is the one that
    the others have."""

    strategy: Sequence[str] = ("spec", "updateStrategy")

    def __init__(
        self, item: StatefulSet, pods: Sequence[Pod], existing: Existing, before: PodTemplateSpec | None = None
    ) -> None:
        super().__init__(item, members_of(pods))
        self._before = replace(item, spec=replace(item.spec, template=before or item.spec.template))
        update = item.spec.update_strategy or StatefulSetUpdateStrategy()
        rolling = update.rolling_update or StatefulSetRollingUpdate()
        self._on_delete = update.type == ON_DELETE
        self._partition = rolling.partition or 0
        self._monotonic = item.spec.pod_management_policy != _PARALLEL
        self._start = item.spec.ordinals.start if item.spec.ordinals else 0
        self._births: dict[int, Birth] = {}
        # A pod that has finished is made anew; any other holds its name.
        own = {pod.metadata.name for pod in pods}
        names = (f"{item.metadata.name}-{ordinal}" for ordinal in self._ordinals)
        self._taken = {name for name in names if (item.metadata.namespace, name) in existing.names} - own
        if self._taken:
            self.warnings.append(f"{self.label} cannot make {', '.join(sorted(self._taken))}: other pods are called so")
        if rolling.max_unavailable is not None:
            self.notes.append(
                f"{self.label}: maxUnavailable is not in force unless MaxUnavailableStatefulSet is switched on"
            )

    def mark(self, *, changed: bool, update_revision: str = "") -> None:
        """Which of the pods have the old template. A rollout that was under way is known by its revision."""
        for member in self.members:
            own = member.pod.metadata.labels.get(REVISION_LABEL, "")
            behind = bool(update_revision and own) and own != update_revision
            member.revision = _OLD if changed or behind else _NEW
        if self._on_delete and self._old():
            self.notes.append(f"{self.label} replaces a pod only when it is deleted (OnDelete)")

    @property
    def _ordinals(self) -> range:
        return range(self._start, self._start + self.wanted)

    def _replicas(self) -> list[tuple[int, Member | None]]:
        """Every ordinal that is to be, with its pod. Names that strangers hold are passed over."""
        by_name = {member.name: member for member in self.members}
        named = [(ordinal, f"{self.item.metadata.name}-{ordinal}") for ordinal in self._ordinals]
        return [(ordinal, by_name.get(name)) for ordinal, name in named if name not in self._taken]

    def _condemned(self) -> list[Member]:
        """Pods beyond the ordinals, the highest first."""
        kept = {member for _, member in self._replicas()}
        return sorted((each for each in self.members if each not in kept), key=_ordinal, reverse=True)

    # updateStatefulSet

    def sync(self) -> Changes:
        changes = Changes()
        if self._fill(changes):
            return changes
        if self._condemn(changes) or self._on_delete:
            return changes
        self._update(changes)
        return changes

    def _fill(self, changes: Changes) -> bool:
        """processReplica for each: whether to stop here, because a pod has to become available first."""
        for ordinal, member in self._replicas():
            if member is None:
                changes.born.append(self._birth(ordinal))
            if self._monotonic and (member is None or member.leaving or not member.available):
                return True
        return False

    def _condemn(self, changes: Changes) -> bool:
        """processCondemned: in order, the next goes when the one before it is gone, and only the first pod that is not
        available may go while it is not."""
        condemned = self._condemned()
        broken = next((each for each in reversed(condemned) if not each.available), None)
        for member in condemned:
            if member.leaving:
                if self._monotonic:
                    return True
                continue
            if self._monotonic and not member.available and member is not broken:
                return True
            changes.leaving += release([member])
            if self._monotonic:
                return True
        return False

    def _update(self, changes: Changes) -> None:
        """The highest pod of the old template goes, when those above it are available."""
        for _, member in reversed(self._replicas()[self._partition :]):
            if member is None or member.leaving:
                return
            if member.revision == _OLD:
                changes.leaving += release([member])
                return
            if not member.available:
                return

    def _birth(self, ordinal: int) -> Birth:
        """newVersionedStatefulSetPod: below the partition a pod comes back as it was."""
        if ordinal not in self._births:
            old = ordinal < self._start + self._partition
            item = self._before if old else self.item
            assert item.spec.template is not None
            pod = stateful_pod(item, ordinal, f"{item.metadata.name}-{hash_of(item.spec.template)}")
            claims = [stateful_claim(item, template, ordinal) for template in item.spec.volume_claim_templates]
            self._births[ordinal] = Birth(pod, _OLD if old else _NEW, claims)
        return self._births[ordinal]

    def join(self, birth: Birth) -> Member:
        self._births = {ordinal: each for ordinal, each in self._births.items() if each is not birth}
        return super().join(birth)

    # What is asked for

    @property
    def wanted(self) -> int:
        replicas: int | None = self.item.spec.replicas
        return 1 if replicas is None else replicas

    @property
    def manner(self) -> str:
        return "OrderedReady" if self._monotonic else _PARALLEL

    def missing(self) -> int:
        return sum(member is None for _, member in self._replicas())

    def _old(self) -> list[Member]:
        replicas = [member for _, member in self._replicas()[self._partition :] if member is not None]
        return [member for member in replicas if member.revision == _OLD and not member.leaving]

    def outdated(self) -> list[Member]:
        condemned = [member for member in self._condemned() if not member.leaving]
        return condemned if self._on_delete else [*self._old(), *condemned]


def _ordinal(member: Member) -> int:
    digits = member.name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1
