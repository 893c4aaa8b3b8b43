"""Which pods a ReplicaSet gives up first (controller.ActivePodsWithRanks)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cmp_to_key

from ksched_cli.api.core import Container, Pod
from ksched_cli.api.pod_facts import parse_time

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANO = 10**9


def pods_to_delete(pods: Sequence[Pod], related: Iterable[Pod], count: int) -> list[Pod]:
    """getPodsToDelete: `related` are the active pods of all replica sets of the same deployment. Ages are compared as
    of the newest time in the pods, for when a dump was taken is not in it."""
    on_node = Counter(pod.spec.node_name for pod in related)
    now = max((stamp for pod in pods for stamp in (_created(pod), _ready_since(pod)) if stamp is not None), default=0.0)

    def compare(one: Pod, other: Pod) -> int:
        return _compare(one, other, on_node, now)

    return sorted(pods, key=cmp_to_key(compare))[:count]


def _compare(one: Pod, other: Pod, on_node: Counter[str], now: float) -> int:
    """Below zero when the first goes first. The names decide where kube-controller-manager leaves it open."""
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
        found = _by_age(one, other, _ready_since(one), _ready_since(other), now)
        if found:
            return found
    for mine, others in zip(_restarts(one), _restarts(other), strict=True):
        if mine != others:
            return -1 if mine > others else 1
    found = _by_age(one, other, _created(one), _created(other), now)
    return found or (-1 if _name(one) < _name(other) else 1)


def _by_age(one: Pod, other: Pod, mine: float | None, others: float | None, now: float) -> int:
    """The younger first, ages told apart by powers of two only; uids decide among the others."""
    if mine == others:
        return 0
    if mine is None or others is None:
        return -1 if mine is None else 1
    difference = _magnitude(now - mine) - _magnitude(now - others)
    if difference == 0:
        return -1 if one.metadata.uid < other.metadata.uid else 1
    return -1 if difference < 0 else 1


def _magnitude(seconds: float) -> int:
    return int(math.log2(seconds * _NANO)) if seconds > 0 else -1


def _ready(pod: Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


def _ready_since(pod: Pod) -> float | None:
    stamps = (each.last_transition_time for each in pod.status.conditions if (each.type, each.status) == _IS_READY)
    return _time(next(stamps, None))


_IS_READY = ("Ready", "True")


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
    sidecars = {each.name for each in pod.spec.init_containers if _is_sidecar(each)}
    beside = (each.restart_count for each in pod.status.init_container_statuses if each.name in sidecars)
    return regular, max(beside, default=0)


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _name(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name
