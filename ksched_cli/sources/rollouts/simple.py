"""Workloads that do not replace their pods: what is missing is made, and what is too much goes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.controllers.made import Made
from ksched_cli.sources.controllers.replicas import replica_pods
from ksched_cli.sources.controllers.templates import owner_reference
from ksched_cli.sources.rollouts.rollout import Birth, Changes, Cradle, Member, Rollout
from ksched_cli.sources.rollouts.scaling import doomed, release


class Once(Rollout):
    """A pod, a PodTemplate, a Job or a CronJob: made once, and never changed after."""

    def __init__(self, item: Any, made: Made, members: Iterable[Member] = ()) -> None:
        super().__init__(item, members)
        self.notes += made.notes
        self._waiting = [Birth(pod) for pod in made.pods]
        if self._waiting:
            self._waiting[0].objects += made.objects
        self._wanted = len(self.staying()) + len(made.pods)

    def sync(self) -> Changes:
        """All of them; those that are refused are tried again."""
        return Changes(list(self._waiting))

    def join(self, birth: Birth) -> Member:
        self._waiting.remove(birth)
        return super().join(birth)

    @property
    def wanted(self) -> int:
        return self._wanted

    def outdated(self) -> list[Member]:
        return []


class Count(Rollout):
    """ReplicaSet and ReplicationController: pods of an older template are as good as any."""

    def __init__(self, item: Any, members: list[Member], existing: Existing) -> None:
        super().__init__(item, members)
        numbers = count()
        self._cradle = Cradle(lambda: Birth(_one(item, existing, next(numbers))))

    def sync(self) -> Changes:
        staying = self.staying()
        surplus = len(staying) - self.wanted
        if surplus > 0:
            return Changes(leaving=release(doomed(staying, staying, surplus)))
        return Changes(list(self._cradle.take(-surplus)))

    def join(self, birth: Birth) -> Member:
        self._cradle.leave(birth)
        return super().join(birth)

    @property
    def wanted(self) -> int:
        replicas: int | None = self.item.spec.replicas
        return 1 if replicas is None else replicas

    def outdated(self) -> list[Member]:
        """Those that are too many."""
        return self.staying()[self.wanted :]


def _one(item: Any, existing: Existing, number: int) -> Pod:
    """One more, whatever there is."""
    kind, version = type(item).__name__, "apps/v1" if isinstance(item, ReplicaSet) else "v1"
    owner = owner_reference(kind, version, item.metadata)
    (pod,) = replica_pods(item.spec.template, item.metadata, owner, 1, existing, number)
    return pod
