"""Two clusters, configurations or versions compared: where each pod is in one and in the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.plan.aftermath import Aftermath
from ksched_cli.plan.causes.results import Cause, Tally
from ksched_cli.plan.results import RefusedPod
from ksched_cli.plan.usage import NodeUse, total_use, use_of_nodes
from ksched_cli.sources.edits.targets import Owners, owners_in, workload_of

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

State = Literal["placed", "waiting", "unschedulable", "error", "skipped", "gated", "ignored", "refused"]
Kind = Literal["moved", "newlyFailing", "newlyFitting", "added", "removed"]


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a pod is, or why it is nowhere."""

    pod: str
    state: State
    node: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class PodChange:
    """A pod, or its successor of the same workload, that is not where it was. `cause` where only the rules differ."""

    kind: Kind
    workload: str
    before: Whereabouts | None
    after: Whereabouts | None
    cause: Cause | None = None

    @property
    def fails(self) -> bool:
        """It has no node now, and had one or was not there."""
        return self.after is not None and not self.after.node and (self.before is None or bool(self.before.node))


@dataclass(frozen=True, slots=True)
class NodeChange:
    """What is asked of a node; None where there is no such node."""

    node: str
    before: NodeUse | None
    after: NodeUse | None


@dataclass(frozen=True, slots=True)
class SpreadChange:
    """How many pods of a workload are in each domain of a label."""

    workload: str
    topology_key: str
    before: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Diff:
    """`unchanged` pods are where they were. `nodes` are those that came, went or are used otherwise. `rules` are those
    that are not the same on both sides, None where more than rules differs."""

    changes: tuple[PodChange, ...]
    unchanged: int
    nodes: tuple[NodeChange, ...]
    total: NodeChange
    spread: tuple[SpreadChange, ...]
    rules: tuple[Tally, ...] | None = None

    @property
    def failing(self) -> tuple[PodChange, ...]:
        return tuple(change for change in self.changes if change.fails)


@dataclass(frozen=True)
class Side:
    """One of the two, once all its pods have been tried."""

    aftermath: Aftermath
    refused: tuple[RefusedPod, ...] = ()


def diff(before: Side, after: Side, wanted: Callable[[Pod], bool] = lambda pod: True) -> Diff:
    """`wanted` are the pods that are told of; nodes and their use are those of all."""
    sides = _Sightings(before, wanted), _Sightings(after, wanted)
    changes = sorted(_changes(*sides), key=_order)
    changed = {change.workload for change in changes}
    paired = sum(change.before is not None and change.after is not None for change in changes)
    unchanged = (len(sides[0].pods) + len(sides[1].pods) - len(changes) - paired) // 2
    return Diff(tuple(changes), unchanged, *_nodes(before, after), tuple(_spread(*sides, changed)))


_KINDS = ("newlyFailing", "newlyFitting", "moved", "added", "removed")


def _order(change: PodChange) -> tuple[object, ...]:
    """What is bad news first."""
    either = change.before or change.after
    assert either is not None
    return not change.fails, _KINDS.index(change.kind), either.pod


class _Sightings:
    """The pods of one side: where they are, and whose."""

    def __init__(self, side: Side, wanted: Callable[[Pod], bool]) -> None:
        self.nodes = side.aftermath.loaded.of(Node)
        owners = owners_in(side.aftermath.loaded)
        gated, ignored = ({each.pod for each in held} for held in (side.aftermath.gated, side.aftermath.ignored))
        self.pods: dict[str, Whereabouts] = {}
        self.workloads: dict[str, str] = {}
        for pod in side.aftermath.loaded.of(Pod):
            if not is_terminal(pod) and wanted(pod):
                self._add(pod, _whereabouts(pod, side.aftermath, gated, ignored), owners)
        for each in side.refused:
            self.pods[each.pod] = Whereabouts(each.pod, "refused", message=f"{each.plugin}: {each.message}")
            self.workloads[each.pod] = each.pod

    def _add(self, pod: Pod, where: Whereabouts, owners: Owners) -> None:
        self.pods[where.pod] = where
        self.workloads[where.pod] = workload_of(pod, owners)

    def alone(self, other: _Sightings) -> dict[str, list[Whereabouts]]:
        """Pods that the other side does not have, by workload."""
        found: defaultdict[str, list[Whereabouts]] = defaultdict(list)
        for name in sorted(self.pods.keys() - other.pods.keys()):
            found[self.workloads[name]].append(self.pods[name])
        return found


def _whereabouts(pod: Pod, aftermath: Aftermath, gated: set[str], ignored: set[str]) -> Whereabouts:
    name, node = pod_key(pod), pod.spec.node_name
    if node:
        return Whereabouts(name, "placed", node)
    if name in gated:
        return Whereabouts(name, "gated", message="held back by a scheduling gate")
    if name in ignored:
        return Whereabouts(name, "ignored", message=f'no profile is named "{pod.spec.scheduler_name}"')
    outcome = aftermath.outcomes.get(name)
    if outcome is None:
        return Whereabouts(name, "waiting")
    state: State = "waiting" if outcome.nominated_node else _STATES.get(outcome.result, "error")
    return Whereabouts(name, state, message=outcome.message)


_STATES: Mapping[str, State] = {"unschedulable": "unschedulable", "skipped": "skipped"}


def _changes(before: _Sightings, after: _Sightings) -> Iterator[PodChange]:
    for name in before.pods.keys() & after.pods.keys():
        yield from _change(before.workloads[name], before.pods[name], after.pods[name])
    gone, new = before.alone(after), after.alone(before)
    for workload in gone.keys() | new.keys():
        pairs, left, came = _paired(gone.get(workload, []), new.get(workload, []))
        for one, other in pairs:
            yield from _change(workload, one, other)
        yield from (PodChange("removed", workload, each, None) for each in left)
        yield from (PodChange("added", workload, None, each) for each in came)


def _change(workload: str, before: Whereabouts, after: Whereabouts) -> Iterator[PodChange]:
    """Nothing where the pod is on the same node, or on none on both sides."""
    if before.node != after.node:
        kind: Kind = "moved" if before.node and after.node else "newlyFitting" if after.node else "newlyFailing"
        yield PodChange(kind, workload, before, after)


def _paired(
    gone: list[Whereabouts], new: list[Whereabouts]
) -> tuple[list[tuple[Whereabouts, Whereabouts]], list[Whereabouts], list[Whereabouts]]:
    """Pods of a workload have generated names: one takes the place of another, on the same node if there is one."""
    left, came = list(gone), list(new)
    pairs = []
    for one in gone:
        same = next((other for other in came if other.node == one.node), None)
        if same is not None:
            pairs.append((one, same))
            left.remove(one)
            came.remove(same)
    count = min(len(left), len(came))
    pairs += zip(left[:count], came[:count], strict=True)
    return pairs, left[count:], came[count:]


def _nodes(before: Side, after: Side) -> tuple[tuple[NodeChange, ...], NodeChange]:
    was, now = (use_of_nodes(side.aftermath.scheduler.cluster) for side in (before, after))
    changed = [
        NodeChange(name, was.get(name), now.get(name))
        for name in sorted(was.keys() | now.keys())
        if was.get(name) != now.get(name)
    ]
    return tuple(changed), NodeChange("", total_use(was.values()), total_use(now.values()))


def _spread(before: _Sightings, after: _Sightings, workloads: Iterable[str]) -> Iterator[SpreadChange]:
    """Over zones, or over nodes where no node has a zone."""
    nodes = [*before.nodes, *after.nodes]
    key = ZONE if any(ZONE in node.metadata.labels for node in nodes) else HOSTNAME
    for workload in sorted(workloads):
        was, now = (_counts(side, workload, key) for side in (before, after))
        if was != now and max(sum(was.values()), sum(now.values())) > 1:
            yield SpreadChange(workload, key, was, now)


def _counts(side: _Sightings, workload: str, key: str) -> dict[str, int]:
    domain_of = {node.metadata.name: node.metadata.labels.get(key, "") for node in side.nodes}
    counts = dict.fromkeys(sorted(filter(None, domain_of.values())), 0)
    for name, where in side.pods.items():
        domain = domain_of.get(where.node, "") if side.workloads[name] == workload else ""
        if domain:
            counts[domain] += 1
    return counts
