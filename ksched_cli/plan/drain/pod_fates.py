"""What became of the pods of drained nodes, and of those that their successors have preempted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from msgspec import Struct, field

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import is_terminal, pod_key, uid_of_pod
from ksched_cli.controlplane.budgets import TOO_MANY_BUDGETS
from ksched_cli.controlplane.store import owner_identity
from ksched_cli.plan.drain.filters import DrainFilterResult
from ksched_cli.plan.drain.resting_pods import last_version
from ksched_cli.plan.drain.results import Evicted, NodeDrain, PodFate, Remark
from ksched_cli.plan.drain.unplaced import UnplacedReasons
from ksched_cli.world.recorder import PreemptedPod
from ksched_cli.world.world import World

_WAIT = ("waits", "wait")
_NOT_RECREATED = "no controller recreates it"
_TOO_LATE = "the --timeout was over before a budget allowed the eviction"


class SortedNode(Struct):
    """The pods of a node by what kubectl drain does with them. `left` are those that are not evicted yet."""

    name: str
    evict: list[Pod] = field(default_factory=list)
    stay: list[tuple[Pod, str]] = field(default_factory=list)
    refused: list[tuple[Pod, str]] = field(default_factory=list)
    left: list[Pod] = field(default_factory=list)
    # Whether kubectl gave up before all of them had left.
    timed_out: bool = False
    _warnings: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, pod: Pod, filtered: DrainFilterResult) -> None:
        if filtered.verdict == "refuse":
            self.refused.append((pod, filtered.message))
            return
        if filtered.verdict == "stay":
            self.stay.append((pod, filtered.message))
        else:
            self.evict.append(pod)
        if filtered.warns:
            self._warnings[filtered.message].append(pod_key(pod))

    def stays(self) -> list[PodFate]:
        return [PodFate(pod_key(pod), "stays", why=why) for pod, why in self.stay]

    def remarks(self) -> tuple[Remark, ...]:
        return tuple(Remark(message, tuple(pods)) for message, pods in self._warnings.items())

    def refusal(self) -> NodeDrain:
        """kubectl evicts nothing of a node with a pod that it refuses."""
        by_message: dict[str, list[str]] = {}
        for pod, message in self.refused:
            by_message.setdefault(message, []).append(pod_key(pod))
        refusals = tuple(Remark(message, tuple(pods)) for message, pods in by_message.items())
        refused = [PodFate(pod_key(pod), "refused", why=message) for pod, message in self.refused]
        waits = [PodFate(pod_key(pod), "waits") for pod in self.evict]
        return NodeDrain(self.name, 0, (*refused, *waits, *self.stays()), refusals, self.remarks())


class Fates:
    """Reads them from a world that is at rest. The result of a node leaves out pods that are preempted with the drain
    or without it (`preempted`)."""

    def __init__(self, world: World, reasons: UnplacedReasons, preempted: Collection[str]) -> None:
        self._world, self._reasons = world, reasons
        self._store, self._api = world.plane.store, world.api
        self._preempted = {uid_of_pod(each.pod) for each in world.recorder.preempted}.union(preempted)

    def node_drain(self, node: SortedNode) -> NodeDrain:
        if node.refused:
            return node.refusal()
        granted = self._world.plane.drainer.granted
        left, preempted = {uid_of_pod(pod) for pod in node.left}, self._preempted
        gone = {uid: pod for pod in node.evict if (uid := uid_of_pod(pod)) not in left and uid not in preempted}
        moments = sorted({granted[uid] for uid in gone if uid in granted})
        rounds = {moment: number for number, moment in enumerate(moments, 1)}
        # A pod that something else has deleted in the meantime left in no round.
        fates = [self._fate(pod, rounds[granted[uid]] if uid in granted else 0) for uid, pod in gone.items()]
        fates.sort(key=lambda fate: fate.round)
        stuck = [PodFate(pod_key(pod), "stuck", why=self._refusal(pod) or _TOO_LATE) for pod in node.left]
        pods = (*fates, *stuck, *node.stays())
        return NodeDrain(node.name, len(rounds), pods, warnings=node.remarks(), timed_out=node.timed_out)

    def evicted(self, each: PreemptedPod) -> Evicted:
        new = self._successor(each.pod)
        successor, to = (pod_key(new), self._world.recorder.node_of(new)) if new is not None else ("", "")
        return Evicted(pod_key(each.pod), each.by, each.pod.spec.node_name, to, successor)

    def waits(self, pod: Pod) -> PodFate | None:
        """That the pod, or the pod in its place, has no node. None if it has one, or if it is deleted."""
        current = last_version(self._world, pod)
        if current is None or not self._world.recorder.final_of(current).unplaced:
            return None
        successor = pod_key(current) if uid_of_pod(current) != uid_of_pod(pod) else ""
        return PodFate(pod_key(pod), "unplaced", 0, successor, why=self._why_unplaced(current))

    def _fate(self, pod: Pod, number: int) -> PodFate:
        new = self._successor(pod)
        if new is None:
            owner = owner_identity(pod)
            refused = self._api.refusals.get(owner) if owner is not None else None
            for each in refused.values() if refused is not None else ():
                return PodFate(pod_key(pod), "unplaced", number, why=each.message)
            why = _why_gone(pod)
            return PodFate(pod_key(pod), "gone", number, why=why, lost=why == _NOT_RECREATED)
        node = self._world.recorder.node_of(new)
        if node:
            return PodFate(pod_key(pod), "moves", number, pod_key(new), node)
        return PodFate(pod_key(pod), "unplaced", number, pod_key(new), why=self._why_unplaced(new))

    def _why_unplaced(self, pod: Pod) -> str:
        return self._reasons.of.get(uid_of_pod(pod)) or self._world.recorder.final_of(pod).message

    def _successor(self, pod: Pod) -> Pod | None:
        """The pod that has this one's place in the end. None if no controller has made one that remains."""
        new = self._api.successors.last_of(pod)
        current = self._store.current(new) if new is not None else None
        if new is None or current is None or uid_of_pod(current) != uid_of_pod(new):
            return None
        return current

    def _refusal(self, pod: Pod) -> str:
        """Why the eviction API keeps the pod, and which pods of its budget have no node."""
        text = self._api.budgets.refusal(pod)
        if text == TOO_MANY_BUDGETS:
            return text
        covered = [each for item in self._api.budgets.covering(pod) for each in self._api.budgets.covered(item)]
        waiting = sorted(pod_key(each) for each in covered if not each.spec.node_name)
        return f"{text}: {', '.join(waiting)} {_WAIT[len(waiting) > 1]} for a place" if waiting else text


def _why_gone(pod: Pod) -> str:
    if is_terminal(pod):
        return "it is finished"
    if pod.metadata.deletion_timestamp is not None:
        return "it is being deleted already"
    return _NOT_RECREATED
