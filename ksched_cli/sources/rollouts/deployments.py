"""Deployment: a new replica set grows while the old ones shrink (pkg/controller/deployment)."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from ksched_cli.api.core import Pod
from ksched_cli.api.selectors import compile_selector
from ksched_cli.api.workloads import Deployment, ReplicaSet, RollingUpdate, UpdateStrategy
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.controllers.replicas import find_new_replica_set, new_replica_set, replica_pods
from ksched_cli.sources.controllers.templates import owner_reference
from ksched_cli.sources.rollouts.proportions import scale
from ksched_cli.sources.rollouts.rollout import Birth, Changes, Cradle, Member, Rollout, members_of
from ksched_cli.sources.rollouts.scaling import doomed, release, scaled

RECREATE = "Recreate"
_QUARTER = "25%"
_DESIRED, _MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"


@dataclass(eq=False)
class _Set:
    """A replica set: how many pods it is to have, and of what. Without an object it is one of which the input has
    nothing but pods."""

    name: str
    replicas: int
    item: ReplicaSet | None = None
    desired: int | None = None
    most: int | None = None
    cradle: Cradle | None = field(default=None)

    @property
    def age(self) -> tuple[str, str]:
        """controller.ReplicaSetsByCreationTimestamp."""
        stamp = self.item.metadata.creation_timestamp if self.item else None
        return stamp or "", self.name


class DeploymentRollout(Rollout):
    """`item` has the replicas and the strategy that will be in force. `current`: the name of the replica set that
    has the template already, where pods alone are known of it."""

    def __init__(self, item: Deployment, existing: Existing, current: str = "") -> None:
        super().__init__(item)
        self._existing = existing
        strategy = item.spec.strategy or UpdateStrategy()
        self._recreates = strategy.type == RECREATE
        self._rolling = strategy.rolling_update or RollingUpdate()
        self.strategy = ("spec", "strategy", "type") if self._recreates else ("spec", "strategy", "rollingUpdate")
        self._sets = self._known_sets(item)
        self._new = self._find_new(item, current)
        self._paused = bool(item.spec.paused)
        if self._paused and self._new is None:
            what = "its new template is not rolled out" if self.staying() else "it makes no pods"
            self.notes.append(f"{self.label} is paused: {what}")

    # What there is

    def _known_sets(self, item: Deployment) -> list[_Set]:
        pods = list(self._existing.deployment_pods(item.metadata, compile_selector(item.spec.selector)))
        sets: list[_Set] = []
        for owned in self._existing.replica_sets_of(item.metadata):
            replicas = 1 if owned.spec.replicas is None else owned.spec.replicas
            desired, most = (_number(owned.metadata.annotations.get(key, "")) for key in (_DESIRED, _MOST))
            sets.append(_Set(owned.metadata.name, replicas, owned, desired, most))
        names = {each.name for each in sets}
        for pod in pods:
            name = _owner(pod)
            self.members += members_of([pod], name)
            if name not in names:
                names.add(name)
                sets.append(_Set(name, sum(_owner(each) == name for each in pods if _active(each))))
        return sets

    def _find_new(self, item: Deployment, current: str) -> _Set | None:
        assert item.spec.template is not None
        objects = [each.item for each in self._sets if each.item is not None]
        found = find_new_replica_set(objects, item.spec.template)
        name = found.metadata.name if found else current
        new = next((each for each in self._sets if each.name == name), None)
        if new is not None and new.item is None:
            new.item = new_replica_set(item, item.spec.template)
            new.item.metadata.name = name
        return new

    @property
    def replaces(self) -> bool:
        """Whether pods of another template are there."""
        return any(member.revision != (self._new.name if self._new else "") for member in self.staying())

    # The controller

    def sync(self) -> Changes:
        """syncDeployment as often as it changes something, and the replica sets after it."""
        changes = Changes()
        for _ in range(2 * len(self._sets) + 2):
            stepped = self._step(changes)
            changes.leaving += self._shrink()
            if not stepped:
                break
        changes.born = self._missing_pods()
        return changes

    def _step(self, changes: Changes) -> bool:
        if self._paused:
            return self._scale()
        if any(each.desired not in (None, self.wanted) for each in self._sets if each.replicas):
            self._scale()
            return True
        return self._recreate(changes) if self._recreates else self._roll(changes)

    def _scale(self) -> bool:
        before = [each.replicas for each in self._sets]
        old = [each for each in self._sets if each is not self._new]
        available = self._available(self._new) if self._new else 0
        scale(self._new, old, self.wanted, self._surge, available=available, rolling=not self._recreates)
        return before != [each.replicas for each in self._sets]

    def _roll(self, changes: Changes) -> bool:
        """rolloutRolling."""
        new = self._make_new(changes)
        if new.replicas > self.wanted:
            return _set_replicas(new, self.wanted)
        room = self.wanted + self._surge - sum(each.replicas for each in self._sets)
        if new.replicas < self.wanted and room > 0:
            return _set_replicas(new, new.replicas + min(room, self.wanted - new.replicas))
        return self._shrink_old(new)

    def _shrink_old(self, new: _Set) -> bool:
        """reconcileOldReplicaSets: unavailable pods first, then as many as availability allows."""
        old = sorted((each for each in self._sets if each is not new and each.replicas), key=lambda each: each.age)
        least = self.wanted - self._unavailable
        room = sum(each.replicas for each in self._sets) - least - (new.replicas - self._available(new))
        if not old or room <= 0:
            return False
        cleaned = 0
        for each in old:
            broken = min(room - cleaned, max(each.replicas - self._available(each), 0))
            each.replicas -= broken
            cleaned += broken
        spare = max(sum(map(self._available, self._sets)) - least, 0)
        for each in old:
            less = min(each.replicas, spare)
            each.replicas -= less
            spare -= less
            cleaned += less
        return cleaned > 0

    def _recreate(self, changes: Changes) -> bool:
        """rolloutRecreate: nothing new before the last of the old is gone."""
        old = [each for each in self._sets if each is not self._new and each.replicas]
        for each in old:
            each.replicas = 0
        if old:
            return True
        if any(member.revision != (self._new.name if self._new else "") for member in self.members):
            return False
        return _set_replicas(self._make_new(changes), self.wanted)

    def _make_new(self, changes: Changes) -> _Set:
        """getNewReplicaSet."""
        if self._new is None:
            assert self.item.spec.template is not None
            item = new_replica_set(self.item, self.item.spec.template)
            self._new = _Set(item.metadata.name, 0, item)
            self._sets.append(self._new)
            changes.objects.append(item)
        return self._new

    # The replica sets

    def _shrink(self) -> list[Member]:
        leaving: list[Member] = []
        for each in self._sets:
            pods = self._staying(each)
            if len(pods) > each.replicas:
                leaving += release(doomed(pods, self.members, len(pods) - each.replicas))
        return leaving

    def _missing_pods(self) -> list[Birth]:
        births: list[Birth] = []
        for each in self._sets:
            missing = each.replicas - len(self._staying(each))
            if missing > 0 and each.item is not None:
                each.cradle = each.cradle or self._cradle(each.item)
                births += each.cradle.take(missing)
        return births

    def _cradle(self, item: ReplicaSet) -> Cradle:
        template, owner = item.spec.template, owner_reference("ReplicaSet", "apps/v1", item.metadata)
        assert template is not None
        numbers = count()

        def make() -> Birth:
            (pod,) = replica_pods(template, item.metadata, owner, 1, self._existing, next(numbers))
            return Birth(pod, item.metadata.name)

        return Cradle(make)

    def join(self, birth: Birth) -> Member:
        for each in self._sets:
            if each.name == birth.revision and each.cradle is not None:
                each.cradle.leave(birth)
        return super().join(birth)

    def _staying(self, of: _Set) -> list[Member]:
        return [member for member in self.staying() if member.revision == of.name]

    def _available(self, of: _Set) -> int:
        return sum(member.available for member in self._staying(of))

    # What is asked for

    @property
    def wanted(self) -> int:
        replicas: int | None = self.item.spec.replicas
        return 1 if replicas is None else replicas

    @property
    def _surge(self) -> int:
        value = _QUARTER if self._rolling.max_surge is None else self._rolling.max_surge
        return 0 if self._recreates else scaled(value, self.wanted, up=True)

    @property
    def _unavailable(self) -> int:
        """ResolveFenceposts: one, where both would come to nothing."""
        value = _QUARTER if self._rolling.max_unavailable is None else self._rolling.max_unavailable
        number = scaled(value, self.wanted, up=False)
        return min(number if number or self._surge else 1, self.wanted)

    @property
    def manner(self) -> str:
        return RECREATE if self._recreates else f"maxSurge {self._surge}, maxUnavailable {self._unavailable}"

    def outdated(self) -> list[Member]:
        staying = self.staying()
        if self._paused:
            return staying[self.wanted :]
        return [member for member in staying if member.revision != (self._new.name if self._new else "")]


def _set_replicas(of: _Set, replicas: int) -> bool:
    changed, of.replicas = of.replicas != replicas, replicas
    return changed


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _owner(pod: Pod) -> str:
    return next((owner.name for owner in pod.metadata.owner_references if owner.controller), "")


def _active(pod: Pod) -> bool:
    return any(not member.leaving for member in members_of([pod]))
