"""`capacity`: how many more pods of some shapes fit. Replicas are placed one by one until one does not fit.

With `--mix A=3,B=1` a set of three pods of A and one of B is placed as a whole. A copy whose node is certain needs no
cycle. No replica preempts. Where no node takes one more, the autoscaler of the cluster adds nodes for all replicas up
to the limit, as if they were asked for at once, and the count goes on until it adds none."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import pod_key
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import CPU, MEMORY, PodInfo
from ksched_cli.controlplane.admission.chain import Chain
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import InputError, Problem, UsageError, did_you_mean
from ksched_cli.framework.status import Status
from ksched_cli.plan.results.amounts import Amounts
from ksched_cli.plan.results.nodes import Failure, NodeChanges
from ksched_cli.plan.results.outcomes import Displayed, Stats
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.run import Run
from ksched_cli.plan.simulate import shrink_pools
from ksched_cli.progress import steps
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.replicas import Replica, Replicas, Shape, read_shapes

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning

_FORM = "--mix is written NAME=COUNT,NAME=COUNT"


def read_mix(text: str, shapes: Sequence[Shape]) -> list[tuple[Shape, int]]:
    """Every mistake at once."""
    found: list[tuple[Shape, int]] = []
    problems: list[Problem] = []
    for part in text.split(","):
        name, _, amount = (piece.strip() for piece in part.partition("="))
        matching = [each for each in shapes if name in each.names]
        if not name or not amount.isdecimal() or int(amount) == 0:
            problems.append(Problem(f'--mix: "{part.strip()}" does not say how many of which manifest', hint=_FORM))
        elif not matching:
            problems.append(Problem(f'--mix: no manifest of -f is named "{name}"', hint=_nearest(name, shapes)))
        elif len(matching) > 1:
            problems.append(Problem(f'--mix: "{name}" may be {" or ".join(each.name for each in matching)}'))
        elif any(known is matching[0] for known, _ in found):
            problems.append(Problem(f'--mix: "{name}" is given twice'))
        else:
            found.append((matching[0], int(amount)))
    if problems:
        raise UsageError(problems)
    return found


def _nearest(name: str, shapes: Sequence[Shape]) -> str:
    names = [shape.name for shape in shapes]
    return did_you_mean(name, names, f"there are {', '.join(names)}")


End = Literal["full", "rejected", "refused", "gated", "ignored", "error", "max"]


class Portion(Struct, frozen=True, rename="camel"):
    """A shape, and how many of it make up one set."""

    name: str
    label: str = field(name="manifest")
    count: int = field(name="perSet")


class CountedShape(Portion, frozen=True):
    """`fits` counts every replica that was placed, those of a last incomplete set included. `requests`: those of one
    replica."""

    fits: int
    requests: Amounts


class CapacityEnd(Struct, frozen=True, omit_defaults=True):
    """What ended the count: `by` is `full` if no node takes one more replica of the shape, `rejected` if PreFilter
    rejects it, `refused` by admission, `max` at the limit."""

    by: End
    shape: str = ""
    plugin: str = ""
    message: str = ""


class NodeRoom(Struct, frozen=True, rename="camel", omit_defaults=True):
    """How many replicas of each shape a node took, what is free then, and what keeps the next one out. `runs_out`: the
    resources that one more lacks, empty if the node rejects it for another reason; None if the node takes one more."""

    node: str
    fits: Mapping[str, int]
    free: Amounts
    runs_out: tuple[str, ...] | None = None
    plugin: str = ""
    code: str = ""
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, node: str, fits: Mapping[str, int], free: Amounts, status: Status | None) -> NodeRoom:
        if status is None:
            return cls(node, fits, free)
        failure, lacks = Failure.of(status), tuple(reason.lacks for reason in status.reasons)
        return cls(node, fits, free, lacks if all(lacks) else (), failure.plugin, failure.code, failure.reasons)

    @property
    def count(self) -> int:
        return sum(self.fits.values())


class PendingCounts(Struct, frozen=True, rename="camel"):
    """The numbers of the cluster's own pending pods, which are placed first. `preempting`: those that wait until the
    pods that they preempt have left. Pods that are being deleted do not count."""

    placed: int = 0
    unplaced: int = 0
    held_back: int = 0
    preempting: int = 0


class Stranded(Struct, frozen=True):
    """What stays free, and no replica can use, on nodes that took some or that are short of a resource; nodes that are
    closed to the replicas for what they are do not count."""

    nodes: int
    free: Amounts
    allocatable: Amounts


class Capacity(Struct, frozen=True, omit_defaults=True):
    """`sets` complete ones fit. `stranded` is there when no node takes another replica. `autoscaling`: the nodes that
    the autoscaler has added, and why it adds no more (a Provisioning; in a document its entry)."""

    shapes: tuple[CountedShape, ...]
    sets: int
    end: CapacityEnd
    nodes: tuple[NodeRoom, ...]
    free: Amounts
    stranded: Stranded | None = None
    pending: PendingCounts | None = None
    autoscaling: Any = None

    @property
    def is_mixed(self) -> bool:
        return len(self.shapes) > 1 or self.shapes[0].count > 1


class _ReplicasAhead:
    """Makes replicas that can be looked at before they are taken."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas, self._made = replicas, deque[Replica]()

    def next(self) -> Replica:
        return self._made.popleft() if self._made else self._replicas.next()

    def ahead(self, number: int) -> list[Replica]:
        """The next ones, up to one that admission refuses."""
        while len(self._made) < number and not (self._made and self._made[-1].denial.message):
            self._made.append(self._replicas.next())
        return [each for each in islice(self._made, number) if not each.denial.message]


class _NewNodes:
    """The nodes that the autoscaler of the cluster adds while replicas are counted. `limit` replicas are asked for."""

    def __init__(self, run: Run, portions: Sequence[tuple[Portion, _ReplicasAhead]], limit: int) -> None:
        self._run, self._portions, self._limit = run, portions, limit

    def add(self, waiting: Replica, placed: Sequence[Replica]) -> bool:
        """Whether new nodes have registered for this replica and those after it."""
        world, autoscaler = self._run.world, self._run.source.autoscaler
        controller = autoscaler.controller_in(world) if autoscaler is not None else None
        assert controller is not None
        left = self._limit - len(placed) - 1
        of_set = sum(portion.count for portion, _ in self._portions)
        ahead = (replicas.ahead(left * portion.count // of_set) for portion, replicas in self._portions)
        more: dict[type[Any], list[Any]] = {}
        for each in chain(placed, (waiting,), *ahead):
            for item in (each.pod, *each.objects):
                more.setdefault(type(item), []).append(item)
        nodes = len(world.cluster.nodes)
        controller.pass_for(more)
        self._run.until_rest()
        return len(world.cluster.nodes) > nodes

    def result(self) -> Provisioning | None:
        """The nodes, and why no pool takes one more: the replicas are alike."""
        found = self._run.provisioned()
        if found is None:
            return None
        known = set(map(pod_key, self._run.source.loaded.of(Pod)))
        unplaced = [each for each in found.unplaced if each.pod in known]
        unplaced += [each for each in found.unplaced if each.pod not in known][:1]
        return replace(found, unplaced=unplaced, not_considered=[], elsewhere={})


_Replicas: TypeAlias = "Replicas | _ReplicasAhead"


def capacity(
    scheduler: Scheduler,
    portions: Sequence[tuple[Portion, _Replicas]],
    *,
    limit: int,
    pending: PendingCounts | None = None,
    new_nodes: _NewNodes | None = None,
) -> Capacity:
    """Sets of replicas one after the other, each replica through one cycle of its own, until one does not fit or
    `limit` of them are placed. `pending` is what became of the pending pods before."""
    count, found, sets = _Count(scheduler, new_nodes), None, 0
    for done, portion, replicas in steps(_in_sets(portions), "replicas had their cycle"):
        sets = done
        if count.placed >= limit:
            break
        replica = replicas.next()
        # Copies of a pod that has a node need no row of their own, if no plugin looks for it.
        if len(portions) == 1 and count.place_copy(portion.name, replica, limit - count.placed):
            continue
        found = count.place(portion.name, replica)
        if found is not None:
            break
    return count.result([portion for portion, _ in portions], sets, found or CapacityEnd("max"), pending)


def _in_sets(portions: Sequence[tuple[Portion, _Replicas]]) -> Iterator[tuple[int, Portion, _Replicas]]:
    """The next portion without end, each with the number of complete sets before it."""
    sets = 0
    while True:
        for portion, replicas in portions:
            for _ in range(portion.count):
                yield sets, portion, replicas
        sets += 1


def place_pending(scheduler: Scheduler) -> PendingCounts:
    """Place the pending pods as `simulate` does."""
    queue = scheduler.enqueue()
    decisions = steps(scheduler.run(queue), "pending pods had their cycle", len(queue.active))
    results = Counter("preempting" if each.nominated_node else each.result for each in decisions)
    placed, preempting, skipped = results["scheduled"], results["preempting"], results["skipped"]
    return PendingCounts(placed, results.total() - placed - preempting - skipped, len(queue.gated), preempting)


class _Count:
    """Replicas placed so far, by shape and node."""

    def __init__(self, scheduler: Scheduler, new_nodes: _NewNodes | None = None) -> None:
        self._scheduler, self._new_nodes = scheduler, new_nodes
        # The replicas with their nodes: only an autoscaler looks at them.
        self._replicas: list[Replica] = []
        self._on: Counter[tuple[int, str]] = Counter()
        self._last: Decision | None = None
        self._requests: dict[str, dict[int, int]] = {}
        self._template: PodInfo | None = None
        # The nodes of copies that are placed already.
        self._ahead: deque[int] = deque()
        self.placed = 0

    def place_copy(self, shape: str, replica: Replica, left: int) -> bool:
        """Place a replica that is a copy of the last one, perhaps with copies of the `left` that may follow. Returns
        False if it needs a cycle of its own."""
        cluster, template = self._scheduler.cluster, self._template
        if template is None:
            return False
        row = cluster.pods.row_of[template.uid]
        is_copy = not replica.denial.message and not replica.objects
        if is_copy:
            info = PodInfo(replica.pod, cluster.resources, cluster.release, template.parts)
            is_copy = info.template == template.template
        if is_copy and not self._ahead:
            self._ahead.extend(self._scheduler.place_copies(row, left))
        elif not is_copy:
            cluster.place_copies(row, self._ahead, -1)
            self._ahead.clear()
        if not self._ahead:
            return False
        self._took(self._ahead.popleft(), shape, replica)
        return True

    def _took(self, row: int, shape: str, replica: Replica) -> None:
        self._on[row, shape] += 1
        self.placed += 1
        if self._new_nodes is not None:
            spec = replace(replica.pod.spec, node_name=self._scheduler.cluster.nodes.names[row])
            bound = Pod(replica.pod.metadata, spec, replica.pod.status)
            self._replicas.append(Replica(bound, replica.objects))

    def place(self, shape: str, replica: Replica) -> CapacityEnd | None:
        """Place a replica. Returns the reason if no node takes it."""
        cluster = self._scheduler.cluster
        for each in replica.objects:
            cluster.catalog.put(each)
        row = cluster.register(replica.pod)
        self._requests.setdefault(shape, dict(cluster.pods.infos[row].incoming_requests))
        if replica.denial.message:
            return CapacityEnd("refused", shape, replica.denial.plugin, replica.denial.message)
        queue = self._scheduler.enqueue([row])
        if queue.ignored:
            return CapacityEnd("ignored", shape, "", f'no profile is named "{replica.pod.spec.scheduler_name}"')
        if queue.gated:
            return CapacityEnd("gated", shape, queue.gated[row].plugin, queue.gated[row].message)
        decision = next(self._scheduler.run(queue))
        while decision.row is None:
            self._last, why = decision, _why(decision, shape)
            if why.by != "full" or self._new_nodes is None or not self._new_nodes.add(replica, self._replicas):
                return why
            decision = next(self._scheduler.run(self._scheduler.enqueue([row])))
        shrink_pools(cluster, decision)
        self._took(decision.row, shape, replica)
        self._template = decision.pod
        return None

    def result(
        self, portions: Sequence[Portion], sets: int, why: CapacityEnd, pending: PendingCounts | None
    ) -> Capacity:
        fits: Counter[str] = Counter()
        for (_, shape), count in self._on.items():
            fits[shape] += count
        resources = self._scheduler.cluster.resources.names
        shapes = []
        for each in portions:
            requests = sorted(self._requests.get(each.name, {}).items())
            amounts = Amounts({resources[row]: amount for row, amount in requests})
            shapes.append(CountedShape(each.name, each.label, each.count, fits[each.name], amounts))
        return Capacity(
            tuple(shapes),
            sets,
            why,
            self._rooms([portion.name for portion in portions]),
            self._totals(self._free()),
            self._stranded() if why.by == "full" else None,
            pending,
            self._new_nodes.result() if self._new_nodes is not None else None,
        )

    def _stranded(self) -> Stranded:
        taken = {row for row, _ in self._on}
        short = {row for row, status in self._rejections().items() if any(each.lacks for each in status.reasons)}
        rows = np.array(sorted(taken | short), dtype=np.int64)
        allocatable = self._scheduler.cluster.nodes.allocatable
        return Stranded(len(rows), self._totals(self._free()[:, rows]), self._totals(allocatable[:, rows]))

    def _free(self) -> Int64Column:
        """The free amounts by resource and node; 0 if pods request more than the node has. What a nominated pod waits
        for is not free; the pods that leave for it still count."""
        cluster = self._scheduler.cluster
        free: Int64Column = cluster.nodes.allocatable - cluster.usage.requested
        for pod, node in self._scheduler.nominator.known().items():
            if (row := cluster.nodes.row_of.get(node)) is not None:
                for resource, amount in cluster.pods.infos[pod].incoming_requests:
                    free[resource, row] -= amount
        return np.maximum(free, 0, out=free)

    def _totals(self, columns: Int64Column) -> Amounts:
        return self._named(columns.sum(axis=1).tolist())

    def _named(self, amounts: Sequence[int]) -> Amounts:
        """Amounts of cpu, memory and the other resources that replicas request."""
        names = self._scheduler.cluster.resources.names
        return Amounts({names[row]: amounts[row] for row in sorted({CPU, MEMORY}.union(*self._requests.values()))})

    def _rooms(self, names: Sequence[str]) -> tuple[NodeRoom, ...]:
        """The room of each node, sorted by name."""
        nodes = self._scheduler.cluster.nodes
        rejections, free = self._rejections(), self._free()
        rooms = (
            NodeRoom.of(
                node,
                {name: self._on[row, name] for name in names},
                self._named(free[:, row].tolist()),
                rejections.get(row),
            )
            for row, node in enumerate(nodes.names)
        )
        return tuple(sorted(rooms, key=lambda room: room.node))

    def _rejections(self) -> dict[int, Status]:
        diagnosis = self._last.diagnosis if self._last else None
        if diagnosis is None or diagnosis.pre_filter is not None:
            return {}
        return {row: status for status, rows in diagnosis.nodes.groups() for row in rows.tolist()}


def _why(decision: Decision, shape: str) -> CapacityEnd:
    """What ended the count at this decision. The message leaves preemption out: no replica preempts."""
    diagnosis = decision.diagnosis
    if decision.result == "error":
        return CapacityEnd("error", shape, "", decision.message)
    if diagnosis is None or len(decision.feasible):
        return CapacityEnd("full", shape, "", decision.message)
    if diagnosis.pre_filter is not None:
        return CapacityEnd("rejected", shape, diagnosis.pre_filter.plugin, diagnosis.pre_filter.message)
    return CapacityEnd("full", shape, "", diagnosis.filter_message())


class CapacityResult(
    Displayed, Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="Capacity"
):
    """The capacity for the mix, or for each manifest by itself. `node_table`: all nodes before and after; only before
    where several manifests were counted by themselves."""

    capacities: tuple[Capacity, ...]
    node_table: NodeChanges | Any = None
    coverage: Mapping[str, Any]
    stats: Stats | None = None
    warnings: tuple[str, ...] = ()


def count_capacity(
    source: LoadedInput, manifests: Loaded, *, mix: str = "", limit: int, pending_first: bool = True, where: str = ""
) -> CapacityResult:
    """The pods and workloads of the manifests are counted; the cluster stays without them. `where` they were
    read is for messages."""
    loaded = source.loaded
    shapes = read_shapes(loaded, manifests)
    if not shapes:
        raise InputError(Problem("there is no pod and no workload to count", where))
    sets = [read_mix(mix, shapes)] if mix else [[(shape, 1)] for shape in shapes]
    if not pending_first:
        source = replace(source, loaded=loaded.without_pending())
    run, started = Run(source), time.perf_counter()
    grows, pending = source.autoscaler is not None, None
    if grows:
        pending = _add_nodes_for_pending(run)
    elif pending_first:
        pending = place_pending(run.scheduler)
    capacities = []
    for each in sets:
        admission = Chain(loaded, minor=run.scheduler.handle.release.minor)
        portions = [
            (Portion(shape.name, shape.label, many), _ReplicasAhead(Replicas(shape, loaded, admission)))
            for shape, many in each
        ]
        new_nodes = _NewNodes(run, portions, limit) if grows else None
        # The only count is not rolled back: the nodes after it are shown.
        trial = nullcontext() if len(sets) == 1 else run.trial() if grows else run.cluster.undo.trial()
        with trial:
            counted = pending if pending_first else None
            capacities.append(capacity(run.scheduler, portions, limit=limit, pending=counted, new_nodes=new_nodes))
    placed = sum(shape.fits for each in capacities for shape in each.shapes)
    return CapacityResult(
        capacities=tuple(capacities),
        node_table=run.node_changes() if len(capacities) == 1 else NodeChanges(run.nodes, run.nodes),
        coverage=run.coverage,
        stats=run.stats(placed, time.perf_counter() - started),
        warnings=source.warnings,
    )


def _add_nodes_for_pending(run: Run) -> PendingCounts:
    """Let the autoscaler add nodes for the pending pods, until nothing moves."""
    queue = run.world.loop.queue
    before = sum(not pod.gated for pod in queue)
    run.until_rest()
    waiting = [pod.gated for pod in queue]
    left, gated = waiting.count(False), waiting.count(True)
    return PendingCounts(max(before - left, 0), left, gated)
