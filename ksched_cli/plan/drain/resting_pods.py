"""Where the pods come to rest when no node is drained and no node fails."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import uid_of_pod
from ksched_cli.world.world import World

_NO_UIDS: frozenset[str] = frozenset()


class RestingPods(Struct, frozen=True):
    """Uids of the pods to which something happens without a drain and without a failure, such as pending pods. A pod
    that controllers recreate counts under its first forerunner. `placed` have a node in the end, `unplaced` have none.
    `preempted` are preempted without the drain too."""

    placed: frozenset[str] = _NO_UIDS
    unplaced: frozenset[str] = _NO_UIDS
    preempted: frozenset[str] = _NO_UIDS


NOTHING_MOVES = RestingPods()


def resting_pods(world: World) -> RestingPods:
    """The pods of a world that has come to rest."""
    with_node = {uid: has_node(world, pod) for uid, pod in moved_forerunners(world)}
    return RestingPods(
        frozenset(uid for uid, found in with_node.items() if found),
        frozenset(uid for uid, found in with_node.items() if not found),
        frozenset(uid_of_pod(each.pod) for each in world.recorder.preempted),
    )


def moved_forerunners(world: World) -> Iterator[tuple[str, Pod]]:
    """The pods to which something happened, with their uids. A chain of recreated pods is its first pod."""
    replaced, seen = world.api.successors.replaced, set[str]()
    for uid in world.recorder.moved_uids():
        life = world.recorder.lives.get(uid)
        pod = life.pod if life is not None else _tried(world, uid)
        while pod is not None and (before := replaced.get(pod.metadata.uid)) is not None and before is not pod:
            pod = before
        if pod is not None and (first := uid_of_pod(pod)) not in seen:
            seen.add(first)
            yield first, pod


def _tried(world: World, uid: str) -> Pod | None:
    """A pod that had a cycle, and was neither created nor bound."""
    row = world.cluster.pods.row_of.get(uid)
    return None if row is None else world.cluster.pods.infos[row].pod


def last_version(world: World, pod: Pod) -> Pod | None:
    """The pod that has the place of this pod now: itself, or its last successor. None if there is none."""
    last = world.api.successors.last_of(pod) or pod
    current = world.plane.store.current(last)
    return current if current is not None and uid_of_pod(current) == uid_of_pod(last) else None


def has_node(world: World, pod: Pod) -> bool:
    current = last_version(world, pod)
    return current is not None and bool(world.recorder.node_of(current))
