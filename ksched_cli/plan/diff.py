"""`diff`: two clusters, configurations or versions, each as its world comes to rest, and what differs.

A cluster that both sides have is read once, and is one world if both have the same scheduler. A pod is the same on both
sides by its name, or as one of equal pods of a workload. If only the rules of the scheduler differ,
`plan/reasons/causes.py` finds the rules that move each pod.
"""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import NodeZones, pod_key
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.controlplane.store import Identity, KeptObjects
from ksched_cli.plan.results.nodes import NodeChanges, NodeColumns, NodeUse, differing_nodes, total_use
from ksched_cli.plan.results.outcomes import Displayed, RefusedPod, refused_pods
from ksched_cli.plan.run.checks import check_not_empty, check_scenario_held, check_selection
from ksched_cli.plan.run.coverage import coverage_of
from ksched_cli.plan.run.each import WORTH_ANSWERS, Copy, copies_at_once
from ksched_cli.plan.run.loaded_input import InputMaker, LoadedInput
from ksched_cli.plan.run.options import RunOptions, wanted_pods
from ksched_cli.plan.settle import SettleResult, SettleRun
from ksched_cli.releases.changes import Aspect, RuleChange
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes, loaded_after, refused_by
from ksched_cli.world.results import FinalPod, FinalPods, StoredPods, UnmovedPods, WorldResult

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning


FITS = "fits"

# A weighted score, None where the plugin does not score; or the result of a filter or of preemption.
Figure: TypeAlias = "int | str | None"


class OnNode(Struct, frozen=True):
    """The plugin's result for a node before and after."""

    node: str
    before: Figure
    after: Figure


class Decider(Struct, frozen=True):
    """A plugin whose decision differs between before and after in one state of the cluster. The name of kube-scheduler
    itself is empty. `rules` changed the decision, all of them together; if ksched cannot switch the rule that did, they
    are those that may have. `configuration`: the configuration differs, too, and may have changed it. Without both the
    reason for the difference is unknown."""

    plugin: str
    aspect: Aspect
    rules: tuple[RuleChange, ...] = ()
    nodes: tuple[OnNode, ...] = ()
    configuration: bool = False

    @property
    def back(self) -> Decider:
        """The decider with before and after exchanged."""
        return replace(self, nodes=tuple(OnNode(each.node, each.after, each.before) for each in self.nodes))


class Cause(Struct, frozen=True):
    """`rule`: the deciders moved the pod, the decider of most weight first. `preemption`: another pod, or a pod group,
    the preemptor, evicts the pod on one side only; `deciders` are what moved it. `others`: the pod moved only because
    other pods moved; `pods` moved before it, from or to one of its nodes. A rule with `pods`: the pod would have stayed
    without the rule, and it would have stayed without the other pods. `alone` is the node to which the deciders would
    have sent the pod if no other pod had moved, empty for no node; None if the pod is there."""

    kind: Literal["rule", "preemption", "others"]
    deciders: tuple[Decider, ...] = ()
    preemptor: str = ""
    side: Literal["", "before", "after"] = ""
    pods: Sequence[str] = ()
    alone: str | None = None


class Tally(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule that differs between the sides (RuleChange), and how many of the reported pods it moved."""

    since: str
    gate: str = ""
    text: str
    plugins: tuple[str, ...]
    aspects: tuple[Aspect, ...]
    pods: int


ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

State = Literal["placed", "waiting", "unschedulable", "error", "skipped", "gated", "ignored", "refused", "nodeGone"]
Kind = Literal["moved", "newlyFailing", "newlyFitting", "added", "removed"]


class PodPlace(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The node of a pod, or the reason why it has none."""

    pod: str
    state: State
    node: str = ""
    message: str = ""


_Key = Callable[[PodPlace], str]
# Name, workload and node of a pod to which nothing happened.
_Unmoved = tuple[str, str, str]


class PodChange(Struct, frozen=True):
    """A pod, or its successor of the same workload, on another node than before. `cause` is set if only rules
    differ."""

    kind: Kind
    workload: str
    before: PodPlace | None
    after: PodPlace | None
    cause: Cause | None = None

    @property
    def pods(self) -> tuple[str, ...]:
        """The pod before and its successor after, one name if they are the same pod."""
        return tuple(dict.fromkeys(side.pod for side in (self.before, self.after) if side))

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes of the pod before and after."""
        return frozenset(side.node for side in (self.before, self.after) if side and side.node)

    @property
    def fails(self) -> bool:
        """Whether the pod has no node now, and had one or did not exist."""
        return self.after is not None and not self.after.node and (self.before is None or bool(self.before.node))


class NodeChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The requests on a node, or on all nodes together without a name; None on a side without the node."""

    node: str = ""
    before: NodeUse | None
    after: NodeUse | None


class SpreadChange(Struct, frozen=True, rename="camel"):
    """How many pods of a workload are in each domain of a label."""

    workload: str
    topology_key: str
    before: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Diff:
    """`unchanged` counts pods on the same node. `nodes` were added or removed, or their use differs. `rules` differ
    between the sides; None if more than rules differs. `after` is the end of the world after."""

    changes: tuple[PodChange, ...]
    unchanged: int
    nodes: tuple[NodeChange, ...]
    total: NodeChange
    spread: tuple[SpreadChange, ...]
    after: WorldResult
    rules: tuple[Tally, ...] | None = None
    # All nodes of both sides.
    columns: NodeChanges | None = field(default=None, compare=False, repr=False)

    @property
    def failing(self) -> tuple[PodChange, ...]:
        return tuple(change for change in self.changes if change.fails)


class Side(Struct, frozen=True):
    """One side, with its world at rest. `wanted` has the keys of the reported pods, and is None if all are reported."""

    settle_result: SettleResult
    nodes: NodeColumns
    wanted: frozenset[str] | None = None
    refused: tuple[RefusedPod, ...] = ()
    warnings: tuple[str, ...] = ()


def diff(before: Side, after: Side, *, of_all_pods: bool = False) -> Diff:
    """The difference of the reported pods, or of all pods; the use of nodes is that by all pods."""
    sides = _Sightings(before, after, of_all_pods), _Sightings(after, before, of_all_pods)
    same = _leave_out_unmoved(*sides)
    changes = sorted(_changes(*sides), key=_order)
    changed = {change.workload for change in changes}
    paired = sum(change.before is not None and change.after is not None for change in changes)
    unchanged = same + (len(sides[0].pods) + len(sides[1].pods) - len(changes) - paired) // 2
    nodes, total = _nodes(before, after)
    spread = tuple(_spread(*sides, changed))
    columns = NodeChanges(before.nodes, after.nodes)
    return Diff(tuple(changes), unchanged, nodes, total, spread, after.settle_result.world, columns=columns)


_KINDS = ("newlyFailing", "newlyFitting", "moved", "added", "removed")


def _order(change: PodChange) -> tuple[object, ...]:
    """The sort key: failing pods first."""
    return not change.fails, _KINDS.index(change.kind), change.pods[0]


class _Sightings:
    """The pods of one side with their nodes, their workloads and the pods that they replace, without the pods to which
    nothing happened: few of them have to be compared with the other side."""

    def __init__(self, side: Side, other: Side, of_all_pods: bool) -> None:
        self.nodes = side.nodes.table.objects
        # A second dump may have pods on nodes that it does not have any more.
        self._gone = {node.metadata.name for node in other.nodes.table.objects} - {
            node.metadata.name for node in self.nodes
        }
        self.pods: dict[str, PodPlace] = {}
        self.workloads: dict[str, str] = {}
        self._replaces: dict[str, str] = {}
        self.wanted = None if of_all_pods else side.wanted
        final = side.settle_result.world.final
        self.unmoved: UnmovedPods = final.unmoved
        for each in final.others:
            if each.replaces not in ("", each.pod):
                self._replaces.setdefault(each.pod, each.replaces)
            if each.state != "gone" and self._reports(each.pod):
                self.pods[each.pod] = self._in_reach(_place_of(each))
                self.workloads[each.pod] = _in_lower_case(each.workload)
        for refused in side.refused:
            self.pods[refused.pod] = PodPlace(refused.pod, "refused", message=f"{refused.plugin}: {refused.message}")
            self.workloads[refused.pod] = refused.pod

    def _reports(self, name: str) -> bool:
        return self.wanted is None or name in self.wanted

    def unmoved_pods(self, found: Iterable[_Unmoved]) -> dict[str, _Unmoved]:
        """Those of these unmoved pods that are reported and not in `pods`, by name."""
        return {each[0]: each for each in found if each[0] not in self.pods and self._reports(each[0])}

    def take_in(self, found: Iterable[_Unmoved]) -> None:
        """Add these unmoved pods to `pods`."""
        for name, workload, node in found:
            self.pods[name] = self._in_reach(PodPlace(name, "placed", node))
            self.workloads[name] = _in_lower_case(workload)

    def _in_reach(self, place: PodPlace) -> PodPlace:
        """The place, unless its node is one that only the other side has."""
        if place.node not in self._gone:
            return place
        return PodPlace(place.pod, "nodeGone", message="its node is gone")

    def lacks(self, node: str) -> bool:
        """Whether only the other side has the node."""
        return node in self._gone

    def placed_pods_of(self, workloads: Collection[str]) -> Iterator[tuple[str, str]]:
        """Workload and node of each pod of these workloads."""
        for name, where in self.pods.items():
            if self.workloads[name] in workloads:
                yield self.workloads[name], where.node
        names = {each.partition("/")[2] for each in workloads}
        for _, workload, node in self.unmoved_pods(self._unmoved_of(names)).values():
            if workload.partition("/")[2] in names and (found := _in_lower_case(workload)) in workloads:
                yield found, node

    def _unmoved_of(self, names: Collection[str]) -> Iterator[_Unmoved]:
        """At least the unmoved pods of the workloads of these names. A pod without an owner is its own workload."""
        if not isinstance(self.unmoved, StoredPods):
            return zip(*self.unmoved.columns, strict=True)
        table, workload_of = self.unmoved.table, self.unmoved.workload_of
        found = {id(table[key]): table[key] for key in map(_identity, names) if key in table}
        found |= {id(pod): pod for pod in table.values() if pod.metadata.owner_references}
        return ((pod_key(pod), workload_of(pod), pod.spec.node_name) for pod in found.values())

    def first(self, pod: PodPlace) -> str:
        """The first pod of the chain of pods that replaced each other, up to this pod."""
        name, seen = pod.pod, {pod.pod}
        while (before := self._replaces.get(name, name)) not in seen:
            seen.add(before)
            name = before
        return name

    def alone(self, other: _Sightings) -> dict[str, list[PodPlace]]:
        """The pods that only this side has, by workload."""
        found: defaultdict[str, list[PodPlace]] = defaultdict(list)
        for name in sorted(self.pods.keys() - other.pods.keys()):
            found[self.workloads[name]].append(self.pods[name])
        return found


def _in_lower_case(workload: str) -> str:
    """`deployment/shop/web`."""
    kind, _, rest = workload.partition("/")
    return f"{kind.lower()}/{rest}"


def _leave_out_unmoved(before: _Sightings, after: _Sightings) -> int:
    """The number of pods that nothing happened to on both sides, and that are on the same node. All other unmoved pods
    are added to the pods of their side."""
    same, rows = _same_objects(before, after)
    found = [side.unmoved_pods(each) for side, each in zip((before, after), rows, strict=True)]
    equal = {
        name
        for name, row in found[0].items()
        if name in found[1] and found[1][name][2] == row[2] and not (before.lacks(row[2]) or after.lacks(row[2]))
    }
    for side, unmoved in zip((before, after), found, strict=True):
        side.take_in(row for name, row in unmoved.items() if name not in equal)
    return same + len(equal)


def _same_objects(before: _Sightings, after: _Sightings) -> tuple[int, tuple[Iterable[_Unmoved], Iterable[_Unmoved]]]:
    """The number of unmoved pods that are the same objects on both sides, as most pods of one cluster are, and the
    other unmoved pods of each side."""
    first, second, all_count = before.unmoved, after.unmoved, before.wanted is None and after.wanted is None
    if not (isinstance(first, StoredPods) and isinstance(second, StoredPods) and all_count):
        return 0, (zip(*first.columns, strict=True), zip(*second.columns, strict=True))
    # A pod that is refused, too, is compared by its name.
    named = set(map(_identity, before.pods.keys() | after.pods.keys()))
    tables = first.table, second.table
    others = [
        [key for key, pod in one.items() if other.get(key) is not pod or key in named]
        for one, other in (tables, tables[::-1])
    ]
    rows = [
        [(pod_key(pod), unmoved.workload_of(pod), pod.spec.node_name) for pod in map(unmoved.table.__getitem__, keys)]
        for unmoved, keys in zip((first, second), others, strict=True)
    ]
    return len(tables[0]) - len(others[0]), (rows[0], rows[1])


def _identity(pod: str) -> Identity:
    namespace, _, name = pod.partition("/")
    return "Pod", namespace, name


def _place_of(pod: FinalPod) -> PodPlace:
    state = _STATES.get(pod.state, "error")
    if state == "gated":
        return PodPlace(pod.pod, state, message="held back by a scheduling gate")
    return PodPlace(pod.pod, state, pod.node if state == "placed" else "", pod.message)


_STATES: Mapping[str, State] = {
    "running": "placed",
    "scheduled": "placed",
    "leaving": "placed",
    "nominated": "waiting",
    "waiting": "waiting",
    "pending": "waiting",
    "unschedulable": "unschedulable",
    "skipped": "skipped",
    "gated": "gated",
    "ignored": "ignored",
}


def _changes(before: _Sightings, after: _Sightings) -> Iterator[PodChange]:
    for name in before.pods.keys() & after.pods.keys():
        yield from _change(before.workloads[name], before.pods[name], after.pods[name])
    gone, new = before.alone(after), after.alone(before)
    for workload in gone.keys() | new.keys():
        left, came = gone.get(workload, []), new.get(workload, [])
        # Pods have generated names: the successor of a pod is its counterpart, else a pod on its node, else any pod. A
        # DaemonSet has a pod for each node: no other pod is its counterpart.
        keys = [(before.first, after.first), (_node, _node), (_any, _any)]
        for before_key, after_key in keys[:2] if workload.startswith("daemonset/") else keys:
            for one, other in _paired(left, came, before_key, after_key):
                yield from _change(workload, one, other)
        yield from (PodChange("removed", workload, each, None) for each in left)
        yield from (PodChange("added", workload, None, each) for each in came)


def _node(pod: PodPlace) -> str:
    return pod.node


def _any(pod: PodPlace) -> str:
    return ""


def _change(workload: str, before: PodPlace, after: PodPlace) -> Iterator[PodChange]:
    """The change of a pod; none if it is on the same node, or has no node, on both sides."""
    if before.node != after.node:
        kind: Kind = "moved" if before.node and after.node else "newlyFitting" if after.node else "newlyFailing"
        yield PodChange(kind, workload, before, after)


def _paired(
    left: list[PodPlace], came: list[PodPlace], left_key: _Key, came_key: _Key
) -> list[tuple[PodPlace, PodPlace]]:
    """The pairs of pods with the same key, in the order of the lists. They are taken off the lists."""
    by_key: defaultdict[str, list[PodPlace]] = defaultdict(list)
    for each in reversed(came):
        by_key[came_key(each)].append(each)
    pairs = [(one, others.pop()) for one in left if (others := by_key[left_key(one)])]
    paired = {id(each) for pair in pairs for each in pair}
    left[:], came[:] = ([each for each in pods if id(each) not in paired] for pods in (left, came))
    return pairs


def _nodes(before: Side, after: Side) -> tuple[tuple[NodeChange, ...], NodeChange]:
    was, now = before.nodes, after.nodes
    names = differing_nodes(was, now)
    changed = [NodeChange(node=name, before=was.use_of(name), after=now.use_of(name)) for name in names]
    return tuple(changed), NodeChange(before=total_use(was), after=total_use(now))


def _spread(before: _Sightings, after: _Sightings, workloads: Collection[str]) -> Iterator[SpreadChange]:
    """The changed spread of workloads over zones, or over nodes if no node has a zone."""
    nodes = [*before.nodes, *after.nodes]
    key = ZONE if any(ZONE in node.metadata.labels for node in nodes) else HOSTNAME
    (first, none_before), (second, none_after) = (_counts(side, key, workloads) for side in (before, after))
    for workload in sorted(workloads):
        was, now = first.get(workload, none_before), second.get(workload, none_after)
        if was != now and max(sum(was.values()), sum(now.values())) > 1:
            yield SpreadChange(workload, key, was, now)


def _counts(side: _Sightings, key: str, workloads: Collection[str]) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """The number of pods in each domain, by workload, and the same for a workload without pods."""
    domain_of = {node.metadata.name: node.metadata.labels.get(key, "") for node in side.nodes}
    none = dict.fromkeys(sorted(filter(None, domain_of.values())), 0)
    counts: dict[str, dict[str, int]] = {}
    for workload, node in side.placed_pods_of(workloads):
        domain = domain_of.get(node, "")
        if domain:
            counts.setdefault(workload, dict(none))[domain] += 1
    return counts, none


class DiffResult(Displayed, Struct, frozen=True):
    """The difference, and the notes about each side's input. `zones` of the nodes of both sides. `autoscaling`: the
    nodes that the autoscaler adds on each side, None without one."""

    diff: Diff
    coverage: tuple[dict[str, Any], dict[str, Any]]
    warnings: tuple[str, ...]
    zones: Mapping[str, str] = msgspec.field(default_factory=dict)
    autoscaling: tuple[Provisioning | None, Provisioning | None] = (None, None)


def compare(before: RunOptions, after: RunOptions, maker: InputMaker) -> DiffResult:
    """Each side as its world comes to rest. A cluster that both have is read once, and is one world if both have the
    same scheduler: the side before is a trial in it."""
    cluster = maker.read_sources(before) if _same_cluster(before, after) else None
    if "-" in before.filenames and "-" in after.filenames and before.stdin is not None:
        stdin = _Rewinding(before.stdin.read())
        before, after = replace(before, stdin=stdin), replace(after, stdin=stdin)
    start, (first, second) = _both(maker, before, after, cluster)
    check_selection(before, *first.inputs, *second.inputs)
    found = diff(first.side, second.side)
    if before != after and only_rules_differ(before, after):
        # Imported here: most comparisons need no causes.
        from ksched_cli.plan.reasons.causes import with_causes
        from ksched_cli.plan.reasons.rule_path import find_rule_path

        rule_path = find_rule_path(maker, before, after, first.source.spec, second.source.spec)
        everything = diff(first.side, second.side, of_all_pods=True)
        begun = start.source.changed(start.changes).loaded
        found = with_causes(found, everything, rule_path, begun, first.side, second.side)
    zones = NodeZones(*(each.side.nodes.table.objects for each in (first, second)))
    coverage, added = (first.coverage, second.coverage), (first.autoscaling, second.autoscaling)
    return DiffResult(found, coverage, tuple(_warnings(first, second)), zones, added)


def only_rules_differ(before: RunOptions, after: RunOptions) -> bool:
    """The same cluster under another version, other gates or another configuration. A scenario has made two clusters
    of it by now; and extenders are not called once more."""
    alike = replace(after, config=before.config, kube_version=before.kube_version, feature_gates=before.feature_gates)
    return alike == before and before.scenario is None and not before.allow_extenders


class _Start(Struct, frozen=True):
    """A side before its changes are made."""

    source: LoadedInput
    changes: Changes
    run: SettleRun

    @property
    def inputs(self) -> tuple[Loaded, ...]:
        return self.source.loaded, self.changes.manifests


class _Settled(Struct, frozen=True):
    """A side, what it was made of, and the notes about it."""

    side: Side
    source: LoadedInput
    inputs: Sequence[Loaded]
    coverage: dict[str, Any]
    autoscaling: Provisioning | None = None


class _Copied(Struct, frozen=True):
    """What a copy of this process returns of a side that changes no node: everything but the nodes themselves."""

    side: tuple[SettleResult, frozenset[str] | None, tuple[RefusedPod, ...], tuple[str, ...]]
    # Pods of the beginning that are not among the unmoved pods; None if the result has the unmoved pods itself.
    left_out: tuple[Identity, ...] | None
    amounts: tuple[tuple[str, ...], Int64Column, Int64Column]
    coverage: dict[str, Any]


def _both(
    maker: InputMaker, before: RunOptions, after: RunOptions, cluster: Loaded | None
) -> tuple[_Start, tuple[_Settled, _Settled]]:
    """How the side before begins, and both sides."""
    # With all pods wanted there is no need to look at each.
    wanted = wanted_pods(after) if after.namespace or after.selector else None
    start = _begin(maker, before, cluster)
    shared = start.run if cluster is not None and _same_scheduler(before, after) else None
    begun = start.run.world.plane.store.kept()
    copy = _begin_in_copy(before, start, wanted, begun)
    if copy is None:
        with nullcontext() if shared is None else start.run.trial():
            first = _settled(before, start, wanted)
        return start, (first, _settled(after, _begin(maker, after, cluster, shared), wanted, in_all_orders=True))
    nodes = NodeColumns.of(start.run.world.cluster)
    try:
        second = _settled(after, _begin(maker, after, cluster, shared), wanted, in_all_orders=True)
        found = copy.result()
    finally:
        copy.stop()
    if found is None:
        # The copy has failed, and the world is another one by now.
        return start, (_settled(before, _begin(maker, before, cluster), wanted), second)
    settle_result, keys, refused, warnings = found.side
    if found.left_out is not None:
        settle_result = _with_unmoved(settle_result, StoredPods.all_but(found.left_out, begun))
    resources, requested, pods = found.amounts
    nodes = replace(nodes, resources=resources, requested=requested, pods=pods)
    side = Side(settle_result, nodes, keys, refused, warnings)
    return start, (_Settled(side, start.source, start.inputs, found.coverage), second)


def _with_unmoved(settle_result: SettleResult, unmoved: UnmovedPods) -> SettleResult:
    world = settle_result.world
    return replace(settle_result, world=replace(world, final=FinalPods(world.final.others, unmoved)))


def _begin_in_copy(
    setup: RunOptions, start: _Start, wanted: Callable[[Pod], bool] | None, begun: KeptObjects
) -> Copy[_Copied | None] | None:
    """The side before on another core, where it changes nothing and takes long. None where it does not."""
    world = start.run.world
    answers = sum(1 for _ in world.loop.queue) * len(world.cluster.nodes)
    if setup.scenario is not None or start.changes or setup.allow_extenders or start.source.autoscaler is not None:
        return None
    if answers < WORTH_ANSWERS or not copies_at_once():
        return None
    here, table = os.getpid(), world.cluster.nodes

    def compute() -> _Copied | None:
        if os.getpid() == here:
            return None
        found = _settled(setup, start, wanted)
        side, nodes = found.side, found.side.nodes
        if nodes.table is not table:
            return None
        amounts = nodes.resources, nodes.requested, nodes.pods
        settle_result, unmoved = side.settle_result, side.settle_result.world.final.unmoved
        left_out = unmoved.left_out_of(begun) if isinstance(unmoved, StoredPods) else None
        if world.plane.store.kept().owners() != begun.owners():
            left_out = None  # The workloads of pods may have other names.
        if left_out is not None:
            settle_result = _with_unmoved(settle_result, UnmovedPods())
        return _Copied((settle_result, side.wanted, side.refused, side.warnings), left_out, amounts, found.coverage)

    return Copy(compute)


def _begin(maker: InputMaker, setup: RunOptions, cluster: Loaded | None, run: SettleRun | None = None) -> _Start:
    source, changes = maker.load_input(setup, cluster)
    # Only the expectations of a scenario need more.
    return _Start(source, changes, run or SettleRun(source, only_preempting=setup.scenario is None))


def _settled(
    setup: RunOptions, start: _Start, wanted: Callable[[Pod], bool] | None, *, in_all_orders: bool = False
) -> _Settled:
    source, changes, world = start.source, start.changes, start.run.world
    inputs = start.inputs
    refused: tuple[RefusedPod, ...] = ()
    if setup.scenario is not None:
        # Imported here: most comparisons have no scenario, and it imports what reads YAML.
        from ksched_cli.plan.scenario import play_scenario

        run = play_scenario(setup.scenario, source, changes, run=start.run)
        check_scenario_held(run)
        settle_result, loaded = run.settle_result, run.loaded
        inputs, pods = (loaded,), loaded.of(Pod)
    else:
        check_not_empty(setup, *inputs)
        result = (start.run.settle if in_all_orders else start.run.settle_once)(changes)
        settle_result, loaded = start.run.settled(result), loaded_after(world.plane, changes, with_pods=False)
        pods = world.plane.store.of(Pod)
        refused = refused_pods(refused_by(world.plane))
    keys = frozenset(map(pod_key, filter(wanted, pods))) if wanted is not None else None
    side = Side(settle_result, NodeColumns.of(world.cluster), keys, refused, tuple(loaded.warnings))
    coverage = coverage_of(world.scheduler, loaded, source.spec, source.autoscaler)
    return _Settled(side, source, inputs, coverage, start.run.provisioned())


class _Rewinding(io.BytesIO):
    """Manifests that come by stdin are on both sides."""

    def read(self, size: int | None = -1, /) -> bytes:
        self.seek(0)
        return super().read(size)


def _same_cluster(before: RunOptions, after: RunOptions) -> bool:
    return (before.sources, before.live) == (after.sources, after.live)


def _same_scheduler(before: RunOptions, after: RunOptions) -> bool:
    """Whether the sides differ in nothing but what is changed in the cluster, and how that is shown."""
    changes = {"filenames", "reading", "edits", "scenario", "allow_empty", "namespace", "selector"}
    alike = all(
        getattr(before, name) == getattr(after, name) for name in RunOptions.__struct_fields__ if name not in changes
    )
    return alike and (before.scenario is None) == (after.scenario is None)


def _warnings(before: _Settled, after: _Settled) -> list[str]:
    """The notes of both sides; a note of one side only names the side."""
    first, second = (
        (*each.side.warnings, *each.source.spec.warnings, *_unsettled(each.side)) for each in (before, after)
    )
    return [
        *(text for text in first if text in second),
        *(f"before: {text}" for text in first if text not in second),
        *(f"after: {text}" for text in second if text not in first),
    ]


def _unsettled(side: Side) -> tuple[str, ...]:
    world = side.settle_result.world
    return () if world.settled else (f"the cluster does not come to rest ({world.ending} after {world.seconds:g} s)",)
