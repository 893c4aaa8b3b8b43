"""The steps of a rollout, read off what the world saw of its pods."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set

from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.plan.check.results import RolloutStep
from ksched_cli.plan.evicted import is_of
from ksched_cli.world.recorder import PodLife


class LivesByOwner:
    """The lives of pods by the identity of the controller, and by that of the pod."""

    def __init__(self, lives: Iterable[PodLife]) -> None:
        self._found: defaultdict[Identity, list[tuple[int, PodLife]]] = defaultdict(list)
        for number, life in enumerate(lives):
            for identity in filter(None, (owner_identity(life.pod), identity_of(life.pod))):
                self._found[identity].append((number, life))

    def of(self, owners: Set[Identity]) -> list[PodLife]:
        """The lives for which `is_of` holds, in their order."""
        numbered = dict(pair for owner in owners for pair in self._found.get(owner, ()))
        return [numbered[number] for number in sorted(numbered)]


def rollout_steps(lives: Iterable[PodLife]) -> tuple[RolloutStep, ...]:
    """What happened to a workload's pods, one step for each moment."""
    moments: dict[float, tuple[list[str], dict[str, str], list[str]]] = {}
    for life in lives:
        name = life.pod.metadata.name
        for moment, kind in ((life.created, 0), (life.bound, 1), (life.removed, 2)):
            if moment is None:
                continue
            made, placed, removed = moments.setdefault(round(moment, 6), ([], {}, []))
            if kind == 1:
                placed[name] = life.pod.spec.node_name
            else:
                (made, removed)[kind == 2].append(name)
    return tuple(
        RolloutStep(tuple(made), placed, tuple(gone), at) for at, (made, placed, gone) in sorted(moments.items())
    )


def waves_of(lives: Iterable[PodLife], owners: Set[Identity], finished: Sequence[float]) -> int:
    """In how many waves the pods of these owners got their nodes. `finished` are the moments at which pods of Jobs
    finished."""
    bound = [each.bound for each in lives if each.bound is not None and is_of(each.pod, owners)]
    return len({bisect_right(finished, moment) for moment in bound})
