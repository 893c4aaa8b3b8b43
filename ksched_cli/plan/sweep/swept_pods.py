"""What becomes of pods in a variant: of those that lost their node, and of those that looked for one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import is_terminal, pod_key, uid_of_pod
from ksched_cli.controlplane.controllers.tainteviction import WHY as EVICTED_BY_TAINT
from ksched_cli.controlplane.store import owner_identity
from ksched_cli.plan.drain.resting_pods import NOTHING_MOVES, RestingPods, last_version, moved_forerunners
from ksched_cli.plan.drain.unplaced import UnplacedReasons
from ksched_cli.plan.expectations import CheckedExpectation
from ksched_cli.plan.sweep.figures import ClusterFigures
from ksched_cli.plan.sweep.rows import Figures, PodResultWord, SweptPod, VariantOutcome, VariantRow
from ksched_cli.plan.sweep.space import Variant
from ksched_cli.whatif.edits.lib.evictions import stays_in_a_drain
from ksched_cli.world.results import Ending, WorldResult
from ksched_cli.world.world import World

_ENDINGS = {
    "max-time": "the cluster does not come to rest within an hour of virtual time",
    "max-cycles": "the cluster does not come to rest within 100,000 scheduling cycles",
    "oscillation": "the cluster does not come to rest: the same states come again",
}


class PodStory(Struct, frozen=True):
    """What became of one pod. `had_place`: it had a node before. `why` is for pods without a node in the end."""

    result: PodResultWord
    pod: str
    node: str = ""
    why: str = ""
    had_place: bool = False
    preempted: bool = False


class FoundPods(Struct, frozen=True):
    """`waiting` is how many pods of the whole cluster want a node and have none."""

    stories: tuple[PodStory, ...]
    waiting: int


class SweptPods:
    """Reads the pods of a variant from its world. `failing` are the nodes that fail. Pods that have no node without the
    failures either (`resting`) are no result of the failures. Made before the nodes fail."""

    def __init__(self, world: World, failing: Collection[str] = (), resting: RestingPods = NOTHING_MOVES) -> None:
        self._world, self._failing, self._resting = world, frozenset(failing), resting
        # The pod garbage collector marks pods as failed before it deletes them.
        self._before = {uid_of_pod(pod): pod for node in failing for pod in world.plane.store.pods_on(node)}

    def found(self, reasons: UnplacedReasons) -> FoundPods:
        refused = sum(len(each) for each in self._world.api.refusals.values())
        waiting = sum(not pod.gated for pod in self._world.loop.queue) + refused
        preempted = {uid_of_pod(each.pod): each.pod for each in self._world.recorder.preempted}
        unplaced = self._resting.unplaced
        roots = (each for each in moved_forerunners(self._world) if each[0] not in unplaced)
        stories = (self._story(pod, reasons, preempted.get(uid)) for uid, pod in roots)
        return FoundPods(tuple(sorted((each for each in stories if each is not None), key=_by_name)), waiting)

    def _place_before(self, pod: Pod) -> str:
        """The node that the pod had at the beginning."""
        life = self._world.recorder.lives.get(uid_of_pod(pod))
        return pod.spec.node_name if life is None or (life.bound is None and life.created is None) else ""

    def _story(self, pod: Pod, reasons: UnplacedReasons, victim: Pod | None) -> PodStory | None:
        world, uid, name = self._world, uid_of_pod(pod), pod_key(pod)
        place = self._place_before(pod)
        preempted = victim is not None and uid not in self._resting.preempted
        current = last_version(world, pod)
        if current is not None:
            final = world.recorder.final_of(current)
            if final.node:
                return PodStory("scheduled", name, final.node, "", bool(place), preempted)
            if not final.unplaced:
                return None
            why = reasons.of.get(uid_of_pod(current)) or final.message
            return PodStory("unschedulable", name, "", why, bool(place), preempted)
        owner = owner_identity(pod)
        for each in (world.api.refusals.get(owner) or {}).values() if owner is not None else ():
            return PodStory("unschedulable", name, "", each.message, bool(place), preempted)
        pod = victim or self._before.get(uid, pod)
        ends = is_terminal(pod) or pod.metadata.deletion_timestamp is not None or stays_in_a_drain(pod)
        if ends or not (place or preempted):
            return None
        taken = preempted or place in self._failing or world.api.reasons.get(uid) == EVICTED_BY_TAINT
        return PodStory("lost" if taken else "deleted", name, "", _WHY_LOST if taken else "", bool(place), preempted)


_WHY_LOST = "no controller recreates it"


def _by_name(story: PodStory) -> str:
    return story.pod


class VariantEnd(Struct, frozen=True):
    """The row of a variant, and the whole end of its world where that is wanted."""

    row: VariantRow
    world: WorldResult | None = None


def row_of(
    variant: Variant,
    cluster: ClusterFigures,
    found: FoundPods,
    ending: Ending,
    failed: Sequence[CheckedExpectation] = (),
) -> VariantRow:
    """The row of a variant that has come to rest."""
    stories = found.stories
    evicted = [each for each in stories if each.had_place and each.result != "deleted"]
    preempted = sum(each.preempted for each in evicted)
    figures = Figures(
        sum(each.result == "scheduled" for each in stories),
        found.waiting,
        sum(each.result == "lost" for each in stories),
        preempted,
        len(evicted) - preempted,
        cluster.nodes,
        cluster.nodes_used,
        cluster.spread,
        cluster.stranded_milli_cpu,
        cluster.stranded_memory,
    )
    outcome, reason = _outcome(stories, ending)
    pods = tuple(SweptPod(each.pod, each.result, each.node) for each in stories)
    broken = tuple(each.text for each in failed)
    reason = reason or next((f"{each.text}: {each.against[0]}" for each in failed), "")
    return VariantRow(variant.number, variant.coordinates, outcome, figures, reason, broken, pods)


def _outcome(stories: tuple[PodStory, ...], ending: Ending) -> tuple[VariantOutcome, str]:
    """The worst that happened, and its first cause."""
    for each in stories:
        if each.result == "unschedulable":
            return "no place", f"{each.pod}: {each.why}"
    if ending != "settled":
        return "no place", _ENDINGS[ending]
    for each in stories:
        if each.result == "lost":
            return "loses pods", f"{each.pod}: {each.why}"
    for each in stories:
        if each.preempted:
            return "evicts others", f"{each.pod} is preempted and moves to {each.node}"
    return "safe", ""
