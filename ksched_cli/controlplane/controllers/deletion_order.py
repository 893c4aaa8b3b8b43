"""Which pods a ReplicaSet gives up first (controller.ActivePodsWithRanks)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from functools import cmp_to_key

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import parse_time
from ksched_cli.controlplane.draws import Draws
from ksched_cli.controlplane.store import Identity

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANO = 10**9
_IS_READY = ("Ready", "True")


def pods_to_delete(
    pods: Sequence[Pod], related: Iterable[Pod], count: int, now: float, draws: Draws, owner: Identity
) -> list[Pod]:
    """getPodsToDelete: `related` are the active pods of all replica sets of the same deployment. Pods that no rule
    leaves equal come in an order that Go leaves open: among them `draws` decides, the lowest uid first."""
    if count >= len(pods):
        return list(pods)
    on_node = Counter(pod.spec.node_name for pod in related)

    def compare(one: Pod, other: Pod) -> int:
        return _compare(one, other, on_node, now, draws.invented_uids)

    ordered = sorted(pods, key=cmp_to_key(compare))
    last, following = ordered[count - 1], ordered[count]
    if compare(last, following):
        return ordered[:count]
    equal = [pod for pod in ordered if compare(pod, last) == 0]
    certain = [pod for pod in ordered[:count] if compare(pod, last)]
    options = [(pod.metadata.name, pod) for pod in sorted(equal, key=lambda pod: pod.metadata.uid)]
    return [*certain, *draws.take("deletion order", "/".join(owner), options, count - len(certain))]


def _compare(one: Pod, other: Pod, on_node: Counter[str], now: float, invented_uids: Set[str]) -> int:
    """ActivePodsWithRanks.Less: below zero when the first goes first, zero when no rule decides."""
    nodes = one.spec.node_name, other.spec.node_name
    ready = _ready(one), _ready(other)
    steps: tuple[tuple[float, float], ...] = (
        (bool(nodes[0]), bool(nodes[1])),
        (_PHASES.get(one.status.phase, 0), _PHASES.get(other.status.phase, 0)),
        ready,
        (_cost(one), _cost(other)),
        (-on_node[nodes[0]], -on_node[nodes[1]]),
    )
    for mine, others in steps:
        if mine != others:
            return -1 if mine < others else 1
    if all(ready):
        found = _by_age(one, other, _ready_since(one), _ready_since(other), now, invented_uids)
        if found:
            return found
    for mine, others in zip(_restarts(one), _restarts(other), strict=True):
        if mine != others:
            return -1 if mine > others else 1
    return _by_age(one, other, _created(one), _created(other), now, invented_uids)


def _by_age(one: Pod, other: Pod, mine: float | None, others: float | None, now: float, invented_uids: Set[str]) -> int:
    """The younger first, ages compared by powers of two only; uids decide among the others. No input has the uid of a
    pod that is created in the run: then nothing decides."""
    if mine == others:
        return 0
    if mine is None or others is None:
        return -1 if mine is None else 1
    difference = _magnitude(now - mine) - _magnitude(now - others)
    if difference == 0:
        if {one.metadata.uid, other.metadata.uid} & invented_uids:
            return 0
        return -1 if one.metadata.uid < other.metadata.uid else 1
    return -1 if difference < 0 else 1


def _magnitude(seconds: float) -> int:
    return int(math.log2(seconds * _NANO)) if seconds > 0 else -1


def _ready(pod: Pod) -> bool:
    return any((each.type, each.status) == _IS_READY for each in pod.status.conditions)


def _ready_since(pod: Pod) -> float | None:
    stamps = (each.last_transition_time for each in pod.status.conditions if (each.type, each.status) == _IS_READY)
    return _time(next(stamps, None))


def _created(pod: Pod) -> float | None:
    return _time(pod.metadata.creation_timestamp)


def _time(stamp: str | None) -> float | None:
    try:
        return parse_time(stamp) if stamp else None
    except ValueError:
        return None


def _cost(pod: Pod) -> int:
    """GetDeletionCostFromPodAnnotations: what is not a number counts as none."""
    text = pod.metadata.annotations.get(_DELETION_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _restarts(pod: Pod) -> tuple[int, int]:
    """maxContainerRestarts: of its containers, and of its sidecars."""
    regular = max((each.restart_count for each in pod.status.container_statuses), default=0)
    sidecars = {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}
    beside = (each.restart_count for each in pod.status.init_container_statuses if each.name in sidecars)
    return regular, max(beside, default=0)
